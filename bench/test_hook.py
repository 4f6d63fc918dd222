"""Tests of bench/triton_hook.py on a stand-in for the triton package."""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import triton_hook

TRITONC = os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc"))

TTIR = """module {
  tt.func public @double(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %o = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %p, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %q : tensor<64x!tt.ptr<f32>>
    %w = arith.addf %v, %v : tensor<64xf32>
    tt.store %q, %w : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


@dataclasses.dataclass(frozen=True)
class Options:
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    maxnreg: int = None
    ptx_version: int = None
    ptx_options: str = None
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    debug: bool = False
    sanitize_overflow: bool = True
    extern_libs: tuple = (("libdevice", "/lib/libdevice.10.bc"),)
    instrumentation_mode: str = ""


class Module:
    """An MLIR module, as far as a stage sees it: something whose str is text."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


class Backend:
    """CUDABackend and compile(), as far as the hook has to do with them."""

    def hash(self):
        return "12.8-90"

    def compile(self, knobs, text, options=Options(), language="TRITON", capability=90, first="ttir", override=None):
        stages = {s: lambda src, metadata, s=s: self.theirs(s, src) for s in ("ttir", "ttgir", "llir", "ptx", "cubin")}
        if language == "GLUON":
            del stages["ttir"]
        language = types.SimpleNamespace(name=language)
        knobs.runtime.add_stages_inspection_hook(self, stages, options, language, capability)
        metadata = {"num_warps": options.num_warps, "num_ctas": options.num_ctas}
        module, asm = Module(text), {}
        for name, run in list(stages.items())[list(stages).index(first):]:
            module = (override or {}).get(name) or run(module, metadata)
            asm[name] = module
        return asm, metadata

    def theirs(self, stage, source):
        return source if stage == "ttir" else f"Triton's {stage}"


def stand_in():
    """The modules that install() imports."""
    ptxas = types.SimpleNamespace(path="/triton/ptxas")
    knobs = types.SimpleNamespace(runtime=types.SimpleNamespace(add_stages_inspection_hook=None),
                                  nvidia=types.SimpleNamespace(ptxas=ptxas))
    backend = type("CUDABackend", (Backend,), {})
    triton = types.ModuleType("triton")
    triton.knobs = knobs
    compiler = types.ModuleType("triton.backends.nvidia.compiler")
    compiler.CUDABackend = backend
    names = {"triton": triton, "triton.backends": types.ModuleType("triton.backends"),
             "triton.backends.nvidia": types.ModuleType("triton.backends.nvidia"),
             "triton.backends.nvidia.compiler": compiler}
    return names, knobs, backend


FAKE = """#!/usr/bin/env python3
import json, os, pathlib, sys
if sys.argv[1:] == ["backends"]:
    print("nvidia 0.1.0\\t/x\\n  cuda:80  warp size 32\\n  cuda:90  warp size 32"); sys.exit()
flags, source = sys.argv[1:-1], pathlib.Path(sys.argv[-1])
with open(os.environ["FAKE_LOG"], "a") as log:
    beside = source.with_suffix(".json")
    print(json.dumps([flags, source.name, source.read_text(), os.environ.get("TRITONC_PTXAS"),
                      json.loads(beside.read_text()) if beside.exists() else None]), file=log)
if "bad" in source.read_text():
    sys.exit("kernel.ttir:1:1: error: no")
out = pathlib.Path(flags[flags.index("-o") + 1])
for ending in flags[flags.index("--emit") + 1].split(","):
    text = f"our {ending} of {source.read_text()}"
    if ending == "json":
        text = json.dumps({"name": "k", "num_warps": 8, "shared": 512, "tensordesc_meta": [], "hash": "ours",
                           "tmem_size": 0, "global_scratch_size": 0, "global_scratch_align": 1,
                           "profile_scratch_size": 0, "profile_scratch_align": 1})
    (out / f"k.{ending}").write_text(text)
"""


class HookTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = pathlib.Path(tmp.name)
        self.fake = self.folder / "tritonc"
        self.fake.write_text(FAKE.replace("/usr/bin/env python3", sys.executable))
        self.fake.chmod(0o755)
        self.log = self.folder / "log"
        names, self.knobs, self.backend = stand_in()
        env = {k: "" for k in ("TRITONC_HOOK", "TRITONC_PTXAS", "TRITON_PTXAS_PATH", "TRITONC_HOOK_KEEP", "TRITONC")}
        env["FAKE_LOG"] = str(self.log)
        for patch in (mock.patch.dict(sys.modules, names), mock.patch.dict(os.environ, env)):
            patch.start()
            self.addCleanup(patch.stop)

    def calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def install(self, **more):
        return triton_hook.install(self.fake, **more)

    def compile(self, text="m", **more):
        return self.backend().compile(self.knobs, text, **more)

    def test_stages(self):
        compiler = self.install()
        asm, metadata = self.compile(options=Options(num_warps=8, num_ctas=2, maxnreg=64, enable_fp_fusion=False, debug=True,
                                                     extern_libs=(("libdevice", "/l"), ("mine", "/m.bc"))))
        self.assertEqual(asm["ttgir"], "our ttgir of m")
        self.assertEqual(asm["ptx"], "our ptx of m")
        self.assertEqual(asm["cubin"], b"our cubin of m")
        (flags, name, _, ptxas, _), = self.calls()  # one process for all stages
        self.assertEqual(" ".join(flags).partition(" -o ")[0],
                         "--target cuda:90:32 --allow-unlaunchable -w 8 -k 3 --option num_ctas=2 --option maxnreg=64 --option enable_fp_fusion=False "
                         "--option debug=True --option extern_libs=mine=/m.bc --emit ttgir,llir,ptx,cubin,json")
        self.assertEqual((name, ptxas), ("kernel.ttir", "/triton/ptxas"))
        self.assertEqual(metadata["shared"], 512)
        self.assertEqual(metadata["compiler"], "tritonc")
        self.assertNotIn("hash", metadata)  # that one is Triton's
        self.assertEqual(compiler.counts, {"compiled": 1})

    def test_every_launch_field(self):
        self.install()
        _, metadata = self.compile()
        for field in triton_hook.METADATA:
            self.assertIn(field, metadata)

    def test_in_the_middle(self):
        """A ttgir file, and a ptx that overrides ours."""
        self.install()
        asm, _ = self.compile("given", first="llir")
        self.assertEqual(asm["ptx"], "our ptx of given")
        asm, _ = self.compile(override={"ptx": "another"})
        self.assertEqual(asm["cubin"], b"our cubin of another")
        (*_, beside) = self.calls()[-1]
        self.assertEqual(self.calls()[-1][1:3], ["kernel.ptx", "another"])
        self.assertEqual(beside["shared"], 512)

    def test_refusals(self):
        self.install()
        for why, how in (("gluon", {"language": "GLUON", "first": "ttgir"}), ("cuda:100", {"capability": 100}),
                         ("consan", {"options": Options(instrumentation_mode="consan")})):
            with self.assertRaisesRegex(triton_hook.Refused, why):
                self.compile(**how)
        self.assertFalse(self.log.exists())

    def test_fallback(self):
        compiler = self.install(mode="fallback")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            asm, metadata = self.compile(options=Options(instrumentation_mode="consan"))
        self.assertEqual(asm["cubin"], "Triton's cubin")
        self.assertNotIn("compiler", metadata)
        self.assertEqual(said.getvalue(),
                         "tritonc: instrumentation_mode = consan is not compiled: left to Triton\n")
        self.assertEqual(compiler.counts, {"refused": 1})

    def test_failures_are_told(self):
        for mode in ("raise", "fallback"):
            names, self.knobs, self.backend = stand_in()
            with mock.patch.dict(sys.modules, names), \
                    mock.patch.dict(os.environ, {"TRITONC_HOOK_KEEP": str(self.folder / "kept")}):
                self.install(mode=mode)
                with self.assertRaisesRegex(triton_hook.Failed, "kernel.ttir:1:1: error: no"):
                    self.compile("bad")
        kept, = (self.folder / "kept").iterdir()
        self.assertEqual((kept.suffix, kept.read_text()), (".ttir", "bad"))

    def test_cache_keys(self):
        before = self.backend().hash()
        compiler = self.install()
        self.assertEqual(self.backend().hash(), f"{before}-{compiler.identity}")
        self.assertIs(self.install(), compiler)  # again is once
        self.assertEqual(self.backend().hash(), f"{before}-{compiler.identity}")

    def test_install(self):
        self.assertIsNone(self.install(mode="off"))
        self.assertIsNone(self.knobs.runtime.add_stages_inspection_hook)
        with self.assertRaisesRegex(SystemExit, "TRITONC_HOOK=sometimes"):
            self.install(mode="sometimes")
        with self.assertRaisesRegex(SystemExit, "there is no program"):
            triton_hook.install(self.folder / "nowhere")
        self.knobs.runtime.add_stages_inspection_hook = print
        with self.assertRaisesRegex(RuntimeError, "another hook"):
            self.install()

    def test_real_compiler(self):
        """The same with tritonc itself, from ttir and again from its ttgir."""
        if not os.access(TRITONC, os.X_OK):
            self.skipTest(f"{TRITONC} is not built")
        if subprocess.run([TRITONC, "version"], capture_output=True).returncode:
            self.skipTest(f"{TRITONC} does not run")
        names, knobs, backend = stand_in()
        knobs.nvidia.ptxas.path = ""
        with mock.patch.dict(sys.modules, names):
            triton_hook.install(TRITONC)
            options = Options(num_warps=2, enable_fp_fusion=False)
            asm, metadata = backend().compile(knobs, TTIR, options=options)
            self.assertIn(".entry double(", asm["ptx"])
            self.assertIn(".reqntid 64", asm["ptx"])
            self.assertTrue(asm["cubin"].startswith(b"\x7fELF"))
            self.assertEqual((metadata["name"], metadata["num_warps"], metadata["shared"]), ("double", 2, 0))
            again, metadata = backend().compile(knobs, asm["ttgir"], options=options, first="llir")
            self.assertEqual(again["ptx"], asm["ptx"])
            again, metadata = backend().compile(knobs, asm["ttgir"], options, override={"ptx": asm["ptx"]},
                                                first="llir")
            self.assertEqual(metadata["name"], "double")


if __name__ == "__main__":
    unittest.main()
