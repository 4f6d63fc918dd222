"""out = a * x + y, with a loop: each program walks over several blocks."""

import triton
import triton.language as tl

# tritonc: saxpy(*fp32:16, *fp32:16, *fp32:16, fp32, i32, BLOCK=512, STEPS=4)
# tritonc: saxpy(*fp16:16, *fp16:16, *fp16:16, fp32, i32, BLOCK=512, STEPS=4)


@triton.jit
def saxpy(out_ptr, x_ptr, y_ptr, a, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    first = tl.program_id(0) * BLOCK * STEPS
    for step in range(STEPS):
        offsets = first + step * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
        y = tl.load(y_ptr + offsets, mask=inside, other=0.0)
        tl.store(out_ptr + offsets, a * x + y, mask=inside)
