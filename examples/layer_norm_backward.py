"""Gradients of layer normalisation: of the input by rows, of weight and bias by columns.

input_backward_kernel and weight_bias_backward_kernel do one each, for rows of any
width. layer_norm_backward_row does both at once, one row a program, and adds its part
of the columns' sums with atomics. layer_norm_backward_kernel walks over many rows
before it adds. docs/examples/layer_norm.md compares them.
"""

import triton
import triton.language as tl

# tritonc: layer_norm_backward_kernel(*fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16, BLOCK_ROW_SIZE=1, BLOCK_COL_SIZE=4096) num_warps=8


@triton.jit
def layer_norm_backward_row(DX, DY, DW, DB, X, W, Mean, Rstd, M, N, BLOCK_COL_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_COL_SIZE)
    inside = cols < N
    x = tl.load(X + row * N + cols, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * N + cols, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=inside, other=0.0).to(tl.float32)
    rstd = tl.load(Rstd + row)
    x_hat = (x - tl.load(Mean + row)) * rstd
    wdy = w * dy
    c1 = tl.sum(x_hat * wdy) / N
    c2 = tl.sum(wdy) / N
    tl.store(DX + row * N + cols, (wdy - x_hat * c1 - c2) * rstd, mask=inside)
    tl.atomic_add(DW + cols, dy * x_hat, mask=inside)
    tl.atomic_add(DB + cols, dy, mask=inside)


def row_configs():
    return [
        triton.Config({"BLOCK_ROW_SIZE": rows}, num_warps=warps)
        for rows in (1, 2, 4)
        for warps in (4, 8, 16)
    ]


# Every configuration that is measured adds to DW and DB: they begin at zero each time.
@triton.autotune(configs=row_configs(), key=["M", "N"], reset_to_zero=["DW", "DB"])
@triton.jit
def layer_norm_backward_kernel(DX, DY, DW, DB, X, W, Mean, Rstd, M, N,
                               BLOCK_ROW_SIZE: tl.constexpr, BLOCK_COL_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_COL_SIZE)[None, :]
    col_mask = cols < N
    w = tl.load(W + cols, mask=col_mask, other=0.0).to(tl.float32)
    partial_dw = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
    partial_db = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
    step = tl.num_programs(0) * BLOCK_ROW_SIZE
    for first in range(tl.program_id(0) * BLOCK_ROW_SIZE, M, step):
        rows = first + tl.arange(0, BLOCK_ROW_SIZE)[:, None]
        row_mask = rows < M
        mask = row_mask & col_mask
        at = rows * N + cols
        x = tl.load(X + at, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + at, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(Mean + rows, mask=row_mask, other=0.0)
        rstd = tl.load(Rstd + rows, mask=row_mask, other=0.0)
        x_hat = (x - mean) * rstd
        wdy = w * dy
        c1 = tl.sum(x_hat * wdy, axis=1, keep_dims=True) / N
        c2 = tl.sum(wdy, axis=1, keep_dims=True) / N
        tl.store(DX + at, (wdy - x_hat * c1 - c2) * rstd, mask=mask)
        partial_dw += dy * x_hat
        partial_db += dy
    dw = tl.sum(partial_dw, axis=0, keep_dims=True)
    db = tl.sum(partial_db, axis=0, keep_dims=True)
    tl.atomic_add(DW + cols, dw, mask=col_mask)
    tl.atomic_add(DB + cols, db, mask=col_mask)


def tile_configs(rows, cols):
    return [
        triton.Config({"BLOCK_ROW_SIZE": r, "BLOCK_COL_SIZE": c}, num_warps=warps)
        for r in rows
        for c in cols
        for warps in (4, 8)
    ]


@triton.autotune(configs=tile_configs(rows=(1, 4), cols=(1024, 2048)), key=["M", "N"])
@triton.jit
def input_backward_kernel(dY, X, W, Mean, Rstd, dX, M, N,
                          BLOCK_ROW_SIZE: tl.constexpr, BLOCK_COL_SIZE: tl.constexpr):
    step = tl.num_programs(0) * BLOCK_ROW_SIZE
    for first in range(tl.program_id(0) * BLOCK_ROW_SIZE, M, step):
        rows = first + tl.arange(0, BLOCK_ROW_SIZE)[:, None]
        row_mask = rows < M
        mean = tl.load(Mean + rows, mask=row_mask, other=0.0)
        rstd = tl.load(Rstd + rows, mask=row_mask, other=0.0)
        part1 = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
        part2 = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
        for col in range(0, N, BLOCK_COL_SIZE):
            cols = col + tl.arange(0, BLOCK_COL_SIZE)[None, :]
            mask = row_mask & (cols < N)
            x = tl.load(X + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dY + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
            wdy = dy * tl.load(W + cols, mask=cols < N, other=0.0).to(tl.float32)
            part1 += wdy * (x - mean) * rstd
            part2 += wdy
        c1 = tl.sum(part1, axis=1, keep_dims=True) / N
        c2 = tl.sum(part2, axis=1, keep_dims=True) / N
        for col in range(0, N, BLOCK_COL_SIZE):
            cols = col + tl.arange(0, BLOCK_COL_SIZE)[None, :]
            mask = row_mask & (cols < N)
            x = tl.load(X + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dY + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
            wdy = dy * tl.load(W + cols, mask=cols < N, other=0.0).to(tl.float32)
            dx = (wdy - (x - mean) * rstd * c1 - c2) * rstd
            tl.store(dX + rows * N + cols, dx, mask=mask)


@triton.autotune(configs=tile_configs(rows=(32, 64, 128), cols=(16, 32)), key=["M", "N"])
@triton.jit
def weight_bias_backward_kernel(dY, X, Mean, Rstd, dW, dB, M, N,
                                BLOCK_ROW_SIZE: tl.constexpr, BLOCK_COL_SIZE: tl.constexpr):
    step = tl.num_programs(0) * BLOCK_COL_SIZE
    for first in range(tl.program_id(0) * BLOCK_COL_SIZE, N, step):
        cols = first + tl.arange(0, BLOCK_COL_SIZE)[None, :]
        acc_dw = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
        acc_db = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
        for row in range(0, M, BLOCK_ROW_SIZE):
            rows = row + tl.arange(0, BLOCK_ROW_SIZE)[:, None]
            mask = (rows < M) & (cols < N)
            x = tl.load(X + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dY + rows * N + cols, mask=mask, other=0.0).to(tl.float32)
            mean = tl.load(Mean + rows, mask=rows < M, other=0.0)
            rstd = tl.load(Rstd + rows, mask=rows < M, other=0.0)
            acc_dw += dy * (x - mean) * rstd
            acc_db += dy
        tl.store(dW + cols, tl.sum(acc_dw, axis=0, keep_dims=True), mask=cols < N)
        tl.store(dB + cols, tl.sum(acc_db, axis=0, keep_dims=True), mask=cols < N)
