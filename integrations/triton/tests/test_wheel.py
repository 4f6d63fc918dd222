"""Tests of wheelbuild.py on programs of a few bytes, and of an installed wheel."""

import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import standin_triton
import wheelbuild

CHECKOUT = HERE.parents[2]


def program(machine=62, interpreter=None, needed=()):
    """An ELF file with these."""
    strings = b"\0" + b"".join(n.encode() + b"\0" for n in needed)
    headers = [(1, 0x1000, 0x401000, len(strings))]
    body = {0x1000: strings}
    if interpreter:
        headers.append((3, 0x2000, 0x402000, len(interpreter) + 1))
        body[0x2000] = interpreter.encode() + b"\0"
    if needed:
        entries = [(1, strings.index(n.encode())) for n in needed] + [(5, 0x401000), (0, 0)]
        headers.append((2, 0x3000, 0x403000, 16 * len(entries)))
        body[0x3000] = b"".join(struct.pack("<qQ", *e) for e in entries)
    out = bytearray(0x4000)
    out[:64] = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(headers), 0, 0, 0)
    for i, (kind, offset, address, size) in enumerate(headers):
        struct.pack_into("<IIQQQQQQ", out, 64 + 56 * i, kind, 4, offset, address, address, size, size, 1)
    for offset, data in body.items():
        out[offset:offset + len(data)] = data
    return bytes(out)


class WheelTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = pathlib.Path(tmp.name)
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        self.make()

    def make(self, version="v1.2.3", platform="linux/amd64", **programs):
        programs = programs or {"tritonc": program(), "tritonc-backend-nvidia": program()}
        for name, data in programs.items():
            (self.programs / name).write_bytes(data)
        (self.programs / "build.json").write_text(json.dumps(
            {"version": version, "date": 1795872390, "platform": platform, "programs": sorted(programs)}))
        for name in ("LICENSE", "THIRD_PARTY_LICENSES"):
            (self.programs / name).write_text(name)

    def write(self, plat_name=None, out="out"):
        return self.folder / out / wheelbuild.write(self.programs, self.folder / out, plat_name)

    def test_contents(self):
        wheel = self.write()
        self.assertEqual(wheel.name, "tritonc-1.2.3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")
        with zipfile.ZipFile(wheel) as z:
            names = z.namelist()
            self.assertEqual(names[-1], "tritonc-1.2.3.dist-info/RECORD")
            for name in ("tritonc/__init__.py", "tritonc/triton.py", "tritonc/site/sitecustomize.py", "tritonc.pth", "tritonc/bin/build.json",
                         "tritonc-1.2.3.dist-info/licenses/THIRD_PARTY_LICENSES"):
                self.assertIn(name, names)
            self.assertFalse([n for n in names if "test" in n or "__pycache__" in n])
            self.assertEqual(z.getinfo("tritonc/bin/tritonc").external_attr >> 16, 0o100755)
            self.assertIn("Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-manylinux2014_x86_64\n", z.read("tritonc-1.2.3.dist-info/WHEEL").decode())
            record = dict(line.split(",", 1) for line in z.read(names[-1]).decode().splitlines())
            self.assertEqual(sorted(record), sorted(names))
        self.assertIn("-py3-none-linux_x86_64.whl", self.write("linux_x86_64").name)
        with self.assertRaisesRegex(wheelbuild.Mistake, "not a platform tag"):
            self.write("../x")

    def test_same_bytes(self):
        first = hashlib.sha256(self.write().read_bytes()).digest()
        for path in self.programs.iterdir():  # neither times nor permissions of files enter
            os.utime(path, (time.time() + 1e6, 1e6))
            path.chmod(0o640)
        self.assertEqual(hashlib.sha256(self.write(out="again").read_bytes()).digest(), first)
        self.make(tritonc=program() + b"x")
        self.assertNotEqual(hashlib.sha256(self.write(out="other").read_bytes()).digest(), first)

    def test_static(self):
        for data, why in ((program(interpreter="/lib64/ld-linux-x86-64.so.2"), "not static: it needs /lib64/ld-linux"),
                          (program(needed=("libc.so.6", "libdl.so.2")), "not static: it needs libc.so.6, libdl.so.2"),
                          (program(machine=183), "another processor"), (b"#!/bin/sh\n", "not a program of 64-bit Linux"), (b"\x7fELF\x02\x01", "buffer")):
            self.make(tritonc=data)
            with self.assertRaisesRegex(wheelbuild.Mistake, f"tritonc.*{why}"):
                self.write()
        self.make(platform="linux/arm64", tritonc=program(machine=183))
        self.assertIn("aarch64", self.write().name)
        self.assertEqual(wheelbuild.elf(pathlib.Path(os.path.realpath(sys.executable)).read_bytes())[1] is not None, True)

    def test_mistakes(self):
        self.make(platform="windows/amd64")
        with self.assertRaisesRegex(wheelbuild.Mistake, "no wheel for windows/amd64"):
            self.write()
        self.make(tritonc=program() + os.urandom(wheelbuild.LIMIT))
        with self.assertRaisesRegex(wheelbuild.Mistake, "would have 40.0 MB, and 40 MB is the most"):
            self.write()
        self.assertEqual(list((self.folder / "out").iterdir()), [])
        (self.programs / "build.json").unlink()
        with self.assertRaisesRegex(wheelbuild.Mistake, "make wheel builds the programs first"):
            self.write()

    def test_versions(self):
        for version, want in (("v1.2.3", "1.2.3"), ("v1.2.3-rc.1", "1.2.3rc1"), ("devel-46d96603040f", "0.0.0.dev0+devel.46d96603040f"),
                              ("devel-46d96603040f-dirty", "0.0.0.dev0+devel.46d96603040f.dirty")):
            self.assertEqual(wheelbuild.python_version(version), want)

    def test_installed(self):
        """pip takes the wheel, and a Python that starts with TRITONC=1 compiles with it, as
        do those that it starts."""
        wheel = self.write()
        env = self.folder / "env"
        venv.create(env, with_pip=False, symlinks=True)
        python = env / "bin" / "python"
        site, = env.glob("lib/python*/site-packages")
        r = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True)
        if r.returncode:
            self.skipTest("there is no pip")
        r = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "--prefix", env,
                            "--ignore-installed", "--no-warn-script-location", wheel], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        own = site / "tritonc" / "bin" / "tritonc"
        self.assertTrue(os.access(own, os.X_OK))
        standin_triton.write_program(own, "v1.2.3")
        standin_triton.write(site)
        code = ("import os, subprocess, sys; from triton.backends.nvidia import compiler; "
                "print(compiler.compile('tt.func public @k()')[1].get('compiler'), compiler.compile('m')[0]['cubin'][:12], "
                "os.environ.get('PYTHONPATH'), flush=True); "
                "len(sys.argv) > 1 and subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)")
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON", "PYTHONPATH"))}
        variables.update(FAKE_LOG=str(self.folder / "log"), FAKE_PTXAS="/ptxas")

        def run(*argv, fails=False, **more):
            r = subprocess.run([python, *argv], env={**variables, **more}, capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(r.returncode != 0, fails, r.stderr)
            return r.stderr.strip().splitlines()[-1] if fails else r.stdout.splitlines()

        self.assertEqual(run("-c", code, code, TRITONC="1"), ["tritonc b'our cubin of' None"] * 2)
        self.assertEqual(run("-c", code, TRITONC="0"), ["None Triton's cub None"])
        self.assertEqual(run("-c", f"import tritonc.triton as t; t.install(); {code}", code), ["tritonc b'our cubin of' None"] * 2)
        self.assertEqual(run("-c", "import sys; print('tritonc' in sys.modules)"), ["False"])
        program = self.folder / "program.py"
        program.write_text("import tritonc.triton\n" + code.replace("; ", "\n", 2) + "\nprint(tritonc.triton.report()['configurations'])\n")
        self.assertEqual(run(program, code, TRITONC="1"), ["tritonc b'our cubin of' None"] * 2 + ["4"])
        # A machine without ptxas, which Triton has none of either.
        self.assertRegex(run("-c", code, TRITONC="1", FAKE_PTXAS="", fails=True),
                         r"^tritonc.errors.Failed: there is no ptxas: Triton has none of its own \(.*\); install NVIDIA's CUDA toolkit, or name one with TRITON_PTXAS_PATH")
        # A package whose programs are for another machine.
        own.write_bytes(b"\x7fELF\x02\x01\x01 of another machine")
        self.assertRegex(run("-c", code, TRITONC="1", fails=True), "Unsupported: .* is not a tritonc that can be run here .*: .* cannot be run: ")
        standin_triton.write_program(own, "v1.2.2")
        self.assertRegex(run("-c", code, TRITONC="1", fails=True), "Unsupported: .* is tritonc v1.2.2, and this package is for v1.2.3: install the wheel of v1.2.2")
        standin_triton.write_program(own, "v1.2.3")
        # Two distributions of Triton, one over the other.
        for name, version in (("triton", "3.6.0"), ("pytorch_triton", "3.5.1")):
            (site / f"{name}-{version}.dist-info").mkdir()
            (site / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
        self.assertRegex(run("-c", code, TRITONC="1", fails=True), "Unsupported: there are two Tritons in .*: triton 3.6.0 and pytorch-triton 3.5.1 .* uninstall both")

    def test_by_pip(self):
        r = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--disable-pip-version-check", "-w", self.folder / "pip",
                            f"-C--programs={self.programs}", "-C--plat-name=linux_x86_64", HERE.parent], capture_output=True, text=True)
        if "No module named pip" in r.stderr or "no such option: -C" in r.stderr:
            self.skipTest("pip is not there, or too old for settings")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        wheel, = (self.folder / "pip").iterdir()
        self.assertEqual(wheel.read_bytes(), self.write("linux_x86_64").read_bytes())

    def test_made(self):
        """What make wheel left, if it did: small enough, static, and of the checkout's programs."""
        made = sorted((CHECKOUT / "dist").glob("tritonc-*.whl"), key=lambda p: p.stat().st_mtime)
        if not made:
            self.skipTest("make wheel has not been run")
        self.assertLessEqual(made[-1].stat().st_size, wheelbuild.LIMIT)
        with zipfile.ZipFile(made[-1]) as z:
            facts = json.loads(z.read("tritonc/bin/build.json"))
            self.assertIn("tritonc-backend-nvidia", facts["programs"])
            for name in facts["programs"]:
                wheelbuild.check_static(name, z.read(f"tritonc/bin/{name}"), wheelbuild.PLATFORMS[facts["platform"]][1])


if __name__ == "__main__":
    unittest.main()
