"""Tests of bench/triton_tests.py on a folder of made-up tests and a stand-in triton."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integrations" / "triton" / "tests")]
import standin_triton
import triton_tests

CONFTEST = """
import pytest
def pytest_addoption(parser):
    parser.addoption("--device", default="cuda")
@pytest.fixture
def device(request):
    return request.config.getoption("--device")
"""

TESTS = """
import os, subprocess, sys, time
import pytest
from triton import knobs

HOOKED = knobs.runtime.add_stages_inspection_hook is not None

@pytest.mark.parametrize("n", range(20))
def test_good(n, device):
    assert device == "cuda"

@pytest.mark.parametrize("n", [1, 2])
def test_lost(n):
    assert not HOOKED, "ours is wrong"

def test_refused():
    if HOOKED:
        raise RuntimeError("Refused: num_ctas = 2")

def test_hopper():
    assert "wgmma" in ("ldmatrix" if HOOKED else "wgmma")

def test_gained():
    assert HOOKED

def test_both_fail():
    assert False

def test_skipped():
    pytest.skip("no such hardware")

@pytest.mark.xfail
def test_expected():
    assert False

def test_crash():
    if HOOKED:
        os._exit(11)

def test_hang():
    if HOOKED:
        time.sleep(60)

def test_child():
    said = subprocess.run([sys.executable, "-c", "from triton import knobs; "
                           "print(knobs.runtime.add_stages_inspection_hook is not None)"],
                          capture_output=True, text=True).stdout
    assert said.strip() == str(HOOKED)
"""

@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class TritonTestsTest(unittest.TestCase):
    def test_run(self):
        with tempfile.TemporaryDirectory() as tmp:
            folder = pathlib.Path(tmp, "test", "unit", "language")
            folder.mkdir(parents=True)
            (folder.parents[1] / "conftest.py").write_text(CONFTEST)
            (folder / "test_some.py").write_text(TESTS)
            (folder / "test_other.py").write_text("import nowhere\n")
            standin_triton.write(pathlib.Path(tmp, "site"))
            tritonc = standin_triton.write_program(pathlib.Path(tmp, "tritonc"))
            paths = os.pathsep.join(filter(None, [f"{tmp}/site", os.environ.get("PYTHONPATH")]))
            argv = [sys.executable, str(HERE / "triton_tests.py"), str(folder), "--out", tmp, "--workers", "2",
                    "--timeout", "3", "--budget", "60"]
            env = {**os.environ, "PYTHONPATH": paths, "TRITONC": str(tritonc), "TRITONC_HOOK": ""}
            r = subprocess.run(argv, capture_output=True, text=True, env=env)
            out = json.loads(pathlib.Path(tmp, "triton_tests.json").read_text())
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertEqual(len(out["triton"]), 31, r.stdout)
        self.assertEqual(set(out["triton"]), set(out["tritonc"]))
        self.assertRegex(r.stdout, r"test_some.py +31 +27 +22 +1 +1 +4 +84\.00%")
        for want in ("failed: AssertionError: ours is wrong", "the process ended with status 11", "no end in 3 s",
                     "1 fail with Triton and pass with tritonc, such as test_some.py::test_gained"):
            self.assertIn(want, r.stdout)
        self.assertRegex(r.stdout, "test_other.py cannot be collected: .*nowhere")
        outcome = {t.partition("::")[2]: e["outcome"] for t, e in out["triton"].items()}
        self.assertEqual((outcome["test_skipped"], outcome["test_expected"], outcome["test_both_fail"]),
                         ("skipped", "xfailed", "failed"))
        self.assertEqual(out["triton"]["test_some.py::test_child"]["outcome"], "passed")
        self.assertEqual(out["tritonc"]["test_some.py::test_child"]["outcome"], "passed")


class SummaryTest(unittest.TestCase):
    def entries(self, **outcomes):
        return {f"test_x.py::{t}": {"outcome": o, "why": ""} for t, o in outcomes.items()}

    def test_only_what_both_ran_counts(self):
        out = {"triton": self.entries(a="passed", b="passed", c="passed"),
               "tritonc": self.entries(a="passed", b="passed")}
        text, good = triton_tests.summary(out, 0.98)
        self.assertTrue(good)
        self.assertIn("1 more by Triton alone, 0 by tritonc alone", text)
        self.assertRegex(text, r"all +2 +2 +2 +0 +0 +0 100\.00%")

    def test_a_worker_that_did_not_work_is_told(self):
        with tempfile.TemporaryDirectory() as tmp:
            for side in triton_tests.SIDES:
                pathlib.Path(tmp, f"{side}.0").write_text('{"collected": 3}\n'
                                                          '{"uncollected": "test_x.py", "why": "no scipy"}\n')
            pathlib.Path(tmp, "tritonc.1.out").write_text("Traceback\nboom")
            pathlib.Path(tmp, "triton.1").write_text('{"collected": 3}\n')
            _, notes, uncollected = triton_tests.results(tmp, 2, triton_tests.SIDES)
        self.assertEqual(notes, ["tritonc, worker 1 collected nothing: boom"])
        self.assertEqual(uncollected, ["test_x.py cannot be collected: no scipy"])

    def test_alone(self):
        text, good = triton_tests.summary_alone(self.entries(a="passed", b="failed", c="skipped", d="xfailed"))
        self.assertFalse(good)
        self.assertRegex(text, r"test_x.py +1 +1 +2\n")
        self.assertIn("test_x.py::b", text)
        self.assertTrue(triton_tests.summary_alone(self.entries(a="passed"))[1])

    def test_nothing_ran(self):
        self.assertFalse(triton_tests.summary({"triton": {}, "tritonc": {}}, 0.98)[1])


if __name__ == "__main__":
    unittest.main()
