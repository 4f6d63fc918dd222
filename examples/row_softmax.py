"""Softmax of each row of a matrix, one program a row, for two widths of row."""

import triton
import triton.language as tl

# tritonc: row_softmax(*fp32:16, *fp32:16, i32:16, i32:16, i32, BLOCK=1024) num_warps=4
# tritonc: row_softmax(*fp32:16, *fp32:16, i32:16, i32:16, i32, BLOCK=8192) num_warps=8


@triton.jit
def row_softmax(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=inside, other=-float("inf")).to(tl.float32)
    # Less the row's maximum, so that no exponential overflows.
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=inside)
