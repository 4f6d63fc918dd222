# Random numbers: Philox, a counter-based generator (Salmon, Moraes, Dror and
# Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
#
# As in standard.py, the names of functions, of their parameters and of variables in
# locations, and the order of operations are Triton's, since IR shows them.
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
    for number in tl.static_range(n_rounds):
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
    given = core.to_tensor(seed)
    tl.static_assert(given.dtype.is_int(), "the seed must be an integer")
    c0 = core.to_tensor(c0)
    c1 = core.to_tensor(c1)
    c2 = core.to_tensor(c2)
    c3 = core.to_tensor(c3)
    seed = given.to(tl.uint64)
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
    return philox_impl(c0, c1, c2, c3, k0=seed_lo, k1=seed_hi, n_rounds=n_rounds)


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
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    tl.static_assert(x.dtype.is_int() and (bits == 32 or bits == 64), "a 32- or 64-bit integer is needed")
    signed: tl.constexpr = tl.int32 if bits == 32 else tl.int64
    scale: tl.constexpr = 4.6566127342e-10 if bits == 32 else 1.0842020432385337e-19
    x = x.to(signed, bitcast=True)
    x = tl.where(x < 0, -x - 1, x)
    return x * scale


@jit
def rand(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    source = randint(seed, offset, n_rounds=n_rounds)
    return uint_to_uniform_float(x=source)


@jit
def rand4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    a, b, c, d = randint4x(seed, offset, n_rounds)
    u1 = uint_to_uniform_float(a)
    u2 = uint_to_uniform_float(b)
    u3 = uint_to_uniform_float(c)
    u4 = uint_to_uniform_float(d)
    return u1, u2, u3, u4


@jit
def pair_uniform_to_normal(u1, u2):
    # Box and Muller
    u1 = tl.maximum(0.0000001, u1)  # whose logarithm is finite
    angle = 6.283185307179586 * u2
    radius = tl.sqrt(-2.0 * tl.log(u1))
    return radius * tl.cos(angle), radius * tl.sin(angle)


@jit
def randn(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    u1 = uint_to_uniform_float(a)
    u2 = uint_to_uniform_float(b)
    return pair_uniform_to_normal(u1, u2)[0]


@jit
def randn4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    a, b, c, d = rand4x(seed, offset, n_rounds)
    e, f = pair_uniform_to_normal(a, b)
    g, h = pair_uniform_to_normal(c, d)
    return e, f, g, h
