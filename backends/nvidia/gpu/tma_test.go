package gpu

import (
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Triton's own module for compute capability 9.0: a block comes through a
// descriptor, is doubled, and leaves through another.
func TestDescriptors(t *testing.T) {
	k := build(t, "descriptors.ttgir", testdata(t, "descriptors"), 90)
	if k.GlobalScratch != 256 || k.GlobalScratchAlign != 128 {
		t.Errorf("global scratch: %d bytes aligned to %d, want 256 and 128", k.GlobalScratch, k.GlobalScratchAlign)
	}
	r := newRand(t)
	for _, s := range []struct{ m, n int }{{32, 64}, {64, 128}, {33, 72}, {1, 8}, {95, 200}} {
		x := halfs(randn(r, s.m*s.n))
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 2*s.m*s.n)
		k.run(t, d, sim.Dim((s.m+31)/32, (s.n+63)/64), sim.Upload(d, "a", x), o, int32(s.m), int32(s.n))
		got := widened(sim.Download[uint16](o))
		for i, w := range widened(x) {
			if got[i] != 2*w {
				t.Fatalf("%v: o[%d] = %v, want %v", s, i, got[i], 2*w)
			}
		}
	}
}
