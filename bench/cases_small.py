"""Rows of the shapes that public libraries launch: small, short, masked.

Each is a kernel of kernels.py with the structure of one that a library's tests
launch, at the sizes of those tests. Most run for one to ten microseconds, so what
counts is how long one program takes: whether its loads wait for each other, how many
barriers a reduction has, what comes before the first load. Where a library autotunes,
the configs are of its list.
"""

from cases import Row, Work, cdiv, configs, fixed, odd, size_of

# Rows of a few microseconds are held to more than those that fill the GPU, and have
# no part in the mean.
LIMIT = 0.98


def rows_of(env, dtype, reduce, draw, m, n):
    m, n = m or env.random.randrange(1, 30), n or env.random.randrange(1, 3000)
    x, o = draw(env, m, n), env.empty(m, dtype=dtype)
    return Work([x, o, m, n], lambda c: (cdiv(m, c["BM"]), 1, 1), lambda: [o], lambda: [reduce(x).to(o.dtype)],
                lambda: o.fill_(-7), lambda: reduce(x), bytes=size_of(x, o))


def rows_max(env, m, n):
    return rows_of(env, "float32", lambda x: env.torch.amax(x, 1), lambda e, *s: e.randn(*s), m, n)


def rows_all(env, m, n):
    def draw(e, m, n):  # about one row in three has a zero
        return e.randn(m, n) * (e.torch.randint(0, 3 * n, (m, n), device=e.device, generator=e.generator) != 0)

    return rows_of(env, "int32", lambda x: (x != 0).all(1), draw, m, n)


def soft(env, n, classes, d):
    """Inputs of the cross entropy with probabilities, and its parts in float64."""
    n, classes = n or env.random.randrange(1, 9), classes or env.random.randrange(2, 400)
    d = d or env.random.randrange(1, 9)
    x, t, w = env.randn(n, classes, d), env.randn(n, classes, d), env.randn(classes)

    def weighted(s):
        return (t.double() * (1 - s) + s / classes) * w.double().view(1, classes, 1)

    def grid(c):
        return (cdiv(d, c["BD"]), n, 1)

    return n, classes, d, x, t, w, weighted, grid


def soft_loss(env, n, classes, d, by=None):
    n, classes, d, x, t, w, weighted, grid = soft(env, n, classes, d)
    s, o = 0.125, env.empty(n, d)

    def reference():
        log = x.double() - env.torch.logsumexp(x.double(), 1, keepdim=True)
        return [(log * weighted(s) * -1.0).sum(1)]

    return Work([x, t, w, o, s, classes] + [d] * (by is None), grid, lambda: [o], reference, env.poison(o),
                lambda: env.torch.softmax(x, 1), bytes=size_of(x, t, w, o))


def soft_loss_bwd(env, n, classes, d, by=None):
    n, classes, d, x, t, w, weighted, grid = soft(env, n, classes, d)
    s, g, dx = 0.125, env.randn(n, d), env.empty(n, classes, d)

    def reference():
        each = weighted(s)
        share = env.torch.softmax(x.double(), 1) * each.sum(1).view(n, 1, d)
        return [(share - each) * g.double().view(n, 1, d)]

    return Work([g, x, t, w, dx, s, classes] + [d] * (by is None), grid, lambda: [dx], reference, env.poison(dx),
                lambda: env.torch.softmax(x, 1), bytes=size_of(g, x, t, w, dx))


def batched_dot(env, batch, m, n, k, bias, ones=()):
    """ones are the parameters that are constants, since their value is 1."""
    if not m:
        m, n, k = (env.random.randrange(1, top) for top in (70, 70, 90))
    a, b, o = env.randn(batch, m, k), env.randn(batch, k, n), env.empty(batch, m, n)
    row, alpha, beta = env.randn(n), 0.5, 0.25

    def reference():
        dot = a.double() @ b.double()
        return [dot * alpha + row.double() * beta if bias else dot]

    sizes = dict(M=m, N=n, K=k, sab=m * k, sam=k, sbb=k * n, sbk=n, sob=m * n, som=n)
    return Work([a, b, row, o, alpha, beta] + [v for name, v in sizes.items() if name not in ones],
                lambda c: (cdiv(m, c["BM"]), cdiv(n, c["BN"]), batch), lambda: [o], reference, env.poison(o),
                lambda: env.torch.matmul(a, b, out=o), bytes=size_of(a, b, row, o), flops=2 * batch * m * n * k)


def norm(env, m, n):
    m, n = m or env.random.randrange(1, 40), n or env.random.randrange(1, 5000)
    x, dy, w = env.randn(m, n), env.randn(m, n), env.randn(n)
    d = x.double()
    mean, rstd = d.mean(1), (d.var(1, unbiased=False) + 1e-5).rsqrt()

    def normalised():
        return (d - mean.view(m, 1)) * rstd.view(m, 1)

    return m, n, x, dy, w, mean.float(), rstd.float(), normalised


