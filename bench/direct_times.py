#!/usr/bin/env python3
"""PTX that tritonc writes itself (ptx=direct) beside llc's of the same kernels, by time.

    bench/direct_times.py prepare DIR [--ptxas PTXAS]   compile every row both ways (no GPU needed)
    bench/direct_times.py run DIR                       check and time them (needs CUDA and torch)
    bench/direct_times.py table FILE                    the table of a times.json again

prepare leaves one file, DIR/pairs.zip, with the PTX of each kernel and config of
bench/cases.py, and with --ptxas the cubins; without, run assembles on its machine.
Kernels whose machine code is equal are counted and not timed. The others must leave
the same results as llc's within the row's tolerance. Then both run in turn, every
config on the same inputs; what is below --limit is timed again in --again rounds.
Kernels of less than --cycles microseconds are compared by the cycles that ncu counts,
those below --limit again in --again-cycles rounds.

Exit status 1 when results differ, a kernel is below --limit after that, or the
geometric mean, in which equal code counts as 1, is below --mean.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases
import cycles
import measure
import pool
import vs_triton

WAYS = ("llvm", "direct")
CACHE_BYTES = 256 << 20  # input sets together exceed every L2 cache by far


def say(*words):
    print(*words, flush=True)


# ---- prepare


def code_of(cubin):
    """What runs: the bytes of the sections of code, and of what they need of registers."""
    start, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + i * size) for i in range(count)]
    at = heads[names][4]
    out = {}
    for name, _, _, _, offset, length, _, info, _, _ in heads:
        text = cubin[at + name:cubin.index(b"\0", at + name)]
        if text.startswith(b".text."):
            out[text] = (info >> 24, cubin[offset:offset + length])
    return out


def arguments(tritonc, build, way, folder):
    emit = vs_triton.tritonc_argv(tritonc, build, 90, folder)
    emit[emit.index("--emit") + 1] = "ptx,json"
    return [*emit[:-1], "--option", f"ptx={way}", emit[-1]]


def assemble_both(assembler, ptx):
    """{way: cubin} of {way: PTX}."""
    return {way: assembler.cubin(text, "sm_90a")[0] for way, text in ptx.items()}


def prepare(a):
    a.dir.mkdir(parents=True, exist_ok=True)
    builds = cases.builds([r for r in cases.choose(a.rows) if not r.odd], 90)
    assembler = measure.Assembler(a.ptxas) if a.ptxas else None
    files, equal, errors = {}, [], {}

    def one(build):
        ptx = {}
        for way in WAYS:
            folder = a.dir / "parts" / f"{way}-{build.key}"
            folder.mkdir(parents=True, exist_ok=True)
            r = subprocess.run(arguments(a.tritonc, build, way, folder), capture_output=True, text=True)
            if r.returncode:
                raise RuntimeError(r.stderr.strip() or f"status {r.returncode}")
            for f in folder.iterdir():
                if f.suffix == ".ptx":
                    ptx[way] = f.read_text()
                elif way == "llvm":
                    files[f"{build.key}.json"] = f.read_bytes()
        if not assembler:
            files.update({f"{build.key}.{way}.ptx": text.encode() for way, text in ptx.items()})
            return
        cubins = assemble_both(assembler, ptx)
        if code_of(cubins["llvm"]) == code_of(cubins["direct"]):
            equal.append(build.key)
            return
        files.update({f"{build.key}.{way}.cubin": image for way, image in cubins.items()})

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for build, done in [(b, threads.submit(one, b)) for b in builds.values()]:
            if e := done.exception():
                errors[build.key] = str(e)
                say(f"{build.kernel} {build.config}: {e}")
    shutil.rmtree(a.dir / "parts", ignore_errors=True)
    manifest = {"kernels": vs_triton.kernels_digest(), "rows": a.rows, "equal": sorted(equal), "errors": errors,
                "ptxas": assembler.version if assembler else None}
    with zipfile.ZipFile(a.dir / "pairs.zip", "w", zipfile.ZIP_LZMA) as z:
        z.writestr("manifest.json", json.dumps(manifest))
        for name in sorted(files):
            z.writestr(name, files[name])
    say(f"{len(builds)} kernels, {len(equal)} of equal code, {len(errors)} failed; "
        f"{(a.dir / 'pairs.zip').stat().st_size / 1e6:.1f} MB")
    return 1 if errors else 0


# ---- run


class Session:
    """One row on one device: its configs, each both ways."""

    def __init__(self, torch, driver, row, job):
        self.torch, self.driver, self.row, self.job = torch, driver, row, job

    def kernel(self, key, way):
        stem = pathlib.Path(self.job["work"]) / key
        meta = json.loads(stem.with_suffix(".json").read_text())
        return measure.Kernel(self.driver, pathlib.Path(f"{stem}.{way}.cubin").read_bytes(), meta)

    def launches(self, kernel, config, works):
        return [kernel.launcher(self.torch, w.grid(config), self.row.types_for(config), w.args) for w in works]

    def differ(self, kernels, config, work):
        """How far the results of direct code are from llc's, over the tolerance."""
        left = []
        for way in WAYS:
            work.reset()
            self.launches(kernels[way], config, [work])[0]()
            self.torch.cuda.synchronize()
            left.append([o.clone() for o in work.outputs()])
        return max(cases.compare(self.torch, o, e, t) for e, o, t in zip(*left, self.row.tolerance))

    def config(self, number, works):
        config = self.row.configs[number]
        key = self.row.build(config).key
        kernels = {way: self.kernel(key, way) for way in WAYS}
        try:
            reply = {"config": str(config), "worst": self.differ(kernels, config, works[0])}
            graphs = {}
            for way in WAYS:
                launches = self.launches(kernels[way], config, works)
                rough = measure.estimate(self.torch, launches)
                if self.job["slowest"] and rough > self.job["slowest"]:
                    return reply | {"slow": rough}
                graphs[way] = measure.Graph(self.torch, launches, measure.launches_for(rough, len(works), total=self.job["total"]))
            times = measure.time_graphs(graphs, self.job["rounds"])
            if measure.median_ratio(times["llvm"], times["direct"]) < self.job["limit"]:
                times = measure.time_graphs(graphs, self.job["again"])
                reply["again"] = True
            reply["ratio"] = measure.median_ratio(times["llvm"], times["direct"])
            for way in WAYS:
                reply[way] = {"us": statistics.median(times[way]), "registers": kernels[way].attribute(measure.REGISTERS),
                              "local": kernels[way].attribute(measure.LOCAL_BYTES)}
            return reply
        finally:
            for k in kernels.values():
                k.unload()

    def run(self):
        work = self.row.make(cases.Env(self.torch, "cuda"), **self.row.full)
        copies = max(1, min(self.job["sets"], math.ceil(CACHE_BYTES / work.bytes)))
        env = cases.Env(self.torch, "cuda", seed=7)
        works = [work] + [self.row.make(env, **self.row.full) for _ in range(copies - 1)]
        for w in works:
            w.reset()
        reply = {"configs": {n: self.config(n, works) for n in self.job["configs"]}}
        pool.progress(reply)
        return reply


