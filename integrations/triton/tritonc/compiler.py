"""Compiler: the one place that tritonc is called from.

Whatever has a method compile(request) -> Result can take its place. It is called from
several threads at once, and from processes that were forked; the one here holds no lock.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

from .errors import Failed
from .server import Died, NotServed

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
    path: str = ""  # of a Python file, which is compiled in the text's place


@dataclasses.dataclass(frozen=True)
class Result:
    artifacts: dict  # stage: text; bytes of a cubin
    metadata: dict
    seconds: float
    served: bool = False  # whether a server compiled it


class Compiler:
    """tritonc as a program: its server, where there is one, else a process for each request."""

    def __init__(self, program, keep=None, server=None):
        self.program = str(program)
        self.keep = keep  # a folder that gets the input of each compile that failed
        self.server = server

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
        options = ["--target", request.target, "--allow-unlaunchable", *request.flags,
                   "--emit", ",".join([*request.emit, "json"])]
        try:
            files = self.served(request, options)
            served = files is not None
            if not served:
                files = self.processed(request, options)
        except Failed as e:
            raise Failed(f"{e}{self.kept(request, options)}") from None
        artifacts = {}
        for ending in (*request.emit, "json"):
            data, = (data for name, data in files.items() if name.endswith(f".{ending}"))
            artifacts[ending] = data if ending == "cubin" else data.decode()
        metadata = json.loads(artifacts.pop("json"))
        return Result(artifacts, metadata, time.perf_counter() - begun, served)

    def differs(self, request, text):
        """Why what a Python file says, the request's, is not the module text; None where it is."""
        command = [self.program, "diff", "--target", request.target, *request.flags, request.path, "-"]
        try:
            r = subprocess.run(command, input=text, capture_output=True, text=True, env={**os.environ, **request.env})
        except OSError as e:
            return f"{self.program} cannot be run: {e.strerror or e}"
        if r.returncode == 0:
            return None
        return next(iter(r.stderr.strip().splitlines()), "tritonc's front end makes another ttir")

    def served(self, request, options):
        """The files {name: bytes} by the server, or Failed; None where it does not do it."""
        if self.server is None:
            return None
        env = {**os.environ, **request.env}
        try:
            if request.metadata or request.path:  # a file, which has others beside it
                with self.written(request) as source:
                    code, files, said = self.server.call([*options, "-o", "out", str(source)], b"", env)
            else:
                code, files, said = self.server.call([*options, "--as", request.stage, "-o", "out", "-"], request.text.encode(), env)
        except NotServed:
            return None
        except Died:
            self.server.tell("the server ended while it compiled; what it had under way is compiled by processes")
            return None
        if code:
            raise Failed(said.strip() or f"tritonc ends with status {code}")
        return files

    def processed(self, request, options):
        """The same by a process."""
        server = ["--no-server"] if self.server is not None else []
        with self.written(request) as source, tempfile.TemporaryDirectory(prefix="tritonc-out-") as tmp:
            out = pathlib.Path(tmp)
            self.run(*options, *server, "-o", str(out), str(source), env=request.env)
            return {f.name: f.read_bytes() for f in out.iterdir()}

    @contextlib.contextmanager
    def written(self, request):
        """The source as a file, with its metadata beside it."""
        if request.path:
            yield pathlib.Path(request.path)
            return
        with tempfile.TemporaryDirectory(prefix="tritonc-") as tmp:
            source = pathlib.Path(tmp, f"kernel.{request.stage}")
            source.write_text(request.text)
            if request.metadata:
                source.with_suffix(".json").write_text(json.dumps({"name": "kernel", **request.metadata}))
            yield source

    def kept(self, request, options):
        """Keeps the input of a compile that failed; what to say of it."""
        if not self.keep:
            return ""
        data = pathlib.Path(request.path).read_bytes() if request.path else request.text.encode()
        path = pathlib.Path(self.keep, f"{hashlib.sha256(data).hexdigest()[:12]}.{request.stage}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return f"\n(input: {path}; options: {' '.join(options)})"
