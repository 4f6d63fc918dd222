#!/usr/bin/env python3
"""tritonc tune beside Triton's autotuner, and the simulator's model beside a GPU.

    bench/tune_times.py prepare DIR     estimate 60 configurations by the model (no GPU needed)
    bench/tune_times.py run DIR         measure them, and tune as Triton does (needs CUDA, torch, triton)
    bench/tune_times.py table DIR       the tables of what both left

prepare has tritonc tune a matmul and an attention of bench/kernels.py on the simulated
GPU of --target, and leaves DIR/model.json. run has it tune the same configurations on the
GPU (DIR/gpu.json), and then tunes a matmul over a list of 16 configurations three times
each, from cold caches: with Triton's autotuner in a process of its own, and with tritonc
(DIR/autotune.json). table prints the rank correlation of the model's estimates with the
GPU's times, and both sides' times for compiles and for all, with their winners.

run needs a tritonc with its backend, llc, ptxas and the driver of devices,
tritonc-device-cuda, beside it or in TRITONC_BACKEND_PATH: what bench/bundle.sh packs, and
scripts/device-cuda.sh builds. --tritonc says where it is.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE / "kernels.py"
ROUNDS = 3

# The list that Triton's tutorial of the matmul has for CUDA, of which f16 leaves eleven.
TUTORIAL = [
    (128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4), (128, 32, 32, 4, 4), (64, 32, 32, 2, 5), (32, 64, 32, 2, 5),
    (128, 256, 128, 8, 3), (256, 128, 128, 8, 3), (256, 64, 128, 4, 4), (64, 256, 128, 4, 4),
    (128, 128, 128, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 32, 64, 4, 4),
]
SHARED = 227 * 1024  # of a block
MATMULS, FLASHES = 40, 20
SIZE = 4096  # of the matmul
Z, H, CTX, D = 4, 32, 4096, 128  # of the attention


def matmul_config(bm, bn, bk, warps, stages):
    return {"kwargs": {"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, "num_warps": warps, "num_stages": stages}


def flash_config(bm, bn, warps, stages):
    return {"kwargs": {"BM": bm, "BN": bn}, "num_warps": warps, "num_stages": stages}


def matmul_space():
    """Configurations that fit, drawn from all combinations: the same on every machine."""
    every = [matmul_config(bm, bn, bk, warps, stages)
             for bm in (32, 64, 128, 256) for bn in (32, 64, 128, 256) for bk in (32, 64) for warps in (4, 8)
             for stages in (2, 3, 4)
             if 2 * (bm + bn) * bk * stages <= SHARED and 8 <= bm * bn / (32 * warps) <= 256]
    return random.Random(17).sample(every, MATMULS)


def flash_space():
    every = [flash_config(bm, bn, warps, stages)
             for bm in (64, 128) for bn in (32, 64, 128) for warps in (4, 8) for stages in (2, 3, 4)
             if 2 * D * (bm + 2 * bn * stages) <= SHARED and bm >= 16 * warps]
    return random.Random(17).sample(every, FLASHES)


def matmul_args(size, fill):
    strides = {"sam": "K", "sak": 1, "sbk": "N", "sbn": 1, "scm": "N", "scn": 1}
    args = {"M": size, "N": size, "K": size, "a_ptr": f"{fill}:fp16[M,K]", "b_ptr": f"{fill}:fp16[K,N]",
            "c_ptr": "empty:fp16[M,N]", **strides}
    return ["-n", "matmul", "--grid", "cdiv(M, BM) * cdiv(N, BN)", *given(args)]


def flash_args(fill):
    n = Z * H * CTX
    args = {p: f"{fill}:fp16[{n},{D}]" for p in "QKV"} | {
        "O": f"empty:fp16[{n},{D}]", "L": f"empty:fp32[{n}]", "scale": D**-0.5, "sz": H * CTX * D, "sh": CTX * D, "sm": D,
        "sd": 1, "H": H, "N_CTX": CTX, "D": D, "CAUSAL": False}
    return ["-n", "flash_fwd", "--grid", f"cdiv(N_CTX, BM), {Z * H}", *given(args)]


def given(args):
    return [word for name, value in args.items() for word in ("--arg", f"{name}={value}")]


def say(*words):
    print(*words, flush=True)


def tune(tritonc, out, configs, args, device, target=None, env=None, more=()):
    """Runs tritonc tune over configs; returns what it printed."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(configs, f)
        f.flush()
        command = [tritonc, "tune", "--device", device, "--configs", f.name, "--write", str(out), "--rows", "0", *more, *args]
        if target:
            command += ["--target", target]
        r = subprocess.run([*command, str(KERNELS)], capture_output=True, text=True, env={**os.environ, **(env or {})})
    if r.returncode:
        raise SystemExit(f"{' '.join(command)}\n{r.stdout}{r.stderr}")
    return r.stdout


