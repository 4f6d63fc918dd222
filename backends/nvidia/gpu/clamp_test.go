package gpu

import (
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// clamp under both ways with NaNs, infinities and zeros among the values: a NaN
// becomes the lower bound, or passes where the operation says so.
func TestClamp(t *testing.T) {
	r := newRand(t)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := append([]float32{nan, inf, -inf, 0, -1, 2, nan, float32(math.Copysign(0, -1))}, randn(r, 248)...)
	for _, keep := range []string{"none", "all"} {
		k := build(t, "clamp.ttgir", moduleOf(strings.NewReplacer("KEEP", keep,
			"ENC", "#ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>").Replace(`
  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>) {
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, ENC>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, ENC>
    %xp = tt.addptr %xs, %r : tensor<256x!tt.ptr<f32>, ENC>, tensor<256xi32, ENC>
    %v = tt.load %xp : tensor<256x!tt.ptr<f32>, ENC>
    %lo = arith.constant dense<-1.000000e+00> : tensor<256xf32, ENC>
    %hi = arith.constant dense<5.000000e-01> : tensor<256xf32, ENC>
    %y = tt.clampf %v, %lo, %hi, propagateNan = KEEP : tensor<256xf32, ENC>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, ENC>
    %op = tt.addptr %os, %r : tensor<256x!tt.ptr<f32>, ENC>, tensor<256xi32, ENC>
    tt.store %op, %y : tensor<256x!tt.ptr<f32>, ENC>
    tt.return
  }
`)), 80)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*len(x))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		for i, got := range sim.Download[float32](o) {
			want := max(-1, min(x[i], 0.5))
			if x[i] != x[i] && keep == "none" {
				want = -1
			}
			if got != want && (got == got || want == want) {
				t.Errorf("propagateNan = %s: clamp(%v) = %v, want %v", keep, x[i], got, want)
			}
		}
	}
}
