"""Kernels of bench/cases_hopper.py: dots with operands of descriptors that the host
makes, of batches, groups and narrow types, attention, and decoding.

As in kernels.py, each is written as libraries write its kind, from scratch.
"""

import triton
import triton.language as tl


@triton.jit
def tile_of(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a program's tile, in groups of rows that share columns in the cache."""
    grid_m = tl.cdiv(M, BM)
    width = GROUP * tl.cdiv(N, BN)
    first = pid // width * GROUP
    size = min(grid_m - first, GROUP)
    return first + (pid % width) % size, (pid % width) // size


# ---- descriptors of the host's


@triton.jit
def matmul_host(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                GROUP: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = a_desc.load([pid_m * BM, k * BK])
        b = b_desc.load([pid_n * BN, k * BK])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([pid_m * BM, pid_n * BN], acc.to(c_desc.dtype))


@triton.jit
def matmul_persistent(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                      GROUP: tl.constexpr, SMS: tl.constexpr):
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), SMS, flatten=True):
        pid_m, pid_n = tile_of(tile, M, N, BM, BN, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            a = a_desc.load([pid_m * BM, k * BK])
            b = b_desc.load([pid_n * BN, k * BK])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([pid_m * BM, pid_n * BN], acc.to(c_desc.dtype))


@triton.jit
def matmul_divided(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   GROUP: tl.constexpr):
    """Warps that copy, and warps that compute. Triton 3.6 refuses descriptors of the host's here."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=True):
        acc = tl.dot(a.load([pid_m * BM, k * BK]), b.load([pid_n * BN, k * BK]).T, acc)
    c.store([pid_m * BM, pid_n * BN], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_experts(a_desc, w_desc, c_desc, expert_ptr, M, N, K, ROWS: tl.constexpr, BM: tl.constexpr,
                   BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Rows of a, sorted by expert, times their expert's weights; an expert has whole blocks of ROWS."""
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    expert = tl.load(expert_ptr + pid_m * BM // ROWS)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = a_desc.load([pid_m * BM, k * BK])
        w = w_desc.load([expert, pid_n * BN, k * BK]).reshape(BN, BK)
        acc = tl.dot(a, w.T, acc)
    c_desc.store([pid_m * BM, pid_n * BN], acc.to(c_desc.dtype))


@triton.jit
def matmul_groups(a_ptrs, b_ptrs, c_ptrs, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  SMS: tl.constexpr, STRIDE: tl.constexpr):
    """Several matrix products of other sizes each, by descriptors that the kernel makes of pointers in memory."""
    tile = tl.program_id(0)
    before = 0
    for g in range(groups):
        M = tl.load(sizes + 4 * g)
        N = tl.load(sizes + 4 * g + 1)
        K = tl.load(sizes + 4 * g + 2)
        across = tl.cdiv(N, BN)
        here = tl.cdiv(M, BM) * across
        if tile >= before and tile < before + here:
            a = tl.make_tensor_descriptor(tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16)), shape=[M, K],
                                          strides=[K, 1], block_shape=[BM, BK])
            b = tl.make_tensor_descriptor(tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16)), shape=[N, K],
                                          strides=[K, 1], block_shape=[BN, BK])
            c = tl.make_tensor_descriptor(tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16)), shape=[M, N],
                                          strides=[tl.load(sizes + 4 * g + 3) if STRIDE else N, 1], block_shape=[BM, BN])
            while tile >= before and tile < before + here:
                m = (tile - before) // across * BM
                n = (tile - before) % across * BN
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                for k in range(0, tl.cdiv(K, BK)):
                    acc = tl.dot(a.load([m, k * BK]), b.load([n, k * BK]).T, acc)
                c.store([m, n], acc.to(tl.float16))
                tile += SMS
        before += here


