#!/usr/bin/env python3
"""Makes the wheel of the package: a build backend as of PEP 517 that needs Python alone.

    wheelbuild.py --programs DIR [-o DIR] [--plat-name TAG]

make wheel runs it. The programs are what "go run ./internal/release -programs DIR"
leaves: static, with their licences and build.json, which has version, date and platform.
The same input gives the same bytes (with the same zlib).

Through pip, which passes settings to it:

    pip wheel --no-index integrations/triton -C--programs=DIR [-C--plat-name=TAG]
"""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import re
import struct
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 40_000_000  # bytes of a wheel
SUMMARY = "tritonc, a Triton compiler, inside Triton and torch.compile"

# GOOS/GOARCH: the tag where none is given, and ELF's number of the machine. The programs
# are static, so that the tag promises no more than a processor: manylinux's oldest does.
PLATFORMS = {"linux/amd64": ("manylinux_2_17_x86_64.manylinux2014_x86_64", 62),
             "linux/arm64": ("manylinux_2_17_aarch64.manylinux2014_aarch64", 183)}


class Mistake(Exception):
    """What the user reads."""


def elf(data):
    """What an ELF file asks of the system that runs it: (machine, interpreter, [library])."""
    if data[:4] != b"\x7fELF" or data[4:6] != b"\x02\x01":
        raise Mistake("it is not a program of 64-bit Linux")
    machine, = struct.unpack_from("<H", data, 18)
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = []  # type, offset in the file, address, bytes in the file
    for i in range(count):
        kind, _, offset, address, _, filesz = struct.unpack_from("<IIQQQQ", data, table + i * size)
        segments.append((kind, offset, address, filesz))
    interpreter, entries = None, []
    for kind, offset, _, filesz in segments:
        if kind == 3:  # PT_INTERP
            interpreter = data[offset:offset + filesz].rstrip(b"\0").decode()
        if kind == 2:  # PT_DYNAMIC
            entries += [struct.unpack_from("<qQ", data, offset + at) for at in range(0, filesz, 16)]
    strings = next((value for tag, value in entries if tag == 5), None)  # DT_STRTAB, an address
    needed = []
    for tag, value in entries:
        if tag == 1:  # DT_NEEDED
            start = next((offset + strings - address for kind, offset, address, filesz in segments
                          if kind == 1 and strings is not None and address <= strings < address + filesz), None)
            name = data[start + value:].partition(b"\0")[0].decode() if start is not None else "?"
            needed.append(name)
    return machine, interpreter, needed


def check_static(name, data, machine):
    """Raises Mistake where a program needs more of a system than its kernel and processor."""
    try:
        found, interpreter, needed = elf(data)
    except (Mistake, struct.error) as e:
        raise Mistake(f"{name}: {e}") from None
    if interpreter or needed:
        raise Mistake(f"{name} is not static: it needs {', '.join(filter(None, [interpreter, *needed]))}; build it with CGO_ENABLED=0")
    if found != machine:
        raise Mistake(f"{name} is for another processor (ELF machine {found}, want {machine})")


def python_version(version):
    """The version of the package, as PEP 440 writes it."""
    m = re.fullmatch(r"v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if m:
        return m[1] + ({"alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3] if m[2] else "")
    return "0.0.0.dev0+" + re.sub(r"[^0-9A-Za-z]+", ".", version).strip(".").lower()


def metadata(version):
    readme = (HERE / "README.md").read_text()
    return (f"Metadata-Version: 2.1\nName: tritonc\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
            f"Requires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n{readme}")


def read_build(programs):
    path = pathlib.Path(programs, "build.json")
    if not path.is_file():
        raise Mistake(f"there is no {path}: make wheel builds the programs first")
    facts = json.loads(path.read_text())
    if facts["platform"] not in PLATFORMS:
        raise Mistake(f"there is no wheel for {facts['platform']}; there is one for {', '.join(PLATFORMS)}")
    return facts


def contents(programs):
    """{path in the wheel: (bytes, mode)}, RECORD and WHEEL left out, and what the programs are."""
    facts, files = read_build(programs), {}
    for path in sorted((HERE / "tritonc").rglob("*.py")):
        files[path.relative_to(HERE).as_posix()] = path.read_bytes(), 0o644
    files["tritonc.pth"] = (HERE / "tritonc.pth").read_bytes(), 0o644
    for name in facts["programs"]:
        data = pathlib.Path(programs, name).read_bytes()
        check_static(name, data, PLATFORMS[facts["platform"]][1])
        files[f"tritonc/bin/{name}"] = data, 0o755
    files["tritonc/bin/build.json"] = pathlib.Path(programs, "build.json").read_bytes(), 0o644
    info = info_folder(facts)
    files[f"{info}/METADATA"] = metadata(python_version(facts["version"])).encode(), 0o644
    for name in ("LICENSE", "THIRD_PARTY_LICENSES"):
        files[f"{info}/licenses/{name}"] = pathlib.Path(programs, name).read_bytes(), 0o644
    return files, facts


def info_folder(facts):
    return f"tritonc-{python_version(facts['version'])}.dist-info"


def write(programs, out, plat_name=None):
    """Makes the wheel; its name."""
    files, facts = contents(programs)
    tag = plat_name or PLATFORMS[facts["platform"]][0]
    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", tag):
        raise Mistake(f"{tag!r} is not a platform tag such as manylinux_2_17_x86_64")
    info = info_folder(facts)
    tags = "".join(f"Tag: py3-none-{t}\n" for t in tag.split("."))
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: wheelbuild\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for path, (data, _) in sorted(files.items()))
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode(), 0o644
    name = f"tritonc-{python_version(facts['version'])}-py3-none-{tag}.whl"
    date = max(time.gmtime(facts["date"])[:6], (1980, 1, 1, 0, 0, 0))  # what a zip can say
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    path = pathlib.Path(out, name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        # RECORD comes last, as PEP 427 recommends.
        for file in sorted(files, key=lambda f: (f.endswith("/RECORD"), ".dist-info/" in f, f)):
            data, mode = files[file]
            entry = zipfile.ZipInfo(file, date)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            z.writestr(entry, data)
    size = path.stat().st_size
    if size > LIMIT:
        path.unlink()
        raise Mistake(f"{name} would have {size / 1e6:.1f} MB, and {LIMIT / 1e6:.0f} MB is the most")
    return name


# ---- PEP 517


def _settings(settings):
    settings = {k.lstrip("-"): v for k, v in (settings or {}).items()}
    goarch = {"aarch64": "arm64"}.get(os.uname().machine, "amd64")
    default = HERE.parents[1] / "build" / "wheel" / f"linux_{goarch}"
    return settings.get("programs", str(default)), settings.get("plat-name")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    programs, plat_name = _settings(config_settings)
    return write(programs, wheel_directory, plat_name)


def build_sdist(sdist_directory, config_settings=None):
    raise Mistake("there is no source distribution: the programs are built from a checkout, by make wheel")


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--programs", required=True)
    p.add_argument("-o", "--out", default="dist")
    p.add_argument("--plat-name")
    a = p.parse_args(argv)
    try:
        name = write(a.programs, a.out, a.plat_name)
    except (Mistake, OSError) as e:
        sys.exit(f"wheelbuild: {e}")
    path = pathlib.Path(a.out, name)
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
