"""Pairs of kernels in which one operation replaces another; docs/examples/replacements.md
tells which of them pay."""

import triton
import triton.language as tl

# tritonc: relu_maximum(*fp32:16, *fp32:16, i32:16, BLOCK=1024)


@triton.jit
def relu_maximum(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.maximum(x, 0.0), mask=at < n)


@triton.jit
def relu_where(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(x > 0, x, 0.0), mask=at < n)


# Columns outside are masked again, though both loads have given them 0.
@triton.jit
def distance_where(out_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    y = tl.load(y_ptr + row * n + cols, mask=cols < n, other=0.0)
    d = tl.where(cols < n, x - y, 0.0)
    tl.store(out_ptr + row, tl.sum(d * d))


@triton.jit
def distance(out_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    y = tl.load(y_ptr + row * n + cols, mask=cols < n, other=0.0)
    d = x - y
    tl.store(out_ptr + row, tl.sum(d * d))


# BLOCK elements to one, at once and by way of BLOCK / 128.
@triton.jit
def sum_at_once(out_ptr, x_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, tl.sum(tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))))


@triton.jit
def sum_in_steps(out_ptr, x_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + pid, tl.sum(tl.sum(tl.reshape(x, [128, BLOCK // 128]), 0)))


# Sums of tiles along rows, and along columns.
@triton.jit
def sum_rows(out_ptr, x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + pid * ROWS * COLS + at)
    tl.store(out_ptr + pid * ROWS + tl.arange(0, ROWS), tl.sum(x, 1))


@triton.jit
def sum_columns(out_ptr, x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + pid * ROWS * COLS + at)
    tl.store(out_ptr + pid * COLS + tl.arange(0, COLS), tl.sum(x, 0))
