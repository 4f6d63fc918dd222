"""How the kernels of core/frontend/testdata/jobs.txt are run: sizes and contents of
their memory, numbers, grids, and how closely results agree.

jobs.txt says what each kernel is compiled for; here stands the rest. The
numbers keep what its signature promises: "i32:16" is a multiple of 16.
"""

import dataclasses
import pathlib
import random
import re

import npy

TESTDATA = pathlib.Path(__file__).resolve().parent.parent / "core/frontend/testdata"


@dataclasses.dataclass
class Job:
    """A line of jobs.txt."""
    name: str
    file: str
    kernel: str
    params: dict  # name: "*fp32:16", "i32:16", or "=64" for a constant
    options: dict

    @property
    def runtime(self):
        return {n: t for n, t in self.params.items() if not t.startswith("=")}

    def signature(self):
        """As tritonc's -s takes it, by name."""
        return ", ".join(n + "=" + t.removeprefix("=") for n, t in self.params.items())


def jobs():
    """{name: Job} in the order of the file."""
    out = {}
    for line in (TESTDATA / "jobs.txt").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, file, kernel, arguments, options, *_ = line.split("\t") + [""]
        params = {}
        for a in arguments.split(", "):
            constant = re.fullmatch(r"(\w+)=(.*)", a)
            if constant:
                value = constant[2]
                params[constant[1]] = "=" + (f"'{value}'" if value in ("tf32", "ieee", "tf32x3") else value)
            else:
                n, _, t = a.partition(":")
                params[n] = t
        out[name] = Job(name, file, kernel, params, dict(o.split("=") for o in options.split()))
    return out


@dataclasses.dataclass
class Run:
    """A launch: for each parameter a number, or a function that makes its memory."""
    grid: tuple
    args: dict
    tolerance: float = 1e-4  # of floats, relative to |x| + rms; integers are compared bit for bit
    least_arch: int = 80
    # {parameter: slice or None}: what is not compared (None: none of it), since its
    # value depends on the order in which blocks and warps run.
    free: dict = dataclasses.field(default_factory=dict)
    # {parameter: slice}: what may come in any order.
    any_order: dict = dataclasses.field(default_factory=dict)


def of(n, draw):
    return lambda ty, r: npy.Data.of(ty, (draw(r) for _ in range(n)))


def uniform(n, low, high):
    return of(n, lambda r: r.uniform(low, high))


def normal(n, scale=1.0):
    return of(n, lambda r: r.gauss(0, scale))


def small(n):
    """Values that fp8 holds, too."""
    return of(n, lambda r: r.choice([-2.0, -1.5, -1.0, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0]))


def ints(n, low, high):
    return of(n, lambda r: r.randrange(low, high))


def full(n, value):
    return of(n, lambda r: value)


def out(n):
    """Memory that the kernel writes; what it leaves alone stays as it is."""
    return full(n, 77)


def coarse(n):
    """Normal values in steps of 1/16 up to 4: bf16 holds them all."""
    return of(n, lambda r: max(-4.0, min(4.0, round(r.gauss(0, 1) * 16) / 16)))


