"""Tests of check_programs.py and compile_wall.py on stand-ins for torch, Triton and tritonc."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import check_programs
import compile_wall
import patience
import stacks
import standin_triton

TORCH = """
import contextlib, os, pickle, random, types
class Memory(list):
    def zero_(self): self[:] = [0] * len(self)
class Tensor:
    def new_empty(self, n): return empty(n)
def empty(n): return Memory([os.getpid()] * n)
empty_like = empty_strided = empty
no_grad = contextlib.nullcontext
manual_seed = random.seed
cuda = types.SimpleNamespace(synchronize=lambda: None)
def save(x, path):
    with open(path, "wb") as f: pickle.dump(x, f)
def load(path, weights_only):
    with open(path, "rb") as f: return pickle.load(f)
"""

# A semantic that computes with numbers: block 0 of 8.
SEMANTIC = """
class TritonSemantic:
    def program_id(self, axis): return 0
    def num_programs(self, axis): return 8
    def sub(self, a, b, sanitize_overflow): return a - b
"""

# The stand-in for Triton's own compiler and the one for tritonc's give different texts.
OURS = "(b'our' in bytes(str(asm['cubin']), 'ascii'))"
BLOCK = "from triton.language.semantic import TritonSemantic\nblock = TritonSemantic().program_id(0)\n"
COMPILES = "from triton.backends.nvidia import compiler\nasm, _ = compiler.compile('tt.func public @k()')\n"
PROGRAMS = {
    "good": COMPILES + "import random\nprint('noise')\nresult_gold = {'a': (random.random(), len(str(sys_argv := 1)))}\n",
    "wrong": COMPILES + "results = [1, 'Triton' in str(asm['cubin'])]\n",
    "fails": COMPILES + "result = 1\nif b'our' in bytes(str(asm['cubin']), 'ascii'): raise ValueError('it is ours')\n",
    "refused": "from triton.backends.nvidia import compiler\ntry: compiler.compile('bad')\nexcept Exception: pass\n" + COMPILES + "result = 1\n",
    "without": "result = 1\n",
    "hangs": COMPILES + f"import time\nresult = 1\ndef wait(): time.sleep(1e6)\nif {OURS}: wait()\n",
    "slow": COMPILES + f"import time\nresult = 1\ntime.sleep(SLOW * {OURS})\n",
    "varies": COMPILES + BLOCK + f"result = [3, {OURS} * 5 or block]\n",
    "races": COMPILES + "import os\nresult = [os.getpid()]\n",
    "both": COMPILES + BLOCK + f"result = [3 + {OURS}, {OURS} * 5 or block]\n",
    "rounds": COMPILES + f"result = 9721879.0 + 19 * {OURS}\n",
    "unwritten": COMPILES + "import torch\nresult = [torch.empty(2)[1], torch.Tensor().new_empty(1)[0]]\n",
    "tunes": COMPILES + "from triton.testing import do_bench\nran = []\nfirst = do_bench(lambda: ran.append(1), warmup=9)\n"
             "second, _ = do_bench(lambda: ran.append(2), quantiles=(0.5, 0.2))\nassert first < second\nresult = ran\n",
    "dies": COMPILES + f"import os\nresult = 1\nif {OURS}: os._exit(9)\n",
    "broken": "raise ImportError('no such thing')\n",
    "silent": COMPILES,
    "late": COMPILES + f"import time\nresult = 1\nif not {OURS}: time.sleep(1e6)\n",
}


class Case(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = pathlib.Path(tmp.name)
        site = self.folder / "site"
        (site / "torch").mkdir(parents=True)
        (site / "torch" / "__init__.py").write_text(TORCH)
        standin_triton.write(site)
        (site / "triton" / "language").mkdir()
        (site / "triton" / "language" / "__init__.py").touch()
        (site / "triton" / "language" / "semantic.py").write_text(SEMANTIC)
        (site / "triton" / "testing.py").touch()
        self.fake = standin_triton.write_program(self.folder / "tritonc")
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(HERE.parent)]), "TRITONC_SOCKET": "off",
                    "FAKE_LOG": str(self.folder / "log"), "FAKE_PTXAS": "/ptxas"}


@unittest.skipUnless(hasattr(os, "fork"), "no fork here")
class ProgramsTest(Case):
    def test_verdicts(self):
        programs = self.folder / "programs"
        programs.mkdir()
        limit = patience.seconds(3)
        for name, text in PROGRAMS.items():
            (programs / f"{name}.py").write_text(text.replace("SLOW", str(limit * 5 / 3)))
        out = self.folder / "out.json"
        command = [sys.executable, str(HERE.parent / "check_programs.py"), str(programs), "--program", str(self.fake), "--limit", str(limit), "--json", str(out)]
        r = subprocess.run(command, env=self.env, capture_output=True, text=True)
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        found = {row["name"][:-3]: row["verdict"] for row in json.loads(out.read_text())}
        self.assertEqual(found, {"good": "ok", "wrong": "WRONG", "fails": "FAILED", "refused": "FAILED", "without": "NOT OURS", "hangs": "HUNG",
                                 "slow": "ok", "varies": "varies", "races": "varies", "both": "WRONG", "rounds": "ok", "unwritten": "ok", "tunes": "ok", "dies": "FAILED",
                                 "broken": "skipped", "silent": "skipped", "late": "late"}, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r"fails.py +FAILED +ValueError: it is ours\n")
        self.assertRegex(r.stdout, r"varies.py +varies +result 1, and Triton's own with the blocks in the opposite order\n")
        self.assertRegex(r.stdout, r"races.py +varies +result 0, and Triton's own when it runs again\n")
        self.assertRegex(r.stdout, rf"hangs.py +HUNG +no end in {3 * limit} s; it was in wait \(hangs.py:5\), called by <module> \(hangs.py:6\), with 1 kernels compiled\n")
        self.assertRegex(r.stdout, r"dies.py +FAILED +its process died\n")
        self.assertIn("17 programs, ", r.stdout)
        self.assertNotIn("noise", r.stdout)
        earlier = self.folder / "earlier.json"
        earlier.write_text(json.dumps([r for r in json.loads(out.read_text()) if r["name"] != "good.py"]))
        r = subprocess.run([*command, "--names", "good,broken,varies", "--resume", str(earlier)], env=self.env, capture_output=True, text=True)
        self.assertIn("9 programs, ", r.stdout)
        self.assertIn(": 5 ok, 2 skipped, 2 varies\n", r.stdout)
        self.assertEqual(json.loads(out.read_text())[-1]["name"], "good.py")
        r = subprocess.run([*command, "--only", "good"], env=self.env, capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (0, "1 programs, 1 kernels: 1 ok\n"))
        r = subprocess.run([*command, "--names", "good,races,silent"], env=self.env, capture_output=True, text=True)
        self.assertIn("3 programs, 2 kernels: 1 ok, 1 skipped, 1 varies\n", r.stdout)
        names = [row["name"] for row in json.loads(out.read_text())]
        self.assertEqual(names, ["good.py", "races.py", "silent.py"])
        r = subprocess.run([*command, "--names", "silent,good"], env={**self.env, "TRITONC_FROM_SOURCE": "1"}, capture_output=True, text=True)
        self.assertIn("0 configurations from their Python files; 1 from Triton's ttir: it is no Python function\n", r.stdout, r.stderr)
        self.assertEqual([row["name"] for row in json.loads(out.read_text())], ["silent.py", "good.py"])
        r = subprocess.run([*command, "--names", "good,dies", "--budget", "1e-9"], env=self.env, capture_output=True, text=True)
        self.assertEqual(r.returncode, 1)  # nothing is ok
        self.assertIn("2 programs, 0 kernels: 2 late\n", r.stdout)

    def test_ended(self):
        """A script that is ended tells what was done."""
        for name in ("good", "hangs"):
            (self.folder / f"{name}.py").write_text(PROGRAMS[name])
        out = self.folder / "out.json"
        command = [sys.executable, str(HERE.parent / "check_programs.py"), str(self.folder), "--names", "good,hangs", "--program", str(self.fake), "--json", str(out)]
        tmp = self.folder / "tmp"
        tmp.mkdir()
        p = subprocess.Popen(command, env={**self.env, "TMPDIR": str(tmp)}, stdout=subprocess.PIPE, text=True)
        while not all(list(tmp.glob(f"tritonc-programs-*/{who}/good.json")) for who in ("triton", "tritonc")) and p.poll() is None:
            time.sleep(0.01)
        for _ in range(30):  # timeout sends two: to the process, and to its group
            p.terminate()
            time.sleep(0.002)
        said, _ = p.communicate()
        self.assertEqual({r["name"]: r["verdict"] for r in json.loads(out.read_text())}, {"good.py": "ok", "hangs.py": "late"})
        self.assertIn("2 programs, 1 kernels: 1 late, 1 ok\n", said)
        self.assertEqual(p.returncode, 1)

    def test_ended_late(self):
        """What was found is told when the script is ended while it looks again at programs, too."""
        names = {"good": PROGRAMS["good"], "wrong": PROGRAMS["wrong"], "hangs": PROGRAMS["hangs"]}
        for name, text in names.items():
            (self.folder / f"{name}.py").write_text(text)
        out, tmp = self.folder / "out.json", self.folder / "tmp"
        tmp.mkdir()
        limit = patience.seconds(5)
        command = [sys.executable, str(HERE.parent / "check_programs.py"), str(self.folder), "--names", ",".join(names), "--program", str(self.fake),
                   "--json", str(out), "--limit", str(limit)]
        p = subprocess.Popen(command, env={**self.env, "TMPDIR": str(tmp)}, stdout=subprocess.PIPE, text=True)
        while not list(tmp.glob("tritonc-programs-*/alone")) and p.poll() is None:
            time.sleep(0.01)
        p.terminate()
        p.communicate()
        found = {r["name"]: (r["verdict"], r["why"]) for r in json.loads(out.read_text())}
        self.assertEqual(found["good.py"], ("ok", ""))
        self.assertEqual(found["wrong.py"][0], "WRONG")
        self.assertRegex(found["wrong.py"][1], "; Triton's own were not looked at when it runs again or with the blocks in the opposite order$")
        self.assertEqual(found["hangs.py"][0], "HUNG")
        self.assertRegex(found["hangs.py"][1], f"no end in {limit} s.*; it was not run again alone$")
        self.assertEqual(p.returncode, 1)

    def test_no_side(self):
        """Without tritonc no program has a verdict."""
        (self.folder / "good.py").write_text(PROGRAMS["good"])
        r = subprocess.run([sys.executable, str(HERE.parent / "check_programs.py"), str(self.folder), "--program", "/no/tritonc"], env=self.env, capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertRegex(r.stderr, "there is no program /no/tritonc(.|\n)*no program was run through tritonc: the process that starts them ended with status 1, for the reason above\n$")

    def test_nothing(self):
        with contextlib.redirect_stderr(io.StringIO()) as out, self.assertRaises(SystemExit):
            check_programs.main([str(self.folder), "--only", "nothing"])
        self.assertIn("there is no program in", out.getvalue())


class WallTest(Case):
    def run_wall(self, *arguments, program=None):
        command = [sys.executable, str(HERE.parent / "compile_wall.py"), *arguments, "--program", program or str(self.fake)]
        return subprocess.run(command, env=self.env, capture_output=True, text=True)

    def test_table(self):
        def made(cold, warm, **more):
            return {"cold": {"wall": cold, "off": 0.01, **more}, "warm": {"wall": warm, "off": 0.01}}

        text = compile_wall.table({"block": {"triton": [made(12, 2, compiling=7.0, measuring=2.0, choices=80), made(11, 2)],
                                             "tritonc": [made(5, 2, report={"configurations": 9})]}})
        self.assertIn("block: cold less warm, tritonc takes 0.333 of Triton's time", text)
        self.assertRegex(text, r"block triton +12.00 +2.00 +10.00; compiling 7; measuring 2; choices 80; off 0.01\n")
        self.assertIn("{'configurations': 9}", text)

    def test_what_inductor_says(self):
        line = "SingleProcess AUTOTUNE benchmarking takes 0.5 seconds and {} seconds precompiling for 20 choices\n"
        self.assertEqual(compile_wall.settled("noise\n" + line.format(2.25) + line.format(0.5)),
                         {"measuring": 1.0, "compiling": 2.75, "choices": 40, "matmuls": 2})
        self.assertEqual(compile_wall.settled("noise"), {})

    def test_no_end(self):
        """Of a program that does not end what it had done is said."""
        line = "AUTOTUNE benchmarking takes 0.5 seconds and 2 seconds precompiling for 20 choices"
        (self.folder / "site" / "torch" / "__init__.py").write_text(
            f"import time\nprint({line!r}, flush=True)\ntime.sleep(600)\n")
        limit = patience.seconds(2)
        r = self.run_wall("block", "--limit", str(limit))
        self.assertEqual(r.returncode, 1)
        self.assertIn(f"block by triton, cold: no end in {limit} s, " "{'measuring': 0.5, 'compiling': 2.0, 'choices': 20, 'matmuls': 1}\n", r.stderr)

    def test_failures(self):
        """A program that cannot run is said, and fails the script."""
        (self.folder / "site" / "torch" / "__init__.py").write_text("raise ImportError('no GPU')")
        r = self.run_wall("block")
        self.assertEqual(r.returncode, 1)
        self.assertEqual(r.stderr, "".join(f"block by {side}, {state}: ImportError: no GPU\n" for state in ("cold", "warm") for side in ("triton", "tritonc")))
        r = self.run_wall("block", "--sides", "tritonc")
        self.assertEqual((r.returncode, r.stderr), (1, "".join(f"block by tritonc, {state}: ImportError: no GPU\n" for state in ("cold", "warm"))))
        self.assertIn("--sides them: there are triton, tritonc", self.run_wall("--sides", "them").stderr)
        with contextlib.redirect_stderr(io.StringIO()) as out, self.assertRaises(SystemExit):
            compile_wall.main(["nothing"])
        self.assertIn("there is no program nothing; there are block, autotune", out.getvalue())

    def test_before_it_begins(self):
        """What both sides need is looked for before one of them is measured."""
        r = self.run_wall("block", program="/no/tritonc")
        self.assertEqual((r.returncode, r.stderr.splitlines()[-1]), (2, "compile_wall.py: error: there is no program /no/tritonc (--program)"))
        broken = self.folder / "broken"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o755)
        r = self.run_wall("block", program=str(broken))
        self.assertEqual(r.returncode, 2)
        self.assertRegex(r.stderr, r"error: \S+broken is not a tritonc that can be run here .*ends with status 3")
        shutil.rmtree(self.folder / "site" / "torch")
        r = self.run_wall("block")
        self.assertEqual(r.returncode, 2)
        self.assertRegex(r.stderr, r"error: this Python \(\S+\) has no torch, which both sides need")
        self.assertEqual(r.stdout, "")


class StacksTest(unittest.TestCase):
    def test_where_threads_are(self):
        """A thread that waits in a function is there for as long as it waits."""
        ended = threading.Event()

        def waits_here():
            ended.wait()

        thread = threading.Thread(target=waits_here, name="a thread")
        thread.start()
        sampler = stacks.Sampler(interval=0.001).start()
        while not any("waits_here" in stack for stack in list(sampler.seconds)):
            pass
        sampler.stop()
        ended.set()
        thread.join()
        with tempfile.TemporaryDirectory() as tmp:
            path = pathlib.Path(tmp, "stacks")
            sampler.write(path)
            lines = path.read_text().splitlines()
        self.assertTrue(any(line.startswith("a thread;") and "tests/test_programs.py:waits_here;" in line for line in lines), lines)
        self.assertFalse(any(line.startswith("sampler;") for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
