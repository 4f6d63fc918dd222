"""Tests of compile_times.py: its sample, its names, its table, and tritonc's side."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compile_times

TTIR = """module {
  tt.func public @k(%x: !tt.ptr<f32>) {
    tt.return loc("@k1")
  }
}
"""


class CompileTimesTest(unittest.TestCase):
    def test_spread(self):
        jobs = [((f"o/{repo}/f{i}.py", "k", ""), []) for repo, n in (("a", 2), ("b", 50), ("c", 100)) for i in range(n)]
        got = [job[0][0] for job in compile_times.spread(jobs, 32)]
        self.assertEqual([sum(name.startswith(f"o/{repo}/") for name in got) for repo in "abc"], [2, 15, 15])
        self.assertEqual((len(set(got)), got[2], got[-1]), (32, "o/b/f0.py", "o/c/f93.py"))

    def test_accepted(self):
        import manifest
        rows = [line for line in manifest.MANIFEST.read_text().splitlines() if not line.startswith("@")]
        taken = compile_times.accepted()
        self.assertEqual(len(taken), len(rows))
        self.assertGreater(sum(taken), len(rows) // 2)

    def test_rename(self):
        self.assertEqual(compile_times.rename(TTIR, "_2"), TTIR.replace("@k(", "@k_2("))

    def test_measure(self):
        """The least of the runs, each under a name of its own."""
        seen = []

        class Side:
            def compile(self, text, cubin):
                seen.append(compile_times.KERNEL.search(text)[1])
                return (5 - len(seen), 9 + len(seen))

        self.assertEqual(compile_times.measure(Side(), TTIR, 3), (2, 10))
        self.assertEqual(seen, ["k_r0", "k_r1", "k_r2"])
        with mock.patch.object(compile_times, "LONG", -1):
            compile_times.measure(Side(), TTIR, 3)
        self.assertEqual(len(seen), 4)

    def test_take(self):
        with tempfile.TemporaryDirectory() as tmp:
            self.assertEqual([compile_times.take(os.path.join(tmp, "x")) for _ in range(2)], [True, False])

    def test_table(self):
        rows = [{"name": "a", "triton": (0.04, 0.08), "tritonc": (0.002, 0.042)}, {"name": "b", "triton": (0.1, 0.2), "tritonc": (0.02, 0.06)},
                {"name": "c", "failed": "triton: no"}]
        text = compile_times.table(rows)
        self.assertIn("2 kernels, geometric means: without ptxas tritonc takes 0.100 of Triton's time (at most 0.200), with ptxas 0.397 (at most 0.525); "
                      "ptxas is 0.500 of Triton's", text)
        self.assertIn("c: triton: no", text)

    def test_alone(self):
        """The least of the runs of a ptxas; the table has it where it was measured, and one that fails is an error."""
        with tempfile.TemporaryDirectory() as tmp:
            ptxas = pathlib.Path(tmp, "ptxas")
            ptxas.write_text('#!/bin/sh\ncase "$*" in *--gpu-name=sm_90a*.ptx*-o*.cubin) echo >>$0.log; cat "$4" >$0.got;; *) exit 2;; esac\n')
            ptxas.chmod(0o755)
            self.assertGreater(compile_times.ptxas_alone(str(ptxas), "some PTX", 3, tmp), 0)
            self.assertEqual((pathlib.Path(tmp, "ptxas.log").read_text(), pathlib.Path(tmp, "ptxas.got").read_text()), ("\n\n\n", "some PTX"))
            with mock.patch.object(compile_times, "TARGET", "cuda:80"), self.assertRaises(subprocess.CalledProcessError):
                compile_times.ptxas_alone(str(ptxas), "some PTX", 3, tmp)
        rows = [{"name": "a", "triton": (0.04, 0.08), "tritonc": (0.002, 0.042), "alone": 0.0391}]
        head, row = compile_times.table(rows).splitlines()[:2]
        self.assertRegex(head, "share +alone$")
        self.assertRegex(row, " 39.10$")

    def test_ours(self):
        tritonc = os.environ.get("TRITONC", str(compile_times.ROOT / "bin/tritonc"))
        if not os.access(tritonc, os.X_OK):
            self.skipTest(f"{tritonc} is not built")
        with tempfile.TemporaryDirectory() as tmp:
            text = "// o/r/f.py:k\n" + TTIR
            pathlib.Path(tmp, "000.ttir").write_text(text)
            pathlib.Path(tmp, "001.ttir").write_text("// o/r/f.py:bad\nmodule { tt.func public @bad() }")
            out = pathlib.Path(tmp, "out.json")
            with contextlib.redirect_stdout(io.StringIO()):
                code = compile_times.main(["run", tmp, "--ours", "--no-cubin", "--processes", "2", "--runs", "2", "--tritonc", tritonc, "--json", str(out)])
            good, bad = sorted(json.loads(out.read_text()), key=lambda r: "failed" in r)
            self.assertEqual((code, good["name"]), (0, "o/r/f.py:k"))
            self.assertGreater(good["tritonc"][0], 0)
            self.assertRegex(bad["failed"], "^tritonc: .*error")
            with contextlib.redirect_stdout(io.StringIO()):
                code = compile_times.main(["run", tmp, "--ours", "--no-cubin", "--no-server", "--processes", "1", "--runs", "1", "--tritonc", tritonc, "--json", str(out)])
            self.assertEqual((code, sorted("tritonc" in r for r in json.loads(out.read_text()))), (0, [False, True]))

    def test_prepare_needs_checkouts(self):
        r = subprocess.run([sys.executable, compile_times.__file__, "prepare", "x"], capture_output=True, text=True)
        self.assertEqual(r.returncode, 2)
        self.assertIn("prepare needs --checkouts", r.stderr)


if __name__ == "__main__":
    unittest.main()
