#!/usr/bin/env python3
"""Puts tritonc into the triton package: its front end and launcher, our compiler.

    bench/triton_hook.py program.py [ARGUMENT ...]     run a program so
    bench/triton_hook.py -m module [ARGUMENT ...]

or, in a program, before the first kernel is compiled:

    import triton_hook; triton_hook.install()

Triton makes the ttir of a kernel; everything from there to the cubin is
tritonc's, and so is what the launcher needs to know (shared memory, warps,
scratch). CompiledKernel.asm holds our texts, metadata.compiler is "tritonc".

A kernel that asks for what tritonc refuses (Gluon, instrumentation, a GPU
that it has no backend for) raises Refused. With TRITONC_HOOK=fallback in the
environment Triton compiles such a kernel itself, and a line on stderr says so.
Any other failure of tritonc raises Failed, fallback or not.

    TRITONC           the tritonc to run (bin/tritonc beside this folder)
    TRITONC_HOOK      raise (default), fallback, or off
    TRITONC_HOOK_KEEP a folder that gets the input of each compile that failed
"""

import collections
import functools
import hashlib
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# The stages that are ours, and the text that each begins with.
STAGES = ("ttgir", "llir", "ptx", "cubin")

# Options of Triton's that tritonc takes by the same name. Those of the front
# end have done their work when there is ttir.
OPTIONS = ("num_ctas", "maxnreg", "ptx_version", "ptx_options", "enable_fp_fusion", "enable_reflect_ftz",
           "launch_cooperative_grid", "launch_pdl", "debug", "sanitize_overflow")

# What a launch needs to know, under Triton's names.
METADATA = ("name", "num_warps", "num_ctas", "shared", "tmem_size", "global_scratch_size", "global_scratch_align",
            "profile_scratch_size", "profile_scratch_align", "tensordesc_meta")


# A kernel that takes a descriptor of the host's, in ttir.
HOST_DESCRIPTOR = re.compile(r"tt\.func public [^\n]*!tt\.tensordesc<")


class Refused(RuntimeError):
    """The kernel asks for what tritonc does not do."""


class Failed(RuntimeError):
    """tritonc could not compile the kernel; the text is its diagnostic."""


