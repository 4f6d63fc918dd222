# The functions that kernels made by torch.compile call: our own text, to the
# behaviour that torch documents and its kernels rely on. A torch that is
# installed beside the kernel, of whatever release, goes before this file.
import triton
import triton.language as tl
from triton.language import core, math
from triton.language.core import extern as triton_builtin
from triton.language.extra import libdevice
from triton.language.standard import _log2


def set_driver_to_gpu():
    """The target is the compiler's to know."""


def set_driver_to_cpu():
    """See set_driver_to_gpu."""


# What the compiler itself answers.


@triton_builtin
def constexpr_next_power_of_2(n):
    return triton.next_power_of_2(n)


@triton_builtin
def if_mask(mask, val):
    # a load without a mask takes no other
    return None if mask is None else val


@triton.jit
def promote_to_tensor(x):
    return tl.zeros((1,), tl.int1) + x


@triton.jit
def is_floating(x):
    return promote_to_tensor(x).dtype.is_floating()


# Integers as Python divides them: down, and with the divisor's sign.


@triton.jit
def _opposite(a, b):
    return (a < 0) ^ (b < 0)


@triton.jit
def div_floor_integer(a, b):
    toward_zero = a // b
    inexact = a % b != 0
    return tl.where(inexact & _opposite(a, b), toward_zero - 1, toward_zero)


@triton.jit
def remainder_integer(a, b):
    of_dividend = a % b
    wrong_sign = (of_dividend != 0) & _opposite(a, b)
    return tl.where(wrong_sign, of_dividend + b, of_dividend)


# Extremes: NaN goes before every number, and of equals the one with the lower
# index is taken.


@triton.jit
def _nan(x):
    return x != x


@triton.jit
def maximum(a, b):
    return tl.where((a > b) | _nan(a), a, b)


@triton.jit
def minimum(a, b):
    return tl.where((a < b) | _nan(a), a, b)


@triton.jit
def _first(better, equal, a_value, a_index, b_value, b_index):
    a_nan = _nan(a_value)
    b_nan = _nan(b_value)
    tie = equal | (a_nan & b_nan)
    take = better | (a_nan & (b_nan == 0)) | (tie & (a_index < b_index))
    return tl.where(take, a_value, b_value), tl.where(take, a_index, b_index)


@triton.jit
def maximum_with_index(a_value, a_index, b_value, b_index):
    return _first(a_value > b_value, a_value == b_value, a_value, a_index, b_value, b_index)


@triton.jit
def minimum_with_index(a_value, a_index, b_value, b_index):
    return _first(a_value < b_value, a_value == b_value, a_value, a_index, b_value, b_index)


@triton.jit
def max2(a, dim):
    return tl.reduce(a, dim, maximum)


@triton.jit
def min2(a, dim):
    return tl.reduce(a, dim, minimum)


@triton.jit
def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


@triton.jit
def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


# Other reductions.


@triton.jit
def _prod_accumulate(a, b):
    return a * b


@triton.jit
def _any_combine(a, b):
    return a | b


@triton.jit
def prod(input, axis):
    return tl.reduce(input, axis, _prod_accumulate)


@triton.jit
def any(a, dim):
    return tl.reduce(a, dim, _any_combine)


@triton.jit
def select_one(x, mask, dim, keep_dims=False):
    # of the elements along dim the mask picks one: the sum of the bits is it
    bits: tl.constexpr = core.get_int_dtype(x.dtype.primitive_bitwidth, False)
    picked = tl.sum(x.to(bits, bitcast=True) * mask, dim, keep_dims=keep_dims)
    return picked.to(x.dtype, bitcast=True)


# Mean and sum of squared deviations, element by element and part by part.


@triton.jit
def welford_reduce(value, mean, m2, weight, first_iteration):
    if first_iteration:
        count = tl.full(weight.shape, 1, weight.dtype)
        moved = value
        squares = tl.zeros_like(m2)
    else:
        count = weight + 1
        before = value - mean
        moved = mean + before / count
        squares = m2 + before * (value - moved)
    return moved, squares, count


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    weight = weight_1 + weight_2
    share = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    apart = mean_2 - mean_1
    return mean_1 + apart * share, m2_1 + m2_2 + apart * apart * weight_1 * share, weight


@triton.jit
def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)


# A softmax's maximum and sum in one sweep.


@triton.jit
def exp(x, use_fast_math: tl.constexpr):
    return math.exp(x) if use_fast_math else libdevice.exp(x)


@triton.jit
def _scale(from_max, to_max, use_fast_math: tl.constexpr):
    # of a sum relative to one maximum, to have it relative to another
    return tl.where(to_max == float("-inf"), 1.0, exp(from_max - to_max, use_fast_math))


@triton.jit
def online_softmax_combine(lhs_max, lhs_sum, rhs_max, use_fast_math: tl.constexpr):
    highest = maximum(lhs_max, rhs_max)
    # on the right stands one element
    carried = lhs_sum * _scale(lhs_max, highest, use_fast_math)
    return highest, carried + _scale(rhs_max, highest, use_fast_math)


