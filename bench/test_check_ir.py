"""Tests of bench/check_ir.py, bench/ir_jobs.py and bench/npy.py, without a GPU."""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check_ir
import ir_jobs
import npy


class NpyTest(unittest.TestCase):
    def test_fp8(self):
        self.assertEqual([npy.FP8["fp8e5"][b] for b in (0x00, 0x01, 0x3C, 0x7B, 0x7C, 0xBC)],
                         [0.0, 2.0**-16, 1.0, 57344.0, math.inf, -1.0])
        self.assertEqual([npy.FP8["fp8e4nv"][b] for b in (0x01, 0x38, 0x7E, 0xB8)], [2.0**-9, 1.0, 448.0, -1.0])
        self.assertTrue(math.isnan(npy.FP8["fp8e4nv"][0x7F]) and math.isnan(npy.FP8["fp8e5"][0x7E]))

    def test_round_trip(self):
        """Values, and files in NumPy's format, hold what the bytes do."""
        r = random.Random(3)
        with tempfile.TemporaryDirectory() as tmp:
            for ty in npy.CODES:
                width = 1 if ty in npy.FP8 or ty in ("i8", "u8") else 2 if ty in ("bf16", "fp16") else 8
                raw = bytes(r.randrange(1, 0x70) for _ in range(4 * width))  # no NaN, whose bits are many
                data = npy.Data(ty, raw)
                self.assertEqual(npy.Data.of(ty, data.values()).raw, raw, ty)
                name = data.save(f"{tmp}/x.npy")
                self.assertEqual(name, f"@{tmp}/x.npy" + (f":{ty}" if ty in ("bf16", "fp8e5", "fp8e4nv") else ""))
                self.assertEqual(npy.Data.load(ty, f"{tmp}/x.npy").raw, raw, ty)
            self.assertEqual((pathlib.Path(tmp, "x.npy").stat().st_size - 4 * 4) % 64, 0)  # the header is padded
            with self.assertRaisesRegex(ValueError, "holds <f4, and i32 is wanted"):
                npy.Data.load("i32", f"{tmp}/x.npy")

    def test_signed_zero(self):
        self.assertEqual(npy.Data.of("fp8e5", [0.0, -0.0]).raw, b"\x00\x80")


class JobsTest(unittest.TestCase):
    def test_every_job_can_run(self):
        """Each line of jobs.txt has its launch, and numbers keep what its signature promises."""
        jobs = ir_jobs.jobs()
        self.assertEqual(set(jobs), set(ir_jobs.RUNS))
        for name, job in jobs.items():
            run = ir_jobs.RUNS[name]
            self.assertLessEqual(set(job.runtime), set(run.args), name)
            for parameter in set(run.args) - set(job.runtime):  # a stride that is compiled in
                self.assertEqual(job.params[parameter], f"={run.args[parameter]}", f"{name}: {parameter}")
            for parameter, ty, value in ir_jobs.inputs(job):
                self.assertEqual(isinstance(value, npy.Data), ty.startswith("*"), f"{name}: {parameter}")
                if ty.startswith("*"):
                    self.assertEqual(value.type, ty[1:])
                elif job.params[parameter].endswith(":16"):
                    self.assertEqual(value % 16, 0, f"{name}: {parameter}")

    def test_signature(self):
        job = ir_jobs.jobs()["dot_fp32_float32_tf32"]
        self.assertEqual(job.signature(), "a_ptr=*fp32:16, b_ptr=*fp32:16, o_ptr=*fp32:16, M=64, N=64, K=64, "
                         "PREC='tf32', OUT=tl.float32")

    def test_inputs_repeat(self):
        job = ir_jobs.jobs()["flash_fwd_full"]
        a, b = ir_jobs.inputs(job), ir_jobs.inputs(job)
        self.assertEqual([x.raw for _, t, x in a if t[0] == "*"], [x.raw for _, t, x in b if t[0] == "*"])

    def test_differ(self):
        run = ir_jobs.Run((1, 1, 1), {}, tolerance=1e-2, free={"f": slice(1, 2)}, any_order={"s": slice(0, 3)})
        f = lambda *v: npy.Data.of("fp32", v)
        i = lambda *v: npy.Data.of("i32", v)
        self.assertEqual(ir_jobs.differ(run, "x", f(1, 2), f(1, 2)), 0)
        self.assertLess(ir_jobs.differ(run, "x", f(1, 2.01), f(1, 2)), 1)
        self.assertGreater(ir_jobs.differ(run, "x", f(1, 2.1), f(1, 2)), 1)
        self.assertEqual(ir_jobs.differ(run, "x", f(1, math.nan), f(1, 2)), math.inf)
        self.assertEqual(ir_jobs.differ(run, "x", f(1, math.nan), f(1, math.nan)), 0)
        self.assertEqual(ir_jobs.differ(run, "x", f(1, math.inf), f(1, 2)), math.inf)
        self.assertEqual(ir_jobs.differ(run, "f", f(1, 9), f(1, 2)), 0)
        self.assertEqual(ir_jobs.differ(run, "s", i(3, 1, 2), i(1, 2, 3)), 0)
        self.assertEqual(ir_jobs.differ(run, "x", i(3, 1, 2), i(1, 2, 3)), math.inf)


