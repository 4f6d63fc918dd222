#!/usr/bin/env python3
"""PTX that tritonc writes itself (ptx=direct) beside llc's of public kernels, by time.

    bench/direct_public.py prepare DIR --pairs PAIRS   pack what TestDirectPublicPairs left (no GPU needed)
    bench/direct_public.py run DIR                     time them (needs CUDA and torch); writes DIR/times.jsonl
    bench/direct_public.py table FILE...               the tables of times.jsonl; of a kernel the last file's row
    bench/direct_public.py page PAGE FILE...           put them into a page

TestDirectPublicPairs of test/counts compiles the kernels of the manifest both ways and
guesses arguments with which llc's code runs to its end on the simulated GPU, in 2x2x2
blocks. Kernels whose machine code is equal are counted and not timed. The others are
first run once in each way in that grid, and what memory holds after is compared. For
the time the grid is made larger in a direction that the kernel does not look at, so that
each block does what a block did before, until a launch fills the GPU several times and
takes --least microseconds. llc's code runs as a third competitor, loaded a second time:
how its ratio to itself scatters is how far the others can be trusted. All run in turn, in
CUDA graphs; what is below --limit is timed again in --again rounds.

A worker does the launches: a kernel that hangs or faults costs that kernel alone.
"""

import argparse
import collections
import concurrent.futures
import io
import json
import math
import os
import pathlib
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import measure
import pool
from direct_times import WAYS, assemble_both, bundled, code_of, say

TWICE = "again"  # llc's code, loaded a second time
BUFFER = 1 << 20  # bytes of each argument in memory, as in the simulator
SPACING = 4 << 20  # from one to the next
SLACK = 2 << 30  # mapped before and after them, for blocks that guessed strides take outside
MOST_BUFFERS = 96
GRID = (2, 2, 2)
FIRST_BLOCKS = 2112  # 16 for each SM of an H200
MOST_BLOCKS = 1 << 18
LONG_US = 400.0  # a launch of FIRST_BLOCKS that takes longer has fewer
LONG_CODE = 5000  # instructions of warps, by the simulator: kernels below mostly end at once


# ---- prepare


def bare(ptx):
    """PTX without what tells of source lines, which machine code does not depend on."""
    code, _, _ = ptx.partition("\n\t.section\t")
    return "".join(line for line in code.splitlines(keepends=True)
                   if line.strip() and not line.lstrip().startswith((".loc\t", ".loc ", ".file", "//")))


def prepare(a):
    a.dir.mkdir(parents=True, exist_ok=True)
    jobs, files, why = [], [], collections.Counter()
    for f in sorted(a.pairs.glob("*.json")):
        job = json.loads(f.read_text())
        reason = job.pop("why", None)
        if reason:
            why["does not compile by llc" if reason.startswith("refused: ") else
                "no guess of the arguments ends" if reason.startswith("none of the guesses") else
                "takes a descriptor or a tuple" if reason.startswith("it takes") else reason] += 1
            continue
        if "vprintf" in (a.pairs / f"{f.stem}.llvm.ptx").read_text():
            why["prints"] += 1
            continue
        jobs.append({"shared": 0, "types": [], "integers": []} | job | {"key": f.stem})
    jobs.sort(key=lambda j: (j["repo"], j["path"], j["kernel"], j["signature"]))
    names = set()
    for job in jobs:
        ptx = [bare((a.pairs / f"{job['key']}.{way}.ptx").read_text()) for way in WAYS]
        if ptx[0] == ptx[1]:
            job["equal"] = True
        else:
            files += [(f"{job['key']}.{way}.ptx", text.encode()) for way, text in zip(WAYS, ptx)]
            names.update(memory_names(job))
    files += [(f"memory/{name}", (a.pairs / "memory" / name).read_bytes()) for name in sorted(names)]
    manifest = {"jobs": jobs, "left_out": dict(why), "commit": a.commit}
    with tarfile.open(a.dir / "public.tar.xz", "w:xz") as z:
        for name, data in [("manifest.json", json.dumps(manifest).encode()), *files]:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            z.addfile(entry, io.BytesIO(data))
    say(f"{len(jobs)} kernels, {sum('equal' in j for j in jobs)} of equal PTX; "
        f"{(a.dir / 'public.tar.xz').stat().st_size / 1e6:.1f} MB; left out: {dict(why)}")