@triton.jit
def online_softmax_reduce(lhs_max, lhs_sum, dim, use_fast_math: tl.constexpr):
    highest = max2(lhs_max, dim)
    scale = _scale(lhs_max, tl.expand_dims(highest, dim), use_fast_math)
    return highest, tl.sum(lhs_sum * scale, dim)


# Single values.


@triton.jit
def device_assert_then(cond, msg, r):
    tl.device_assert(cond, msg)
    return r


@triton.jit
def frexp(x):
    exponent = libdevice.ilogb(x) + 1
    zero = x == 0
    return tl.where(zero, 0, libdevice.ldexp(x, -exponent)), tl.where(zero, 0, exponent)


@triton.jit
def randint64(seed, offset, low, high):
    low_word, high_word, _, _ = tl.randint4x(seed, offset)
    drawn = (high_word.to(tl.uint64) << 32) | low_word.to(tl.uint64)
    span = (high - low).to(tl.uint64)
    return (drawn % span).to(tl.int64) + low


@triton.jit
def bucketize_binary_search(
    values, boundaries_ptr, BOUNDARIES_SIZE, BOUNDARIES_UNDERLYING_NUMEL, BOUNDARIES_STRIDE,
    boundary_indices, indexing_dtype, right, sorter_ptr, SORTER_STRIDE, sorter_indices,
):
    """Finds for each value how many boundaries lie below it, or with right, not above it.

    The boundaries are sorted, or become so in the order of the sorter; those of
    values[i] begin at boundary_indices[i] and lie BOUNDARIES_STRIDE apart.
    """
    start = tl.zeros(values.shape, indexing_dtype)
    end = tl.full(values.shape, BOUNDARIES_SIZE, indexing_dtype)
    answers = BOUNDARIES_SIZE + 1
    while answers > 1:
        probe = (start + end) // 2
        there = (probe < BOUNDARIES_SIZE) & (boundary_indices + probe * BOUNDARIES_STRIDE < BOUNDARIES_UNDERLYING_NUMEL)
        if sorter_ptr is None or SORTER_STRIDE is None:
            place = probe
        else:
            place = tl.load(sorter_ptr + sorter_indices + probe * SORTER_STRIDE, there, 0)
        boundary = tl.load(boundaries_ptr + boundary_indices + place * BOUNDARIES_STRIDE, there, 0)
        above = values >= boundary if right else values > boundary
        start = tl.where(above & there, probe + 1, start)
        end = tl.where(above, end, probe)
        answers = (answers + 1) // 2
    return start


# Sorting by a bitonic network. Elements whose index is rnumel or more are not part
# of the row and come last; NaN comes after the numbers.


