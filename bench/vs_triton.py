#!/usr/bin/env python3
"""tritonc beside Triton on one GPU: right results, then time.

    bench/vs_triton.py prepare DIR   compile the kernels with tritonc (no GPU needed)
    bench/vs_triton.py run DIR       check and time them (needs CUDA, torch, triton)
    bench/vs_triton.py               both, in build/bench

For each case it takes our cubin for the GPU's capability and our PTX for
cuda:80, which the driver compiles itself, and compares their results with
torch's, on odd sizes and with poisoned outputs. Then it assembles our PTX and
Triton's with the same ptxas and times both in turn: CUDA graphs of many
launches over input sets that together exceed the L2 cache, medians over rounds.
Exit status 1 when a result is wrong or a time misses --limit.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# Name, kernel, its signature for tritonc, num_warps. "odd" variants promise
# nothing of lengths and strides.
CASES = [
    ("vector_add", "vector_add", "*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=1024", 4),
    ("vector_add_odd", "vector_add", "*fp32:16, *fp32:16, *fp32:16, i32, BLOCK=1024", 4),
    ("softmax_1024", "row_softmax", "*fp32:16, *fp32:16, i32:16, i32:16, i32:16, BLOCK=1024", 4),
    ("softmax_8192", "row_softmax", "*fp32:16, *fp32:16, i32:16, i32:16, i32:16, BLOCK=8192", 8),
    ("softmax_odd", "row_softmax", "*fp32, *fp32, i32, i32, i32, BLOCK=1024", 4),
    ("layer_norm_4096", "layer_norm_fwd", "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16, fp32, BLOCK=4096", 8),
    ("layer_norm_odd", "layer_norm_fwd", "*fp16, *fp16, *fp16, *fp16, *fp32, *fp32, i32, i32, fp32, BLOCK=4096", 8),
]


def prepare(tritonc, out):
    """Compiles every case for cuda:90 and cuda:80 into out/<arch>/<case>.*"""
    for arch in (90, 80):
        for name, kernel, signature, warps in CASES:
            folder = out / str(arch) / name
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [tritonc, "--target", f"cuda:{arch}", "-n", kernel, "-s", signature, "-w", str(warps),
                 "--emit", "ttir,ttgir,llir,ptx,cubin,json", "-o", folder, HERE / "kernels.py"],
                check=True)
    print(f"{len(CASES)} kernels for cuda:90 and cuda:80 in {out}")


class Driver:
    """The few calls of the CUDA driver that loading and launching take."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")

    def check(self, code, what):
        if code != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{what}: {text.value.decode() if text.value else code}")

    def load(self, image, name, shared):
        """A kernel from a cubin, or from PTX, which the driver then compiles."""
        if isinstance(image, str):
            image = image.encode() + b"\0"
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.cuModuleLoadData(ctypes.byref(module), image), "cuModuleLoadData")
        self.check(self.lib.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), "cuModuleGetFunction")
        if shared > 48 << 10:
            max_dynamic_shared = 8
            self.check(self.lib.cuFuncSetAttribute(function, max_dynamic_shared, shared), "cuFuncSetAttribute")
        return function

    def launch(self, function, grid, threads, shared, stream, args):
        slots = (ctypes.c_void_p * len(args))(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in args])
        self.check(
            self.lib.cuLaunchKernel(function, *grid, threads, 1, 1, shared, ctypes.c_void_p(stream), slots, None),
            "cuLaunchKernel")


def c_args(values):
    """Kernel arguments: tensors by address, ints, floats, then the two scratch pointers."""
    out = []
    for v in values:
        if hasattr(v, "data_ptr"):
            out.append(ctypes.c_void_p(v.data_ptr()))
        elif isinstance(v, float):
            out.append(ctypes.c_float(v))
        else:
            out.append(ctypes.c_int32(v))
    return out + [ctypes.c_void_p(0), ctypes.c_void_p(0)]


class Kernel:
    def __init__(self, driver, image, meta):
        self.driver, self.meta = driver, meta
        self.function = driver.load(image, meta["name"], meta["shared"])

    def __call__(self, grid, values):
        import torch
        self.driver.launch(self.function, (*grid, 1, 1)[:3], 32 * self.meta["num_warps"], self.meta["shared"],
                           torch.cuda.current_stream().cuda_stream, c_args(values))


def artifact(out, arch, name, ending, mode="r"):
    found = sorted((out / str(arch) / name).glob("*." + ending))
    if len(found) != 1:
        sys.exit(f"{out}/{arch}/{name}: want one .{ending} file, found {len(found)}; run 'prepare' first")
    return open(found[0], mode).read()


def ours(driver, out, arch, name, ending):
    meta = json.loads(artifact(out, arch, name, "json"))
    return Kernel(driver, artifact(out, arch, name, ending, "rb" if ending == "cubin" else "r"), meta)