def norm_bwd(env, m, n, by=None):
    m, n, x, dy, w, mean, rstd, normalised = norm(env, m, n)
    dx = env.empty(m, n)

    def reference():
        xh, wdy = normalised(), dy.double() * w.double()
        c1, c2 = wdy.mean(1).view(m, 1), (xh * wdy).mean(1).view(m, 1)
        return [(wdy - c1 - xh * c2) * rstd.double().view(m, 1)]

    return Work([dy, x, w, mean, rstd, dx] + [m] * (by is None) + [n], lambda c: (cdiv(m, c["ROWS"]), 1, 1),
                lambda: [dx], reference, env.poison(dx), lambda: env.torch.add(dy, x, out=dx),
                bytes=size_of(dy, x, w, mean, rstd, dx))


def norm_weight_bwd(env, m, n, by=None):
    m, n, x, dy, _, mean, rstd, normalised = norm(env, m, n)
    dw, db = env.empty(n), env.empty(n)
    return Work([dy, x, mean, rstd, dw, db] + [m] * (by is None) + [n], lambda c: (cdiv(n, c["COLS"]), 1, 1),
                lambda: [dw, db], lambda: [(dy.double() * normalised()).sum(0), dy.double().sum(0)],
                env.poison(dw, db), lambda: env.torch.add(dy, x), bytes=size_of(dy, x, mean, rstd, dw, db))