@triton.jit
def attn_part(acc, l, m, q, k_desc, v_desc, first, lo, hi, rows, scale, BN: tl.constexpr, MASKED: tl.constexpr):
    """Attention to the keys from lo to hi."""
    for n in tl.range(lo, hi, BN):
        n = tl.multiple_of(n, BN)
        k = k_desc.load([first + n, 0]).T
        s = tl.dot(q, k)
        if MASKED:
            s = s * scale + tl.where(rows[:, None] >= (n + tl.arange(0, BN))[None, :], 0, -1.0e6)
            top = tl.maximum(m, tl.max(s, 1))
            s -= top[:, None]
        else:
            top = tl.maximum(m, tl.max(s, 1) * scale)
            s = s * scale - top[:, None]
        p = tl.math.exp2(s)
        alpha = tl.math.exp2(m - top)
        acc = acc * alpha[:, None]
        v = v_desc.load([first + n, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        l = l * alpha + tl.sum(p, 1)
        m = top
    return acc, l, m


@triton.jit
def attn_host(q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, N_CTX, BM: tl.constexpr, BN: tl.constexpr,
              D: tl.constexpr, CAUSAL: tl.constexpr):
    """Attention over heads that lie one below another in matrices of D columns."""
    pid = tl.program_id(0)
    head = tl.program_id(1)
    first = head * N_CTX
    rows = pid * BM + tl.arange(0, BM)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    q = q_desc.load([first + pid * BM, 0])
    scale *= 1.44269504
    if CAUSAL:
        acc, l, m = attn_part(acc, l, m, q, k_desc, v_desc, first, 0, pid * BM, rows, scale, BN, False)
        acc, l, m = attn_part(acc, l, m, q, k_desc, v_desc, first, pid * BM, (pid + 1) * BM, rows, scale, BN, True)
    else:
        acc, l, m = attn_part(acc, l, m, q, k_desc, v_desc, first, 0, N_CTX, rows, scale, BN, False)
    tl.store(lse_ptr + head * N_CTX + rows, m + tl.math.log2(l))
    o_desc.store([first + pid * BM, 0], (acc / l[:, None]).to(o_desc.dtype))


@triton.jit
def mx_upcast(out_desc, x_desc, scale_ptr, stride, M, N, FP4: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Blocks of 32 numbers of 8 or 4 bits with a power of two each, as bf16."""
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    x = x_desc.load([row, col // 2 if FP4 else col])
    rows = row + tl.arange(0, BM)[:, None]
    blocks = col // 32 + tl.arange(0, BN // 32)[None, :]
    scale = tl.load(scale_ptr + rows * stride + blocks, mask=(rows < M) & (blocks < N // 32), other=0)
    power = (scale.to(tl.uint16) << 7).to(tl.bfloat16, bitcast=True)
    if FP4:
        low = x & 0xF
        high = x >> 4
        bits = tl.interleave(low, high)
        size = (bits & 7).to(tl.uint16)
        # e2m1: 0, a half, and from 1 on two bits of exponent and one of mantissa.
        value = tl.where(size >= 2, (size << 6) + (126 << 7), tl.where(size == 1, 126 << 7, 0))
        wide = (value | ((bits & 8).to(tl.uint16) << 12)).to(tl.uint16).to(tl.bfloat16, bitcast=True)
    else:
        wide = x.to(tl.bfloat16)
    out = wide.reshape([BM, BN // 32, 32]) * power.reshape([BM, BN // 32, 1])
    out_desc.store([row, col], out.reshape([BM, BN]))


# ---- dots by pointers


@triton.jit
def matmul_batched(a_ptr, b_ptr, c_ptr, M, N, K, sab, sam, sbb, sbk, scb, scm, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr, GROUP: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    batch = tl.program_id(1).to(tl.int64)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_at = a_ptr + batch * sab + rows[:, None] * sam + ks[None, :]
    b_at = b_ptr + batch * sbb + ks[:, None] * sbk + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=(rows < M)[:, None] & (ks < K - k * BK)[None, :], other=0.0)
        b = tl.load(b_at, mask=(ks < K - k * BK)[:, None] & (cols < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BK
        b_at += BK * sbk
    tl.store(c_ptr + batch * scb + rows[:, None] * scm + cols[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(rows < M)[:, None] & (cols < N)[None, :])


@triton.jit
def matmul_i8(a_ptr, b_ptr, c_ptr, sa_ptr, sb_ptr, M, N, K, sam, sbn, scm, BM: tl.constexpr, BN: tl.constexpr,
              BK: tl.constexpr, GROUP: tl.constexpr):
    """Integers of 8 bits with a scale for each row of a and each column of b."""
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_at = a_ptr + (rows % M)[:, None] * sam + ks[None, :]
    b_at = b_ptr + ks[:, None] + (cols % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=(ks < K - k * BK)[None, :], other=0)
        b = tl.load(b_at, mask=(ks < K - k * BK)[:, None], other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        a_at += BK
        b_at += BK
    sa = tl.load(sa_ptr + rows, mask=rows < M, other=0.0)
    sb = tl.load(sb_ptr + cols, mask=cols < N, other=0.0)
    c = acc.to(tl.float32) * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rows[:, None] * scm + cols[None, :], c.to(c_ptr.dtype.element_ty),
             mask=(rows < M)[:, None] & (cols < N)[None, :])


@triton.jit
def matmul_a8(a_ptr, b_ptr, c_ptr, s_ptr, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr,
              BK: tl.constexpr, GROUP: tl.constexpr):
    """Integers of 8 bits with a scale for each row, which become A in registers."""
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_at = a_ptr + (rows % M)[:, None] * sam + ks[None, :]
    b_at = b_ptr + ks[:, None] * sbk + (cols % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=(ks < K - k * BK)[None, :], other=0)
        b = tl.load(b_at, mask=(ks < K - k * BK)[:, None], other=0.0)
        acc = tl.dot(a.to(tl.float16), b, acc)
        a_at += BK
        b_at += BK * sbk
    s = tl.load(s_ptr + rows, mask=rows < M, other=0.0)
    tl.store(c_ptr + rows[:, None] * scm + cols[None, :], (acc * s[:, None]).to(c_ptr.dtype.element_ty),
             mask=(rows < M)[:, None] & (cols < N)[None, :])


@triton.jit
def matmul_w4(a_ptr, q_ptr, s_ptr, c_ptr, M, N, K, sam, sqk, ssk, scm, BM: tl.constexpr, BN: tl.constexpr,
              BK: tl.constexpr, GROUP: tl.constexpr, SPAN: tl.constexpr):
    """f16 times integers of 4 bits, eight of a column in a word, SPAN of which share a scale."""
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_at = a_ptr + rows[:, None] * sam + ks[None, :]
    q_at = q_ptr + (ks // 8)[:, None] * sqk + cols[None, :]
    shift = (ks % 8 * 4)[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K // BK):
        a = tl.load(a_at, mask=(rows < M)[:, None], other=0.0)
        q = tl.load(q_at)
        scale = tl.load(s_ptr + k * BK // SPAN * ssk + cols)
        b = (((q >> shift) & 0xF) - 8).to(tl.float16) * scale[None, :]
        acc = tl.dot(a, b, acc)
        a_at += BK
        q_at += BK // 8 * sqk
    tl.store(c_ptr + rows[:, None] * scm + cols[None, :], acc.to(tl.float16), mask=(rows < M)[:, None])


@triton.jit
def matmul_block_fp8(a_ptr, b_ptr, c_ptr, sa_ptr, sb_ptr, M, N, K, sam, sbn, scm, ssm, ssn, SPAN: tl.constexpr,
                     BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """fp8 with a scale for SPAN numbers of a row of a, and for SPAN times SPAN of b."""
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    cols = (pid_n * BN + tl.arange(0, BN)) % N
    ks = tl.arange(0, BK)
    a_at = a_ptr + rows[:, None] * sam + ks[None, :]
    b_at = b_ptr + ks[:, None] + cols[None, :] * sbn
    sa_at = sa_ptr + rows * ssm
    sb_at = sb_ptr + cols // SPAN * ssn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=(ks < K - k * BK)[None, :], other=0.0)
        b = tl.load(b_at, mask=(ks < K - k * BK)[:, None], other=0.0)
        at = k * BK // SPAN
        acc += tl.dot(a, b) * tl.load(sa_at + at)[:, None] * tl.load(sb_at + at)[None, :]
        a_at += BK
        b_at += BK
    om = pid_m * BM + tl.arange(0, BM)
    on = pid_n * BN + tl.arange(0, BN)
    tl.store(c_ptr + om[:, None] * scm + on[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(om < M)[:, None] & (on < N)[None, :])


@triton.jit
def linear_attn(q_ptr, k_ptr, v_ptr, o_ptr, scale, T, D: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr,
                C: tl.constexpr):
    """Causal attention without softmax, C tokens at a time: the state of those before, and those of the chunk."""
    part = tl.program_id(0) * BV + tl.arange(0, BV)
    head = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    c = tl.arange(0, C)
    q_at = q_ptr + head * T * D + c[:, None] * D + d[None, :]
    k_at = k_ptr + head * T * D + c[None, :] * D + d[:, None]
    v_at = v_ptr + head * T * DV + c[:, None] * DV + part[None, :]
    o_at = o_ptr + head * T * DV + c[:, None] * DV + part[None, :]
    state = tl.zeros((D, BV), dtype=tl.float32)
    for t in range(0, T, C):
        q = tl.load(q_at)
        k = tl.load(k_at)
        v = tl.load(v_at)
        near = tl.dot(q, k)
        near = tl.where(c[:, None] >= c[None, :], near, 0.0)
        o = tl.dot(q, state.to(q.dtype))
        o = tl.dot(near.to(q.dtype), v, o)
        state = tl.dot(k, v, state)
        tl.store(o_at, (o * scale).to(o_ptr.dtype.element_ty))
        q_at += C * D
        k_at += C * D
        v_at += C * DV
        o_at += C * DV


@triton.jit
def paged_decode(q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, o_ptr, lse_ptr, scale, HEADS, KV_HEADS, PAGES,
                 SPLITS: tl.constexpr, D: tl.constexpr, SHARE: tl.constexpr, PAGE: tl.constexpr, BH: tl.constexpr,
                 BN: tl.constexpr):
    """One token's attention to keys and values in pages; SHARE heads share those, and SPLITS programs part them."""
    seq = tl.program_id(0)
    kv = tl.program_id(1)
    split = tl.program_id(2)
    d = tl.arange(0, D)
    own = tl.arange(0, BH)
    head = kv * SHARE + own
    q = tl.load(q_ptr + (seq * HEADS + head)[:, None] * D + d[None, :], mask=(own < SHARE)[:, None], other=0.0)
    length = tl.load(length_ptr + seq)
    span = tl.cdiv(length, SPLITS * BN) * BN
    lo = split * span
    hi = min(lo + span, length)
    m = tl.full([BH], -float("inf"), tl.float32)
    l = tl.zeros([BH], tl.float32)
    acc = tl.zeros([BH, D], tl.float32)
    for n in range(lo, hi, BN):
        token = n + tl.arange(0, BN)
        inside = token < hi
        page = tl.load(table_ptr + seq * PAGES + token // PAGE, mask=inside, other=0)
        slot = ((page * PAGE + token % PAGE).to(tl.int64) * KV_HEADS + kv) * D
        k = tl.load(k_ptr + slot[None, :] + d[:, None], mask=inside[None, :], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, k) * scale, -float("inf"))
        v = tl.load(v_ptr + slot[:, None] + d[None, :], mask=inside[:, None], other=0.0)
        top = tl.maximum(m, tl.max(s, 1))
        alpha = tl.exp(m - top)
        p = tl.exp(s - top[:, None])
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc)
        l = l * alpha + tl.sum(p, 1)
        m = top
    at = (seq * HEADS + head) * SPLITS + split
    tl.store(o_ptr + at[:, None] * D + d[None, :], acc / l[:, None], mask=(own < SHARE)[:, None])
    tl.store(lse_ptr + at, m + tl.log(l), mask=own < SHARE)


@triton.jit
def attn_split(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, M, N, SHARE: tl.constexpr, SPLITS: tl.constexpr,
               D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention of few queries, whose keys SPLITS programs part; SHARE heads share keys and values."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    split = tl.program_id(1)
    head = tl.program_id(2)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (head * M + row)[:, None] * D + d[None, :], mask=(row < M)[:, None], other=0.0)
    base = (head // SHARE).to(tl.int64) * N * D
    span = tl.cdiv(N, SPLITS * BN) * BN
    lo = split * span
    hi = min(lo + span, N)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for n in range(lo, hi, BN):
        key = n + tl.arange(0, BN)
        inside = key < hi
        k = tl.load(k_ptr + base + key[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, k) * scale, -float("inf"))
        top = tl.maximum(m, tl.max(s, 1))
        alpha = tl.exp2(m - top)
        p = tl.exp2(s - top[:, None])
        v = tl.load(v_ptr + base + key[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        l = l * alpha + tl.sum(p, 1)
        m = top
    at = (head * SPLITS + split) * M + row
    tl.store(o_ptr + at[:, None] * D + d[None, :], acc / l[:, None], mask=(row < M)[:, None])
    tl.store(lse_ptr + at, m + tl.log2(l), mask=row < M)


@triton.jit
def matmul_experts_fp8(a_ptr, b_ptr, c_ptr, sa_ptr, sb_ptr, order_ptr, start_ptr, N: tl.constexpr, K: tl.constexpr,
                       TOP: tl.constexpr, MOST: tl.constexpr, SPAN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                       BK: tl.constexpr, GROUP: tl.constexpr):
    """Rows that are in the order of their experts, each times its expert's matrix; both scaled by blocks of SPAN."""
    expert = tl.program_id(1).to(tl.int64)
    start = tl.load(start_ptr + expert)
    end = tl.load(start_ptr + expert + 1)
    rows = tl.cdiv(MOST, BM)
    columns = tl.cdiv(N, BN)
    group = tl.program_id(0) // (GROUP * columns)
    first = group * GROUP
    size = min(rows - first, GROUP)
    pid_m = first + tl.program_id(0) % size
    pid_n = (tl.program_id(0) % (GROUP * columns)) // size
    if pid_m * BM >= end - start:
        return
    place = start + pid_m * BM + tl.arange(0, BM)
    inside = place < end
    slot = tl.load(order_ptr + place, mask=inside, other=0)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a_ptr + (slot // TOP)[:, None] * K + k[None, :]
    b_at = b_ptr + expert * N * K + n[None, :] * K + k[:, None]
    sa_at = sa_ptr + slot // TOP * (K // SPAN)
    sb_at = sb_ptr + (expert * (N // SPAN) + pid_n * BN // SPAN) * (K // SPAN)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K // BK):
        scale = tl.load(sa_at + i * BK // SPAN, mask=inside, other=0.0) * tl.load(sb_at + i * BK // SPAN)
        acc += tl.dot(tl.load(a_at), tl.load(b_at)) * scale[:, None]
        a_at += BK
        b_at += BK
    tl.store(c_ptr + slot[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=inside[:, None])