# ---- the work: inputs, grid, arguments, reference

def case_inputs(name, torch, odd):
    """(grid, values, outputs, reference) for one random instance of a case."""
    dev = "cuda"
    if name.startswith("vector_add"):
        n = 1 << 28 if not odd else int(torch.randint(1, 100_000, ()))
        x, y, o = (torch.randn(n, device=dev) for _ in range(3))
        o.fill_(float("nan"))
        return ((n + 1023) // 1024,), [x, y, o, n], [o], lambda: [x + y]
    if name.startswith("softmax"):
        cols = {"softmax_1024": 1024, "softmax_8192": 8192}.get(name) or int(torch.randint(1, 1025, ()))
        rows, stride = (4096, cols) if not odd else (int(torch.randint(1, 300, ())), cols + int(torch.randint(0, 9, ())))
        x = torch.randn(rows, stride, device=dev)
        o = torch.full_like(x, float("nan"))
        ref = lambda: [torch.softmax(x[:, :cols].double(), 1).float()]
        return (rows,), [o, x, stride, stride, cols], [o[:, :cols]], ref
    cols = 4096 if not odd else int(torch.randint(1, 4097, ()))
    rows, stride = (4096, cols) if not odd else (int(torch.randint(1, 300, ())), cols + int(torch.randint(0, 9, ())))
    x = torch.randn(rows, stride, device=dev, dtype=torch.float16)
    w, b = (torch.randn(cols, device=dev, dtype=torch.float16) for _ in range(2))
    y = torch.full_like(x, float("nan"))
    mean, rstd = (torch.full((rows,), float("nan"), device=dev) for _ in range(2))

    def ref():
        d = x[:, :cols].double()
        m, v = d.mean(1), d.var(1, unbiased=False)
        r = (v + 1e-5).rsqrt()
        return [((d - m[:, None]) * r[:, None] * w.double() + b.double()).half(), m.float(), r.float()]

    return (rows,), [x, y, w, b, mean, rstd, stride, cols, 1e-5], [y[:, :cols], mean, rstd], ref


def error(out, ref):
    """The greatest error of out relative to the scale of ref; NaN counts as infinite."""
    d = (out.double() - ref.double()).abs()
    e = (d / (ref.double().abs() + 1e-3 * ref.double().abs().max() + 1e-30)).max().item()
    return float("inf") if e != e else e


def check(torch, kernels, rounds):
    """Every (label, case, kernel) against torch; the greatest error of each."""
    worst = {}
    for label, name, kernel in kernels:
        odd = name.endswith("_odd")
        for _ in range(rounds if odd else 1):
            grid, values, outs, ref = case_inputs(name, torch, odd)
            kernel(grid, values)
            torch.cuda.synchronize()
            for o, r in zip(outs, ref()):
                limit = 4e-3 if o.dtype == torch.float16 else 2e-5
                e = error(o, r)
                worst[label, name] = max(worst.get((label, name), 0), e / limit)
    return worst


# ---- time

def graph_of(torch, kernel, grid, sets, launches):
    """A CUDA graph of launches over rotating input sets."""
    for s in sets:
        kernel(grid, s)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for i in range(launches):
            kernel(grid, sets[i % len(sets)])
    return g


def time_pair(torch, a, b, grid, sets, launches, rounds):
    """Microseconds a launch of a and b, in turn, and the median of the ratios b/a."""
    graphs = [graph_of(torch, k, grid, sets, launches) for k in (a, b)]
    times = ([], [])
    for _ in range(rounds):
        for g, t in zip(graphs, times):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            g.replay()
            end.record()
            torch.cuda.synchronize()
            t.append(start.elapsed_time(end) * 1e3 / launches)
    ratios = [y / x for x, y in zip(*times)]
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios)


def ptx_version_of(ptxas):
    text = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, re.search(r"release (\d+)\.(\d+)", text).groups())
    if major == 12:
        return 80 + minor if minor < 6 else 79 + minor
    return {11: 70, 13: 90}[major] + minor


def assemble(ptxas, ptx, gpu):
    """A cubin; the .version line is lowered to what this ptxas takes."""
    have = ptx_version_of(ptxas)
    wanted = int("".join(re.search(r"\.version (\d+)\.(\d+)", ptx).groups()))
    v = min(have, wanted)
    ptx = re.sub(r"\.version \d+\.\d+", f".version {v // 10}.{v % 10}", ptx, count=1)
    ptx = re.sub(r"(\.target [a-z0-9_]+), debug", r"\1", ptx, count=1)
    with tempfile.TemporaryDirectory() as tmp:
        src, dst = os.path.join(tmp, "k.ptx"), os.path.join(tmp, "k.cubin")
        pathlib.Path(src).write_text(ptx)
        r = subprocess.run([ptxas, "-v", "-lineinfo", f"--gpu-name={gpu}", src, "-o", dst], capture_output=True, text=True)
        if r.returncode:
            sys.exit(f"{ptxas}: {r.stderr}")
        regs = re.search(r"Used (\d+) registers", r.stderr)
        spills = re.search(r"(\d+) bytes spill stores", r.stderr)
        return pathlib.Path(dst).read_bytes(), (int(regs[1]) if regs else -1, int(spills[1]) if spills else 0)


