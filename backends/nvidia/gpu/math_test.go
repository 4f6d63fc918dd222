package gpu

import (
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Elementary functions, element by element; large angles take a branch in some
// lanes only.
func TestMath(t *testing.T) {
	r := newRand(t)
	for name, ref := range map[string]func(float64) float64{
		"math.tan": math.Tan, "math.expm1": math.Expm1, "math.log10": math.Log10, "math.log1p": math.Log1p,
		"math.sin": math.Sin, "math.cos": math.Cos, "math.erf": math.Erf, "math.tanh": math.Tanh,
		"math.exp": math.Exp, "math.exp2": math.Exp2, "math.log": math.Log, "math.log2": math.Log2,
		"math.sqrt": math.Sqrt, "math.rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
		"math.floor": math.Floor, "math.ceil": math.Ceil, "math.absf": math.Abs,
	} {
		k := build(t, "math.ttgir", moduleOf(strings.NewReplacer("OP", name,
			"ENC", "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %xp = tt.addptr %xs, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    %v = tt.load %xp : tensor<512x!tt.ptr<f32>, ENC>
    %y = OP %v : tensor<512xf32, ENC>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, ENC>
    %op = tt.addptr %os, %r : tensor<512x!tt.ptr<f32>, ENC>, tensor<512xi32, ENC>
    tt.store %op, %y : tensor<512x!tt.ptr<f32>, ENC>
    tt.return
  }
`)), 80)
		x := randn(r, 512)
		want := make([]float64, len(x))
		for i := range x {
			x[i] *= 10
			switch name {
			case "math.sin", "math.cos":
				x[i] *= float32(math.Exp2(float64(r.IntN(60))))
			case "math.log", "math.log2", "math.log10", "math.log1p", "math.sqrt", "math.rsqrt":
				x[i] = float32(math.Abs(float64(x[i]))) + 1e-3
			}
			want[i] = ref(float64(x[i]))
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*len(x))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		near(t, name, sim.Download[float32](o), want, 3e-6, 1e-6)
	}
}
