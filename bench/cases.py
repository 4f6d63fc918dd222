"""The rows of the comparison: kernels, configs, inputs, references.

A Row is one piece of work: a kernel of kernels.py, the types of its arguments,
the list of configs that every compiler gets, and make(), which draws inputs and
says what must come out. Sizes are of two kinds: `full`, what a GPU is timed on,
and `small`, what a simulator can run. Odd rows are never timed: they promise
nothing of lengths and strides, and draw both anew each time.

Nothing here knows what compiles or launches a kernel, and torch is a parameter
(Env.torch): the tables can be read where there is none.
"""

import dataclasses
import hashlib
import math
import pathlib
import random
import re
import typing


@dataclasses.dataclass(frozen=True)
class Config:
    """The constants of one compile: constexpr values by name, warps, stages."""
    constants: tuple  # ((name, value), ...)
    num_warps: int = 4
    num_stages: int = 3

    def __getitem__(self, name):
        return dict(self.constants)[name]

    def extent(self, name):
        """A number, the value of a constant, or with NAME/2 a part of it."""
        if isinstance(name, int):
            return name
        name, _, part = name.partition("/")
        return self[name] // int(part or 1)

    def __str__(self):
        values = ",".join(v if isinstance(v, str) else str(int(v)) for _, v in self.constants)
        return f"{values} w{self.num_warps} s{self.num_stages}"


class Descriptor:
    """A tensor that a kernel takes as a descriptor of blocks, whose extents are
    numbers or names of constants."""

    def __init__(self, tensor, *block):
        self.tensor, self.block = tensor, block

    @property
    def strides(self):
        out, n = [], 1
        for size in reversed(self.tensor.shape):
            out.insert(0, n)
            n *= size
        return out


@dataclasses.dataclass
class Work:
    """One instance of a row: what to launch on, and what must come out."""
    args: list  # tensors, descriptors, ints, floats: the parameters that are not constants
    grid: typing.Callable  # of a Config: (x, y, z)
    outputs: typing.Callable  # the tensors to compare, once the kernel ran
    reference: typing.Callable  # the outputs' right values; float64 where inexact
    reset: typing.Callable  # poisons what is written, initialises what is added to
    torch: typing.Callable = None  # torch's own way to do it
    bytes: int = 0  # that must be moved: each input read, each output written once
    flops: int = 0


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    kernel: str
    # Types in order, as tritonc and Triton write them: "*fp16:16", "i32:16",
    # "fp32"; "1" is a constant of the value 1, as the JIT makes of it; of a
    # descriptor's block, "tensordesc<fp16[{BM}, 64]>", the config fills in constants.
    # The constants of the config follow.
    types: tuple
    configs: tuple
    make: typing.Callable  # (env, **size) -> Work
    full: dict
    small: dict
    # The tolerance of each output, relative to |x| + rms; 0 is bit for bit.
    tolerance: tuple
    memory_bound: bool = False
    odd: bool = False
    # The least compute capability, times ten, that has the row's types.
    least_arch: int = 80
    # The least Triton time / our time, where the row has one of its own; such
    # a row is not part of the geometric mean.
    limit: float = None

    @property
    def unit(self):
        return "GB/s" if self.memory_bound else "TFLOP/s"

    def build(self, config):
        return Build(self.kernel, self.types_for(config), config)

    def types_for(self, config):
        """The types, of blocks as the config has them."""
        return tuple(re.sub(r"\{([^}]*)\}", lambda m: str(config.extent(m[1])), t) for t in self.types)

    def rate(self, work, microseconds):
        return work.bytes / microseconds / 1e3 if self.memory_bound else work.flops / microseconds / 1e6


@dataclasses.dataclass(frozen=True)
class Build:
    """A kernel with a signature and a config: what is compiled, once an arch."""
    kernel: str
    types: tuple
    config: Config

    @property
    def key(self):
        digest = hashlib.sha256(repr((self.kernel, self.types, self.config)).encode()).hexdigest()
        return f"{self.kernel}-{digest[:10]}"

    def signature(self):
        """The signature as tritonc's -s takes it."""
        constants = [f"{name}={value!r}" for name, value in self.config.constants]
        return ", ".join([*self.types, *constants])

    def triton(self, names):
        """(signature, constants, attributes) as triton.compiler.ASTSource takes them."""
        signature, constants, attributes = {}, {}, {}
        for i, (name, ty) in enumerate(zip(names, self.types)):
            base, _, hint = ty.partition(":")
            if base == "1":
                signature[name], constants[(i,)] = "constexpr", 1
                continue
            signature[name] = base
            if hint == "16":
                attributes[(i,)] = [["tt.divisibility", 16]]
        for name, value in self.config.constants:
            signature[name], constants[(names.index(name),)] = "constexpr", value
        return signature, constants, attributes


