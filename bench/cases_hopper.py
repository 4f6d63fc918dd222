"""Rows of what libraries run on Hopper: descriptors that the host makes, batches and
groups of matrices, narrow and scaled types, attention's backward in large tiles, linear
attention, decoding from pages.
"""

import math

from cases import Descriptor, Row, Work, cdiv, configs, fixed, matmul, memory, size_of
from cases_library import BWD, SIZES, backward

TILES = "BM BN BK"
HOST = configs(TILES, (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 3), (128, 128, 64, 8, 4),
               (128, 128, 64, 4, 4), (256, 128, 64, 8, 3))
DIVIDED = configs(TILES, (128, 256, 64, 4, 3), (128, 128, 64, 4, 3), (128, 128, 64, 4, 4), (64, 256, 64, 4, 3),
                  (64, 256, 64, 4, 4), (64, 128, 64, 4, 4))
BATCHED = configs(TILES, (128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 32, 4, 4),
                  (64, 128, 64, 4, 4))
INT8 = configs(TILES, (128, 256, 128, 8, 3), (128, 128, 128, 8, 3), (128, 128, 128, 4, 3), (128, 128, 64, 4, 4),
               (64, 128, 128, 4, 4))
FEW_ROWS = configs(TILES, (16, 64, 128, 4, 3), (16, 128, 64, 4, 4), (16, 64, 64, 4, 4), (16, 128, 128, 4, 2),
                   (16, 32, 128, 4, 4))
MANY_ROWS = configs(TILES, (128, 128, 64, 8, 3), (128, 128, 64, 4, 3), (64, 128, 64, 4, 3), (128, 64, 64, 4, 4),
                    (128, 128, 32, 4, 4))
BLOCK_FP8 = configs(TILES, (128, 128, 128, 4, 3), (128, 128, 128, 8, 3), (64, 128, 128, 4, 4), (64, 128, 128, 4, 3),
                    (64, 64, 128, 4, 4))
ATTN_128 = configs("BM BN", (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3), (128, 128, 8, 2))
ATTN_64 = configs("BM BN", (128, 64, 8, 3), (128, 64, 4, 3), (128, 128, 8, 3), (128, 128, 4, 2), (64, 64, 4, 4))
BWD_TILES = configs("BM BN", (64, 128, 8, 2), (64, 64, 4, 2), (32, 128, 4, 3), (64, 128, 8, 3), (64, 128, 4, 2),
                    (32, 64, 4, 3))
BWD_Q_TILES = configs("BM BN", (128, 64, 8, 2), (64, 64, 4, 2), (128, 32, 4, 3), (128, 64, 8, 3), (128, 64, 4, 2),
                      (64, 32, 4, 3))


def blocks(element, *names):
    """The type of a descriptor: its block by names of constants."""
    return f"tensordesc<{element}[{', '.join('{' + n + '}' if isinstance(n, str) else str(n) for n in names)}]>"


A_B_C = (blocks("fp16", "BM", "BK"), blocks("fp16", "BN", "BK"), blocks("fp16", "BM", "BN"))
SIZES3 = ("i32:16",) * 3


def tiles(m, n):
    return lambda c: (cdiv(m, c["BM"]) * cdiv(n, c["BN"]), 1, 1)


def divided(env, m, n, k, dtype):
    w = matmul(env, m, n, k, dtype, b_rows="n")
    w.args = w.args[:6]
    return w


def matmul_host(env, m, n, k, dtype, persistent=False):
    w = matmul(env, m, n, k, dtype, b_rows="n")
    a, b, c, *sizes = w.args[:6]
    w.args = [Descriptor(a, "BM", "BK"), Descriptor(b, "BN", "BK"), Descriptor(c, "BM", "BN"), *sizes]
    if persistent:
        w.grid = lambda config, all=w.grid: (min(config["SMS"], all(config)[0]), 1, 1)
    return w


ROWS = 128  # of an expert, or a multiple


