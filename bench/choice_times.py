#!/usr/bin/env python3
"""How fast kernels run by what LLVM's optimizer did to them.

    bench/choice_times.py prepare DIR    compile every job with every choice (no GPU needed)
    bench/choice_times.py run DIR        time them (needs CUDA and torch); writes DIR/times.tsv

The jobs are those of core/frontend/testdata/jobs.txt that cuda:80 can run, the
choices the rows of backends/nvidia/llvmpasses.tsv, and the code is that for
cuda:80, assembled for the GPU by the ptxas that prepare finds. LAUNCHES has
grids that fill the GPU. The choices of a job are timed in turn, so that a change
of clocks meets all alike; the file has medians in microseconds, as
TRITONC_KERNEL_TIMES=FILE make performance takes them (docs/results/performance.md).
"""

import argparse
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ir_jobs
import measure

CHOICES = HERE.parent / "backends/nvidia/llvmpasses.tsv"
ARCH = 80
MANY = 1056  # programs: eight for each multiprocessor of an H200


@dataclasses.dataclass
class Launch:
    """A grid, and for each parameter a number, or how many elements its memory has."""
    grid: tuple
    args: dict


def matmul(m, n, k, bm=128, bn=128, step=1):
    strides = {"sam": k * step, "sak": step, "sbk": n * step, "sbn": step, "scm": n * step, "scn": step}
    return Launch((-(-m // bm) * -(-n // bn), 1, 1),
                  {"a_ptr": m * k * step, "b_ptr": k * n * step, "c_ptr": m * n * step, "M": m, "N": n, "K": k, **strides})


def many(**elements):
    """Programs that all do the same: kernels of jobs.txt whose sizes are constants."""
    return Launch((MANY, 1, 1), elements)


FLASH = Launch((16, 32, 1), {**dict.fromkeys("QKVO", 32 * 2048 * 64), "L": 32 * 2048, "scale": 0.125,
                             "sz": 32 * 2048 * 64, "sh": 2048 * 64, "sm": 64, "H": 32, "N_CTX": 2048})
DOT = many(a_ptr=4096, b_ptr=4096, o_ptr=4096)

LAUNCHES = {
    "vector_add": Launch((16384, 1, 1), {"x_ptr": 1 << 24, "y_ptr": 1 << 24, "out_ptr": 1 << 24, "n": 1 << 24}),
    "row_softmax": Launch((8192, 1, 1), {"out_ptr": 1 << 24, "in_ptr": 1 << 24, "in_stride": 2048, "out_stride": 2048,
                                         "n_cols": 2048}),
    "layer_norm_fwd": Launch((4096, 1, 1), {"X": 1 << 24, "Y": 1 << 24, "W": 4096, "B": 4096, "Mean": 4096,
                                            "Rstd": 4096, "stride": 4096, "N": 4096, "eps": 1e-5}),
    "layer_norm_bwd": Launch((264, 1, 1), {"DX": 1 << 23, "DY": 1 << 23, "DW": 2048, "DB": 2048, "X": 1 << 23,
                                           "W": 2048, "Mean": 4096, "Rstd": 4096, "M": 4096, "N": 2048}),
    "matmul_fp16": matmul(2048, 2048, 2048),
    "matmul_fp16_strided": matmul(512, 512, 512, step=16),
    "matmul_fp16_8w": matmul(2048, 2048, 2048, bn=256),
    "matmul_bf16": matmul(2048, 2048, 2048),
    "matmul_fp32": matmul(1024, 1024, 1024),
    "matmul_desc": matmul(2048, 2048, 2048),
    "matmul_desc_ws": matmul(2048, 2048, 2048),
    "flash_fwd_full": FLASH,
    "flash_fwd_causal": FLASH,
    "row_min_split": Launch((128, 1, 1), {"in_ptr": 64 << 18, "out_ptr": 64, "M": 64, "N": 1 << 18, "sm": 1 << 18}),
    "prod_mid": Launch((528, 1, 1), {"inp": 1 << 24, "mid": 528, "M": 1 << 24}),
    "cumsum_rows": Launch((8192, 1, 1), {"x_ptr": 1 << 24, "y_ptr": 1 << 24, "stride": 2048, "N": 2048}),
    "casts": many(x_ptr=256, h_ptr=256, b_ptr=256, i8_ptr=256, u8_ptr=256, i64_ptr=256),
    "promotions": many(x_ptr=256, i_ptr=256, u_ptr=256, o_ptr=256, s=48, f=0.5),
    "control_flow": many(x_ptr=256 * MANY + 64, o_ptr=256 * MANY, n=256 * MANY, flag=16),
    "calls": many(x_ptr=256, o_ptr=256),
    "reductions": many(x_ptr=2048, o_ptr=97, i_ptr=128),
    "reduce_tuple": many(x_ptr=1024, o_ptr=1),
    "scans": many(x_ptr=2048, o_ptr=2048),
    "sorts": many(x_ptr=256, o_ptr=520, h_ptr=64),
    "shapes": many(x_ptr=1024, o_ptr=3072),
    "atomics": Launch((132, 1, 1), {"x_ptr": 32, "i_ptr": 40960, "o_ptr": 33792, "n": 33792}),
    "block_ptrs": many(a_ptr=MANY * 32 * 1024, o_ptr=MANY * 32 * 64, M=MANY * 32, N=1024, sm=1024),
    "descriptors": Launch((128, 64, 1), {"a_ptr": 1 << 24, "o_ptr": 1 << 24, "M": 4096, "N": 4096}),
    "dot_fp16_float32_None": DOT,
    "dot_bf16_float32_None": DOT,
    "dot_i8_int32_None": DOT,
    "dot_fp32_float32_tf32": DOT,
    "dot_fp32_float32_ieee": DOT,
    "dot_fp32_float32_tf32x3": DOT,
    "dot_fp8e5_float32_None": DOT,
    "dot_fp16_float16_None": DOT,
    "dot_fp64_float64_None": DOT,
    "dot_chain": many(q_ptr=4096, k_ptr=4096, v_ptr=4096, o_ptr=4096),
    "maths": many(x_ptr=128, o_ptr=128),
    "libdevices": many(x_ptr=128, o_ptr=128),
    "randoms": many(o_ptr=128 * MANY, seed=1232),
    "inline_asm": many(x_ptr=128, o_ptr=128),
    "hints": many(x_ptr=512, o_ptr=256, M=256, N=16),
    "transpose2d": Launch((64, 64, 1), {"x_ptr": 1 << 24, "o_ptr": 1 << 24, "M": 4096, "N": 4096}),
    "dot_scaled": many(a_ptr=2048, as_ptr=128, b_ptr=4096, o_ptr=4096),
}

# What is not timed: what cuda:80 cannot run, and what prints.
LEFT_OUT = {"casts_fp8", "matmul_fp8e4nv", "debugging"}


def choices():
    """The names of the rows of llvmpasses.tsv."""
    return [line.split("\t")[0] for line in CHOICES.read_text().splitlines() if line and not line.startswith("#")]


# ---- prepare


def artifacts(tritonc, ptxas, gpu, job, choice, folder):
    """(cubin, metadata) of a job with a choice."""
    argv = [tritonc, "--target", f"cuda:{ARCH}", "-n", job.kernel, "-s", job.signature(),
            "--option", f"llvm_passes={choice}", "--no-cache", "--emit", "ptx,json", "-o", str(folder)]
    for name, value in job.options.items():
        argv += ["--option", f"{name}={value}"]
    r = subprocess.run([*argv, str(ir_jobs.TESTDATA / job.file)], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"{job.name}, {choice}: {r.stderr.strip()}")
    ptx, = folder.glob("*.ptx")
    meta, = folder.glob("*.json")
    cubin, _ = ptxas.cubin(ptx.read_text(), gpu)
    return cubin, meta.read_bytes()


def prepare(tritonc, ptxas, gpu, out):
    out.mkdir(parents=True, exist_ok=True)
    jobs = ir_jobs.jobs()
    todo = [(jobs[name], c) for name in LAUNCHES for c in choices()]
    with tempfile.TemporaryDirectory() as tmp, zipfile.ZipFile(out / "choice.part", "w", zipfile.ZIP_LZMA) as z, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:

        def one(item):
            job, choice = item
            folder = pathlib.Path(tmp, f"{job.name}-{choice}")
            folder.mkdir()
            return artifacts(tritonc, ptxas, gpu, job, choice, folder)

        for (job, choice), (cubin, meta) in zip(todo, threads.map(one, todo)):
            z.writestr(f"{job.name}/{choice}.cubin", cubin)
            z.writestr(f"{job.name}/{choice}.json", meta)
    (out / "choice.part").replace(out / "choice.zip")
    print(f"{len(todo)} kernels, {(out / 'choice.zip').stat().st_size / 1e6:.1f} MB")


# ---- run


def memory(torch, ty, elements):
    """Elements of a type: normal values, small integers."""
    if ty in ("fp32", "fp16", "bf16", "fp64"):
        kind = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64}[ty]
        return torch.randn((elements,), device="cuda").to(kind)
    size = {"fp8e5": 1, "i8": 1, "u8": 1, "i32": 4, "u32": 4, "i64": 8}[ty]
    small = torch.randint(1, 100, (elements,), device="cuda")
    return small.to({1: torch.uint8, 4: torch.int32, 8: torch.int64}[size])


def values(torch, job):
    """(types, values) of a launch."""
    types, out = [], []
    for name, text in job.runtime.items():
        ty, value = text.partition(":")[0], LAUNCHES[job.name].args[name]
        types.append(ty)
        out.append(memory(torch, ty[1:], value) if ty.startswith("*") else value)
    return types, out


def time_job(torch, driver, z, job, rounds):
    """{choice: median microseconds}"""
    types, args = values(torch, job)
    launches = {}
    for c in choices():
        kernel = measure.Kernel(driver, z.read(f"{job.name}/{c}.cubin"), json.loads(z.read(f"{job.name}/{c}.json")))
        launches[c] = kernel.launcher(torch, LAUNCHES[job.name].grid, types, args)
    rough = max(measure.estimate(torch, [launch]) for launch in launches.values())
    count = measure.launches_for(rough, 1, total=4000)
    graphs = {c: measure.Graph(torch, [launch], count) for c, launch in launches.items()}
    return {c: statistics.median(times) for c, times in measure.time_graphs(graphs, rounds).items()}


def run(torch, out, rounds):
    driver = measure.Driver()
    torch.zeros((1,), device="cuda")  # makes torch's context, which the driver then shares
    driver.make_current()
    jobs, lines, logs = ir_jobs.jobs(), [], {}
    with zipfile.ZipFile(out / "choice.zip") as z:
        for name in LAUNCHES:
            times = time_job(torch, driver, z, jobs[name], rounds)
            lines += [f"{name}\t{c}\t{us:.4g}\n" for c, us in times.items()]
            first = next(iter(times.values()))
            for c, us in times.items():
                logs.setdefault(c, []).append(math.log(us / first))
            print(f"{name:24}", *(f"{c} {us:10.4g}" for c, us in times.items()), flush=True)
            (out / "times.tsv").write_text("".join(lines))  # what is known so far, should a kernel break it
    for c, each in logs.items():
        print(f"{c}: {math.exp(statistics.fmean(each)):.4f} of the first, {len(each)} kernels")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["prepare", "run"])
    p.add_argument("dir", type=lambda s: pathlib.Path(s).resolve(), metavar="DIR")
    p.add_argument("--tritonc", default=os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc")))
    p.add_argument("--ptxas", default=os.environ.get("PTXAS") or shutil.which("ptxas"), help="prepare: the assembler")
    p.add_argument("--gpu", default="sm_90", help="prepare: what to assemble for (sm_90)")
    p.add_argument("--rounds", type=int, default=25, help="run: how often each is timed (25)")
    p.add_argument("--dry-run", action="store_true", help="run: with stand-ins for torch and the driver")
    a = p.parse_args()
    if a.verb == "prepare":
        if not a.ptxas:
            p.error("there is no ptxas; name one with --ptxas")
        return prepare(a.tritonc, measure.Assembler(a.ptxas), a.gpu, a.dir)
    if a.dry_run:
        import standin
        standin.install()
    import torch
    run(torch, a.dir, a.rounds)


if __name__ == "__main__":
    main()
