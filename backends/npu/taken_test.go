package npu

import (
	"fmt"
	"math"
	"os"
	"testing"
)

// TestReturns has returns in conditions, a function that is marked noinline, a pointer that
// is chosen, and an assertion about a tensor.
func TestReturns(t *testing.T) {
	r := newRand(t)
	src, err := os.ReadFile(ownKernels)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := compile(t, ownKernels, src, "returns", "*fp32, *fp32, i32, i32, B=16", map[string]any{"debug": true})
	if err != nil {
		t.Fatal(err)
	}
	for keep := range 4 {
		for _, n := range []int{1 + r.IntN(3), 4 + r.IntN(4), 8 + r.IntN(25)} {
			x, out := random(t, r, "f32", 48), blank("f32", 48)
			run(t, "returns", artifact, [3]int{3, 1, 1}, x, out, i32(n), i32(keep))
			want := filled(48, untouched)
			for i := range n {
				v := x.data[i]
				if keep > 1 {
					v = x.data[i+3]
				}
				first := x.data[0]
				switch {
				case keep > 0:
				case n > 3:
					first += 1 - float64(n)
				default:
					first *= 2
				}
				if keep > 2 {
					v++
				}
				if keep <= 2 || n <= 7 {
					v += first
				}
				want[i] = v
			}
			near(t, "out", out.data, want, 1e-6)
		}
	}
}

// TestFunctions calls functions of the device library.
func TestFunctions(t *testing.T) {
	r := newRand(t)
	const b = 16
	artifact := own(t, "functions", "*fp32, *fp32, B=16")
	x, out := random(t, r, "f32", b), blank("f32", 9*b)
	run(t, "functions", artifact, [3]int{1, 1, 1}, x, out)
	var want []float64
	for _, f := range []func(x float64) float64{
		math.Tanh,
		func(x float64) float64 { return math.Pow(math.Abs(x), 2.5) },
		func(x float64) float64 { return math.Atan2(x, x*x-0.5) },
		func(x float64) float64 { return math.Asin(x) + math.Acosh(math.Abs(x)+1) },
		func(x float64) float64 { return math.Hypot(x, x+0.25) },
		func(x float64) float64 { return math.Mod(float64(float32(x*7)), 0.75) },
		func(x float64) float64 { return math.RoundToEven(x*9) + math.Round(x*5) },
		func(x float64) float64 {
			if math.Signbit(x) {
				return -1
			}
			return 1 / x
		},
		func(float64) float64 { return 5 },
	} {
		for _, x := range x.data {
			want = append(want, f(x))
		}
	}
	near(t, "out", out.data, want, 1e-5)
}

// TestMoreFunctions calls those that the device library has source for.
func TestMoreFunctions(t *testing.T) {
	r := newRand(t)
	const b = 37
	artifact := own(t, "more_functions", "*fp32, *fp32, *i32, *fp32, *i32, B=37")
	x, y, n := random(t, r, "f32", b), random(t, r, "f32", b), integers(r, b, 300)
	copy(x.data, []float64{0, 1, -1, 0.5, math.Ldexp(1, -140)})
	copy(y.data, []float64{-1, 2, -1, 0.5, 1})
	for i := range n.data {
		n.data[i] -= 150
	}
	out, whole := blank("f32", 8*b), blank("i32", b)
	run(t, "more_functions", artifact, [3]int{1, 1, 1}, x, y, n, out, whole)
	for i, v := range x.data {
		w := y.data[i]
		down := float64(float32(v / w))
		if math.Abs(down) > math.Abs(v/w) {
			down = float64(math.Nextafter32(float32(down), 0))
		}
		lgamma, _ := math.Lgamma(float64(float32(9 * v)))
		want := []float64{
			down, float64(math.Nextafter32(float32(v), float32(w))), float64(float32(math.Ldexp(v, int(n.data[i])))), math.Erfinv(v),
			lgamma, math.Gamma(float64(float32(9 * v))), bessel(9 * v), math.Tanh(v),
		}
		for k, tolerance := range []float64{0, 0, 0, 1e-5, 2e-4, 1e-3, 1e-5, 1e-5} {
			if k == 4 || k == 5 {
				if d := math.Abs(9*v - math.Round(9*v)); v < 0 && d < 0.1 || math.Abs(v) < 1e-30 {
					continue // near a pole
				}
			}
			near(t, fmt.Sprintf("out %d of %v, %v, %v:", k, v, w, n.data[i]), out.data[k*b+i:k*b+i+1], want[k:k+1], tolerance)
		}
		if f := float32(math.Ldexp(v, int(n.data[i]))); f != 0 {
			near(t, "exponent", whole.data[i:i+1], []float64{float64(math.Ilogb(float64(f)))}, 0)
		} else {
			near(t, "exponent", whole.data[i:i+1], []float64{math.MinInt32}, 0)
		}
	}
}

// bessel is the modified Bessel function of order 0, by its series.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; k < 60; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

// TestDotScaled has fp8, fp4 and bf16 operands, with scales on either side.
func TestDotScaled(t *testing.T) {
	r := newRand(t)
	const m, n, k = 16, 32, 64
	fp4 := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, math.Copysign(0, -1), -0.5, -1, -1.5, -2, -3, -4, -6}
	artifact := referenceIn(t, "features.py", "dot_scaled", "*u8, *u8, *bf16, *fp32, M=16, N=32, K=64")
	a, s := integers(r, m*k/2, 256), integers(r, m*k/32, 9)
	a.elem, s.elem = "i8", "i8"
	for i := range s.data {
		s.data[i] += 123
	}
	b, out := random(t, r, "bf16", k*n), blank("f32", m*n)
	run(t, "dot_scaled", artifact, [3]int{1, 1, 1}, a, s, b, out)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				bits := int(a.data[i*k/2+l/2]) >> (4 * (l % 2)) & 15
				want[i*n+j] += fp4[bits] * math.Exp2(s.data[i*k/32+l/32]-127) * b.data[l*n+j]
			}
		}
	}
	near(t, "out", out.data, want, 1e-4)
}

// TestRounded has conversions that round toward zero, of numbers that are too large, too.
func TestRounded(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "rounded", "*fp32, *fp32, B=16")
	x, out := random(t, r, "f32", 16), blank("f32", 32)
	copy(x.data, []float64{65519, -65536, math.MaxFloat32, 1e-3, 0})
	run(t, "rounded", artifact, [3]int{1, 1, 1}, x, out)
	truncated := func(x float64, mantissa int, most float64) float64 {
		if x == 0 {
			return x
		}
		fraction, exponent := math.Frexp(x)
		x = math.Ldexp(math.Trunc(math.Ldexp(fraction, mantissa+1)), exponent-mantissa-1)
		return max(-most, min(most, x))
	}
	var want []float64
	for _, v := range x.data {
		want = append(want, truncated(v, 10, 65504))
	}
	for _, v := range x.data {
		want = append(want, truncated(v, 7, math.MaxFloat32))
	}
	near(t, "out", out.data, want, 0)
}