class RunTest(unittest.TestCase):
    def test_dry_run(self):
        """A run up to the GPU: memory stays as it is, which is right for what is expected so."""
        with tempfile.TemporaryDirectory() as tmp:
            jobs = ir_jobs.jobs()
            with zipfile.ZipFile(f"{tmp}/ir.zip", "w") as z:
                for name in ("calls", "casts_fp8", "inline_asm"):
                    for arch in (80, 90):
                        z.writestr(f"{name}/{arch}.json", json.dumps({"name": name, "num_warps": 4, "shared": 0}))
                        for ending in ("ptx", "cubin", "ttgir"):
                            if (name, arch, ending) != ("calls", 80, "ttgir"):
                                z.writestr(f"{name}/{arch}.{ending}", "text")
                    for parameter, ty, value in ir_jobs.inputs(jobs[name]):
                        if ty.startswith("*"):
                            raw = value.raw if name != "inline_asm" else bytes(len(value.raw))
                            z.writestr(f"{name}/{parameter}.after", raw)
            r = subprocess.run([sys.executable, str(HERE / "check_ir.py"), "run", tmp, "--dry-run", "--kernels",
                                "calls,casts_fp8,inline_asm", "--workers", "2"], capture_output=True, text=True)
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            rows = {line.split()[0]: line.split()[1:] for line in r.stdout.splitlines()[1:5]}
            self.assertEqual(rows["calls"], ["0.000", "0.000", "0.000", "ERROR", "0.000"], r.stdout)
            self.assertEqual(rows["casts_fp8"], ["0.000", "-", "0.000", "-", "0.000"])
            self.assertEqual(rows["inline_asm"], ["WRONG"] * 5)
            self.assertEqual(rows["right"], ["2/3", "1/2", "2/3", "0/2", "2/3"])
            self.assertIn("calls, ttgir80: FileNotFoundError: prepare made no 80.ttgir", r.stdout)
            self.assertEqual(len(json.loads(pathlib.Path(tmp, "check_ir.json").read_text())), 13)

    def test_a_failure_of_triton_alone_is_not_ours(self):
        replies = {("calls", w): {"worst": {"x": 0.5}} for w in check_ir.WAYS} | {("calls", "triton"): {"error": "no"}}
        self.assertFalse(check_ir.table(["calls"], replies)[1])
        replies["calls", "cubin"] = {"worst": {"x": 2.0}}
        self.assertTrue(check_ir.table(["calls"], replies)[1])


if __name__ == "__main__":
    unittest.main()
