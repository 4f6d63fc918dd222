import triton
import triton.language as tl
import triton.language.extra.cann.extension as al
from triton.language.extra import libdevice


@triton.jit
def ranges(x_ptr, out_ptr, lo, hi, n, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    other = i.to(tl.float32)
    x = tl.load(x_ptr + i * stride, mask=(i >= lo) & (i < hi) & (n > 3), other=other)
    tl.store(out_ptr + (B - 1 - i), x, mask=3 * i <= n)


@triton.jit
def blocks(x_ptr, out_ptr, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + m[:, None] * sm + n[None, :] * sn, mask=mask, other=0.5)
    tl.store(out_ptr + n[:, None] * M + m[None, :], tl.trans(x), mask=tl.trans(mask))


@triton.jit
def irregular(x_ptr, index_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.load(index_ptr + i, mask=i < n, other=0)
    x = tl.load(x_ptr + at, mask=(at % 3 != 0) & (i < n), other=-1.0)
    y = tl.load(x_ptr + (i * 7) % n)
    tl.store(out_ptr + at, x + y, mask=(i % 2 == 0) & (i < n))


@triton.jit
def reductions(x_ptr, sum_ptr, max_ptr, at_ptr, all_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(sum_ptr + tl.arange(0, N), tl.sum(x, axis=0))
    tl.store(max_ptr + tl.arange(0, M), tl.max(x, axis=1))
    tl.store(at_ptr + tl.arange(0, M), tl.argmin(x, axis=1))
    tl.store(all_ptr, tl.max(tl.max(x, axis=0), axis=0))


@triton.jit
def scans(x_ptr, sum_ptr, back_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(sum_ptr + at, tl.cumsum(x, axis=1))
    tl.store(back_ptr + at, tl.cumsum(x, axis=0, reverse=True))


@triton.jit
def loops(x_ptr, out_ptr, n, steps, B: tl.constexpr):
    p = x_ptr + tl.arange(0, B)
    i = tl.arange(0, B)
    s = x_ptr
    acc = tl.zeros((B,), tl.float32)
    for k in range(steps):
        acc += tl.load(p, mask=i < n, other=0.0)
        if k % 2 == 0:
            acc += tl.load(s)
            s += 2
        else:
            acc *= 0.5
        p += B
        i += B
    t = n
    while t > 3:
        acc += 1.0
        t = t // 2
    tl.store(out_ptr + tl.arange(0, B), acc)


@triton.jit
def atomics(x_ptr, at_ptr, sum_ptr, max_ptr, lock_ptr, old_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    at = tl.load(at_ptr + i, mask=m, other=0)
    tl.atomic_add(sum_ptr + at, x, mask=m)
    tl.atomic_max(max_ptr + at, x, mask=m)
    old = tl.atomic_cas(lock_ptr, tl.program_id(0), tl.program_id(0) + 1)
    tl.store(old_ptr + tl.program_id(0), old + tl.atomic_xchg(lock_ptr + 1, old))


@triton.jit
def extremes(x_ptr, max_ptr, before_ptr, min_ptr, last_ptr, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    before = tl.atomic_max(max_ptr + tl.arange(0, B), x, mask=m)
    tl.store(before_ptr + i, before, mask=m)
    tl.store(last_ptr + p, tl.atomic_min(min_ptr, tl.load(x_ptr + p * B)))


@triton.jit
def shapes(x_ptr, out_ptr, bins_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    a, b = tl.split(tl.reshape(x, (M, N // 2, 2)))
    y = tl.join(b, a - b)
    y = tl.reshape(tl.trans(y, 2, 0, 1), (M, N))
    y = tl.gather(y, (at % N + 3) % N, axis=1)
    y += tl.cat(tl.arange(0, N // 2), tl.arange(0, N // 2), can_reorder=True)[None, :].to(tl.float32)
    tl.store(out_ptr + at, y)
    tl.store(bins_ptr + tl.arange(0, 4), tl.histogram(tl.reshape((x * 2 + 2).to(tl.int32), (M * N,)), 4))


@triton.jit
def constants(x_ptr, out_ptr, LO: tl.constexpr, HI: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=(i >= LO) & (i < HI), other=2.0)
    tl.store(out_ptr + i, x)
    tl.store(out_ptr + B + i, x, mask=(i > LO) & (2 * i <= HI))


@triton.jit
def strides(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    k = 0
    while k < n:
        acc += tl.load(x_ptr + i, mask=i < n * B, other=0.0)
        i += B
        k += 1
    j = tl.arange(0, B)
    for s in range(1, 4):
        acc += tl.load(x_ptr + j)
        j = j * 2
    tl.store(out_ptr + tl.arange(0, B), acc)


# Pointers that while loops carry: of blocks, of a scalar, of blocks whose strides change.
@triton.jit
def walk(x_ptr, out_ptr, n, B: tl.constexpr):
    acc = tl.zeros((B,), tl.float32)
    p = x_ptr + tl.arange(0, B)
    q = x_ptr
    i = 0
    while i < n:
        acc += tl.load(p, mask=i + tl.arange(0, B) < n, other=0.0) * tl.load(q)
        p += B
        q += B
        i += B
    r = x_ptr + tl.arange(0, B)
    k = 0
    while k < 3:
        acc += tl.load(r)
        r += tl.arange(0, B) * k
        k += 1
    tl.store(out_ptr + tl.arange(0, B), acc)
    tl.store(out_ptr + B, tl.load(q))


@triton.jit
def wraps(x_ptr, out_ptr, middle, start, n, w, stride, B: tl.constexpr, C: tl.constexpr, W: tl.constexpr):
    x_ptr += middle
    i = start + tl.arange(0, B)
    c = tl.arange(0, C)
    p = out_ptr + tl.arange(0, B)[:, None] * C + c[None, :]
    x = tl.load(x_ptr + (i % n)[:, None] * stride + c[None, :])
    y = tl.load(x_ptr + (i % w + i // w * stride)[:, None] + c[None, :], mask=(i[:, None] < n) & (c[None, :] < 3), other=0.5)
    tl.store(p, x + y)
    z = tl.load(x_ptr + (i[:, None] % n) * stride + (start + c)[None, :] % 3)
    tl.store(p + B * C, z + (i % n)[:, None])
    tl.store(out_ptr + 2 * B * C + (i + B) % W * 2, i)


@triton.jit(noinline=True)
def clipped(x, n, keep):
    if keep:
        return x
    if n > 3:
        x = x + 1.0
    else:
        return x * 2.0
    return x - n


@triton.jit
def returns(x_ptr, out_ptr, n, keep, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if tl.program_id(0) * B >= n:
        return
    p = x_ptr + 3 if keep > 1 else x_ptr
    x = tl.load(p + i, mask=i < n, other=0.0)
    if keep > 2:
        x += 1.0
        if n > 7:
            tl.store(out_ptr + i, x, mask=i < n)
            return
    tl.device_assert(x > -10.0, "too small")
    tl.debug_barrier()
    tl.assume(n > 0)
    tl.store(out_ptr + i, x + clipped(tl.load(x_ptr), n, keep != 0), mask=i < n)


@triton.jit
def functions(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    o = out_ptr + i
    tl.store(o, libdevice.tanh(x))
    tl.store(o + B, libdevice.pow(tl.abs(x), 2.5))
    tl.store(o + 2 * B, libdevice.atan2(x, x * x - 0.5))
    tl.store(o + 3 * B, libdevice.asin(x) + libdevice.acosh(tl.abs(x) + 1.0))
    tl.store(o + 4 * B, libdevice.hypot(x, x + 0.25))
    tl.store(o + 5 * B, libdevice.fmod(x * 7.0, 0.75))
    tl.store(o + 6 * B, libdevice.rint(x * 9.0) + libdevice.round(x * 5.0))
    tl.store(o + 7 * B, tl.where(libdevice.signbit(x), libdevice.relu(x) - 1.0, libdevice.reciprocal(x)))
    tl.store(o + 8 * B, tl.where(libdevice.isnan(x / 0.0 - x / 0.0), 1.0, 2.0) + tl.where(libdevice.isinf(x / 0.0), 4.0, 8.0))


@triton.jit
def rounded(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x.to(tl.float16, fp_downcast_rounding="rtz").to(tl.float32))
    tl.store(out_ptr + B + i, x.to(tl.bfloat16, fp_downcast_rounding="rtz").to(tl.float32))


@triton.jit
def block_atomics(x_ptr, sum_ptr, least_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    i, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    rows = tl.program_id(0) * M + i
    mask = (rows < m) & (k < n)
    x = tl.load(x_ptr + rows * n + k, mask=mask, other=0)
    tl.atomic_add(sum_ptr + i * N + k, x, mask=mask)
    tl.atomic_min(least_ptr + tl.arange(0, N), tl.min(tl.where(mask, x, 0), 0), mask=tl.arange(0, N) < n)


@triton.jit
def slices(x_ptr, out_ptr, at, B: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, B)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    tl.compile_hint(x, "hint", 4)
    al.multibuffer(x, 2)
    odd = al.extract_slice(x, [at, 1], [2, N // 2], [1, 2])
    y = tl.insert_slice(x, odd * 2.0, offsets=[0, N // 2], sizes=[2, N // 2], strides=[1, 1])
    y = al.insert_slice(y, tl.extract_slice(odd, [1, 0], [1, N // 2], [1, 1]), [B - 1, 0], [1, N // 2], [1, 2])
    acc = al.get_element(x, [at, 3])
    for s in al.parallel(0, 2, bind_sub_block=True):
        part = tl.extract_slice(y, (s * (B // 2), 0), (B // 2, N), (1, 1))
        j = (s * (B // 2) + tl.arange(0, B // 2))[:, None] * N + tl.arange(0, N)[None, :]
        al.sync_block_set("cube", "vector", 3)
        al.sync_block_wait("cube", "vector", 3)
        tl.store(out_ptr + j, part + acc)


@triton.jit
def outside(x_ptr, B: tl.constexpr, FROM: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(x_ptr + tl.arange(0, 8), al.extract_slice(x, [FROM], [8], [1]))


# Blocks less a running value, which the scalar unit computes of each block's sum.
@triton.jit
def running(x_ptr, out_ptr, n, scale, B: tl.constexpr):
    at = tl.program_id(0) * n
    out_at = at
    value = 0.0
    for i in range(0, n, B):
        k = i + tl.arange(0, B)
        x = tl.load(x_ptr + at + tl.arange(0, B), mask=k < n, other=0.0)
        value = value * scale + tl.sum(x, 0)
        tl.store(out_ptr + out_at + tl.arange(0, B), x - value, mask=k < n)
        at += B
        out_at += B


@triton.jit
def bins(x_ptr, out_ptr, masked_ptr, N: tl.constexpr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, B), tl.histogram(x, B))
    tl.store(masked_ptr + tl.arange(0, B), tl.histogram(x, B, mask=x != 1))


@triton.jit
def hf32(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, input_precision="hf32"))


@triton.jit
def more_functions(x_ptr, y_ptr, n_ptr, out_ptr, whole_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    n = tl.load(n_ptr + i)
    o = out_ptr + i
    tl.store(o, libdevice.div_rz(x, y))
    tl.store(o + B, libdevice.nextafter(x, y))
    tl.store(o + 2 * B, libdevice.ldexp(x, n))
    tl.store(o + 3 * B, libdevice.erfinv(x))
    tl.store(o + 4 * B, libdevice.lgamma(x * 9.0))
    tl.store(o + 5 * B, libdevice.gamma(x * 9.0))
    tl.store(o + 6 * B, libdevice.cyl_bessel_i0(x * 9.0))
    tl.store(o + 7 * B, tl.math.tanh(x))
    tl.store(whole_ptr + i, libdevice.ilogb(libdevice.ldexp(x, n)))


@triton.jit
def half_math(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.sigmoid(x) + tl.sqrt(tl.abs(x)) * tl.exp(x), mask=i < n)


@triton.jit
def two_phases(x, partials, out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr, MODE: tl.constexpr):
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(pid * BLOCK, n, programs * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, at < n, 0.0)
    tl.store(partials + pid, tl.sum(total))
    al.sync_block_all(MODE, 3)
    each = tl.arange(0, PROGRAMS)
    parts = tl.load(partials + each, each < programs, 0.0)
    tl.store(out + pid, tl.sum(parts) + pid)


@triton.jit
def smoothed(x, y, n, ROUNDS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    for r in range(ROUNDS):
        left = tl.load(x + i - 1, (i > 0) & (i < n), 0.0)
        right = tl.load(x + i + 1, i + 1 < n, 0.0)
        at = tl.load(x + i, i < n, 0.0)
        total = tl.sum(at)
        at = 0.25 * left + 0.5 * at + 0.25 * right
        tl.store(y + i, at, i < n)
        al.sync_block_all("all", 0)
        tl.store(x + i, at + 0.001 * total, i < n)
        al.sync_block_all("all", 1)


@triton.jit
def products(x, y, out, M: tl.constexpr, N: tl.constexpr, MODE: tl.constexpr):
    pid = tl.program_id(0)
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    a = tl.load(x + pid * M * N + m[:, None] * N + n[None, :])
    tl.store(y + pid * M * M + m[:, None] * M + m[None, :], tl.dot(a, tl.trans(a)))
    al.sync_block_all(MODE, 0)
    next = (pid + 1) % tl.num_programs(0)
    b = tl.load(y + next * M * M + m[:, None] * M + m[None, :])
    tl.store(out + pid * M * N + m[:, None] * N + n[None, :], tl.dot(b, a))


@triton.jit
def casts(x, a, b, c, n, TO: tl.constexpr, MODE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, care_padding=False)
    tl.store(a + i, tl.cast(v, TO, overflow_mode=MODE), i < n)
    tl.store(b + i, v.to(TO, None, False, MODE), i < n)
    tl.store(c + i, al.cast(v, TO, overflow_mode=MODE), i < n)


@triton.jit
def anywhere(x, out, at, lo, hi, N: tl.constexpr, SIZE: tl.constexpr, FIXED: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.program_id(0) * N
    a = tl.load(x + row + i, (i >= lo) & (i < hi), 0)
    part = al.extract_slice(a, [at], [SIZE], [1])
    a = al.insert_slice(a, part + part, [FIXED], [SIZE], [1])
    a = al.insert_slice(a, part, [N - SIZE - at], [SIZE], [1])
    tl.store(out + row + i, a, (i >= lo) & (i < hi))
