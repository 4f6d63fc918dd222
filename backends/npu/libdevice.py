import triton
import triton.language as tl


@triton.jit
def reciprocal(x):
    return 1.0 / x


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def hypot(x, y):
    x = tl.abs(x)
    y = tl.abs(y)
    large = tl.maximum(x, y)
    ratio = tl.where(large == 0.0, 0.0, tl.minimum(x, y) / large)
    return tl.where(large == float("inf"), large, large * tl.sqrt(1.0 + ratio * ratio))


@triton.jit
def isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def isfinited(x):
    return tl.abs(x) < float("inf")


@triton.jit
def finitef(x):
    return tl.abs(x) < float("inf")


@triton.jit
def float_as_int(x):
    return x.to(tl.int32, bitcast=True)


@triton.jit
def signbit(x):
    if x.dtype.primitive_bitwidth == 16:
        return x.to(tl.int16, bitcast=True) < 0
    else:
        return x.to(tl.int32, bitcast=True) < 0


@triton.jit
def fast_dividef(x, y):
    return x / y


@triton.jit
def fast_expf(x):
    return tl.exp(x)


# The quotient rounded toward zero: the float before the nearest one where that is too large,
# which the sign of what it leaves says.
@triton.jit
def div_rz(x, y):
    q = x / y
    rest = tl.fma(-q, y, x)
    far = (rest != 0.0) & ((rest < 0.0) != (x < 0.0)) & (tl.abs(q) < float("inf"))
    bits = q.to(tl.int32, bitcast=True)
    return tl.where(far, bits - 1, bits).to(tl.float32, bitcast=True)


@triton.jit
def nextafter(x, y):
    bits = x.to(tl.int32, bitcast=True)
    away = (y > x) == (x > 0.0)
    next = tl.where(away, bits + 1, bits - 1)
    least = tl.where(y < 0.0, -2147483647, 1)
    next = tl.where(x == 0.0, least, next).to(tl.float32, bitcast=True)
    return tl.where(x == y, y, tl.where((x != x) | (y != y), x + y, next))


@triton.jit
def ilogb(x):
    small = tl.abs(x) < 1.17549435e-38
    scaled = tl.where(small, x * 8388608.0, x)
    exponent = ((scaled.to(tl.int32, bitcast=True) >> 23) & 255) - tl.where(small, 150, 127)
    exponent = tl.where(tl.abs(x) < float("inf"), exponent, 2147483647)
    return tl.where(x == 0.0, -2147483648, exponent)


# In three steps, as 2**n may not be a float where the result is one.
@triton.jit
def ldexp(x, n):
    for _ in tl.static_range(3):
        step = tl.minimum(tl.maximum(n, -126), 127)
        x = x * ((step + 127) << 23).to(tl.float32, bitcast=True)
        n -= step
    return x


# M. Giles, Approximating the erfinv function, 2010: two polynomials for f32.
@triton.jit
def erfinv(x):
    w = -tl.log((1.0 - x) * (1.0 + x))
    a = w - 2.5
    p = 2.81022636e-08 * a + 3.43273939e-07
    p = p * a - 3.5233877e-06
    p = p * a - 4.39150654e-06
    p = p * a + 0.00021858087
    p = p * a - 0.00125372503
    p = p * a - 0.00417768164
    p = p * a + 0.246640727
    p = p * a + 1.50140941
    b = tl.sqrt(w) - 3.0
    q = -0.000200214257 * b + 0.000100950558
    q = q * b + 0.00134934322
    q = q * b - 0.00367342844
    q = q * b + 0.00573950773
    q = q * b - 0.0076224613
    q = q * b + 0.00943887047
    q = q * b + 1.00167406
    q = q * b + 2.83297682
    y = tl.where(w < 5.0, p, q) * x
    return tl.where(tl.abs(x) == 1.0, x * float("inf"), y)


# The sum of Lanczos' approximation with g = 7 and nine terms, of the gamma function of x + 1.
@triton.jit
def _lanczos(x):
    s = 0.99999999999980993 + 676.5203681218851 / (x + 1.0) - 1259.1392167224028 / (x + 2.0)
    s += 771.32342877765313 / (x + 3.0) - 176.61502916214059 / (x + 4.0) + 12.507343278686905 / (x + 5.0)
    return s - 0.13857109526572012 / (x + 6.0) + 9.9843695780195716e-6 / (x + 7.0) + 1.5056327351493116e-7 / (x + 8.0)


# Below 1/2 by reflection: gamma(x) * gamma(1 - x) = pi / sin(pi * x).
@triton.jit
def lgamma(x):
    z = tl.where(x < 0.5, 1.0 - x, x) - 1.0
    t = z + 7.5
    y = 0.9189385332046727 + (z + 0.5) * tl.log(t) - t + tl.log(_lanczos(z))
    turn = x - tl.floor(x)
    y = tl.where(x < 0.5, 1.1447298858494002 - tl.log(tl.sin(3.141592653589793 * turn)) - y, y)
    y = tl.where((x <= 0.0) & (x == tl.floor(x)), float("inf"), y)
    return tl.where(tl.abs(x) == float("inf"), float("inf"), y)


@triton.jit
def gamma(x):
    z = tl.where(x < 0.5, 1.0 - x, x) - 1.0
    t = z + 7.5
    y = 2.5066282746310002 * tl.exp((z + 0.5) * tl.log(t) - t) * _lanczos(z)
    turn = x - tl.floor(x)
    odd = tl.floor(x) - 2.0 * tl.floor(tl.floor(x) * 0.5)
    sine = tl.sin(3.141592653589793 * turn) * (1.0 - 2.0 * odd)
    y = tl.where(x < 0.5, 3.141592653589793 / (sine * y), y)
    return tl.where((x < 0.0) & (x == tl.floor(x)), float("nan"), y)


# Abramowitz and Stegun, Handbook of Mathematical Functions, 9.8.1 and 9.8.2.
@triton.jit
def cyl_bessel_i0(x):
    x = tl.abs(x)
    a = (x / 3.75) * (x / 3.75)
    p = 1.0 + a * (3.5156229 + a * (3.0899424 + a * (1.2067492 + a * (0.2659732 + a * (0.0360768 + a * 0.0045813)))))
    b = 3.75 / tl.maximum(x, 3.75)
    q = -0.02057706 + b * (0.02635537 + b * (-0.01647633 + b * 0.00392377))
    q = 0.39894228 + b * (0.01328592 + b * (0.00225319 + b * (-0.00157565 + b * (0.00916281 + b * q))))
    return tl.where(x <= 3.75, p, tl.exp(x) / tl.sqrt(tl.maximum(x, 3.75)) * q)
