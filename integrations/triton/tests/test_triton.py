"""Tests of tritonc.triton on a stand-in for the triton package, of each version."""

import contextlib
import io
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import standin_triton
import tritonc.triton as hook
from tritonc import children, program, stages, versions

CHECKOUT = HERE.parents[2]
TRITONC = os.environ.get("TRITONC", str(CHECKOUT / "bin/tritonc"))
VERSIONS = ("3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0")
KERNEL = "tt.func public @{}()"


class Case(unittest.TestCase):
    version = "3.6.0"

    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = pathlib.Path(tmp.name)
        self.fake = standin_triton.write_program(self.folder / "tritonc")
        self.log = self.folder / "log"
        env = {k: "" for k in ("TRITONC", "TRITONC_PROGRAM", "TRITONC_FALLBACK", "TRITONC_FLAGS", "TRITONC_KEEP", "TRITONC_PTXAS", "TRITON_PTXAS_PATH",
                               "PTXAS_OPTIONS", "DISABLE_MMA_V3", "PYTHONPATH", "TORCH_COMPILE_CACHE_KEY_TAG", "TRITONC_SETTINGS")}
        env.update(TRITONC_SOCKET="off", FAKE_LOG=str(self.log), FAKE_PTXAS="/triton/ptxas", FAKE_PTXAS_BLACKWELL="/triton/ptxas-blackwell")
        for patch in (mock.patch.dict(os.environ, env), mock.patch.dict(sys.modules), mock.patch.object(sys, "path", list(sys.path))):
            patch.start()
            self.addCleanup(patch.stop)
        self.use(self.version)
        self.addCleanup(hook.uninstall)

    def use(self, version):
        """Takes a stand-in of that version for triton."""
        hook.uninstall()
        for name in [n for n in sys.modules if n.partition(".")[0] == "triton"]:
            del sys.modules[name]
        self.site = self.folder / f"site-{version}"
        standin_triton.write(self.site, version)
        sys.path[:] = [p for p in sys.path if not p.startswith(str(self.folder))]
        sys.path.insert(0, str(self.site))
        from triton import knobs
        from triton.backends.nvidia import compiler
        self.knobs, self.compiler = knobs, compiler

    def install(self, **more):
        return hook.install(self.fake, **more)

    def compile(self, text="m", **more):
        options = more.pop("options", None)
        if options is not None:
            more["options"] = self.compiler.CUDAOptions(**options)
        return self.compiler.compile(text, **more)

    def calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @contextlib.contextmanager
    def said(self, want=None):
        with contextlib.redirect_stderr(io.StringIO()) as out:
            yield out
        if want is not None:
            self.assertEqual(out.getvalue(), want)


