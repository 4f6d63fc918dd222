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
