package gpu

import (
	"fmt"
	"regexp"
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
	for i := range 60 {
		elem := elems[i%len(elems)]
		m, n := 16<<r.IntN(3), 16<<r.IntN(3)
		layoutOf := func() string {
			mma := fmt.Sprintf("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = %s, instrShape = [16, 8]}>", list(spreadOver(r, 2, 4)))
			switch r.IntN(5) {
			case 4: // half of a row of ldmatrix, which a neighbour completes
				return fmt.Sprintf("#ttg.blocked<{sizePerThread = [1, %d], threadsPerWarp = %s, warpsPerCTA = %s, order = [1, 0]}>",
					8/elem.size, [...]string{"[16, 2]", "[8, 4]", "[4, 8]"}[r.IntN(3)], list(spreadOver(r, 2, 4)))
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

// vectorStore is a store of eight bytes to shared memory.
var vectorStore = regexp.MustCompile(`st\.shared\.(v4\.b16|v2\.b32)`)

// TestConvertHalfRows: operands of 16 columns, loaded by eight bytes per thread, come out
// of shared memory by ldmatrix, and go there by whole vectors: attention with a head of
// 16 waits for 64 accesses a step otherwise.
func TestConvertHalfRows(t *testing.T) {
	const blocked = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
	for _, c := range []struct{ name, dst string }{
		{"a", "#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>, kWidth = 2}>"},
		{"b transposed", "#ttg.linear<{register = [[0, 1], [0, 8], [8, 0], [16, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]], block = []}>"},
	} {
		body := "  tt.func public @k(%x: !tt.ptr<f16>, %o: !tt.ptr<f16>) {\n" +
			indices("i", 32, 16, blocked) + pointers("x", "x", "i", "32x16", "f16", blocked) + `
    %v = tt.load %x_p : tensor<32x16x!tt.ptr<f16>, ` + blocked + `>
    %w = ttg.convert_layout %v : tensor<32x16xf16, ` + blocked + `> -> tensor<32x16xf16, ` + c.dst + `>
` + indices("j", 32, 16, c.dst) + pointers("o", "o", "j", "32x16", "f16", c.dst) +
			"    tt.store %o_p, %w : tensor<32x16x!tt.ptr<f16>, " + c.dst + ">\n    tt.return\n  }\n"
		k := build(t, "convert.ttgir", moduleOf(body), 80)
		if !strings.Contains(k.ptx, "ldmatrix") || !vectorStore.MatchString(k.ptx) {
			t.Errorf("%s: no ldmatrix, or narrower stores:\n%s", c.name, k.ptx)
		}
		in := make([]byte, 32*16*2)
		for i := range in {
			in[i] = byte(i * 7)
		}
		d := sim.New(sim.Options{})
		out := d.Alloc("o", len(in))
		if n := k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out).Counters; n.SharedWavefronts != n.SharedWavefrontsNeeded {
			t.Errorf("%s: %d passes through the banks, where %d are needed", c.name, n.SharedWavefronts, n.SharedWavefrontsNeeded)
		}
		if string(out.Read()) != string(in) {
			t.Errorf("%s: the elements moved", c.name)
		}
	}
}