def memory_names(job):
    """For each argument in memory, the file of what it holds."""
    return [f"{ty[1:]}.{i}" for i, ty in enumerate(job["types"]) if ty.startswith("*")]


# ---- the worker


class Fresh(measure.Graph):
    """A graph that finds memory as it was before each replay."""

    def __init__(self, torch, launches, count, reset):
        self.reset = reset
        super().__init__(torch, launches, count)

    def replay(self):
        self.reset()
        return super().replay()


class Memory:
    """The arguments in memory: what they hold at first, and where kernels find them."""

    def __init__(self, torch, folder):
        self.torch, self.folder = torch, folder
        self.arena = torch.zeros(2 * SLACK + MOST_BUFFERS * SPACING, dtype=torch.uint8, device="cuda")
        self.first = torch.zeros((MOST_BUFFERS, BUFFER), dtype=torch.uint8, device="cuda")
        middle = self.arena[SLACK:SLACK + MOST_BUFFERS * SPACING]
        self.now = middle.view(MOST_BUFFERS, SPACING)[:, :BUFFER]
        self.base, self.periods, self.count = self.arena.data_ptr() + SLACK, {}, 0

    def fill(self, names):
        if len(names) > MOST_BUFFERS:
            raise ValueError(f"{len(names)} arguments in memory")
        self.count = len(names)
        for i, name in enumerate(names):
            if name not in self.periods:
                data = bytearray((self.folder / "memory" / name).read_bytes())
                self.periods[name] = self.torch.frombuffer(data, dtype=self.torch.uint8).cuda()
            period = self.periods[name]
            self.first[i].view(BUFFER // period.numel(), period.numel())[:] = period

    def reset(self):
        self.now[:self.count].copy_(self.first[:self.count])

    def address(self, i):
        return self.base + i * SPACING


# By type of element: what torch calls it, and how far apart values may be beside their size and
# the buffer's root mean square, where sums of products are rounded once or twice.
FLOATS = {"fp64": ("float64", 1e-6), "fp32": ("float32", 2e-3), "fp16": ("float16", 1e-2), "bf16": ("bfloat16", 5e-2),
          "fp8e4nv": ("float8_e4m3fn", 0.25), "fp8e5": ("float8_e5m2", 0.5)}


def apart(torch, element, x, y):
    """The share of a buffer's elements that differ by more than rounding."""
    if torch.equal(x, y):
        return 0.0
    if element not in FLOATS:
        return (x != y).to(torch.float64).mean().item()
    name, tolerance = FLOATS[element]
    x, y = (b.view(getattr(torch, name)).to(torch.float64) for b in (x, y))
    known = x.isfinite()
    size = torch.where(known, x, 0.0)
    scale = size.abs() + size.square().mean().sqrt()
    far = torch.where(known & y.isfinite(), (x - y).abs() > tolerance * scale, (x != y) & ~(x.isnan() & y.isnan()))
    return far.to(torch.float64).mean().item()


def directions(ptx):
    """Which of the grid's directions the code asks about."""
    return [bool(re.search(rf"%(n?ctaid|n?clusterid)\.{d}\b", ptx)) for d in "xyz"]


def larger(grid, reads, blocks):
    """The grid with about so many blocks, larger in a direction that the kernel does not look
    at, the last if it looks at all."""
    d = 2 if all(reads) else max(i for i in range(3) if not reads[i])
    others = math.prod(grid) // grid[d]
    out = list(grid)
    out[d] = max(grid[d], min(blocks // others, 65534) // 2 * 2)
    return tuple(out)


class Session:
    """One kernel on one device."""

    def __init__(self, torch, driver, memory, job):
        self.torch, self.driver, self.memory, self.job = torch, driver, memory, job
        self.stage = ""  # where it is, for when it fails
        self.stem = pathlib.Path(job["work"]) / job["key"]
        self.reads = [False] * 3
        for way in WAYS:
            seen = directions(pathlib.Path(f"{self.stem}.{way}.ptx").read_text())
            self.reads = [x or y for x, y in zip(self.reads, seen)]

    def launch(self, kernel, grid):
        at, values = 0, []
        for ty, n in zip(self.job["types"], self.job["integers"]):
            if ty.startswith("*"):
                values.append(self.memory.address(at))
                at += 1
            else:
                values.append(0.5 if ty.startswith("fp") else n)
        return kernel.launcher(self.torch, grid, self.job["types"], values)

    def once(self, kernel):
        """What memory holds after one launch."""
        self.memory.reset()
        self.launch(kernel, GRID)()
        self.torch.cuda.synchronize()
        return self.memory.now[:self.memory.count].clone()

    def outcome(self, kernels):
        left = []
        for way in WAYS:
            self.stage = f"in 2x2x2 blocks, {way}"
            left.append(self.once(kernels[way]))
        elements = [ty[1:] for ty in self.job["types"] if ty.startswith("*")]

        def worst(x, y):
            return max((apart(self.torch, e, x[i], y[i]) for i, e in enumerate(elements)), default=0.0)

        if self.torch.equal(*left):
            return {"outcome": "equal"}
        share = worst(*left)
        if share == 0:
            return {"outcome": "close"}
        # Blocks of guessed arguments may write the same memory, or add to it in any order.
        if any(worst(left[0], self.once(kernels["llvm"])) for _ in range(3)):
            return {"outcome": "order"}
        return {"outcome": "differs", "share": share}

    def microseconds(self, kernel, grid, count):
        return Fresh(self.torch, [self.launch(kernel, grid)], count, self.memory.reset).replay()

    def load(self, kernels):
        """A grid with which llc's code takes neither too short nor too long to time."""
        blocks = FIRST_BLOCKS
        us = self.microseconds(kernels["llvm"], larger(GRID, self.reads, 64), 1)
        if us > LONG_US:
            blocks = max(64, int(64 * LONG_US / us))
        for _ in range(4):
            us = self.microseconds(kernels["llvm"], larger(GRID, self.reads, blocks), 5)
            if us >= self.job["least"] or blocks >= MOST_BLOCKS:
                break
            blocks = min(MOST_BLOCKS, math.ceil(blocks * 1.3 * self.job["least"] / us))
        return larger(GRID, self.reads, blocks), us

    def run(self):
        job, began = self.job, time.monotonic()
        self.memory.fill(memory_names(job))
        kernels = {}
        self.stage = "loading"
        for name, way in zip((*WAYS, TWICE), (*WAYS, "llvm")):
            kernels[name] = measure.Kernel(self.driver, pathlib.Path(f"{self.stem}.{way}.cubin").read_bytes(), job)
        reply = self.outcome(kernels)
        self.stage = "in more blocks"
        grid, us = self.load(kernels)
        reply["grid"] = grid
        count = measure.launches_for(us, 3, total=job["total"], most=100)
        graphs = {name: Fresh(self.torch, [self.launch(k, grid)], count, self.memory.reset) for name, k in kernels.items()}
        times = measure.time_graphs(graphs, job["rounds"])
        if any(ratio < job["limit"] for ratio in self.ratios(times)):
            times = measure.time_graphs(graphs, job["again"])
            reply["again"] = True
        reply["ratio"], reply["noise"] = self.ratios(times)
        for way in WAYS:
            reply[way] = {"us": statistics.median(times[way]), "registers": kernels[way].attribute(measure.REGISTERS),
                          "local": kernels[way].attribute(measure.LOCAL_BYTES)}
        for k in kernels.values():  # not after an error, which ends the process
            k.unload()
        return reply | {"seconds": round(time.monotonic() - began, 3)}

    def ratios(self, times):
        """llc's time over that of direct code, and over its own."""
        return [measure.median_ratio(times["llvm"], times[name]) for name in ("direct", TWICE)]


def worker(folder, dry_run):
    if dry_run:
        import standin
        standin.install()
    import torch
    torch.set_grad_enabled(False)
    torch.zeros(1, device="cuda")
    driver, memory = measure.Driver(), Memory(torch, folder)

    def handle(job):
        if "key" not in job:
            return {"gpu": torch.cuda.get_device_name()}
        session = Session(torch, driver, memory, job)
        try:
            return session.run()
        except Exception as e:  # in a context that may be lost: the next kernel gets a new process
            return {"error": f"{session.stage}: {type(e).__name__}: {e}"[:300], "last": True}

    return handle


# ---- run


class GPU:
    """A device with a worker, and another that has begun for when that one is lost."""

    def __init__(self, argv, number, timeout):
        self.argv, self.timeout = argv, timeout
        self.env = os.environ | ({"CUDA_VISIBLE_DEVICES": number} if number is not None else {})
        self.now, self.spare = self.start(), self.start()
        self.name = self.greet()

    def start(self):
        return pool.Worker(self.argv, self.env)

    def greet(self):
        """Waits for the worker to be ready."""
        reply = self.now.ask({}, 90, lambda line: None)
        if "gpu" not in reply:
            raise RuntimeError(reply["error"])
        return reply["gpu"]

    def ask(self, job):
        reply = self.now.ask(job, self.timeout, lambda line: None)
        if not self.now.alive:
            self.now, self.spare = self.spare, self.start()
            self.greet()
        return reply

    def close(self):
        for w in (self.now, self.spare):
            if w.alive:
                w.dead("is not needed")


def assemble(work, assembler, key):
    """Leaves the cubins of a kernel beside its PTX; says whether they are equal."""
    cubins = assemble_both(assembler, {way: (work / f"{key}.{way}.ptx").read_text() for way in WAYS})
    for way, image in cubins.items():
        (work / f"{key}.{way}.cubin").write_bytes(image)
    return code_of(cubins["llvm"]) == code_of(cubins["direct"])


def waits(job, work):
    """Whether llc's code waits in a loop for what others write: what may hang comes last."""
    text = (work / f"{job['key']}.llvm.ptx").read_text()
    return bool(re.search(r"atom\S*\.cas|ld\.\S*(acquire|volatile)|spin|nanosleep", text))


def run(a):
    began, work = time.monotonic(), a.dir / "run"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with tarfile.open(a.dir / "public.tar.xz") as z:
        z.extractall(work, filter="data")
    manifest = json.loads((work / "manifest.json").read_text())
    assembler = measure.Assembler(a.ptxas or bundled())
    todo = [j for j in manifest["jobs"] if a.only in f"{j['repo']}/{j['path']} {j['kernel']}"]
    if a.keys:
        keys = set(a.keys.read_text().split())
        todo = [j for j in todo if j["key"] in keys]
    todo = todo[::a.every]
    out, lock, ready = a.out.open("a"), threading.Lock(), queue.PriorityQueue()

    def note(job, reply):
        row = {k: job[k] for k in ("key", "repo", "path", "kernel", "signature", "executed")} | reply
        with lock:
            out.write(json.dumps(row) + "\n")
            out.flush()

    argv = [sys.executable, str(pathlib.Path(__file__).resolve()), "worker", str(work), *(["--dry-run"] if a.dry_run else [])]
    numbers = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if os.environ.get("CUDA_VISIBLE_DEVICES") else [None]
    threads = concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 2 * len(numbers)))

    def built(job):
        try:
            same = assemble(work, assembler, job["key"])
        except (RuntimeError, OSError) as e:
            return note(job, {"error": str(e)[:300], "assembling": True})
        if same:
            return note(job, {"equal": True})
        ready.put((waits(job, work), job["key"], job))

    different = []
    for job in todo:
        note(job, {"equal": True}) if job.get("equal") else different.append(job)
    # The largest first: ptxas takes longest for them.
    different.sort(key=lambda j: -(work / f"{j['key']}.llvm.ptx").stat().st_size)
    futures = [threads.submit(built, job) for job in different]
    gpus = [GPU(argv, n, a.timeout) for n in numbers]
    with lock:
        out.write(json.dumps({"gpu": gpus[0].name, "ptxas": assembler.version, "limit": a.limit, "rounds": a.rounds, "again": a.again,
                              "commit": manifest["commit"], "left_out": manifest["left_out"]}) + "\n")
    say(f"{len(todo)} kernels on {len(gpus)} of {gpus[0].name}, ptxas {assembler.version}, {time.monotonic() - began:.0f} s")
    settings = {"work": str(work), "rounds": a.rounds, "again": a.again, "limit": a.limit, "total": a.total, "least": a.least}

    def serve(gpu):
        while True:
            over = time.monotonic() - began > a.budget
            try:
                # What waits is last: not before all others are assembled.
                late, key, job = ready.get(timeout=0.1)
                if late and not over and not all(f.done() for f in futures):
                    ready.put((late, key, job))
                    time.sleep(0.1)
                    continue
            except queue.Empty:
                if over or all(f.done() for f in futures) and ready.empty():
                    return
                continue
            if over:
                note(job, {"error": "out of time: not begun", "late": True})
                continue
            try:
                note(job, gpu.ask(job | settings))
            except RuntimeError as e:  # no worker comes up any more
                return note(job, {"error": str(e)[:300]})

    serving = [threading.Thread(target=serve, args=[g]) for g in gpus]
    for t in serving:
        t.start()
    for t in serving:
        t.join()
    threads.shutdown(wait=False, cancel_futures=True)
    for g in gpus:
        g.close()
    out.close()
    shutil.rmtree(work, ignore_errors=True)
    say(f"{time.monotonic() - began:.0f} s\n" + totals(read([a.out])))


# ---- table


def read(files):
    """The runs' settings, and the last row of each kernel."""
    heads, rows = [], {}
    for f in files:
        for line in f.read_text().splitlines():
            row = json.loads(line)
            if "key" not in row:
                heads.append(row)
            elif row["key"] not in rows or "late" not in row:
                rows[row["key"]] = row
    return heads, list(rows.values())


def mean(ratios):
    return math.exp(statistics.mean(map(math.log, ratios))) if ratios else 1.0


CUTS = (0.9, 0.95, 0.98, 1.02, 1.05, 1.1)


def spread(name, ratios):
    counts = "".join(f" {sum(low <= r < high for r in ratios)} |" for low, high in zip((0, *CUTS), (*CUTS, math.inf)))
    return f"| {name} | {len(ratios)} | {mean(ratios):.4f} |{counts}"


def totals(results):
    _, rows = results
    timed = [r for r in rows if "ratio" in r]
    equal = [1.0] * sum("equal" in r for r in rows)
    long = [r for r in timed if r["executed"] > LONG_CODE]
    out = ["| | kernels | geometric mean | below 0.90 |" + "".join(f" to {cut:.2f} |" for cut in CUTS[1:]) + " more |",
           "|---|---|---|---|---|---|---|---|---|---|",
           spread("all, equal code as 1", equal + [r["ratio"] for r in timed]),
           spread("timed", [r["ratio"] for r in timed]),
           spread(f"timed, over {LONG_CODE} instructions of warps", [r["ratio"] for r in long]),
           spread("llc's code beside itself", [r["noise"] for r in timed])]
    return "\n".join(out) + "\n"


def outcomes(results):
    heads, rows = results
    counts = collections.Counter(r["outcome"] for r in rows if "outcome" in r)
    left_out = heads[-1]["left_out"] if heads else {}
    out = ["| | kernels |", "|---|---|", f"| of the manifest | {len(rows) + sum(left_out.values())} |"]
    out += [f"| left out: {why} | {n} |" for why, n in sorted(left_out.items(), key=lambda x: -x[1])]
    errors = collections.Counter(reason(r["error"]) for r in rows if "error" in r)
    out += [f"| not timed: {why} | {n} |" for why, n in errors.most_common()]
    out += [f"| equal machine code | {sum('equal' in r for r in rows)} |", f"| timed | {sum('ratio' in r for r in rows)} |"]
    for name, what in (("equal", "left the same bytes"), ("close", "left what differs as rounding does"),
                       ("order", "left what differs from launch to launch by llc's code, too"), ("differs", "left other results")):
        out.append(f"| of these, {what} | {counts[name]} |")
    return "\n".join(out) + "\n"


def reason(error):
    """An error without names of files and numbers of lines, so that equal ones are counted together."""
    text = re.sub(r"ptxas \S+, line \d+; error *: ", "", error.splitlines()[0])
    return re.sub(r"(RuntimeError|\w+\.?AcceleratorError|AcceleratorError): ", "", text)[:80].replace("|", "/")


def slow(results):
    heads, rows = results
    limit = heads[-1]["limit"] if heads else 0.98
    out = ["| kernel | llc us | direct us | ratio | llc beside itself | registers | local bytes | instructions |", "|---|---|---|---|---|---|---|---|"]
    for r in sorted((r for r in rows if r.get("ratio", 1) < limit), key=lambda r: r["ratio"]):
        l, d = r["llvm"], r["direct"]
        out.append(f"| `{r['kernel']}` of {r['repo']}/{r['path']} | {l['us']:.1f} | {d['us']:.1f} | {r['ratio']:.3f} | {r['noise']:.3f} | "
                   f"{l['registers']}, {d['registers']} | {l['local']}, {d['local']} | {r['executed']} |")
    return "\n".join(out) + "\n"


TABLES = {"outcomes": outcomes, "totals": totals, "slow": slow}


def page(path, results):
    """Puts the tables between their marks in a page."""
    text = path.read_text()
    for name, table in TABLES.items():
        first, last = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
        before, mark, rest = text.partition(first)
        _, end, after = rest.partition(last)
        if not (mark and end):
            sys.exit(f"{path} has no place for the table {name}")
        text = before + first + table(results) + last + after
    path.write_text(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["prepare", "run", "table", "page", "worker"])
    p.add_argument("dir", type=pathlib.Path, metavar="DIR", help="the folder of public.tar.xz; for table and page a file")
    p.add_argument("files", type=pathlib.Path, nargs="*", metavar="FILE", help="times.jsonl of runs, the last counts")
    p.add_argument("--pairs", type=pathlib.Path, help="prepare: the folder that TestDirectPublicPairs wrote to")
    p.add_argument("--ptxas", help="run: assemble with this instead of the one that Triton bundles")
    p.add_argument("--out", type=pathlib.Path, help="run: the file for the times, to which they are added (DIR/times.jsonl)")
    p.add_argument("--only", default="", help="run: only kernels that have this in their path or name")
    p.add_argument("--keys", type=pathlib.Path, help="run: only kernels of the keys in this file")
    p.add_argument("--every", type=int, default=1, help="run: every N-th of these (1)")
    p.add_argument("--rounds", type=int, default=5, help="run: timed rounds (5)")
    p.add_argument("--again", type=int, default=25, help="run: those of what is below --limit (25)")
    p.add_argument("--total", type=int, default=1000, help="run: microseconds of a graph, roughly (1000)")
    p.add_argument("--least", type=float, default=20, help="run: microseconds that a launch should take (20)")
    p.add_argument("--limit", type=float, default=0.98, help="run: the least ratio of llc's time and direct code's (0.98)")
    p.add_argument("--budget", type=float, default=420, help="run: seconds after which no kernel is begun (420)")
    p.add_argument("--timeout", type=float, default=8, help="run: seconds that a kernel may take (8)")
    p.add_argument("--dry-run", action="store_true", help="run: with stand-ins for torch and the driver; every number is made up")
    a = p.parse_args()
    a.dir = a.dir.resolve()
    a.out = a.out or a.dir / "times.jsonl"
    if a.verb == "worker":
        pool.serve(worker(a.dir, a.dry_run))
    elif a.verb == "prepare":
        a.commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        prepare(a)
    elif a.verb == "run":
        run(a)
    elif a.verb == "table":
        results = read([a.dir, *a.files])
        print("\n".join(table(results) for table in TABLES.values()))
    else:
        page(a.dir, read(a.files))


if __name__ == "__main__":
    main()
