"""C = A · B in fp16 with sums in fp32, one tile of C a program. The matrices are
tensor descriptors, which know their sizes and strides: blocks beyond the edge
read zeros and write nothing.

    tritonc run --target cuda:80 --grid "cdiv(M, 64), cdiv(N, 64)" \\
        --arg M=200 --arg N=120 --arg K=96 \\
        --arg x=randn:fp16[M,K] --arg y=randn:fp16[K,N] --arg z=empty:fp16[M,N] \\
        --arg "a=desc(x, [64, 32])" --arg "b=desc(y, [32, 64])" --arg "c=desc(z, [64, 64])" \\
        --save z=z.npy matmul.py
"""

import triton
import triton.language as tl

# tritonc: matmul(tensordesc<fp16[64, 32]>, tensordesc<fp16[32, 64]>, tensordesc<fp16[64, 64]>) num_warps=4
# tritonc: matmul(tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 128]>, tensordesc<fp16[128, 128]>) num_warps=8


@triton.jit
def matmul(a, b, c):
    row = tl.program_id(0) * c.block_shape[0]
    col = tl.program_id(1) * c.block_shape[1]
    acc = tl.zeros(c.block_shape, tl.float32)
    for k in range(0, a.shape[1], a.block_shape[1]):
        acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
    c.store([row, col], acc.to(c.dtype))
