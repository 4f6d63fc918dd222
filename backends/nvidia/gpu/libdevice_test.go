package gpu

import (
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// library is a kernel that stores symbol(x) of f32s, or symbol(x, y).
func library(t *testing.T, symbol, result string, args int) *kernel {
	t.Helper()
	operands, types := "%v", "tensor<512xf32, ENC>"
	if args == 2 {
		operands, types = "%v, %u", types+", "+types
	}
	return build(t, "library.ttgir", moduleOf(strings.NewReplacer("SYMBOL", symbol, "OPERANDS", operands, "RESULT", result,
		"ENC", "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %o: !tt.ptr<RESULT>) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %xp = tt.addptr %xs, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %v = tt.load %xp : tensor<512x!tt.ptr<f32>, ENC>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %yp = tt.addptr %ys, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %u = tt.load %yp : tensor<512x!tt.ptr<f32>, ENC>
    %w = tt.extern_elementwise OPERANDS {libname = "", libpath = "", pure = true, symbol = "SYMBOL"} : (`+types+`) -> tensor<512xRESULT, ENC>
    %os = tt.splat %o : !tt.ptr<RESULT> -> tensor<512x!tt.ptr<RESULT>, ENC>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<RESULT>, ENC>, tensor<512xi32, ENC>
    tt.store %op, %w : tensor<512x!tt.ptr<RESULT>, ENC>
    tt.return
  }
`)), 80)
}

func TestLibrary(t *testing.T) {
	r := newRand(t)
	for symbol, ref := range map[string]func(float64) float64{
		"__nv_tanhf": math.Tanh, "__nv_log1pf": math.Log1p, "__nv_expm1f": math.Expm1, "__nv_asinf": math.Asin,
		"__nv_roundf": math.Round, "__nv_rintf": math.RoundToEven, "__nv_exp10f": func(x float64) float64 { return math.Pow(10, x) },
		"__nv_atanf": math.Atan, "__nv_tanf": math.Tan,
	} {
		k := library(t, symbol, "f32", 1)
		x, want := randn(r, 512), make([]float64, 512)
		for i := range x {
			if symbol == "__nv_asinf" || symbol == "__nv_log1pf" {
				x[i] = float32(math.Mod(float64(x[i]), 1))
			}
			want[i] = ref(float64(x[i]))
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*512)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", x), o)
		near(t, symbol, sim.Download[float32](o), want, 1e-6, 1e-7)
	}
}

func TestLibraryPower(t *testing.T) {
	k := library(t, "__nv_powf", "f32", 2)
	special := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.5, 1e30, 1e-30,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	}
	x, y := make([]float32, 512), make([]float32, 512)
	for i := range x {
		x[i], y[i] = special[i%16], special[i/16%16]
	}
	d := sim.New(sim.Options{})
	o := d.Alloc("o", 4*512)
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", y), o)
	for i, got := range sim.Download[float32](o) {
		want := float32(math.Pow(float64(x[i]), float64(y[i])))
		if got != want && (got == got || want == want) || want == want && math.Signbit(float64(got)) != math.Signbit(float64(want)) {
			t.Errorf("%v^%v = %v, want %v", x[i], y[i], got, want)
		}
	}
}

func TestLibraryPredicates(t *testing.T) {
	values := []float64{0, 1, -2, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}
	for symbol, ref := range map[string]func(float64) bool{
		"__nv_isnanf": math.IsNaN, "__nv_isinff": func(x float64) bool { return math.IsInf(x, 0) },
		"__nv_finitef": func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }, "__nv_signbitf": math.Signbit,
	} {
		k := library(t, symbol, "i32", 1)
		x := make([]float32, 512)
		for i := range x {
			x[i] = float32(values[i%len(values)])
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*512)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", x), o)
		for i, got := range sim.Download[int32](o) {
			if want := ref(float64(x[i])); got != 0 != want {
				t.Errorf("%s(%v) = %d, want %v", symbol, x[i], got, want)
			}
		}
	}
}