def find_ptxas():
    """Triton's own ptxas first, then TRITONC_PTXAS and PATH; by version, each once."""
    import triton
    own = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    found = {}
    for p in (own, os.environ.get("TRITONC_PTXAS"), shutil.which("ptxas")):
        if p and os.access(p, os.X_OK):
            found.setdefault(ptx_version_of(str(p)), str(p))
    return found


def triton_kernel(case, capability):
    """Triton's PTX and metadata for a case, compiled from the same source and specialization."""
    import triton
    sys.path.insert(0, str(HERE))
    import kernels
    name, kernel, signature, warps = case
    fn = getattr(kernels, kernel)
    sig, consts, attrs = {}, {}, {}
    for i, (arg, item) in enumerate(zip(fn.arg_names, signature.split(", "))):
        if "=" in item:
            consts[arg] = int(item.split("=")[1])
            sig[arg] = "constexpr"
            continue
        ty, _, hint = item.partition(":")
        sig[arg] = ty
        if hint == "16":
            attrs[(i,)] = [["tt.divisibility", 16]]
    src = triton.compiler.ASTSource(fn, sig, {k: v for k, v in consts.items()}, attrs)
    k = triton.compile(src, target=triton.backends.compiler.GPUTarget("cuda", capability, 32), options={"num_warps": warps})
    return k.asm["ptx"], {"name": k.metadata.name, "shared": k.metadata.shared, "num_warps": k.metadata.num_warps}


def run(out, rounds, limit):
    import torch
    import triton
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    capability = torch.cuda.get_device_capability()
    arch = capability[0] * 10 + capability[1]
    gpu = f"sm_{arch}" + ("a" if arch >= 90 else "")
    driver = Driver()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")

    kernels = []
    for name, *_ in CASES:
        kernels.append((f"cuda:{arch} cubin", name, ours(driver, out, arch, name, "cubin")))
        kernels.append(("cuda:80 PTX, JIT", name, ours(driver, out, 80, name, "ptx")))
    worst = check(torch, kernels, rounds=8)
    bad = 0
    print(f"\n{'right?':18} {'case':18} worst error / tolerance")
    for (label, name), e in worst.items():
        bad += not e <= 1
        print(f"{label:18} {name:18} {e:8.3f}{'' if e <= 1 else '   WRONG'}")

    print(f"\n{'ptxas':6} {'case':18} {'ours us':>9} {'triton us':>9} {'triton/ours':>11} {'GB/s':>7}  regs, spills ours | triton")
    for version, ptxas in find_ptxas().items():
        for case in CASES:
            name = case[0]
            if name.endswith("_odd"):
                continue
            grid, values, outs, _ = case_inputs(name, torch, False)
            size = sum(v.numel() * v.element_size() for v in values if hasattr(v, "numel"))
            sets = [values] + [case_inputs(name, torch, False)[1] for _ in range(min(15, (256 << 20) // size))]
            images = []
            for ptx, meta in ((artifact(out, arch, name, "ptx"), json.loads(artifact(out, arch, name, "json"))),
                              triton_kernel(case, arch)):
                cubin, use = assemble(ptxas, ptx, gpu)
                images.append((Kernel(driver, cubin, meta), use))
            (a, use_a), (b, use_b) = images
            launches = max(4, min(64, int(2e9 / size)))
            ta, tb, ratio = time_pair(torch, a, b, grid, sets, launches, rounds)
            miss = ratio < limit
            bad += miss
            print(f"{version // 10}.{version % 10:<4} {name:18} {ta:9.2f} {tb:9.2f} {ratio:11.3f} {size / ta / 1e3:7.0f}  {use_a} | {use_b}{'   SLOW' if miss else ''}")
            del sets, values, outs
            torch.cuda.empty_cache()
    return 1 if bad else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", nargs="?", choices=["prepare", "run", "both"], default="both")
    p.add_argument("dir", nargs="?", type=pathlib.Path, default=HERE.parent / "build/bench")
    p.add_argument("--tritonc", default=os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc")))
    p.add_argument("--rounds", type=int, default=25, help="timed rounds of each pair (25)")
    p.add_argument("--limit", type=float, default=0.95, help="the least Triton time / our time (0.95)")
    a = p.parse_args()
    if a.verb != "run":
        prepare(a.tritonc, a.dir)
    sys.exit(0 if a.verb == "prepare" else run(a.dir, a.rounds, a.limit))


if __name__ == "__main__":
    main()
