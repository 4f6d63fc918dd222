package gpu_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// bytesOf are the numbers that the bytes of a format stand for.
func bytesOf(typ string) []float64 {
	a := kerneltest.Zeros(typ, 256)
	for i := range a.Data {
		a.Data[i] = byte(i)
	}
	return a.Floats()
}

// nearestByte is the byte of the number of values that lies nearest to x, and of two the
// one with an even mantissa; beyond them all it is the one at that end.
func nearestByte(values []float64, x float64) float64 {
	best, far := -1, math.Inf(1)
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		d := math.Abs(max(min(x, 1e6), -1e6) - v)
		if best < 0 || d < far || d == far && i%2 == 0 && best%2 != 0 {
			best, far = i, d
		}
	}
	return values[best]
}

// TestFloat8 widens every number of every format of eight bits, and rounds floats to
// each: halfway between neighbors, beyond the largest number, infinite, NaN.
func TestFloat8(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, typ := range []string{"fp8e4b8", "fp8e5b16", "fp8e4nv", "fp8e5"} {
			name := "tl." + strings.ReplaceAll(typ, "fp8", "float8")
			values := bytesOf(typ)
			finite := slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
			slices.Sort(finite)

			const n = 1024
			for _, wide := range []string{"fp32", "fp16", "bf16"} {
				x := kerneltest.Zeros(wide, n)
				for i := range n {
					k := r.IntN(len(finite) - 1)
					v := finite[k]
					switch i % 4 {
					case 1:
						v = (finite[k] + finite[k+1]) / 2
					case 2:
						v = finite[k] + r.Float64()*(finite[k+1]-finite[k])
					case 3:
						v = r.NormFloat64() * 1000
					}
					x.Set(i, v)
				}
				for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, math.Copysign(0, -1), 0x1p-149, -0x1p-20} {
					x.Set(i, v)
				}
				bits, back := kerneltest.Zeros("u8", n), kerneltest.Zeros(wide, 256)
				all := kerneltest.Zeros("u8", 256)
				for i := range 256 {
					all.Set(i, float64(i))
				}
				kernelOf(chip, `def k(x, bits, all, back, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(bits + i, tl.load(x + i).to(`+name+`).to(tl.uint8, bitcast=True))
    j = tl.arange(0, 256)
    tl.store(back + j, tl.load(all + j).to(`+name+`, bitcast=True).to(back.dtype.element_ty))
`, kerneltest.Options{"num_warps": 2}).Run(t, kerneltest.Grid(1), x, bits, all, back, n)
				for i := range n {
					got := values[int(bits.At(i))]
					if v := x.At(i); math.IsNaN(v) != math.IsNaN(got) || !math.IsNaN(v) && got != nearestByte(values, v) {
						t.Fatalf("%s: %g to %s is %g (byte %#x), want %g", wide, v, typ, got, int(bits.At(i)), nearestByte(values, v))
					}
				}
				for i, v := range values {
					if got := back.At(i); got != v && !(math.IsNaN(v) && math.IsNaN(got)) || math.Signbit(got) != math.Signbit(v) && v == 0 {
						t.Errorf("byte %#x of %s to %s is %g, want %g", i, typ, wide, got, v)
					}
				}
			}
		}
	})
}