def both(tritonc, out, device, fill, target=None):
    """Times of the 60 configurations, into a new file."""
    out.unlink(missing_ok=True)
    for configs, args in ((matmul_space(), matmul_args(SIZE, fill)), (flash_space(), flash_args(fill))):
        say(tune(tritonc, out, configs, args, device, target))


# ---- Triton's side


def triton_autotune(size):
    """One process of Triton's autotuner, from its cache's state: prints a JSON object."""
    import torch
    import triton
    from triton import knobs
    sys.path.insert(0, str(HERE))
    import kernels

    compiles = []
    began = [0.0]

    def listener(**_):
        compiles.append(time.perf_counter())

    fn = triton.autotune(configs=[triton.Config(c["kwargs"], num_warps=c["num_warps"], num_stages=c["num_stages"])
                                  for c in (matmul_config(*t) for t in TUTORIAL)], key=["M", "N", "K"])(kernels.matmul)
    inner = kernels.matmul._do_compile
    spent = [0.0]

    def timed(*args, **kwargs):
        start = time.perf_counter()
        try:
            return inner(*args, **kwargs)
        finally:
            spent[0] += time.perf_counter() - start

    kernels.matmul._do_compile = timed
    knobs.compilation.listener = listener
    a = torch.randn(size, size, device="cuda", dtype=torch.float16)
    b = torch.randn(size, size, device="cuda", dtype=torch.float16)
    c = torch.empty(size, size, device="cuda", dtype=torch.float16)
    torch.cuda.synchronize()
    began[0] = time.perf_counter()
    fn[lambda m: (triton.cdiv(size, m["BM"]) * triton.cdiv(size, m["BN"]),)](a, b, c, size, size, size, size, 1, size, 1, size, 1)
    torch.cuda.synchronize()
    whole = time.perf_counter() - began[0]
    times = [{"config": {"kwargs": k.kwargs, "num_warps": k.num_warps, "num_stages": k.num_stages}, "us": t[0] * 1e3}
             for k, t in fn.configs_timings.items() if math.isfinite(t[0])]
    print(json.dumps({"whole": whole, "compiling": spent[0], "compiles": len(compiles), "configs": times}))


def cold(command, folder):
    """Runs a command whose caches are empty; returns its standard output."""
    env = {**os.environ, "TRITON_CACHE_DIR": f"{folder}/triton", "XDG_CACHE_HOME": f"{folder}/cache"}
    r = subprocess.run(command, capture_output=True, text=True, env=env)
    if r.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{r.stdout}{r.stderr}")
    return r.stdout


DURATION = r"((?:[\d.]+(?:h|m|s|ms|µs))+)"


def seconds(text):
    """A duration as Go writes it, in seconds."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "µs": 1e-6}
    return sum(float(n) * units[u] for n, u in re.findall(r"([\d.]+)(ms|µs|h|m|s)", text))


def told(text):
    """The times that tritonc tune prints."""
    m = re.search(rf" in {DURATION} \(compiles ended after {DURATION}, the device took {DURATION}\)", text)
    return {"whole": seconds(m[1]), "compiling": seconds(m[2]), "measuring": seconds(m[3])}


def autotune_ours(tritonc, device, size):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "t.json")
        text = tune(tritonc, out, [matmul_config(*t) for t in TUTORIAL], matmul_args(size, "randn"), device,
                    env={"XDG_CACHE_HOME": f"{folder}/cache"})
        entry = json.loads(out.read_text())["entries"][0]
    return told(text) | {"configs": [c for c in entry["configs"] if "us" in c]}


def autotune_triton(size):
    with tempfile.TemporaryDirectory() as folder:
        text = cold([sys.executable, __file__, "triton", "-", "--size", str(size)], folder)
    return json.loads(text.splitlines()[-1])


# ---- tables


def ranks(values):
    """Ranks from 0, equal values with the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    i = 0
    while i < len(order):
        k = i
        while k + 1 < len(order) and values[order[k + 1]] == values[order[i]]:
            k += 1
        for j in range(i, k + 1):
            out[order[j]] = (i + k) / 2
        i = k + 1
    return out


def correlation(pairs):
    """Spearman's rank correlation of pairs."""
    a, b = ranks([p[0] for p in pairs]), ranks([p[1] for p in pairs])
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    cov = sum((x - ma) * (y - mb) for x, y in zip(a, b))
    va, vb = sum((x - ma)**2 for x in a), sum((y - mb)**2 for y in b)
    return cov / math.sqrt(va * vb) if va and vb else 0.0


