"""The kernels of the rows of bench/cases.py.

tritonc and Triton compile this same file. Plain Triton: whatever is here must
be taken unchanged by both.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=m) + tl.load(y_ptr + offs, mask=m), mask=m)


@triton.jit
def row_softmax(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=m, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=m)


@triton.jit
def layer_norm_fwd(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < N
    x = tl.load(X + row * stride + cols, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    d = tl.where(m, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    w = tl.load(W + cols, mask=m)
    b = tl.load(B + cols, mask=m)
    tl.store(Y + row * stride + cols, d * rstd * w + b, mask=m)


@triton.jit
def layer_norm_bwd(DX, DY, DW, DB, X, W, Mean, Rstd, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * ROWS
    cols = tl.arange(0, COLS)
    cm = cols < N
    w = tl.load(W + cols, mask=cm, other=0.0).to(tl.float32)
    dw = tl.zeros([ROWS, COLS], dtype=tl.float32)
    db = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for row in range(pid * ROWS, M, step):
        rows = row + tl.arange(0, ROWS)
        rm = rows < M
        off = rows[:, None] * N + cols[None, :]
        m = rm[:, None] & cm[None, :]
        x = tl.load(X + off, mask=m, other=0.0).to(tl.float32)
        dy = tl.load(DY + off, mask=m, other=0.0).to(tl.float32)
        mean = tl.load(Mean + rows, mask=rm, other=0.0)[:, None]
        rstd = tl.load(Rstd + rows, mask=rm, other=0.0)[:, None]
        xh = (x - mean) * rstd
        wdy = w[None, :] * dy
        c1 = tl.sum(xh * wdy, axis=1)[:, None]
        c2 = tl.sum(wdy, axis=1)[:, None]
        tl.store(DX + off, ((wdy - (xh * c1 + c2) / N) * rstd).to(DX.dtype.element_ty), mask=m)
        dw += tl.where(m, dy * xh, 0.0)
        db += dy
    tl.atomic_add(DW + cols, tl.sum(dw, axis=0), mask=cm)
    tl.atomic_add(DB + cols, tl.sum(db, axis=0), mask=cm)


@triton.jit
def row_min_split(in_ptr, out_ptr, M, N, sm, BM: tl.constexpr, BN: tl.constexpr, SUB: tl.constexpr):
    pid = tl.program_id(0)
    for m0 in range(0, M, BM):
        rows = m0 + tl.arange(0, BM)
        cur = tl.full((BM, SUB), float("inf"), tl.float32)
        for n0 in range(0, BN, SUB):
            cols = pid * BN + n0 + tl.arange(0, SUB)
            x = tl.load(in_ptr + rows[:, None] * sm + cols[None, :],
                        mask=(rows < M)[:, None] & (cols < N)[None, :], other=float("inf"))
            cur = tl.minimum(cur, x)
        tl.atomic_min(out_ptr + rows, tl.min(cur, 1), mask=rows < M)


@triton.jit
def _mul(a, b):
    return a * b


@triton.jit
def prod_mid(inp, mid, M, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    acc = tl.full([BLOCK], 1.0, tl.float32)
    for off in range(pid * BLOCK, M, step):
        o = off + tl.arange(0, BLOCK)
        acc = acc * tl.load(inp + o, mask=o < M, other=1.0).to(tl.float32)
    tl.store(mid + pid, tl.reduce(acc, 0, _mul))


@triton.jit
def cumsum_rows(x_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + o, mask=o < N, other=0.0)
    tl.store(y_ptr + row * stride + o, tl.cumsum(x, 0), mask=o < N)


@triton.jit
def sort_rows(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    tl.store(y_ptr + row * stride + o, tl.sort(tl.load(x_ptr + row * stride + o), 0))


@triton.jit
def cast(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=m).to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def math(x_ptr, y_ptr, s, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m)
    if FN == "log":
        y = libdevice.log(x)
    elif FN == "log2":
        y = libdevice.log2(x)
    elif FN == "pow":
        y = libdevice.pow(x, s)
    elif FN == "tanh":
        y = libdevice.tanh(x)
    elif FN == "erf":
        y = libdevice.erf(x)
    elif FN == "sin":
        y = libdevice.sin(x)
    elif FN == "cos":
        y = libdevice.cos(x)
    elif FN == "exp":
        y = libdevice.exp(x)
    elif FN == "fast_expf":
        y = libdevice.fast_expf(x)
    elif FN == "floor":
        y = libdevice.floor(x)
    elif FN == "ceil":
        y = libdevice.ceil(x)
    elif FN == "trunc":
        y = libdevice.trunc(x)
    elif FN == "fast_dividef":
        y = libdevice.fast_dividef(x, s)
    elif FN == "round":
        y = libdevice.round(x)
    elif FN == "rint":
        y = libdevice.rint(x)
    elif FN == "fmod":
        y = libdevice.fmod(x, s)
    elif FN == "atan2":
        y = libdevice.atan2(x, s)
    elif FN == "atan":
        y = libdevice.atan(x)
    elif FN == "log1p":
        y = libdevice.log1p(x)
    elif FN == "fast_logf":
        y = libdevice.fast_logf(x)
    tl.store(y_ptr + o, y, mask=m)


@triton.jit
def transpose(x_ptr, o_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N))
    tl.store(o_ptr + rn[:, None] * M + rm[None, :], tl.trans(x), mask=(rn[:, None] < N) & (rm[None, :] < M))


@triton.jit
def scatter_add(x_ptr, i_ptr, o_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.atomic_add(o_ptr + tl.load(i_ptr + o, mask=m, other=0), tl.load(x_ptr + o, mask=m), mask=m, sem="relaxed")


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    grid_m = tl.cdiv(M, BM)
    grid_n = tl.cdiv(N, BN)
    width = GROUP * grid_n
    group_id = pid // width
    size = min(grid_m - group_id * GROUP, GROUP)
    pid_m = group_id * GROUP + (pid % width) % size
    pid_n = (pid % width) // size
    rm = (pid_m * BM + tl.arange(0, BM)) % M
    rn = (pid_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        av = tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0)
        bv = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(av, bv, acc)
        a += BK * sak
        b += BK * sbk
    c = acc.to(c_ptr.dtype.element_ty)
    om = pid_m * BM + tl.arange(0, BM)
    on = pid_n * BN + tl.arange(0, BN)
    tl.store(c_ptr + om[:, None] * scm + on[None, :] * scn, c, mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def matmul_desc(a_ptr, b_ptr, c_ptr, M, N, K,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, SMS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    grid_m = tl.cdiv(M, BM)
    grid_n = tl.cdiv(N, BN)
    width = GROUP * grid_n
    for tile in tl.range(tl.program_id(0), grid_m * grid_n, SMS, flatten=True):
        group_id = tile // width
        size = min(grid_m - group_id * GROUP, GROUP)
        pid_m = group_id * GROUP + (tile % width) % size
        pid_n = (tile % width) // size
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            av = a.load([pid_m * BM, k * BK])
            bv = b.load([pid_n * BN, k * BK])
            acc = tl.dot(av, bv.T, acc)
        c.store([pid_m * BM, pid_n * BN], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def flash_fwd(Q, K, V, O, L, scale, sz, sh, sm, sd, H, N_CTX,
              BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    pid = tl.program_id(0)
    hz = tl.program_id(1)
    base = (hz // H).to(tl.int64) * sz + (hz % H).to(tl.int64) * sh
    om = pid * BM + tl.arange(0, BM)
    on = tl.arange(0, BN)
    od = tl.arange(0, D)
    q = tl.load(Q + base + om[:, None] * sm + od[None, :] * sd)
    m_i = tl.full([BM], -float("inf"), tl.float32)
    l_i = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    qk_scale = scale * 1.44269504
    hi = (pid + 1) * BM if CAUSAL else N_CTX
    for n in range(0, hi, BN):
        n = tl.multiple_of(n, BN)
        k = tl.load(K + base + (n + on)[None, :] * sm + od[:, None] * sd)
        s = tl.dot(q, k) * qk_scale
        if CAUSAL:
            s = tl.where(om[:, None] >= (n + on)[None, :], s, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + base + (n + on)[:, None] * sm + od[None, :] * sd)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
    tl.store(L + hz * N_CTX + om, m_i + tl.math.log2(l_i))
    tl.store(O + base + om[:, None] * sm + od[None, :] * sd, (acc / l_i[:, None]).to(O.dtype.element_ty))


@triton.jit
def flash_bwd_kv(Q, K, V, DO, L, DELTA, DK, DV, scale, sh, sm, N_CTX,
                 BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    pid = tl.program_id(0)
    h = tl.program_id(1)
    base = h.to(tl.int64) * sh
    on = pid * BN + tl.arange(0, BN)
    od = tl.arange(0, D)
    keys = base + on[:, None] * sm + od[None, :]
    k = tl.load(K + keys)
    v = tl.load(V + keys)
    dk = tl.zeros([BN, D], tl.float32)
    dv = tl.zeros([BN, D], tl.float32)
    lo = pid * BN // BM * BM if CAUSAL else 0
    for m in range(lo, N_CTX, BM):
        om = m + tl.arange(0, BM)
        rows = base + om[:, None] * sm + od[None, :]
        q = tl.load(Q + rows)
        s = tl.dot(q, tl.trans(k)) * (scale * 1.44269504)
        p = tl.math.exp2(s - tl.load(L + h * N_CTX + om)[:, None])
        if CAUSAL:
            p = tl.where(om[:, None] >= on[None, :], p, 0.0)
        do = tl.load(DO + rows)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        dp = tl.dot(do, tl.trans(v))
        ds = p * (dp - tl.load(DELTA + h * N_CTX + om)[:, None])
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)
    tl.store(DK + keys, (dk * scale).to(k.dtype))
    tl.store(DV + keys, dv.to(v.dtype))


@triton.jit
def flash_bwd_q(Q, K, V, DO, L, DELTA, DQ, scale, sh, sm, N_CTX,
                BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    pid = tl.program_id(0)
    h = tl.program_id(1)
    base = h.to(tl.int64) * sh
    om = pid * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    rows = base + om[:, None] * sm + od[None, :]
    q = tl.load(Q + rows)
    do = tl.load(DO + rows)
    l = tl.load(L + h * N_CTX + om)
    delta = tl.load(DELTA + h * N_CTX + om)
    dq = tl.zeros([BM, D], tl.float32)
    hi = (pid + 1) * BM if CAUSAL else N_CTX
    for n in range(0, hi, BN):
        on = n + tl.arange(0, BN)
        keys = base + on[:, None] * sm + od[None, :]
        v = tl.load(V + keys)
        k = tl.load(K + keys)
        p = tl.math.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.44269504) - l[:, None])
        ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
        if CAUSAL:
            ds = tl.where(om[:, None] >= on[None, :], ds, 0.0)
        dq = tl.dot(ds.to(k.dtype), k, dq)
    tl.store(DQ + rows, (dq * scale).to(q.dtype))


@triton.jit
def topk_rows(x_ptr, y_ptr, BM: tl.constexpr, BN: tl.constexpr, COLS: tl.constexpr, TOP: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    places = x_ptr + row[:, None] * COLS + tl.arange(0, BN)[None, :]
    most = tl.topk(tl.load(places), TOP, dim=1)
    for i in tl.static_range(1, COLS // BN):
        most = tl.bitonic_merge(most)
        most = tl.maximum(most, tl.topk(tl.load(places + i * BN), TOP, dim=1))
    most = tl.sort(most, dim=1, descending=True)
    tl.store(y_ptr + row[:, None] * TOP + tl.arange(0, TOP)[None, :], most)


# ---- kernels of the shapes that libraries launch: small, short, masked


@triton.jit
def rows_max(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    best = tl.full([BM, BN], float("-inf"), tl.float32)
    for start in range(0, N, BN):
        cols = start + tl.arange(0, BN)
        inside = (rows < M)[:, None] & (cols < N)[None, :]
        best = tl.maximum(best, tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=inside, other=float("-inf")))
    tl.store(out_ptr + rows, tl.max(best, 1), mask=rows < M)


@triton.jit
def _and(a, b):
    return a & b


@triton.jit
def rows_all(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    every = tl.full([BM, BN], 1, tl.int1)
    for start in range(0, N, BN):
        cols = start + tl.arange(0, BN)
        inside = (rows < M)[:, None] & (cols < N)[None, :]
        every &= tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=inside, other=1.0) != 0
    tl.store(out_ptr + rows, tl.reduce(every, 1, _and).to(tl.int32), mask=rows < M)


@triton.jit
def soft_target(t_ptr, w_ptr, at, classes, inside, C, smoothing):
    """Smoothed probabilities and their weights."""
    t = tl.load(t_ptr + at, mask=inside, other=0.0) * (1.0 - smoothing) + smoothing / C
    return t * tl.load(w_ptr + classes, mask=classes < C, other=0.0)[:, None]


@triton.jit
def soft_loss(x_ptr, t_ptr, w_ptr, out_ptr, smoothing, C, D, BC: tl.constexpr, BD: tl.constexpr):
    """Weighted cross entropy with probabilities: x and t are (n, C, D), out is (n, D)."""
    n = tl.program_id(1)
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    top = tl.full([BC, BD], -1e30, tl.float32)
    total = tl.zeros([BC, BD], tl.float32)
    for start in range(0, C, BC):
        c = start + tl.arange(0, BC)
        inside = (c < C)[:, None] & (d < D)[None, :]
        x = tl.load(x_ptr + n * C * D + c[:, None] * D + d[None, :], mask=inside, other=-float("inf"))
        higher = tl.maximum(top, x)
        total = total * tl.exp(top - higher) + tl.exp(x - higher)
        top = higher
    peak = tl.max(top, 0)
    log = tl.log(tl.sum(total * tl.exp(top - peak[None, :]), 0)) + peak
    loss = tl.zeros([BC, BD], tl.float32)
    for start in range(0, C, BC):
        c = start + tl.arange(0, BC)
        inside = (c < C)[:, None] & (d < D)[None, :]
        at = n * C * D + c[:, None] * D + d[None, :]
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        loss += (log[None, :] - x) * soft_target(t_ptr, w_ptr, at, c, inside, C, smoothing)
    tl.store(out_ptr + n * D + d, tl.sum(loss, 0), mask=d < D)


@triton.jit
def soft_loss_bwd(g_ptr, x_ptr, t_ptr, w_ptr, dx_ptr, smoothing, C, D, BC: tl.constexpr, BD: tl.constexpr):
    n = tl.program_id(1)
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    g = tl.load(g_ptr + n * D + d, mask=d < D, other=0.0)
    top = tl.full([BC, BD], -1e30, tl.float32)
    total = tl.zeros([BC, BD], tl.float32)
    weight = tl.zeros([BC, BD], tl.float32)
    for start in range(0, C, BC):
        c = start + tl.arange(0, BC)
        inside = (c < C)[:, None] & (d < D)[None, :]
        at = n * C * D + c[:, None] * D + d[None, :]
        x = tl.load(x_ptr + at, mask=inside, other=-float("inf"))
        weight += soft_target(t_ptr, w_ptr, at, c, inside, C, smoothing)
        higher = tl.maximum(top, x)
        total = total * tl.exp(top - higher) + tl.exp(x - higher)
        top = higher
    peak = tl.max(top, 0)[None, :]
    share = (tl.sum(weight, 0) / tl.sum(total * tl.exp(top - peak), 0))[None, :]
    for start in range(0, C, BC):
        c = start + tl.arange(0, BC)
        inside = (c < C)[:, None] & (d < D)[None, :]
        at = n * C * D + c[:, None] * D + d[None, :]
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        t = soft_target(t_ptr, w_ptr, at, c, inside, C, smoothing)
        tl.store(dx_ptr + at, (share * tl.exp(x - peak) - t) * g[None, :], mask=inside)


@triton.jit
def batched_dot(a_ptr, b_ptr, bias_ptr, o_ptr, alpha, beta, M, N, K, sab, sam, sbb, sbk, sob, som,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BIAS: tl.constexpr):
    """alpha a b + beta bias of float32 without tf32; bias is a row."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    batch = tl.program_id(2)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + batch * sab + rows[:, None] * sam + k[None, :]
    b_ptrs = b_ptr + batch * sbb + k[:, None] * sbk + cols[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & (k < K - start)[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=(k < K - start)[:, None] & (cols < N)[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        a_ptrs += BK
        b_ptrs += BK * sbk
    inside = (rows < M)[:, None] & (cols < N)[None, :]
    if BIAS:
        acc = acc * alpha + tl.load(bias_ptr + cols, mask=cols < N, other=0.0)[None, :] * beta
    tl.store(o_ptr + batch * sob + rows[:, None] * som + cols[None, :], acc, mask=inside)


@triton.jit
def norm_bwd(DY, X, W, Mean, Rstd, DX, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    """The gradient of layer norm's input, in two passes over rows of any length."""
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    rm = rows < M
    mean = tl.load(Mean + rows, mask=rm, other=0.0)
    rstd = tl.load(Rstd + rows, mask=rm, other=0.0)
    c1 = tl.zeros([ROWS, COLS], tl.float32)
    c2 = tl.zeros([ROWS, COLS], tl.float32)
    for start in range(0, N, COLS):
        cols = start + tl.arange(0, COLS)
        m = rm & (cols < N)[None, :]
        wdy = tl.load(DY + rows * N + cols[None, :], mask=m, other=0.0) * tl.load(W + cols, mask=cols < N, other=0.0)
        xh = tl.where(m, tl.load(X + rows * N + cols[None, :], mask=m, other=0.0) - mean, 0.0) * rstd
        c1 += wdy
        c2 += wdy * xh
    s1 = tl.sum(c1, 1)[:, None]
    s2 = tl.sum(c2, 1)[:, None]
    for start in range(0, N, COLS):
        cols = start + tl.arange(0, COLS)
        m = rm & (cols < N)[None, :]
        wdy = tl.load(DY + rows * N + cols[None, :], mask=m, other=0.0) * tl.load(W + cols, mask=cols < N, other=0.0)
        xh = tl.where(m, tl.load(X + rows * N + cols[None, :], mask=m, other=0.0) - mean, 0.0) * rstd
        tl.store(DX + rows * N + cols[None, :], (wdy - (s1 + xh * s2) / N) * rstd, mask=m)


@triton.jit
def norm_weight_bwd(DY, X, Mean, Rstd, DW, DB, M, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    dw = tl.zeros([ROWS, COLS], tl.float32)
    db = tl.zeros([ROWS, COLS], tl.float32)
    for start in range(0, M, ROWS):
        rows = (start + tl.arange(0, ROWS))[:, None]
        m = (rows < M) & (cols < N)[None, :]
        dy = tl.load(DY + rows * N + cols[None, :], mask=m, other=0.0)
        x = tl.load(X + rows * N + cols[None, :], mask=m, other=0.0)
        mean = tl.load(Mean + rows, mask=rows < M, other=0.0)
        rstd = tl.load(Rstd + rows, mask=rows < M, other=0.0)
        dw += dy * tl.where(m, x - mean, 0.0) * rstd
        db += dy
    tl.store(DW + cols, tl.sum(dw, 0), mask=cols < N)
    tl.store(DB + cols, tl.sum(db, 0), mask=cols < N)


@triton.jit
def pool_bwd(dy_ptr, dx_ptr, divisor, H, W, OH, OW, KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr,
             SW: tl.constexpr, PAD: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr):
    """The gradient of average pooling, gathered by the places of the input."""
    plane = tl.program_id(0)
    across = tl.cdiv(W, BW)
    y = (tl.program_id(1) // across) * BH + tl.arange(0, BH)
    x = (tl.program_id(1) % across) * BW + tl.arange(0, BW)
    acc = tl.zeros([BH, BW], tl.float32)
    for ky in range(KH):
        for kx in range(KW):
            v = y[:, None] + PAD - ky
            u = x[None, :] + PAD - kx
            oy = v // SH
            ox = u // SW
            hit = (v >= 0) & (v % SH == 0) & (oy < OH) & (u >= 0) & (u % SW == 0) & (ox < OW)
            g = tl.load(dy_ptr + plane * OH * OW + oy * OW + ox, mask=hit, other=0.0)
            acc += tl.where(hit, g / divisor, 0.0)
    tl.store(dx_ptr + plane * H * W + y[:, None] * W + x[None, :], acc,
             mask=(y < H)[:, None] & (x < W)[None, :])
