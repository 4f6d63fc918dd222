"""The kernels that `tritonc backend check` compiles and runs; beside each its ttir."""

import triton
import triton.language as tl


# tritonc: vector_add(*fp32:16, *fp32:16, *fp32:16, i32, BLOCK=1024)
@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# tritonc: blend(*fp32, *fp32, *fp32, fp32, i32, BLOCK=256)
@triton.jit
def blend(x_ptr, y_ptr, out_ptr, a, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, (x * a - y) / 2.0, mask=inside)


# tritonc: integers(*i32, *i32, i32, BLOCK=128)
@triton.jit
def integers(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0)
    y = tl.where(x < 0, x // 7, x % 7) ^ (x >> 3)
    tl.store(out_ptr + offsets, y * 65537, mask=inside)


# tritonc: casts(*fp32, *i32, *fp16, BLOCK=64)
@triton.jit
def casts(x_ptr, int_ptr, half_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(int_ptr + offsets, x.to(tl.int32))
    tl.store(half_ptr + offsets, x.to(tl.float16))


# tritonc: programs(*i32)
@triton.jit
def programs(out_ptr):
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + at, z * 10000 + y * 100 + x)


# tritonc: row_sums(*fp32, *fp32, i32, BLOCK=128)
@triton.jit
def row_sums(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, 0))


# tritonc: column_sums(*fp32, *fp32, i32, i32, BLOCK=64)
@triton.jit
def column_sums(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(0, rows):
        total += tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, total, mask=inside)


# tritonc: matmul(*fp16, *fp16, *fp32, i32, BLOCK=64)
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, k, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * BLOCK + i
    c = tl.zeros([BLOCK, BLOCK], tl.float32)
    for at in range(0, k, BLOCK):
        a = tl.load(a_ptr + row[:, None] * k + (at + i)[None, :])
        b = tl.load(b_ptr + (at + i)[:, None] * BLOCK + i[None, :])
        c = tl.dot(a, b, c)
    tl.store(c_ptr + row[:, None] * BLOCK + i[None, :], c)


# tritonc: count(*i32, *i32, i32, BLOCK=256)
@triton.jit
def count(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=inside)
