"""Running sums along rows: element by element, a row in one block, a row in tiles with
a carry, and a row that programs share. docs/examples/cumsum.md has the study."""

import triton
import triton.language as tl

# tritonc: cumsum_row(*fp32:16, *fp32:16, i32:16, BLOCK=4096) num_warps=8
# tritonc: chunk_sums(*fp32:16, *fp32:16, i32:16, BLOCK=4096) num_warps=8
# tritonc: cumsum_chunks(*fp32:16, *fp32:16, *fp32:16, i32:16, BLOCK=4096, CHUNKS=256) num_warps=8


# A block of rows, one column at a time.
@triton.jit
def cumsum_columns(out_ptr, in_ptr, n_rows, n, BLOCK_ROW: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_ROW + tl.arange(0, BLOCK_ROW)
    inside = rows < n_rows
    carry = tl.zeros([BLOCK_ROW], tl.float32)
    for col in range(n):
        carry += tl.load(in_ptr + rows * n + col, mask=inside, other=0.0)
        tl.store(out_ptr + rows * n + col, carry, mask=inside)


# A row of up to BLOCK elements.
@triton.jit
def cumsum_row(out_ptr, in_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * n + cols, tl.cumsum(x, 0), mask=cols < n)


# A row of any length: what a tile adds up to is added to the next one.
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (256, 1024, 4096) for w in (4, 8)],
    key=["n"],
)
@triton.jit
def cumsum_tiles(out_ptr, in_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = 0.0
    for first in range(0, n, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        x = tl.load(in_ptr + row * n + cols, mask=cols < n, other=0.0)
        tl.store(out_ptr + row * n + cols, tl.cumsum(x, 0) + carry, mask=cols < n)
        carry += tl.sum(x)


# A row that programs share: the sum of each chunk, ...
@triton.jit
def chunk_sums(sums_ptr, in_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    cols = chunk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(sums_ptr + row * tl.cdiv(n, BLOCK) + chunk, tl.sum(x))


# ... and running sums of each, after what all chunks before add up to. CHUNKS is at
# least their number.
@triton.jit
def cumsum_chunks(out_ptr, in_ptr, sums_ptr, n, BLOCK: tl.constexpr, CHUNKS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    before = tl.arange(0, CHUNKS)
    carry = tl.sum(tl.load(sums_ptr + row * tl.cdiv(n, BLOCK) + before, mask=before < chunk, other=0.0))
    cols = chunk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * n + cols, tl.cumsum(x, 0) + carry, mask=cols < n)