def context(dry_run):
    """(torch, the driver, rows by name) of a process that launches."""
    if dry_run:
        import standin
        standin.install()
    import torch
    torch.set_grad_enabled(False)
    torch.zeros(1, device="cuda")  # makes the context and this thread's current one
    return torch, measure.Driver(), {r.name: r for r in cases.rows() + cases.study()}


def worker(dry_run):
    torch, driver, table = context(dry_run)

    def handle(job):
        try:
            return Session(torch, driver, table[job["row"]], job).run()
        except Exception as e:  # in a context that may be lost: the next row gets a new process
            return {"error": f"{type(e).__name__}: {e}"[:400], "last": True}
        finally:
            torch.cuda.empty_cache()

    return handle


def launch(file, dry_run):
    """Launches the configs of a file's jobs, both ways in turn, for ncu to count: leaves the
    order of the launches in the file."""
    torch, driver, table = context(dry_run)
    order = []
    for job in json.loads(file.read_text()):
        session = Session(torch, driver, table[job["row"]], job)
        row = session.row
        work = row.make(cases.Env(torch, "cuda"), **row.full)
        for number in job["configs"]:
            config = row.configs[number]
            kernels = {way: session.kernel(row.build(config).key, way) for way in WAYS}
            launches = {way: session.launches(k, config, [work])[0] for way, k in kernels.items()}
            work.reset()
            launches["llvm"]()
            torch.cuda.synchronize()
            driver.cuProfilerStart()
            for i in range(job["rounds"]):
                for way in WAYS if i % 2 == 0 else reversed(WAYS):
                    launches[way]()
                    order.append((job["row"], number, way))
            torch.cuda.synchronize()
            driver.cuProfilerStop()
            for k in kernels.values():
                k.unload()
        del work
        torch.cuda.empty_cache()
    file.write_text(json.dumps(order))


