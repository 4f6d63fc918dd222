"""Puts tritonc into the triton package: its front end and launcher, our compiler.

    import tritonc.triton
    tritonc.triton.install()

Triton makes the ttir of a kernel; everything from there to the cubin is tritonc's. A
kernel that asks for what tritonc does not do (Gluon, instrumentation, a GPU that it has
no backend for) raises Refused, one that it cannot compile Failed, or Triton's PTXASError
where ptxas refuses it; with fallback Triton compiles them, which is told once per kernel.
"""

import atexit
import os
import shlex
import sys

from . import ahead as tuning
from . import children, coordesc, program, session, source, torch, versions
from . import server as serving
from .autoload import YES
from .compiler import Compiler
from .errors import Failed, Refused, Unsupported
from .stages import Hook

__all__ = ["Failed", "Refused", "Unsupported", "install", "report", "uninstall"]


class Installed:
    """What install() did, and what uninstall() takes back."""

    def __init__(self, hook, settings, undo):
        self.hook, self.settings, self.undo = hook, settings, undo


_installed = None


def install(program_path=None, fallback=None, flags=None, keep=None, assemble=True, server=None, ahead=None, compiler=None, from_source=None):
    """Makes the triton package of this process, and of those that it starts, compile with
    tritonc; returns the Hook. A second call with the same arguments does nothing.

    program_path  the program tritonc (default: TRITONC_PROGRAM, or the package's own)
    fallback      Triton compiles what tritonc does not (default: TRITONC_FALLBACK, or False)
    flags         more flags of tritonc's, such as ["--option", "ptx=llvm"] (default: the words of TRITONC_FLAGS)
    keep          a folder that gets the input of each compile that failed (default: TRITONC_KEEP)
    assemble      False stops at PTX, which stands in the cubin's place
    server        False starts a process for each kernel (default: False where TRITONC_SOCKET=off says so)
    ahead         False has autotuners, Triton's and coordinate descent, compile a configuration when they measure it (default: False where TRITONC_AHEAD=0 says so)
    compiler      another object with Compiler's method compile(), for this process alone
    from_source   True compiles a kernel's Python file, where that gives Triton's ttir (default: TRITONC_FROM_SOURCE, or False)
    """
    settings = {
        "program": program.find(program_path),
        "fallback": os.environ.get("TRITONC_FALLBACK", "").lower() in YES if fallback is None else bool(fallback),
        "flags": shlex.split(os.environ.get("TRITONC_FLAGS", "")) if flags is None else list(flags),
        "keep": keep or os.environ.get("TRITONC_KEEP") or None,
        "assemble": bool(assemble),
        "server": serving.wanted() if server is None else bool(server),
        "ahead": os.environ.get("TRITONC_AHEAD", "1").lower() in YES if ahead is None else bool(ahead),
        "from_source": os.environ.get("TRITONC_FROM_SOURCE", "").lower() in YES if from_source is None else bool(from_source),
    }
    if compiler is not None and settings["from_source"]:
        raise Unsupported("from_source is for tritonc itself, and not for a compiler that is given in its place")
    inherited = children.read()
    if inherited and all(inherited.get(k) == v for k, v in settings.items()):
        settings = inherited  # a program that installs the hook, started by itself
    return _install(settings, compiler)


def install_from_environment():
    """What a process does whose environment says that it should (see autoload.py)."""
    settings = children.read()
    try:
        return _install(settings) if settings else install()
    except Unsupported as e:
        if settings is None and os.environ.get("TRITONC_FALLBACK", "").lower() in YES:
            print(f"tritonc: {e}: everything is left to Triton", file=sys.stderr, flush=True)
            return None
        raise


