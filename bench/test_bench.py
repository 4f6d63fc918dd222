"""Tests of what in bench/ needs no GPU: python3 -m unittest discover bench"""

import ast
import contextlib
import ctypes
import io
import json
import math
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import types
import unittest
import unittest.mock
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases
import measure
import pool
import report
import row_worker
import standin
import study_pages
import vs_triton

WORKER = """
    import os, sys, time
    sys.path.insert(0, {here!r})
    import pool
    def handle(job):
        if job.get("die"): os._exit(3)
        if job.get("hang"): time.sleep(60)
        if job.get("raise"): raise ValueError("no such thing")
        if job.get("say"): pool.progress(job["say"]); print("noise")
        return {{"twice": 2 * job["n"], "pid": os.getpid(), "last": bool(job.get("last"))}}
    pool.serve(handle)
"""


class PoolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.worker = pathlib.Path(self.folder.name, "worker.py")
        self.worker.write_text(textwrap.dedent(WORKER.format(here=str(HERE))))
        self.argv = [sys.executable, str(self.worker)]

    def test_order(self):
        replies = pool.Pool(self.argv, 3).map({"n": n} for n in range(20))
        self.assertEqual([r["twice"] for r in replies], [2 * n for n in range(20)])
        self.assertLessEqual(len({r["pid"] for r in replies}), 3)

    def test_failures_cost_one_job(self):
        jobs = [{"n": 1}, {"n": 2, "raise": True}, {"n": 3, "die": True}, {"n": 4}, {"n": 5, "hang": True}, {"n": 6}]
        start = time.monotonic()  # a slow machine is slow to start a worker
        pool.Pool(self.argv, 1).map(jobs[:1])
        limit = max(1, math.ceil(5 * (time.monotonic() - start)))
        r = pool.Pool(self.argv, 1, timeout=limit).map(jobs)
        self.assertEqual([x.get("twice") for x in r], [2, None, None, 8, None, 12])
        self.assertEqual(r[1]["error"], "ValueError: no such thing")
        self.assertIn("died (status 3)", r[2]["error"])
        self.assertIn(f"no answer in {limit} s", r[4]["error"])

    def test_progress_and_last(self):
        notes = []
        p = pool.Pool(self.argv, 1, note=lambda job, line: notes.append((job["n"], line)))
        r = p.map([{"n": 1, "say": ["ours", "0"]}, {"n": 2, "last": True}, {"n": 3}])
        self.assertEqual(notes, [(1, ["ours", "0"])])
        self.assertEqual([x["twice"] for x in r], [2, 4, 6])
        self.assertNotEqual(r[1]["pid"], r[2]["pid"])

    def test_deadline(self):
        r = pool.Pool(self.argv, 1).map([{"n": 1}], deadline=time.monotonic() - 1)
        self.assertIn("out of time", r[0]["error"])


class FailingLib(standin.Lib):
    """A driver whose compiler refuses everything, and says why."""

    def __init__(self):
        self.cuModuleLoadDataEx = FailingLoad("cuModuleLoadDataEx")


class FailingLoad(standin.Call):
    def __call__(self, *args):
        super().__call__(*args)
        count, names, values = args[2:]
        at = dict(zip(names[:count], values[:count]))[measure.ERROR_LOG]
        ctypes.memmove(at, b"ptxas fatal: no\0", 16)
        return 218