def pool_bwd(env, planes, h, w, window, stride, pad):
    h, w = h or env.random.randrange(5, 60), w or env.random.randrange(5, 60)
    oh, ow = ((size + 2 * pad - k) // s + 1 for size, k, s in zip((h, w), window, stride))
    dy, dx = env.randn(planes, oh, ow), env.empty(planes, h, w)
    area = window[0] * window[1]

    def reference():
        wide = env.torch.zeros(planes, h + 2 * pad, w + 2 * pad, dtype=env.torch.float64, device=env.device)
        for ky in range(window[0]):
            for kx in range(window[1]):
                wide[:, ky:ky + (oh - 1) * stride[0] + 1:stride[0],
                     kx:kx + (ow - 1) * stride[1] + 1:stride[1]] += dy.double() / area
        return [wide[:, pad:pad + h, pad:pad + w]]

    return Work([dy, dx, float(area), h, w, oh, ow],
                lambda c: (planes, cdiv(h, c["BH"]) * cdiv(w, c["BW"]), 1), lambda: [dx], reference, env.poison(dx),
                lambda: env.torch.add(dx, dx, out=dx), bytes=size_of(dy, dx))


def small(name, kernel, types, rows, make, full, small, tolerance):
    return Row(name, kernel, types, rows, make, full, small, tolerance, memory_bound=True, limit=LIMIT)


LOSS = ("*fp32:16",) * 4 + ("fp32", "i32:16")
LOSS_BWD = ("*fp32:16",) * 5 + ("fp32", "i32:16")
LOSS_TILES = tuple((c, d, 4) for c in (256, 512, 1024) for d in (1, 4, 16))
NORM = ("*fp32:16",) * 6
POOL = ("*fp32:16", "*fp32:16", "fp32") + ("i32",) * 4
POOL_TILES = ((16, 16, 4, 4), (32, 16, 4, 3), (16, 32, 4, 3), (32, 32, 8, 2), (64, 32, 8, 2), (32, 64, 8, 2))


def dot_types(sizes):
    """(types, parameters that are constants) of batched_dot for the values of its sizes."""
    def one(v):
        return "1" if v == 1 else "i32:16" if v % 16 == 0 else "i32"

    return (("*fp32:16",) * 4 + ("fp32", "fp32") + tuple(one(v) for v in sizes.values()),
            tuple(name for name, v in sizes.items() if v == 1))


def dot_row(name, batch, m, n, k, bias, tiles):
    sizes = dict(M=m, N=n, K=k, sab=m * k, sam=k, sbb=k * n, sbk=n, sob=m * n, som=n)
    types, ones = dot_types(sizes)
    size = {"batch": batch, "m": m, "n": n, "k": k, "bias": bias, "ones": ones}
    return small(name, "batched_dot", types, fixed(configs("BM BN BK", *tiles), BIAS=bias), batched_dot, size, size,
                 (1e-5,))


def rows():
    out = []
    for m in (2, 4):
        one = configs("BM BN", (m, 1024, 4), (m, 1024, 8))
        size = {"m": m, "n": 1024}
        types = ("i32:16" if m % 16 == 0 else "i32", "i32:16")
        out.append(small(f"rows max f32 {m}x1024", "rows_max", ("*fp32:16", "*fp32:16") + types, one, rows_max, size,
                         size, (0,)))
        out.append(small(f"rows all f32 {m}x1024", "rows_all", ("*fp32:16", "*i32:16") + types, one, rows_all, size,
                         size, (0,)))
    for n, classes in ((2, 32), (4096, 256)):
        size, little = {"n": n, "classes": classes, "d": 1, "by": 1}, {"n": 2, "classes": classes, "d": 1, "by": 1}
        tiles = configs("BC BD", *LOSS_TILES)
        out.append(small(f"soft loss fwd ({n}, {classes})", "soft_loss", LOSS + ("1",), tiles, soft_loss, size, little,
                         (2e-5,)))
        out.append(small(f"soft loss bwd ({n}, {classes})", "soft_loss_bwd", LOSS_BWD + ("1",), tiles, soft_loss_bwd,
                         size, little, (2e-5,)))
    out.append(dot_row("bmm f32 4 of (1, 1, 32)", 4, 1, 1, 32, False,
                       [(m, n, 32, 4, s) for s in (2, 3)
                        for m, n in ((32, 32), (64, 32), (64, 64), (128, 32), (128, 64), (128, 128))]))
    tiles = ((64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4), (128, 32, 32, 4, 4),
             (64, 32, 32, 2, 5), (32, 64, 32, 2, 5))
    for m, n in ((1, 1), (1, 32), (32, 1)):
        out.append(dot_row(f"addmm f32 ({m}, {n}, 32)", 1, m, n, 32, True, tiles))
    size, little = {"m": 1, "n": 40999, "by": 1}, {"m": 1, "n": 5001, "by": 1}
    out.append(small("norm bwd f32 (1, 40999)", "norm_bwd", NORM + ("1", "i32"),
                     configs("ROWS COLS", *((r, 2048, w) for w in (4, 8, 16) for r in (1, 2, 4, 8))), norm_bwd, size,
                     little, (1e-4,)))
    out.append(small("norm weight bwd f32 (1, 40999)", "norm_weight_bwd", NORM + ("1", "i32"),
                     configs("ROWS COLS", *((128, c, w) for w in (4, 8, 16) for c in (1, 2, 4, 8))), norm_weight_bwd,
                     size, little, (1e-4, 1e-5)))
    for planes, h, kernel, stride in ((12, 32, (3, 3), (2, 2)), (128, 28, (3, 5), (1, 2)), (64, 56, (3, 3), (2, 2))):
        size = {"planes": planes, "h": h, "w": h, "window": kernel, "stride": stride, "pad": 1}
        types = POOL[:3] + tuple("i32:16" if v % 16 == 0 else "i32" for v in (
            h, h, *((h + 2 - k) // s + 1 for k, s in zip(kernel, stride))))
        tiles = fixed(configs("BH BW", *POOL_TILES), KH=kernel[0], KW=kernel[1], SH=stride[0], SW=stride[1], PAD=1)
        out.append(small(f"pool bwd {planes}x{h}x{h} {kernel[0]}x{kernel[1]}", "pool_bwd", types, tiles, pool_bwd, size,
                         size | {"planes": 2}, (1e-5,)))
    return out + odd_rows()


def odd_rows():
    pool = {"window": (3, 2), "stride": (2, 1), "pad": 1}
    return [
        odd("rows_max", ("*fp32", "*fp32", "i32", "i32"), configs("BM BN", (4, 512, 4))[0], rows_max, (0,), m=0, n=0),
        odd("rows_all", ("*fp32", "*i32", "i32", "i32"), configs("BM BN", (4, 512, 4))[0], rows_all, (0,), m=0, n=0),
        odd("soft_loss", LOSS + ("i32",), configs("BC BD", (256, 4, 4))[0], soft_loss, (2e-5,), n=0, classes=0, d=0),
        odd("soft_loss_bwd", LOSS_BWD + ("i32",), configs("BC BD", (256, 4, 4))[0], soft_loss_bwd, (2e-5,), n=0,
            classes=0, d=0),
        odd("batched_dot", ("*fp32",) * 4 + ("fp32", "fp32") + ("i32",) * 9,
            fixed(configs("BM BN BK", (32, 32, 32, 4, 2)), BIAS=True)[0], batched_dot, (1e-5,), batch=3, m=0, n=0, k=0,
            bias=True),
        odd("norm_bwd", NORM + ("i32", "i32"), configs("ROWS COLS", (2, 1024, 4))[0], norm_bwd, (1e-4,), m=0, n=0),
        odd("norm_weight_bwd", NORM + ("i32", "i32"), configs("ROWS COLS", (32, 4, 4))[0], norm_weight_bwd,
            (1e-4, 1e-5), m=0, n=0),
        odd("pool_bwd", POOL, fixed(configs("BH BW", (16, 32, 4)), KH=3, KW=2, SH=2, SW=1, PAD=1)[0], pool_bwd,
            (1e-5,), planes=3, h=0, w=0, **pool),
    ]
