"""Adds two vectors.

    tritonc --target cuda:80 examples/vector_add.py

writes vector_add.cubin and vector_add.json for the signature in the comment
below the imports, which Python does not read: three pointers to 16-byte aligned
float32 arrays, a length, and a block size known when the kernel is compiled.
"""

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