class MeasureTest(unittest.TestCase):
    def test_ptx_versions(self):
        have = [measure.newest_ptx(*v) for v in ((11, 8), (12, 4), (12, 5), (12, 6), (12, 8), (13, 0))]
        self.assertEqual(have, [78, 84, 85, 85, 87, 90])

    def test_resources(self):
        text = "ptxas info    : Function properties for k\n    8 bytes stack frame, 24 bytes spill stores, 16 bytes " \
               "spill loads\nptxas info    : Used 37 registers, used 1 barriers"
        self.assertEqual(measure.resources(text), (37, 24))
        self.assertEqual(measure.resources(""), (-1, -1))

    def test_arguments(self):
        x = standin.Tensor(4)
        got = measure.c_arguments(("*fp32:16", "i32:16", "1", "fp32", "i64"), [x, 5, 0.5, 1 << 40], scratch=256)
        self.assertEqual([type(a) for a in got], [ctypes.c_void_p, ctypes.c_int32, ctypes.c_float, ctypes.c_int64,
                                                  ctypes.c_void_p, ctypes.c_void_p])
        self.assertEqual([a.value for a in got], [x.data_ptr(), 5, 0.5, 1 << 40, 256, None])
        with self.assertRaisesRegex(ValueError, "1 values for 2 parameters"):
            measure.c_arguments(("*fp32", "i32"), [x])

    def test_driver_errors(self):
        driver = measure.Driver(FailingLib())
        with self.assertRaisesRegex(RuntimeError, "cuModuleLoadDataEx: error 218\nptxas fatal: no"):
            measure.Kernel(driver, ".version 8.0", {"name": "k", "num_warps": 4, "shared": 0})

    def test_prototypes(self):
        """Handles and sizes are 64 bits wide in every call that takes them."""
        for name, types in measure.PROTOTYPES.items():
            for ty in types:
                self.assertIn(ctypes.sizeof(ty), (4, 8), name)
        self.assertEqual(len(measure.PROTOTYPES["cuLaunchKernel"]), 11)

    def test_launches(self):
        self.assertEqual(measure.launches_for(1000, 1), 8)
        self.assertEqual(measure.launches_for(1000, 30), 30)
        self.assertEqual(measure.launches_for(1, 1), 400)
        self.assertEqual(measure.launches_for(1e6, 1), 3)

    def test_assembler(self):
        with tempfile.TemporaryDirectory() as folder:
            a = measure.Assembler(fake_ptxas(folder))
            self.assertEqual((a.version, a.ptx), ("12.4", 84))
            cubin, said = a.cubin(".version 8.7\n.target sm_90a\n", "sm_90a")
            self.assertEqual(cubin, b".version 8.4\n.target sm_90a\n")
            self.assertEqual(measure.resources(said)[0], 12)
            with self.assertRaisesRegex(RuntimeError, "ptxas 12.4: bad thing"):
                a.cubin(".version 8.0\nfail\n", "sm_90a")


