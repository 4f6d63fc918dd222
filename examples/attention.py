"""Attention of some heads, softmax(q · kᵀ · scale) · v: in three steps that write the
scores to memory, and in one that never does. docs/examples/attention.md has the study.

All matrices of a head are contiguous, and heads follow one another."""

import triton
import triton.language as tl

# tritonc: attention_kernel(*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=64, BLOCK_M=128, BLOCK_N=64, CAUSAL=False) num_warps=4 num_stages=3


# Step one of three: scores = q · kᵀ · scale, one tile a program. Softmax of the
# scores' rows is row_softmax.py's.
@triton.jit
def scores_kernel(q_ptr, k_ptr, s_ptr, scale, n_ctx, HEAD: tl.constexpr,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    head = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, HEAD)
    at = head * n_ctx * HEAD
    q = tl.load(q_ptr + at + rows[:, None] * HEAD + d[None, :], mask=(rows < n_ctx)[:, None], other=0.0)
    k = tl.load(k_ptr + at + cols[None, :] * HEAD + d[:, None], mask=(cols < n_ctx)[None, :], other=0.0)
    s = tl.dot(q, k) * scale
    mask = (rows < n_ctx)[:, None] & (cols < n_ctx)[None, :]
    tl.store(s_ptr + head * n_ctx * n_ctx + rows[:, None] * n_ctx + cols[None, :], s, mask=mask)


# Step three: out = weights · v.
@triton.jit
def values_kernel(p_ptr, v_ptr, o_ptr, n_ctx, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    row_mask = (rows < n_ctx)[:, None]
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for first in range(0, n_ctx, BLOCK_N):
        cols = first + tl.arange(0, BLOCK_N)
        p = tl.load(p_ptr + head * n_ctx * n_ctx + rows[:, None] * n_ctx + cols[None, :],
                    mask=row_mask & (cols < n_ctx)[None, :], other=0.0)
        v = tl.load(v_ptr + head * n_ctx * HEAD + cols[:, None] * HEAD + d[None, :],
                    mask=(cols < n_ctx)[:, None], other=0.0)
        acc = tl.dot(p, v, acc)
    tl.store(o_ptr + head * n_ctx * HEAD + rows[:, None] * HEAD + d[None, :], acc, mask=row_mask)


# All three: the maximum and the sum of each row are corrected as tiles of keys come.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=w, num_stages=s)
        for m, n, w, s in ((128, 64, 4, 3), (128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 3), (64, 32, 4, 3))
    ],
    key=["n_ctx"],
)
@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, n_ctx, HEAD: tl.constexpr,
                     BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    at = tl.program_id(1).to(tl.int64) * n_ctx * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    row_mask = (rows < n_ctx)[:, None]
    q = tl.load(q_ptr + at + rows[:, None] * HEAD + d[None, :], mask=row_mask, other=0.0)
    top = tl.full([BLOCK_M], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    scale *= 1.4426950408889634  # exp2 instead of exp
    # Of the keys after the last query of the tile none counts.
    last = min((tl.program_id(0) + 1) * BLOCK_M, n_ctx) if CAUSAL else n_ctx
    for first in range(0, last, BLOCK_N):
        cols = first + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + at + cols[None, :] * HEAD + d[:, None], mask=(cols < n_ctx)[None, :], other=0.0)
        s = tl.dot(q, k) * scale
        seen = (cols < n_ctx)[None, :]
        if CAUSAL:
            seen &= rows[:, None] >= cols[None, :]
        s = tl.where(seen, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + at + cols[:, None] * HEAD + d[None, :], mask=(cols < n_ctx)[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        top = new_top
    tl.store(o_ptr + at + rows[:, None] * HEAD + d[None, :], acc / total[:, None], mask=row_mask)
