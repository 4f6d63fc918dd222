#!/usr/bin/env python3
"""Times every Triton kernel that programs and tests of a library launch, by Triton and by tritonc.

    bench/launch_times.py --out DIR JOB [JOB ...] [--budget SECONDS] [--groups N] [--configs N]

A JOB is a file or a folder, with options after commas: PATH[,root=FOLDER][,path=FOLDER]
[,shards=N][,programs]. Files named test_*.py and *_test.py go to pytest, others run as
programs; with "programs" all do. root is where they run, path comes first in sys.path,
and shards spreads them over processes. It needs CUDA, torch, triton and pytest.

Programs run with Triton's own code. The first launches of each kernel with arguments of
other types, shapes or options (--groups for each kernel, --configs of an autotuner's
configurations for each) are compiled by tritonc, too (bench/triton_hook.py), and kept with
their arguments. When all programs have ended, or --budget is over, one process after
another times its launches: both sides in CUDA graphs, in turn, on the arguments as the
programs left them.

It prints the geometric mean of Triton's time over tritonc's, of the best configuration of
each, and every launch below --least. DIR/times.jsonl has all of them, DIR/slow.jsonl.gz
the texts of those below. Launches that take less than 5 µs vary by a few percent.
"""

import argparse
import collections
import contextlib
import fcntl
import gzip
import hashlib
import json
import math
import os
import pathlib
import random
import runpy
import signal
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 4 << 30  # of arguments that a process keeps
ROUNDS = 9


class Launch:
    """A launch to be timed: the kernels of both sides, and the arguments of Triton's launcher."""

    def __init__(self, function, kernel, group, arguments, what):
        self.name, self.file = function.fn.__name__, function.fn.__code__.co_filename
        self.kernel, self.group, self.arguments = kernel, group, arguments
        self.what = dict(zip(function.arg_names, what))
        self.ours, self.why = None, ""

    def launcher(self, kernel):
        import torch
        grid, rest = self.arguments[:3], self.arguments[9:]
        run, packed = kernel.run, kernel.packed_metadata
        return lambda: run(*grid, torch.cuda.current_stream().cuda_stream, kernel.function, packed, None, None, None, *rest)


