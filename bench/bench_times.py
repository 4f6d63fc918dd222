#!/usr/bin/env python3
"""tritonc bench beside triton.testing.do_bench, on the same machine code.

    bench/bench_times.py [--tritonc PATH] [--limit 0.03] [--out FILE.json]

Kernels of bench/kernels.py are compiled by Triton. Their PTX is measured by do_bench and
by do_bench_cudagraph in this process, and by tritonc bench, with the same ptxas, in
processes of its own; both in turn, --rounds times. Of each side the median counts. It
fails where the two differ by more than --limit.

It needs CUDA, torch and triton, and a tritonc with its backend and the driver of devices,
tritonc-device-cuda, beside it: what bench/bundle.sh packs, and scripts/device-cuda.sh
builds. No llc is asked for.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


class Case:
    """A launch: arguments of Triton's, and of tritonc's less those that Triton compiles in."""

    def __init__(self, name, kernel, grid, args, constants, options=()):
        self.name, self.kernel, self.grid, self.args, self.constants = name, kernel, grid, args, constants
        self.options = dict(options)

    def tritonc_args(self):
        """--arg for each parameter of the PTX, in order."""
        out = []
        for i, a in enumerate(self.args):
            if a == 1:
                continue  # Triton makes a constant of it
            out += ["--arg", f"a{i}={a if isinstance(a, int) else memory(a)}"]
        return out


def memory(shape):
    """A (fill, dtype, sizes…) as tritonc writes it."""
    fill, dtype, *sizes = shape
    return f"{fill}:{dtype}[{','.join(map(str, sizes))}]"


def cases():
    for log in (12, 20, 24, 26):
        n = 1 << log
        x = ("rand", "fp32", n)
        yield Case(f"vector_add 2^{log}", "vector_add", (-(-n // 1024),), [x, x, ("empty", "fp32", n), n], {"BLOCK": 1024})
    for cols, block, warps in ((781, 1024, 4), (4096, 4096, 8), (12672, 16384, 16)):
        x = ("randn", "fp32", 4096, cols)
        yield Case(f"row_softmax 4096x{cols}", "row_softmax", (4096,), [("empty", "fp32", 4096, cols), x, cols, cols, cols],
                   {"BLOCK": block}, {"num_warps": warps})
    for size in (512, 2048, 8192):
        a = ("randn", "fp16", size, size)
        yield Case(f"matmul {size}", "matmul", (-(-size // 128) * -(-size // 256),),
                   [a, a, ("empty", "fp16", size, size), size, size, size, size, 1, size, 1, size, 1],
                   {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8}, {"num_warps": 8, "num_stages": 3})


class Triton:
    """The side of Triton, in this process."""

    def __init__(self, case):
        import torch
        import triton
        import kernels
        self.testing = triton.testing
        kernel = getattr(kernels, case.kernel)
        args = [a if isinstance(a, int) else self.tensor(torch, *a) for a in case.args]
        constants = {k: v for k, v in case.constants.items() if k in kernel.arg_names}
        self.launch = lambda: kernel[case.grid](*args, **constants, **case.options)
        self.compiled = self.launch()

    @staticmethod
    def tensor(torch, fill, dtype, *sizes):
        dtype = {"fp32": torch.float32, "fp16": torch.float16}[dtype]
        return getattr(torch, fill)(*sizes, dtype=dtype, device="cuda")

    def write(self, folder):
        path = pathlib.Path(folder, "kernel.ptx")
        path.write_text(self.compiled.asm["ptx"])
        meta = {k: v for k, v in self.compiled.metadata._asdict().items() if k != "target"}
        path.with_suffix(".json").write_text(json.dumps(meta, default=str))
        return path

    def measure(self, graph):
        if graph:
            return self.testing.do_bench_cudagraph(self.launch, quantiles=[0.5])
        return self.testing.do_bench(self.launch, quantiles=[0.5])


class Tritonc:
    """The side of tritonc, of the PTX in a file."""

    def __init__(self, program, case, ptx):
        self.command = [str(program), "--json", "bench", "--device", "cuda", "--quantiles", "0.5",
                        "--grid", ",".join(map(str, case.grid)), *case.tritonc_args()]
        self.ptx = ptx

    def measure(self, graph):
        out = subprocess.run(self.command + ["--graph"] * graph + [str(self.ptx)], capture_output=True, text=True)
        if out.returncode:
            raise RuntimeError(out.stderr.strip() or f"tritonc ended with {out.returncode}")
        return json.loads(out.stdout)[0]["lines"][0]["points"][0]["value"]


def compare(triton, tritonc, graph, rounds):
    """Medians of both sides, measured in turn."""
    times = [(triton.measure(graph), tritonc.measure(graph)) for _ in range(rounds)]
    return [statistics.median(side) for side in zip(*times)]


def table(rows, limit):
    """The rows as text, with those beyond the limit marked, and how many these are."""
    lines, beyond = [f"{'':26}{'do_bench µs':>12}{'tritonc µs':>12}{'ratio':>8}"], 0
    for r in rows:
        off = abs(r["tritonc"] / r["triton"] - 1) > limit
        beyond += off
        lines.append(f"{r['case'] + (' graph' if r['graph'] else ''):26}{r['triton'] * 1e3:12.2f}{r['tritonc'] * 1e3:12.2f}"
                     f"{r['tritonc'] / r['triton']:8.3f}{' *' * off}")
    lines.append(f"{beyond} of {len(rows)} differ by more than {limit:.0%}")
    return "\n".join(lines), beyond


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tritonc", default=HERE.parent / "bin" / "tritonc", help="the program (bin/tritonc of this folder)")
    parser.add_argument("--limit", type=float, default=0.03, help="the difference that is allowed (0.03)")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides are measured (3)")
    parser.add_argument("--out", help="where the times go, as JSON")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import triton
    bundled = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    os.environ.setdefault("TRITON_PTXAS_PATH", str(bundled))
    rows = []
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            theirs = Triton(case)
            ours = Tritonc(args.tritonc, case, theirs.write(folder))
            for graph in (False, True):
                a, b = compare(theirs, ours, graph, args.rounds)
                rows.append({"case": case.name, "graph": graph, "triton": a, "tritonc": b})
                print(table(rows[-1:], args.limit)[0].splitlines()[1], flush=True)
    text, beyond = table(rows, args.limit)
    print(text)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(rows, indent=1))
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
