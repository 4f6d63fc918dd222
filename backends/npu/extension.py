import triton
import triton.language as tl
from triton.language import core

DYNAMIC = -9223372036854775808


def _check(condition, text):
    if not condition:
        raise ValueError(text)


def _slice(function, shape, offsets, sizes, strides):
    rank = len(shape)
    _check(len(offsets) == rank, f"{function}(): a tensor of {rank} dimensions needs {rank} offsets, not {len(offsets)}")
    _check(len(sizes) == rank, f"{function}(): a tensor of {rank} dimensions needs {rank} sizes, not {len(sizes)}")
    _check(len(strides) == rank, f"{function}(): a tensor of {rank} dimensions needs {rank} strides, not {len(strides)}")
    static = []
    dynamic = []
    for i in range(rank):
        size = int(sizes[i])
        stride = int(strides[i])
        _check(size >= 1, f"{function}(): the size {size} of dimension {i} is not positive")
        _check(stride >= 1, f"{function}(): the stride {stride} of dimension {i} is not positive")
        last = (size - 1) * stride
        if isinstance(offsets[i], tl.tensor):
            static.append(DYNAMIC)
            dynamic.append(offsets[i])
            _check(last < shape[i], f"{function}(): {size} elements with a stride of {stride} are more than dimension {i} has, {shape[i]}")
        else:
            offset = int(offsets[i])
            static.append(offset)
            _check(0 <= offset and offset + last < shape[i], f"{function}(): elements {offset} to {offset + last} of dimension {i} are outside, which has {shape[i]}")
    attributes = {
        "static_offsets": static,
        "static_sizes": [int(n) for n in sizes],
        "static_strides": [int(n) for n in strides],
    }
    return dynamic, attributes


@core.extern
def extract_slice(ful, offsets, sizes, strides):
    dynamic, attributes = _slice("extract_slice", ful.shape, offsets, sizes, strides)
    return core._operation(
        "tensor.extract_slice", [ful], dynamic, attributes, segments=[1, len(dynamic), 0, 0],
        dtype=ful.dtype, shape=[int(n) for n in sizes])


@core.extern
def insert_slice(ful, sub, offsets, sizes, strides):
    dynamic, attributes = _slice("insert_slice", ful.shape, offsets, sizes, strides)
    _check([int(n) for n in sub.shape] == [int(n) for n in sizes], f"insert_slice(): the sizes {list(sizes)} are not those of the part, {list(sub.shape)}")
    _check(sub.dtype == ful.dtype, f"insert_slice(): the part is of {sub.dtype}, the tensor of {ful.dtype}")
    return core._operation(
        "tensor.insert_slice", [sub, ful], dynamic, attributes, segments=[1, 1, len(dynamic), 0, 0],
        dtype=ful.dtype, shape=[int(n) for n in ful.shape])


@core.extern
def get_element(src, indice):
    rank = len(src.shape)
    _check(len(indice) == rank, f"get_element(): a tensor of {rank} dimensions needs {rank} indices, not {len(indice)}")
    for i in range(rank):
        if not isinstance(indice[i], tl.tensor):
            n = int(indice[i])
            _check(0 <= n and n < src.shape[i], f"get_element(): {n} is outside of dimension {i}, which has {src.shape[i]}")
    return core._operation("tensor.extract", [src], list(indice), dtype=src.dtype)


@core.extern
def parallel(arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, bind_sub_block=False):
    return tl.range(arg1, arg2, step, num_stages=num_stages, loop_unroll_factor=loop_unroll_factor)


@core.extern
def compile_hint(ptr, hint_name, hint_val=None):
    _check(isinstance(hint_name, str), f"compile_hint(): the name of a hint is a string, not {hint_name}")


@core.extern
def multibuffer(src, size=2):
    _check(size == 2, f"multibuffer(): there are 2 buffers, not {size}")


def _event(function, sender, receiver, event_id):
    for name in (sender, receiver):
        _check(name == "cube" or name == "vector", f"{function}(): {name} is neither cube nor vector")
    _check(sender != receiver, f"{function}(): the {sender} cores do not wait for themselves")
    if not isinstance(event_id, tl.tensor):
        _check(0 <= event_id and event_id < 16, f"{function}(): the event {event_id} is not between 0 and 15")


@core.extern
def sync_block_set(sender, receiver, event_id, sender_pipe=None, receiver_pipe=None):
    _event("sync_block_set", sender, receiver, event_id)


@core.extern
def sync_block_wait(sender, receiver, event_id, sender_pipe=None, receiver_pipe=None):
    _event("sync_block_wait", sender, receiver, event_id)


_SYNC_MODES = ("all_cube", "all_vector", "all_sub_vector", "all")
_PIPE_ALL = 7


@core.extern
def sync_block_all(mode, event_id):
    _check(mode in _SYNC_MODES, f"sync_block_all(): {mode} is none of all_cube, all_vector, all, all_sub_vector")
    _check(not isinstance(event_id, tl.tensor), "sync_block_all(): the event is a number that is known at compile time")
    event = int(event_id)
    _check(0 <= event and event < 16, f"sync_block_all(): the event {event} is not between 0 and 15")
    attributes = {"sync_block_mode": [n for n in range(len(_SYNC_MODES)) if _SYNC_MODES[n] == mode][0], "flag_id": event}
    if mode == "all_cube" or mode == "all":
        attributes["tcube_pipe"] = _PIPE_ALL
    if mode != "all_cube":
        attributes["tvector_pipe"] = _PIPE_ALL
    core._operation("hivm.hir.sync_block", [], attributes=attributes)


@triton.jit
def cast(input, dtype: tl.constexpr, fp_downcast_rounding: tl.constexpr = None, bitcast: tl.constexpr = False, overflow_mode: tl.constexpr = None):
    tl.static_assert(overflow_mode == None or overflow_mode == "trunc" or overflow_mode == "saturate", f"cast(): the overflow_mode {overflow_mode} is neither trunc nor saturate")
    x = core.to_tensor(input)
    if overflow_mode != "saturate" or bitcast or not dtype.is_int() or dtype.is_bool() or x.dtype.is_ptr():
        return core.cast(x, dtype, fp_downcast_rounding, bitcast)
    else:
        tl.static_assert(fp_downcast_rounding == None, "cast(): fp_downcast_rounding is for conversions to narrower floats")
        return _saturated(x, dtype)


@core.extern
def _least(dtype):
    return -(2 ** (dtype.int_bitwidth - 1)) if dtype.is_int_signed() and not dtype.is_bool() else 0


@core.extern
def _most(dtype):
    return 2 ** (dtype.int_bitwidth - 1) - 1 if dtype.is_int_signed() and not dtype.is_bool() else 2**dtype.int_bitwidth - 1


@triton.jit
def _saturated(x, dtype: tl.constexpr):
    least: tl.constexpr = _least(dtype)
    most: tl.constexpr = _most(dtype)
    if x.dtype.is_int():
        if _least(x.dtype) < least:
            x = tl.maximum(x, tl.full([], least, x.dtype))
        if _most(x.dtype) > most:
            x = tl.minimum(x, tl.full([], most, x.dtype))
        return core.cast(x, dtype)
    else:
        if not x.dtype.is_fp64():
            x = core.cast(x, tl.float32)
        # What is not a number becomes 0.
        below = x <= least
        above = x >= most + 1
        inside = core.cast(tl.where((x > least) & (x < most + 1), x, 0.0), dtype)
        return tl.where(above, tl.full([], most, dtype), tl.where(below, tl.full([], least, dtype), inside))
