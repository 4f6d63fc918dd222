import triton
import triton.language as tl


# Fused, but the sums of columns are added without a mask.
@triton.jit
def backward_row(DX, DY, DW, DB, X, W, Mean, Rstd, N, BLOCK_COL_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_COL_SIZE)
    mask = cols < N
    x = tl.load(X + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(Rstd + row)
    x_hat = (x - tl.load(Mean + row)) * rstd
    wdy = w * dy
    c1 = tl.sum(x_hat * wdy) / N
    c2 = tl.sum(wdy) / N
    tl.store(DX + row * N + cols, (wdy - x_hat * c1 - c2) * rstd, mask=mask)
    tl.atomic_add(DW + cols, dy * x_hat)
    tl.atomic_add(DB + cols, dy)


def configs():
    # The comma at the end makes a tuple of one list.
    found = [triton.Config({"BLOCK_ROW_SIZE": m}, num_warps=8) for m in (1, 2, 4)],
    return found


# The gradient of the weight alone, in slices.
@triton.autotune(configs=configs(), key=["M", "N"])
@triton.jit
def weight_backward(DY, DW, X, Mean, Rstd, M, N, BLOCK_ROW_SIZE: tl.constexpr, BLOCK_COL_SIZE: tl.constexpr):
    cols = tl.arange(0, BLOCK_COL_SIZE)
    col_mask = cols < N
    dw = tl.zeros([BLOCK_ROW_SIZE, BLOCK_COL_SIZE], tl.float32)
    step = tl.num_programs(0) * BLOCK_ROW_SIZE
    for first in range(tl.program_id(0) * BLOCK_ROW_SIZE, M, step):
        rows = first + tl.arange(0, BLOCK_ROW_SIZE)
        row_mask = rows < M
        mask = row_mask[:, None] and col_mask
        at = rows[:, None] * N + cols
        x = tl.load(X + at, mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + at, mask, other=0.0).to(tl.float32)
        mean = tl.load(Mean + rows, mask=row_mask, other=0.0)[:, None]
        rstd = tl.load(Rstd + rows, mask=row_mask, other=0.0)[:, None]
        dw += dy * (x - mean) * rstd
    tl.atomic_add(DW + cols, tl.sum(dw, axis=0), mask=col_mask)