def same(config):
    """What two configurations agree in that are the same."""
    return json.dumps([sorted(config["kwargs"].items()), config.get("num_warps"), config.get("num_stages")])


def text_of(config):
    return ", ".join(map(str, [*config["kwargs"].values()])) + f", w{config['num_warps']} s{config['num_stages']}"


def by_kernel(path):
    return {e["kernel"]: e for e in json.loads(path.read_text())["entries"]}


def model_table(model, gpu):
    """Lines of the table of the model beside the GPU, and the correlation of all."""
    lines, every = ["| kernel | configurations | rank correlation | model's best of them on the GPU |", "|---|---|---|---|"], []
    for kernel, entry in gpu.items():
        times = {same(c["config"]): c["us"] for c in entry["configs"] if "us" in c}
        guesses = {same(c["config"]): c["us"] for c in model[kernel]["configs"] if "us" in c}
        pairs = [(t, guesses[k]) for k, t in times.items() if k in guesses]
        every += pairs
        best = min((g, t) for t, g in pairs)[1]
        lines.append(f"| {kernel} | {len(pairs)} | {correlation(pairs):.2f} | {100 * (best / min(t for t, _ in pairs) - 1):.1f} % slower than the fastest |")
    lines.append(f"| all | {len(every)} | {correlation(every):.2f} | |")
    return lines, correlation(every)


def autotune_table(results):
    """Lines of the table of both autotuners: medians of the rounds."""
    def median(side, key):
        values = sorted(r[key] for r in results[side])
        return values[len(values) // 2]

    def winner(side):
        best = [min(r["configs"], key=lambda c: c["us"]) for r in results[side]]
        return sorted(best, key=lambda c: c["us"])[len(best) // 2]

    lines = ["| | Triton | tritonc |", "|---|---|---|"]
    for key, name in (("compiling", "compiles"), ("whole", "all")):
        a, b = median("triton", key), median("tritonc", key)
        lines.append(f"| {name} | {a:.2f} s | {b:.2f} s ({b / a:.2f}) |")
    whole, measuring = median("tritonc", "whole"), median("tritonc", "measuring")
    lines.append(f"| all beside what the device took | | +{100 * (whole / measuring - 1):.0f} % |")
    a, b = winner("triton"), winner("tritonc")
    lines.append(f"| winner | {text_of(a['config'])}: {a['us']:.1f} us | {text_of(b['config'])}: {b['us']:.1f} us ({b['us'] / a['us']:.3f}) |")
    return lines


def table(folder):
    if (folder / "gpu.json").exists() and (folder / "model.json").exists():
        say("\n".join(model_table(by_kernel(folder / "model.json"), by_kernel(folder / "gpu.json"))[0]), "\n")
    if (folder / "autotune.json").exists():
        say("\n".join(autotune_table(json.loads((folder / "autotune.json").read_text()))))


def run(a):
    both(a.tritonc, a.dir / "gpu.json", a.device, "randn", a.target if a.device == "sim" else None)
    results = {"triton": [], "tritonc": []}
    for _ in range(a.rounds):
        results["tritonc"].append(autotune_ours(a.tritonc, a.device, a.size))
        results["triton"].append(autotune_triton(a.size))
        (a.dir / "autotune.json").write_text(json.dumps(results, indent=1))
    table(a.dir)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["prepare", "run", "table", "triton"], metavar="prepare|run|table")
    p.add_argument("dir", type=pathlib.Path, metavar="DIR", help="where the results are")
    p.add_argument("--tritonc", default=os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc")))
    p.add_argument("--target", default="cuda:90", help="prepare: what the model stands for (cuda:90)")
    p.add_argument("--device", default="cuda", help="run: tritonc's device (cuda)")
    p.add_argument("--rounds", type=int, default=ROUNDS, help=f"run: how often both tune ({ROUNDS})")
    p.add_argument("--size", type=int, default=SIZE, help=f"run: of the matmul that both tune ({SIZE})")
    a = p.parse_args()
    if a.verb == "triton":  # a process that run starts
        triton_autotune(a.size)
        return
    a.dir.mkdir(parents=True, exist_ok=True)
    if not shutil.which(a.tritonc) and a.verb != "table":
        sys.exit(f"there is no {a.tritonc}; --tritonc says where it is")
    if a.verb == "prepare":
        both(a.tritonc, a.dir / "model.json", "sim", "empty", a.target)
    elif a.verb == "table":
        table(a.dir)
    else:
        run(a)


if __name__ == "__main__":
    main()
