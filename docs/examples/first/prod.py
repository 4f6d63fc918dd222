import triton
import triton.language as tl


# Halves of a block by slices, and names left over from another version.
@triton.jit
def prod_kernel_mid(inp, mid, M, BLOCK_SIZE: tl.constexpr, ITER_NUM: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.full([BLOCK_SIZE], 1.0, tl.float32)
    for first in range(pid * BLOCK_SIZE, M, tl.num_programs(0) * BLOCK_SIZE):
        offsets = first + tl.arange(0, BLOCK_SIZE)
        x = tl.load(inp_ptrs, mask=offsets < M, other=1.0)
        acc = acc * x
    for i in tl.static_range(1, ITER_NUM):
        acc[:BLOCK_SIZE >> i] = acc[:BLOCK_SIZE >> i] * acc[BLOCK_SIZE >> i:BLOCK_SIZE >> (i - 1)]
    tl.store(mid + pid, tl.reduce(acc[:2], axis=0, combine_fn=reduce_mul))


# The same without the names that are not there.
@triton.jit
def prod_kernel_slices(inp, mid, M, BLOCK_SIZE: tl.constexpr, ITER_NUM: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.full([BLOCK_SIZE], 1.0, tl.float32)
    for first in range(pid * BLOCK_SIZE, M, tl.num_programs(0) * BLOCK_SIZE):
        offsets = first + tl.arange(0, BLOCK_SIZE)
        acc *= tl.load(inp + offsets, mask=offsets < M, other=1.0)
    for i in tl.static_range(1, ITER_NUM):
        acc[:BLOCK_SIZE >> i] = acc[:BLOCK_SIZE >> i] * acc[BLOCK_SIZE >> i:BLOCK_SIZE >> (i - 1)]
    tl.store(mid + pid, acc)