def _install(settings, compiler=None):
    global _installed
    asked = {k: settings[k] for k in ("program", "fallback", "flags", "keep", "assemble", "server", "ahead", "from_source")}
    try:
        import triton  # which may install the hook by itself, if the environment says so
    except ImportError as e:
        if getattr(e, "name", None) == "triton":
            raise Unsupported(f"this Python ({sys.executable}) has no triton; install one that tritonc works with (pip install triton=={versions.TESTED}.*)") from None
        raise Unsupported(f"triton cannot be imported: {e}") from None
    if _installed is not None:
        if asked == _installed.settings and (compiler is None or compiler is _installed.hook.compiler):
            return _installed.hook
        different = [k for k in asked if asked[k] != _installed.settings[k]] or ["compiler"]
        raise Unsupported(f"tritonc is installed already, with another {', '.join(different)}; call uninstall() first")
    path = getattr(triton, "__file__", "") or ""
    version = versions.of(getattr(triton, "__version__", "?"), path)
    if path:
        versions.check_alone(path)
    if settings.get("triton") and settings["triton"] != [triton.__version__, path]:
        raise Unsupported("two Tritons: tritonc was installed into Triton {} ({}), and this process, which that one started, "
                          "has Triton {} ({}); make both find the same (PYTHONPATH)".format(*settings["triton"], triton.__version__, path))
    facts = settings.get("facts")
    mode = f"{settings['assemble']}-{settings['fallback']}-{settings['from_source']}"
    found = program.Program(**facts) if facts else program.describe(settings["program"], settings["flags"], mode)
    found = program.Program(found.path, found.version, found.identity, tuple(found.targets), found.build)
    log = session.Session(settings.get("session"))
    server = serving.Server(found.path, found.build, log.folder, log.tell) if compiler is None and settings["server"] else None
    knobs, cuda, undo = _knobs(), _backend("nvidia", "CUDABackend"), []
    if cuda is None:
        raise Unsupported(f"Triton {triton.__version__} ({path}) has no backend for NVIDIA GPUs")

    def ptxas(capability):
        tools = knobs.nvidia
        tool = "ptxas_blackwell" if capability >= 100 and version.ptxas_blackwell else "ptxas"
        try:
            return getattr(tools, tool).path
        except RuntimeError as e:
            raise Failed(f"there is no ptxas: Triton has none of its own ({e}); install NVIDIA's CUDA toolkit, or name one with "
                         "TRITON_PTXAS_PATH or TRITONC_PTXAS") from None

    hook = Hook(compiler or Compiler(found.path, settings["keep"], server), found, version, log, settings["fallback"],
                settings["flags"], settings["assemble"], ptxas, _ptxas_error(), source.Watch() if settings["from_source"] else None)
    if hook.watch is not None:
        from triton.compiler.compiler import ASTSource
        hook.watch.watch(ASTSource, undo)
    if version.stages_hook:
        _use_stages_hook(knobs, hook, undo)
    else:
        for backend in filter(None, (cuda, _backend("amd", "HIPBackend"))):
            _wrap_add_stages(backend, hook, undo)
    _add_to_hash(cuda, knobs, hook, undo)
    if settings["ahead"] and hasattr(triton, "AsyncCompileMode"):
        from triton.runtime.autotuner import Autotuner
        tuning.wrap(Autotuner, triton.AsyncCompileMode, undo)
    if settings["ahead"]:
        coordesc.watch(undo)
    first = settings.get("session") is None
    children.enter({**asked, "facts": vars(found), "session": log.folder, "triton": [triton.__version__, path]})
    undo.append(children.leave)
    named = torch.enter(found.identity, _ptxas_path(knobs) if settings["assemble"] else None, workers=first)
    undo.append(lambda: torch.leave(found.identity, named))
    undo.append(log.remove)
    if server and first:
        server.prepare()
        atexit.register(server.stop)  # before the session's folder goes
        undo.append(lambda: atexit.unregister(server.stop))
        undo.append(server.stop)
    hook.triton = {"version": triton.__version__, "path": path, "tried": version.tried}
    _installed = Installed(hook, asked, undo)
    return hook


def _knobs():
    from triton import knobs
    return knobs


def _ptxas_path(knobs):
    """The ptxas that Triton takes; None where it has none."""
    try:
        return knobs.nvidia.ptxas.path
    except RuntimeError:
        return None


def _ptxas_error():
    from triton.runtime.errors import PTXASError
    return PTXASError


def _backend(vendor, name):
    import importlib
    try:
        return getattr(importlib.import_module(f"triton.backends.{vendor}.compiler"), name)
    except ImportError:
        return None


def _use_stages_hook(knobs, hook, undo):
    if knobs.runtime.add_stages_inspection_hook is not None:
        raise Unsupported("another hook on the stages is there already (knobs.runtime.add_stages_inspection_hook)")
    knobs.runtime.add_stages_inspection_hook = hook

    def restore():
        if knobs.runtime.add_stages_inspection_hook is hook:
            knobs.runtime.add_stages_inspection_hook = None

    undo.append(restore)


def _wrap_add_stages(backend, hook, undo):
    """What the hook on the stages does, for Tritons without one."""
    theirs = backend.add_stages

    def add_stages(self, stages, options, language):
        theirs(self, stages, options, language)
        capability = self._parse_arch(options.arch) if backend.__name__ == "CUDABackend" else None
        hook(self, stages, options, language, capability)

    backend.add_stages = add_stages
    undo.append(lambda: setattr(backend, "add_stages", theirs))


def _add_to_hash(backend, knobs, hook, undo):
    """Tells our kernels from Triton's in its caches: the backend's hash is part of their keys.
    If another hook has taken the place of ours, Triton compiles, and the key is its own."""
    theirs = backend.hash

    def hash(self):
        if hook.version.stages_hook and knobs.runtime.add_stages_inspection_hook is not hook:
            hook.session.tell("another hook on the stages has taken the place of tritonc's: Triton compiles")
            return theirs(self)
        return f"{theirs(self)}-{hook.program.identity}"

    backend.hash = hash
    undo.append(lambda: setattr(backend, "hash", theirs))


def uninstall():
    """Takes tritonc out of this process again. Kernels that it compiled stay in the programs
    that hold them."""
    global _installed
    if _installed is None:
        return
    installed, _installed = _installed, None
    for step in reversed(installed.undo):
        step()


def report():
    """What this process and those that it started have compiled with tritonc: a dict, whose
    str is a text (session.Report). Kernels that Triton found in its cache are not counted."""
    if _installed is None:
        raise Unsupported("tritonc is not installed in this process; call install() first")
    hook = _installed.hook
    p = hook.program
    return session.Report({"triton": hook.triton, "program": {"path": p.path, "version": p.version, "identity": p.identity}},
                          hook.session.entries())
