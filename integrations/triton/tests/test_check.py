"""Tests of check.py: its comparison on a stand-in for tensors, and its processes."""

import contextlib
import io
import json
import math
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import check
import check_rows
import patience


class Tensor:
    """What difference() asks of a tensor."""

    def __init__(self, values, dtype="torch.float32", shape=None):
        self.values, self.dtype, self.shape = list(values), dtype, shape or (len(values),)

    def _each(self, f, other=None, dtype=None):
        others = other.values * (len(self.values) if len(other.values) == 1 else 1) if isinstance(other, Tensor) else [other] * len(self.values)
        return Tensor([f(a, b) for a, b in zip(self.values, others)], dtype or self.dtype)

    def is_complex(self):
        return False

    def is_floating_point(self):
        return "float" in self.dtype

    def numel(self):
        return len(self.values)

    def double(self):
        return Tensor(self.values, "torch.float64")

    def any(self):
        return any(self.values)

    def all(self):
        return all(self.values)

    def sum(self):
        return sum(self.values)

    def max(self):
        return max(self.values)

    def mean(self):
        return Tensor([sum(self.values) / len(self.values)], self.dtype)

    def __float__(self):
        return float(self.values[0])

    sqrt = lambda a: a._each(lambda x, _: math.sqrt(x))
    abs = lambda a: a._each(lambda x, _: abs(x))
    isnan = lambda a: a._each(lambda x, _: math.isnan(x), dtype="torch.bool")
    isfinite = lambda a: a._each(lambda x, _: math.isfinite(x), dtype="torch.bool")
    __invert__ = lambda a: a._each(lambda x, _: not x)
    __and__ = lambda a, b: a._each(lambda x, y: x and y, b)
    __ne__ = lambda a, b: a._each(lambda x, y: x != y, b, "torch.bool")
    __gt__ = lambda a, b: a._each(lambda x, y: x > y, b, "torch.bool")
    __mul__ = lambda a, b: a._each(lambda x, y: x * y, b)
    __add__ = lambda a, b: a._each(lambda x, y: x + y, b)
    __sub__ = lambda a, b: a._each(lambda x, y: x - y, b)
    __rmul__ = __mul__
    __getitem__ = lambda a, mask: Tensor([x for x, m in zip(a.values, mask.values) if m], a.dtype)


def stand_in():
    torch = types.ModuleType("torch")
    torch.Tensor = Tensor
    torch.equal = lambda a, b: a.values == b.values
    return mock.patch.dict(sys.modules, {"torch": torch})


