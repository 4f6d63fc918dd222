#!/usr/bin/env python3
"""How long each stage of a compile takes, of tritonc and of Triton.

    bench/stage_times.py --target hip:gfx942 [--tritonc bin/tritonc] [--runs 7] [--json FILE] [NAME...]

The kernels are those of core/frontend/testdata/jobs.txt, or those of them that are
named. Triton 3.6 must be installed, but for --ours, which measures tritonc alone; no
GPU is needed for either, and none is asked. The times are medians of the
runs in milliseconds:

- Triton's are what its compilation listener is told, in one process, after a compile
  that is not counted; its front end is called "front end" here.
- tritonc's are those of --time, in a process each, without its cache, after one that
  is not counted. They leave out the start of the process and of the backend, as
  Triton's leave out its imports.

The table has what comes before LLVM's own work, up to llir, and then each stage.
Kernels that either does not compile for the target are listed below it.
"""

import argparse
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ir_jobs

FRONT = "front end"
UP_TO_LLIR = (FRONT, "ttir", "ttgir", "llir")


def medians(runs):
    """{stage: median} of [{stage: milliseconds}], in the order of the first."""
    return {stage: statistics.median(r[stage] for r in runs) for stage in runs[0]}


def stages_of(records):
    """{stage: milliseconds} of the lines that tritonc --json --time writes."""
    out = {}
    for line in records.splitlines():
        r = json.loads(line)
        if r["kind"] != "timing" or "stage" not in r or "step" in r or r["stage"] == "backend start":
            continue
        stage = FRONT if r["stage"] == "parse" else r["stage"]
        out[stage] = out.get(stage, 0) + r["milliseconds"]
    return out


def time_tritonc(args, job):
    command = [args.tritonc, "compile", "--target", args.target, "--no-cache", "--time", "--json", "-n", job.kernel, "-s", job.signature()]
    for name, value in job.options.items():
        command += ["--option", f"{name}={value}"]
    if args.to_llir:
        command += ["--emit", "llir"]
    with tempfile.TemporaryDirectory() as out:
        def once():
            p = subprocess.run([*command, "-o", out, str(ir_jobs.TESTDATA / job.file)], capture_output=True, text=True)
            if p.returncode != 0:
                said = [json.loads(line) for line in (p.stderr + p.stdout).splitlines() if line.startswith("{")]
                raise RuntimeError(next((r["message"] for r in said if r.get("severity") == "error"), p.stderr.strip()))
            return stages_of(p.stdout + p.stderr)

        once()
        return medians([once() for _ in range(args.runs)])


def triton_source(job, fn, tl):
    """(signature, constants, attributes) as triton.compiler.ASTSource takes them."""
    signature, constants, attributes = {}, {}, {}
    for i, name in enumerate(fn.arg_names):
        text = job.params[name]
        if text.startswith("="):
            signature[name], constants[(i,)] = "constexpr", eval(text[1:], {"tl": tl})
            continue
        signature[name], _, hint = text.partition(":")
        if hint:
            attributes[(i,)] = [["tt.divisibility", int(hint)]]
    return signature, constants, attributes


def option(value):
    """An option of jobs.txt as Triton takes it."""
    return {"True": True, "False": False}.get(value, int(value) if value.lstrip("-").isdigit() else value)


def time_triton(args, job):
    import triton
    import triton.language as tl
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    backend, arch, *_ = args.target.split(":")
    warp = 64 if backend == "hip" and arch.startswith("gfx9") else 32
    fn = getattr(importlib.import_module(pathlib.Path(job.file).stem), job.kernel)
    while hasattr(getattr(fn, "fn", None), "arg_names"):
        fn = fn.fn  # what is under @triton.autotune and @triton.heuristics
    heard = []

    def listen(*, times, cache_hit, **_):
        assert not cache_hit, "TRITON_ALWAYS_COMPILE is set too late"
        heard.append({FRONT: times.ir_initialization / 1e3, **{name: us / 1e3 for name, us in times.lowering_stages}})

    knobs.compilation.listener = listen
    options = {name: option(value) for name, value in job.options.items()}
    for _ in range(args.runs + 1):
        source = ASTSource(fn, *triton_source(job, fn, tl))
        triton.compile(source, target=GPUTarget(backend, int(arch) if arch.isdigit() else arch, warp), options=options)
    return medians(heard[1:])


def up_to_llir(times):
    return sum(times[s] for s in UP_TO_LLIR)


def report(rows, failed):
    """Prints the table; a row has "name", "tritonc" and, but for --ours, "triton"."""
    def cells(r, who):
        t = r[who]
        return f"{up_to_llir(t):9.2f}" + "".join(f"{ms:9.2f}" for ms in t.values())

    for who in ("tritonc", "triton"):
        here = [r for r in rows if who in r]
        if not here:
            continue
        print(f"\n{who:28}{'to llir':>9}" + "".join(f"{stage:>9}" for stage in here[0][who]))
        for r in here:
            print(f"{r['name']:28}{cells(r, who)}")
    both = [up_to_llir(r["tritonc"]) / up_to_llir(r["triton"]) for r in rows if "triton" in r]
    if both:
        worst = max((r for r in rows if "triton" in r), key=lambda r: up_to_llir(r["tritonc"]) / up_to_llir(r["triton"]))
        mean = math.exp(statistics.fmean(map(math.log, both)))
        print(f"\nup to llir tritonc takes {mean:.3f} of Triton's time ({len(both)} kernels, geometric mean), "
              f"at most {max(both):.3f} ({worst['name']})")
    for name, who, why in failed:
        print(f"{name}: {who}: {why}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="hip:gfx942")
    p.add_argument("--tritonc", default=str(HERE.parent / "bin/tritonc"))
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--json", help="a file for the rows")
    p.add_argument("--ours", action="store_true", help="tritonc alone")
    p.add_argument("--to-llir", action="store_true", help="tritonc stops at llir, for which no tools of LLVM's are needed")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    sys.path.append(str(ir_jobs.TESTDATA))
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    known = ir_jobs.jobs()
    unknown = [n for n in args.names if n not in known]
    if unknown:
        sys.exit(f"jobs.txt has no {', '.join(unknown)}")
    rows, failed = [], []
    for name in args.names or known:
        row = {"name": name}
        for who, measure in [("tritonc", time_tritonc)] + [("triton", time_triton)] * (not args.ours):
            try:
                row[who] = measure(args, known[name])
            except ImportError as e:
                sys.exit(f"{e}: Triton 3.6 is needed, or --ours")
            except Exception as e:  # which Triton raises of many kinds
                failed.append((name, who, (str(e).strip() or type(e).__name__).splitlines()[0]))
        if "tritonc" in row and (args.ours or "triton" in row):
            rows.append(row)
        print(f"\r{len(rows)} measured, {len(failed)} not", end="", file=sys.stderr, flush=True)
    report(rows, failed)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