class Tritonc:
    """The compiler, as a program. With assemble off it stops at PTX, which stands in
    the cubin's place, for a device that takes that."""

    def __init__(self, path, assemble=True):
        self.path, self.assemble = str(path), assemble
        self.keep = os.environ.get("TRITONC_HOOK_KEEP")
        self.counts = collections.Counter()

    @functools.cached_property
    def identity(self):
        """Changes with whatever could change a cubin; part of Triton's cache keys."""
        h = hashlib.sha256()
        for f in sorted(pathlib.Path(self.path).resolve().parent.glob("tritonc*")):
            if f.is_file():
                h.update(f.read_bytes())
        return "tritonc-" + ("" if self.assemble else "ptx-") + h.hexdigest()[:16]

    @functools.cached_property
    def targets(self):
        return frozenset(word for word in self.run("backends").split() if ":" in word)

    def run(self, *arguments, env=None):
        """What the program prints."""
        r = subprocess.run([self.path, *arguments], capture_output=True, text=True, env={**os.environ, **(env or {})})
        if r.returncode:
            raise Failed(r.stderr.strip() or f"{self.path} ends with status {r.returncode}")
        return r.stdout

    def compile(self, stage, text, capability, options, metadata, env):
        """({later stage: text or bytes}, metadata) from the text of one stage."""
        later = [s for s in STAGES if stage == "ttir" or STAGES.index(s) > STAGES.index(stage)] + ["json"]
        if not self.assemble:
            later.remove("cubin")
        with tempfile.TemporaryDirectory(prefix="tritonc-") as tmp:
            folder = pathlib.Path(tmp)
            source = folder / f"kernel.{stage}"
            source.write_text(text)
            # Triton's launcher raises OutOfResources itself, which autotuners rely on.
            if not self.assemble and HOST_DESCRIPTOR.search(text):
                options = [*options, "--option", "tma=never"]  # the simulated GPU is given their parts
            argv = ["--target", f"cuda:{capability}:32", "--allow-unlaunchable", *options, "--emit", ",".join(later), "-o", str(folder / "out")]
            (folder / "out").mkdir()
            if stage in ("llir", "ptx"):  # which do not say these themselves
                known = {k: v for k, v in metadata.items() if k in METADATA and v is not None}
                source.with_suffix(".json").write_text(json.dumps({"name": "kernel"} | known))
            try:
                self.run(*argv, str(source), env=env)
            except Failed as e:
                self.counts["failed"] += 1
                raise Failed(f"{e}{self.kept(source, argv)}") from None
            self.counts["compiled"] += 1
            out = {}
            for ending in later:
                file, = (folder / "out").glob(f"*.{ending}")
                out[ending] = file.read_bytes() if ending == "cubin" else file.read_text()
            if not self.assemble:
                out["cubin"] = out.get("ptx", text).encode()
            return out, json.loads(out.pop("json"))

    def kept(self, source, argv):
        if not self.keep:
            return ""
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        path = pathlib.Path(self.keep, digest + source.suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
        return f"\n(input: {path}; options: {' '.join(argv[2:-4])})"


class Compilation:
    """The stages of one kernel. tritonc makes them all at once, when the first is
    asked for; a stage whose input is not what the stage before handed out (a file
    that overrides it, a kernel that begins in the middle) is compiled from that."""

    def __init__(self, tritonc, options, capability, env):
        self.tritonc, self.capability, self.env = tritonc, capability, env
        self.arguments = arguments(options)
        self.texts = {}

    def stage(self, before, name):
        def run(source, metadata):
            text = source if isinstance(source, (str, bytes)) else str(source)
            if name not in self.texts or self.texts.get(before) != text:
                later, ours = self.tritonc.compile(before, text, self.capability, self.arguments, metadata, self.env)
                self.texts = {before: text} | later
                metadata.update({k: ours[k] for k in METADATA if k in ours})
                metadata["compiler"] = "tritonc"
            return self.texts[name]

        return run


def arguments(options):
    """tritonc's flags for Triton's options."""
    out = ["-w", str(options.num_warps), "-k", str(options.num_stages)]
    for name in OPTIONS:
        value = getattr(options, name, None)
        if value is not None and value != type(options).__dataclass_fields__[name].default:
            out += ["--option", f"{name}={value}"]
    if os.environ.get("DISABLE_MMA_V3", "").lower() in ("1", "on", "true", "y", "yes"):  # as Triton reads it
        out += ["--option", "wgmma=never"]
    for name, path in getattr(options, "extern_libs", None) or ():
        if name != "libdevice":  # ours has these functions built in
            out += ["--option", f"extern_libs={name}={path}"]
    return out


class Hook:
    """knobs.runtime.add_stages_inspection_hook."""

    def __init__(self, tritonc, fallback, env):
        self.tritonc, self.fallback, self.env = tritonc, fallback, env

    def __call__(self, backend, stages, options, language, capability):
        why = self.refusal(options, language, capability)
        if why:
            self.tritonc.counts["refused"] += 1
            if not self.fallback:
                raise Refused(f"tritonc: {why} (TRITONC_HOOK=fallback leaves such kernels to Triton)")
            print(f"tritonc: {why}: left to Triton", file=sys.stderr, flush=True)
            return
        order = list(stages)
        if order != ["ttir", *STAGES]:
            raise Refused(f"tritonc: the stages are {order}, and not those of Triton 3.6")
        compilation = Compilation(self.tritonc, options, capability, self.env())
        for before, name in zip(order, order[1:]):
            stages[name] = compilation.stage(before, name)

    def refusal(self, options, language, capability):
        """Why a kernel is not for tritonc; None when it is."""
        if getattr(language, "name", "TRITON") != "TRITON":
            return f"{language.name.lower()} kernels are not compiled"
        if f"cuda:{capability}" not in self.tritonc.targets:
            return f"there is no backend for cuda:{capability}"
        if getattr(options, "instrumentation_mode", ""):
            return f"instrumentation_mode = {options.instrumentation_mode} is not compiled"
        return None


def install(tritonc=None, mode=None, assemble=True):
    """Makes the triton package of this process compile with tritonc; returns the
    Tritonc, whose counts say how much it did, or None with mode "off"."""
    mode = mode or os.environ.get("TRITONC_HOOK") or "raise"
    if mode not in ("raise", "fallback", "off"):
        raise SystemExit(f"TRITONC_HOOK={mode}: want raise, fallback or off")
    if mode == "off":
        return None
    from triton import knobs
    from triton.backends.nvidia.compiler import CUDABackend
    if isinstance(knobs.runtime.add_stages_inspection_hook, Hook):
        return knobs.runtime.add_stages_inspection_hook.tritonc
    if knobs.runtime.add_stages_inspection_hook is not None:
        raise RuntimeError("triton_hook: another hook on the stages is there already")
    path = tritonc or os.environ.get("TRITONC") or HERE.parent / "bin/tritonc"
    if not os.access(path, os.X_OK):
        raise SystemExit(f"triton_hook: there is no program {path}; TRITONC names another")
    compiler = Tritonc(path, assemble)

    def env():
        # The ptxas that Triton would run, unless tritonc is told of one.
        if os.environ.get("TRITONC_PTXAS") or os.environ.get("TRITON_PTXAS_PATH"):
            return {}
        return {"TRITONC_PTXAS": knobs.nvidia.ptxas.path}

    knobs.runtime.add_stages_inspection_hook = Hook(compiler, mode == "fallback", env)
    # The hook is not part of Triton's cache keys, but the backend's hash is.
    theirs = CUDABackend.hash
    CUDABackend.hash = lambda self: f"{theirs(self)}-{compiler.identity}"
    return compiler


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or (sys.argv[1] == "-m" and len(sys.argv) < 3):
        print(__doc__)
        sys.exit(0 if len(sys.argv) > 1 and sys.argv[1] != "-m" else 2)
    sys.modules["triton_hook"] = sys.modules[__name__]  # so that an import finds this one
    compiler = install()
    try:
        if sys.argv[1] == "-m":
            sys.argv = sys.argv[2:]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = sys.argv[1:]
            sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        if compiler:
            n = compiler.counts
            print(f"tritonc: {n['compiled']} kernels compiled, {n['failed']} failed, {n['refused']} refused",
                  file=sys.stderr)


if __name__ == "__main__":
    main()