def compare_cycles(a, results, work, dry_run):
    """Puts the ratio of cycles in the place of the ratio of times, for short kernels."""
    short = {(r["row"], n): c for r in results["rows"] for n, c in r.get("configs", {}).items()
             if "ratio" in c and min(c[w]["us"] for w in WAYS) < a.cycles}
    if not short:
        return
    began = time.monotonic()
    for c in short.values():
        c["time_ratio"] = c["ratio"]
    count_cycles(a, short, a.rounds, work, dry_run)
    # A launch's cycles scatter by some percent, of equal code, too: seven say where to look.
    low = {k: c for k, c in short.items() if c["ratio"] < a.limit}
    if low and a.again_cycles:
        count_cycles(a, low, a.again_cycles, work, dry_run)
        for c in low.values():
            c["again"] = True
    say(f"cycles of {len(short)} kernels below {a.cycles:g} us, of {len(low)} again, {time.monotonic() - began:.0f} s")


def count_cycles(a, configs, rounds, work, dry_run):
    """Has ncu count some rounds of launches of configs, by row and number; sets their ratios."""
    file = work / "cycles.json"
    by_row = {}
    for row, n in configs:
        by_row.setdefault(row, []).append(int(n))
    file.write_text(json.dumps([{"row": row, "configs": n, "work": str(work), "rounds": rounds} for row, n in by_row.items()]))
    values = cycles.count(a.ncu, [sys.executable, str(HERE / "direct_times.py"), "launch", str(file), *dry_run], a.budget)
    order = json.loads(file.read_text())
    if len(values) != len(order):
        raise RuntimeError(f"{a.ncu} counted {len(values)} launches of {len(order)}")
    counted = {}
    for (row, number, way), value in zip(order, values):
        counted.setdefault((row, number), {w: [] for w in WAYS})[way].append(value)
    for (row, n), c in configs.items():
        by = counted[row, int(n)]
        c["ratio"] = measure.median_ratio(by["llvm"], by["direct"])
        for way in WAYS:
            c[way]["cycles"] = statistics.median(by[way])


