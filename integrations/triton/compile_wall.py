#!/usr/bin/env python3
"""How long a program waits for compiles, through tritonc and with Triton alone.

    integrations/triton/compile_wall.py [block] [autotune] [--rounds 1] [--mlp 4] [--json FILE] [--stacks FOLDER]

It needs a GPU, torch and Triton, and takes the tritonc of the checkout; --program names another, such as
that of a wheel. TRITON_PTXAS_PATH counts for both sides: without it Triton compiles the choices of
block twice, by torch's ptxas and by its own. Each program runs in a process with empty caches, and in
a second one that finds them filled: the difference of both is what compiling, and
what goes with it, takes.

    block      a transformer block forward and backward, torch.compile(mode="max-autotune-no-cudagraphs")
    autotune   a matmul over 16 configurations, @triton.autotune

For block Inductor also says how long it compiled the choices of its matmuls ahead and how
long it measured them; measuring is the GPU's, and the same for both. "here" are the kernels that
the program's process compiled itself, after Inductor's workers had compiled theirs, and how long that took.
--json has the times of torch's phases, too, and --stacks a file for each process of where its threads
were, for flame graphs.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import stacks
from tritonc import program
from tritonc.errors import Unsupported

SIDES = ("triton", "tritonc")
PROGRAMS = ("block", "autotune")
SETTLED = re.compile(r"AUTOTUNE benchmarking takes ([\d.]+) seconds and ([\d.]+) seconds precompiling for (\d+) choices")


# ---- the programs, each in a process of its own


def block(a):
    import torch
    import torch.nn.functional as F
    from torch._inductor.async_compile import AsyncCompile
    d, heads, t, n, wide = 512, 8, 512, 8, a.mlp * 512
    AsyncCompile.wait_pool_ready()

    def weight(*shape):
        return (torch.randn(*shape, device="cuda") * 0.02).to(torch.bfloat16).requires_grad_()

    ws = [weight(3 * d, d), weight(d, d), weight(wide, d), weight(d, wide), *(weight(d) for _ in range(4))]
    x, dy = (torch.randn(n, t, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    x.requires_grad_()

    def f(x, wqkv, wo, up, down, g, b, h, c):
        q, k, v = F.linear(F.layer_norm(x, (d,), g, b), wqkv).view(n, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(y.transpose(1, 2).reshape(n, t, d), wo)
        return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (d,), h, c), up), approximate="tanh"), down)

    def step(g):
        for leaf in (x, *ws):
            leaf.grad = None
        y = g(x, *ws)
        y.backward(dy)
        torch.cuda.synchronize()
        return [y.detach(), *(leaf.grad for leaf in (x, *ws))]

    want = step(f)
    begun = time.perf_counter()
    got = step(torch.compile(f, mode="max-autotune-no-cudagraphs"))
    wall = time.perf_counter() - begun
    return {"wall": wall, "off": max(float((g.float() - w.float()).norm() / w.float().norm()) for g, w in zip(got, want))}


def autotune(a):
    sys.path.append(str(HERE.parents[1] / "bench"))
    import kernels
    import torch
    import triton
    import tune_times
    size = 2048
    fn = triton.autotune(configs=[triton.Config(c["kwargs"], num_warps=c["num_warps"], num_stages=c["num_stages"])
                                  for c in (tune_times.matmul_config(*t) for t in tune_times.TUTORIAL)], key=["M", "N", "K"])(kernels.matmul)
    x, y = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty(size, size, device="cuda", dtype=torch.float16)
    want = x @ y
    torch.cuda.synchronize()
    begun = time.perf_counter()
    fn[lambda m: (triton.cdiv(size, m["BM"]) * triton.cdiv(size, m["BN"]),)](x, y, out, size, size, size, size, 1, size, 1, size, 1)
    torch.cuda.synchronize()
    return {"wall": time.perf_counter() - begun, "off": float((out.float() - want.float()).norm() / want.float().norm()),
            "best": str(fn.best_config)}


class Here:
    """What Triton tells of each kernel that this process compiles, or finds in the cache."""

    def __init__(self):
        self.begun, self.compiled = time.perf_counter(), []

    def __call__(self, *, metadata, times, cache_hit, **_):
        if not cache_hit:
            stages = {"ir": times.ir_initialization, **dict(times.lowering_stages), "store": times.store_results}
            self.compiled.append({"name": metadata.get("name", "?"), "ended": round(time.perf_counter() - self.begun, 3),
                                  "thread": threading.current_thread().name, "ms": {k: round(us / 1000, 1) for k, us in stages.items()}})


def phases():
    """What torch says of how long its phases took; one counts what is within it, too."""
    utils = sys.modules.get("torch._dynamo.utils")
    return {name: round(sum(times), 3) for name, times in getattr(utils, "compilation_time_metrics", {}).items()}


def child(a):
    import torch  # noqa: F401
    import triton
    hook, here = None, Here()
    if a.side == "tritonc":
        import tritonc.triton as hook
        hook.install(a.program)
    triton.knobs.compilation.listener = here
    sampler = stacks.Sampler().start() if a.stacks else None
    found = globals()[a.child](a)
    if sampler:
        sampler.stop()
        sampler.write(a.stacks)
    found |= {"here": len(here.compiled), "here_seconds": sum(sum(c["ms"].values()) for c in here.compiled) / 1000, "compiled": here.compiled,
              "phases": phases()}
    if hook:
        said = hook.report()
        found["report"] = {k: said[k] for k in ("configurations", "seconds", "served")} | {k: len(said[k]) for k in ("fell_back", "refused", "failed")}
    with open(a.out, "w") as f:
        json.dump(found, f)


# ---- the parent


def measure(a, what, side, tmp, state):
    """What is found of a program, with its caches in tmp."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRITONC")}
    env.update({v: os.path.join(tmp, v.lower()) for v in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITONC_CACHE_DIR")})
    os.makedirs(tmp, exist_ok=True)
    out, log = os.path.join(tmp, state), pathlib.Path(tmp, state + ".log")
    command = [sys.executable, __file__, "--child", what, "--side", side, "--out", out, "--mlp", str(a.mlp), *(["--program", a.program] if a.program else []),
               *(["--stacks", os.path.join(a.stacks, f"{what}-{side}-{state}.txt")] if a.stacks else [])]
    # A file, since workers may hold a pipe open for longer than the program runs.
    with open(log, "w") as f:
        p = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=f, stderr=f, start_new_session=True)
        try:
            status = p.wait(a.limit)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    said = log.read_text(errors="replace")
    found = settled(said)
    if status is None:
        raise RuntimeError(f"{what} by {side}, {state}: no end in {a.limit:g} s, {found or 'before the first matmul was measured'}")
    if status:
        raise RuntimeError(f"{what} by {side}, {state}: {(said.strip().splitlines() or ['it said nothing'])[-1]}")
    return json.loads(pathlib.Path(out).read_text()) | found


def settled(said):
    """What Inductor says of the matmuls that it chose a kernel for; {} of none."""
    lines = SETTLED.findall(said)
    if not lines:
        return {}
    measuring, compiling = (sum(float(s[i]) for s in lines) for i in (0, 1))
    return {"measuring": measuring, "compiling": compiling, "choices": sum(int(s[2]) for s in lines), "matmuls": len(lines)}


def table(results):
    lines = [f"{'':22}{'cold s':>8}{'warm s':>8}{'difference':>11}"]
    for what, sides in results.items():
        best = {}
        for side, rounds in sides.items():
            for r in rounds:
                if len(r) < 2:
                    continue  # it failed, or time ran out
                cold, warm = r["cold"]["wall"], r["warm"]["wall"]
                best[side] = min(best.get(side, cold - warm), cold - warm)
                more = "".join(f"; {k} {r['cold'][k]:.4g}" for k in ("compiling", "measuring", "choices", "matmuls", "here", "here_seconds") if k in r["cold"])
                lines.append(f"{what + ' ' + side:22}{cold:8.2f}{warm:8.2f}{cold - warm:11.2f}{more}; off {r['cold']['off']:.2g}"
                             + (f"; {r['cold']['report']}" if "report" in r["cold"] else ""))
        if len(best) == 2:
            lines.append(f"{what}: cold less warm, tritonc takes {best['tritonc'] / best['triton']:.3f} of Triton's time")
    return "\n".join(lines)


def tritonc_of(given):
    """The path of the tritonc to measure. What a run needs is looked for before it begins, since
    the other side takes minutes."""
    for module in ("torch", "triton"):
        if importlib.util.find_spec(module) is None:
            raise Unsupported(f"this Python ({sys.executable}) has no {module}, which both sides need")
    if given and not os.path.isfile(given):
        raise Unsupported(f"there is no program {given} (--program)")
    return program.describe(program.find(given)).path


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("programs", nargs="*", metavar="PROGRAM", help="block, autotune (both)")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--mlp", type=int, default=4, help="how much wider the inner layer of block is (%(default)s); 1 leaves fewer shapes to tune")
    p.add_argument("--limit", type=float, default=300, help="seconds that one process may take (%(default)s)")
    p.add_argument("--program", help="the tritonc to measure")
    p.add_argument("--sides", default=",".join(SIDES), help="which of %(default)s")
    p.add_argument("--json", help="a file for all that was found")
    p.add_argument("--stacks", metavar="FOLDER", help="gets where the threads of each process were")
    p.add_argument("--child", choices=PROGRAMS, help=argparse.SUPPRESS)
    p.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    p.add_argument("--out", help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    if a.child:
        return child(a)
    unknown = set(a.programs) - set(PROGRAMS)
    if unknown:
        p.error(f"there is no program {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    chosen = a.sides.split(",")
    if not set(chosen) <= set(SIDES):
        p.error(f"--sides {a.sides}: there are {', '.join(SIDES)}")
    try:
        a.program = tritonc_of(a.program)
    except Unsupported as e:
        p.error(str(e))
    if a.stacks:
        os.makedirs(a.stacks, exist_ok=True)
    results, bad = {}, False
    for what in a.programs or PROGRAMS:
        sides = results[what] = {side: [] for side in chosen}
        for _ in range(a.rounds):
            with tempfile.TemporaryDirectory(prefix="wall-") as tmp:
                for side in chosen:
                    sides[side].append({})
                for state, side in ((state, side) for state in ("cold", "warm") for side in chosen):
                    try:
                        found = sides[side][-1][state] = measure(a, what, side, os.path.join(tmp, side), state)
                        print(what, side, state, f"{found['wall']:.2f} s", flush=True)
                    except RuntimeError as e:
                        print(e, file=sys.stderr, flush=True)
                        bad = True
                    if a.json:
                        pathlib.Path(a.json).write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
