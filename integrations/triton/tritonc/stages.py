"""Puts tritonc into the stages of one compile of Triton's.

Triton makes the ttir of a kernel; everything from there to the cubin is tritonc's, and
so is what the launcher needs to know (shared memory, warps, scratch).
"""

import hashlib
import os
import re

from . import source
from .compiler import STAGES, Request
from .errors import Failed, Refused

# Options of Triton's that tritonc takes by the same name. Those of the front end have
# done their work when there is ttir.
OPTIONS = ("num_ctas", "maxnreg", "ptx_version", "ptx_options", "enable_fp_fusion", "enable_reflect_ftz",
           "launch_cooperative_grid", "launch_pdl", "debug", "sanitize_overflow")

# What a launch needs to know, under Triton's names.
METADATA = ("name", "num_warps", "num_ctas", "shared", "tmem_size", "global_scratch_size", "global_scratch_align",
            "profile_scratch_size", "profile_scratch_align", "tensordesc_meta")

# A kernel that takes a descriptor of the host's, in ttir.
HOST_DESCRIPTOR = re.compile(r"tt\.func public [^\n]*!tt\.tensordesc<")

# The name of the kernel in ttir, ttgir, llir and PTX.
NAMES = re.compile(r"tt\.func public @\"?([\w$.]+)|define (?:\w+ )*void @\"?([\w$.]+)|\.entry ([\w$.]+)")

# What ptxas refuses, such as a kernel that does not fit into maxnreg, is Triton's PTXASError,
# which autotuners take for a configuration to be left out.
PTXAS = re.compile(r"error: ptxas: ")


def name_of(text):
    m = NAMES.search(text)
    return next(filter(None, m.groups()), "?") if m else "?"


def text_of(source):
    return source if isinstance(source, str) else source.decode() if isinstance(source, bytes) else str(source)


def arguments(options):
    """tritonc's flags for Triton's options."""
    out = ["-w", str(options.num_warps), "-k", str(options.num_stages)]
    for name in OPTIONS:
        value = getattr(options, name, None)
        # The default of ptx_options is what the environment said, which tritonc does not read.
        default = "" if name == "ptx_options" else getattr(type(options).__dataclass_fields__.get(name), "default", None)
        if value is not None and value != default:
            out += ["--option", f"{name}={value}"]
    if os.environ.get("DISABLE_MMA_V3", "").lower() in ("1", "on", "true", "y", "yes"):  # as Triton reads it
        out += ["--option", "wgmma=never"]
    for name, path in getattr(options, "extern_libs", None) or ():
        if name != "libdevice":  # ours has these functions built in
            out += ["--option", f"extern_libs={name}={path}"]
    return out


def drop_profile_scratch(ptx):
    """PTX without the kernel's last parameter, for launchers of Triton 3.4, which do not pass
    it. tritonc does not use it."""
    m = re.search(r"\.entry [\w$]+\((.*?)\n\)", ptx, re.DOTALL)
    parameters = m[1].split(",\n") if m else []
    name = re.search(r"[\w$]+$", parameters[-1])[0] if parameters else ""
    if not name or re.search(rf"{re.escape(name)}(?![\w$])", ptx[m.end():]):
        raise Failed("the PTX is not of the form that tritonc writes: the parameter for profile scratch memory, "
                     "which Triton 3.4 does not pass, cannot be dropped")
    return ptx[:m.start(1)] + ",\n".join(parameters[:-1]) + ptx[m.end(1):]


