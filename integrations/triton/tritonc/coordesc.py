"""Has torch's workers compile what coordinate descent is about to measure.

In the modes of max-autotune Inductor changes one block size, or the number of warps, of a
kernel, compiles that, measures it, and goes on from the faster one: in the program's own
process, one configuration after the other, while its workers have nothing to do. Here the
workers compile all neighbours of a configuration side by side. Inductor's own compile of one then
finds it in Triton's cache; what it measures, and chooses, is as before, and nothing is
compiled while it measures.

Nothing here imports torch by itself. What is wrapped are private parts of torch 2.11: where
one of them is missing, nothing is (see NEEDED), and where something fails, Inductor
compiles by itself, as it would have.
"""

import concurrent.futures
import contextlib
import copy
import importlib.abc
import os
import sys
import threading
import weakref

HEURISTICS = "torch._inductor.runtime.triton_heuristics"

# What is used of torch's classes.
NEEDED = {"CachingAutotuner": ("precompile", "_precompile_config", "benchmark_all_configs", "_coordinate_descent_tuning"),
          "CoordescTuner": ("tunable_fields", "get_neighbour_values", "is_valid_config", "compare_config", "lookup_in_cache")}

# Kernels that Inductor does not tune so, by the name of their heuristic.
NOT_TUNED = ("TEMPLATE", "USER_AUTOTUNE", "FIXED")

FEW = 2  # configurations of a kernel that was loaded, of all of which the neighbours are compiled before one is chosen
ENOUGH = 4  # workers; with fewer, neighbours that are never asked for cost as much as the others gain
WAIT = 120  # seconds after which a worker that says nothing is not waited for


def watch(undo):
    """Wraps torch's classes as soon as they are there; undo gets what takes all of it back."""
    finder = _Finder(undo)
    undo.append(finder.leave)
    if not finder.attach():
        sys.meta_path.insert(0, finder)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing. It is asked whenever a module is imported, and looks whether Inductor's is
    there: that may be half imported now, since it imports triton, for which a program's
    environment may have the hook installed."""

    def __init__(self, undo):
        self.undo, self.once = undo, threading.Lock()

    def find_spec(self, name, path=None, target=None):
        if name.startswith("torch.") and self.attach():
            self.leave()
        return None

    def attach(self):
        """Whether the module is there; the first thread that sees it wraps its classes."""
        module = sys.modules.get(HEURISTICS)
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            return False
        if self.once.acquire(blocking=False):
            wrap(module, self.undo)
        return True

    def leave(self):
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)


def wrap(heuristics, undo):
    """Wraps the classes of Inductor's module."""
    if not all(hasattr(getattr(heuristics, name, None), part) for name, parts in NEEDED.items() for part in parts):
        return
    ahead, kernels, tuners = Ahead(heuristics), heuristics.CachingAutotuner, heuristics.CoordescTuner

    def replace(owner, name, make):
        theirs = getattr(owner, name)
        setattr(owner, name, make(theirs))
        undo.append(lambda: setattr(owner, name, theirs))

    def precompile(theirs):
        def f(self, *args, **kwargs):
            result = theirs(self, *args, **kwargs)
            ahead.loaded(self)
            return result
        return f

    def choose(theirs):
        def f(self, *args, **kwargs):
            ahead.settle()
            return theirs(self, *args, **kwargs)
        return f

    def tune(theirs):
        def f(self, launcher, *args, **kwargs):
            with ahead.tuning(self, launcher.config):
                return theirs(self, launcher, *args, **kwargs)
        return f

    def compare(theirs):
        def f(self, func, candidate, *args, **kwargs):
            result = theirs(self, func, candidate, *args, **kwargs)
            if result[0]:
                ahead.improved(candidate)
            return result
        return f

    replace(kernels, "precompile", precompile)
    replace(kernels, "benchmark_all_configs", choose)
    replace(kernels, "_coordinate_descent_tuning", tune)
    replace(tuners, "compare_config", compare)


class Ahead:
    """What workers compile ahead, of which kernels."""

    def __init__(self, heuristics):
        self.heuristics = heuristics
        self.asked = weakref.WeakKeyDictionary()  # kernel: {configuration: future}
        self.lock = threading.Lock()  # of asked
        self.local = threading.local()  # .kernel is what this thread tunes

    def loaded(self, kernel):
        """A kernel is there that will be tuned, from one of its configurations."""
        with contextlib.suppress(Exception):
            configs = [launcher.config for launcher in kernel.launchers]
            if len(configs) <= FEW and self.is_tuned(kernel) and not any(getattr(c, "found_by_coordesc", False) for c in configs):
                for config in configs:
                    self.ask(kernel, config)

    def is_tuned(self, kernel):
        return (kernel.inductor_meta.get("coordinate_descent_tuning") and kernel.heuristic_type.name not in NOT_TUNED
                and not kernel.deterministic_mode)

    @contextlib.contextmanager
    def tuning(self, kernel, config):
        """This thread tunes a kernel that runs with a configuration now."""
        self.local.kernel = kernel
        try:
            self.improved(config)
            yield
        finally:
            self.local.kernel = None

    def improved(self, config):
        """The kernel of this thread goes on from a configuration, whose neighbours are measured next."""
        kernel = getattr(self.local, "kernel", None)
        if kernel is None:
            return
        with contextlib.suppress(Exception):
            self.ask(kernel, config)
        self.settle()

    def settle(self):
        """Waits for all that was asked for, of any kernel, before something is measured: workers
        would take processors from its launches."""
        with self.lock:
            futures = [f for asked in self.asked.values() for f in asked.values()]
        concurrent.futures.wait(futures, WAIT)

    def ask(self, kernel, config):
        """Asks workers for the neighbours of a configuration, each once."""
        pool = workers()
        if pool is None:
            return
        env = {v: os.environ[v] for v in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR") if v in os.environ}
        key_of = self.heuristics.triton_config_to_hashable
        compiled = {key_of(launcher.config) for launcher in kernel.launchers}
        with self.lock:
            asked = self.asked.setdefault(kernel, {})
            for candidate in self.neighbours(kernel.coordesc_tuner, config):
                key = key_of(candidate)
                if key not in asked and key not in compiled and kernel.coordesc_tuner.lookup_in_cache(candidate) is None:
                    asked[key] = pool.submit(compile_one, kernel.filename, kernel.fn.__name__, candidate, env)

    def neighbours(self, tuner, config):
        """What coordinate descent compares a configuration with, in its order."""
        from torch._inductor.runtime.coordinate_descent_tuner import get_field, set_field
        for name in tuner.tunable_fields:
            value = get_field(config, name)
            for other in [] if value is None else tuner.get_neighbour_values(name, value):
                candidate = copy.deepcopy(config)
                set_field(candidate, name, other)
                if tuner.is_valid_config(candidate):
                    yield candidate


def workers():
    """Inductor's processes, when they are ready; None where it has none, or few."""
    from torch._inductor.async_compile import AsyncCompile, get_compile_threads
    return AsyncCompile.process_pool() if get_compile_threads() >= ENOUGH and AsyncCompile.use_process_pool() else None


def compile_one(path, name, config, env):
    """In a worker: leaves a configuration of a kernel in Triton's cache. path is the file that
    Inductor wrote the kernel to."""
    from torch._inductor.runtime.compile_tasks import _reload_python_module, _set_triton_ptxas_path
    _set_triton_ptxas_path()
    os.environ.update(env)
    module = _reload_python_module(os.path.basename(path).removesuffix(".py"), path, set_sys_modules=False)
    getattr(module, name)._precompile_config(config)