class Recorder:
    """Stands between the programs and Triton's JITFunction.run."""

    def __init__(self, groups, configs):
        self.groups, self.configs = groups, configs
        self.launches, self.bytes = [], 0
        self.seen = collections.defaultdict(set)  # function: keys of launches
        self.taken = collections.defaultdict(set)  # function: groups
        self.group, self.numbers = None, 0
        self.captured = None
        self.ours = False
        self.install()

    def install(self):
        sys.path.insert(0, str(HERE))
        import triton_hook
        from triton import knobs
        from triton.backends.nvidia.compiler import CUDABackend
        from triton.compiler.compiler import CompiledKernel
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        theirs = CUDABackend.hash
        triton_hook.install(mode="raise")
        self.hook, hooked = knobs.runtime.add_stages_inspection_hook, CUDABackend.hash
        CUDABackend.hash = lambda backend: (hooked if self.ours else theirs)(backend)
        knobs.runtime.add_stages_inspection_hook = None

        launch = CompiledKernel.run.fget

        def run_of(kernel):
            real = launch(kernel)
            if self.captured is None:
                return real

            def note(*a):
                self.captured.append((kernel, a))
                return real(*a)

            return note

        CompiledKernel.run = property(run_of)
        run = JITFunction.run

        def run_both(function, *args, grid, warmup, **kwargs):
            if warmup or self.ours or self.captured is not None or not self.wanted(function):
                return run(function, *args, grid=grid, warmup=warmup, **kwargs)
            self.captured = []
            try:
                out = run(function, *args, grid=grid, warmup=False, **kwargs)
                captured = self.captured
            finally:
                self.captured = None
            if captured:
                self.add(run, function, *captured[-1], args, grid, kwargs)
            return out

        JITFunction.run = run_both
        tune = Autotuner.run

        def tune_few(tuner, *args, **kwargs):
            before, self.numbers = self.group, self.numbers + 1
            self.group = self.numbers
            try:
                return tune(tuner, *args, **kwargs)
            finally:
                self.group = before

        Autotuner.run = tune_few
        prune = Autotuner.prune_configs

        def prune_more(tuner, *a, **k):
            configs = list(prune(tuner, *a, **k))
            return random.Random(0).sample(configs, self.configs) if len(configs) > self.configs else configs

        Autotuner.prune_configs = prune_more

        class Once:
            """In the place of do_bench: every configuration runs once."""

            def __get__(self, tuner, owner):
                def bench(call, quantiles=None, **_):
                    call()
                    return [1.0] * 3 if quantiles else 1.0

                return bench

            def __set__(self, tuner, value):
                pass

        Autotuner.do_bench = Once()

    def wanted(self, function):
        return self.group in self.taken[function] or len(self.taken[function]) < self.groups

    def add(self, run, function, kernel, arguments, args, grid, kwargs):
        import torch
        from triton import knobs
        tensors = [v for v in arguments[9:] if isinstance(v, torch.Tensor)]
        what = [[str(v.dtype).removeprefix("torch."), list(v.shape)] if isinstance(v, torch.Tensor) else str(v)[:60]
                for v in arguments[9:]]
        key = json.dumps([what, list(arguments[:3]), kernel.hash])
        size = sum(t.untyped_storage().nbytes() for t in tensors)
        if key in self.seen[function] or self.bytes + size > MOST_BYTES:
            return
        self.seen[function].add(key)
        if self.group is None:
            self.numbers += 1
        group = self.group or self.numbers
        self.taken[function].add(group)
        self.bytes += size
        launch = Launch(function, kernel, group, arguments, what)
        theirs = function.device_caches
        if not hasattr(function, "caches_of_tritonc"):
            function.caches_of_tritonc = collections.defaultdict(function.create_binder)
        self.ours, function.device_caches = True, function.caches_of_tritonc
        knobs.runtime.add_stages_inspection_hook = self.hook
        try:
            launch.ours = run(function, *args, grid=grid, warmup=True, **kwargs)
        except Exception as e:
            launch.why = f"{type(e).__name__}: {str(e)[:300]}"
        finally:
            knobs.runtime.add_stages_inspection_hook = None
            self.ours, function.device_caches = False, theirs
        self.launches.append(launch)

    def time(self, out, least):
        """Writes a line for each launch."""
        import torch
        import measure
        if not alive(torch):
            print("what ran last lost the CUDA context: nothing is timed", flush=True)
            return
        with open(out, "a") as lines, gzip.open(f"{out}.gz", "wt") as slow:
            for launch in self.launches:
                line = self.line(torch, measure, launch, least, slow)
                lines.write(json.dumps(line) + "\n")
                lines.flush()
                if "error" in line and not alive(torch):
                    return

    def line(self, torch, measure, launch, least, slow):
        k = launch.kernel
        line = dict(kernel=launch.name, file=launch.file, group=f"{os.getpid()}.{launch.group}", grid=list(launch.arguments[:3]),
                    arguments=launch.what, warps=k.metadata.num_warps, stages=k.metadata.num_stages)
        try:
            if launch.ours is None:
                raise RuntimeError(launch.why)
            calls = dict(triton=launch.launcher(k), tritonc=launch.launcher(launch.ours))
            count = measure.launches_for(max(measure.estimate(torch, [c]) for c in calls.values()), 1, total=2000, most=100)
            graphs = {n: measure.Graph(torch, [c], count) for n, c in calls.items()}
            for rounds in (ROUNDS, 3 * ROUNDS):  # what looks slow again, and longer
                times = measure.time_graphs(graphs, rounds)
                ratio = measure.median_ratio(times["triton"], times["tritonc"])
                if ratio >= least:
                    break
            line |= dict(triton=min(times["triton"]), tritonc=min(times["tritonc"]), ratio=ratio)
            if ratio < least:
                line |= {f"{n}_resources": [x.n_regs, x.n_spills, x.metadata.shared] for n, x in (("triton", k), ("tritonc", launch.ours))}
                texts = {f"triton.{n}": k.asm.get(n) for n in ("ttir", "ttgir", "ptx")}
                texts |= {f"tritonc.{n}": launch.ours.asm.get(n) for n in ("ttgir", "ptx")}
                slow.write(json.dumps(line | texts) + "\n")
        except Exception as e:
            line["error"] = f"{type(e).__name__}: {str(e)[:300]}"
        return line


