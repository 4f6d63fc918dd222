package gpu

import (
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/driver/sim"
)

// fp8Value is the number of an 8-bit code.
func fp8Value(code uint8, exp, man int, finite bool) float64 {
	sign := 1.0
	if code&0x80 != 0 {
		sign = -1
	}
	e, m := int(code>>man)&(1<<exp-1), int(code)&(1<<man-1)
	bias := 1<<(exp-1) - 1
	switch {
	case finite && code&0x7F == 0x7F, !finite && e == 1<<exp-1 && m != 0:
		return math.NaN()
	case !finite && e == 1<<exp-1:
		return math.Inf(int(sign))
	case e == 0:
		return sign * math.Ldexp(float64(m), 1-bias-man)
	}
	return sign * math.Ldexp(float64(m+1<<man), e-bias-man)
}

// fp8Nearest is the code nearest to x, ties to even, saturating.
func fp8Nearest(x float64, exp, man int, finite bool) uint8 {
	sign := uint8(0)
	if math.Signbit(x) {
		sign, x = 0x80, -x
	}
	best, dist := uint8(0), math.Inf(1)
	for c := range uint8(0x80) {
		v := fp8Value(c, exp, man, finite)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		d := math.Abs(v - x)
		if math.IsInf(x, 1) {
			d = -float64(c)
		}
		if d < dist || d == dist && c&1 == 0 {
			best, dist = c, d
		}
	}
	return best | sign
}

func TestFP8(t *testing.T) {
	r := newRand(t)
	for _, c := range []struct {
		name     string
		exp, man int
		finite   bool
		from     string
		cc       int
	}{
		{"f8E5M2", 5, 2, false, "f32", 80},
		{"f8E5M2", 5, 2, false, "f16", 80},
		{"f8E5M2", 5, 2, false, "bf16", 80},
		{"f8E5M2", 5, 2, false, "f32", 90},
		{"f8E4M3FN", 4, 3, true, "f32", 90},
		{"f8E4M3FN", 4, 3, true, "f16", 90},
	} {
		cast := "arith.truncf %v : tensor<512xf32, ENC> to tensor<512xFROM, ENC>"
		if c.from == "f32" {
			cast = "arith.addf %v, %zero : tensor<512xf32, ENC>"
		}
		k := build(t, "fp8.ttgir", moduleOf(strings.NewReplacer("F8", c.name, "FROM", c.from,
			"ENC", "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(strings.Replace(`
  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<F8>, %y: !tt.ptr<F8>, %q: !tt.ptr<f32>) {
    %zero = arith.constant dense<-0.0> : tensor<512xf32, ENC>
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %xp = tt.addptr %xs, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %v = tt.load %xp : tensor<512x!tt.ptr<f32>, ENC>
    %f = CAST
    %w = tt.fp_to_fp %f, rounding = rtne : tensor<512xFROM, ENC> -> tensor<512xF8, ENC>
    %os = tt.splat %o : !tt.ptr<F8> -> tensor<512x!tt.ptr<F8>, ENC>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<F8>, ENC>, tensor<512xi32, ENC>
    tt.store %op, %w : tensor<512x!tt.ptr<F8>, ENC>
    %ys = tt.splat %y : !tt.ptr<F8> -> tensor<512x!tt.ptr<F8>, ENC>
    %yp = tt.addptr %ys, %r : tensor<512x!tt.ptr<F8>, ENC>, tensor<512xi32, ENC>
    %u = tt.load %yp : tensor<512x!tt.ptr<F8>, ENC>
    %z = tt.fp_to_fp %u : tensor<512xF8, ENC> -> tensor<512xf32, ENC>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %qp = tt.addptr %qs, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    tt.store %qp, %z : tensor<512x!tt.ptr<f32>, ENC>
    tt.return
  }
`, "CAST", cast, 1))), c.cc)
		x, codes := randn(r, 512), make([]uint8, 512)
		for i := range x {
			x[i] *= float32(math.Exp2(float64(r.IntN(36) - 18)))
			if c.from == "f16" {
				x[i] = float32(constants.Float(llir.Half, float64(x[i])).Value())
			}
			if c.from == "bf16" {
				x[i] = float32(constants.Float(llir.BF16, float64(x[i])).Value())
			}
			codes[i] = uint8(i)
		}
		x[0], x[1], x[2], x[3] = float32(math.Inf(1)), float32(math.Inf(-1)), 0, 1.125
		d := sim.New(sim.Options{})
		o, q := d.Alloc("o", 512), d.Alloc("q", 4*512)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o, sim.Upload(d, "y", codes), q)
		for i, got := range sim.Download[uint8](o) {
			if want := fp8Nearest(float64(x[i]), c.exp, c.man, c.finite); got != want {
				t.Errorf("sm_%d %s of %s %v is %02x, want %02x", c.cc, c.name, c.from, x[i], got, want)
			}
		}
		for i, got := range sim.Download[float32](q) {
			want := fp8Value(codes[i], c.exp, c.man, c.finite)
			if float64(got) != want && !(got != got && want != want) {
				t.Errorf("sm_%d %s %02x is %v, want %v", c.cc, c.name, codes[i], got, want)
			}
		}
	}
}