class DifferenceTest(unittest.TestCase):
    def difference(self, a, b, dtype="torch.float32"):
        with stand_in():
            return check.difference([Tensor(a, dtype)], [Tensor(b, dtype)])

    def test_same(self):
        inf, nan = math.inf, math.nan
        self.assertIsNone(self.difference([1.0, 2.0, inf, nan, -inf], [1.0, 2.0001, inf, nan, -inf]))
        self.assertIsNone(self.difference([0.0, 1.00001], [0.0001, 1.0]))  # small beside the others
        self.assertIsNone(self.difference([1, 2], [1, 2], "torch.int64"))
        self.assertIsNone(self.difference([], []))
        self.assertIsNone(self.difference([1.0, 2.0], [1.02, 2.0], "torch.bfloat16"))
        self.assertIsNone(self.difference([nan, inf], [nan, inf]))

    def test_different(self):
        for a, b, dtype, why in (([1.0, 2.0], [1.0, 2.01], "torch.float32", "1 of 2 differ, by 0.01 at most"),
                                 ([1.0, math.nan], [1.0, 2.0], "torch.float32", "infinite or not numbers"),
                                 ([1.0, math.inf], [1.0, 2.0], "torch.float32", "infinite"),
                                 ([1.0, 2.0], [1.0, math.inf], "torch.float32", "infinite or not numbers"),
                                 ([math.inf], [-math.inf], "torch.float32", "infinite or not numbers"),
                                 ([1, 2], [1, 3], "torch.int64", "1 of 2 differ"),
                                 ([True], [False], "torch.bool", "1 of 1 differ"),
                                 ([1.0] * 999 + [2.0], [1.0] * 1000, "torch.float16", "1 of 1000 differ"),
                                 ([1.0, 2.0], [1.0], "torch.float32", "want")):
            self.assertIn(why, self.difference(a, b, dtype) or "the same", (a, b))
        with stand_in():
            self.assertIn("want torch.float32", check.difference([Tensor([1.0], "torch.float16")], [Tensor([1.0])]))
            self.assertIn("0 results, want 1", check.difference([], [1]))
            self.assertIn("result 0: 1, want 2", check.difference([1], [2]))
            self.assertIsNone(check.difference([math.nan, 3], [math.nan, 3]))
            self.assertIsNone(check.difference([9721879.0, -math.inf, 0.0], [9721898.0, -math.inf, 0.0]))
            for got, want in [(1.001, 1.0), (1e-9, 0.0), (math.inf, 1.0), (1.0, math.inf), (-math.inf, math.inf), (math.nan, 1.0), (1.0, math.nan), (3, 2)]:
                self.assertIn(f"result 0: {got}, want {want}", check.difference([got], [want]))

    def test_flatten(self):
        self.assertEqual(check.flatten({"a": (1, [2, None]), "b": 3}), [1, 2, 3])


class VerdictTest(unittest.TestCase):
    """What becomes of a row, by what each way of running it gives."""

    def verdict(self, eager, ours, theirs=None, compiled=1, generated=1, failed=0):
        log = []

        def run(row, compiled_):
            if compiled_:
                log.extend({"how": "compiled", "name": "k", "seconds": 0.5, "pid": 7} for _ in range(compiled))
                log.extend({"how": "failed", "name": "k", "why": "ptxas"} for _ in range(failed))
            return give(ours if compiled_ else eager)

        def give(result):
            if isinstance(result, Exception):
                raise result
            return result

        inductor = types.ModuleType("torch._inductor")
        inductor.metrics = types.SimpleNamespace(reset=lambda: None, generated_kernel_count=generated)
        with stand_in(), mock.patch.dict(sys.modules, {"torch._inductor": inductor}), \
                mock.patch.object(check, "run", lambda row, compiled: run(row, compiled)), mock.patch.object(check, "cold", lambda _: contextlib.nullcontext()):
            out = check.verdict(("k", {}, None, None, False), types.SimpleNamespace(entries=lambda: list(log)), lambda: give(theirs))
        return out["verdict"], out

    def test_each(self):
        error = ValueError("k.ttir:1:1: error: no")
        for want, args in (("ok", ([1], [1])), ("as Triton", ([1], [2], [2])), ("WRONG", ([1], [2], [1])), ("WRONG", ([1], [2], [3])),
                           ("WRONG", ([1], [2], error)), ("FAILED", ([1], error, [1])), ("skipped", ([1], error, error)),
                           ("as Triton", (error, [2], [2])), ("WRONG", (error, [2], [3])), ("skipped", (error, error, error)),
                           ("NOT OURS", ([1], [1], None, 0)), ("NOT OURS", ([1], [2], [2], 0)), ("ok", ([1], [1], None, 0, 0))):
            self.assertEqual(self.verdict(*args)[0], want, args)
        self.assertEqual(self.verdict([1], [1], failed=1)[0], "FAILED")
        for want, ours, triton in (("as near", [1.01, 1.0], [0.993, 1.002]), ("WRONG", [1.02, 1.0], [1.0, 0.995]), ("WRONG", [math.nan, 1.0], [0.9, 1.0])):
            self.assertEqual(self.verdict([Tensor([1.0, 1.0])], [Tensor(ours)], [Tensor(triton)])[0], want, ours)
        out = self.verdict([1], [1], compiled=2)[1]
        self.assertEqual((out["kernels"], out["configurations"], out["compiling"], out["in_workers"]), (1, 2, 1.0, 2))
        self.assertIn("error: no", self.verdict([1], error, [1])[1]["why"])


