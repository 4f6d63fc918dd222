# The library part of triton.language: what Triton's language module offers on
# top of its builtins, written in the language itself.
#
# IR shows some of it, and is compared with Triton's: functions and their parameters
# have Triton's names and defaults, so have variables that locations name, and
# operations come in Triton's order. How they are written is our own.
import triton
import triton.language as tl
from triton import jit
from triton.language import core


@jit
def cdiv(x, div):
    return (x + (div - 1)) // div


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
    return tl.full(input.shape, 0, input.dtype)


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


# Where an element and its place are wanted: of equal elements the fast forms take
# any, the others the one with the lower index.


@jit
def _earlier(value1, index1, value2, index2):
    equal = value1 == value2
    return equal and index1 < index2


@jit
def _either(first, value1, index1, value2, index2):
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    tie = _earlier(value1, index1, value2, index2)
    return _either(value1 > value2 or tie, value1, index1, value2, index2)


@jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _either(value1 > value2 or False, value1, index1, value2, index2)


@jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    tie = _earlier(value1, index1, value2, index2)
    return _either(value1 < value2 or tie, value1, index1, value2, index2)


@jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _either(value1 < value2 or False, value1, index1, value2, index2)


@jit
def _with_index(input, axis, combine: tl.constexpr, keep_dims):
    # bfloat16 is compared as float32
    x = input.to(tl.float32) if input.dtype == tl.bfloat16 else input
    return core._reduce_with_indices(x, axis, combine, keep_dims=keep_dims)


@jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    left: tl.constexpr = return_indices_tie_break_left
    if not return_indices:
        return tl.reduce(_wide(input), axis, _elementwise_max, keep_dims=keep_dims)
    else:
        combine: tl.constexpr = _argmax_combine_tie_break_left if left else _argmax_combine_tie_break_fast
        return _with_index(input, axis, combine, keep_dims)


@jit
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    value, index = max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@jit
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    left: tl.constexpr = return_indices_tie_break_left
    if not return_indices:
        return tl.reduce(_wide(input), axis, _elementwise_min, keep_dims=keep_dims)
    else:
        combine: tl.constexpr = _argmin_combine_tie_break_left if left else _argmin_combine_tie_break_fast
        return _with_index(input, axis, combine, keep_dims)


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


# Shapes.


@jit
def ravel(x, can_reorder=False):
    return tl.reshape(x, (x.numel, ), can_reorder=can_reorder)


@jit
def interleave(a, b):
    c = tl.join(a, b)
    if len(c.shape) == 1:
        return c
    else:
        return tl.reshape(c, c.shape[:-2] + (2 * c.shape[-2], ))


@jit
def swizzle2d(i, j, size_i, size_j, size_g):
    # row-major numbers become numbers within groups of size_g rows
    ij = i * size_j + j
    size_gj = size_g * size_j
    group_id = ij // size_gj
    off_i = group_id * size_g
    rows = tl.minimum(size_i - off_i, size_g)
    ij = ij % size_gj
    return off_i + ij % rows, ij // rows


# Sorting: a bitonic network. A row of 2**n elements is seen as a hypercube of n
# dimensions of size 2; each step compares neighbours along one of them.


@triton.constexpr_function
def _log2(n):
    return (n >> 1).bit_length()


@triton.constexpr_function
def _int_of(dtype):
    bits = dtype.primitive_bitwidth
    return tl.int1 if bits == 1 else tl.int8 if bits == 8 else tl.int16 if bits == 16 else tl.int32 if bits == 32 else tl.int64


@triton.constexpr_function
def _last_dim(dim, rank):
    last = rank - 1
    assert dim is None or dim == last, "only minor dimension is currently supported"
    return last


@jit
def _bit(n_dims: tl.constexpr, i: tl.constexpr):
    # along dimension i from the end: 0, 1
    return tl.reshape(tl.arange(0, 2), (1, ) * (n_dims - i - 1) + (2, ) + (1, ) * i)


@jit
def _compare_and_swap(x, flip, i: tl.constexpr):
    n_dims: tl.constexpr = _log2(x.numel)
    bits = x.to(_int_of(x.dtype), bitcast=True)
    other = bits ^ xor_sum(bits, n_dims - 1 - i, True)
    y = other.to(x.dtype, bitcast=True)
    right = _bit(n_dims, i)
    return tl.where((x > y) != (flip ^ right), y, x)


@jit
def _merge(x, stage: tl.constexpr, order: tl.constexpr):
    # order: 0 ascending, 1 descending, 2 alternating along dimension stage
    if order == 2:
        flip = _bit(_log2(x.numel), stage)
        for step in tl.static_range(stage - 1, -1, -1):
            x = _compare_and_swap(x, flip, step)
    else:
        for step in tl.static_range(stage - 1, -1, -1):
            x = _compare_and_swap(x, order, step)
    return x


@jit
def _sort(x, k: tl.constexpr, dim: tl.constexpr, descending: tl.constexpr):
    last: tl.constexpr = _last_dim(dim, len(x.shape))
    log_n: tl.constexpr = _log2(x.shape[last])
    log_k: tl.constexpr = log_n if k is None else _log_k(k, log_n)
    n_dims: tl.constexpr = _log2(x.numel)
    h = tl.reshape(x, (2, ) * n_dims)
    for i in tl.static_range(1, log_k + 1):
        h = _merge(h, i, 2 if i < log_n else descending)
    # of each two sorted runs of k elements keep the half that can be wanted
    for i in tl.static_range(log_k + 1, log_n + 1):
        if descending:
            h = max(h, axis=_log2(h.numel) - 1 - log_k)
        else:
            h = min(h, axis=_log2(h.numel) - 1 - log_k)
        h = _merge(h, log_k, 2 if i < log_n else descending)
    return tl.reshape(h, x.shape[:-1] + (2**log_k, ))


@jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    return _sort(x, None, dim, descending)


@jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None):
    return _sort(x, k, dim, True)


@jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    last: tl.constexpr = _last_dim(dim, len(x.shape))
    h = tl.reshape(x, (2, ) * _log2(x.numel))
    h = _merge(h, _log2(x.shape[last]), descending)
    return tl.reshape(h, x.shape)


@triton.constexpr_function
def _flip_dim(dim, rank):
    assert dim is not None, "flip needs a dim: Triton 3.6 fails on its default"
    assert -rank <= dim < rank, "flip: the dimension is outside the shape"
    return dim + rank if dim < 0 else dim


@jit
def flip(x, dim=None):
    d: tl.constexpr = _flip_dim(dim, len(x.shape))
    steps: tl.constexpr = _log2(x.shape[d])
    y = tl.reshape(x.to(_int_of(x.dtype), bitcast=True), x.shape[:d] + (2, ) * steps + x.shape[d + 1:])
    for i in tl.static_range(steps):
        y = y ^ xor_sum(y, d + i, True)
    return tl.reshape(y, x.shape).to(x.dtype, bitcast=True)


@triton.constexpr_function
def _log_k(k, log_n):
    assert 1 <= k <= 2**log_n, f"topk: k is {k}, and there are {2**log_n} elements to choose from"
    return _log2(k)
