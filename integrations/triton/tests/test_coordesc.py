"""Tests of what workers compile ahead of coordinate descent, on a stand-in for torch's Inductor."""

import concurrent.futures
import importlib
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from tritonc import coordesc

# Triton's cache is a folder, and a measurement is a function of the configuration. LOG has what
# was done, in order: ("compiled", where, config), ("found", config), ("measured", config, jobs under way).
HEURISTICS = """
import enum, os, time
import on_import
from torch._inductor.runtime.coordinate_descent_tuner import CoordescTuner
HeuristicType = enum.Enum("HeuristicType", "POINTWISE REDUCTION TEMPLATE")
LOG, CACHE = [], None

def triton_config_to_hashable(config):
    return tuple(sorted(config.kwargs.items())) + (config.num_warps,)

class Config:
    def __init__(self, kwargs, num_warps=4):
        self.kwargs, self.num_warps = kwargs, num_warps

class Function:
    def __init__(self, name):
        self.__name__ = name

class Launcher:
    def __init__(self, config):
        self.config = config

class CachingAutotuner:
    deterministic_mode = False

    def __init__(self, name, configs, filename, time, heuristic=HeuristicType.POINTWISE, where="program", tuned=True):
        self.fn, self.configs, self.filename, self.time, self.where = Function(name), configs, filename, time, where
        self.heuristic_type, self.inductor_meta = heuristic, {"coordinate_descent_tuning": tuned}
        self.coordesc_tuner = CoordescTuner()

    def precompile(self):
        self.launchers = [Launcher(c) for c in self.configs]

    def _precompile_config(self, config):
        path = os.path.join(CACHE, self.fn.__name__ + repr(triton_config_to_hashable(config)))
        if os.path.exists(path):
            LOG.append(("found", triton_config_to_hashable(config)))
            return
        LOG.append(("compiled", self.where, triton_config_to_hashable(config)))
        if self.where == "worker":
            time.sleep(0.003)
        if config.num_warps > 8:
            raise ValueError("too many warps")
        open(path, "w").close()

    def benchmark_all_configs(self):
        LOG.append(("measured", "all", under_way()))

    def _coordinate_descent_tuning(self, launcher):
        def benchmark_one_config(config):
            self._precompile_config(config)
            LOG.append(("measured", triton_config_to_hashable(config), under_way()))
            return self.time(config)
        return self.coordesc_tuner.autotune(benchmark_one_config, launcher.config)

under_way = lambda: 0
"""

TUNER = """
import copy

def get_field(config, name):
    return config.num_warps if name == "num_warps" else config.kwargs.get(name)

def set_field(config, name, value):
    if name == "num_warps":
        config.num_warps = value
    else:
        config.kwargs[name] = value

class CoordescTuner:
    tunable_fields = ["XBLOCK", "YBLOCK", "num_warps"]

    def __init__(self):
        self.times = {}

    def key(self, config):
        return tuple(sorted(config.kwargs.items())) + (config.num_warps,)

    def lookup_in_cache(self, config):
        return self.times.get(self.key(config))

    def get_neighbour_values(self, name, value):
        return [2 * value] + [value // 2] * (value > 1)

    def is_valid_config(self, config):
        return config.kwargs["XBLOCK"] <= 64

    def compare_config(self, func, candidate, best, best_time):
        time = self.lookup_in_cache(candidate)
        if time is None:
            try:
                time = self.times[self.key(candidate)] = func(candidate)
            except ValueError:
                return False, float("inf")
        return time < best_time, time

    def autotune(self, func, best):
        time, improved = func(best), True
        self.times[self.key(best)] = time
        while improved:
            improved = False
            for name in self.tunable_fields:
                if get_field(best, name) is None:
                    continue
                for value in self.get_neighbour_values(name, get_field(best, name)):
                    candidate = copy.deepcopy(best)
                    set_field(candidate, name, value)
                    if self.is_valid_config(candidate):
                        better, its = self.compare_config(func, candidate, best, time)
                        if better:
                            improved, best, time = True, candidate, its
        return best
"""

ASYNC = """
threads = 16

def get_compile_threads():
    return threads

class AsyncCompile:
    pool = None

    @classmethod
    def use_process_pool(cls):
        return cls.pool is not None

    @classmethod
    def process_pool(cls):
        return cls.pool
"""