def unpack(a, work):
    """The manifest; the cubins lie in work, and keys of equal code are in the manifest."""
    with zipfile.ZipFile(a.dir / "pairs.zip") as z:
        manifest = json.loads(z.read("manifest.json"))
        if manifest["kernels"] != vs_triton.kernels_digest():
            sys.exit(f"{a.dir}/pairs.zip was made of other kernels than bench/kernels*.py has; run prepare again")
        z.extractall(work)
    if manifest["ptxas"]:
        return manifest
    assembler = measure.Assembler(a.ptxas or bundled())
    manifest["ptxas"] = assembler.version

    def one(key):
        cubins = assemble_both(assembler, {way: (work / f"{key}.{way}.ptx").read_text() for way in WAYS})
        for way, image in cubins.items():
            (work / f"{key}.{way}.cubin").write_bytes(image)
        return code_of(cubins["llvm"]) == code_of(cubins["direct"])

    keys = sorted(f.name.removesuffix(".llvm.ptx") for f in work.glob("*.llvm.ptx"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for key, same in zip(keys, threads.map(one, keys)):
            if same:
                manifest["equal"].append(key)
    return manifest


def bundled():
    import triton
    return pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"


def run(a):
    dry_run = ["--dry-run"] if a.dry_run else []
    if a.dry_run:
        import standin
        standin.install()
    import torch
    if a.cycles and not (a.ncu and shutil.which(a.ncu)):
        sys.exit(f"kernels below {a.cycles:g} us are compared by their cycles, which ncu of Nsight Compute counts, and there is "
                 "none: say --ncu PATH, or --cycles 0 to compare their times")
    began = time.monotonic()
    work = a.dir / "run"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    manifest = unpack(a, work)
    say(f"{torch.cuda.get_device_name()}, ptxas {manifest['ptxas']}, {time.monotonic() - began:.0f} s")
    results = {"gpu": torch.cuda.get_device_name(), "ptxas": manifest["ptxas"], "limit": a.limit, "mean": a.mean,
               "errors": manifest["errors"], "equal": sorted(manifest["equal"]), "rows": []}
    same, rows, done = set(manifest["equal"]), [], set(manifest["errors"])
    for row in cases.choose(a.rows or manifest["rows"]):
        if row.odd:
            continue
        different = []
        for n, c in enumerate(row.configs):  # the same kernel and config once, on the first row that has it
            key = row.build(c).key
            if key not in same and key not in done:
                different.append(n)
        if different:
            rows.append((row, different))
    jobs = [{"row": row.name, "configs": configs, "work": str(work), "rounds": a.rounds, "again": a.again, "limit": a.limit,
             "total": a.total, "sets": a.sets, "slowest": a.slowest} for row, configs in rows]

    def note(job, reply):
        say(f"{time.monotonic() - began:6.1f} s  {job['row']}: {line(reply)}")

    # One worker takes all rows: each new one would import torch again.
    p = pool.Pool([sys.executable, str(HERE / "direct_times.py"), "worker", str(a.dir), *dry_run], 1, None, a.row_timeout, note)
    for job, reply in zip(jobs, p.map(jobs, began + a.budget)):
        results["rows"].append({"row": job["row"], **reply})
    (a.dir / "times.json").write_text(json.dumps(results, indent=1))
    if a.cycles:
        try:
            compare_cycles(a, results, work, dry_run)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as e:
            results["cycles_error"] = str(e)
    (a.dir / "times.json").write_text(json.dumps(results, indent=1))
    text, bad = table(results)
    (a.dir / "table.txt").write_text(text)
    say("\n" + text)
    shutil.rmtree(work, ignore_errors=True)
    return 1 if bad else 0


def line(reply):
    if "error" in reply:
        return reply["error"].splitlines()[0]
    return ", ".join(f"{c['ratio']:.3f}" if "ratio" in c else "slow" for c in reply["configs"].values())


# ---- table


def table(results):
    """(text, how many miss)."""
    out, ratios, bad = [], [1.0] * len(results["equal"]), 0
    out += ["| row | config | llc us | direct us | llc/direct | registers |", "|---|---|---|---|---|---|"]
    for row in results["rows"]:
        if "error" in row:
            out.append(f"| {row['row']} | {row['error'].splitlines()[0]} | | | | |")
            bad += 1
            continue
        for c in row["configs"].values():
            if c["worst"] > 1:
                out.append(f"| {row['row']} | {c['config']} | WRONG: {c['worst']:.3g} times the tolerance from llc's | | | |")
                bad += 1
            if "ratio" not in c:
                continue
            ratios.append(c["ratio"])
            miss = c["ratio"] < results["limit"]
            bad += miss
            l, d = c["llvm"], c["direct"]
            spill = f", {l['local']} and {d['local']} bytes of local memory" if l["local"] or d["local"] else ""
            ratio = f"{c['ratio']:.3f}{' in cycles' if 'cycles' in l else ''}{' *' if miss else ''}"
            out.append(f"| {row['row']} | {c['config']} | {l['us']:.2f} | {d['us']:.2f} | {ratio} | "
                       f"{l['registers']}, {d['registers']}{spill} |")
    for key, why in results["errors"].items():
        out.append(f"| {key} | {why.splitlines()[0]} | | | | |")
        bad += 1
    if "cycles_error" in results:
        out.append(f"\nNo cycles were counted: {results['cycles_error']}")
        bad += 1
    mean = math.exp(statistics.mean(map(math.log, ratios))) if ratios else 1.0
    timed = len(ratios) - len(results["equal"])
    out.append(f"\n{results['gpu']}, ptxas {results['ptxas']}: {len(results['equal'])} kernels of equal code, {timed} timed, "
               f"{sum(r < results['limit'] for r in ratios)} below {results['limit']}, geometric mean {mean:.4f}")
    if mean < results["mean"]:
        bad += 1
        out.append(f"The mean is below {results['mean']}.")
    return "\n".join(out) + "\n", bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["prepare", "run", "table", "worker", "launch"])
    p.add_argument("dir", type=pathlib.Path, metavar="DIR", help="the folder of pairs.zip, or for table a times.json")
    p.add_argument("--rows", default="", help="only rows whose name has one of these words: softmax,matmul f16")
    p.add_argument("--tritonc", default=os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc")))
    p.add_argument("--ptxas", help="prepare: assemble here, with this; run: instead of the one that Triton bundles")
    p.add_argument("--rounds", type=int, default=7, help="run: timed rounds of each config (7)")
    p.add_argument("--again", type=int, default=25, help="run: those of what is below --limit (25)")
    p.add_argument("--total", type=int, default=6000, help="run: microseconds of a graph, roughly (6000)")
    p.add_argument("--sets", type=int, default=200, help="run: the most input sets of a row (200)")
    p.add_argument("--slowest", type=float, default=0, help="run: microseconds of a launch above which a config is not timed")
    p.add_argument("--budget", type=float, default=420, help="run: seconds after which no row is begun (420)")
    p.add_argument("--row-timeout", type=float, default=60, help="run: seconds a row may take (60)")
    p.add_argument("--limit", type=float, default=0.98, help="the least ratio of llc's time and direct code's (0.98)")
    p.add_argument("--cycles", type=float, default=10, help="run: microseconds below which cycles are compared, not times; 0 for none (10)")
    p.add_argument("--again-cycles", type=int, default=150, help="run: rounds of the cycles of what is below --limit by --rounds "
                   "of them; 0 for none (150)")
    p.add_argument("--ncu", default=shutil.which("ncu"), help="run: Nsight Compute's ncu")
    p.add_argument("--mean", type=float, default=1.0, help="the least geometric mean of those (1.0)")
    p.add_argument("--dry-run", action="store_true", help="run: walk through all of it with stand-ins for torch and the "
                   "driver; every number is made up")
    a = p.parse_args()
    a.dir = a.dir.resolve()
    if a.verb == "worker":
        pool.serve(worker(a.dry_run))
        return
    if a.verb == "launch":
        launch(a.dir, a.dry_run)
        return
    if a.verb == "prepare":
        sys.exit(prepare(a))
    if a.verb == "table":
        text, bad = table(json.loads(a.dir.read_text()))
        print(text)
        sys.exit(1 if bad else 0)
    sys.exit(run(a))


if __name__ == "__main__":
    main()