def alive(torch):
    try:
        torch.cuda.synchronize()
        return True
    except Exception:
        return False


# ---- a process that runs programs


class Spread:
    """A pytest plugin: this shard's tests, one of each function first, until the deadline."""

    def __init__(self, shard, shards, deadline):
        self.shard, self.shards, self.deadline = shard, shards, deadline

    def pytest_collection_modifyitems(self, config, items):
        items[:] = spread(items, lambda i: i.nodeid)[self.shard::self.shards]

    def pytest_runtest_protocol(self, item):
        if time.time() > self.deadline:
            item.session.shouldstop = "out of time"
            return True
        return None


def spread(items, name):
    """Items in a random order, but the first of each test function before the second of any."""
    number, order = collections.Counter(), []
    for i in sorted(items, key=lambda i: hashlib.sha256(name(i).encode()).digest()):
        function = name(i).partition("[")[0]
        order.append((number[function], i))
        number[function] += 1
    return [i for _, i in sorted(order, key=lambda pair: pair[0])]


def files_of(path):
    """(tests, programs) of a file or a folder."""
    found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    tests = [f for f in found if f.name.startswith("test_") or f.stem.endswith("_test")]
    return tests, [f for f in found if f not in tests and f.name not in ("__init__.py", "conftest.py", "setup.py")]


