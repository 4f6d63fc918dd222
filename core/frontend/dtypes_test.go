package frontend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
)

// Operations on x and y, blocks of 16 numbers, s and r, scalars, and p and q,
// pointers, of some types.
var typedExprs = strings.Split(`x + y
x - y
x * y
x / y
x // y
x % y
x & y
x | y
x ^ y
x << y
x >> y
x < y
x == y
x != 0
x + 1
x * 2.5
2 - x
1.5 / x
x > -1
x and y
x or 1
not s
-x
~x
s + r
s // r
x + s
x[:, None] * y[None, :]
min(s, r)
max(s, 3)
s if s > 0 else r
p + 1
p + 1
p + s
tl.minimum(x, y)
tl.maximum(x, y, tl.PropagateNan.ALL)
tl.clamp(x, s, r)
tl.where(x > y, x, y)
tl.where(x, y, 0)
tl.fma(x, y, x)
tl.umulhi(x, y)
tl.div_rn(x, y)
tl.fdiv(x, y)
tl.cdiv(x, y)
tl.abs(x)
tl.exp(x)
tl.exp2(x)
tl.log(x)
tl.log2(x)
tl.sqrt(x)
tl.sqrt_rn(x)
tl.rsqrt(x)
tl.sin(x)
tl.cos(x)
tl.erf(x)
tl.floor(x)
tl.ceil(x)
tl.sigmoid(x)
tl.softmax(x)
tl.sum(x)
tl.sum(x, axis=0)
tl.max(x, axis=0)
tl.min(x, axis=0)
tl.max(x, axis=0, return_indices=True)
tl.argmin(x, axis=0)
tl.xor_sum(x, axis=0)
tl.reduce_or(x, axis=0)
tl.cumsum(x)
tl.cumprod(x)
tl.associative_scan(x, 0, pick)
tl.reduce(x, 0, pick)
tl.map_elementwise(pick, x, y)
tl.sort(x)
tl.topk(x, 4)
tl.flip(x, 0)
tl.histogram(x, 16)
tl.gather(x, tl.arange(0, 16), 0)
tl.join(x, y)
tl.split(tl.join(x, y))
tl.interleave(x, y)
tl.cat(x, y, can_reorder=True)
tl.trans(x[:, None])
tl.reshape(x, 4, 4)
tl.ravel(tl.reshape(x, 4, 4))
tl.broadcast_to(x[:, None], 16, 16)
tl.expand_dims(x, 0)
tl.zeros_like(x)
tl.full((16,), 3, x.dtype)
tl.full((16,), s, x.dtype)
tl.zeros((16,), x.dtype)
tl.dot(x[:, None] + tl.zeros((16, 16), x.dtype), tl.zeros((16, 16), y.dtype))
tl.rand(s, x)
tl.randint(r, x)
tl.swizzle2d(s, r, 4, 4, 2)
tl.multiple_of(x, 4)
tl.max_constancy(x, 4)
tl.assume(s > 0)
tl.device_assert(x > 0, "positive")
tl.device_print("x", x, s)
tl.atomic_add(p, s)
tl.atomic_add(p + tl.arange(0, 16), x, mask=y > 0)
tl.atomic_max(p, s)
tl.atomic_min(p + tl.arange(0, 16), x)
tl.atomic_and(p, s)
tl.atomic_xchg(p, s)
tl.atomic_cas(p, s, s)
tl.load(p + x)
tl.load(p + tl.arange(0, 16), mask=x)
tl.load(p + tl.arange(0, 16), mask=y > 0, other=s)
tl.store(p + tl.arange(0, 16), y)
tl.store(q, s)
tl.store(p + tl.arange(0, 16), 1)
tl.load(tl.make_block_ptr(p, (s,), (1,), (0,), (16,), (0,)))
tl.make_tensor_descriptor(p, [16, 16], [16, 1], [16, 16]).load([s, 0])
tl.inline_asm_elementwise("op $0, $1;", "=r,r", [x], x.dtype, True, 1)
x.to(y.dtype)
x.to(y.dtype, bitcast=True)
x.cast(tl.float32)
x.to(tl.int1)
x.to(tl.bfloat16)
x.to(p.dtype)
p.to(tl.int64)
tl.cast(s, y.dtype)
tl.philox(s, x, x, x, x)
helper(x, r)`, "\n")

const typedKernel = `import triton
import triton.language as tl


@triton.jit
def pick(a, b):
    return a + b


@triton.jit
def helper(a, b):
    if b > 0:
        a += b
    for i in range(2):
        a = a * b
    while b < 3:
        b += 1
    return a, b


@triton.jit
def k(p, q, s, r):
    x = tl.load(p + tl.arange(0, 16))
    y = tl.load(q + tl.arange(0, 16))
    z = %s
`

// TestTypes builds every operation for types alone and in pairs: it is either
// refused with a diagnostic, or the module is valid.
func TestTypes(t *testing.T) {
	types := strings.Fields("i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e5 fp8e4nv fp8e4b15 fp8e4b8 fp8e5b16")
	fs := facts()
	fs.FP8 = nil
	opts := &setup{Facts: fs}
	built, refused := 0, 0
	for _, expr := range typedExprs {
		f, err := Parse("k.py", "k.py", fmt.Appendf(nil, typedKernel, expr))
		if err != nil {
			t.Fatalf("%s: %v", expr, explain(err))
		}
		any := false
		for i, a := range types {
			// each type with itself, with the next and with one far away
			for _, b := range []string{a, types[(i+1)%len(types)], types[(i+8)%len(types)]} {
				m, err := opts.build(f, request("k", "*"+a+", *"+b+", "+a+", "+b))
				if err != nil {
					refused++
					continue
				}
				built++
				any = true
				if err := ir.Verify(m); err != nil {
					t.Errorf("%s for %s and %s: invalid: %v", expr, a, b, err)
				}
			}
		}
		if !any {
			t.Errorf("%s: refused for all types", expr)
		}
	}
	t.Logf("%d built, %d refused", built, refused)
}
