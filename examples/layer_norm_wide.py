"""Layer normalisation of rows too wide for one block: three walks over a row, for
its mean, its deviation and the result. layer_norm.py reads a row once and keeps it."""

import triton
import triton.language as tl

# tritonc: layer_norm_wide(*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32:16, fp32, BLOCK=2048) num_warps=8


@triton.jit
def layer_norm_wide(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(total) / n
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
        # A column outside would count as one whose value is 0.
        centred = tl.where(cols < n, x - mean, 0.0)
        total += centred * centred
    rstd = 1.0 / tl.sqrt(tl.sum(total) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for first in range(0, n, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        inside = cols < n
        x = tl.load(x_ptr + cols, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=inside)
        b = tl.load(b_ptr + cols, mask=inside)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=inside)