def experts(env, experts, rows, n, k):
    torch = env.torch
    counts = [ROWS * (1 + env.random.randrange(2 * rows // ROWS - 1)) for _ in range(experts)]
    m = sum(counts)
    a = env.randn(m, k, dtype="float16")
    w = env.randn(experts, n, k, dtype="float16")
    c = env.empty(m, n, dtype="float16")
    table = torch.tensor([e for e, count in enumerate(counts) for _ in range(count // ROWS)], dtype=torch.int32,
                         device=env.device)

    def reference():
        out, at = [], 0
        for e, count in enumerate(counts):
            out.append(a[at:at + count].double() @ w[e].double().t())
            at += count
        return [torch.cat(out)]

    return Work([Descriptor(a, "BM", "BK"), Descriptor(w, 1, "BN", "BK"), Descriptor(c, "BM", "BN"), table, m, n, k],
                tiles(m, n), lambda: [c], reference, env.poison(c), bytes=size_of(a, w, c), flops=2 * m * n * k)


def groups(env, sizes):
    torch = env.torch
    a = [env.randn(m, k, dtype="float16") for m, n, k in sizes]
    b = [env.randn(n, k, dtype="float16") for m, n, k in sizes]
    c = [env.empty(m, n, dtype="float16") for m, n, k in sizes]
    places = [torch.tensor([t.data_ptr() for t in ts], dtype=torch.int64, device=env.device) for ts in (a, b, c)]
    shape = torch.tensor([x for m, n, k in sizes for x in (m, n, k, n)], dtype=torch.int32, device=env.device)
    w = Work([*places, shape, len(sizes)], lambda config: (config["SMS"], 1, 1), lambda: c,
             lambda: [x.double() @ y.double().t() for x, y in zip(a, b)], env.poison(*c),
             bytes=size_of(*a, *b, *c), flops=sum(2 * m * n * k for m, n, k in sizes))
    w.keep = (a, b)  # which nothing else refers to
    return w


def attn_host(env, z, h, ctx, d, causal):
    from cases import flash
    w = flash(env, z, h, ctx, d, causal)
    q, k, v, o, lse, scale, *_ = w.args
    flat = lambda x: x.view(z * h * ctx, d)
    w.args = [Descriptor(flat(q), "BM", d), Descriptor(flat(k), "BN", d), Descriptor(flat(v), "BN", d),
              Descriptor(flat(o), "BM", d), lse, scale, ctx]
    return w


def batched(env, batch, m, n, k):
    a, b = env.randn(batch, m, k, dtype="float16"), env.randn(batch, k, n, dtype="float16")
    c = env.empty(batch, m, n, dtype="float16")
    torch = env.torch
    return Work([a, b, c, m, n, k, m * k, k, k * n, n, m * n, n],
                lambda config: (cdiv(m, config["BM"]) * cdiv(n, config["BN"]), batch, 1), lambda: [c],
                lambda: [torch.stack([x.double() @ y.double() for x, y in zip(a, b)])], env.poison(c),
                lambda: torch.bmm(a, b), bytes=size_of(a, b, c), flops=2 * batch * m * n * k)


def integers(env, low, high, *shape, dtype):
    return env.torch.randint(low, high, shape, device=env.device, generator=env.generator).to(getattr(env.torch, dtype))


def int8(env, m, n, k):
    torch = env.torch
    a, b = integers(env, -127, 128, m, k, dtype="int8"), integers(env, -127, 128, n, k, dtype="int8")
    sa, sb = env.randn(m).abs() / 256, env.randn(n).abs() / 256
    c = env.empty(m, n, dtype="float16")

    def reference():
        return [a.double() @ b.double().t() * sa.double()[:, None] * sb.double()[None, :]]

    return Work([a, b, c, sa, sb, m, n, k, k, k, n], tiles(m, n), lambda: [c], reference, env.poison(c),
                lambda: torch._int_mm(a, b.t()), bytes=size_of(a, b, c, sa, sb), flops=2 * m * n * k)


def rows8(env, m, n, k):
    torch = env.torch
    a, b = integers(env, -127, 128, m, k, dtype="int8"), env.randn(k, n, dtype="float16")
    s, c = env.randn(m).abs() / 64, env.empty(m, n, dtype="float16")

    def reference():
        return [a.double() @ b.double() * s.double()[:, None]]

    return Work([a, b, c, s, m, n, k, k, n, n], tiles(m, n), lambda: [c], reference, env.poison(c),
                bytes=size_of(a, b, c, s), flops=2 * m * n * k)


SPAN = 128  # numbers that share a scale


def int4(env, m, n, k):
    torch = env.torch
    a = env.randn(m, k, dtype="float16")
    values = integers(env, 0, 16, k, n, dtype="int64")
    words = torch.stack([values[i::8] << (4 * i) for i in range(8)]).sum(0)
    words = torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)
    scales = (env.randn(k // SPAN, n).abs() / 8 + 1 / 64).to(torch.float16)
    c = env.empty(m, n, dtype="float16")

    def reference():
        b = (values - 8).to(torch.float16) * scales.repeat_interleave(SPAN, 0)
        return [a.double() @ b.double()]

    return Work([a, words, scales, c, m, n, k, k, n, n, n], tiles(m, n), lambda: [c], reference, env.poison(c),
                bytes=size_of(a, words, scales, c), flops=2 * m * n * k)


def block_fp8(env, m, n, k):
    torch = env.torch
    a = env.randn(m, k, dtype="float16").to(torch.float8_e4m3fn)
    b = env.randn(n, k, dtype="float16").to(torch.float8_e4m3fn)
    sa, sb = env.randn(m, k // SPAN).abs() + 0.1, env.randn(n // SPAN, k // SPAN).abs() + 0.1
    c = env.empty(m, n, dtype="bfloat16")

    def reference():
        x = a.float().double() * sa.double().repeat_interleave(SPAN, 1)
        y = b.float().double() * sb.double().repeat_interleave(SPAN, 0).repeat_interleave(SPAN, 1)
        return [x @ y.t()]

    return Work([a, b, c, sa, sb, m, n, k, k, k, n, k // SPAN, k // SPAN], tiles(m, n), lambda: [c], reference,
                env.poison(c), bytes=size_of(a, b, c, sa, sb), flops=2 * m * n * k)


def experts_fp8(env, tokens, experts, top, n, k):
    torch = env.torch
    a = env.randn(tokens, k, dtype="float16").to(torch.float8_e4m3fn)
    b = env.randn(experts * n, k, dtype="float16").to(torch.float8_e4m3fn)
    sa, sb = env.randn(tokens, k // SPAN).abs() + 0.1, env.randn(experts, n // SPAN, k // SPAN).abs() + 0.1
    c = env.empty(tokens * top, n, dtype="bfloat16")
    order, start = list(range(tokens * top)), [0]
    env.random.shuffle(order)
    cuts = sorted(env.random.choices(range(experts), k=tokens * top))
    start += [sum(e <= i for e in cuts) for i in range(experts)]
    slots = torch.tensor(order, dtype=torch.int32, device=env.device)
    starts = torch.tensor(start, dtype=torch.int32, device=env.device)

    def reference():
        x = a.float().double() * sa.double().repeat_interleave(SPAN, 1)
        at = torch.tensor([slot // top for slot in order], device=env.device)
        back = torch.tensor(sorted(range(tokens * top), key=order.__getitem__), device=env.device)
        out = []
        for e in range(experts):
            y = b.view(experts, n, k)[e].float().double()
            y = y * sb[e].double().repeat_interleave(SPAN, 0).repeat_interleave(SPAN, 1)
            out.append(x[at[start[e]:start[e + 1]]] @ y.t())
        return [torch.cat(out)[back]]

    return Work([a, b, c, sa, sb, slots, starts],
                lambda config: (cdiv(config["MOST"], config["BM"]) * cdiv(n, config["BN"]), experts, 1), lambda: [c],
                reference, env.poison(c), bytes=size_of(a, b, c, sa, sb), flops=2 * tokens * top * n * k)


def mx_upcast(env, m, n, fp4):
    torch = env.torch
    scale = integers(env, 110, 140, m, n // 32, dtype="uint8")
    out = env.empty(m, n, dtype="bfloat16")
    powers = torch.exp2(scale.double() - 127).repeat_interleave(32, 1)
    if fp4:
        x = integers(env, 0, 256, m, n // 2, dtype="uint8")
        table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64,
                             device=env.device)
        values = lambda: torch.stack([table[(x & 15).long()], table[(x >> 4).long()]], 2).view(m, n)
    else:
        x = env.randn(m, n, dtype="float16").to(torch.float8_e4m3fn)
        values = lambda: x.float().double()
    return Work([Descriptor(out, "BM", "BN"), Descriptor(x, "BM", "BN/2" if fp4 else "BN"), scale, n // 32, m, n],
                lambda c: (cdiv(m, c["BM"]), cdiv(n, c["BN"]), 1), lambda: [out],
                lambda: [(values() * powers).to(torch.bfloat16)], env.poison(out), bytes=size_of(x, scale, out))


def linear_attn(env, heads, ctx, d):
    torch = env.torch
    q, k, v = (env.randn(heads, ctx, d, dtype="float16", scale=0.5) for _ in range(3))
    o = env.empty(heads, ctx, d, dtype="float16")
    scale = d**-0.5

    def reference():
        out = []
        for i in range(heads):
            s = (q[i].double() @ k[i].double().t()).tril() * scale
            out.append(s @ v[i].double())
        return [torch.stack(out)]

    return Work([q, k, v, o, scale, ctx], lambda c: (d // c["BV"], heads, 1), lambda: [o], reference, env.poison(o),
                bytes=size_of(q, k, v, o), flops=heads * ctx * d * (6 * d // 2 + 4 * 64))


def paged_decode(env, batch, heads, kv_heads, d, ctx, page, splits):
    torch = env.torch
    pages = cdiv(ctx, page)
    q = env.randn(batch, heads, d, dtype="float16")
    k, v = (env.randn(batch * pages, page, kv_heads, d, dtype="float16") for _ in range(2))
    table = torch.randperm(batch * pages, generator=env.generator, device=env.device).to(torch.int32).view(batch, pages)
    length = integers(env, ctx * 15 // 16, ctx + 1, batch, dtype="int32")
    o, lse = env.empty(batch, heads, splits, d), env.empty(batch, heads, splits)
    scale = d**-0.5

    def join():
        weight = torch.softmax(lse.double(), 2)
        return [(o.double() * weight[..., None]).sum(2)]

    def reference():
        out = []
        for i in range(batch):
            n = int(length[i].item())
            keys, values = (x[table[i].long()].reshape(pages * page, kv_heads, d)[:n].double().transpose(0, 1) for x in (k, v))
            own = q[i].double().view(kv_heads, heads // kv_heads, d)
            s = torch.softmax(own @ keys.transpose(1, 2) * scale, 2)
            out.append((s @ values).reshape(heads, d))
        return [torch.stack(out)]

    return Work([q, k, v, table, length, o, lse, scale, heads, kv_heads, pages],
                lambda c: (batch, kv_heads, splits), join, reference, env.poison(o, lse), bytes=size_of(q, k, v, o, lse, table))


def attn_split(env, z, heads, share, m, n, d, splits):
    torch = env.torch
    q = env.randn(z * heads, m, d, dtype="float16")
    k, v = (env.randn(z * heads // share, n, d, dtype="float16") for _ in range(2))
    o, lse = env.empty(z * heads, splits, m, d), env.empty(z * heads, splits, m)
    scale = d**-0.5

    def join():
        weight = torch.softmax(lse.double() * math.log(2), 1)
        return [(o.double() * weight[..., None]).sum(1)]

    def reference():
        keys, values = (x.double().repeat_interleave(share, 0) for x in (k, v))
        return [torch.softmax(q.double() @ keys.transpose(1, 2) * scale, 2) @ values]

    return Work([q, k, v, o, lse, scale / math.log(2)] + [m] * (m != 1) + [n], lambda c: (cdiv(m, c["BM"]), splits, z * heads), join,
                reference, env.poison(o, lse), bytes=size_of(q, k, v, o, lse))


def rows():
    out = []
    small = {"m": 272, "n": 304, "k": 272, "dtype": "float16"}
    for n in (4096, 8192):
        out.append(Row(f"host matmul f16 {n}", "matmul_host", A_B_C + SIZES3, fixed(HOST, GROUP=8), matmul_host,
                       {"m": n, "n": n, "k": n, "dtype": "float16"}, small, (2e-3,), least_arch=90))
    for n in (4096, 8192):
        out.append(Row(f"host matmul f16 {n} persistent", "matmul_persistent", A_B_C + SIZES3,
                       fixed(HOST, GROUP=8, SMS=132), matmul_host,
                       {"m": n, "n": n, "k": n, "dtype": "float16", "persistent": True}, small | {"persistent": True},
                       (2e-3,), least_arch=90))
    for n in (4096, 8192):
        out.append(Row(f"matmul f16 {n} divided among warps", "matmul_divided", ("*fp16:16",) * 3 + SIZES3,
                       fixed(DIVIDED, GROUP=8), divided, {"m": n, "n": n, "k": n, "dtype": "float16"}, small, (2e-3,),
                       least_arch=90))
    out.append(Row("host matmul of experts", "matmul_experts",
                   (blocks("fp16", "BM", "BK"), blocks("fp16", 1, "BN", "BK"), blocks("fp16", "BM", "BN"), "*i32:16") + SIZES3,
                   fixed(configs(TILES, (128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 64, 8, 4), (64, 128, 64, 4, 4)),
                         ROWS=ROWS, GROUP=8), experts,
                   {"experts": 8, "rows": 1024, "n": 4096, "k": 4096}, {"experts": 2, "rows": 128, "n": 304, "k": 272},
                   (2e-3,), least_arch=90))
    for name, stride in (("matmul of groups by descriptors", False), ("matmul of groups, strides in memory", True)):
        out.append(Row(name, "matmul_groups", ("*i64:16",) * 3 + ("*i32:16", "i32"),
                       fixed(configs(TILES, (128, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3)), SMS=132,
                             STRIDE=stride), groups,
                       {"sizes": ((4096, 4096, 4096), (2048, 4096, 4096), (1024, 2048, 4096), (4096, 1024, 2048))},
                       {"sizes": ((272, 304, 272), (144, 128, 400), (128, 128, 64), (16, 16, 16))}, (2e-3,) * 4,
                       least_arch=90))
    for d, t in ((128, ATTN_128), (64, ATTN_64)):
        for causal in (False, True):
            kind = "causal" if causal else "full"
            types = (blocks("fp16", "BM", d), blocks("fp16", "BN", d), blocks("fp16", "BN", d), blocks("fp16", "BM", d),
                     "*fp32:16", "fp32", "i32:16")
            out.append(Row(f"host flash D{d} {kind}", "attn_host", types, fixed(t, D=d, CAUSAL=causal), attn_host,
                           {"z": 4, "h": 32, "ctx": 4096, "d": d, "causal": causal},
                           {"z": 1, "h": 2, "ctx": 256, "d": d, "causal": causal}, (1e-2, 1e-4), least_arch=90))
    for d in (128, 64):
        for causal in (False, True):
            kind = "causal" if causal else "full"
            full = {"heads": 64, "ctx": 2048, "d": d, "causal": causal}
            less = {"heads": 2, "ctx": 256, "d": d, "causal": causal}
            out.append(Row(f"attention bwd kv D{d} {kind}", "flash_bwd_kv", BWD + ("*fp16:16",) * 2 + SIZES,
                           fixed(BWD_TILES, D=d, CAUSAL=causal), backward, full | {"keys": True}, less | {"keys": True},
                           (2e-2, 2e-2)))
            out.append(Row(f"attention bwd q D{d} {kind}", "flash_bwd_q", BWD + ("*fp16:16",) + SIZES,
                           fixed(BWD_Q_TILES, D=d, CAUSAL=causal), backward, full | {"keys": False}, less | {"keys": False},
                           (2e-2,)))
    bmm = ("*fp16:16",) * 3 + ("i32:16",) * 9
    for batch, m, n, k in ((32, 1024, 1024, 1024), (256, 512, 512, 128)):
        out.append(Row(f"bmm f16 {batch}x{m}x{n}x{k}", "matmul_batched", bmm, fixed(BATCHED, GROUP=8), batched,
                       {"batch": batch, "m": m, "n": n, "k": k}, {"batch": 2, "m": 272, "n": 304, "k": 272}, (2e-3,)))
    for n in (4096, 8192):
        out.append(Row(f"matmul int8 {n}", "matmul_i8", ("*i8:16",) * 2 + ("*fp16:16", "*fp32:16", "*fp32:16") + ("i32:16",) * 6,
                       fixed(INT8, GROUP=8), int8, {"m": n, "n": n, "k": n}, {"m": 272, "n": 304, "k": 272}, (2e-3,)))
    a8 = ("*i8:16", "*fp16:16", "*fp16:16", "*fp32:16") + ("i32:16",) * 6
    out.append(Row("matmul int8 rows f16 4096", "matmul_a8", a8, fixed(MANY_ROWS, GROUP=8), rows8,
                   {"m": 4096, "n": 4096, "k": 4096}, {"m": 272, "n": 304, "k": 272}, (4e-3,)))
    w4 = ("*fp16:16", "*i32:16", "*fp16:16", "*fp16:16") + ("i32:16",) * 7
    for m, t in ((16, FEW_ROWS), (2048, MANY_ROWS)):
        out.append(Row(f"matmul f16 int4 {m}x8192x8192", "matmul_w4", w4, fixed(t, GROUP=8, SPAN=SPAN), int4,
                       {"m": m, "n": 8192, "k": 8192}, {"m": 16, "n": 256, "k": 256}, (4e-3,), memory_bound=m == 16))
    fp8 = ("*fp8e4nv:16",) * 2 + ("*bf16:16", "*fp32:16", "*fp32:16") + ("i32:16",) * 6 + ("i32",) * 2
    for m, n, k in ((4096, 4096, 7168), (64, 4096, 7168)):
        out.append(Row(f"matmul block fp8 {m}x{n}x{k}", "matmul_block_fp8", fp8, fixed(BLOCK_FP8, SPAN=SPAN, GROUP=8),
                       block_fp8, {"m": m, "n": n, "k": k}, {"m": 80, "n": 256, "k": 384}, (3e-2,), least_arch=89))
    for name, element, fp4 in (("fp8", "fp8e4nv", False), ("fp4", "u8", True)):
        shapes = configs("BM BN", (32, 256, 4), (64, 128, 4), (32, 128, 4), (64, 256, 8), (128, 128, 8))
        shapes = fixed(shapes, FP4=fp4)
        types = (blocks("bf16", "BM", "BN"), blocks(element, "BM", "BN/2" if fp4 else "BN"), "*u8:16") + ("i32:16",) * 3
        out.append(memory(f"mx{name} upcast 8192x8192", "mx_upcast", types, shapes, mx_upcast,
                          {"m": 8192, "n": 8192, "fp4": fp4}, {"m": 80, "n": 512, "fp4": fp4}, (0,), least_arch=90))
    out.append(Row("linear attention D128", "linear_attn", ("*fp16:16",) * 4 + ("fp32", "i32:16"),
                   fixed(configs("BV C", (128, 64, 8, 2), (64, 64, 4, 2), (64, 64, 4, 3), (128, 64, 4, 2), (64, 128, 8, 2)),
                         D=128, DV=128), linear_attn,
                   {"heads": 128, "ctx": 4096, "d": 128}, {"heads": 2, "ctx": 256, "d": 128}, (2e-2,)))
    out.append(memory("paged decode D128", "paged_decode",
                      ("*fp16:16",) * 3 + ("*i32:16",) * 2 + ("*fp32:16",) * 2 + ("fp32", "i32:16", "i32", "i32:16"),
                      fixed(configs("BH BN", (16, 64, 4, 2), (16, 64, 4, 3), (16, 32, 4, 3), (16, 128, 4, 2), (16, 32, 2, 3)),
                            SPLITS=8, D=128, SHARE=4, PAGE=16), paged_decode,
                      {"batch": 32, "heads": 32, "kv_heads": 8, "d": 128, "ctx": 8192, "page": 16, "splits": 8},
                      {"batch": 2, "heads": 8, "kv_heads": 2, "d": 128, "ctx": 1024, "page": 16, "splits": 8}, (2e-3,)))
    for z, heads, share, m, n, splits in ((1, 4, 4, 1, 1024, 8), (4, 4, 1, 1, 519, 3)):
        size = {"z": z, "heads": heads, "share": share, "m": m, "n": n, "d": 128, "splits": splits}
        out.append(memory(f"attention of one query in parts, {z * heads} x {n}", "attn_split",
                          ("*fp16:16",) * 3 + ("*fp32:16",) * 2 + ("fp32", "1", "i32:16" if n % 16 == 0 else "i32"),
                          fixed(configs("BM BN", (64, 64, 4, 3), (64, 32, 4, 3), (128, 64, 8, 2), (128, 64, 4, 3)),
                                SHARE=share, SPLITS=splits, D=128), attn_split, size, size, (2e-3,)))
    size = {"tokens": 256, "experts": 64, "top": 6, "n": 512, "k": 1024}
    little = {"tokens": 40, "experts": 4, "top": 2, "n": 512, "k": 1024}
    out.append(Row("matmul block fp8 of 64 experts", "matmul_experts_fp8",
                   ("*fp8e4nv:16",) * 2 + ("*bf16:16", "*fp32:16", "*fp32:16", "*i32:16", "*i32:16"),
                   fixed(configs(TILES, (64, 128, 128, 4, 3), (64, 128, 128, 4, 4), (64, 64, 128, 4, 4),
                                 (128, 128, 128, 4, 3), (128, 128, 128, 8, 3)),
                         N=512, K=1024, TOP=6, MOST=256, SPAN=SPAN, GROUP=8), experts_fp8, size, little | {"top": 6},
                   (3e-2,), least_arch=89))
    return out
