package kernels

import (
	"math"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// eachPTX runs a test for two devices, with PTX by llc and with ours.
func eachPTX(t *testing.T, k kerneltest.Kernel, test func(t *testing.T, k kerneltest.Kernel)) {
	for _, target := range []string{"cuda:80", "cuda:90"} {
		for _, by := range []string{"llvm", "direct"} {
			t.Run(target+"/"+by, func(t *testing.T) { test(t, k.On(target).With(kerneltest.Options{"ptx": by})) })
		}
	}
}

// converted is what cvt makes of a float, as PTX's manual says: the nearest integer of 16,
// 32 or 64 bits toward zero, of which narrower types have the low bits. Of a NaN it makes
// 0, or the upper bit alone where one side has 64 bits.
func (t integer) converted(x float64, from string) int64 {
	w := max(t.bits, 16)
	least, greatest := int64(-1)<<(w-1), int64(1)<<(w-1)-1
	low, high := -math.Ldexp(1, int(w)-1), math.Ldexp(1, int(w)-1)
	if !t.signed {
		least, greatest, low, high = 0, -1, 0, math.Ldexp(1, int(w))
	}
	switch {
	case math.IsNaN(x) && (from == "fp64" || w == 64):
		return t.wrap(-1 << (w - 1))
	case math.IsNaN(x):
		return 0
	case x < low:
		return t.wrap(least)
	case x >= high:
		return t.wrap(greatest)
	case t.signed:
		return t.wrap(int64(x))
	}
	return t.wrap(int64(uint64(x)))
}

// TestFloatsToIntegers converts floats, also those that an integer type cannot hold: Triton
// leaves these to the device, and kernels that quantize depend on it.
func TestFloatsToIntegers(t *testing.T) {
	forNVIDIA(t, "other devices convert what does not fit otherwise")
	k := kerneltest.Kernel{Source: `import triton
import triton.language as tl


@triton.jit
def convert(out, x, n, T: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(T), mask=at < n)
`, Name: "convert"}
	edges := []float64{0, 0.5, -0.5, 0.99, -0.99, -1, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, bits := range []int{7, 8, 15, 16, 31, 32, 63, 64} {
		limit := math.Ldexp(1, bits)
		for _, x := range []float64{limit, limit - 0.5, limit - 1, limit + 1, math.Nextafter(limit, 0)} {
			edges = append(edges, x, -x)
		}
	}
	eachPTX(t, k, func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, from := range []string{"fp16", "bf16", "fp32", "fp64"} {
			const n, b = 219, 128
			x := kerneltest.Zeros(from, n)
			for i := range n {
				if x.Set(i, r.NormFloat64()*math.Ldexp(1, r.IntN(68))); i < len(edges) {
					x.Set(i, edges[i])
				}
			}
			for _, to := range integers {
				out := kerneltest.Empty(to.name, n)
				k.Run(t, kerneltest.Grid(cdiv(n, b)), out, x, n, kerneltest.Expr("tl."+to.triton), b)
				exactly(t, from+" to "+to.name, out, func(i int) int64 { return to.converted(x.At(i), from) })
			}
		}
	})
}

// TestQuantize packs pairs of numbers as two times 4 bits, and unpacks them: uint8 that
// wrap, numbers beyond its range, shifts and differences of 8 bits.
func TestQuantize(t *testing.T) {
	forNVIDIA(t, "other devices convert what does not fit otherwise")
	k := kerneltest.Kernel{Source: `import triton
import triton.language as tl


@triton.jit
def quantize(packed, back, x, rows, n, zero, R: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    at = tl.arange(0, B)[None, :]
    mask = (row < rows) & (at < n)
    low = (tl.load(x + row * 2 * n + at, mask=mask) * 4 + (zero + 0.5)).to(tl.uint8)
    high = (tl.load(x + row * 2 * n + n + at, mask=mask) * 4 + (zero + 0.5)).to(tl.uint8)
    q = low + high * 16
    tl.store(packed + row * n + at, q, mask=mask)
    low = ((q & 15).to(tl.int8) - zero.to(tl.int8)).to(tl.float16) / 4
    high = ((q >> 4).to(tl.int8) - zero.to(tl.int8)).to(tl.float16) / 4
    tl.store(back + row * 2 * n + at, low, mask=mask)
    tl.store(back + row * 2 * n + n + at, high, mask=mask)
`, Name: "quantize"}
	u8 := integers[0]
	eachPTX(t, k, func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, c := range []struct{ n, block int }{{5, 8}, {64, 64}, {77, 128}} {
			const rows, perBlock = 7, 4
			const zero = 8.0
			x := kerneltest.Randn(r, "fp32", rows, 2, c.n)
			for range 9 {
				x.Set(r.IntN(x.Len()), r.NormFloat64()*math.Ldexp(1, r.IntN(20)))
			}
			packed, back := kerneltest.Empty("u8", rows, c.n), kerneltest.Empty("fp16", rows, 2, c.n)
			k.Run(t, kerneltest.Grid(cdiv(rows, perBlock)), packed, back, x, rows, c.n, float32(zero), perBlock, c.block)
			of := func(row, half, i int) int64 {
				v := float32(x.At((row*2+half)*c.n+i) * 4) // exact
				return u8.converted(float64(v+(zero+0.5)), "fp32")
			}
			q := make([]int64, rows*c.n)
			for i := range q {
				q[i] = u8.wrap(of(i/c.n, 0, i%c.n) + of(i/c.n, 1, i%c.n)*16)
			}
			exactly(t, "packed", packed, func(i int) int64 { return q[i] })
			kerneltest.Equal(t, "back", back, each(back.Len(), func(i int) float64 {
				row, half, at := i/(2*c.n), i/c.n%2, i%c.n
				return (float64(q[row*c.n+at]>>(4*half)&15) - zero) / 4
			}))
		}
	})
}
