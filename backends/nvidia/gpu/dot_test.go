package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/driver/sim"
)

// product is C = A·B of float64, A m×k and B k×n.
func product(a, b []float64, m, n, k int) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for l := range k {
			v := a[i*k+l]
			for j := range n {
				c[i*n+j] += v * b[l*n+j]
			}
		}
	}
	return c
}

// operand is random data of one type: its bytes and its values.
type operand struct {
	bytes  []byte
	values []float64
}

func halfOperand(r *rand.Rand, n int) operand {
	h := halfs(randn(r, n))
	return operand{sim.Bytes(h), doubles(widened(h))}
}

func doubles(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func bfloatOperand(r *rand.Rand, n int) operand {
	h, w := make([]uint16, n), make([]float64, n)
	for i, v := range randn(r, n) {
		c := constants.Float(llir.BF16, float64(v))
		h[i], w[i] = uint16(c.Bits), c.Value()
	}
	return operand{sim.Bytes(h), w}
}

func floatOperand(r *rand.Rand, n int) operand {
	x := randn(r, n)
	return operand{sim.Bytes(x), doubles(x)}
}

// tf32Operand holds f32 values of which tensor cores lose nothing.
func tf32Operand(r *rand.Rand, n int) operand {
	x := randn(r, n)
	for i, v := range x {
		x[i] = math.Float32frombits(math.Float32bits(v) &^ 0x1fff)
	}
	return operand{sim.Bytes(x), doubles(x)}
}

func doubleOperand(r *rand.Rand, n int) operand {
	x := doubles(randn(r, n))
	return operand{sim.Bytes(x), x}
}

func int8Operand(r *rand.Rand, n int) operand {
	b, w := make([]byte, n), make([]float64, n)
	for i := range b {
		b[i] = byte(r.UintN(256))
		w[i] = float64(int8(b[i]))
	}
	return operand{b, w}
}

func float32s(b []byte) []float64 { return doubles(sim.Slice[float32](b)) }
func float16s(b []byte) []float64 { return doubles(widened(sim.Slice[uint16](b))) }

func int32s(b []byte) []float64 {
	var out []float64
	for _, v := range sim.Slice[int32](b) {
		out = append(out, float64(v))
	}
	return out
}

// within compares with bounds that are proportional to the sums of the absolute
// values of the products, plus a relative one of the result's own rounding.
func within(t testing.TB, what string, got, want, bound []float64, rtol float64) {
	t.Helper()
	bad := 0
	for i, w := range want {
		if diff := got[i] - w; diff <= bound[i]+rtol*abs(w) && -diff <= bound[i]+rtol*abs(w) {
			continue
		}
		if bad++; bad <= 4 {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], w)
		}
	}
	if bad > 4 {
		t.Errorf("%s: %d of %d values differ", what, bad, len(want))
	}
}

// sumBound is eps times the sum of the absolute products.
func sumBound(a, b []float64, m, n, k int, eps float64) []float64 {
	abs := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = eps * math.Abs(v)
		}
		return y
	}
	one := abs(a)
	two := abs(b)
	for i := range two {
		two[i] /= eps
	}
	return product(one, two, m, n, k)
}

// One dot of 64×64 matrices for each pair of types that Triton multiplies.
// eps is the relative error of the sum.
func TestDots(t *testing.T) {
	const n = 64
	for _, c := range []struct {
		file string
		data func(*rand.Rand, int) operand
		out  func([]byte) []float64
		size int
		eps  float64
		rtol float64
	}{
		{"dot_fp16_float32_None", halfOperand, float32s, 4, 1e-6, 0},
		{"dot_fp16_float16_None", halfOperand, float16s, 2, 4e-3, 1e-3},
		{"dot_bf16_float32_None", bfloatOperand, float32s, 4, 1e-6, 0},
		{"dot_fp32_float32_tf32", tf32Operand, float32s, 4, 1e-6, 0},
		{"dot_fp32_float32_tf32x3", floatOperand, float32s, 4, 2e-6, 0},
		{"dot_fp32_float32_ieee", floatOperand, float32s, 4, 4e-6, 0},
		{"dot_fp64_float64_None", doubleOperand, sim.Slice[float64], 8, 1e-14, 0},
		{"dot_i8_int32_None", int8Operand, int32s, 4, 0, 0},
		{"dot_fp8e5_float32_None", fp8Operand(ir.F8E5M2), float32s, 4, 1e-6, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			each(t, c.file, nil, func(t *testing.T, k *kernel) {
				r := newRand(t)
				a, b := c.data(r, n*n), c.data(r, n*n)
				d := sim.New(sim.Options{})
				o := d.Alloc("o", c.size*n*n)
				k.run(t, d, sim.Dim(1), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), o)
				bound := make([]float64, n*n)
				if c.eps > 0 {
					bound = sumBound(a.values, b.values, n, n, n, c.eps)
				}
				within(t, "o", c.out(o.Read()), product(a.values, b.values, n, n, n), bound, c.rtol)
			})
		})
	}
}

func bfloat16s(b []byte) []float64 {
	var out []float64
	for _, v := range sim.Slice[uint16](b) {
		out = append(out, constants.FloatBits(llir.BF16, uint64(v)).Value())
	}
	return out
}