class Compilation:
    """The stages of one kernel. tritonc makes them all at once, when the first is asked for;
    a stage whose input is not what the stage before handed out (a file that overrides it,
    a kernel that begins in the middle) is compiled from that."""

    def __init__(self, hook, options, capability, theirs):
        self.hook, self.capability, self.theirs = hook, capability, theirs
        self.flags = arguments(options)
        self.texts = {}
        self.left = False  # to Triton, with the rest
        self.file, self.why = None, None  # the Source that says the same as Triton's ttir; why there is none
        self.agreed = None  # on the ttir

    def first(self, name):
        """The stage that makes ttir, which is Triton's, and in source mode is compared with what
        the kernel's file says."""
        def run(module, metadata):
            made = self.theirs[name](module, metadata)
            self.agreed = text_of(made)
            try:
                found = source.of(self.hook.watch.made_of())
                self.why = self.hook.compiler.differs(self.request("ttir", "", (), {}, found, self.flags), self.agreed)
                self.file = found if self.why is None else None
            except source.NotSource as e:
                self.why = str(e)
            return made

        return run

    def stage(self, before, name):
        def run(given, metadata):
            if self.left:
                return self.theirs[name](given, metadata)
            text = text_of(given)
            if name not in self.texts or self.texts.get(before) != text:
                try:
                    self.compile(before, text, metadata)
                except Failed as e:
                    if not self.hook.fallback:
                        digest = hashlib.sha256("\0".join([*self.flags, text]).encode()).hexdigest()[:16]
                        self.hook.session.add(how="failed", name=name_of(text), why=first_line(e), digest=digest)
                        if PTXAS.search(first_line(e)):
                            raise self.hook.ptxas_error(str(e)) from e
                        raise
                    self.left = True
                    self.hook.leave(name_of(text), first_line(e), metadata)
                    return self.theirs[name](given, metadata)
            return self.texts[name]

        return run

    def request(self, stage, text, emit, metadata, file=None, flags=None):
        """The Request for a text, or a kernel's file; flags in the place of all that a compile has."""
        environment = self.hook.environment(self.capability)
        if file is not None:
            environment = {**environment, **source.NOWHERE}
        if file is not None and flags is not None:
            return Request("py", "", f"cuda:{self.capability}", emit, (*flags, *file.flags()), {}, environment, file.path)
        known = {}
        if stage in ("llir", "ptx"):  # which do not say these themselves
            known = {k: v for k, v in metadata.items() if k in METADATA and v is not None}
        flags = [*self.hook.flags, *self.flags]
        # The simulated GPU is given the parts of a descriptor.
        if not self.hook.assemble and HOST_DESCRIPTOR.search(text):
            flags += ["--option", "tma=never"]
        if file is not None:
            return Request("py", "", f"cuda:{self.capability}:32", emit, (*flags, *file.flags()), known, environment, file.path)
        return Request(stage, text, f"cuda:{self.capability}:32", emit, tuple(flags), known, environment)

    def compile(self, before, text, metadata):
        later = STAGES if before == "ttir" else STAGES[STAGES.index(before) + 1:]
        drop = not self.hook.version.profile_scratch and "ptx" in later
        emit = tuple(s for s in later if s != "cubin" or (self.hook.assemble and not drop))
        file = self.file if before == "ttir" and text == self.agreed else None
        result = self.hook.compiler.compile(self.request(before, text, emit, metadata, file))
        artifacts, ours, seconds = dict(result.artifacts), result.metadata, result.seconds
        if drop:
            artifacts["ptx"] = drop_profile_scratch(artifacts["ptx"])
            if self.hook.assemble:
                result = self.hook.compiler.compile(self.request("ptx", artifacts["ptx"], ("cubin",), ours))
                artifacts["cubin"], seconds = result.artifacts["cubin"], seconds + result.seconds
        if not self.hook.assemble:
            artifacts["cubin"] = artifacts.get("ptx", text).encode()
        self.texts = {before: text, **artifacts}
        metadata.update({k: ours[k] for k in METADATA if k in ours})
        if self.hook.version.cluster_dims:  # all CTAs of a cluster lie along x
            metadata["cluster_dims"] = (ours.get("num_ctas", 1), 1, 1)
        metadata["compiler"] = "tritonc"
        more = {}
        if self.hook.watch is not None:
            more = {"source": file is not None, "why": None if file is not None else self.why or f"it begins at {before}"}
        self.hook.session.add(how="compiled", name=ours.get("name", "?"), target=f"cuda:{self.capability}",
                              seconds=seconds, stage=before, served=getattr(result, "served", False), **more)


def first_line(e):
    return str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__


class Hook:
    """What Triton calls when it has made the list of a compile's stages."""

    def __init__(self, compiler, program, version, session, fallback=False, flags=(), assemble=True, ptxas=None, ptxas_error=Failed, watch=None):
        self.compiler, self.program, self.version, self.session = compiler, program, version, session
        self.fallback, self.flags, self.assemble, self.ptxas = fallback, tuple(flags), assemble, ptxas
        self.ptxas_error = ptxas_error
        self.watch = watch  # in source mode

    def __call__(self, backend=None, stages=None, options=None, language=None, capability=None):
        if stages is None:  # Triton 3.7 and later ask what to add to their keys
            return self.program.identity, self.program.identity
        why = self.refusal(options, language, capability) or self.strange(list(stages))
        if why:
            self.refuse(stages, why)
            return
        compilation = Compilation(self, options, capability, dict(stages))
        order = list(stages)
        if self.watch is not None:
            self.watch.forget()
            stages[order[0]] = compilation.first(order[0])
        for before, name in zip(order, order[1:]):
            stages[name] = compilation.stage(before, name)

    def refusal(self, options, language, capability):
        """Why a kernel is not for tritonc; None when it is."""
        if getattr(language, "name", "TRITON") != "TRITON":
            return f"{language.name.lower()} kernels are not compiled"
        if capability is None:
            return "kernels for AMD GPUs are not compiled inside Triton"
        if f"cuda:{capability}" not in self.program.targets:
            return f"there is no backend for cuda:{capability}"
        if getattr(options, "instrumentation_mode", ""):
            return f"instrumentation_mode = {options.instrumentation_mode} is not compiled"
        if tuple(getattr(options, "cluster_dims", None) or (1, 1, 1)) != (1, 1, 1):
            return f"cluster_dims = {options.cluster_dims} is not compiled; num_ctas is"
        return None

    def strange(self, order):
        if order != ["ttir", *STAGES]:
            return f"the stages are {', '.join(order)}, and not those of Triton {self.version.name}"
        return None

    def refuse(self, stages, why):
        """Raises Refused, or leaves the kernel to Triton. Its name is known when Triton has made
        the first stage."""
        if not self.fallback:
            self.session.add(how="refused", name="?", why=why)
            raise Refused(f"tritonc: {why} (install(fallback=True) or TRITONC_FALLBACK=1 leaves such kernels to Triton)")
        first = next(iter(stages))
        theirs = stages[first]

        def run(source, metadata):
            made = theirs(source, metadata)
            self.leave(name_of(text_of(made)), why, metadata)
            return made

        stages[first] = run

    def leave(self, name, why, metadata):
        self.session.add(how="fell_back", name=name, why=why)
        self.session.tell(f"{name}: {why}: left to Triton")
        metadata["compiler"] = "triton"

    def environment(self, capability):
        """The ptxas that Triton would run, unless tritonc is told of one."""
        if not self.assemble or self.ptxas is None or os.environ.get("TRITONC_PTXAS"):
            return {}
        path = self.ptxas(capability)
        return {"TRITONC_PTXAS": path, "TRITON_PTXAS_PATH": path}
