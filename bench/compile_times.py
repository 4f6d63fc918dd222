#!/usr/bin/env python3
"""How long public kernels take to compile, beside Triton, from the same ttir.

    bench/compile_times.py prepare DIR --checkouts DIR [--count 160]
    bench/compile_times.py run DIR [--json FILE] [--runs 3] [--processes 4] [--no-server] [--alone]

prepare takes kernels of core/frontend/testdata/manifest.tsv, evenly over its
repositories, and writes the ttir of each that compiles to PTX: for that it wants the
repositories, as scripts/public_kernels.py does.

run compiles each with Triton and with tritonc, in turn, --runs times under names that no
cache has, and keeps the least of each. It needs Triton 3.6, and no GPU.

- Triton's times are what its compilation listener is told of the stages after ttir.
- tritonc's are those of a call of the Python package (integrations/triton), as it makes
  it inside Triton: through the server, with all stages asked for. With --no-server each is a
  process. --alone also tells how long a process of ptxas takes for its PTX.

Both use the ptxas that Triton would. The table has the geometric means: of tritonc's time
over Triton's without ptxas (ttir to PTX) and with it (to the cubin), and the share of
ptxas in Triton's.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "integrations" / "triton")]

TARGET = "cuda:90"
FLAGS = ("--no-cache",)
KERNEL = re.compile(r"tt\.func public @([\w$]+)")


# ---- what is compiled


def accepted():
    """Whether Triton accepts the kernel, for each row of manifest.tsv."""
    import manifest
    return [line.split("\t")[3] == "accepted" for line in manifest.MANIFEST.read_text().splitlines() if not line.startswith("@")]


def spread(jobs, count):
    """Jobs of all repositories, in turn, those of one evenly over its files."""
    groups = {}
    for job in jobs:
        groups.setdefault("/".join(job[0][0].split("/")[:2]), []).append(job)
    shares, left = {}, count
    for i, (repo, group) in enumerate(sorted(groups.items(), key=lambda g: len(g[1]))):
        shares[repo] = min(len(group), math.ceil(left / (len(groups) - i)))
        left -= shares[repo]
    return [group[i * len(group) // shares[repo]] for repo, group in groups.items() for i in range(shares[repo])]


def prepare_one(tritonc, job, path):
    """Writes a kernel's ttir to a file; why not, or None."""
    (file, kernel, _), args = job
    with tempfile.TemporaryDirectory() as out:
        r = subprocess.run([tritonc, "compile", "--allow-unlaunchable", "--target", TARGET, *FLAGS, "--emit", "ttir,ptx", "-o", out, *args],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if r.returncode:
            return r.stderr.strip().partition("\n")[0]
        text = next(pathlib.Path(out).glob("*.ttir")).read_text()
    if len(KERNEL.findall(text)) != 1:
        return "its name is not plain"
    path.write_text(f"// {file}:{kernel}\n{text}")
    return None


def prepare(a):
    import manifest
    jobs = [job for job, taken in zip(manifest.public_jobs(a.checkouts.resolve()), accepted()) if taken]
    jobs = spread(jobs, a.count)
    a.dir.mkdir(parents=True, exist_ok=True)
    for old in a.dir.glob("*.ttir"):
        old.unlink()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda item: prepare_one(a.tritonc, item[1], a.dir / f"{item[0]:03}.ttir"), enumerate(jobs)))
    for job, why in zip(jobs, outcomes):
        if why:
            print(f"{job[0][0]} {job[0][1]}: {why}")
    print(f"{sum(why is None for why in outcomes)} of {len(jobs)} kernels")


# ---- both sides


class Triton:
    def __init__(self, folder):
        os.environ.update(TRITON_ALWAYS_COMPILE="1", TRITON_CACHE_DIR=os.path.join(folder, "triton"))
        import triton
        from triton import knobs
        from triton.backends.compiler import GPUTarget
        self.triton, self.heard = triton, []
        self.target = GPUTarget("cuda", int(TARGET.split(":")[1]), 32)
        self.path = os.path.join(folder, f"k{os.getpid()}.ttir")
        knobs.compilation.listener = lambda *, times, **_: self.heard.append({name: us / 1e6 for name, us in times.lowering_stages})

    def compile(self, text, cubin):
        """(seconds to PTX, seconds to the cubin)"""
        with open(self.path, "w") as f:
            f.write(text)
        self.triton.compile(self.path, target=self.target)
        stages = self.heard.pop()
        return sum(stages[s] for s in ("ttgir", "llir", "ptx")), sum(stages[s] for s in ("ttgir", "llir", "ptx", "cubin"))


