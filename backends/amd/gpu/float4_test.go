package gpu_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestFloat4 multiplies floats of four bits and their scales, from the least to great ones,
// by a diagonal matrix: each element of the result is one product. A scale of 255 is NaN.
func TestFloat4(t *testing.T) {
	const m, k = 128, 32
	numbers := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}
	onChips(t, func(t *testing.T, chip string) {
		for typ, diagonal := range map[string]float64{"bf16": 0x1p20, "fp16": 1} {
			t.Run(typ, func(t *testing.T) {
				r := kerneltest.Rand(t)
				least, most := int64(1), int64(220)
				if typ == "fp16" { // f16 has fewer exponents
					least, most = 117, 138
				}
				a, scales := kerneltest.Randint(r, 0, 256, "u8", m, k/2), kerneltest.Randint(r, least, most, "u8", m)
				scales.Set(0, float64(least))
				scales.Set(1, 255)
				b, out := kerneltest.Zeros(typ, k, k), kerneltest.Empty("fp32", m, k)
				for i := range k {
					b.Set(i*k+i, diagonal)
				}
				kernelOf(chip, fmt.Sprintf(`def k(a, scales, b, out, M: tl.constexpr, K: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, K)[None, :]
    x = tl.load(a + i * (K // 2) + tl.arange(0, K // 2)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * K + j)
    tl.store(out + i * K + j, tl.dot_scaled(x, tl.load(scales + i), "e2m1", y, None, "%s"))
`, typ), kerneltest.Options{"num_warps": 4}).Run(t, kerneltest.Grid(1), a, scales, b, out, m, k)
				for i := range m * k {
					nibble := a.Int(i/2) >> (4 * (i % 2)) & 15
					want := numbers[nibble&7] * math.Exp2(float64(scales.Int(i/k)-127)) * diagonal
					if nibble > 7 {
						want = -want
					}
					if scales.Int(i/k) == 255 {
						want = math.NaN()
					}
					if got := out.At(i); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
						t.Fatalf("row %d, column %d: nibble %#x with scale %d gives %g, want %g", i/k, i%k, nibble, scales.Int(i/k), got, want)
					}
				}
			})
		}
	})
}
