"""Finds the program tritonc, and says what it is."""

import dataclasses
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil

from .compiler import Compiler
from .errors import Failed, Unsupported

PACKAGE = pathlib.Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parents[2] if (PACKAGE.parents[2] / "go.mod").exists() else None


@dataclasses.dataclass(frozen=True)
class Program:
    path: str
    version: str
    identity: str  # changes with whatever could change a cubin; part of Triton's cache keys
    targets: tuple  # cuda:80, …
    build: str = ""  # what a server must be to compile in its place


def build():
    """What the wheel was made of ({} in a checkout)."""
    path = PACKAGE / "bin" / "build.json"
    return json.loads(path.read_text()) if path.exists() else {}


def find(given=None):
    """The path of the program: what was given, TRITONC_PROGRAM, the package's own, that of
    the checkout, or the one in PATH."""
    named = given or os.environ.get("TRITONC_PROGRAM")
    if named:
        whence = "install() was given it" if given else "TRITONC_PROGRAM names it, and without that the package's own is taken"
        if not os.path.isfile(named):
            raise Unsupported(f"there is no program {named}; {whence}")
        if not os.access(named, os.X_OK):
            raise Unsupported(f"{named} is not executable; {whence}")
        return os.path.abspath(named)
    own = PACKAGE / "bin" / "tritonc"
    candidates = [own] + ([CHECKOUT / "bin" / "tritonc"] if CHECKOUT else [])
    for path in candidates:
        if path.is_file():
            if not os.access(path, os.X_OK):
                raise Unsupported(f"{path} cannot be run: it has lost its permissions; install the wheel again, or chmod +x {path.parent}/*")
            return str(path)
    in_path = shutil.which("tritonc")
    if in_path:
        return os.path.abspath(in_path)
    here = "make build builds it" if CHECKOUT else f"install a wheel for this system ({platform.system()} {platform.machine()})"
    raise Unsupported(f"there is no program tritonc ({own}, PATH): {here}, or name one with TRITONC_PROGRAM")


def describe(path, flags=(), extra=""):
    """The Program at a path: runs it twice, and reads it and its backend."""
    compiler = Compiler(path)

    def ask(*arguments):
        try:
            return compiler.run(*arguments)
        except Failed as e:
            raise Unsupported(f"{path} is not a tritonc that can be run here ({platform.system()} {platform.machine()}): {e}") from None

    said = ask("--json", "version")
    try:
        facts = json.loads(said)
        version = facts["version"]
    except (ValueError, TypeError, KeyError):
        raise Unsupported(f"{path} is not tritonc: asked for its version, it prints {said.strip()[:60]!r}") from None
    wanted = build().get("version")
    if wanted and version != wanted:
        raise Unsupported(f"{path} is tritonc {version}, and this package is for {wanted}: install the wheel of {version}, "
                          "or unset TRITONC_PROGRAM to take the package's own")
    backends = ask("backends")
    targets = tuple(re.findall(r"(?m)^\s+(cuda:\d+)\b", backends))
    if not targets:
        why = re.search(r"(?m)^nvidia\b.*\n\s+(cannot be used: .*)", backends)
        raise Unsupported(f"{path} has no backend for NVIDIA GPUs: " + (why[1] if why else f"it belongs beside it, in {pathlib.Path(path).resolve().parent}"))
    h = hashlib.sha256("\0".join([*flags, extra]).encode())
    real = pathlib.Path(path).resolve()
    for file in (real, real.with_name("tritonc.real"), real.with_name("tritonc-backend-nvidia")):
        if file.is_file():
            h.update(file.read_bytes())
    return Program(str(path), version, "tritonc-" + h.hexdigest()[:16], targets, facts.get("build", ""))
