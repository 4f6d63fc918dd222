"""Rows of the kernels of examples/ that docs/examples compares: ways to do one thing,
the slow ones too. Their names begin with "study", and only `--rows study` chooses them.
"""

import math

from cases import Row, Work, cdiv, configs, cumsum, layer_norm_bwd, layer_norm_fwd, size_of, softmax

F32, F16, I32 = "*fp32:16", "*fp16:16", "i32:16"


def product(env, n):
    # Powers of two, few enough for no partial product to overflow.
    x = env.torch.ones(n, device=env.device)
    draw = env.torch.randint(0, 1024, (n,), device=env.device, generator=env.generator)
    x[draw == 0], x[draw == 1] = 2, 0.5
    # As many partial products as the config that has most programs writes. Ones leave
    # the whole as it is.
    o = env.empty(cdiv(n, 1024))
    return Work([x, o, n], lambda c: (cdiv(n, c["BLOCK_SIZE"]), 1, 1), lambda: [o.double().log2().round().sum().view(1)],
                lambda: [x.double().log2().sum().view(1)], lambda: o.fill_(1), bytes=size_of(x))


def product_of(env, n, programs):
    """The same by a number of programs."""
    w = product(env, n)
    w.grid = lambda c: (programs, 1, 1)
    return w


def product_result(env, n):
    x, o = env.torch.ones(n, device=env.device), env.empty(1)
    return Work([x, o, n], lambda c: (1, 1, 1), lambda: [o], lambda: [env.torch.prod(x).view(1)], env.poison(o),
                bytes=size_of(x, o))


def maximum(env, n, programs):
    x, o = env.randn(n), env.empty(1)
    return Work([x, o, n], lambda c: (programs or cdiv(n, c["BLOCK_SIZE"]), 1, 1), lambda: [o],
                lambda: [env.torch.amax(x).view(1)], lambda: o.fill_(-math.inf), lambda: env.torch.amax(x),
                bytes=size_of(x))


def maximum_rows(env, rows, cols, programs):
    x, o = env.randn(rows, cols), env.empty(rows)
    return Work([x, o, rows, cols], lambda c: (cdiv(programs, c["NUM_BLOCK_N"]), c["NUM_BLOCK_N"], 1), lambda: [o],
                lambda: [env.torch.amax(x, 1)], lambda: o.fill_(-math.inf), lambda: env.torch.amax(x, 1),
                bytes=size_of(x, o))


def minimum(env, rows, cols, split):
    x, o = env.randn(rows, cols), env.empty(rows)
    return Work([x, o, rows, cols],
                lambda c: (cdiv(cols, c["BLOCK_SIZE_N"]) if split else cdiv(rows, c["BLOCK_SIZE_M"]), 1, 1), lambda: [o],
                lambda: [env.torch.amin(x, 1)], lambda: o.fill_(math.inf), lambda: env.torch.amin(x, 1),
                bytes=size_of(x, o))


def products(env, n):
    a, b, c = env.randn(n, n, dtype="float16"), env.randn(n, n, dtype="float16"), env.empty(n, n, dtype="float16")
    return Work([a, b, c, n, n, n], lambda f: (cdiv(n, f["BLOCK_M"]), cdiv(n, f["BLOCK_N"]), 1), lambda: [c],
                lambda: [(a.double() @ b.double())], env.poison(c), lambda: env.torch.matmul(a, b, out=c),
                bytes=size_of(a, b, c), flops=2 * n**3)


def products_grouped(env, n):
    w = products(env, n)
    w.args += [n, n, n]
    w.grid = lambda f: (cdiv(n, f["BLOCK_SIZE_M"]) * cdiv(n, f["BLOCK_SIZE_N"]), 1, 1)
    return w


def by_rows(make, name):
    """A work whose programs take blocks of rows, and whose arguments are out, in, rows, cols."""

    def work(env, rows, cols):
        w = make(env, rows, cols)
        x, o = (w.args[1], w.args[0]) if make is softmax else (w.args[0], w.args[1])
        w.args = [o, x, cols] if name is None else [o, x, rows, cols]
        w.grid = lambda c: (cdiv(rows, c[name]) if name else rows, 1, 1)
        return w

    return work


