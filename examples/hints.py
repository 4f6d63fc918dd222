"""What the compiler cannot know and a hint can tell: pairs of kernels that differ in a
hint alone. docs/examples/hints.md has the study."""

import triton
import triton.language as tl

# tritonc: wrap_hinted(*fp16:16, *fp16:16, i32, BLOCK=1024)
# tritonc: rows_hinted(*fp32:16, *fp32:16, i32, i32, BLOCK=1024)


# Offsets modulo a number of which the compiler is told nothing.
@triton.jit(do_not_specialize=["m"])
def wrap(out_ptr, x_ptr, m, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = at % m
    tl.store(out_ptr + at, tl.load(x_ptr + offsets))


# The caller promises that m is a multiple of BLOCK: no block wraps inside.
@triton.jit(do_not_specialize=["m"])
def wrap_hinted(out_ptr, x_ptr, m, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = tl.max_contiguous(tl.multiple_of(at % m, BLOCK), BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + offsets))


# Groups of elements are copied, or not, as a flag of each says.
@triton.jit
def flags(out_ptr, live_ptr, x_ptr, n, group, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = tl.load(live_ptr + at // group, mask=at < n, other=0) != 0
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=live, other=0.0), mask=at < n)


# The caller promises that groups are multiples of 8: 8 neighbours have one flag.
@triton.jit
def flags_hinted(out_ptr, live_ptr, x_ptr, n, group, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = tl.load(live_ptr + at // group, mask=at < n, other=0) != 0
    live = tl.max_constancy(live, 8)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=live, other=0.0), mask=at < n)


# Rows of a matrix; the compiler is told of its sizes only whether 16 divides them.
@triton.jit
def rows(out_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * BLOCK + cols, x)


# Triton does not keep a hint for a parameter: this is as if there were none.
@triton.jit
def rows_parameters(out_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    stride = tl.multiple_of(stride, 8)
    n = tl.multiple_of(n, 8)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * BLOCK + cols, x)


# Hints for values that are computed count: 8 divides where a row begins, and 8
# neighbours are inside or outside together.
@triton.jit
def rows_hinted(out_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    begin = tl.multiple_of(row * stride, 8)
    x = tl.load(x_ptr + begin + cols, mask=tl.max_constancy(cols < n, 8), other=0.0)
    tl.store(out_ptr + row * BLOCK + cols, x)
