"""Layer normalisation of each row, with its mean and reciprocal deviation kept
for a backward pass."""

import triton
import triton.language as tl

# tritonc: layer_norm(*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, i32, fp32, BLOCK=4096) num_warps=8


@triton.jit
def normalise(x, inside, n, eps):
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n
    rstd = 1.0 / tl.sqrt(variance + eps)
    return centred * rstd, mean, rstd


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=inside, other=0.0).to(tl.float32)
    x_hat, mean, rstd = normalise(x, inside, n, eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + cols, mask=inside)
    b = tl.load(b_ptr + cols, mask=inside)
    tl.store(y_ptr + row * stride + cols, x_hat * w + b, mask=inside)
