"""The product of all elements, in two kernels: a product of each program's elements,
then the product of those. docs/examples/prod.md compares three ways for the first."""

import triton
import triton.language as tl

# tritonc: prod_kernel_mid(*fp32:16, *fp32:16, i32:16, BLOCK_SIZE=2048) num_warps=8
# tritonc: prod_kernel_result(*fp32:16, *fp32:16, i32:16, BLOCK_MID=1024) num_warps=4


@triton.jit
def reduce_mul(a, b):
    return a * b


# One block a program: as many partial products as blocks.
@triton.jit
def prod_kernel_block(inp, mid, M, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(inp + offsets, mask=offsets < M, other=1.0).to(tl.float32)
    tl.store(mid + pid, tl.reduce(x, 0, reduce_mul))


# Many blocks a program, multiplied element by element; reduced once, at the end.
@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": b}, num_warps=w) for b in (1024, 2048, 4096) for w in (4, 8)],
    key=["M"],
)
@triton.jit
def prod_kernel_mid(inp, mid, M, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.full([BLOCK_SIZE], 1.0, tl.float32)
    for first in range(pid * BLOCK_SIZE, M, tl.num_programs(0) * BLOCK_SIZE):
        offsets = first + tl.arange(0, BLOCK_SIZE)
        acc *= tl.load(inp + offsets, mask=offsets < M, other=1.0).to(tl.float32)
    tl.store(mid + pid, tl.reduce(acc, 0, reduce_mul))


# The same, reduced by multiplying one half of the block with the other.
@triton.jit
def prod_kernel_halves(inp, mid, M, BLOCK_SIZE: tl.constexpr, ITER_NUM: tl.constexpr):
    tl.static_assert(BLOCK_SIZE == 1 << ITER_NUM)
    pid = tl.program_id(0)
    acc = tl.full([BLOCK_SIZE], 1.0, tl.float32)
    for first in range(pid * BLOCK_SIZE, M, tl.num_programs(0) * BLOCK_SIZE):
        offsets = first + tl.arange(0, BLOCK_SIZE)
        acc *= tl.load(inp + offsets, mask=offsets < M, other=1.0).to(tl.float32)
    for i in tl.static_range(1, ITER_NUM + 1):
        low, high = tl.split(tl.trans(tl.reshape(acc, [2, BLOCK_SIZE >> i])))
        acc = low * high
    tl.store(mid + pid + tl.arange(0, 1), acc)


@triton.jit
def prod_kernel_result(mid, out, MID_SIZE, BLOCK_MID: tl.constexpr):
    offsets = tl.arange(0, BLOCK_MID)
    x = tl.load(mid + offsets, mask=offsets < MID_SIZE, other=1.0)
    tl.store(out, tl.reduce(x, 0, reduce_mul))
