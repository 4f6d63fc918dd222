package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Conversions between the layouts of dots and blocked ones with long vectors,
// of which some load tiles from shared memory.
func TestConvertTiles(t *testing.T) {
	r := newRand(t)
	elems := []struct {
		name string
		size int
	}{{"f16", 2}, {"i8", 1}, {"f32", 4}, {"bf16", 2}}
	tiles := 0
	for i := range 40 {
		elem := elems[i%len(elems)]
		m, n := 16<<r.IntN(3), 16<<r.IntN(3)
		layoutOf := func() string {
			mma := fmt.Sprintf("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = %s, instrShape = [16, 8]}>", list(spreadOver(r, 2, 4)))
			switch r.IntN(4) {
			case 0:
				return mma
			case 1:
				return fmt.Sprintf("#ttg.dot_op<{opIdx = %d, parent = %s, kWidth = %d}>", r.IntN(2), mma, max(1, 4/elem.size)<<r.IntN(2))
			case 2:
				return fmt.Sprintf("#ttg.blocked<{sizePerThread = [%d, 1], threadsPerWarp = %s, warpsPerCTA = %s, order = [0, 1]}>",
					16/elem.size, list(spreadOver(r, 2, 32)), list(spreadOver(r, 2, 4)))
			}
			return fmt.Sprintf("#ttg.blocked<{sizePerThread = [1, %d], threadsPerWarp = %s, warpsPerCTA = %s, order = [1, 0]}>",
				16/elem.size, list(spreadOver(r, 2, 32)), list(spreadOver(r, 2, 4)))
		}
		src, dst := layoutOf(), layoutOf()
		dims := fmt.Sprintf("%dx%d", m, n)
		body := strings.NewReplacer("DIMS", dims, "ELEM", elem.name, "SRC", src, "DST", dst).Replace(
			"  tt.func public @k(%x: !tt.ptr<ELEM>, %o: !tt.ptr<ELEM>) {\n" +
				indices("i", m, n, src) + pointers("x", "x", "i", dims, elem.name, src) + `
    %v = tt.load %x_p : tensor<DIMSx!tt.ptr<ELEM>, SRC>
    %w = ttg.convert_layout %v : tensor<DIMSxELEM, SRC> -> tensor<DIMSxELEM, DST>
` + indices("j", m, n, dst) + pointers("o", "o", "j", dims, elem.name, dst) +
				"    tt.store %o_p, %w : tensor<DIMSx!tt.ptr<ELEM>, DST>\n    tt.return\n  }\n")
		k := build(t, "convert.ttgir", moduleOf(body), 80)
		loadsTiles := strings.Contains(k.ptx, "ldmatrix")
		if loadsTiles {
			tiles++
		}
		d := sim.New(sim.Options{})
		in := make([]byte, m*n*elem.size)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		out := d.Alloc("o", len(in))
		c := k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out).Counters
		if loadsTiles && c.SharedWavefronts != c.SharedWavefrontsNeeded {
			t.Errorf("%d passes through the banks, where %d are needed\n%s", c.SharedWavefronts, c.SharedWavefrontsNeeded, body)
		}
		if string(out.Read()) != string(in) {
			t.Fatalf("the elements moved\n%s\n%s", body, k.ptx)
		}
	}
	t.Logf("%d conversions loaded tiles", tiles)
}