def work(a):
    job = json.loads(a.work)
    os.chdir(job["root"])
    sys.path[:0] = job["path"]
    tests, programs = files_of(pathlib.Path(job["programs"]))
    sys.argv = [job["programs"]]  # which programs may read
    import torch
    torch.cuda.set_per_process_memory_fraction(job["memory"])
    torch.manual_seed(0)
    recorder = Recorder(a.groups, a.configs)
    if tests and not job["only_programs"]:
        import pytest
        pytest.main(["-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "--continue-on-collection-errors", *map(str, tests)],
                    plugins=[Spread(job["shard"], job["shards"], a.deadline)])
    else:
        random.Random(1).shuffle(programs)
        for f in programs[job["shard"]::job["shards"]]:
            if time.time() > a.deadline:
                print("out of time before", f.name, flush=True)
                break
            try:
                with contextlib.redirect_stdout(None):
                    runpy.run_path(str(f), run_name="__main__")
            except (Exception, SystemExit) as e:
                print(f.name, type(e).__name__, str(e)[:200].replace("\n", " "), flush=True)
            if not alive(torch):
                break
    print(len(recorder.launches), "launches kept,", recorder.bytes >> 20, "MiB", flush=True)
    pathlib.Path(a.log + ".ready").touch()
    while not pathlib.Path(a.go).exists():
        time.sleep(0.2)
    with open(a.go) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        recorder.time(a.log, a.least)
    os._exit(0)  # what tests left may not end well


# ---- the parent


def parse_job(text):
    path, *options = text.split(",")
    if not os.path.exists(path):
        raise SystemExit(f"launch_times: there is no {path}")
    full = pathlib.Path(path).resolve()
    job = dict(programs=str(full), root=str(full if full.is_dir() else full.parent), path=[], shards=1, only_programs=False)
    for o in options:
        name, _, value = o.partition("=")
        if name == "root":
            job["root"] = str(pathlib.Path(value).resolve())
        elif name == "path":
            job["path"].append(str(pathlib.Path(value).resolve()))
        elif name == "shards" and value.isdigit() and int(value) > 0:
            job["shards"] = int(value)
        elif o == "programs":
            job["only_programs"] = True
        else:
            raise SystemExit(f"launch_times: {o} in {text}: want root=, path=, shards=N or programs")
    return job


def best_of(lines):
    """[(ratio, Triton's µs, tritonc's, line)], a line for each group: the best configurations'."""
    groups = collections.defaultdict(list)
    for line in lines:
        if "error" not in line:
            groups[line["file"], line["kernel"], line["group"]].append(line)
    best = []
    for ls in groups.values():
        theirs, ours = min(line["triton"] for line in ls), min(line["tritonc"] for line in ls)
        best.append((ls[0]["ratio"] if len(ls) == 1 else theirs / ours, theirs, ours, ls[0]))
    return sorted(best, key=lambda b: b[0])


def report(lines, least):
    for text, n in collections.Counter(line["error"][:100] for line in lines if "error" in line).most_common(12):
        print(f"{n:5} not timed: {text}")
    best = best_of(lines)
    if not best:
        print("launch_times: nothing was timed; DIR/*.log say why")
        return 1
    kernels = {(line["kernel"], line["file"]) for *_, line in best}
    mean = math.exp(sum(math.log(b[0]) for b in best) / len(best))
    print(f"{len(best)} launches of {len(kernels)} kernels; geometric mean {mean:.3f}, worst {best[0][0]:.3f}")
    for edge in (0.5, 0.8, 0.9, 0.95, 0.98, 1.02, 1.1, 2):
        print(f"  below {edge:4}: {sum(b[0] < edge for b in best)}")
    for ratio, theirs, ours, line in best:
        if ratio >= least:
            break
        where = "/".join(pathlib.Path(line["file"]).parts[-3:])
        print(f"{ratio:.3f} {theirs:9.2f} {ours:9.2f} µs {line['kernel']} {where} {line['grid']} {json.dumps(line['arguments'])[:300]}")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("jobs", nargs="*", metavar="JOB")
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--budget", type=float, default=120, help="seconds for the programs (120)")
    p.add_argument("--groups", type=int, default=3)
    p.add_argument("--configs", type=int, default=4)
    p.add_argument("--least", type=float, default=0.9)
    for hidden in ("--work", "--log", "--go"):
        p.add_argument(hidden, help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.work:
        try:
            work(a)
        except BaseException:
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)
    if not a.jobs or not a.out:
        p.error("want --out DIR and a JOB")
    jobs = [dict(job, shard=i) for job in map(parse_job, a.jobs) for i in range(job["shards"])]
    a.out.mkdir(parents=True, exist_ok=True)
    go, deadline = a.out / "go", time.time() + a.budget
    go.unlink(missing_ok=True)
    workers = []
    for n, job in enumerate(jobs):
        log = a.out / f"{n}.jsonl"
        for end in ("", ".ready", ".gz"):
            pathlib.Path(f"{log}{end}").unlink(missing_ok=True)
        argv = [sys.executable, __file__, "--work", json.dumps(job | dict(memory=0.9 / len(jobs))), "--log", str(log), "--go", str(go),
                "--deadline", str(deadline), "--groups", str(a.groups), "--configs", str(a.configs), "--least", str(a.least)]
        said = open(a.out / f"{n}.log", "w")
        workers.append((subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT, start_new_session=True), log))
    ready = [pathlib.Path(f"{log}.ready") for _, log in workers]
    while time.time() < deadline + 20 and not all(w.poll() is not None or r.exists() for (w, _), r in zip(workers, ready)):
        time.sleep(0.5)
    for (w, _), r, job in zip(workers, ready, jobs):
        if w.poll() is None and not r.exists():
            print(f"{job['programs']}, shard {job['shard']}: did not end in time", flush=True)
            os.killpg(w.pid, signal.SIGKILL)
    go.touch()
    for w, _ in workers:
        w.wait()
    lines = [json.loads(line) for _, log in workers if log.exists() for line in open(log)]
    with open(a.out / "times.jsonl", "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
    with gzip.open(a.out / "slow.jsonl.gz", "wt") as f:
        for _, log in workers:
            with contextlib.suppress(EOFError, OSError):
                f.writelines(gzip.open(f"{log}.gz", "rt"))
    return report(lines, a.least)


if __name__ == "__main__":
    sys.exit(main())