class StagesTest(Case):
    def test_stages(self):
        self.install()
        asm, metadata = self.compile(options=dict(num_warps=8, num_ctas=2, maxnreg=64, enable_fp_fusion=False, debug=True,
                                                  extern_libs=(("libdevice", "/l"), ("mine", "/m.bc"))))
        self.assertEqual(asm["ttgir"], "our ttgir of m")
        self.assertEqual(asm["cubin"], b"our cubin of m")
        (flags, name, _, ptxas, _), = self.calls()  # one process for all stages
        self.assertEqual(" ".join(flags).partition(" -o ")[0],
                         "--target cuda:90:32 --allow-unlaunchable -w 8 -k 3 --option num_ctas=2 --option maxnreg=64 --option enable_fp_fusion=False "
                         "--option debug=True --option extern_libs=mine=/m.bc --emit ttgir,llir,ptx,cubin,json")
        self.assertEqual((name, ptxas), ("kernel.ttir", "/triton/ptxas"))
        self.assertEqual((metadata["shared"], metadata["compiler"]), (512, "tritonc"))
        self.assertNotIn("hash", metadata)  # that one is Triton's
        for field in stages.METADATA:
            self.assertIn(field, metadata)

    def test_options_of_the_environment(self):
        """PTXAS_OPTIONS is the default of an option in Triton; tritonc does not read it."""
        with mock.patch.dict(os.environ, {"PTXAS_OPTIONS": "--opt-level 1", "DISABLE_MMA_V3": "1"}):
            self.use("3.6.0")
            self.install(flags=["--option", "tma=never"])
            self.compile()
        flags = " ".join(self.calls()[0][0])
        self.assertIn("--allow-unlaunchable --option tma=never -w 4", flags)
        hook.uninstall()
        self.assertIn("--option ptx_options=--opt-level 1 --option wgmma=never", flags)

    def test_writer_of_ptx(self):
        """tritonc's own, unless the flags name llc."""
        for said, options, first in (("", {}, "ttir"), ("--option ptx=llvm", {}, "ttir"), ("--option=ptx=llvm", {}, "ttir"),
                                     ("", {"extern_libs": (("mine", "/m.bc"),)}, "ttir"), ("", {}, "ptx")):
            with mock.patch.dict(os.environ, {"TRITONC_FLAGS": said}):
                self.install()
                self.compile(f"m{said}", options=options, first=first)
            hook.uninstall()
            self.assertIn(f"--allow-unlaunchable {said} -w 4".replace("  ", " "), " ".join(self.calls()[-1][0]))

    def test_in_the_middle(self):
        """A ttgir file, and a ptx that overrides ours."""
        self.install()
        asm, _ = self.compile("given", first="llir")
        self.assertIn("our ptx of given", asm["ptx"])
        asm, _ = self.compile(override={"ptx": "another"})
        self.assertEqual(asm["cubin"], b"our cubin of another")
        self.assertEqual(self.calls()[-1][1:3], ["kernel.ptx", "another"])
        self.assertEqual(self.calls()[-1][4]["shared"], 512)

    def test_without_ptxas(self):
        with mock.patch.dict(os.environ, {"FAKE_PTXAS": ""}):
            self.install()
            with self.assertRaisesRegex(hook.Failed, "there is no ptxas: Triton has none of its own .*TRITON_PTXAS_PATH"):
                self.compile()
            with mock.patch.dict(os.environ, {"TRITONC_PTXAS": "/mine"}):
                self.compile("n")
        self.assertEqual(self.calls()[0][3], "/mine")

    def test_ptxas_of_blackwell(self):
        h = self.install()
        self.assertEqual(h.environment(90)["TRITONC_PTXAS"], "/triton/ptxas")
        self.assertEqual(h.environment(100)["TRITONC_PTXAS"], "/triton/ptxas-blackwell")
        self.use("3.5.1")
        self.assertEqual(self.install().environment(100)["TRITONC_PTXAS"], "/triton/ptxas")

    def test_without_assembling(self):
        self.install(assemble=False)
        asm, _ = self.compile("tt.func public @k(%d: !tt.tensordesc<tensor<4xf32>>)")
        self.assertTrue(asm["cubin"].startswith(b"our ptx of "))
        (flags, _, _, ptxas, _), = self.calls()
        self.assertIn("--option tma=never --emit ttgir,llir,ptx,json", " ".join(flags))
        self.assertIsNone(ptxas or None)

    def test_names(self):
        for text, name in (("tt.func public @add_kernel(%a", "add_kernel"), ('tt.func public @"a.b"(', "a.b"),
                           ("define dso_local ptx_kernel void @k_1(", "k_1"), (".visible .entry triton_poi(", "triton_poi"), ("", "?")):
            self.assertEqual(stages.name_of(text), name)