def matmul(m=144, n=272, k=160, bm=128, bn=128, tolerance=2e-3, least_arch=80, fill=coarse, step=1, b_rows="k"):
    bs = (n * step, step) if b_rows == "k" else (1, k)
    strides = {"sam": k * step, "sak": step, "sbk": bs[0], "sbn": bs[1], "scm": n * step, "scn": step}
    return Run((-(-m // bm) * -(-n // bn), 1, 1),
               {"a_ptr": fill(m * k * step), "b_ptr": fill(k * n * step), "c_ptr": out(m * n * step),
                "M": m, "N": n, "K": k, **strides}, tolerance, least_arch)


def matmul_desc(m=144, n=272, k=160):
    return Run((6, 1, 1), {"a_ptr": coarse(m * k), "b_ptr": coarse(n * k), "c_ptr": out(m * n), "M": m, "N": n, "K": k},
               2e-3)


def flash(ctx=256, heads=2, d=64):
    n = heads * ctx * d
    return Run((ctx // 128, heads, 1),
               {"Q": normal(n), "K": normal(n), "V": normal(n), "O": out(n), "L": out(heads * ctx), "scale": 0.125,
                "sz": n, "sh": ctx * d, "sm": d, "H": heads * 8, "N_CTX": ctx}, 6e-3)


def dot(fill=coarse, tolerance=1e-4, least_arch=80):
    n = 64 * 64
    return Run((1, 1, 1), {"a_ptr": fill(n), "b_ptr": fill(n), "o_ptr": out(n)}, tolerance, least_arch)


def elementwise(size, fill, **more):
    return Run((1, 1, 1), {"x_ptr": fill(size), "o_ptr": out(size)} | more)


RUNS = {
    "vector_add": Run((3, 1, 1), {"x_ptr": normal(2992), "y_ptr": normal(2992), "out_ptr": out(3072), "n": 2992}),
    "row_softmax": Run((3, 1, 1), {"out_ptr": out(6000), "in_ptr": normal(6000), "in_stride": 2000, "out_stride": 2000,
                                   "n_cols": 1984}),
    "layer_norm_fwd": Run((2, 1, 1), {"X": normal(8000), "Y": out(8000), "W": normal(4000), "B": normal(4000),
                                      "Mean": out(2), "Rstd": out(2), "stride": 4000, "N": 4000, "eps": 1e-5}, 4e-3),
    "layer_norm_bwd": Run((3, 1, 1), {"DX": out(32000), "DY": normal(32000), "DW": full(2000, 0), "DB": full(2000, 0),
                                      "X": normal(32000), "W": normal(2000), "Mean": normal(16),
                                      "Rstd": uniform(16, 0.5, 1.5), "M": 16, "N": 2000}, 4e-3),
    "matmul_fp16": matmul(),
    "matmul_fp16_strided": matmul(32, 48, 32, step=16),
    "matmul_fp16_8w": matmul(bn=256),
    "matmul_bf16": matmul(tolerance=1e-2),
    "matmul_fp8e4nv": matmul(fill=small, least_arch=89, b_rows="n"),
    "matmul_fp32": matmul(),
    "matmul_desc": matmul_desc(),
    "matmul_desc_ws": matmul_desc(),
    "flash_fwd_full": flash(),
    "flash_fwd_causal": flash(),
    "row_min_split": Run((2, 1, 1), {"in_ptr": normal(64000), "out_ptr": full(16, float("inf")), "M": 16, "N": 4000,
                                     "sm": 4000}),
    "prod_mid": Run((3, 1, 1), {"inp": uniform(20000, 0.99, 1.01), "mid": out(3), "M": 20000}, 1e-3),
    "cumsum_rows": Run((2, 1, 1), {"x_ptr": normal(4000), "y_ptr": out(4000), "stride": 2000, "N": 1984}),
    "casts": Run((1, 1, 1), {"x_ptr": uniform(256, 0, 100), "h_ptr": out(256), "b_ptr": out(256), "i8_ptr": out(256),
                             "u8_ptr": out(256), "i64_ptr": out(256)}),
    "casts_fp8": Run((1, 1, 1), {"x_ptr": normal(256), "h_ptr": out(256), "e4_ptr": small(512), "e5_ptr": small(512)},
                     least_arch=89),
    "promotions": elementwise(256, normal, i_ptr=ints(256, 0, 1000), u_ptr=ints(256, 0, 1000), s=48, f=0.5),
    "control_flow": Run((3, 1, 1), {"x_ptr": normal(1024), "o_ptr": out(768), "n": 464, "flag": 16}),
    "calls": elementwise(256, normal),
    "reductions": Run((1, 1, 1), {"x_ptr": of(2048, lambda r: r.uniform(-9, 9)), "o_ptr": out(97), "i_ptr": out(128)}),
    "reduce_tuple": Run((1, 1, 1), {"x_ptr": normal(1024), "o_ptr": out(1)}),
    "scans": Run((1, 1, 1), {"x_ptr": uniform(2048, 0.5, 1.5), "o_ptr": out(2048)}),
    "sorts": Run((1, 1, 1), {"x_ptr": uniform(256, 0, 64), "o_ptr": out(520), "h_ptr": out(64)}),
    "shapes": Run((1, 1, 1), {"x_ptr": normal(1024), "o_ptr": out(3072)}, any_order={"o_ptr": slice(1024, 3072)}),
    "atomics": Run((2, 1, 1), {"x_ptr": full(32, 0), "i_ptr": ints(4112, 0, 1 << 20), "o_ptr": out(512), "n": 496},
                   free={"o_ptr": slice(0, 496)}),
    "block_ptrs": Run((2, 1, 1), {"a_ptr": normal(48 * 128), "o_ptr": out(48 * 64), "M": 48, "N": 128, "sm": 128}),
    "descriptors": Run((2, 2, 1), {"a_ptr": normal(48 * 112), "o_ptr": out(48 * 112), "M": 48, "N": 112}),
    "dot_fp16_float32_None": dot(),
    "dot_bf16_float32_None": dot(),
    "dot_i8_int32_None": dot(lambda n: ints(n, -128, 128)),
    "dot_fp32_float32_tf32": dot(),
    "dot_fp32_float32_ieee": dot(normal),
    "dot_fp32_float32_tf32x3": dot(normal),
    "dot_fp8e5_float32_None": dot(small),
    "dot_fp16_float16_None": dot(tolerance=2e-2),
    "dot_fp64_float64_None": dot(tolerance=1e-12),
    "dot_chain": Run((1, 1, 1), {"q_ptr": normal(4096, 0.25), "k_ptr": normal(4096, 0.25), "v_ptr": normal(4096),
                                 "o_ptr": out(4096)}, 4e-3),
    "maths": elementwise(128, lambda n: uniform(n, 0.1, 4)),
    "libdevices": elementwise(128, lambda n: uniform(n, -0.9, 0.9)),
    "randoms": Run((2, 1, 1), {"o_ptr": out(256), "seed": 1232}),
    "inline_asm": elementwise(128, lambda n: ints(n, -1 << 30, 1 << 30)),
    "debugging": elementwise(128, lambda n: uniform(n, 0.5, 2), n=128),
    "hints": Run((2, 1, 1), {"x_ptr": normal(512), "o_ptr": out(256), "M": 256, "N": 16}),
    "transpose2d": Run((2, 2, 1), {"x_ptr": normal(80 * 112), "o_ptr": out(80 * 112), "M": 80, "N": 112}),
    "dot_scaled": Run((1, 1, 1), {"a_ptr": ints(64 * 32, 0, 256), "as_ptr": ints(64 * 2, 124, 131),
                                  "b_ptr": coarse(4096), "o_ptr": out(4096)}),
}


def inputs(job, seed=0):
    """[(parameter, type, number or npy.Data)] of a launch, in the order of its parameters."""
    r = random.Random(f"{job.name} {seed}")
    out = []
    for name, text in job.runtime.items():
        ty, value = text.partition(":")[0], RUNS[job.name].args[name]
        out.append((name, ty, value(ty[1:], r) if callable(value) else value))
    return out


def differ(run, name, got, want):
    """How far got is from want, over the tolerance: at most 1 is right."""
    a, b = got.values(), want.values()
    if name in run.free:
        free = run.free[name]
        a[free] = b[free]
    if name in run.any_order:
        some = run.any_order[name]
        a[some], b[some] = sorted(a[some]), sorted(b[some])
    if not got.type.startswith(("fp", "bf")):
        return float("inf") if a != b else 0.0
    finite = [v for v in b if v - v == 0]
    rms = (sum(v * v for v in finite) / max(1, len(finite))) ** 0.5
    worst = 0.0
    for x, y in zip(a, b):
        if x == y or (x != x and y != y):
            continue
        e = abs(x - y) / (run.tolerance * (abs(y) + rms) or 1e-300)
        worst = max(worst, e if e == e else float("inf"))
    return worst
