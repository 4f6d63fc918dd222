"""Tests of bench/triton_hook.py; those of what it uses are in integrations/triton/tests."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integrations" / "triton" / "tests")]
import standin_triton
import triton_hook

PROGRAM = """
import sys
from triton.backends.nvidia import compiler
try:
    print(compiler.compile(sys.argv[1])[1].get("compiler"))
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
"""


class HookTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = pathlib.Path(tmp.name)
        self.fake = standin_triton.write_program(self.folder / "tritonc")
        standin_triton.write(self.folder)
        self.program = self.folder / "program.py"
        self.program.write_text(PROGRAM)

    def run_hook(self, *argv, **env):
        env = {**os.environ, "PYTHONPATH": str(self.folder), "TRITONC": str(self.fake), "TRITONC_HOOK": "", "FAKE_PTXAS": "/ptxas",
               "FAKE_LOG": str(self.folder / "log"), **env}
        return subprocess.run([sys.executable, str(HERE / "triton_hook.py"), *argv], env=env, capture_output=True, text=True)

    def test_program(self):
        r = self.run_hook(str(self.program), "tt.func public @k()")
        self.assertEqual((r.returncode, r.stdout), (0, "tritonc\n"), r.stderr)
        self.assertIn("1 kernel compiled by tritonc", r.stderr)

    def test_modes(self):
        r = self.run_hook(str(self.program), "bad")
        self.assertEqual(r.stdout, "Failed kernel.ttir:1:1: error: no\n")
        r = self.run_hook(str(self.program), "bad", TRITONC_HOOK="fallback", TRITONC_HOOK_KEEP=str(self.folder / "kept"))
        self.assertEqual(r.stdout, "triton\n")
        self.assertIn("left to Triton", r.stderr)
        self.assertEqual([p.read_text() for p in (self.folder / "kept").iterdir()], ["bad"])
        r = self.run_hook(str(self.program), "m", TRITONC_HOOK="off")
        self.assertEqual((r.stdout, r.stderr), ("None\n", ""))
        r = self.run_hook(str(self.program), TRITONC_HOOK="sometimes")
        self.assertEqual((r.returncode, r.stderr), (1, "TRITONC_HOOK=sometimes: want raise, fallback or off\n"))

    def test_no_program(self):
        with mock.patch.dict(os.environ, {"TRITONC": "/nowhere"}):
            with self.assertRaisesRegex(triton_hook.package.Unsupported, "there is no program /nowhere"):
                triton_hook.install()

    def test_usage(self):
        self.assertEqual([self.run_hook(*argv).returncode for argv in ((), ("-m",), ("--help",))], [2, 2, 0])


if __name__ == "__main__":
    unittest.main()