class RefusalTest(Case):
    WAYS = (("gluon", {"language": "GLUON", "first": "ttgir"}), ("cuda:100", {"capability": 100}),
            ("consan", {"options": {"instrumentation_mode": "consan"}}))

    def test_refused(self):
        self.install()
        for why, how in self.WAYS:
            with self.assertRaisesRegex(hook.Refused, why + ".*TRITONC_FALLBACK"):
                self.compile(KERNEL.format("k"), **how)
        self.assertEqual(self.calls(), [])
        self.assertEqual(len(hook.report()["refused"]), 3)

    def test_left_to_triton(self):
        self.install(fallback=True)
        with self.said("tritonc: k: instrumentation_mode = consan is not compiled: left to Triton\n"):
            for warps in (4, 8):  # two configurations of a kernel, told once
                asm, metadata = self.compile(KERNEL.format("k"), options={"instrumentation_mode": "consan", "num_warps": warps})
        self.assertIn("Triton's cubin", asm["cubin"])
        self.assertEqual(metadata["compiler"], "triton")
        left, = hook.report()["fell_back"]
        self.assertEqual(left, {"name": "k", "why": "instrumentation_mode = consan is not compiled", "configurations": 2})
        for why, how in self.WAYS[:2]:
            with self.said() as out:
                asm, _ = self.compile(KERNEL.format("k"), **how)
            self.assertIn("Triton's cubin", asm["cubin"])
            self.assertIn(why, out.getvalue())

    def test_failures(self):
        self.install(keep=str(self.folder / "kept"))
        with self.assertRaisesRegex(hook.Failed, "kernel.ttir:1:1: error: no"):
            self.compile(KERNEL.format("bad"))
        kept, = (self.folder / "kept").iterdir()
        self.assertEqual((kept.suffix, kept.read_text()), (".ttir", KERNEL.format("bad")))
        failed, = hook.report()["failed"]
        self.assertEqual((failed["name"], failed["why"]), ("bad", "kernel.ttir:1:1: error: no"))

    def test_what_ptxas_refuses(self):
        """Is Triton's own error, which autotuners catch; and is in the report."""
        from triton.runtime.errors import PTXASError
        self.install()
        with self.assertRaisesRegex(PTXASError, "error: ptxas: Register allocation failed"):
            self.compile("too large")
        self.assertEqual(len(hook.report()["failed"]), 1)
        hook.uninstall()
        self.install(fallback=True)
        with self.said() as out:
            asm, _ = self.compile("too large")
        self.assertIn("Triton's cubin", asm["cubin"])
        self.assertIn("ptxas: Register allocation failed: left to Triton", out.getvalue())

    def test_failures_left_to_triton(self):
        self.install(fallback=True)
        with self.said("tritonc: bad: kernel.ttir:1:1: error: no: left to Triton\n"):
            asm, metadata = self.compile(KERNEL.format("bad"))
        self.assertEqual(asm["ttgir"], "Triton's ttgir of " + KERNEL.format("bad"))
        self.assertIn("Triton's cubin of Triton's ptx", asm["cubin"])
        self.assertEqual(metadata["compiler"], "triton")
        self.assertEqual(len(self.calls()), 1)
        self.assertEqual(hook.report()["failed"], [])

    def test_fallback_by_environment(self):
        with mock.patch.dict(os.environ, {"TRITONC_FALLBACK": "1"}):
            self.assertTrue(self.install().fallback)

    def test_errors_cross_processes(self):
        for kind in (hook.Refused, hook.Failed, hook.Unsupported):
            self.assertEqual(str(pickle.loads(pickle.dumps(kind("why")))), "why")

    def test_amd(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                self.install()
                from triton.backends.amd import compiler
                with self.assertRaisesRegex(hook.Refused, "AMD GPUs"):
                    compiler.compile("m")


class VersionsTest(Case):
    def test_each(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                self.install()
                asm, metadata = self.compile(options={"num_ctas": 2})
                self.assertEqual(asm["cubin"][:13], b"our cubin of ")
                self.assertTrue(self.compiler.launch(asm, metadata, 1))
                said = hook.report()
                self.assertEqual(said["triton"]["tried"], version.startswith("3.6"))
                self.assertEqual("untried" in str(said), not version.startswith("3.6"))

    def test_keys(self):
        """tritonc's kernels and Triton's are under other keys, with and without fallback."""
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                theirs, _ = self.compile()
                self.install()
                ours, _ = self.compile()
                self.assertNotEqual(theirs["cubin"], ours["cubin"])
                hook.uninstall()
                self.assertIs(self.compile()[0], theirs)
                self.install()
                self.assertIs(self.compile()[0], ours)
                hook.uninstall()
                self.install(fallback=True)
                self.assertIsNot(self.compile()[0], ours)

    def test_3_4_without_profile_scratch(self):
        self.use("3.4.0")
        self.install()
        asm, metadata = self.compile()
        self.assertEqual(asm["ptx"].count(".param"), 2)
        self.assertNotIn("k_param_2", asm["ptx"])
        (first, *_), (second, name, text, _, beside) = self.calls()
        self.assertIn("ttgir,llir,ptx,json", first)
        self.assertEqual((name, text, beside["shared"]), ("kernel.ptx", asm["ptx"], 512))
        self.assertIn("cubin,json", second)
        self.assertEqual(metadata["cluster_dims"], (1, 1, 1))

    def test_parameter_in_use(self):
        ptx = ".entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1\n)\n{ ld.param.b64 %r, [k_param_1]; }"
        with self.assertRaisesRegex(hook.Failed, "cannot be dropped"):
            stages.drop_profile_scratch(ptx)
        self.assertEqual(stages.drop_profile_scratch(ptx.replace("[k_param_1]", "[k_param_10]")).count(".param .u64"), 1)

    def test_cluster_dims(self):
        self.use("3.5.1")
        self.install()
        with self.assertRaisesRegex(hook.Refused, "cluster_dims"):
            self.compile(options={"cluster_dims": (2, 1, 1)})

    def test_others_are_refused(self):
        for version in ("3.3.1", "3.9.0", "4.0.0", "2.1.0"):
            self.use(version)
            with self.assertRaisesRegex(hook.Unsupported, f"Triton {version} .*is not supported: tritonc works with Triton 3.6, and is untried with 3.4, 3.5, 3.7, 3.8"):
                self.install()
        with self.assertRaisesRegex(hook.Unsupported, "Triton unknown"):
            versions.of("unknown")
        for text in ("3.6.0+git1234", "3.6.0.post26", "3.6"):
            self.assertEqual(versions.of(text).name, "3.6")


class InstallTest(Case):
    def test_once(self):
        h = self.install()
        self.assertIs(self.install(), h)
        self.assertIs(self.knobs.runtime.add_stages_inspection_hook, h)
        with self.assertRaisesRegex(hook.Unsupported, "with another fallback; call uninstall"):
            self.install(fallback=True)

    def test_uninstall(self):
        before = {k: v for k, v in os.environ.items() if v}
        path = list(sys.path)
        theirs = self.compiler.CUDABackend.hash
        folder = self.install().session.folder
        self.assertTrue(os.path.isdir(folder))
        hook.uninstall()
        self.assertEqual({k: v for k, v in os.environ.items() if v}, before)
        self.assertEqual(sys.path, path)
        self.assertIs(self.compiler.CUDABackend.hash, theirs)
        self.assertIsNone(self.knobs.runtime.add_stages_inspection_hook)
        self.assertFalse(os.path.exists(folder))
        hook.uninstall()
        with self.assertRaisesRegex(hook.Unsupported, "not installed"):
            hook.report()

    def test_another_hook(self):
        self.knobs.runtime.add_stages_inspection_hook = print
        with self.assertRaisesRegex(hook.Unsupported, "another hook"):
            self.install()

    def test_another_hook_later(self):
        """What Triton compiles when our hook has been replaced is not under our keys."""
        self.install()
        self.knobs.runtime.add_stages_inspection_hook = lambda *a: None
        with self.said() as out:
            theirs, _ = self.compile()
        self.assertIn("another hook on the stages has taken the place", out.getvalue())
        self.assertIn("Triton's cubin", theirs["cubin"])
        hook.uninstall()
        self.knobs.runtime.add_stages_inspection_hook = None
        self.assertIs(self.compile()[0], theirs)

    def test_without_triton(self):
        sys.path[:] = [p for p in sys.path if not p.startswith(str(self.folder))]
        with mock.patch.dict(sys.modules, {"triton": None}):
            with self.assertRaisesRegex(hook.Unsupported, r"this Python \(.+\) has no triton; .*pip install triton==3\.6"):
                self.install()

    def test_identity(self):
        a = self.install().program.identity
        hook.uninstall()
        self.assertEqual(self.install().program.identity, a)
        hook.uninstall()
        (self.folder / "tritonc-backend-nvidia").write_text("another")
        b = self.install().program.identity
        hook.uninstall()
        c = self.install(flags=["--option", "tma=never"]).program.identity
        self.assertEqual(len({a, b, c}), 3)

    def test_two_tritons(self):
        for name, version in (("triton", "3.6.0"), ("pytorch-triton", "3.5.1")):
            info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        with self.assertRaisesRegex(hook.Unsupported, "two Tritons in .*: triton 3.6.0 and pytorch-triton 3.5.1"):
            self.install()

    def test_report(self):
        self.install()
        for name, warps in (("a", 4), ("a", 8), ("b", 4)):
            self.compile(KERNEL.format(name), options={"num_warps": warps})
        said = hook.report()
        self.assertEqual({n: k["configurations"] for n, k in said["kernels"].items()}, {"a": 2, "b": 1})
        self.assertEqual((said["configurations"], said["processes"]), (3, [os.getpid()]))
        self.assertGreater(said["seconds"], 0)
        self.assertEqual(json.loads(json.dumps(said))["kernels"]["a"]["target"], "cuda:90")
        text = str(said)
        self.assertIn("2 kernels compiled by tritonc in 3 configurations", text)
        self.assertRegex(text, r"\n  a +cuda:90 +2 ")

    def test_another_compiler(self):
        """Another object can take Compiler's place."""
        from tritonc.compiler import Result

        class Client:
            def compile(self, request):
                self.request = request
                return Result({s: request.text if s != "cubin" else b"c" for s in request.emit}, {"name": "k"}, 0.5)

        client = Client()
        self.install(compiler=client)
        asm, _ = self.compile(KERNEL.format("k"))
        self.assertEqual((asm["cubin"], client.request.target, client.request.stage), (b"c", "cuda:90:32", "ttir"))
        self.assertEqual(self.calls(), [])
        self.assertEqual(hook.report()["seconds"], 0.5)


class AheadTest(Case):
    """Autotuners compile their configurations side by side."""

    def tuner(self, *sizes, **more):
        from triton.runtime import autotuner
        self.running = self.most = 0
        lock = threading.Lock()

        def compile(text):
            with lock:
                self.running += 1
                self.most = max(self.most, self.running)
            try:
                return self.compile(text)
            finally:
                with lock:
                    self.running -= 1

        fn = autotuner.JITFunction("tt.func public @slow(%x: {x}, %y: {y}, {B})", compile)
        return autotuner.Autotuner(fn, [autotuner.Config(B=b) if isinstance(b, (int, str)) else b for b in sizes], **more), fn

    def test_side_by_side(self):
        self.install()
        tuner, fn = self.tuner(*range(8))
        with mock.patch("os.cpu_count", lambda: 8):
            tuner.run(1, 2, grid=(1,), warmup=False)
        self.assertGreater(self.most, 1)
        self.assertEqual((len(fn.kernels), fn.launches, len(self.calls())), (8, 9, 8))  # each once, and none launched for it
        tuner.run(1, 2, grid=(1,), warmup=False)
        self.assertEqual((fn.launches, len(self.calls())), (10, 8))

    def test_one_that_fails(self):
        """Is left out by the autotuner, as ever, and the others are there."""
        self.install()
        tuner, fn = self.tuner(1, "too large", 2)
        tuner.run(1, 2, grid=(1,), warmup=False)
        self.assertEqual((len(fn.kernels), fn.launches), (2, 3))
        failed, = hook.report()["failed"]
        self.assertEqual(failed["configurations"], 1)  # though it was asked for twice
        tuner, fn = self.tuner(1, "bad", 2)
        with self.assertRaisesRegex(hook.Failed, "error: no"):
            tuner.run(1, 2, grid=(1,), warmup=False)

    def test_hooks(self):
        """What a hook changes before a launch is not known ahead."""
        self.install()
        from triton.runtime.autotuner import Config
        told = []
        tuner, fn = self.tuner(*(Config(told.append, B=b) for b in range(3)))
        tuner.run(1, 2, grid=(1,), warmup=False)
        self.assertEqual((self.most, len(told)), (1, 3))
        tuner, fn = self.tuner(3, 4, 5, pre_hook=print)
        tuner.run(1, 2, grid=(1,), warmup=False)
        tuner, fn = self.tuner(6, 7, 8)
        fn.pre_run_hooks.append(told.append)
        tuner.run(1, 2, grid=(1,), warmup=False)
        tuner, fn = self.tuner(9, 10, 11)
        tuner.cache_results = True
        tuner.run(1, 2, grid=(1,), warmup=False)
        self.assertEqual((self.most, len(fn.kernels)), (1, 3))

    def test_off(self):
        for off in ({"ahead": False}, {}):
            with mock.patch.dict(os.environ, {"TRITONC_AHEAD": "1" if off else "0"}):
                self.install(**off)
            tuner, _ = self.tuner(1, 2, 3)
            tuner.run(1, 2, grid=(1,), warmup=False)
            self.assertEqual(self.most, 1)
            hook.uninstall()
        self.use("3.5.1")
        self.install()  # which has no such mode
        tuner, _ = self.tuner(1, 2, 3)
        tuner.run(1, 2, grid=(1,), warmup=False)
        self.assertEqual(self.most, 1)

    def test_within_another_mode(self):
        import concurrent.futures
        import triton
        self.install()
        tuner, fn = self.tuner(1, 2, 3)
        with concurrent.futures.ThreadPoolExecutor() as pool, triton.AsyncCompileMode(pool):
            tuner.nargs = {"x": 1, "y": 2}
            self.assertEqual(tuner.prune_configs({}), tuner.configs)
        self.assertEqual((fn.launches, self.calls()), (0, []))


class ConcurrencyTest(Case):
    def test_threads(self):
        """Several compiles at once, whose stages take turns."""
        self.install()
        out, n = {}, 12

        def one(i):
            out[i] = self.compile(KERNEL.format(f"slow{i}"))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i in range(n):
            asm, metadata = out[i]
            self.assertEqual((asm["cubin"].decode(), metadata["name"]), (f"our cubin of {KERNEL.format(f'slow{i}')}", f"slow{i}"))
        self.assertEqual(hook.report()["configurations"], n)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_fork(self):
        """A fork compiles into the same session, while threads compile, and leaves it there."""
        self.install()
        busy = [threading.Thread(target=self.compile, args=(KERNEL.format(f"slow{i}"),)) for i in range(3)]
        for t in busy:
            t.start()
        pid = os.fork()
        if pid == 0:
            try:
                self.compile(KERNEL.format("forked"))
                hook._installed.hook.session.remove()
                os._exit(0)
            except BaseException:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        for t in busy:
            t.join()
        self.assertEqual(status, 0)
        said = hook.report()
        self.assertEqual(said["kernels"]["forked"]["processes"], [pid])
        self.assertEqual(len(said["kernels"]), 4)

    def test_session_outlived(self):
        """A worker that ends after the program does not fail for it."""
        h = self.install()
        h.session.remove()
        self.compile(KERNEL.format("k"))
        with self.said("tritonc: something\n"):
            h.session.tell("something")


# A program such as torch's: it starts a Python of its own, whose path is sys.path.
PROGRAM = """
import os, subprocess, sys
{before}
child = "from triton.backends.nvidia import compiler; print(compiler.compile('tt.func public @child()')[1].get('compiler'))"
env = {{**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}}
print(subprocess.run([sys.executable, "-c", child], env=env, capture_output=True, text=True, check=True).stdout.strip())
{after}
"""


class ProcessesTest(Case):
    def run_python(self, *argv, check=True, **env):
        paths = [str(self.site), str(HERE.parent)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TRITONC_PROGRAM": str(self.fake), **env}
        r = subprocess.run([sys.executable, *argv], env=env, capture_output=True, text=True, cwd=self.folder)
        if check:
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        return r

    def program(self, before="", after=""):
        path = self.folder / "program.py"
        path.write_text(PROGRAM.format(before=before, after=after))
        return str(path)

    def test_children(self):
        """The workers of torch.compile are Pythons of their own."""
        before = "import tritonc.triton as t; t.install()\nprint(sys.path[0] == os.path.dirname(os.path.abspath(__file__)))"
        r = self.run_python(self.program(before, "print(list(t.report()['kernels']), os.path.isdir(t._installed.hook.session.folder))"))
        self.assertEqual(r.stdout.splitlines(), ["True", "tritonc", "['child'] True"])
        self.assertEqual(r.stderr, "")

    def test_children_without(self):
        r = self.run_python(self.program("import tritonc.triton as t; t.install(); t.uninstall()"))
        self.assertEqual(r.stdout.splitlines(), ["None"])

    def test_hidden_sitecustomize(self):
        """One that the program's own Python would read is read first."""
        other = self.folder / "other"
        other.mkdir()
        (other / "sitecustomize.py").write_text("import sys; sys.other = True\n")
        before = f"import tritonc.triton as t; t.install(); sys.path.append({str(other)!r})"
        path = pathlib.Path(self.program(before))
        path.write_text(path.read_text().replace('child = "', 'child = "import sys; assert sys.other; '))
        self.assertEqual(self.run_python(str(path)).stdout.splitlines(), ["tritonc"])

    def test_another_triton_in_a_child(self):
        standin_triton.write(self.folder / "second", "3.5.1")
        before = f"import tritonc.triton as t; t.install(); sys.path.insert(0, {str(self.folder / 'second')!r})"
        path = pathlib.Path(self.program(before))
        path.write_text(path.read_text().replace("check=True).stdout", ").stderr"))
        r = self.run_python(str(path))
        self.assertRegex(r.stdout, r"two Tritons: tritonc was installed into Triton 3.6.0 \(.*\), and this process, which that one started, has Triton 3.5.1")

    def test_module(self):
        path = self.folder / "kernels.py"
        path.write_text("import sys\nfrom triton.backends.nvidia import compiler\n"
                        "print(compiler.compile('tt.func public @k()')[1]['compiler'], sys.argv, __name__)\n")
        r = self.run_python("-m", "tritonc", str(path), "--report", "x")
        self.assertEqual(r.stdout, f"tritonc {[str(path), '--report', 'x']} __main__\n")
        self.assertRegex(r.stderr, r"^1 kernel compiled by tritonc in 1 configuration, [\d.]+ s, 1 process, 0 by the server; 0 left to Triton, 0 refused, 0 failed\n$")
        r = self.run_python("-m", "tritonc", "--report", "-m", "kernels", "x")
        self.assertRegex(r.stdout, r"^tritonc \['.*kernels.py', 'x'\] __main__\n$")
        self.assertRegex(r.stderr, r"\n  k +cuda:90 ")

    def test_module_mistakes(self):
        for argv, want in ((["nowhere.py"], "there is no program nowhere.py"), (["--fall"], "there is no flag --fall"), (["-m"], "")):
            r = self.run_python("-m", "tritonc", *argv, check=False)
            self.assertEqual(r.returncode, 2)
            self.assertIn(want, r.stderr)
        self.assertIn("--fallback", self.run_python("-m", "tritonc", "--help").stdout)
        r = self.run_python("-m", "tritonc", self.program(), check=False, TRITONC_PROGRAM="/nowhere")
        self.assertEqual((r.returncode, r.stderr.count("\n")), (2, 1))

    def test_spawned(self):
        """multiprocessing's processes, spawned and forked."""
        path = self.folder / "program.py"
        path.write_text("import multiprocessing, sys\n"
                        "def work(i):\n"
                        "    from triton.backends.nvidia import compiler\n"
                        "    return compiler.compile(f'tt.func public @k{i}()')[1].get('compiler')\n"
                        "if __name__ == '__main__':\n"
                        "    import tritonc.triton as t\n"
                        "    t.install()\n"
                        "    for how in ('spawn', 'fork'):\n"
                        "        with multiprocessing.get_context(how).Pool(2) as pool:\n"
                        "            print(pool.map(work, range(2)))\n"
                        "    print(sorted(t.report()['kernels']))\n")
        r = self.run_python(str(path))
        self.assertEqual(r.stdout.splitlines(), ["['tritonc', 'tritonc']"] * 2 + ["['k0', 'k1']"])

    def test_autoload(self):
        """What tritonc.pth of the wheel does: nothing until triton is imported."""
        code = ("import sys, tritonc.autoload\nassert 'tritonc.triton' not in sys.modules\nimport triton\n"
                "from triton import knobs\nprint(knobs.runtime.add_stages_inspection_hook is not None, triton.__spec__.loader.__class__.__name__)")
        self.assertEqual(self.run_python("-c", code, TRITONC="1").stdout, "True SourceFileLoader\n")
        looked = code.replace("import triton\n", "import importlib.util; assert importlib.util.find_spec('triton').origin\nimport triton\n")
        self.assertEqual(self.run_python("-c", looked, TRITONC="1").stdout, "True SourceFileLoader\n")
        self.assertEqual(self.run_python("-c", code, TRITONC="0").stdout, "False SourceFileLoader\n")
        self.assertEqual(self.run_python("-c", code, TRITONC="/some/path").stdout, "False SourceFileLoader\n")
        self.use("3.3.0")
        r = self.run_python("-c", code, check=False, TRITONC="1")
        self.assertIn("Triton 3.3.0 (", r.stderr)
        r = self.run_python("-c", "import tritonc.autoload, triton", TRITONC="1", TRITONC_FALLBACK="1")
        self.assertRegex(r.stderr, "^tritonc: .*Triton 3.3.0.*: everything is left to Triton\n$")

    def test_broken_triton(self):
        """One that is there and cannot be imported is not said to be missing."""
        (self.site / "triton" / "__init__.py").write_text("import libtriton_of_another_python\n")
        r = self.run_python("-m", "tritonc", "-m", "this", check=False)
        self.assertEqual(r.stderr, "tritonc: triton cannot be imported: No module named 'libtriton_of_another_python'\n")

    def test_asked_for_twice(self):
        """By the environment and by the program, which may also be started by itself."""
        code = ("import os, subprocess, sys, tritonc.autoload, tritonc.triton as t\nt.install()\n"
                "from triton.backends.nvidia import compiler\nprint(compiler.compile('tt.func public @k()')[1]['compiler'], flush=True)\n"
                "if len(sys.argv) > 1: subprocess.run([sys.executable, sys.argv[0]], check=True); print(t.report()['configurations'])\n")
        path = self.folder / "program.py"
        path.write_text(code)
        self.assertEqual(self.run_python(str(path), "x", TRITONC="1").stdout.splitlines(), ["tritonc", "tritonc", "2"])
        self.assertEqual(self.run_python(str(path), "x").stdout.splitlines(), ["tritonc", "tritonc", "2"])
        r = self.run_python("-c", "import tritonc.autoload, tritonc.triton as t; t.install(fallback=True)", check=False, TRITONC="1")
        self.assertIn("installed already, with another fallback", r.stderr)

    def test_settings_of_another(self):
        r = self.run_python("-c", "import tritonc.autoload, triton", check=False, TRITONC_SETTINGS="{")
        self.assertIn("TRITONC_SETTINGS is not what install() left there", r.stderr)


class TorchTest(Case):
    def test_tag_and_workers(self):
        import types
        config = types.ModuleType("torch.compiler.config")
        config.cache_key_tag = "mine"
        compiling = types.ModuleType("torch._inductor.async_compile")
        stopped = []
        compiling._pool_set, compiling.shutdown_compile_workers = {1}, lambda: stopped.append(1)
        os.environ["TORCH_COMPILE_CACHE_KEY_TAG"] = "mine"
        with mock.patch.dict(sys.modules, {"torch.compiler.config": config, "torch._inductor.async_compile": compiling}):
            identity = self.install().program.identity
            self.assertEqual((config.cache_key_tag, os.environ["TORCH_COMPILE_CACHE_KEY_TAG"]), (f"mine,{identity}",) * 2)
            self.assertEqual(stopped, [1])
            hook.uninstall()
            self.assertEqual((config.cache_key_tag, os.environ["TORCH_COMPILE_CACHE_KEY_TAG"], stopped), ("mine", "mine", [1, 1]))
            compiling._pool_set = set()
            self.install()
            self.assertEqual(stopped, [1, 1])

    def test_one_ptxas(self):
        """Workers of Inductor's take another ptxas than the program unless the environment names one."""
        def named():
            return os.environ.get("TRITON_PTXAS_PATH") or None

        self.install()
        self.assertEqual(named(), "/triton/ptxas")
        hook.uninstall()
        self.assertIsNone(named())
        os.environ["TRITON_PTXAS_PATH"] = "/mine"
        self.install()
        self.assertEqual(named(), "/mine")
        hook.uninstall()
        self.assertEqual(named(), "/mine")
        os.environ["TRITON_PTXAS_PATH"] = ""
        self.install(assemble=False)
        self.assertIsNone(named())
        hook.uninstall()
        with mock.patch.dict(os.environ, {"FAKE_PTXAS": ""}):
            self.install()
            self.assertIsNone(named())

    def test_not_loaded(self):
        self.assertNotIn("torch", sys.modules)
        identity = self.install().program.identity
        self.assertEqual(os.environ["TORCH_COMPILE_CACHE_KEY_TAG"], identity)
        self.assertNotIn("torch", sys.modules)

    def test_wheel_installed(self):
        self.assertFalse(children.wheel_installed())


class RealCompilerTest(Case):
    """The same with tritonc itself."""

    def setUp(self):
        super().setUp()
        if not os.access(TRITONC, os.X_OK):
            self.skipTest(f"{TRITONC} is not built")
        os.environ.update(FAKE_PTXAS="", TRITONC_PTXAS=os.environ.get("TRITONC_PTXAS", ""))

    def test_from_ttir_and_its_own_ttgir(self):
        with mock.patch("tritonc.stages.Hook.environment", lambda *_: {}):
            hook.install(TRITONC)
            options = {"num_warps": 2, "enable_fp_fusion": False}
            asm, metadata = self.compile(standin_triton.TTIR, options=options)
            self.assertIn(".entry double(", asm["ptx"])
            self.assertIn(".reqntid 64", asm["ptx"])
            self.assertTrue(asm["cubin"].startswith(b"\x7fELF"))
            self.assertEqual((metadata["name"], metadata["num_warps"], metadata["shared"]), ("double", 2, 0))
            again, _ = self.compile(asm["ttgir"], options=options, first="llir")
            self.assertEqual(again["ptx"], asm["ptx"])
            again, metadata = self.compile(asm["ttgir"], options=options, override={"ptx": asm["ptx"]}, first="llir")
            self.assertEqual(metadata["name"], "double")

    def test_what_ptxas_refuses(self):
        from triton.runtime.errors import PTXASError
        with mock.patch("tritonc.stages.Hook.environment", lambda *_: {}):
            hook.install(TRITONC)
            with self.assertRaisesRegex(PTXASError, "error: ptxas: "):
                self.compile(standin_triton.TTIR, options={"ptx_options": "--bogus"})

    def test_each_version(self):
        for version in ("3.4.0", "3.5.1", "3.8.0"):
            with self.subTest(version), mock.patch("tritonc.stages.Hook.environment", lambda *_: {}):
                for flags in ([], ["--option", "ptx=llvm"]):
                    self.use(version)
                    hook.install(TRITONC, flags=flags)
                    asm, metadata = self.compile(standin_triton.TTIR)
                    self.assertTrue(self.compiler.launch(asm, metadata, 1))
                    self.assertTrue(asm["cubin"].startswith(b"\x7fELF"))


if __name__ == "__main__":
    unittest.main()
