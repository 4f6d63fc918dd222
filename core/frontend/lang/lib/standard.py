# The library part of triton.language: what Triton's language module offers on
# top of its builtins, written in the language itself.
import triton
import triton.language as tl
from triton import jit


@jit
def cdiv(x, div):
    return (x + div - 1) // div


@jit
def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@jit
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    axis: tl.constexpr = 0 if dim is None else dim
    shifted = x - max(x, axis, keep_dims=keep_dims)
    powers = tl.exp(shifted)
    return tl.fdiv(powers, sum(powers, axis, keep_dims=keep_dims), ieee_rounding)


@jit
def zeros(shape, dtype):
    return tl.full(shape, 0, dtype)


@jit
def zeros_like(input):
    return zeros(input.shape, input.dtype)


# Maximum and minimum. Elements narrower than 32 bits are widened first.


@jit
def _wide(x):
    if x.dtype.primitive_bitwidth < 32:
        if x.dtype.is_floating():
            return x.to(tl.float32)
        else:
            return x.to(tl.int32)
    else:
        return x


@jit
def _elementwise_max(a, b):
    return tl.maximum(a, b)


@jit
def _elementwise_min(a, b):
    return tl.minimum(a, b)


@jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left):
    if tie_break_left:
        tie = value1 == value2 and index1 < index2
    else:
        tie = False
    first = value1 > value2 or tie
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, True)


@jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, False)


@jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left):
    if tie_break_left:
        tie = value1 == value2 and index1 < index2
    else:
        tie = False
    first = value1 < value2 or tie
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, True)


@jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, False)


@jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    if return_indices:
        x = input.to(tl.float32) if input.dtype == tl.bfloat16 else input
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(x, axis, _argmax_combine_tie_break_left, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(x, axis, _argmax_combine_tie_break_fast, keep_dims=keep_dims)
    else:
        return tl.reduce(_wide(input), axis, _elementwise_max, keep_dims=keep_dims)


@jit
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    value, index = max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@jit
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    if return_indices:
        x = input.to(tl.float32) if input.dtype == tl.bfloat16 else input
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(x, axis, _argmin_combine_tie_break_left, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(x, axis, _argmin_combine_tie_break_fast, keep_dims=keep_dims)
    else:
        return tl.reduce(_wide(input), axis, _elementwise_min, keep_dims=keep_dims)


@jit
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    value, index = min(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


# Sums. Small integers are summed in 32 bits of their signedness.


@triton.constexpr_function
def _sum_type(given, of):
    if given is not None:
        return given
    if of.is_int_signed() and not of.is_bool():
        return tl.int32 if of.int_bitwidth < 32 else None
    if of.is_int():
        return tl.uint32 if of.int_bitwidth < 32 else None
    return None


@jit
def _sum_combine(a, b):
    return a + b


@jit
def sum(input, axis=None, keep_dims=False, dtype=None):
    wanted: tl.constexpr = _sum_type(dtype, input.dtype)
    if wanted is not None:
        input = input.to(wanted)
    return tl.reduce(input, axis, _sum_combine, keep_dims=keep_dims)


@jit
def _xor_combine(a, b):
    return a ^ b


@jit
def xor_sum(input, axis=None, keep_dims=False):
    tl.static_assert(input.type.scalar.is_int(), "xor_sum only supported for integers")
    return tl.reduce(input, axis, _xor_combine, keep_dims=keep_dims)


@jit
def _or_combine(x, y):
    return x | y


@jit
def reduce_or(input, axis, keep_dims=False):
    tl.static_assert(input.type.scalar.is_int(), "reduce_or only supported for integers")
    return tl.reduce(input, axis, _or_combine, keep_dims=keep_dims)


# Scans.


@jit
def cumsum(input, axis=0, reverse=False, dtype=None):
    wanted: tl.constexpr = _sum_type(dtype, input.dtype)
    x = input.to(tl.float32) if input.dtype == tl.bfloat16 else input
    if wanted is not None:
        x = x.to(wanted)
    return tl.associative_scan(x, axis, _sum_combine, reverse)


@jit
def _prod_combine(a, b):
    return a * b


@jit
def cumprod(input, axis=0, reverse=False):
    x = input.to(tl.float32) if input.dtype == tl.bfloat16 else input
    return tl.associative_scan(x, axis, _prod_combine, reverse)