class TheirsTest(unittest.TestCase):
    def test_sources(self):
        """Source mode: how many configurations came from files, and why the others did not."""
        entries = [{"source": True, "why": None}, {"source": False, "why": "a constant is dict"}, {"source": False, "why": "a constant is dict"}]
        found = check.sources(entries)
        self.assertEqual(found, {"from_source": 1, "not_source": {"a constant is dict": 2}})
        self.assertEqual(check.sources([{"pid": 1}]), {})
        self.assertEqual(check.sources_line([found, {"from_source": 3, "not_source": {"other": 1}}, {}]),
                         ["4 configurations from their Python files; 2 from Triton's ttir: a constant is dict; 1 from Triton's ttir: other"])
        self.assertEqual(check.sources_line([{}]), [])

    def test_without(self):
        env = check.without({"TRITONC": "1", "TRITONC_SETTINGS": "{}", "TRITON_CACHE_DIR": "/c", "PYTHONPATH": "/site:/a", "TORCH_COMPILE_CACHE_KEY_TAG": "x"}, "/site")
        self.assertEqual(env, {"TRITON_CACHE_DIR": "/c", "PYTHONPATH": "/a"})

    def test_by_triton(self):
        """In a process of its own, which says what went wrong."""
        torch = types.ModuleType("torch")
        torch.load = lambda path, weights_only: json.loads(pathlib.Path(path).read_text())
        made = []

        def start(argv, env, **_):
            made.append((argv, env))
            if argv[argv.index("--theirs") + 1] == "7":
                return types.SimpleNamespace(returncode=1, stderr="Traceback\nValueError: no")
            pathlib.Path(argv[argv.index("--log") + 1]).write_text("[1, 2]")
            return types.SimpleNamespace(returncode=0, stderr="")

        with mock.patch.dict(sys.modules, {"torch": torch}), mock.patch("subprocess.run", start), mock.patch.dict("os.environ", {"TRITONC_SETTINGS": "{}"}):
            self.assertEqual(check.by_triton(3, 5), [1, 2])
            with self.assertRaisesRegex(RuntimeError, "ValueError: no"):
                check.by_triton(7, 5)
        self.assertNotIn("TRITONC_SETTINGS", made[0][1])


# A worker that does to each of its rows what the row's name says.
WORKER = """
import json, os, signal, sys, time
sys.path.insert(0, {here!r})
import check
names, log = {names!r}, sys.argv[1]
with open(log, "a", buffering=1) as f:
    print(json.dumps({{"row": -1, "todo": names}}), file=f)
    for i in check.claims(os.path.dirname(log), range(len(names))):
        name = names[i]
        print(json.dumps({{"row": i, "name": name, "begun": 0}}), file=f)
        if name == "crash":
            sys.exit("boom")
        if name == "hang":
            time.sleep(60)
        if name == "end":
            os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(60)
        print(json.dumps({{"row": i, "name": name, "verdict": name, "why": "", "kernels": 1, "configurations": 2, "seconds": 0.1,
                           "compiling": 0.05, "in_workers": {workers}}}), file=f)
    print(json.dumps({{"row": -1, "ended": True}}), file=f)
"""


