package gpu_test

import (
	"math"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestInlineAssembly executes assembly on vector and scalar registers, with several results,
// with two elements in a register, and between divergent stores.
func TestInlineAssembly(t *testing.T) {
	const n = 199
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		x, y, h := kerneltest.Randn(r, "fp32", n), kerneltest.Randint(r, -1000, 1000, "i32", n), kerneltest.Randn(r, "fp16", n)
		sums, low, high, scaled := kerneltest.Zeros("fp32", n), kerneltest.Zeros("i32", n), kerneltest.Zeros("i32", n), kerneltest.Zeros("fp16", n)
		scalars := kerneltest.Zeros("i64", 4)
		kernelOf(chip, `def k(xs, ys, hs, sums, low, high, scaled, scalars, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < n
    x = tl.load(xs + i, mask=m, other=0)
    y = tl.load(ys + i, mask=m, other=0)
    h = tl.load(hs + i, mask=m, other=0)
    s = tl.inline_asm_elementwise("v_add_f32 $0, $1, $2", "=v,v,v", [x, y.to(tl.float32)], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(sums + i, s, mask=m)
    a, b = tl.inline_asm_elementwise("v_min_i32 $0, $2, $3\nv_max_i32 $1, $2, $3", "=&v,=v,v,v", [y, i],
                                     dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(low + i, a, mask=m)
    tl.store(high + i, b, mask=m)
    p = tl.inline_asm_elementwise("v_pk_add_f16 $0, $1, $1", "=v,v", [h], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(scaled + i, p, mask=m)
    tl.store(scalars, tl.inline_asm_elementwise("s_add_i32 $0, $1, 7", "=s,s", [n], dtype=tl.int32, is_pure=True, pack=1))
    tl.store(scalars + 1, tl.inline_asm_elementwise("s_mov_b64 $0, -3", "=r", [], dtype=tl.int64, is_pure=False, pack=1))
    start = tl.extra.hip.memrealtime()
    tl.debug_barrier()
    tl.store(scalars + 2, tl.extra.hip.memrealtime() - start >= 0)
`, kerneltest.Options{"num_warps": 2}).Run(t, kerneltest.Grid(1), x, y, h, sums, low, high, scaled, scalars, n, 256)
		var wantSums, wantLow, wantHigh, wantScaled []float64
		for i := range n {
			wantSums = append(wantSums, float64(float32(x.At(i)+y.At(i))))
			wantLow = append(wantLow, math.Min(y.At(i), float64(i)))
			wantHigh = append(wantHigh, math.Max(y.At(i), float64(i)))
			wantScaled = append(wantScaled, 2*h.At(i))
		}
		kerneltest.Near(t, "sums", sums, wantSums, 1e-6, 0)
		kerneltest.Equal(t, "low", low, wantLow)
		kerneltest.Equal(t, "high", high, wantHigh)
		kerneltest.Equal(t, "scaled", scaled, wantScaled)
		kerneltest.Equal(t, "scalars", scalars, []float64{n + 7, -3, 1, 0})
	})
}
