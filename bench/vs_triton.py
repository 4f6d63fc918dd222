#!/usr/bin/env python3
"""tritonc beside Triton and torch on one GPU: right results, then time.

    bench/vs_triton.py prepare DIR     compile every row with tritonc (no GPU needed)
    bench/vs_triton.py simulate DIR    run those on the simulated GPU at small sizes (needs torch)
    bench/vs_triton.py run DIR         check and time them (needs CUDA, torch, triton)
    bench/vs_triton.py table FILE      the tables of a results.json again

prepare leaves one file, DIR/ours.zip; run needs nothing else from the machine
where it was made. What is compared, and with what configs, is bench/cases.py.

run compiles the same kernels with Triton, all of it for the GPU's own
architecture and for cuda:80, and then has every row checked and timed:

    ours     our PTX for the GPU          mma2    Triton's, with DISABLE_MMA_V3=1
    ours80   our PTX for cuda:80          triton  Triton's as it is
    torch    torch's own operator         triton80  Triton's for cuda:80

PTX for the GPU is assembled by the ptxas that Triton bundles, and again by the
one in ours.zip (the variants @second); PTX for cuda:80 goes through the
driver's compiler. Each variant runs with the best of the row's configs; a
result must be right to be timed. docs/benchmarks.md has the method.

Exit status 1 when a result is wrong, or a row is slower than --limit times
Triton, or the geometric mean is below --mean, or a row has no time.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases
import measure
import pool
import report

ARCHS = (90, 80)
JIT_ARCH = 80


def say(*words):
    print(*words, flush=True)


# ---- prepare


def tritonc_argv(tritonc, build, arch, folder):
    return [tritonc, "--target", f"cuda:{arch}", "-n", build.kernel, "-s", build.signature(),
            "-w", str(build.config.num_warps), "-k", str(build.config.num_stages),
            "--emit", "ptx,cubin,json", "-o", str(folder), str(cases.source_of(build.kernel))]


def kernels_digest():
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in cases.SOURCES)).hexdigest()


def identity(tritonc):
    """What our artifacts follow from: the programs and the kernels."""
    h = hashlib.sha256()
    folder = pathlib.Path(shutil.which(tritonc) or tritonc).resolve().parent
    for f in (*sorted(folder.glob("tritonc*")), *(HERE / name for name in cases.SOURCES)):
        if f.is_file():
            h.update(f.read_bytes())
    return h.hexdigest()


def prepare(tritonc, out, pattern, second):
    """Compiles every build for every arch into out/ours.zip; returns how many fail."""
    out.mkdir(parents=True, exist_ok=True)
    target, stamp = out / "ours.zip", identity(tritonc)
    have = {}
    if target.exists():  # what an earlier prepare of the same programs made
        with zipfile.ZipFile(target) as z:
            if json.loads(z.read("manifest.json")).get("stamp") == stamp:
                have = {n: z.read(n) for n in z.namelist() if "/" in n}
    chosen = cases.choose(pattern)
    todo = [(a, b) for a in ARCHS for b in cases.builds(chosen, a).values() if f"{a}/{b.key}.json" not in have]
    errors, files = {}, dict(have)

    def one(item):
        arch, build = item
        folder = out / "parts" / f"{arch}-{build.key}"
        folder.mkdir(parents=True, exist_ok=True)
        r = subprocess.run(tritonc_argv(tritonc, build, arch, folder), capture_output=True, text=True)
        if r.returncode:
            return r.stderr.strip() or f"status {r.returncode}"
        for f in folder.iterdir():
            files[f"{arch}/{build.key}{f.suffix}"] = f.read_bytes()
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for (arch, build), why in zip(todo, threads.map(one, todo)):
            if why:
                errors[f"{arch}/{build.key}"] = why
                say(f"cuda:{arch} {build.kernel} {build.config}: {why}")
    shutil.rmtree(out / "parts", ignore_errors=True)
    if second:
        files["ptxas"] = pathlib.Path(second).read_bytes()
    manifest = {"stamp": stamp, "kernels": kernels_digest(), "archs": ARCHS, "errors": errors}
    partial = target.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_LZMA) as z:
        z.writestr("manifest.json", json.dumps(manifest))
        for name in sorted(files):
            z.writestr(name, files[name])
    partial.replace(target)
    say(f"{len(todo)} compiled, {len(have) // 3} kept, {len(errors)} failed; "
        f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    return len(errors)


# ---- run


class Images:
    """The loadable images of a run: work/<variant>/<key>.{ptx,cubin,json}."""

    def __init__(self, work, arch):
        self.work, self.arch = work, arch
        self.errors = {}  # (variant, key): why there is none

    def stem(self, variant, key):
        return self.work / variant / key

    def has(self, variant, key):
        return self.stem(variant, key).with_suffix(".json").exists()

    def copy_meta(self, source, variant, key):
        to = self.stem(variant, key).with_suffix(".json")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(self.stem(source, key).with_suffix(".json").read_bytes())

    def fail(self, variant, key, why):
        self.errors[variant, key] = why
        self.stem(variant, key).with_suffix(".json").unlink(missing_ok=True)


def unpack(images, out):
    """ours.zip into the work folder; returns the second ptxas's path, or None.

    ours-source is our PTX for the GPU, ours80-source that for cuda:80, and
    ours@prepared what prepare's own ptxas made of the former.
    """
    second = None
    with zipfile.ZipFile(out / "ours.zip") as z:
        manifest = json.loads(z.read("manifest.json"))
        if manifest["kernels"] != kernels_digest():
            sys.exit(f"{out}/ours.zip was made of other kernels than bench/kernels*.py has; run prepare again")
        if images.arch not in manifest["archs"]:
            sys.exit(f"{out}/ours.zip has kernels for {manifest['archs']}, and this GPU is {images.arch}")
        for name in z.namelist():
            if name == "ptxas":
                second = images.work / "ptxas"
                second.write_bytes(z.read(name))
                second.chmod(0o755)
            arch, _, file = name.partition("/")
            if not file:
                continue
            key, _, ending = file.rpartition(".")
            to = []
            if int(arch) == images.arch:
                to += {"ptx": ["ours-source"], "cubin": ["ours@prepared"]}.get(ending, ["ours-source", "ours@prepared"])
            if int(arch) == JIT_ARCH and ending != "cubin":
                to.append("ours80-source")
            for variant in to:
                path = images.stem(variant, key).with_suffix("." + ending)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(z.read(name))
    for name, why in manifest["errors"].items():
        arch, _, key = name.partition("/")
        if int(arch) == images.arch:
            images.fail("ours-source", key, why)
        if int(arch) == JIT_ARCH:
            images.fail("ours80-source", key, why)
    return second


def build_with_triton(images, builds, low, dry_run, deadline, wanted):
    """PTX of Triton: as it is, with DISABLE_MMA_V3 where there is a dot, and for cuda:80."""
    dots = {k: b for k, b in builds.items() if b.kernel in cases.DOTS}
    for variant, chosen, arch, env in (("triton-source", builds, images.arch, {}),
                                       ("mma2-source", dots, images.arch, {"DISABLE_MMA_V3": "1"}),
                                       ("triton80-source", low, JIT_ARCH, {})):
        if not wanted(variant.removesuffix("-source")):
            continue
        env = {"TRITON_CACHE_DIR": str(images.work / "cache" / variant), "DISABLE_MMA_V3": "0"} | env
        p = pool.Pool([sys.executable, str(HERE / "compile_worker.py"), "triton", *dry_run], os.cpu_count(), env, 120)
        jobs = [{"kernel": b.kernel, "types": b.types, "constants": b.config.constants, "num_warps": b.config.num_warps,
                 "num_stages": b.config.num_stages, "arch": arch, "stem": str(images.stem(variant, b.key))}
                for b in chosen.values()]
        for b, reply in zip(chosen.values(), p.map(jobs, deadline)):
            if "error" in reply:
                images.fail(variant, b.key, reply["error"])
            elif variant == "mma2-source" and reply["wgmma"]:
                images.fail(variant, b.key, "has wgmma in spite of DISABLE_MMA_V3")


def assemble(images, variant, source, keys, assembler):
    """cubins of a source's PTX."""
    gpu = f"sm_{images.arch}" + ("a" if images.arch >= 90 else "")

    def one(key):
        cubin, _ = assembler.cubin(images.stem(source, key).with_suffix(".ptx").read_text(), gpu)
        images.copy_meta(source, variant, key)
        images.stem(variant, key).with_suffix(".cubin").write_bytes(cubin)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for key, done in [(k, threads.submit(one, k)) for k in keys if images.has(source, k)]:
            if e := done.exception():
                images.fail(variant, key, str(e))