class ProcessesTest(unittest.TestCase):
    def run_check(self, *names, workers=1, text=None, more=()):
        with tempfile.TemporaryDirectory() as tmp:
            worker, out = pathlib.Path(tmp, "worker.py"), pathlib.Path(tmp, "out.json")
            worker.write_text(text or WORKER.format(here=str(HERE.parent), names=names, workers=workers))
            self.limit = patience.seconds(4)
            with mock.patch.object(check, "child", lambda a, log: [sys.executable, str(worker), log]), \
                    contextlib.redirect_stdout(io.StringIO()) as said:
                status = check.main(["--processes", "2", "--limit", str(self.limit), "--json", str(out), *more])
            return status, said.getvalue(), json.loads(out.read_text())

    def test_good(self):
        status, said, entries = self.run_check("ok", "as Triton", "skipped", "ok")
        self.assertEqual(status, 0, said)
        self.assertIn("4 functions: 1 as Triton, 2 ok, 1 skipped", said)
        self.assertIn("4 kernels in 8 configurations, 4 of them in workers", said)

    def test_bad(self):
        for name in ("WRONG", "FAILED", "NOT OURS"):
            self.assertEqual(self.run_check("ok", name)[0], 1)
        status, said, _ = self.run_check("ok", "ok", "crash", "ok", "ok", "hang", "ok", "ok")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"crash +CRASHED .*the process ended with status 1: boom")
        self.assertRegex(said, rf"hang +HUNG .*no end in {self.limit} s")
        self.assertIn("8 functions: 1 CRASHED, 1 HUNG, 6 ok", said)

    def test_ended(self):
        """A script that is ended tells what was done."""
        status, said, entries = self.run_check("late", "end", "ok", "ok", more=["--processes", "1"])
        self.assertIn("2 functions: 2 ok", said)
        self.assertIn("2 functions were not done in time", said)
        self.assertEqual(sorted(e["name"] for e in entries if "verdict" in e), ["ok", "ok"])

    def test_each_once(self):
        """Rows are claimed by one process each, the last row first."""
        with tempfile.TemporaryDirectory() as tmp:
            one, other = check.claims(tmp, range(5)), check.claims(tmp, range(5))
            self.assertEqual([next(one), next(other), *one, *other], [4, 3, 2, 1, 0])

    def test_resume(self):
        """What an earlier run found right is counted, and not run again."""
        with tempfile.TemporaryDirectory() as tmp:
            path = pathlib.Path(tmp, "earlier.json")
            path.write_text(json.dumps([{"row": 7, "name": "f", "begun": 1}, {"row": 7, "name": "f", "verdict": "ok", "why": ""},
                                        {"row": 8, "name": "g", "verdict": "WRONG", "why": "no"}, {"row": 9, "name": "h", "late": True}]))
            self.assertEqual([e["name"] for e in check.resumed(path)], ["f"])
            status, said, entries = self.run_check("ok", "as Triton", more=["--resume", str(path)])
        self.assertEqual(status, 0, said)
        self.assertIn("3 functions: 1 as Triton, 2 ok", said)
        self.assertEqual(sum("verdict" in e for e in entries), 3)

    def test_nothing(self):
        self.assertEqual(self.run_check()[0], 1)
        status, said, _ = self.run_check(text="raise SystemExit('no torch here')")
        self.assertEqual(status, 1)
        self.assertIn("a process did not work: no torch here", said)
        status, said, _ = self.run_check("ok", workers=0)
        self.assertEqual(status, 1)
        self.assertIn("no worker of torch's compiled with tritonc", said)


class RowsTest(unittest.TestCase):
    def test_rows(self):
        """The list can be made, names are unique, and there are training steps."""
        torch = mock.MagicMock()
        nn = types.ModuleType("torch.nn")
        nn.Module, nn.functional = object, mock.MagicMock()
        modules = {"torch": torch, "torch.nn": nn, "torch.nn.functional": nn.functional}
        torch.nn = nn
        with mock.patch.dict(sys.modules, modules), mock.patch.object(sys, "path", list(sys.path)):
            rows = check_rows.rows()
        names = [r[0] for r in rows]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 60)
        self.assertGreaterEqual(sum(n.startswith("step_") for n in names), 10)
        self.assertTrue(all(callable(r[2]) and len(r) == 5 for r in rows))
        self.assertIn("llama_block", names)


if __name__ == "__main__":
    unittest.main()