class Env:
    """What make() draws from: torch, a device, a generator."""

    def __init__(self, torch, device, seed=0, draw=None):
        self.torch, self.device = torch, device
        self.generator = torch.Generator(device=device)
        self.generator.manual_seed(seed)
        self.random = draw or random.Random(seed)

    def randn(self, *shape, dtype="float32", scale=1.0):
        x = self.torch.randn(*shape, device=self.device, generator=self.generator)
        return (x * scale).to(getattr(self.torch, dtype)) if scale != 1.0 or dtype != "float32" else x

    def empty(self, *shape, dtype="float32"):
        return self.torch.empty(*shape, device=self.device, dtype=getattr(self.torch, dtype))

    def poison(self, *tensors):
        """A function that fills tensors with values that no result has."""
        def fill():
            for t in tensors:
                if t.element_size() == 1:  # no fill for fp8; 0x7f is NaN there
                    t.view(self.torch.uint8).fill_(0x7F)
                else:
                    t.fill_(float("nan"))
        return fill


HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = ("attention", "cumsum", "hints", "layer_norm", "layer_norm_backward", "layer_norm_wide", "matmul_grouped", "max",
            "min", "prod", "replacements", "softmax_wide")
SOURCES = ("kernels.py", "kernels_hopper.py", *(f"../examples/{name}.py" for name in EXAMPLES))


def source_of(kernel):
    """The file of SOURCES that has a kernel."""
    for name in SOURCES:
        if f"\ndef {kernel}(" in (HERE / name).read_text():
            return HERE / name
    raise KeyError(kernel)


