"""The maximum of all elements, and of each row. Programs combine their results with
atomic_max, so the output begins at -inf. docs/examples/max.md has the study."""

import triton
import triton.language as tl

# tritonc: max_kernel(*fp32:16, *fp32:16, i32:16, BLOCK_SIZE=4096, ONE_TILE_PER_CTA=False) num_warps=8
# tritonc: max_rows_kernel(*fp32:16, *fp32:16, i32:16, i32:16, NUM_BLOCK_N=16, BLOCK_SIZE_N=4096) num_warps=8

MAX_GRID_NUM = 1056  # programs that an H200 holds at once: 8 on each of 132 multiprocessors


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": b}, num_warps=w) for b in (1024, 4096, 8192) for w in (4, 8)],
    key=["M"],
)
@triton.heuristics({"ONE_TILE_PER_CTA": lambda args: args["M"] <= args["BLOCK_SIZE"] * MAX_GRID_NUM})
@triton.jit
def max_kernel(inp, out, M, BLOCK_SIZE: tl.constexpr, ONE_TILE_PER_CTA: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    if ONE_TILE_PER_CTA:
        best = tl.load(inp + offsets, mask=offsets < M, other=-float("inf")).to(tl.float32)
    else:
        best = tl.full([BLOCK_SIZE], -float("inf"), tl.float32)
        step = tl.num_programs(0) * BLOCK_SIZE
        for first in range(0, M, step):
            at = first + offsets
            best = tl.maximum(best, tl.load(inp + at, mask=at < M, other=-float("inf")).to(tl.float32))
    tl.atomic_max(out, tl.max(best))


# A grid of two dimensions: NUM_BLOCK_N programs share a row, and each takes as many
# rows as it must for about MAX_GRID_NUM programs in all.
@triton.autotune(
    configs=[triton.Config({"NUM_BLOCK_N": n}, num_warps=8) for n in (1, 4, 16, 64)],
    key=["M", "N"],
)
@triton.heuristics({"BLOCK_SIZE_N": lambda args: triton.next_power_of_2(triton.cdiv(args["N"], args["NUM_BLOCK_N"]))})
@triton.jit
def max_rows_kernel(inp, out, M, N, NUM_BLOCK_N: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    cols = tl.program_id(1) * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    rows = tl.cdiv(M, tl.num_programs(0))
    begin = tl.program_id(0) * rows
    for row in range(begin, min(begin + rows, M)):
        x = tl.load(inp + row * N + cols, mask=cols < N, other=-float("inf")).to(tl.float32)
        best = tl.max(x)
        if NUM_BLOCK_N == 1:
            tl.store(out + row, best)
        else:
            tl.atomic_max(out + row, best)
