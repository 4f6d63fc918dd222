"""Tests of bench/tune_times.py, without a GPU."""

import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import tune_times

# A tritonc that measures nothing: its times follow from the configurations.
FAKE = """#!{python}
import json, sys
a = sys.argv[1:]
value = lambda flag: a[a.index(flag) + 1]
assert a[0] == "tune" and a[-1].endswith("kernels.py"), a
configs = json.load(open(value("--configs")))
kernel, out = value("-n"), value("--write")
try:
    entries = json.load(open(out))["entries"]
except FileNotFoundError:
    entries = []
factor = 2 if value("--device") == "sim" else 1
times = [{{"config": c, "us": factor * (1e6 / c["kwargs"]["BM"] + c["num_stages"])}} for c in configs[:-1]]
times.append({{"config": configs[-1], "error": "OutOfResources: shared memory"}})
entries.append({{"kernel": kernel, "configs": sorted(times, key=lambda t: t.get("us", 1e9))}})
json.dump({{"version": 1, "entries": entries}}, open(out, "w"))
print(f"{{kernel}} () on the X by do_bench: all {{len(configs)}} configurations in 1m2.5s (compiles ended after 310ms, the device took 50s)")
"""


class TuneTimesTest(unittest.TestCase):
    def test_configurations(self):
        for space, n in ((tune_times.matmul_space(), 40), (tune_times.flash_space(), 20)):
            self.assertEqual(len({tune_times.same(c) for c in space}), n)
        self.assertEqual(tune_times.matmul_space(), tune_times.matmul_space())
        self.assertEqual(len(tune_times.TUTORIAL), 16)

    def test_ranks(self):
        self.assertEqual(tune_times.ranks([3, 1, 3, 2]), [2.5, 0, 2.5, 1])
        self.assertEqual(tune_times.correlation([(1, 10), (2, 20), (3, 30)]), 1)
        self.assertEqual(tune_times.correlation([(1, 30), (2, 20), (3, 10)]), -1)
        self.assertEqual(tune_times.correlation([(1, 5), (2, 5)]), 0)

    def test_durations(self):
        for text, want in (("1m2.5s", 62.5), ("310ms", 0.31), ("2.04s", 2.04), ("1h0m3s", 3603), ("90µs", 9e-5)):
            self.assertAlmostEqual(tune_times.seconds(text), want)
        told = tune_times.told("k () on the X by do_bench: all 4 in 2.04s (compiles ended after 310ms, the device took 1.9s)")
        self.assertEqual(told, {"whole": 2.04, "compiling": 0.31, "measuring": 1.9})

    def test_both_sides(self):
        """prepare and run with a tritonc that measures nothing, and their tables."""
        with tempfile.TemporaryDirectory() as tmp:
            fake = pathlib.Path(tmp, "tritonc")
            fake.write_text(FAKE.format(python=sys.executable))
            fake.chmod(0o755)
            r = subprocess.run([sys.executable, str(HERE / "tune_times.py"), "prepare", tmp, "--tritonc", str(fake)],
                               capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            tune_times.both(str(fake), pathlib.Path(tmp, "gpu.json"), "cuda", "randn")
            lines, rho = tune_times.model_table(*(tune_times.by_kernel(pathlib.Path(tmp, f"{n}.json")) for n in ("model", "gpu")))
            self.assertTrue(math.isclose(rho, 1), lines)
            self.assertIn("| matmul | 39 | 1.00 | 0.0 % slower than the fastest |", lines)
            self.assertIn("| all | 58 | 1.00 | |", lines)
            ours = tune_times.autotune_ours(str(fake), "cuda", 512)
            self.assertEqual((ours["whole"], ours["measuring"], len(ours["configs"])), (62.5, 50, 15))
            triton = {"whole": 100.0, "compiling": 10.0, "configs": ours["configs"]}
            results = {"tritonc": [ours], "triton": [triton]}
            pathlib.Path(tmp, "autotune.json").write_text(json.dumps(results))
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                tune_times.table(pathlib.Path(tmp))
            for line in ("| compiles | 10.00 s | 0.31 s (0.03) |", "| all | 100.00 s | 62.50 s (0.62) |",
                         "| all beside what the device took | | +25 % |", "us (1.000) |"):
                self.assertIn(line, printed.getvalue())


if __name__ == "__main__":
    unittest.main()