def partials(env, rows, cols):
    x = env.randn(rows, cols)
    parts = cdiv(cols, 4096)
    top, total = env.empty(rows, parts), env.empty(rows, parts)

    def reference():
        p = x.double().view(rows, parts, cols // parts)
        best = p.amax(2)
        return [best, (p - best[:, :, None]).exp().sum(2)]

    return Work([top, total, x, rows, cols], lambda c: (rows, parts, 1), lambda: [top, total], reference,
                env.poison(top, total), bytes=size_of(x, top, total))


def combined(env, rows, cols):
    w = partials(env, rows, cols)
    x, o = w.args[2], env.empty(rows, cols)
    top, total = (t.float() for t in w.reference())
    return Work([o, x, top, total, rows, cols], w.grid, lambda: [o], lambda: [env.torch.softmax(x.double(), 1)],
                env.poison(o), bytes=size_of(x, o, top, total))


def chunk_sums(env, rows, cols):
    x = env.randn(rows, cols)
    parts = cdiv(cols, 4096)
    s = env.empty(rows, parts)
    return Work([s, x, cols], lambda c: (rows, parts, 1), lambda: [s],
                lambda: [x.double().view(rows, parts, cols // parts).sum(2)], env.poison(s), bytes=size_of(x, s))


def chunks(env, rows, cols):
    w = chunk_sums(env, rows, cols)
    x, o = w.args[1], env.empty(rows, cols)
    sums = w.reference()[0].float()
    return Work([o, x, sums, cols], w.grid, lambda: [o], lambda: [env.torch.cumsum(x.double(), 1)], env.poison(o),
                bytes=size_of(x, o, sums))


def heads(env, n, ctx, d):
    return [env.randn(n, ctx, d, dtype="float16") for _ in range(3)], d**-0.5


def scores(env, n, ctx, d):
    (q, k, _), scale = heads(env, n, ctx, d)
    s = env.empty(n, ctx, ctx, dtype="float16")

    # Of all scores in float64 nothing fits; each head's are compared with float32's.
    def reference():
        return [env.torch.stack([(q[i].float() @ k[i].float().transpose(0, 1) * scale).half() for i in range(n)])]

    return Work([q, k, s, scale, ctx], lambda c: (cdiv(ctx, c["BLOCK_M"]), cdiv(ctx, c["BLOCK_N"]), n), lambda: [s],
                reference, env.poison(s), bytes=size_of(q, k, s), flops=2 * n * ctx * ctx * d)


def weights(env, rows, cols):
    x, o = env.randn(rows, cols, dtype="float16"), env.empty(rows, cols, dtype="float16")
    return Work([o, x, cols, cols, cols], lambda c: (rows, 1, 1), lambda: [o], lambda: [env.torch.softmax(x.float(), 1)],
                env.poison(o), lambda: env.torch.softmax(x, 1), bytes=size_of(x, o))


def values(env, n, ctx, d):
    (_, _, v), _ = heads(env, n, ctx, d)
    p, o = env.randn(n, ctx, ctx, dtype="float16").abs(), env.empty(n, ctx, d, dtype="float16")
    return Work([p, v, o, ctx], lambda c: (cdiv(ctx, c["BLOCK_M"]), n, 1), lambda: [o],
                lambda: [env.torch.stack([p[i].double() @ v[i].double() for i in range(n)])], env.poison(o),
                bytes=size_of(p, v, o), flops=2 * n * ctx * ctx * d)


def attention(env, n, ctx, d, causal):
    (q, k, v), scale = heads(env, n, ctx, d)
    o = env.empty(n, ctx, d, dtype="float16")
    hidden = env.torch.ones(ctx, ctx, dtype=env.torch.bool, device=env.device).triu(1)

    def reference():
        out = []
        for i in range(n):
            s = q[i].double() @ k[i].double().transpose(0, 1) * scale
            if causal:
                s.masked_fill_(hidden, -math.inf)
            out.append(env.torch.softmax(s, 1) @ v[i].double())
        return [env.torch.stack(out)]

    return Work([q, k, v, o, scale, ctx], lambda c: (cdiv(ctx, c["BLOCK_M"]), n, 1), lambda: [o], reference,
                env.poison(o), lambda: env.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
                bytes=size_of(q, k, v, o), flops=4 * n * ctx * ctx * d // (2 if causal else 1))


def norm_fused(env, rows, cols, programs):
    w = layer_norm_bwd(env, rows, cols, programs or rows)
    w.grid = lambda c: (programs or rows, 1, 1)
    return w


def norm_input(env, rows, cols):
    dx, dy, _, _, x, w, mean, rstd, m, n = (whole := layer_norm_bwd(env, rows, cols, 1)).args
    return Work([dy, x, w, mean, rstd, dx, m, n], lambda c: (cdiv(rows, c["BLOCK_ROW_SIZE"]), 1, 1), lambda: [dx],
                lambda: whole.reference()[:1], env.poison(dx), bytes=size_of(dx, dy, x, w, mean, rstd))


def norm_columns(env, rows, cols):
    _, dy, dw, db, x, _, mean, rstd, m, n = (whole := layer_norm_bwd(env, rows, cols, 1)).args
    return Work([dy, x, mean, rstd, dw, db, m, n], lambda c: (cdiv(cols, c["BLOCK_COL_SIZE"]), 1, 1), lambda: [dw, db],
                lambda: whole.reference()[1:], env.poison(dw, db), bytes=size_of(dy, x, mean, rstd, dw, db))


def wrapped(env, n, m):
    x, o = env.randn(m, dtype="float16"), env.empty(n, dtype="float16")
    return Work([o, x, m], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [o], lambda: [x.repeat(n // m)], env.poison(o),
                bytes=size_of(o, x))


def flags(env, n, group):
    x, o = env.randn(n), env.empty(n)
    live = env.torch.randint(0, 2, (n // group,), device=env.device, generator=env.generator, dtype=env.torch.int32)
    return Work([o, live, x, n, group], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [o],
                lambda: [x * live.repeat_interleave(group)], env.poison(o), bytes=size_of(x, o, live))


def strided(env, rows, cols, block):
    x, o = env.randn(rows, cols), env.empty(rows, block)

    def reference():
        out = env.torch.zeros(rows, block, device=env.device)
        out[:, :cols] = x
        return [out]

    return Work([o, x, cols, cols], lambda c: (rows, 1, 1), lambda: [o], reference, env.poison(o), bytes=size_of(x, o))


def relu(env, n):
    x, o = env.randn(n), env.empty(n)
    return Work([o, x, n], lambda c: (cdiv(n, c["BLOCK"]), 1, 1), lambda: [o], lambda: [x.clamp(min=0)],
                env.poison(o), lambda: x.clamp(min=0), bytes=size_of(x, o))


def distance(env, rows, cols):
    x, y, o = env.randn(rows, cols), env.randn(rows, cols), env.empty(rows)
    return Work([o, x, y, cols], lambda c: (rows, 1, 1), lambda: [o],
                lambda: [(x.double() - y.double()).pow(2).sum(1)], env.poison(o), bytes=size_of(x, y, o))


def sums(env, tiles, rows, cols, axis):
    """Sums of tiles: of all elements, or along an axis."""
    x = env.randn(tiles, rows, cols)
    o = env.empty(tiles) if axis is None else env.empty(tiles, rows if axis == 1 else cols)
    return Work([o, x], lambda c: (tiles, 1, 1), lambda: [o],
                lambda: [x.double().view(tiles, rows * cols).sum(1) if axis is None else x.double().sum(axis + 1)],
                env.poison(o), bytes=size_of(x, o))


def row(name, kernel, types, configurations, make, full, small, *tolerance, dot=False):
    return Row(f"study {name}", kernel, types, configurations, make, full, small, tolerance, memory_bound=not dot)


def reductions():
    n = {"n": 1 << 26}, {"n": 5008}
    types = (F32, F32, I32)
    block = configs("BLOCK_SIZE", (2048, 4), (2048, 8), (4096, 8))
    yield row("prod: a block a program", "prod_kernel_block", types, block, product, *n, 0)
    some = {"programs": 1056, **n[0]}, {"programs": 2, **n[1]}
    yield row("prod: blocks in a loop", "prod_kernel_mid", types, block, product_of, *some, 0)
    halves = configs("BLOCK_SIZE ITER_NUM", (2048, 11, 4), (2048, 11, 8), (4096, 12, 8))
    yield row("prod: in a loop, then halves", "prod_kernel_halves", types, halves, product_of, *some, 0)
    for parts in (32768, 1056):
        size = configs("BLOCK_MID", *((1 << (parts - 1).bit_length(), w) for w in (4, 8, 16)))
        yield row(f"prod: result of {parts}", "prod_kernel_result", types, size, product_result, {"n": parts}, {"n": 64}, 0)
    for n in (1 << 26, 1 << 22):
        for one in (True, False):
            tiles = configs("BLOCK_SIZE ONE_TILE_PER_CTA", (4096, one, 8), (8192, one, 8))
            programs = 0 if one else min(1056, n // 4096)
            yield row(f"max {n}: {'a tile a program' if one else 'tiles in a loop'}", "max_kernel", types, tiles, maximum,
                      {"n": n, "programs": programs}, {"n": 20000, "programs": 0 if one else 2}, 0)
    for programs, parts in ((256, 1), (256, 4), (256, 16), (256, 64), (1056, 4), (1056, 16)):
        split = configs("NUM_BLOCK_N BLOCK_SIZE_N", (parts, 65536 // parts, 8))
        yield row(f"max of 256 rows: {programs} programs, a row in {parts}", "max_rows_kernel", (F32, F32, I32, I32), split,
                  maximum_rows, {"rows": 256, "cols": 65536, "programs": programs},
                  {"rows": 4, "cols": 65536, "programs": parts * 2}, 0)
    size = {"rows": 16, "cols": 262144}, {"rows": 16, "cols": 16384}
    types = (F32, F32, I32, I32)
    whole = configs("BLOCK_SIZE_M BLOCK_SIZE_N", (1, 4096, 8), (1, 8192, 16))
    yield row("min: programs share rows", "min_rows", types, whole, minimum, *({"split": False, **s} for s in size), 0)
    size = [{"split": True, **s} for s in size]
    names = "BLOCK_SIZE_M BLOCK_SIZE_N SUB_BLOCK_SIZE_N"
    yield row("min: reduced each step, 8192 columns", "min_split_each", types, configs(names, (16, 8192, 512, 8)), minimum, *size, 0)
    for shape in ((8, 8192, 1024), (16, 8192, 512), (16, 2048, 512), (16, 1024, 512), (16, 512, 256)):
        yield row("min: reduced once, %d %d %d" % shape, "min_split", types, configs(names, (*shape, 8)), minimum, *size, 0)
    yield row("min: one atomic for all", "min_split_once", types,
              configs("ALL_ROWS " + names, (16, 8, 2048, 512, 8), (16, 8, 512, 256, 8)), minimum, *size, 0)


def matmuls():
    tiles = ("BLOCK_M BLOCK_N BLOCK_K", (128, 256, 64, 8, 3))
    full, small = {"n": 8192}, {"n": 272}
    yield row("matmul 8192: grid of two dimensions", "matmul_kernel1", (F16,) * 3 + (I32,) * 3, configs(*tiles), products,
              full, small, 2e-3, dot=True)
    types = (F16,) * 3 + (I32,) * 3 + (I32, "1") * 3
    names = "BLOCK_SIZE_M BLOCK_SIZE_N BLOCK_SIZE_K GROUP_SIZE_M ACTIVATION"
    for group in (1, 4, 8, 16):
        yield row(f"matmul 8192: groups of {group}", "matmul_kernel", types, configs(names, (128, 256, 64, group, "", 8, 3)),
                  products_grouped, full, small, 2e-3, dot=True)
    # Of the example's 16 configs those that fit in the shared memory of an H200 with fp16.
    fit = [(128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4),
           (128, 32, 32, 4, 4), (64, 32, 32, 2, 5), (32, 64, 32, 2, 5), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
           (128, 32, 64, 4, 4)]
    yield row("matmul 4096: the list's best", "matmul_kernel", types,
              configs(names, *((m, n, k, 8, "", w, s) for m, n, k, w, s in fit)), products_grouped, {"n": 4096}, small,
              2e-3, dot=True)
    size = {"n": 16, "ctx": 4096, "d": 64}, {"n": 2, "ctx": 256, "d": 64}
    block = configs("HEAD BLOCK_M BLOCK_N", (64, 128, 128, 8, 3), (64, 128, 64, 4, 3))
    yield row("attention: scores", "scores_kernel", (F16,) * 3 + ("fp32", I32), block, scores, *size, 4e-3, dot=True)
    yield row("attention: weights", "row_softmax", (F16, F16) + (I32,) * 3, configs("BLOCK", (4096, 4), (4096, 8)), weights,
              {"rows": 65536, "cols": 4096}, {"rows": 4, "cols": 4096}, 2e-3)
    yield row("attention: values", "values_kernel", (F16,) * 3 + (I32,), block, values, *size, 2e-3, dot=True)
    for causal in (False, True):
        fused = configs("HEAD BLOCK_M BLOCK_N CAUSAL", *((64, m, n, causal, w, s) for m, n, w, s in (
            (128, 64, 4, 3), (128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 3), (64, 32, 4, 3))))
        yield row(f"attention: fused{', causal' if causal else ''}", "attention_kernel", (F16,) * 4 + ("fp32", I32), fused,
                  attention, *({"causal": causal, **s} for s in size), 1e-2, dot=True)


def rows_of_matrices():
    square, wide = {"rows": 4096, "cols": 4096}, {"rows": 16, "cols": 1 << 20}
    small, few = {"rows": 33, "cols": 256}, {"rows": 2, "cols": 16384}
    both = (F32, F32, I32, I32)
    yield row("softmax 4096x4096: a column at a time", "softmax_columns", both,
              configs("BLOCK_SIZE_ROW", (32, 1), (128, 4)), by_rows(softmax, "BLOCK_SIZE_ROW"), square, small, 2e-5)
    tiles = configs("BLOCK_SIZE_ROW BLOCK_SIZE_COL", (1, 1024, 4), (1, 4096, 8), (4, 1024, 8), (16, 256, 8))
    for size, least in ((square, small), (wide, few)):
        shape = "%dx%d" % (size["rows"], size["cols"])
        yield row(f"softmax {shape}: tiles", "softmax_tiles", both, tiles, by_rows(softmax, "BLOCK_SIZE_ROW"), size, least, 2e-5)
    yield row("softmax 4096x4096: a row a program", "row_softmax", (F32, F32) + (I32,) * 3,
              configs("BLOCK", (4096, 4), (4096, 8), (4096, 16)), softmax, square, {"rows": 3, "cols": 4000}, 2e-5)
    yield row("softmax 16x1048576: parts", "softmax_partials", (F32,) * 3 + (I32,) * 2, configs("BLOCK_SIZE_COL", (4096, 8)),
              partials, wide, few, 0, 2e-5)
    yield row("softmax 16x1048576: of the parts", "softmax_combine", (F32,) * 4 + (I32,) * 2,
              configs("BLOCK_SIZE_COL PARTS", (4096, 256, 8)), combined, wide, few, 2e-5)
    yield row("cumsum 4096x4096: a column at a time", "cumsum_columns", both, configs("BLOCK_ROW", (32, 1), (128, 4)),
              by_rows(cumsum, "BLOCK_ROW"), square, small, 2e-5)
    yield row("cumsum 4096x4096: a row in a block", "cumsum_row", (F32, F32, I32), configs("BLOCK", (4096, 4), (4096, 8)),
              by_rows(cumsum, None), square, {"rows": 3, "cols": 4000}, 2e-5)
    for size, least in ((square, small), (wide, few)):
        shape = "%dx%d" % (size["rows"], size["cols"])
        yield row(f"cumsum {shape}: tiles", "cumsum_tiles", (F32, F32, I32), configs("BLOCK", (1024, 4), (4096, 8)),
                  by_rows(cumsum, None), size, least, 1e-4)
    yield row("cumsum 16x1048576: sums of chunks", "chunk_sums", (F32, F32, I32), configs("BLOCK", (4096, 8)), chunk_sums,
              wide, few, 2e-5)
    yield row("cumsum 16x1048576: chunks", "cumsum_chunks", (F32,) * 3 + (I32,), configs("BLOCK CHUNKS", (4096, 256, 8)),
              chunks, wide, few, 1e-4)


def norms():
    forward = (F16,) * 4 + (F32,) * 2 + (I32, I32, "fp32")
    backward = (F16, F16, F32, F32, F16, F16, F32, F32, I32, I32)
    for n, m in ((8192, 4096), (65536, 1024)):
        size, small = {"rows": m, "cols": n}, {"rows": 5, "cols": 2048}
        shape = f"{m}x{n}"
        yield row(f"layer norm {shape}: row in a block", "layer_norm", forward, configs("BLOCK", *((n, w) for w in (8, 16, 32))),
                  layer_norm_fwd, size, small, 4e-3, 2e-5, 2e-5)
        yield row(f"layer norm {shape}: tiles", "layer_norm_wide", forward, configs("BLOCK", (2048, 8), (4096, 8), (8192, 16)),
                  layer_norm_fwd, size, small, 4e-3, 2e-5, 2e-5)
        tile = "BLOCK_ROW_SIZE BLOCK_COL_SIZE"
        yield row(f"layer norm backward {shape}: input", "input_backward_kernel", (F16,) * 3 + (F32,) * 2 + (F16, I32, I32),
                  configs(tile, (1, 1024, 4), (1, 2048, 8), (4, 1024, 8)), norm_input, size, small, 4e-3)
        yield row(f"layer norm backward {shape}: weight and bias", "weight_bias_backward_kernel",
                  (F16,) * 2 + (F32,) * 4 + (I32, I32), configs(tile, (32, 32, 4), (64, 32, 4), (64, 32, 8), (128, 16, 4)),
                  norm_columns, size, small, 2e-4, 2e-4)
        yield row(f"layer norm backward {shape}: a row a program", "layer_norm_backward_row", backward,
                  configs("BLOCK_COL_SIZE", (n, 8), (n, 16)), norm_fused, {"programs": 0, **size}, {"programs": 0, **small},
                  4e-3, 2e-4, 2e-4)
        yield row(f"layer norm backward {shape}: rows in a loop", "layer_norm_backward_kernel", backward,
                  configs(tile, (1, n, 8), (1, n, 16)), norm_fused, {"programs": 264, **size}, {"programs": 2, **small},
                  4e-3, 2e-4, 2e-4)


def hints():
    block = configs("BLOCK", (1024, 4))
    wrap, flag = ({"n": 1 << 27, "m": 1 << 20}, {"n": 4096, "m": 2048}), ({"n": 3 << 24, "group": 24}, {"n": 6144, "group": 24})
    stride = {"rows": 65536, "cols": 1000, "block": 1024}, {"rows": 3, "cols": 1000, "block": 1024}
    for more, ending in (("", ""), (", hinted", "_hinted")):
        yield row(f"hints: modulo{more}", "wrap" + ending, (F16, F16, "i32"), block, wrapped, *wrap, 0)
        yield row(f"hints: flags{more}", "flags" + ending, (F32, "*i32:16", F32, I32, "i32"), block, flags, *flag, 0)
        yield row(f"hints: stride{more}", "rows" + ending, (F32, F32, "i32", "i32"), block, strided, *stride, 0)
    yield row("hints: stride, hinted as a parameter", "rows_parameters", (F32, F32, "i32", "i32"), block, strided, *stride, 0)


def replacements():
    one = configs("BLOCK", (1024, 4))
    for kernel in ("relu_maximum", "relu_where"):
        yield row(f"replacements: {kernel}", kernel, (F32, F32, I32), one, relu, {"n": 1 << 26}, {"n": 4096}, 0)
    for kernel in ("distance_where", "distance"):
        yield row(f"replacements: {kernel}", kernel, (F32,) * 3 + (I32,), configs("BLOCK", (8192, 8)), distance,
                  {"rows": 4096, "cols": 8000}, {"rows": 3, "cols": 8000}, 2e-5)
    tile, small = {"tiles": 4096, "rows": 128, "cols": 128}, {"tiles": 2, "rows": 128, "cols": 128}
    for kernel in ("sum_at_once", "sum_in_steps"):
        yield row(f"replacements: {kernel}", kernel, (F32, F32), configs("BLOCK", (16384, 4), (16384, 8)), sums,
                  {"axis": None, **tile}, {"axis": None, **small}, 2e-5)
    for kernel, axis in (("sum_rows", 1), ("sum_columns", 0)):
        yield row(f"replacements: {kernel}", kernel, (F32, F32), configs("ROWS COLS", (128, 128, 4), (128, 128, 8)), sums,
                  {"axis": axis, **tile}, {"axis": axis, **small}, 2e-5)


def rows():
    return [*norms(), *reductions(), *matmuls(), *rows_of_matrices(), *replacements(), *hints()]
