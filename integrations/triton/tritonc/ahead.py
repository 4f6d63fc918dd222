"""Has Triton's autotuner compile its configurations side by side, before it measures the first.

By itself it compiles a configuration, measures it, and goes on to the next, on one
processor. What is compiled is the same, in the same process: its own measurement finds
the kernels compiled. Triton's AsyncCompileMode does the work.
"""

import concurrent.futures
import contextlib
import inspect
import os


def wrap(autotuner, mode, undo):
    """Wraps prune_configs of the class autotuner, which it calls when it is about to measure.
    mode is AsyncCompileMode; undo gets what takes all of it back."""
    theirs = autotuner.prune_configs

    def prune_configs(self, kwargs):
        configs = theirs(self, kwargs)
        if not getattr(self, "cache_results", False):  # of which a file may know the times
            compile_all(self, configs, kwargs, mode)
        return configs

    autotuner.prune_configs = prune_configs
    undo.append(lambda: setattr(autotuner, "prune_configs", theirs))


def compile_all(self, configs, kwargs, mode):
    """Compiles the configurations of an autotuner for the arguments that it has. A hook of the
    program's may change these first, so that configurations with one are left alone."""
    if getattr(self, "user_defined_pre_hook", False) or getattr(self.fn, "pre_run_hooks", ()):
        return
    ready = [c for c in configs if c.pre_hook is None]
    if len(ready) < 2:
        return
    given = {**self.nargs, **{k: v for k, v in kwargs.items() if k != "warmup"}}
    given.setdefault("grid", None)  # which nothing is launched on
    # What fails here does so again where the autotuner asks for it, which knows what to make of it.
    more = {"ignore_errors": True} if "ignore_errors" in inspect.signature(mode).parameters else {}
    threads = min(len(ready), os.cpu_count() or 1)
    with contextlib.suppress(Exception), concurrent.futures.ThreadPoolExecutor(threads) as pool, mode(pool, **more):
        for config in ready:
            with contextlib.suppress(Exception):
                self.fn.warmup(**{**given, **config.all_kwargs()})
