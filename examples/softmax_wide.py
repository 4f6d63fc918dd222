"""Softmax of rows in pieces: one column at a time, tiles, and tiles that programs
share. row_softmax.py has rows that fit in a block. docs/examples/softmax.md has the
study."""

import triton
import triton.language as tl

# tritonc: softmax_tiles(*fp32:16, *fp32:16, i32:16, i32:16, BLOCK_SIZE_ROW=1, BLOCK_SIZE_COL=4096) num_warps=8
# tritonc: softmax_partials(*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, BLOCK_SIZE_COL=4096) num_warps=8
# tritonc: softmax_combine(*fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, BLOCK_SIZE_COL=4096, PARTS=256) num_warps=8


# A block of rows, one column of them at a time: neighbours in a warp are a row apart.
@triton.jit
def softmax_columns(out_ptr, in_ptr, n_rows, n_cols, BLOCK_SIZE_ROW: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_SIZE_ROW + tl.arange(0, BLOCK_SIZE_ROW)
    inside = rows < n_rows
    top = tl.full([BLOCK_SIZE_ROW], -float("inf"), tl.float32)
    for col in range(n_cols):
        top = tl.maximum(top, tl.load(in_ptr + rows * n_cols + col, mask=inside, other=0.0))
    total = tl.zeros([BLOCK_SIZE_ROW], tl.float32)
    for col in range(n_cols):
        total += tl.exp(tl.load(in_ptr + rows * n_cols + col, mask=inside, other=0.0) - top)
    for col in range(n_cols):
        x = tl.load(in_ptr + rows * n_cols + col, mask=inside, other=0.0)
        tl.store(out_ptr + rows * n_cols + col, tl.exp(x - top) / total, mask=inside)


# Two walks over a row in tiles. The first keeps, for every column of the tile, the
# greatest element so far and the sum of the exponentials less that.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE_ROW": rows, "BLOCK_SIZE_COL": cols}, num_warps=warps)
        for rows, cols, warps in ((1, 1024, 4), (1, 4096, 8), (4, 1024, 8), (16, 256, 8))
    ],
    key=["n_rows", "n_cols"],
)
@triton.jit
def softmax_tiles(out_ptr, in_ptr, n_rows, n_cols, BLOCK_SIZE_ROW: tl.constexpr, BLOCK_SIZE_COL: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_SIZE_ROW + tl.arange(0, BLOCK_SIZE_ROW)[:, None]
    # A finite start: -inf less -inf would be NaN.
    top = tl.full([BLOCK_SIZE_ROW, BLOCK_SIZE_COL], -1.0e38, tl.float32)
    total = tl.zeros([BLOCK_SIZE_ROW, BLOCK_SIZE_COL], tl.float32)
    for first in range(0, n_cols, BLOCK_SIZE_COL):
        cols = first + tl.arange(0, BLOCK_SIZE_COL)[None, :]
        mask = (rows < n_rows) & (cols < n_cols)
        x = tl.load(in_ptr + rows * n_cols + cols, mask=mask, other=-float("inf"))
        new_top = tl.maximum(top, x)
        total = total * tl.exp(top - new_top) + tl.exp(x - new_top)
        top = new_top
    row_top = tl.max(top, axis=1, keep_dims=True)
    row_total = tl.sum(total * tl.exp(top - row_top), axis=1, keep_dims=True)
    for first in range(0, n_cols, BLOCK_SIZE_COL):
        cols = first + tl.arange(0, BLOCK_SIZE_COL)[None, :]
        mask = (rows < n_rows) & (cols < n_cols)
        x = tl.load(in_ptr + rows * n_cols + cols, mask=mask, other=-float("inf"))
        tl.store(out_ptr + rows * n_cols + cols, tl.exp(x - row_top) / row_total, mask=mask)


# Programs share the columns, too: the greatest element and the sum of each part, ...
@triton.jit
def softmax_partials(top_ptr, total_ptr, in_ptr, n_rows, n_cols, BLOCK_SIZE_COL: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    cols = part * BLOCK_SIZE_COL + tl.arange(0, BLOCK_SIZE_COL)
    x = tl.load(in_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    top = tl.max(x)
    at = row * tl.cdiv(n_cols, BLOCK_SIZE_COL) + part
    tl.store(top_ptr + at, top)
    tl.store(total_ptr + at, tl.sum(tl.exp(x - top)))


# ... and what the parts together make of each element. PARTS is at least their number.
@triton.jit
def softmax_combine(out_ptr, in_ptr, top_ptr, total_ptr, n_rows, n_cols,
                    BLOCK_SIZE_COL: tl.constexpr, PARTS: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    parts = tl.cdiv(n_cols, BLOCK_SIZE_COL)
    at = tl.arange(0, PARTS)
    top = tl.load(top_ptr + row * parts + at, mask=at < parts, other=-float("inf"))
    total = tl.load(total_ptr + row * parts + at, mask=at < parts, other=0.0)
    row_top = tl.max(top)
    row_total = tl.sum(total * tl.exp(top - row_top))
    cols = part * BLOCK_SIZE_COL + tl.arange(0, BLOCK_SIZE_COL)
    x = tl.load(in_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    tl.store(out_ptr + row * n_cols + cols, tl.exp(x - row_top) / row_total, mask=cols < n_cols)
