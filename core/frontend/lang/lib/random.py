# Random numbers: Philox, a counter-based generator (Salmon, Moraes, Dror and
# Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
import triton
import triton.language as tl
from triton import jit
from triton.language import core

_KEY_A_32 = tl.constexpr(0x9E3779B9)
_KEY_B_32 = tl.constexpr(0xBB67AE85)
_ROUND_A_32 = tl.constexpr(0xD2511F53)
_ROUND_B_32 = tl.constexpr(0xCD9E8D57)
_KEY_A_64 = tl.constexpr(0x9E3779B97F4A7C15)
_KEY_B_64 = tl.constexpr(0xBB67AE8584CAA73B)
_ROUND_A_64 = tl.constexpr(0xD2E7470EE14C6C93)
_ROUND_B_64 = tl.constexpr(0xCA5A826395121157)
N_ROUNDS_DEFAULT = tl.constexpr(10)


@jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    wide: tl.constexpr = c0.dtype == tl.uint64
    round_a: tl.constexpr = _ROUND_A_64 if wide else _ROUND_A_32
    round_b: tl.constexpr = _ROUND_B_64 if wide else _ROUND_B_32
    key_a: tl.constexpr = _KEY_A_64 if wide else _KEY_A_32
    key_b: tl.constexpr = _KEY_B_64 if wide else _KEY_B_32
    for _ in tl.static_range(n_rounds):
        even = c0
        odd = c2
        c0 = tl.umulhi(round_b, odd) ^ c1 ^ k0
        c2 = tl.umulhi(round_a, even) ^ c3 ^ k1
        c1 = tl.mul(round_b, odd, sanitize_overflow=False)
        c3 = tl.mul(round_a, even, sanitize_overflow=False)
        k0 = tl.add(k0, key_a, sanitize_overflow=False)
        k1 = tl.add(k1, key_b, sanitize_overflow=False)
    return c0, c1, c2, c3


@jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    seed = core.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed must be an integer")
    c0 = core.to_tensor(c0)
    c1 = core.to_tensor(c1)
    c2 = core.to_tensor(c2)
    c3 = core.to_tensor(c3)
    seed = seed.to(tl.uint64)
    if c0.dtype.primitive_bitwidth == 32:
        word: tl.constexpr = tl.uint32
        seed_hi = ((seed >> 32) & 0xffffffff).to(word)
        seed_lo = (seed & 0xffffffff).to(word)
    else:
        tl.static_assert(c0.dtype.primitive_bitwidth == 64, "bitwidth not supported in philox")
        word: tl.constexpr = tl.uint64
        seed_hi = tl.full((1, ), 0, dtype=word)
        seed_lo = seed
    c0 = c0.to(word, bitcast=True)
    c1 = c1.to(word, bitcast=True)
    c2 = c2.to(word, bitcast=True)
    c3 = c3.to(word, bitcast=True)
    return philox_impl(c0, c1, c2, c3, seed_lo, seed_hi, n_rounds)


@jit
def randint(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


@jit
def randint4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    lo = offset.to(tl.uint32)
    zero = lo * 0
    if offset.dtype.primitive_bitwidth > 32:
        hi = (offset >> 32).to(tl.uint32)
    else:
        hi = zero
    return philox(seed, lo, hi, zero, zero, n_rounds)


# Floats.


@jit
def uint_to_uniform_float(x):
    # negative numbers are mirrored, and the scale is a little below 2**-31
    # (2**-63) so that the result stays below 1
    if x.dtype == tl.uint32 or x.dtype == tl.int32:
        x = x.to(tl.int32, bitcast=True)
        scale: tl.constexpr = 4.6566127342e-10
    else:
        tl.static_assert(x.dtype == tl.uint64 or x.dtype == tl.int64, "a 32- or 64-bit integer is needed")
        x = x.to(tl.int64, bitcast=True)
        scale: tl.constexpr = 1.0842020432385337e-19
    x = tl.where(x < 0, -x - 1, x)
    return x * scale


@jit
def rand(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    source = randint(seed, offset, n_rounds)
    return uint_to_uniform_float(source)


@jit
def rand4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    i1, i2, i3, i4 = randint4x(seed, offset, n_rounds)
    u1 = uint_to_uniform_float(i1)
    u2 = uint_to_uniform_float(i2)
    u3 = uint_to_uniform_float(i3)
    u4 = uint_to_uniform_float(i4)
    return u1, u2, u3, u4


@jit
def pair_uniform_to_normal(u1, u2):
    # Box and Muller
    u1 = tl.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    radius = tl.sqrt(-2.0 * tl.log(u1))
    return radius * tl.cos(angle), radius * tl.sin(angle)


@jit
def randn(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    u1 = uint_to_uniform_float(i1)
    u2 = uint_to_uniform_float(i2)
    n1, _ = pair_uniform_to_normal(u1, u2)
    return n1


@jit
def randn4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