class Tritonc:
    """The package's compiler, of the server in a folder, or without one."""

    def __init__(self, folder, path=None, ptxas=None, serve=True):
        from tritonc import compiler, program, server
        self.Request = compiler.Request
        self.facts = program.describe(program.find(path))
        self.server = server.Server(self.facts.path, self.facts.build, folder, lambda text: sys.exit(text)) if serve else None
        # A compiler that has none asks no server of the user's either.
        self.flags = () if serve else ("--no-server",)
        self.ptx = ""  # of the last compile
        self.compiler = compiler.Compiler(self.facts.path, None, self.server)
        self.env = {"TRITONC_PTXAS": ptxas, "TRITON_PTXAS_PATH": ptxas} if ptxas else {}

    def compile(self, text, cubin):
        """(seconds to PTX, seconds to the cubin); each with a name of its own."""
        times = []
        for i, emit in enumerate((("ttgir", "llir", "ptx"), ("ttgir", "llir", "ptx", "cubin"))[:1 + cubin]):
            flags = ("-w", "4", "-k", "3", *FLAGS, *self.flags)
            r = self.compiler.compile(self.Request("ttir", rename(text, f"_{i}"), f"{TARGET}:32", emit, flags, env=self.env))
            if self.server is not None and not r.served:
                sys.exit("the server did not compile")
            self.ptx = r.artifacts["ptx"]
            times.append(r.seconds)
        return times[0], times[-1]


def rename(text, suffix):
    """The kernel under another name, so that its PTX is another."""
    name = KERNEL.search(text)[1]
    return re.sub(rf"@{re.escape(name)}\b", f"@{name}{suffix}", text)


LONG = 5  # seconds after which a kernel is not compiled again


def measure(side, text, runs, cubin=True):
    """The least (to PTX, to the cubin) of a side."""
    begun, least = time.time(), None
    for run in range(runs):
        times = side.compile(rename(text, f"_r{run}"), cubin)
        least = tuple(map(min, zip(least or times, times)))
        if time.time() - begun > LONG:
            break
    return least


def ptxas_alone(ptxas, ptx, runs, folder):
    """The least seconds of a process of ptxas that assembles a text, by the flags that both sides give."""
    source = pathlib.Path(folder, f"alone{os.getpid()}.ptx")
    source.write_text(ptx)
    command = [ptxas, "-lineinfo", "-v", "--gpu-name=sm_" + TARGET.split(":")[1] + "a", str(source), "-o", str(source.with_suffix(".cubin"))]
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - begun)
        if sum(times) > LONG:
            break
    return min(times)