@triton.jit
def _partner(x, distance: tl.constexpr):
    pairs = tl.reshape(x, [x.numel // (2 * distance), 2, distance])
    return tl.reshape(tl.flip(pairs, 1), x.shape)


@triton.jit
def _precedes(x, ix, y, iy, rnumel, stable: tl.constexpr, descending: tl.constexpr):
    if descending:
        less = (x > y) | (_nan(x) & (_nan(y) == 0))
    else:
        less = (x < y) | (_nan(y) & (_nan(x) == 0))
    if stable:
        same = (x == y) | (_nan(x) & _nan(y))
        less = less | (same & (ix < iy))
    if rnumel is None:
        return less
    else:
        x_in = ix < rnumel
        y_in = iy < rnumel
        return (x_in & (y_in == 0)) | ((x_in == y_in) & less)


@triton.jit
def _exchange(
    x, idxs, rnumel, run: tl.constexpr, distance: tl.constexpr, stable: tl.constexpr, descending: tl.constexpr
):
    last: tl.constexpr = len(x.shape) - 1
    row = tl.reshape(tl.arange(0, x.shape[last]), [1] * last + [x.shape[last]])
    # runs go up and down in turn, until the last one is the whole row
    first = ((row & distance) == 0) ^ (((row >> run) & 1) == 1)
    other = _partner(x, distance)
    other_idxs = _partner(idxs, distance)
    mine = _precedes(x, idxs, other, other_idxs, rnumel, stable, descending)
    theirs = _precedes(other, other_idxs, x, idxs, rnumel, stable, descending)
    swap = tl.where(first, theirs, mine)
    return tl.where(swap, other, x), tl.where(swap, other_idxs, idxs)


@triton.jit
def sort_with_index(
    x,
    idxs,
    rnumel,
    dim: tl.constexpr = None,
    stable: tl.constexpr = tl.constexpr(False),
    descending: tl.constexpr = tl.constexpr(False),
):
    x, idxs = tl.broadcast(x, idxs)
    last: tl.constexpr = len(x.shape) - 1
    tl.static_assert(dim is None or dim == last or dim == -1, "only the last dimension can be sorted")
    for run in tl.static_range(1, _log2(x.shape[last]) + 1):
        for step in tl.static_range(run):
            x, idxs = _exchange(x, idxs, rnumel, run, 2 ** (run - 1 - step), stable, descending)
    return x, idxs


# Blocks that wait for one another.


@triton.jit
def x_grid_barrier(sem):
    """Waits for all blocks of the grid's first dimension.

    sem is an u32 of their own, 0 or 1 << 31 before. The last arrival flips its
    highest bit, as the arrivals together add 1 << 31.
    """
    tl.debug_barrier()
    top: tl.constexpr = 0x80000000
    blocks = tl.num_programs(0).to(tl.uint32)
    one = tl.full([], 1, tl.uint32)
    arrival = one
    if tl.program_id(0) == 0:
        arrival = top - (blocks - one)
    seen = tl.atomic_add(sem, arrival, sem="release")
    waiting = True
    while waiting:
        now = tl.atomic_add(sem, 0, sem="acquire")
        waiting = ((seen ^ now) & top) == 0
    tl.debug_barrier()


@triton.jit
def pack_value_flag(value, flag, DTYPE_VALUE_AS_UINT: tl.constexpr, DTYPE_PACK: tl.constexpr):
    bits = value.to(DTYPE_VALUE_AS_UINT, bitcast=True).to(DTYPE_PACK)
    return (bits << DTYPE_VALUE_AS_UINT.primitive_bitwidth) | flag.to(DTYPE_PACK)


@triton.jit
def unpack_value(pack, DTYPE_VALUE, DTYPE_VALUE_AS_UINT):
    bits = (pack >> DTYPE_VALUE_AS_UINT.primitive_bitwidth).to(DTYPE_VALUE_AS_UINT)
    return bits.to(DTYPE_VALUE, bitcast=True)


@triton.jit
def unpack_flag(pack, DTYPE_FLAG):
    return pack.to(DTYPE_FLAG)


# The prefix of a scan over blocks (Merrill, Garland: Single-pass Parallel Prefix
# Scan with Decoupled Look-back, 2016). Each block publishes its own value, marked
# _OWN, and later the value of all up to itself, marked _ALL; one that waits adds up
# those before it until it meets one marked _ALL.
_OWN = tl.constexpr(1)
_ALL = tl.constexpr(2)


@triton.jit
def exclusive_scan_decoupled_lookback(
    scratch_base, block_value, index, combine_fn, DTYPE_VALUE_AS_UINT: tl.constexpr, DTYPE_PACK: tl.constexpr
):
    """Values of up to 32 bits: one atomic carries value and mark."""
    own = tl.full([], _OWN, DTYPE_VALUE_AS_UINT)
    if index > 0:
        published = pack_value_flag(block_value, own, DTYPE_VALUE_AS_UINT, DTYPE_PACK)
        tl.atomic_xchg(scratch_base + index, published, sem="relaxed")
    prefix = tl.zeros([], block_value.dtype)
    found = False
    at = index - 1
    while at >= 0:
        mark = tl.zeros([], DTYPE_VALUE_AS_UINT)
        pack = tl.zeros([], DTYPE_PACK)
        while mark == 0:
            pack = tl.atomic_add(scratch_base + at, 0, sem="relaxed")
            mark = unpack_flag(pack, DTYPE_VALUE_AS_UINT)
        value = unpack_value(pack, block_value.dtype, DTYPE_VALUE_AS_UINT)
        if found:
            prefix = combine_fn(value, prefix)
        else:
            prefix = value
            found = True
        at = tl.where(mark == _ALL, -1, at - 1)
    total = block_value
    if found:
        total = combine_fn(prefix, block_value)
    all_of_them = tl.full([], _ALL, DTYPE_VALUE_AS_UINT)
    tl.atomic_xchg(scratch_base + index, pack_value_flag(total, all_of_them, DTYPE_VALUE_AS_UINT, DTYPE_PACK), sem="relaxed")
    return prefix


@triton.jit
def _publish(slot, mark: tl.constexpr, value):
    tl.store(slot + mark, value.to(tl.uint64, bitcast=True))
    tl.debug_barrier()
    tl.atomic_xchg(slot, tl.full([], mark, tl.uint64), sem="release")


@triton.jit
def exclusive_scan_decoupled_lookback_64(scratch_base, block_value, index, combine_fn):
    """Values of 64 bits: three words a block, the mark and the value that it speaks of."""
    if index > 0:
        _publish(scratch_base + 3 * index, _OWN, block_value)
    prefix = tl.zeros([], block_value.dtype)
    found = False
    at = index - 1
    while at >= 0:
        slot = scratch_base + 3 * at
        mark = tl.zeros([], tl.uint64)
        while mark == 0:
            mark = tl.atomic_add(slot, 0, sem="acquire")
        value = tl.load(slot + mark.to(tl.int32)).to(block_value.dtype, bitcast=True)
        if found:
            prefix = combine_fn(value, prefix)
        else:
            prefix = value
            found = True
        at = tl.where(mark == _ALL, -1, at - 1)
    total = block_value
    if found:
        total = combine_fn(prefix, block_value)
    _publish(scratch_base + 3 * index, _ALL, total)
    return prefix