def jit(images, variant, source, keys, dry_run, deadline):
    """cubins of a source's PTX by the driver's compiler, in parallel processes."""
    keys = [k for k in keys if images.has(source, k)]
    p = pool.Pool([sys.executable, str(HERE / "compile_worker.py"), "jit", *dry_run], max(1, os.cpu_count() // 2),
                  None, 90)
    jobs = [{"ptx": str(images.stem(source, k).with_suffix(".ptx")), "stem": str(images.stem(variant, k))}
            for k in keys]
    for key, reply in zip(keys, p.map(jobs, deadline)):
        if "error" in reply:
            images.fail(variant, key, reply["error"])
        else:
            images.copy_meta(source, variant, key)


def job_of(row, images, rounds, with_second, wanted):
    """The job that checks and times a row, and why images are not there."""
    if row.odd:
        # ours80-source is PTX: the driver compiles it as it loads it.
        variants, second = ["ours@prepared", "ours", "ours80-source"], {}
    else:
        second = {"ours@second": "ours", "triton@second": "triton"} if with_second else {}
        variants = ["ours", *(["mma2"] if row.kernel in cases.DOTS else []), "triton", "ours80", "triton80", *second]
        if row.least_arch > JIT_ARCH:
            variants = [v for v in variants if "80" not in v]
    variants = [v for v in variants if row.odd or wanted(v)]
    stems, missing = {}, {}
    for v in variants:
        for i, config in enumerate(row.configs):
            key = row.build(config).key
            if images.has(v, key):
                stems.setdefault(v, {})[str(i)] = str(images.stem(v, key))
            else:
                source = v.partition("@")[0] + "-source"
                why = images.errors.get((v, key)) or images.errors.get((source, key)) or "was not compiled"
                missing.setdefault(v, {})[str(i)] = why
    return {"row": row.name, "images": stems, "second": second, "skip": [], "rounds": rounds}, missing


class Rows:
    """Runs row jobs in a process of their own, one after another."""

    def __init__(self, dry_run, timeout):
        self.at = None  # what the worker said it runs
        self.pool = pool.Pool([sys.executable, str(HERE / "row_worker.py"), *dry_run], 1, None, timeout,
                              lambda job, line: setattr(self, "at", line))

    def run(self, jobs, deadline):
        """Yields (job, reply). A job that ends its process is tried again without the
        image that did it, and the second time without any of its variant."""
        todo = [(j, 0) for j in jobs]
        while todo:
            (job, tries), *todo = todo
            self.at = None
            reply, = self.pool.map([job], deadline)
            if ("broken" in reply or "error" in reply) and self.at and tries < 6:
                why = reply.get("broken") or reply["error"]
                variant, number = self.at
                say(f"{job['row']}: {variant}, config {number}: {why.splitlines()[0]}")
                before = job.get("crashed", [])
                skip = [[variant, number]]
                if any(v == variant for v, _, _ in before):
                    skip = [[variant, n] for n in job["images"][variant]]
                again = dict(job, skip=job["skip"] + skip, crashed=before + [[variant, number, why]])
                todo.insert(0, (again, tries + 1))
                continue
            yield job, reply


def run(a):
    dry_run = ["--dry-run"] if a.dry_run else []
    if a.dry_run:
        import standin
        standin.install()
    import torch
    import triton
    began = time.monotonic()
    deadline = began + a.budget
    major, minor = torch.cuda.get_device_capability()
    arch = 10 * major + minor
    work = a.dir / "run"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    images = Images(work, arch)
    second = unpack(images, a.dir)
    chosen = [r for r in cases.choose(a.rows) if arch >= r.least_arch]
    timed = cases.builds([r for r in chosen if not r.odd], arch)
    every = cases.builds(chosen, arch)
    low = cases.builds([r for r in chosen if not r.odd], JIT_ARCH)

    def phase(what):
        say(f"{time.monotonic() - began:6.1f} s  {what}")

    bundled = measure.Assembler(a.ptxas or pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas")
    tools = {"ptxas": bundled.version}
    say(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}, "
        f"ptxas {bundled.version}, {len(chosen)} rows, {len(every)} kernels")
    phase("compiling with Triton")
    wanted = lambda variant: not a.variants or variant in a.variants.split(",")
    build_with_triton(images, timed, low, dry_run, deadline, wanted)
    phase("assembling")
    for v, keys in (("ours", every), ("mma2", timed), ("triton", timed)):
        if wanted(v):
            assemble(images, v, v + "-source", keys, bundled)
    if second:
        other = measure.Assembler(second)
        tools["second"] = other.version
        for v in ("ours", "triton"):
            assemble(images, v + "@second", v + "-source", timed, other)
    phase("compiling cuda:80's PTX with the driver")
    for v in filter(wanted, ("ours80", "triton80")):
        jit(images, v, v + "-source", low, dry_run, deadline)
    phase("checking and timing")

    results = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__,
               "tools": tools, "arch": arch, "limit": a.limit, "mean": a.mean, "rows": []}
    jobs, missing = [], {}
    for row in chosen:
        job, missing[row.name] = job_of(row, images, a.rounds, bool(second), wanted)
        jobs.append(job)
    for job, reply in Rows(dry_run, a.row_timeout).run(jobs, deadline):
        row = next(r for r in chosen if r.name == job["row"])
        results["rows"].append(report.entry(row, reply, missing[row.name], job.get("crashed", [])))
        partial = a.dir / "results.part"
        partial.write_text(json.dumps(results, indent=1))
        partial.replace(a.dir / "results.json")
        phase(report.line(results["rows"][-1]))
    text, bad = report.tables(results)
    (a.dir / "table.txt").write_text(text)
    say("\n" + text)
    if not a.keep:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if bad else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["prepare", "simulate", "run", "table"])
    p.add_argument("dir", type=pathlib.Path, metavar="DIR", help="the folder of ours.zip, or for table a results.json")
    p.add_argument("--rows", default="", help="only rows whose name has one of these words: softmax,matmul f16")
    p.add_argument("--tritonc", default=os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc")))
    p.add_argument("--second", help="prepare: a ptxas to carry along, whose column is the second")
    p.add_argument("--variants", default="", help="run: only these, of all rows that are timed: ours,triton")
    p.add_argument("--ptxas", help="run: instead of the ptxas that Triton bundles")
    p.add_argument("--rounds", type=int, default=15, help="run: timed rounds of each row (15)")
    p.add_argument("--budget", type=float, default=420, help="run: seconds after which no row is begun (420)")
    p.add_argument("--row-timeout", type=float, default=60, help="run: seconds a row may take (60)")
    p.add_argument("--limit", type=float, default=0.97, help="the least Triton time / our time of a row (0.97)")
    p.add_argument("--mean", type=float, default=1.02, help="the least geometric mean of those (1.02)")
    p.add_argument("--keep", action="store_true", help="run: leave DIR/run, with every PTX and cubin")
    p.add_argument("--dry-run", action="store_true", help="run: walk through all of it with stand-ins for torch, "
                   "triton and the driver; every number is made up")
    p.add_argument("--configs", type=int, default=1, help="simulate: how many configs of each row (1)")
    a = p.parse_args()
    a.dir = a.dir.resolve()
    if a.verb == "prepare":
        sys.exit(1 if prepare(a.tritonc, a.dir, a.rows, a.second) else 0)
    if a.verb == "simulate":
        import simulate
        sys.exit(simulate.run(a.tritonc, a.dir, a.rows, a.configs))
    if a.verb == "table":
        text, bad = report.tables(json.loads(a.dir.read_text()))
        print(text)
        sys.exit(1 if bad else 0)
    sys.exit(run(a))


if __name__ == "__main__":
    main()
