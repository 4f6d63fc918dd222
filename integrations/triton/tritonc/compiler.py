"""Compiler: the one place that tritonc is called from.

Whatever has a method compile(request) -> Result can take its place, such as a client
of a compiler that keeps running. It is called from several threads at once, and from
processes that were forked; the one here holds no lock and no state.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

from .errors import Failed

# The stages after Triton's ttir, in their order.
STAGES = ("ttgir", "llir", "ptx", "cubin")


@dataclasses.dataclass(frozen=True)
class Request:
    stage: str  # which the text is of: ttir or one of STAGES
    text: str
    target: str  # cuda:90:32
    emit: tuple  # later stages
    flags: tuple = ()
    metadata: dict = dataclasses.field(default_factory=dict)  # what llir and ptx do not say themselves
    env: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Result:
    artifacts: dict  # stage: text; bytes of a cubin
    metadata: dict
    seconds: float


class Compiler:
    """tritonc as a program, a process for each request."""

    def __init__(self, program, keep=None):
        self.program = str(program)
        self.keep = keep  # a folder that gets the input of each compile that failed

    def run(self, *arguments, env=None):
        """What the program prints."""
        try:
            r = subprocess.run([self.program, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                               env={**os.environ, **(env or {})})
        except OSError as e:
            raise Failed(f"{self.program} cannot be run: {e.strerror or e}") from None
        if r.returncode < 0:
            raise Failed(f"{self.program} was ended by signal {-r.returncode}: {r.stderr.strip()}")
        if r.returncode:
            raise Failed(r.stderr.strip() or f"{self.program} ends with status {r.returncode}")
        return r.stdout

    def compile(self, request):
        """The Result of a Request, or Failed."""
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="tritonc-") as tmp:
            folder = pathlib.Path(tmp)
            source = folder / f"kernel.{request.stage}"
            source.write_text(request.text)
            if request.metadata:
                source.with_suffix(".json").write_text(json.dumps({"name": "kernel", **request.metadata}))
            out = folder / "out"
            out.mkdir()
            options = ["--target", request.target, "--allow-unlaunchable", *request.flags]
            try:
                self.run(*options, "--emit", ",".join([*request.emit, "json"]), "-o", str(out), str(source),
                         env=request.env)
            except Failed as e:
                raise Failed(f"{e}{self.kept(source, options)}") from None
            artifacts = {}
            for ending in (*request.emit, "json"):
                file, = out.glob(f"*.{ending}")
                artifacts[ending] = file.read_bytes() if ending == "cubin" else file.read_text()
        metadata = json.loads(artifacts.pop("json"))
        return Result(artifacts, metadata, time.perf_counter() - begun)

    def kept(self, source, options):
        """Keeps the input of a compile that failed; what to say of it."""
        if not self.keep:
            return ""
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        path = pathlib.Path(self.keep, digest + source.suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
        return f"\n(input: {path}; options: {' '.join(options)})"
