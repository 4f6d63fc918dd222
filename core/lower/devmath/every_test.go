package devmath

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

// everyEnv asks for all 2³² arguments: hours.
const everyEnv = "TRITONC_ALL"

// TestEverySingle compares functions of one f32 with Go's of doubles, over all
// arguments with TRITONC_ALL=1, else over thirty thousand, equally spaced in their
// bits, NaNs included.
func TestEverySingle(t *testing.T) {
	step := uint64(1<<32/30000) | 1
	if os.Getenv(everyEnv) == "1" {
		step = 1
	}
	for _, s := range specs {
		f := known[s.name]
		if f == nil || Find(s.name).Args != 1 || s.name == "erfcinv" { // Go's loses all of small arguments
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var wait sync.WaitGroup
			workers := uint64(runtime.GOMAXPROCS(0))
			start := rand.Uint64N(step)
			for w := range workers {
				wait.Go(func() { s.every(t, start+w*step, workers*step) })
			}
			wait.Wait()
		})
	}
}

// every checks the arguments from first on with bits a step apart.
func (s *spec) every(t *testing.T, first, step uint64) {
	f, limit := known[s.name], s.bound(llir.F32)
	for _, m := range code(t, Find(s.name), llir.F32) {
		for bits := first; bits < 1<<32; bits += step {
			x := float64(single(bits))
			want := f(x)
			got := float64(single(m.run(bits)))
			if equal(got, float64(float32(want))) || exception(s.name, x, got) {
				continue
			}
			_, e := math.Frexp(want)
			unit := math.Ldexp(1, max(e-24, -149))
			if e > 128 || math.IsInf(want, 0) { // infinity is the number after the greatest
				want, unit = math.Copysign(0x1p128, want), 0x1p104
			}
			if math.IsInf(got, 0) {
				got = math.Copysign(0x1p128, got)
			}
			// Go's own functions err by an absolute 1e-15 near zeros of log Γ.
			if off := math.Abs(got-want) / unit; !(off <= limit+0.001) && !(s.name == "lgamma" && math.Abs(got-want) < 1e-13) {
				t.Errorf("%s(%v) = %v, want %v: off by %.2f units in the last place", s.name, x, got, f(x), off)
				return
			}
		}
	}
}
