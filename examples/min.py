"""The minimum of each row of a matrix with few rows and many columns, (16, 262144):
four kernels, each faster than the one before it. docs/examples/min.md tells why."""

import triton
import triton.language as tl

# tritonc: min_split(*fp32:16, *fp32:16, i32:16, i32:16, BLOCK_SIZE_M=16, BLOCK_SIZE_N=2048, SUB_BLOCK_SIZE_N=512) num_warps=8


# Programs share the rows: 16 of them have work, whatever the device has.
@triton.jit
def min_rows(inp, out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    row_min = tl.full([BLOCK_SIZE_M], float("inf"), tl.float32)
    for n in range(0, N, BLOCK_SIZE_N):
        cols = n + tl.arange(0, BLOCK_SIZE_N)
        mask = (rows < M)[:, None] & (cols < N)[None, :]
        x = tl.load(inp + rows[:, None] * N + cols[None, :], mask=mask, other=float("inf"))
        row_min = tl.minimum(row_min, tl.min(x, 1))
    tl.store(out + rows, row_min, mask=rows < M)


# Programs share the columns. out begins at inf.
@triton.jit
def min_split_each(inp, out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
                   SUB_BLOCK_SIZE_N: tl.constexpr):
    begin = tl.program_id(0) * BLOCK_SIZE_N
    for m in range(0, M, BLOCK_SIZE_M):
        rows = m + tl.arange(0, BLOCK_SIZE_M)
        row_min = tl.full([BLOCK_SIZE_M], float("inf"), tl.float32)
        for n in range(begin, begin + BLOCK_SIZE_N, SUB_BLOCK_SIZE_N):
            cols = n + tl.arange(0, SUB_BLOCK_SIZE_N)
            mask = (rows < M)[:, None] & (cols < N)[None, :]
            x = tl.load(inp + rows[:, None] * N + cols[None, :], mask=mask, other=float("inf"))
            row_min = tl.minimum(row_min, tl.min(x, 1))
        tl.atomic_min(out + rows, row_min, mask=rows < M)


# The minimum of tiles is taken element by element; only the last one is reduced.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "SUB_BLOCK_SIZE_N": sub}, num_warps=8)
        for m, n, sub in ((8, 8192, 1024), (16, 8192, 512), (16, 2048, 512), (16, 1024, 512), (16, 512, 256))
    ],
    key=["M", "N"],
)
@triton.jit
def min_split(inp, out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
              SUB_BLOCK_SIZE_N: tl.constexpr):
    begin = tl.program_id(0) * BLOCK_SIZE_N
    for m in range(0, M, BLOCK_SIZE_M):
        rows = m + tl.arange(0, BLOCK_SIZE_M)
        curr_min = tl.full([BLOCK_SIZE_M, SUB_BLOCK_SIZE_N], float("inf"), tl.float32)
        for n in range(begin, begin + BLOCK_SIZE_N, SUB_BLOCK_SIZE_N):
            cols = n + tl.arange(0, SUB_BLOCK_SIZE_N)
            mask = (rows < M)[:, None] & (cols < N)[None, :]
            x = tl.load(inp + rows[:, None] * N + cols[None, :], mask=mask, other=float("inf"))
            curr_min = tl.minimum(curr_min, x)
        tl.atomic_min(out + rows, tl.min(curr_min, 1), mask=rows < M)


# One atomic_min for all rows, ALL_ROWS of them, a power of two.
@triton.jit
def min_split_once(inp, out, M, N, ALL_ROWS: tl.constexpr, BLOCK_SIZE_M: tl.constexpr,
                   BLOCK_SIZE_N: tl.constexpr, SUB_BLOCK_SIZE_N: tl.constexpr):
    begin = tl.program_id(0) * BLOCK_SIZE_N
    all_rows = tl.arange(0, ALL_ROWS)
    all_row_min = tl.full([ALL_ROWS], float("inf"), tl.float32)
    for m in range(0, M, BLOCK_SIZE_M):
        rows = m + tl.arange(0, BLOCK_SIZE_M)
        curr_min = tl.full([BLOCK_SIZE_M, SUB_BLOCK_SIZE_N], float("inf"), tl.float32)
        for n in range(begin, begin + BLOCK_SIZE_N, SUB_BLOCK_SIZE_N):
            cols = n + tl.arange(0, SUB_BLOCK_SIZE_N)
            mask = (rows < M)[:, None] & (cols < N)[None, :]
            x = tl.load(inp + rows[:, None] * N + cols[None, :], mask=mask, other=float("inf"))
            curr_min = tl.minimum(curr_min, x)
        # Insert these rows' minima among those of all rows.
        here = tl.gather(tl.min(curr_min, 1), all_rows % BLOCK_SIZE_M, 0)
        all_row_min = tl.where(all_rows // BLOCK_SIZE_M * BLOCK_SIZE_M == m, here, all_row_min)
    tl.atomic_min(out + all_rows, all_row_min, mask=all_rows < M)