def cdiv(a, b):
    return -(-a // b)


def size_of(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


# ---- element-wise, rows, reductions


def vector_add(env, n):
    n = n or env.random.randrange(1, 50_000)
    x, y, o = env.randn(n), env.randn(n), env.empty(n)
    return Work([x, y, o, n], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [o], lambda: [x + y], env.poison(o),
                lambda: env.torch.add(x, y, out=o), bytes=size_of(x, y, o))


def odd_rows(env, rows, cols):
    """(rows, cols, stride): as given, or drawn; then rows are padded."""
    if rows:
        return rows, cols, cols
    cols = env.random.randrange(1, cols + 1)
    return env.random.randrange(1, 40), cols, cols + env.random.randrange(0, 9)


def softmax(env, rows, cols):
    rows, cols, stride = odd_rows(env, rows, cols)
    x, o = env.randn(rows, stride), env.empty(rows, stride)
    return Work([o, x, stride, stride, cols], lambda c: (rows, 1, 1), lambda: [o[:, :cols]],
                lambda: [env.torch.softmax(x[:, :cols].double(), 1)], env.poison(o),
                lambda: env.torch.softmax(x, 1), bytes=size_of(x, o))


def normalised(x, eps=1e-5):
    d = x.double()
    mean, var = d.mean(1), d.var(1, unbiased=False)
    rstd = (var + eps).rsqrt()
    return (d - mean[:, None]) * rstd[:, None], mean, rstd


def layer_norm_fwd(env, rows, cols):
    rows, cols, stride = odd_rows(env, rows, cols)
    x, y = env.randn(rows, stride, dtype="float16"), env.empty(rows, stride, dtype="float16")
    w, b = env.randn(cols, dtype="float16"), env.randn(cols, dtype="float16")
    mean, rstd = env.empty(rows), env.empty(rows)

    def reference():
        n, m, r = normalised(x[:, :cols])
        return [n * w.double() + b.double(), m, r]

    return Work([x, y, w, b, mean, rstd, stride, cols, 1e-5], lambda c: (rows, 1, 1), lambda: [y[:, :cols], mean, rstd],
                reference, env.poison(y, mean, rstd),
                lambda: env.torch.nn.functional.layer_norm(x, (cols,), w, b, 1e-5),
                bytes=size_of(x, y, w, b, mean, rstd))


def layer_norm_bwd(env, rows, cols, programs):
    rows, cols, _ = odd_rows(env, rows, cols)
    x, dy = env.randn(rows, cols, dtype="float16"), env.randn(rows, cols, dtype="float16")
    w, dx = env.randn(cols, dtype="float16"), env.empty(rows, cols, dtype="float16")
    dw, db = env.empty(cols), env.empty(cols)
    xh, m, r = normalised(x)
    mean, rstd = m.float(), r.float()
    del xh

    def reference():
        xh, _, r = normalised(x)
        g = dy.double()
        wdy = g * w.double()
        c1, c2 = (xh * wdy).mean(1)[:, None], wdy.mean(1)[:, None]
        return [(wdy - xh * c1 - c2) * r[:, None], (g * xh).sum(0), g.sum(0)]

    poison = env.poison(dx)

    def reset():
        poison()
        dw.zero_()
        db.zero_()

    def torch():
        return env.torch.ops.aten.native_layer_norm_backward(
            dy, x, [cols], mean.view(rows, 1), rstd.view(rows, 1), w, w, [True, True, True])

    return Work([dx, dy, dw, db, x, w, mean, rstd, rows, cols], lambda c: (programs, 1, 1), lambda: [dx, dw, db],
                reference, reset, torch, bytes=size_of(dx, dy, x, w, mean, rstd, dw, db))


def row_min(env, rows, cols):
    rows, cols, stride = odd_rows(env, rows, cols)
    x, o = env.randn(rows, stride), env.empty(rows)
    return Work([x, o, rows, cols, stride], lambda c: (cdiv(cols, c["BN"]), 1, 1), lambda: [o],
                lambda: [env.torch.amin(x[:, :cols], 1)], lambda: o.fill_(math.inf),
                lambda: env.torch.amin(x, 1), bytes=size_of(x, o))


def prod(env, n, programs):
    n = n or env.random.randrange(1, 50_000)
    # Ones, and a few twos and halves: every product is a power of two, and exact.
    # CUDA's log2 of doubles is not: that of 2^-13 is not an integer.
    x, o = env.torch.ones(n, device=env.device), env.empty(programs)
    draw = env.torch.randint(0, 128, (n,), device=env.device, generator=env.generator)
    x[draw == 0], x[draw == 1] = 2, 0.5
    # Which program takes which element is the config's affair; the whole is not.
    return Work([x, o, n], lambda c: (programs, 1, 1), lambda: [o.double().log2().round().sum().view(1)],
                lambda: [x.double().log2().sum().view(1)], env.poison(o), lambda: env.torch.prod(x),
                bytes=size_of(x, o))


def cumsum(env, rows, cols):
    rows, cols, stride = odd_rows(env, rows, cols)
    x, y = env.randn(rows, stride), env.empty(rows, stride)
    return Work([x, y, stride, cols], lambda c: (rows, 1, 1), lambda: [y[:, :cols]],
                lambda: [env.torch.cumsum(x[:, :cols].double(), 1)], env.poison(y),
                lambda: env.torch.cumsum(x, 1), bytes=size_of(x, y))


def sort(env, rows, cols):
    x, y = env.randn(rows, cols), env.empty(rows, cols)
    return Work([x, y, cols], lambda c: (rows, 1, 1), lambda: [y], lambda: [env.torch.sort(x, 1)[0]], env.poison(y),
                lambda: env.torch.sort(x, 1)[0], bytes=size_of(x, y))


def cast(env, n, source, to):
    n = n or env.random.randrange(1, 50_000)
    # Values of f16, whose conversion to fp8 is the same by way of f16 or not.
    x, y = env.randn(n, dtype="float16" if to.startswith("float8") else source), env.empty(n, dtype=to)
    x = x.to(getattr(env.torch, source))
    return Work([x, y, n], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [y], lambda: [x.to(y.dtype)], env.poison(y),
                lambda: y.copy_(x), bytes=size_of(x, y))


# The functions of libdevice that public kernels call most: (name, torch's, tolerance).
MATH = (("log", "log", 2e-6), ("log2", "log2", 2e-6), ("pow", "pow", 5e-6), ("tanh", "tanh", 2e-6),
        ("erf", "erf", 2e-6), ("sin", "sin", 2e-6), ("cos", "cos", 2e-6), ("exp", "exp", 2e-6),
        ("fast_expf", "exp", 1e-5), ("floor", "floor", 0), ("ceil", "ceil", 0), ("trunc", "trunc", 0),
        ("fast_dividef", "div", 2e-6), ("round", None, 0), ("rint", "round", 0), ("fmod", "fmod", 2e-6),
        ("atan2", "atan2", 2e-6), ("atan", "atan", 2e-6), ("log1p", "log1p", 2e-6), ("fast_logf", "log", 1e-5))
TWO_OPERANDS = ("pow", "fast_dividef", "fmod", "atan2")


def math_function(env, n, name, torch_name):
    torch = env.torch
    x, y, s = env.randn(n).abs() * 3 + 0.015625, env.empty(n), 1.75
    fn = getattr(torch, torch_name) if torch_name else lambda v: torch.floor(v + 0.5)  # x is positive
    more = (torch.full((), s, device=env.device),) if name in TWO_OPERANDS else ()
    return Work([x, y, s, n], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [y],
                lambda: [fn(x.double(), *(m.double() for m in more)).to(torch.float32 if not more else torch.float64)],
                env.poison(y), lambda: fn(x, *more), bytes=size_of(x, y))


def transpose(env, m, n, dtype):
    m, n = m or env.random.randrange(1, 200), n or env.random.randrange(1, 200)
    x, o = env.randn(m, n, dtype=dtype), env.empty(n, m, dtype=dtype)
    return Work([x, o, m, n], lambda c: (cdiv(m, c["BM"]), cdiv(n, c["BN"]), 1), lambda: [o], lambda: [x.t()],
                env.poison(o), lambda: o.copy_(x.t()), bytes=size_of(x, o))


def scatter_add(env, n, bins):
    n = n or env.random.randrange(1, 50_000)
    x, o = env.randn(n), env.empty(bins)
    wide = env.torch.randint(0, bins, (n,), device=env.device, generator=env.generator)
    index = wide.to(env.torch.int32)
    return Work([x, index, o, n], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [o],
                lambda: [env.torch.zeros(bins, dtype=env.torch.float64, device=env.device)
                         .scatter_add_(0, wide, x.double())],
                lambda: o.zero_(), lambda: o.scatter_add_(0, wide, x), bytes=size_of(x, index, o))


# ---- dots


def matmul(env, m, n, k, dtype, out=None, b_rows="k"):
    """b_rows says whether a row of b in memory is one k, or one n."""
    if not m:
        m, n, k = (env.random.randrange(1, top) for top in (200, 200, 150))
    torch, out = env.torch, out or dtype
    plain = "float16" if dtype.startswith("float8") else dtype
    a = env.randn(m, k, dtype=plain).to(getattr(torch, dtype))
    stored = env.randn(*((k, n) if b_rows == "k" else (n, k)), dtype=plain).to(getattr(torch, dtype))
    b = stored if b_rows == "k" else stored.t()
    c, one = env.empty(m, n, dtype=out), torch.ones((), device=env.device)

    def tiles(config):
        return (cdiv(m, config["BM"]) * cdiv(n, config["BN"]), 1, 1)

    def ours():
        if dtype.startswith("float8"):
            return torch._scaled_mm(a, b, one, one, out_dtype=c.dtype, use_fast_accum=True)
        return torch.matmul(a, b, out=c)

    strides = [k, n] if b_rows == "k" else [k, k]
    return Work([a, stored, c, m, n, k, *strides, n], tiles, lambda: [c],
                lambda: [a.float().double() @ b.float().double()], env.poison(c), ours,
                bytes=size_of(a, b, c), flops=2 * m * n * k)


def matmul_any(env, m, n, k, dtype):
    """matmul of a kernel that takes every stride."""
    w = matmul(env, m, n, k, dtype)
    a, b, c, m, n, k, *_ = w.args
    w.args = [a, b, c, m, n, k, k, 1, n, 1, n, 1]
    return w


def matmul_desc(env, m, n, k, dtype):
    w = matmul(env, m, n, k, dtype, b_rows="n")
    tiles = w.grid
    w.args = w.args[:6]
    w.grid = lambda c: (min(c["SMS"], tiles(c)[0]), 1, 1)
    return w


def flash(env, z, h, ctx, d, causal):
    torch = env.torch
    q, k, v = (env.randn(z, h, ctx, d, dtype="float16") for _ in range(3))
    o, lse = env.empty(z, h, ctx, d, dtype="float16"), env.empty(z * h, ctx)
    scale = d**-0.5

    def reference():
        # One z at a time: all scores in float64 at once would not fit.
        out, sums = [], []
        hidden = torch.ones(ctx, ctx, dtype=torch.bool, device=env.device).triu(1)
        for i in range(z):
            s = q[i].double() @ k[i].double().transpose(1, 2) * scale
            if causal:
                s.masked_fill_(hidden, -math.inf)
            sums.append(torch.logsumexp(s, 2) / math.log(2))
            out.append(torch.softmax(s, 2) @ v[i].double())
        return [torch.stack(out), torch.cat(sums)]

    # Only the half under the diagonal is counted where it is causal.
    flops = 4 * z * h * ctx * ctx * d // (2 if causal else 1)
    return Work([q, k, v, o, lse, scale, h * ctx * d, ctx * d, d, h, ctx],
                lambda c: (cdiv(ctx, c["BM"]), z * h, 1), lambda: [o, lse], reference, env.poison(o, lse),
                lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
                bytes=size_of(q, k, v, o, lse), flops=flops)


# ---- the table


def configs(names, *rows):
    """Configs from rows of values: the constants, then num_warps and, if given, num_stages."""
    names = names.split()
    out = []
    for row in rows:
        constants, rest = row[:len(names)], row[len(names):]
        out.append(Config(tuple(zip(names, constants)), *rest))
    return tuple(out)


def fixed(rows, **constants):
    """The same configs with further constants."""
    return tuple(dataclasses.replace(c, constants=c.constants + tuple(constants.items())) for c in rows)


# The kernels with a dot: those that DISABLE_MMA_V3 makes another kernel of.
DOTS = ("matmul", "matmul_desc", "flash_fwd", "matmul_host", "matmul_persistent", "matmul_divided", "matmul_experts",
        "matmul_groups", "attn_host", "flash_bwd_kv", "flash_bwd_q", "matmul_batched", "matmul_i8", "matmul_a8",
        "matmul_w4", "matmul_block_fp8", "linear_attn", "paged_decode")

BLOCKS = configs("BLOCK", (1024, 4), (2048, 4), (2048, 8), (4096, 8))
TILES = "BM BN BK"
SMALL_TILES = configs(TILES, (64, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 64, 64, 4, 3), (32, 64, 64, 4, 4),
                      (128, 128, 32, 4, 4), (128, 128, 64, 8, 3))
BIG_TILES = configs(TILES, (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 8, 3),
                    (128, 128, 64, 4, 3), (128, 128, 32, 4, 4), (128, 256, 32, 8, 4))
FP8_TILES = configs(TILES, (128, 128, 128, 4, 3), (256, 128, 128, 8, 3), (128, 256, 128, 8, 3), (128, 128, 64, 4, 4),
                    (128, 128, 128, 8, 3))
TF32_TILES = configs(TILES, (256, 128, 32, 8, 3), (128, 128, 32, 8, 3), (128, 128, 32, 4, 4), (128, 256, 32, 8, 3))
FLASH_128 = configs("BM BN", (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 3), (128, 32, 4, 4), (64, 64, 4, 3))
FLASH_64 = configs("BM BN", (128, 64, 8, 3), (128, 64, 4, 3), (128, 128, 8, 3), (128, 32, 4, 4), (64, 64, 4, 4))

LN_FWD = ("*fp16:16", "*fp16:16", "*fp16:16", "*fp16:16", "*fp32:16", "*fp32:16", "i32:16", "i32:16", "fp32")
LN_BWD = ("*fp16:16", "*fp16:16", "*fp32:16", "*fp32:16", "*fp16:16", "*fp16:16", "*fp32:16", "*fp32:16", "i32:16",
          "i32:16")
FLASH = ("*fp16:16",) * 4 + ("*fp32:16", "fp32", "i32:16", "i32:16", "i32:16", "1", "i32:16", "i32:16")


def memory(name, kernel, types, rows, make, full, small, tolerance, **more):
    return Row(name, kernel, types, rows, make, full, small, tolerance, memory_bound=True, **more)


def odd(kernel, types, config, make, tolerance, **size):
    """A row of random sizes that promises nothing."""
    types = tuple(t.partition(":")[0] for t in types)
    return Row(f"{kernel} odd", kernel, types, (config,), make, size, size, tolerance, odd=True)


def dot(name, types, rows, full, small, tolerance, least_arch=80, **size):
    return Row(name, "matmul", types, fixed(rows, GROUP=8), matmul, full | size, small | size, (tolerance,),
               least_arch=least_arch)


def matmul_types(element, out=None, b_rows="k"):
    strides = ("i32:16", "1", "i32:16", "1", "i32:16", "1") if b_rows == "k" else \
        ("i32:16", "1", "1", "i32:16", "i32:16", "1")
    return (f"*{element}:16", f"*{element}:16", f"*{out or element}:16", "i32:16", "i32:16", "i32:16") + strides


def rows():
    """Every row, in the order of the tables."""
    out = [
        memory("vector_add f32 2^28", "vector_add", ("*fp32:16",) * 3 + ("i32:16",), BLOCKS, vector_add,
               {"n": 1 << 28}, {"n": 5008}, (0,)),
    ]
    for cols in (1024, 8192, 16384):
        warps = (1, 2, 4, 8) if cols == 1024 else (4, 8, 16)
        out.append(memory(f"softmax f32 4096x{cols}", "row_softmax", ("*fp32:16",) * 2 + ("i32:16",) * 3,
                          configs("BLOCK", *((cols, w) for w in warps)), softmax, {"rows": 4096, "cols": cols},
                          {"rows": 3, "cols": cols - 16}, (2e-5,)))
    for cols in (4096, 8192):
        out.append(memory(f"layernorm fwd f16 4096x{cols}", "layer_norm_fwd", LN_FWD,
                          configs("BLOCK", *((cols, w) for w in (4, 8, 16))), layer_norm_fwd,
                          {"rows": 4096, "cols": cols}, {"rows": 3, "cols": cols - 16}, (4e-3, 2e-5, 2e-5)))
    for cols in (4096, 8192):
        out.append(memory(f"layernorm bwd f16 4096x{cols}", "layer_norm_bwd", LN_BWD,
                          configs("ROWS COLS", (1, cols, 4), (1, cols, 8), (1, cols, 16)), layer_norm_bwd,
                          {"rows": 4096, "cols": cols, "programs": 528}, {"rows": 16, "cols": cols - 16, "programs": 3},
                          (4e-3, 2e-4, 2e-4)))
    out += [
        memory("row min f32 16x262144", "row_min_split", ("*fp32:16", "*fp32:16", "i32:16", "i32:16", "i32:16"),
               configs("BM BN SUB", (16, 2048, 512, 4), (16, 2048, 512, 8), (16, 1024, 256, 4)), row_min,
               {"rows": 16, "cols": 262144}, {"rows": 16, "cols": 3200}, (0,)),
        memory("prod f32 2^26", "prod_mid", ("*fp32:16", "*fp32:16", "i32:16"),
               configs("BLOCK", (2048, 4), (2048, 8), (4096, 8)), prod, {"n": 1 << 26, "programs": 1024},
               {"n": 20000, "programs": 2}, (0,)),
        memory("cumsum f32 4096x4096", "cumsum_rows", ("*fp32:16", "*fp32:16", "i32:16", "i32:16"),
               configs("BLOCK", (4096, 4), (4096, 8), (4096, 16)), cumsum, {"rows": 4096, "cols": 4096},
               {"rows": 2, "cols": 4000}, (2e-5,)),
        memory("sort f32 16384x512", "sort_rows", ("*fp32:16", "*fp32:16", "i32:16"),
               configs("BLOCK", (512, 2), (512, 4), (512, 8)), sort, {"rows": 16384, "cols": 512},
               {"rows": 2, "cols": 512}, (0,)),
        memory("cast f32 to f16 2^28", "cast", ("*fp32:16", "*fp16:16", "i32:16"), BLOCKS, cast,
               {"n": 1 << 28, "source": "float32", "to": "float16"}, {"n": 5008, "source": "float32", "to": "float16"},
               (0,)),
        memory("cast f32 to fp8e5 2^28", "cast", ("*fp32:16", "*fp8e5:16", "i32:16"), BLOCKS, cast,
               {"n": 1 << 28, "source": "float32", "to": "float8_e5m2"},
               {"n": 5008, "source": "float32", "to": "float8_e5m2"}, (0,)),
        memory("cast f16 to f32 2^28", "cast", ("*fp16:16", "*fp32:16", "i32:16"), BLOCKS, cast,
               {"n": 1 << 28, "source": "float16", "to": "float32"}, {"n": 5008, "source": "float16", "to": "float32"},
               (0,)),
        memory("scatter_add f32 2^26 to 2^20", "scatter_add", ("*fp32:16", "*i32:16", "*fp32:16", "i32:16"),
               configs("BLOCK", (1024, 4), (1024, 8), (512, 4)), scatter_add, {"n": 1 << 26, "bins": 1 << 20},
               {"n": 5008, "bins": 64}, (2e-4,)),
    ]
    for element, dtype in (("fp32", "float32"), ("fp16", "float16")):
        out.append(memory(f"transpose {dtype} 8192x8192", "transpose", (f"*{element}:16",) * 2 + ("i32:16",) * 2,
                          configs("BM BN", (32, 32, 4), (64, 64, 4), (64, 64, 8), (128, 64, 8)), transpose,
                          {"m": 8192, "n": 8192, "dtype": dtype}, {"m": 144, "n": 208, "dtype": dtype}, (0,)))
    small = {"m": 272, "n": 304, "k": 272}
    for n in (512, 1024, 2048, 4096, 8192):
        out.append(dot(f"matmul f16 {n}", matmul_types("fp16"), SMALL_TILES if n < 2048 else BIG_TILES,
                       {"m": n, "n": n, "k": n}, small, 2e-3, dtype="float16"))
    for n in (4096, 8192):
        out.append(dot(f"matmul bf16 {n}", matmul_types("bf16"), BIG_TILES, {"m": n, "n": n, "k": n}, small, 1e-2,
                       dtype="bfloat16"))
    for n in (4096, 8192):
        # Operands as the hardware wants them: k runs along memory in both. wgmma keeps
        # 13 bits of each sum, and the error grows with k: 1.6e-2 for 8192, Triton's too.
        out.append(dot(f"matmul fp8 {n}", matmul_types("fp8e4nv", "fp16", "n"), FP8_TILES, {"m": n, "n": n, "k": n},
                       small, 4e-6 * n, least_arch=89, dtype="float8_e4m3fn", out="float16", b_rows="n"))
    out.append(dot("matmul tf32 4096", matmul_types("fp32"), TF32_TILES, {"m": 4096, "n": 4096, "k": 4096}, small, 5e-3,
                   dtype="float32"))
    for n in (512, 8192):  # a small one is short beside the making of its descriptors
        out.append(Row(f"matmul f16 {n} descriptors", "matmul_desc", ("*fp16:16",) * 3 + ("i32:16",) * 3,
                       fixed(SMALL_TILES if n < 2048 else BIG_TILES, GROUP=8, SMS=132), matmul_desc,
                       {"m": n, "n": n, "k": n, "dtype": "float16"}, small | {"dtype": "float16"}, (2e-3,)))
    for d, tiles in ((128, FLASH_128), (64, FLASH_64)):
        for causal in (False, True):
            out.append(Row(f"flash D{d} {'causal' if causal else 'full'}", "flash_fwd", FLASH,
                           fixed(tiles, D=d, CAUSAL=causal), flash,
                           {"z": 4, "h": 32, "ctx": 4096, "d": d, "causal": causal},
                           {"z": 1, "h": 2, "ctx": 256, "d": d, "causal": causal}, (1e-2, 1e-4)))
    for name, torch_name, tolerance in MATH:
        out.append(memory(f"math {name} f32 2^26", "math", ("*fp32:16", "*fp32:16", "fp32", "i32:16"),
                          configs("FN BLOCK", (name, 1024, 4), (name, 1024, 8)), math_function,
                          {"n": 1 << 26, "name": name, "torch_name": torch_name},
                          {"n": 5008, "name": name, "torch_name": torch_name}, (tolerance,), limit=0.95))
    import cases_hopper  # which are made of what stands above
    import cases_library
    import cases_small

    return out + cases_hopper.rows() + cases_library.rows() + cases_small.rows() + odd_cases()


def odd_cases():
    one = configs("BLOCK", (1024, 4))[0]
    every_stride = ("*fp16",) * 3 + ("i32",) * 9
    return [
        odd("vector_add", ("*fp32",) * 3 + ("i32",), one, vector_add, (0,), n=0),
        odd("row_softmax", ("*fp32",) * 2 + ("i32",) * 3, one, softmax, (2e-5,), rows=0, cols=1024),
        odd("layer_norm_fwd", LN_FWD, configs("BLOCK", (4096, 8))[0], layer_norm_fwd, (4e-3, 5e-5, 2e-5), rows=0,
            cols=4096),
        odd("layer_norm_bwd", LN_BWD, configs("ROWS COLS", (2, 1024, 4))[0], layer_norm_bwd, (4e-3, 2e-4, 2e-4), rows=0,
            cols=1024, programs=5),
        odd("row_min_split", ("*fp32", "*fp32", "i32", "i32", "i32"), configs("BM BN SUB", (16, 512, 128, 4))[0],
            row_min, (0,), rows=0, cols=3000),
        odd("prod_mid", ("*fp32", "*fp32", "i32"), one, prod, (0,), n=0, programs=7),
        odd("cumsum_rows", ("*fp32", "*fp32", "i32", "i32"), one, cumsum, (2e-5,), rows=0, cols=1024),
        odd("cast", ("*fp32", "*bf16", "i32"), one, cast, (0,), n=0, source="float32", to="bfloat16"),
        odd("transpose", ("*fp32", "*fp32", "i32", "i32"), configs("BM BN", (32, 64, 4))[0], transpose, (0,), m=0, n=0,
            dtype="float32"),
        odd("scatter_add", ("*fp32", "*i32", "*fp32", "i32"), one, scatter_add, (2e-4,), n=0, bins=100),
        odd("matmul", every_stride, fixed(configs(TILES, (64, 64, 32, 4, 3)), GROUP=4)[0], matmul_any, (2e-3,), m=0,
            n=0, k=0, dtype="float16"),
    ]


def builds(chosen, arch):
    """What has to be compiled for rows on arch: {key: Build}, each once."""
    out = {}
    for row in chosen:
        if arch >= row.least_arch:
            for config in row.configs:
                b = row.build(config)
                out[b.key] = b
    return out


def study():
    """The rows of docs/examples, which are no part of the comparison."""
    import cases_study

    return cases_study.rows()


def choose(pattern):
    """The rows whose name contains one of the words of a comma list; all for ''. Words
    that begin with "study" are for the rows of docs/examples, others for the rest."""
    words = [w.strip() for w in (pattern or "").split(",") if w.strip()]
    asked = [w for w in words if w.startswith("study")]
    others = [w for w in words if w not in asked]
    chosen = [r for r in rows() if not words or any(w in r.name for w in others)]
    chosen += [r for r in study() if any(w in r.name for w in asked)] if asked else []
    if not chosen:
        raise SystemExit(f"no row has {' or '.join(words)} in its name; there are:\n  " +
                         "\n  ".join(r.name for r in rows() + study()))
    return chosen


def compare(torch, out, ref, tolerance):
    """The greatest error of out over the tolerance: at most 1 is right; NaN is infinite.

    Errors are relative to |ref| + rms(ref), so that small sums of large terms
    are held to what their terms allow. With tolerance 0 every bit counts.
    """
    if tolerance == 0:
        if out.element_size() == 1:
            out, ref = out.view(torch.uint8), ref.view(torch.uint8)
        wrong = int((out != ref).sum().item())  # a poisoned NaN differs from everything
        return float("inf") if wrong else 0.0
    o, r = out.double(), ref.double()
    rms = r.pow(2).mean().sqrt()
    worst = float(((o - r).abs() / (r.abs() + rms + 1e-30)).max().item()) / tolerance
    return worst if math.isfinite(worst) else float("inf")