def fake_ptxas(folder):
    path = pathlib.Path(folder, "ptxas")
    path.write_text("""#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 12.4, V12.4.131"; exit 0; fi
if grep -q fail "$4"; then echo "bad thing" >&2; exit 1; fi
cp "$4" "$6"; echo "Used 12 registers" >&2
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class CasesTest(unittest.TestCase):
    def test_rows_fit_their_kernels(self):
        """Types, then constants, are the kernel's parameters, constants its constexprs."""
        kernels = {f.name: [(a.arg, bool(a.annotation)) for a in f.args.args] for name in cases.SOURCES
                   for f in ast.parse((HERE / name).read_text()).body if isinstance(f, ast.FunctionDef)}
        for row in cases.rows() + cases.study():
            params = kernels[row.kernel]
            plain = [n for n, constant in params if not constant]
            self.assertEqual(len(row.types), len(plain), row.name)
            for config in row.configs:
                self.assertEqual({n for n, _ in config.constants}, {n for n, c in params if c}, row.name)

    def test_names_are_unique(self):
        names = [r.name for r in cases.rows() + cases.study()]
        self.assertEqual(len(names), len(set(names)))
        keys = cases.builds(cases.rows() + cases.study(), 90)
        self.assertEqual(len(keys), len({(b.kernel, b.signature(), b.config) for b in keys.values()}))

    def test_signatures(self):
        b = cases.Build("k", ("*fp16:16", "i32", "1"), cases.Config((("B", 64), ("F", True)), 8, 2))
        self.assertEqual(b.signature(), "*fp16:16, i32, 1, B=64, F=True")
        signature, constants, attributes = b.triton(["x", "n", "s", "B", "F"])
        self.assertEqual(signature, {"x": "*fp16", "n": "i32", "s": "constexpr", "B": "constexpr", "F": "constexpr"})
        self.assertEqual(constants, {(2,): 1, (3,): 64, (4,): True})
        self.assertEqual(attributes, {(0,): [["tt.divisibility", 16]]})

    def test_descriptors(self):
        """Blocks follow the config; a descriptor is a map, or its parts, then shape and strides."""
        row = next(r for r in cases.rows() if r.name == "mxfp4 upcast 8192x8192")
        config = row.configs[0]
        self.assertEqual(row.types_for(config)[:2], ("tensordesc<bf16[32, 256]>", "tensordesc<u8[32, 128]>"))
        self.assertIn("tensordesc<u8[32, 128]>", row.build(config).signature())
        d = cases.Descriptor(standin.Tensor(5, 24, dtype="float16"), 4, 8)
        self.assertEqual(d.strides, [24, 1])
        kinds = [type(a).__name__ for a in measure.c_arguments(("tensordesc<fp16[4, 8]>", "i32"), [d, 7])]
        self.assertEqual(kinds, ["c_void_p"] + ["c_long"] * 4 + ["c_byte"] + ["c_int"] * 2 + ["c_long"] * 2 +
                         ["c_int"] + ["c_void_p"] * 2)
        meta = {"swizzle": 1, "elem_size": 2, "elem_type": 10, "block_size": [4, 8], "fp4_padded": False}
        asked = []

        def encode(*args):
            asked.append((args[1], args[2], args[9]))
            return 0

        driver = types.SimpleNamespace(lib=types.SimpleNamespace(cuTensorMapEncodeTiled=encode))
        first, *rest = measure.c_arguments(("tensordesc<bf16[4, 8]>", "i32"), [d, 7], driver=driver, maps=[meta])
        self.assertEqual((len(first), ctypes.addressof(first) % 64, asked), (128, 0, [(9, 2, 1)]))
        self.assertEqual([a.value for a in rest], [5, 24, 24, 1, 7, None, None])
        with self.assertRaisesRegex(ValueError, "1 tensor maps for 2 descriptors"):
            measure.c_arguments(("tensordesc<bf16[4, 8]>",) * 2, [d, d], driver=driver, maps=[meta])

    def test_works(self):
        """Every row's work has an argument for each parameter that is not a constant, at both sizes."""
        torch = standin.fake_torch()
        for row in cases.rows() + cases.study():
            for size in (row.small, row.full):
                work = row.make(cases.Env(torch, "cpu"), **size)
                measure.c_arguments(row.types_for(row.configs[0]), work.args)
                work.reset()
                self.assertEqual(len(work.outputs()), len(row.tolerance), row.name)
                self.assertEqual(len(work.reference()), len(row.tolerance), row.name)
                for config in row.configs:
                    self.assertTrue(all(n >= 1 for n in work.grid(config)), row.name)
                self.assertGreater(work.bytes, 0)
                self.assertTrue(row.memory_bound or row.odd or work.flops, row.name)

    def test_choose(self):
        self.assertEqual({r.kernel for r in cases.choose("softmax,sort")}, {"row_softmax", "sort_rows"})
        self.assertEqual({r.kernel for r in cases.choose("study hints: modulo")}, {"wrap", "wrap_hinted"})
        self.assertFalse([r for r in cases.choose("") if r.name.startswith("study")])
        with self.assertRaisesRegex(SystemExit, "no row has nonsense"):
            cases.choose("nonsense")

    def test_compare(self):
        try:
            import torch
        except ImportError as e:
            self.skipTest(str(e))
        x = torch.tensor([1.0, -2.0, 0.5])
        self.assertEqual(cases.compare(torch, x, x.clone(), 0), 0)
        self.assertEqual(cases.compare(torch, x, x + 1e-6, 0), float("inf"))
        self.assertLess(cases.compare(torch, x, x.double() + 1e-6, 1e-5), 1)
        self.assertGreater(cases.compare(torch, x, x.double() + 1e-3, 1e-5), 1)
        self.assertEqual(cases.compare(torch, torch.full((3,), float("nan")), x, 1e-3), float("inf"))


def result(name, ours, theirs, **more):
    v = {"ours": {"us": ours, "times": [ours] * 3, "registers": 40, "local": 0, "best": "0", "configs": {}},
         "triton": {"us": theirs, "times": [theirs] * 3, "registers": 50, "local": 8, "best": "0", "configs": {}}}
    return {"row": name, "errors": {}, "worst": {}, "variants": v, "bytes": 10**9, "flops": 0, "sets": 1} | more


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.row = next(r for r in cases.rows() if r.kernel == "vector_add" and not r.odd)

    def table(self, *replies, missing=(), crashed=()):
        rows = [report.entry(self.row, r, dict(missing), list(crashed)) for r in replies]
        rows = json.loads(json.dumps(rows))  # as results.json has them
        return report.tables({"gpu": "G", "torch": "2", "triton": "3", "tools": {"ptxas": "12.8"}, "limit": 0.97,
                              "mean": 1.0, "rows": rows})

    def low(self, ours, theirs):
        v = result("", ours, theirs)["variants"]
        return {"ours80": v["ours"], "triton80": v["triton"]}

    def test_good(self):
        r = result("r", 100.0, 104.0)
        r["variants"] |= self.low(100.0, 100.0)
        text, bad = self.table(r)
        self.assertFalse(bad, text)
        self.assertIn("10000", text)  # GB/s
        self.assertRegex(text, r"1\.040 +- +1\.000")

    def test_slow(self):
        r = result("r", 100.0, 96.0)
        r["variants"] |= self.low(100.0, 90.0)
        text, bad = self.table(r)
        self.assertTrue(bad)
        self.assertIn("SLOW, SLOW (low)", text)
        self.assertIn("the native mean has to be 1.0", text)

    def test_wrong_missing_crashed(self):
        r = result("r", 100.0, 100.0, errors={"ours": {"1": "WRONG: off by 3 times the tolerance"}})
        text, bad = self.table(r, missing={"ours80": {"0": "ptxas: no"}}, crashed=[("ours", "2", "illegal address")])
        self.assertTrue(bad)
        for want in ("WRONG", "no low time", "ours80, config 0: ptxas: no", "ours, config 2: crashed: illegal address"):
            self.assertIn(want, text)

    def test_failed_row(self):
        text, bad = self.table({"error": "out of time: not begun"})
        self.assertTrue(bad)
        self.assertIn("FAILED, no native time", text)


class BadLib(standin.Lib):
    """A driver that refuses to launch the kernels of some shared memory size, and with
    sticky loses the context by that."""

    def __init__(self, bad, sticky=False):
        self.bad, self.sticky, self.lost = bad, sticky, False
        self.cuLaunchKernel = BadLaunch(self)


class BadLaunch(standin.Call):
    def __init__(self, lib):
        super().__init__("cuLaunchKernel")
        self.lib = lib

    def __call__(self, *args):
        super().__call__(*args)
        shared = args[7]
        if shared != self.lib.bad:
            return 0
        self.lib.lost |= self.lib.sticky
        return 700


class SessionTest(unittest.TestCase):
    """One row in the worker, on stand-ins."""

    def session(self, lib, skip=()):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        row = next(r for r in cases.rows() if r.kernel == "row_softmax" and not r.odd)
        images = {}
        for n, variant in enumerate(("ours", "triton", "ours80", "ours@second")):
            for number in ("0", "1"):
                stem = pathlib.Path(tmp.name, variant + number)
                shared = 1000 * n + int(number)
                stem.with_suffix(".json").write_text(json.dumps({"name": "k", "num_warps": 4, "shared": shared}))
                stem.with_suffix(".cubin").write_bytes(b"")
                images.setdefault(variant, {})[number] = str(stem)
        torch = standin.fake_torch()
        if lib.sticky:
            torch.cuda.synchronize = lambda: lib.lost and self.fail_launch()
        job = {"row": row.name, "images": images, "second": {"ours@second": "ours"}, "skip": list(skip), "rounds": 3}
        work = row.make(cases.Env(torch, "cuda"), **row.small)
        return row_worker.Session(torch, measure.Driver(lib), row, job), work

    def fail_launch(self):
        raise RuntimeError("illegal memory access")

    def test_all_right(self):
        s, work = self.session(BadLib(bad=-1))
        s.check(work)
        s.time(work)
        self.assertEqual(set(s.reply["variants"]), {"ours", "triton", "ours80", "ours@second", "torch"})
        self.assertEqual(s.reply["errors"], {})
        self.assertEqual(len(s.reply["variants"]["ours"]["times"]), 3)
        self.assertEqual(set(s.reply["variants"]["ours"]["configs"]), {"0", "1"})

    def test_the_best_is_the_best_in_turn(self):
        s, work = self.session(BadLib(bad=-1))
        s.check(work)
        s.reply["variants"] = {"ours": {"configs": {"0": 10, "1": 10.5}}, "triton": {"configs": {"0": 10, "1": 12}}}
        self.assertEqual([c[:2] for c in s.contenders()],
                         [("ours", "0"), ("ours", "1"), ("triton", "0"), ("ours@second", "0"), ("ours@second", "1")])
        s.judge({("ours", "0"): [12, 13, 14], ("ours", "1"): [11, 12, 19], ("triton", "0"): [15, 15, 15],
                 ("ours@second", "0"): [1, 1, 1], ("ours@second", "1"): [2, 2, 2], ("torch", "0"): [9, 9, 9]})
        v = s.reply["variants"]
        self.assertEqual((v["ours"]["best"], v["ours"]["us"], v["ours"]["times"]), ("1", 12, [11, 12, 19]))
        self.assertEqual((v["ours@second"]["best"], v["ours@second"]["us"]), ("1", 2))  # its base's config
        self.assertEqual((v["triton"]["best"], v["torch"]["us"]), ("0", 9))

    def test_a_launch_that_fails_costs_its_config(self):
        s, work = self.session(BadLib(bad=1))
        s.check(work)
        s.time(work)
        self.assertRegex(s.reply["errors"]["ours"]["1"], "cuLaunchKernel: error 700")
        self.assertEqual(set(s.reply["variants"]["ours"]["configs"]), {"0"})
        self.assertEqual(set(s.reply["variants"]["triton"]["configs"]), {"0", "1"})

    def test_a_lost_context_is_told(self):
        s, work = self.session(BadLib(bad=1000, sticky=True))
        with self.assertRaisesRegex(row_worker.Broken, "triton, config 0: illegal memory access"):
            s.check(work)
        self.assertEqual(set(s.reply["worst"]), {"ours"})

    def test_skip(self):
        s, work = self.session(BadLib(bad=1000, sticky=True), skip=[["triton", "0"]])
        s.check(work)
        self.assertEqual(set(s.reply["worst"]["triton"]), {"1"})

    def test_wrong_results_are_not_timed(self):
        s, work = self.session(BadLib(bad=-1))
        with unittest.mock.patch.object(cases, "compare", lambda *a: 3.0):
            s.check(work)
        self.assertEqual(s.reply["errors"]["ours"]["0"], "WRONG: off by 3 times the tolerance")
        s.time(work)
        self.assertEqual(set(s.reply["variants"]), {"torch"})


class RowsTest(unittest.TestCase):
    def rows(self, *replies):
        rows = vs_triton.Rows([], 1)
        asked, left = [], list(replies)

        def answer(jobs, _):
            asked.append(jobs[0])
            at, reply = left.pop(0)
            rows.at = at
            return [reply]

        rows.pool = unittest.mock.Mock(map=answer)
        return rows, asked

    def test_what_crashes_is_left_out(self):
        rows, asked = self.rows((["ours", "1"], {"error": "died"}), (["triton", "2"], {"broken": "lost"}),
                                (["ours", "2"], {"broken": "lost"}), (None, {"row": 1}))
        images = {"ours": {"1": "a", "2": "b", "3": "c"}, "triton": {"2": "d"}}
        with contextlib.redirect_stdout(io.StringIO()):
            (job, reply), = rows.run([{"row": "r", "images": images, "skip": []}], None)
        self.assertEqual(reply, {"row": 1})
        one, two = [["ours", "1"]], [["ours", "1"], ["triton", "2"]]
        every = [["ours", n] for n in "123"]  # twice was enough
        self.assertEqual([a["skip"] for a in asked], [[], one, two, two + every])
        self.assertEqual(job["crashed"], [["ours", "1", "died"], ["triton", "2", "lost"], ["ours", "2", "lost"]])

    def test_it_ends(self):
        rows, asked = self.rows(*[(["ours", str(n)], {"error": "died"}) for n in range(7)])
        with contextlib.redirect_stdout(io.StringIO()):
            (_, reply), = rows.run([{"row": "r", "images": {"ours": {}}, "skip": []}], None)
        self.assertEqual(reply, {"error": "died"})
        self.assertEqual(len(asked), 7)

    def test_no_blame_without_a_suspect(self):
        rows, asked = self.rows((None, {"error": "out of time: not begun"}))
        (_, reply), = rows.run([{"row": "r", "skip": []}], None)
        self.assertEqual(len(asked), 1)


class StudyTest(unittest.TestCase):
    def test_every_row_is_on_a_page(self):
        """Pages ask for rows that there are, and every row is on one page."""
        asked = [m[1] for page in sorted(study_pages.PAGES.glob("*.md"))
                 for m in study_pages.MARKED.findall(page.read_text())]
        self.assertEqual(len(asked), len(set(asked)))
        for row in cases.study():
            self.assertEqual(sum(row.name.startswith("study " + words) for words in asked), 1, row.name)

    def test_fill(self):
        rows = [{"row": "study min: split", "memory_bound": True, "bytes": 5000, "flops": 0, "errors": {}, "ratios": {"native": 48.16}, "variants": {
            "ours": {"us": 2.5, "config": "16 w8 s3", "registers": 40, "local": 8}, "triton": {"us": 120.4}}},
                {"row": "study min: dot", "memory_bound": False, "bytes": 0, "flops": 10**9, "errors": {}, "ratios": {}, "variants": {
                    "ours": {"us": 10, "config": "8 w4 s3", "registers": 255, "local": 0}}},
                {"row": "study min", "memory_bound": True, "errors": {"ours": {"0": "WRONG: off"}}, "variants": {}}]
        results = {"gpu": "H200", "triton": "3.6", "rows": rows}
        text = study_pages.fill("a\n<!-- times: min -->\nold\n<!-- end of times -->\nb\n", results)
        self.assertNotIn("old", text)
        self.assertIn("| split | `16 w8 s3` | 2.5 | 48.160 | 2 GB/s | 40, 8 bytes spilled |\n", text)
        self.assertIn("| dot | `8 w4 s3` | 10.0 | – | 100 TFLOP/s | 255 |\n", text)
        self.assertIn("| min | WRONG: off | | | | |\n", text)
        self.assertEqual(study_pages.fill(text, results), text)
        rows.append({"row": "study max", "memory_bound": True, "variants": {}, "errors": {},
                     "failed": "out of time: not begun"})
        other = "<!-- times: max -->\nold\n<!-- end of times -->"
        self.assertEqual(study_pages.fill(other, results), other)


class DryRunTest(unittest.TestCase):
    def test_run(self):
        """Every line of a run, up to the GPU, on artifacts of its own making."""
        with tempfile.TemporaryDirectory() as tmp:
            folder = pathlib.Path(tmp)
            ptxas = fake_ptxas(folder)
            words = "softmax f32 4096x1024,matmul fp8 4096,matmul odd"
            with zipfile.ZipFile(folder / "ours.zip", "w") as z:
                z.writestr("ptxas", ptxas.read_bytes())
                errors = {}
                for arch in (90, 80):
                    for key, b in cases.builds(cases.choose(words), arch).items():
                        if b.config == cases.choose("softmax")[0].configs[1]:
                            errors[f"{arch}/{key}"] = "error: no"
                            continue
                        meta = {"name": b.kernel, "num_warps": b.config.num_warps, "shared": 60000}
                        z.writestr(f"{arch}/{key}.json", json.dumps(meta))
                        z.writestr(f"{arch}/{key}.ptx", ".version 8.4\n.target sm_90a\n")
                        z.writestr(f"{arch}/{key}.cubin", b"\x7fELF")
                z.writestr("manifest.json", json.dumps({"archs": [90, 80], "errors": errors,
                                                       "kernels": vs_triton.kernels_digest()}))
            r = subprocess.run([sys.executable, str(HERE / "vs_triton.py"), "run", str(folder), "--dry-run", "--rows",
                                words, "--ptxas", str(ptxas), "--mean", "0.5"], capture_output=True, text=True,
                               env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            results = json.loads((folder / "results.json").read_text())
            softmax, fp8, odd = results["rows"]
            self.assertEqual(softmax["errors"], {v: {"1": "error: no"} for v in ("ours", "ours80", "ours@second")})
            self.assertEqual(set(softmax["ratios"]), {"native", "torch", "second", "low"})
            self.assertEqual(fp8["errors"], {})
            self.assertEqual(set(fp8["ratios"]), {"native", "mma2", "torch", "second"})
            self.assertEqual(set(odd["worst"]), {"ours@prepared", "ours", "ours80-source"})
            self.assertFalse((folder / "run").exists())
            with contextlib.redirect_stdout(io.StringIO()) as again, self.assertRaises(SystemExit):
                sys.argv = ["vs_triton.py", "table", str(folder / "results.json")]
                vs_triton.main()
            self.assertEqual(again.getvalue().strip(), (folder / "table.txt").read_text().strip())


if __name__ == "__main__":
    unittest.main()
