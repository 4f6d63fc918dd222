"""Rows of kernels as public libraries write them, at the sizes of their tests:
attention's backward in tiles of 32x32, and the largest numbers of each row.
"""

import math

from cases import Row, Work, cdiv, configs, fixed, memory, size_of

TILES = configs("BM BN", (32, 32, 4, 1))
BWD = ("*fp16:16",) * 4 + ("*fp32:16",) * 2
SIZES = ("fp32", "i32:16", "i32:16", "i32:16")


def backward(env, heads, ctx, d, causal, keys):
    """Gradients of attention: of keys and values, or of queries."""
    torch = env.torch
    q, k, v, do = (env.randn(heads, ctx, d, dtype="float16", scale=0.5) for _ in range(4))
    scale = d**-0.5
    hidden = torch.ones(ctx, ctx, dtype=torch.bool, device=env.device).triu(1)

    def scores(i):
        s = q[i].double() @ k[i].double().transpose(0, 1) * scale
        return s.masked_fill_(hidden, -math.inf) if causal else s

    sums = torch.stack([torch.logsumexp(scores(i), 1) for i in range(heads)])
    delta = torch.stack([((torch.softmax(scores(i), 1) @ v[i].double()) * do[i].double()).sum(1) for i in range(heads)])
    l, delta = (sums / math.log(2)).float().contiguous(), delta.float().contiguous()
    outputs = [env.empty(heads, ctx, d, dtype="float16") for _ in range(2 if keys else 1)]

    def reference():
        out = []
        for i in range(heads):
            p = torch.exp(scores(i) - sums[i][:, None])
            ds = p * (do[i].double() @ v[i].double().transpose(0, 1) - delta[i].double()[:, None]) * scale
            dk, dv = ds.transpose(0, 1) @ q[i].double(), p.transpose(0, 1) @ do[i].double()
            out.append((dk, dv) if keys else (ds @ k[i].double(),))
        return [torch.stack(x) for x in zip(*out)]

    flops = (8 if keys else 6) * heads * ctx * ctx * d // (2 if causal else 1)
    return Work([q, k, v, do, l, delta, *outputs, scale, ctx * d, d, ctx],
                lambda c: (cdiv(ctx, c["BN"] if keys else c["BM"]), heads, 1), lambda: outputs, reference,
                env.poison(*outputs), bytes=size_of(q, k, v, do, l, delta, *outputs), flops=flops)


def topk(env, rows, cols, top):
    x = (env.randn(rows, cols) * 2.0**40).to(env.torch.int64)
    y = env.empty(rows, top, dtype="int64")
    return Work([x, y], lambda c: (rows // c["BM"], 1, 1), lambda: [y],
                lambda: [env.torch.sort(x, 1)[0].flip(1)[:, :top]],
                lambda: y.fill_(-(1 << 62)), lambda: env.torch.topk(x, top, 1), bytes=size_of(x, y))


def rows():
    out = []
    for d in (128, 64):
        for causal in (False, True):
            kind = "causal" if causal else "full"
            full = {"heads": 8, "ctx": 2048, "d": d, "causal": causal}
            small = {"heads": 2, "ctx": 96, "d": d, "causal": causal}
            out.append(Row(f"flash bwd kv D{d} {kind}", "flash_bwd_kv", BWD + ("*fp16:16",) * 2 + SIZES,
                           fixed(TILES, D=d, CAUSAL=causal), backward, full | {"keys": True}, small | {"keys": True},
                           (2e-2, 2e-2)))
            out.append(Row(f"flash bwd q D{d} {kind}", "flash_bwd_q", BWD + ("*fp16:16",) + SIZES,
                           fixed(TILES, D=d, CAUSAL=causal), backward, full | {"keys": False}, small | {"keys": False},
                           (2e-2,)))
    for cols in (128, 192):
        out.append(memory(f"topk i64 256x{cols}", "topk_rows", ("*i64:16",) * 2,
                          fixed(configs("BM BN", (32, 32, 4)), COLS=cols, TOP=8), topk,
                          {"rows": 256, "cols": cols, "top": 8}, {"rows": 64, "cols": cols, "top": 8}, (0,)))
    return out
