"""Softmax of each row of a matrix, one program per row."""

import triton
import triton.language as tl

# Narrow rows and wide ones, each for any number of columns and for multiples of 16.
# tritonc: row_softmax(*fp32, *fp32, i32, BLOCK=128) num_warps=1
# tritonc: row_softmax(*fp32:16, *fp32:16, i32:16, BLOCK=128) num_warps=1
# tritonc: row_softmax(*fp32, *fp32, i32, BLOCK=4096) num_warps=8
# tritonc: row_softmax(*fp32:16, *fp32:16, i32:16, BLOCK=4096) num_warps=8


@triton.jit
def row_softmax(out_ptr, in_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(in_ptr + row * n_cols + cols, mask=inside, other=-float("inf"))
    # Less the row's maximum, so that no exponential overflows.
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=inside)