def take(path):
    """Whether this process is the first to take a kernel."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def work(a):
    """A process that measures what no other has taken, a JSON line for each kernel."""
    files = sorted(a.dir.glob("*.ttir"))
    ptxas, sides = None, {}
    if not a.ours:
        sides["triton"] = Triton(a.session)
        from triton import knobs
        ptxas = os.environ.get("TRITONC_PTXAS") or knobs.nvidia.ptxas.path
    sides["tritonc"] = Tritonc(a.session, a.tritonc, ptxas, not a.no_server)
    for side in sides.values():  # what is done once is not counted
        measure(side, rename(files[0].read_text(), f"_w{os.getpid()}"), 2, not a.no_cubin)
    for file in files:
        if time.time() > a.deadline:
            break
        if not take(os.path.join(a.session, file.name + ".taken")):
            continue
        text = file.read_text()
        row = {"name": text.partition("\n")[0][3:]}
        for who, side in sides.items():
            try:
                row[who] = measure(side, text, a.runs, not a.no_cubin)
            except Exception as e:  # which Triton raises of many kinds
                row["failed"] = f"{who}: {(str(e).strip() or type(e).__name__).splitlines()[0]}"
        if a.alone and "failed" not in row:
            row["alone"] = ptxas_alone(ptxas, sides["tritonc"].ptx, a.runs, a.session)
        print(json.dumps(row), flush=True)


def run(a):
    with tempfile.TemporaryDirectory(prefix="tc-") as session:
        a.session = session
        os.environ["TRITONC_CACHE_DIR"] = os.path.join(session, "cache")
        server = None if a.no_server else Tritonc(session, a.tritonc).server
        if server:
            server.begin()
        try:
            deadline = time.time() + a.budget
            outs = [os.path.join(session, f"out{i}") for i in range(a.processes)]
            workers = []
            for out in outs:
                command = [sys.executable, __file__, "work", str(a.dir), "--session", session, "--deadline", str(deadline),
                           "--runs", str(a.runs), "--tritonc", a.tritonc, *["--ours"] * a.ours, *["--no-cubin"] * a.no_cubin,
                           *["--no-server"] * a.no_server, *["--alone"] * a.alone]
                with open(out, "w") as f:
                    workers.append(subprocess.Popen(command, stdout=f))
            for w in workers:
                try:
                    w.wait(max(0, deadline + a.grace - time.time()))
                except subprocess.TimeoutExpired:
                    w.kill()
                    w.wait()
            out = [json.loads(line) for path in outs for line in pathlib.Path(path).read_text().splitlines() if line.endswith("}")]
            taken = len(list(pathlib.Path(session).glob("*.taken")))
            if taken > len(out):
                print(f"{taken - len(out)} kernels were not compiled in time")
            bad = [w.returncode for w in workers if w.returncode not in (0, -9)]
        finally:
            if server:
                server.stop()
    print(table(out))
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(out, indent=1) + "\n")
    return 1 if bad or not out else 0


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def table(rows):
    good = [r for r in rows if "failed" not in r]
    lines = [f"{r['name']}: {r['failed']}" for r in rows if "failed" in r]
    both = sorted((r for r in good if "triton" in r), key=lambda r: r["tritonc"][0] / r["triton"][0])
    alone = (f"{'alone':>8}", "{:8.2f}") if any("alone" in r for r in good) else ("", "")
    lines.append(f"{'ms':72}{'Triton':>8}{'+ptxas':>8}{'tritonc':>8}{'+ptxas':>8}{'ratio':>7}{'+ptxas':>7}{'share':>7}" + alone[0])
    for r in both or good:
        t, o = r.get("triton"), r["tritonc"]
        cells = "".join(f"{1e3 * x:8.2f}" for x in (*(t or ()), *o))
        if t:
            cells += f"{o[0] / t[0]:7.3f}{o[1] / t[1]:7.3f}{1 - t[0] / t[1]:7.3f}"
        lines.append(f"{r['name'][-72:]:72}{cells}" + (alone[1].format(1e3 * r["alone"]) if alone[1] else ""))
    if both:
        without, full = ([r["tritonc"][i] / r["triton"][i] for r in both] for i in (0, 1))
        share = [1 - r["triton"][0] / r["triton"][1] for r in both]
        lines.append(f"{len(both)} kernels, geometric means: without ptxas tritonc takes {geometric(without):.3f} of Triton's time (at most {max(without):.3f}), "
                     f"with ptxas {geometric(full):.3f} (at most {max(full):.3f}); ptxas is {geometric(share):.3f} of Triton's")
    return "\n".join(lines)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=("prepare", "run", "work"), metavar="prepare|run")
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("--checkouts", type=pathlib.Path)
    p.add_argument("--count", type=int, default=160, help="prepare: how many kernels (%(default)s)")
    p.add_argument("--tritonc", default=str(ROOT / "bin/tritonc"))
    p.add_argument("--runs", type=int, default=3, help="run: of each kernel (%(default)s)")
    p.add_argument("--processes", type=int, default=4, help="run: how many measure at once (%(default)s)")
    p.add_argument("--budget", type=float, default=3600, help="run: seconds after which no kernel is begun")
    p.add_argument("--grace", type=float, default=10, help="run: seconds after that when what is under way is given up (%(default)s)")
    p.add_argument("--ours", action="store_true", help="run: tritonc alone")
    p.add_argument("--no-cubin", action="store_true", help="run: no ptxas, with --ours")
    p.add_argument("--no-server", action="store_true", help="run: a process of tritonc's for each compile")
    p.add_argument("--alone", action="store_true", help="run: also ptxas alone, on tritonc's PTX")
    p.add_argument("--json", help="run: a file for the rows")
    p.add_argument("--session", help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    if a.verb == "prepare":
        if not a.checkouts:
            p.error("prepare needs --checkouts")
        return prepare(a)
    if a.alone and a.ours:
        p.error("--alone takes the ptxas that Triton would, and goes with both sides")
    return work(a) if a.verb == "work" else run(a)


if __name__ == "__main__":
    sys.exit(main())