# A module of a kernel's file has the kernel as a worker sees it.
TASKS = """
import types
from torch._inductor.runtime import triton_heuristics as h

def _set_triton_ptxas_path():
    pass

def _reload_python_module(key, path, set_sys_modules=True):
    with open(path) as f:
        assert f.read() == "a kernel" and key == "ck" and not set_sys_modules
    return types.SimpleNamespace(kernel=h.CachingAutotuner("kernel", [], path, None, where="worker"))
"""


class Pool(concurrent.futures.ThreadPoolExecutor):
    """Threads for Inductor's processes; it counts what is under way."""

    def __init__(self):
        super().__init__(4)
        self.asked, self.futures = 0, []

    def submit(self, *args):
        self.asked += 1
        self.futures.append(super().submit(*args))
        return self.futures[-1]

    def under_way(self):
        return sum(not f.done() for f in self.futures)


class CoordescTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = pathlib.Path(tmp.name)
        runtime = self.folder / "torch" / "_inductor" / "runtime"
        runtime.mkdir(parents=True)
        for package in (runtime, runtime.parent, runtime.parent.parent):
            (package / "__init__.py").touch()
        for path, text in ((runtime / "triton_heuristics.py", HEURISTICS), (runtime / "coordinate_descent_tuner.py", TUNER),
                           (runtime / "compile_tasks.py", TASKS), (runtime.parent / "async_compile.py", ASYNC), (self.folder / "on_import.py", "")):
            path.write_text(text)
        (self.folder / "ck.py").write_text("a kernel")
        (self.folder / "cache").mkdir()
        patches = (mock.patch.object(sys, "path", [str(self.folder), *sys.path]), mock.patch.object(sys, "meta_path", list(sys.meta_path)), mock.patch.dict(os.environ))
        for p in patches:
            p.start()
            self.addCleanup(p.stop)
        self.addCleanup(self.forget)
        self.forget()
        self.undo = []

    def forget(self):
        for name in [n for n in sys.modules if n == "on_import" or n == "torch" or n.startswith("torch.")]:
            del sys.modules[name]

    def load(self, pool=True):
        """Inductor, wrapped."""
        coordesc.watch(self.undo)
        self.h = importlib.import_module(coordesc.HEURISTICS)
        self.h.CACHE = str(self.folder / "cache")
        asynchronous = importlib.import_module("torch._inductor.async_compile")
        if pool:
            self.pool = asynchronous.AsyncCompile.pool = Pool()
            self.addCleanup(self.pool.shutdown)
            self.h.under_way = self.pool.under_way

    def kernel(self, configs=None, time=lambda c: abs(c.kwargs["XBLOCK"] - 32) + c.num_warps, **more):
        return self.h.CachingAutotuner("kernel", [self.h.Config({"XBLOCK": 8})] if configs is None else configs, str(self.folder / "ck.py"), time, **more)

    def tune(self, kernel):
        """The configuration that is chosen, and what was done."""
        kernel.precompile()
        if len(kernel.launchers) > 1:
            kernel.benchmark_all_configs()
        best = kernel._coordinate_descent_tuning(kernel.launchers[0])
        return self.h.triton_config_to_hashable(best), list(self.h.LOG)

    def alone(self, **more):
        """The same without the hook."""
        for step in reversed(self.undo):
            step()
        self.h.LOG.clear()
        for path in pathlib.Path(self.h.CACHE).iterdir():
            path.unlink()
        return self.tune(self.kernel(**more))

    def test_same_choice(self):
        """Workers compile all but the first configuration; what is measured, and chosen, is the same as without."""
        self.load()
        best, log = self.tune(self.kernel())
        self.assertEqual(best, (("XBLOCK", 32), 1))
        self.assertEqual([e[2] for e in log if e[:2] == ("compiled", "program")], [(("XBLOCK", 8), 4)])
        measured = [e[1] for e in log if e[0] == "measured"]
        self.assertEqual([e[1] for e in log if e[0] == "found"], measured[1:])
        self.assertEqual([e[2] for e in log if e[0] == "measured"], [0] * len(measured), "something was compiled while a kernel was measured")
        by_workers = [e[2] for e in log if e[:2] == ("compiled", "worker")]
        self.assertEqual(len(by_workers), len(set(by_workers)))
        self.assertLess(set(measured[1:]) - {(("XBLOCK", 8), 4)}, set(by_workers))
        alone, log = self.alone()
        self.assertEqual((alone, [e[1] for e in log if e[0] == "measured"]), (best, measured))
        self.assertFalse([e for e in log if e[:2] == ("compiled", "worker")])

    def test_as_soon_as_it_is_loaded(self):
        """A kernel of few configurations is asked for when it is loaded, one of several when one is chosen."""
        self.load()
        one, two, several = (self.kernel(configs=[self.h.Config({"XBLOCK": x}) for x in xs]) for xs in ((8, ), (8, 16), (8, 16, 32)))
        one.precompile()
        self.assertEqual(self.pool.asked, 4)  # XBLOCK and num_warps, each up and down
        two.precompile()
        self.assertEqual(self.pool.asked, 10)  # 4 and 32, and two numbers of warps for either
        several.precompile()
        self.assertEqual(self.pool.asked, 10)
        several._coordinate_descent_tuning(several.launchers[1])
        self.assertGreater(self.pool.asked, 12)

    def test_choice_among_several(self):
        """What is measured to choose a configuration waits for workers, too."""
        self.load()
        _, log = self.tune(self.kernel(configs=[self.h.Config({"XBLOCK": x}) for x in (8, 16)]))
        self.assertEqual({e[2] for e in log if e[0] == "measured"}, {0})
        self.assertEqual(sum(e[:2] == ("measured", "all") for e in log), 1)

    def test_what_is_not_tuned(self):
        self.load()
        found = self.h.Config({"XBLOCK": 8})
        found.found_by_coordesc = True
        for kernel in (self.kernel(tuned=False), self.kernel(heuristic=self.h.HeuristicType.TEMPLATE), self.kernel(configs=[found])):
            kernel.precompile()
        deterministic = self.kernel()
        deterministic.deterministic_mode = True
        deterministic.precompile()
        self.assertEqual(self.pool.asked, 0)

    def test_what_fails(self):
        """A configuration that a worker cannot compile is Inductor's to judge, as is all that it asks for without workers."""
        self.load()
        best, log = self.tune(self.kernel(time=lambda c: -c.num_warps))
        self.assertEqual(best[-1], 8)
        self.assertIn(("compiled", "worker", (("XBLOCK", 8), 16)), log)
        self.assertIn(("compiled", "program", (("XBLOCK", 8), 16)), log)
        self.h.LOG.clear()
        (self.folder / "ck.py").unlink()
        best, log = self.tune(self.kernel(configs=[self.h.Config({"XBLOCK": 4})]))
        self.assertEqual(best[0], ("XBLOCK", 32))
        self.assertFalse([e for e in log if e[:2] == ("compiled", "worker")])

    def test_few_workers(self):
        self.load()
        sys.modules["torch._inductor.async_compile"].threads = coordesc.ENOUGH - 1
        self.tune(self.kernel())
        self.assertEqual(self.pool.asked, 0)

    def test_no_workers(self):
        self.load(pool=False)
        best, log = self.tune(self.kernel())
        self.assertEqual(best, (("XBLOCK", 32), 1))
        self.assertFalse([e for e in log if e[:2] == ("compiled", "worker")])

    def test_in_the_middle_of_an_import(self):
        """The hook may be installed by what Inductor's module imports."""
        (self.folder / "on_import.py").write_text("from tritonc import coordesc\nundo = []\ncoordesc.watch(undo)\n")
        h = importlib.import_module(coordesc.HEURISTICS)
        theirs = h.CachingAutotuner.precompile
        self.assertEqual(sum(isinstance(f, coordesc._Finder) for f in sys.meta_path), 1)
        importlib.import_module("torch._inductor.async_compile")
        self.assertIsNot(h.CachingAutotuner.precompile, theirs)
        self.assertEqual(sum(isinstance(f, coordesc._Finder) for f in sys.meta_path), 0)
        for step in reversed(sys.modules["on_import"].undo):
            step()
        self.assertIs(h.CachingAutotuner.precompile, theirs)

    def test_another_torch(self):
        """Where a part is missing nothing is wrapped."""
        h = importlib.import_module(coordesc.HEURISTICS)
        del h.CachingAutotuner._coordinate_descent_tuning
        theirs = h.CachingAutotuner.precompile
        coordesc.watch(self.undo)
        self.assertIs(h.CachingAutotuner.precompile, theirs)
        self.assertEqual(len(self.undo), 1)

    def test_without_torch(self):
        """Nothing imports torch, and uninstall() leaves nothing behind."""
        before = list(sys.meta_path)
        coordesc.watch(self.undo)
        self.assertNotIn("torch", sys.modules)
        self.assertEqual(len(sys.meta_path), len(before) + 1)
        for step in reversed(self.undo):
            step()
        self.assertEqual(sys.meta_path, before)


if __name__ == "__main__":
    unittest.main()
