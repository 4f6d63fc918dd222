import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, a, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(out_ptr + o, tl.load(x_ptr + o, mask=m) + a * tl.load(y_ptr + o, mask=m), mask=m)

# The number of warps tells which variant ran.
# tritonc: add(*fp32, *fp32, *fp32, i32, fp32, BLOCK=512)
# tritonc: add(*fp32:16, *fp32:16, *fp32:16, i32:16, fp32, BLOCK=512) num_warps=8
# tritonc: add(*fp32:16, *fp32:16, *fp32:16, i32:1, fp32, BLOCK=512) num_warps=2
# tritonc: add(*fp32, *fp32, *fp32, i32, fp32, BLOCK=64) num_warps=1
