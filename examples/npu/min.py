"""The minimum of each row of a matrix with few rows and many columns, (16, 262144), on an
NPU of 40 vector cores. docs/examples/npu-min.md has the cycles of each kernel, and why."""

import triton
import triton.language as tl


# Cores share the rows: 16 of them have work.
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


# Cores share the columns; out begins at inf. Each step reduces its block, and each block of
# rows ends with an atomic operation.
@triton.jit
def min_columns(inp, out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
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


# The minimum of blocks is taken element by element; only the last one is reduced.
@triton.jit
def min_blocks(inp, out, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
               SUB_BLOCK_SIZE_N: tl.constexpr):
    begin = tl.program_id(0) * BLOCK_SIZE_N
    for m in range(0, M, BLOCK_SIZE_M):
        rows = m + tl.arange(0, BLOCK_SIZE_M)
        least = tl.full([BLOCK_SIZE_M, SUB_BLOCK_SIZE_N], float("inf"), tl.float32)
        for n in range(begin, begin + BLOCK_SIZE_N, SUB_BLOCK_SIZE_N):
            cols = n + tl.arange(0, SUB_BLOCK_SIZE_N)
            mask = (rows < M)[:, None] & (cols < N)[None, :]
            x = tl.load(inp + rows[:, None] * N + cols[None, :], mask=mask, other=float("inf"))
            least = tl.minimum(least, x)
        tl.atomic_min(out + rows, tl.min(least, 1), mask=rows < M)


# As min_blocks, with one atomic operation for all rows after the loop.
@triton.jit
def min_once(inp, out, M: tl.constexpr, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
             SUB_BLOCK_SIZE_N: tl.constexpr):
    begin = tl.program_id(0) * BLOCK_SIZE_N
    all_min = tl.full([M], float("inf"), tl.float32)
    for m in range(0, M, BLOCK_SIZE_M):
        rows = m + tl.arange(0, BLOCK_SIZE_M)
        least = tl.full([BLOCK_SIZE_M, SUB_BLOCK_SIZE_N], float("inf"), tl.float32)
        for n in range(begin, begin + BLOCK_SIZE_N, SUB_BLOCK_SIZE_N):
            cols = n + tl.arange(0, SUB_BLOCK_SIZE_N)
            mask = (rows < M)[:, None] & (cols < N)[None, :]
            x = tl.load(inp + rows[:, None] * N + cols[None, :], mask=mask, other=float("inf"))
            least = tl.minimum(least, x)
        all_min = tl.insert_slice(all_min, tl.min(least, 1), [m], [BLOCK_SIZE_M], [1])
    tl.atomic_min(out + tl.arange(0, M), all_min)
