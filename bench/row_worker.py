#!/usr/bin/env python3
"""Checks and times one row of bench/cases.py a job, on the GPU (a worker of
pool.Pool, started by bench/vs_triton.py).

A job is {"row", "images", "second", "skip", "rounds"}. images is {variant:
{config's number: stem of .cubin or .ptx and .json}}; "second" is {variant: the
variant whose best config it takes}. First every image is run on fresh inputs
with poisoned outputs and compared; then those that are right are timed: each
config briefly, then the best few of each variant, and torch, in turn.

A kernel that breaks the CUDA context ends the process: the reply says so
("last"), what it has until then, and which image it was.
"""

import json
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases
import measure
import pool

CACHE_BYTES = 256 << 20  # input sets together exceed every L2 cache by far
ODD_ROUNDS = 6
# A config that is first when alone need not be when all run in turn: matrix
# products lower the GPU's clock, by how much power they take.
CONTENDERS, WITHIN = 3, 1.1  # how many configs of a variant, how near to its best


class Broken(Exception):
    """The CUDA context is lost."""


class Session:
    """One row on one device."""

    def __init__(self, torch, driver, row, job):
        self.torch, self.driver, self.row, self.job = torch, driver, row, job
        self.reply = {"row": row.name, "errors": {}, "worst": {}, "variants": {}}
        self.kernels = {}  # (variant, config's number): Kernel

    def images(self):
        for variant, stems in self.job["images"].items():
            for number, stem in stems.items():
                if [variant, number] not in self.job["skip"]:
                    yield variant, number, stem

    def failed(self, variant, number, why):
        self.reply["errors"].setdefault(variant, {})[number] = why

    def guard(self, variant, number, action):
        """action's result; None when it raised, which is then told. Broken when
        nothing works any more."""
        pool.progress([variant, number])  # whoever watches knows what it was, should it not come back
        try:
            return action()
        except Exception as e:
            self.failed(variant, number, f"{type(e).__name__}: {e}"[:400])
        try:
            self.torch.cuda.synchronize()
        except Exception as e:
            raise Broken(f"{variant}, config {number}: {e}") from e
        return None

    def load(self, stem):
        stem = pathlib.Path(stem)
        meta = json.loads(stem.with_suffix(".json").read_text())
        cubin = stem.with_suffix(".cubin")
        image = cubin.read_bytes() if cubin.exists() else stem.with_suffix(".ptx").read_text()
        return measure.Kernel(self.driver, image, meta)

    def launcher(self, kernel, number, work):
        config = self.row.configs[int(number)]
        return kernel.launcher(self.torch, work.grid(config), self.row.types_for(config), work.args)

    def check(self, work):
        """Runs every image on work; those that are right stay in self.kernels."""
        expected = work.reference()

        for variant, number, stem in self.images():
            def run():
                kernel = self.kernels.get((variant, number)) or self.load(stem)
                work.reset()
                self.launcher(kernel, number, work)()
                self.torch.cuda.synchronize()
                worst = max(cases.compare(self.torch, o, e, t)
                            for o, e, t in zip(work.outputs(), expected, self.row.tolerance))
                return kernel, worst

            done = self.guard(variant, number, run)
            if done is None:
                self.kernels.pop((variant, number), None)
                continue
            kernel, worst = done
            seen = self.reply["worst"].setdefault(variant, {})
            seen[number] = worst = max(worst, seen.get(number, 0))
            if worst <= 1:
                self.kernels[variant, number] = kernel
            else:
                self.kernels.pop((variant, number), None)
                shown = "nothing like it" if math.isinf(worst) else f"{worst:.3g} times the tolerance"
                self.failed(variant, number, f"WRONG: off by {shown}")

    def check_odd(self):
        for seed in range(ODD_ROUNDS):
            self.check(self.row.make(cases.Env(self.torch, "cuda", seed=1000 + seed), **self.row.full))

    def time(self, work):
        """Fills reply["variants"]."""
        copies = max(1, min(200, math.ceil(CACHE_BYTES / work.bytes)))
        env = cases.Env(self.torch, "cuda", seed=7)
        works = [work] + [self.row.make(env, **self.row.full) for _ in range(copies - 1)]
        for w in works:
            w.reset()
        self.reply["bytes"], self.reply["flops"], self.reply["sets"] = work.bytes, work.flops, copies
        for variant, number in self.kernels:
            if variant in self.job["second"]:
                continue
            t = self.guard(variant, number, lambda: self.brief(variant, number, works))
            if t is not None:
                self.reply["variants"].setdefault(variant, {"configs": {}})["configs"][number] = t
        graphs = {}
        for variant, number, t in self.contenders():
            g = self.guard(variant, number, lambda: self.graph(variant, number, works, t))
            if g:
                graphs[variant, number] = g
        if works[0].torch and ["torch", "0"] not in self.job["skip"]:
            g = self.guard("torch", "0", lambda: self.torch_graph(works))
            if g:
                graphs["torch", "0"] = g
        self.judge(measure.time_graphs(graphs, self.job["rounds"]))

    def contenders(self):
        """(variant, config's number, microseconds in brief) of what is timed at length."""
        chosen = {}
        for variant, entry in self.reply["variants"].items():
            ranked = sorted(entry["configs"].items(), key=lambda c: c[1])
            chosen[variant] = [c for c in ranked[:CONTENDERS] if c[1] <= WITHIN * ranked[0][1]]
        for variant, base in self.job["second"].items():
            chosen[variant] = [c for c in chosen.get(base, []) if (variant, c[0]) in self.kernels]
        return [(variant, number, t) for variant, configs in chosen.items() for number, t in configs]

    def judge(self, times):
        """Takes each variant's best config by what all took in turn."""
        medians = {}
        for (variant, number), ts in times.items():
            medians.setdefault(variant, {})[number] = statistics.median(ts)
        for variant, by_number in medians.items():
            base = self.job["second"].get(variant)
            ranked = medians.get(base) or by_number
            number = min(ranked, key=ranked.get)
            if number not in by_number:
                continue  # the base's best is wrong here, which its error tells
            ts = times[variant, number]
            entry = self.reply["variants"].setdefault(variant, {"configs": {}})
            entry["us"], entry["times"] = by_number[number], [round(t, 3) for t in ts]
            entry["turns"] = {n: round(t, 3) for n, t in by_number.items()}
            if variant != "torch":
                kernel = self.kernels[variant, number]
                entry["best"] = number
                entry["registers"] = kernel.attribute(measure.REGISTERS)
                entry["local"] = kernel.attribute(measure.LOCAL_BYTES)

    def launchers(self, variant, number, works):
        kernel = self.kernels[variant, number]
        return [self.launcher(kernel, number, w) for w in works]

    def brief(self, variant, number, works):
        """Microseconds of one config: the least of three short graphs."""
        launches = self.launchers(variant, number, works)
        count = measure.launches_for(measure.estimate(self.torch, launches), len(works), total=4000)
        g = measure.Graph(self.torch, launches, count)
        return min(g.replay() for _ in range(3))

    def graph(self, variant, number, works, microseconds):
        count = measure.launches_for(microseconds, len(works))
        return measure.Graph(self.torch, self.launchers(variant, number, works), count)

    def torch_graph(self, works):
        launches = [w.torch for w in works]
        count = measure.launches_for(measure.estimate(self.torch, launches), len(works))
        return measure.Graph(self.torch, launches, count)


def row_worker(dry_run):
    if dry_run:
        import standin
        standin.install()
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True  # for the tf32 rows: torch's own speed
    torch.set_grad_enabled(False)
    torch.zeros(1, device="cuda")  # makes the context and this thread's current one
    driver = measure.Driver()
    table = {r.name: r for r in cases.rows() + cases.study()}

    def handle(job):
        s = Session(torch, driver, table[job["row"]], job)
        try:
            if s.row.odd:
                s.check_odd()
            else:
                work = s.row.make(cases.Env(torch, "cuda"), **s.row.full)
                s.check(work)
                s.time(work)
        except Exception as e:  # in a context that may be lost: the next row gets a new process
            return s.reply | {"broken": f"{type(e).__name__}: {e}"[:400], "last": True}
        for kernel in s.kernels.values():
            kernel.unload()
        torch.cuda.empty_cache()
        return s.reply

    return handle


if __name__ == "__main__":
    pool.serve(row_worker("--dry-run" in sys.argv))
