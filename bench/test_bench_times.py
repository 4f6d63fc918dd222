"""Tests of bench/bench_times.py, without a GPU."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import bench_times

# A tritonc that checks its command line and measures nothing.
FAKE = """#!{python}
import json, sys
a = sys.argv[1:]
assert a[:4] == ["--json", "bench", "--device", "cuda"] and a[-1].endswith("kernel.ptx"), a
if "n9" in a[-1]:
    sys.exit("device lost")
json.dump([{{"lines": [{{"points": [{{"x": [], "value": 0.5 if "--graph" in a else 2.0}}]}}]}}], sys.stdout)
"""


class Fixed:
    """A side whose times are known."""

    def __init__(self, *times):
        self.times = list(times)

    def measure(self, graph):
        return self.times.pop(0)


class BenchTimesTest(unittest.TestCase):
    def test_arguments(self):
        case = bench_times.Case("c", "k", (4, 2), [("rand", "fp32", 8, 16), 16, 1, ("empty", "fp16", 3)], {})
        self.assertEqual(case.tritonc_args(), ["--arg", "a0=rand:fp32[8,16]", "--arg", "a1=16", "--arg", "a3=empty:fp16[3]"])
        kernels = (HERE / "kernels.py").read_text()
        for case in bench_times.cases():
            self.assertIn(f"def {case.kernel}(", kernels)
            self.assertTrue(all(n >= 1 for n in case.grid), case.name)

    def test_tritonc(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "tritonc")
            program.write_text(FAKE.format(python=sys.executable))
            program.chmod(0o755)
            case = next(bench_times.cases())
            side = bench_times.Tritonc(program, case, pathlib.Path(folder, "kernel.ptx"))
            self.assertEqual((side.measure(False), side.measure(True)), (2.0, 0.5))
            side = bench_times.Tritonc(program, case, pathlib.Path(folder, "n9", "kernel.ptx"))
            with self.assertRaisesRegex(RuntimeError, "device lost"):
                side.measure(False)

    def test_table(self):
        a, b = bench_times.compare(Fixed(1.0, 3.0, 2.0), Fixed(2.05, 2.0, 2.1), False, 3)
        self.assertEqual((a, b), (2.0, 2.05))
        rows = [{"case": "x", "graph": False, "triton": a, "tritonc": b}, {"case": "x", "graph": True, "triton": 1.0, "tritonc": 0.96}]
        text, beyond = bench_times.table(rows, 0.03)
        self.assertEqual(beyond, 1)
        self.assertRegex(text, r"x graph +1000\.00 +960\.00 +0\.960 \*\n1 of 2 differ by more than 3%$")


if __name__ == "__main__":
    unittest.main()
