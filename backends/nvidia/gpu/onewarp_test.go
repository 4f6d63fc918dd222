package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// elementwise is a kernel of one warp that stores what body makes %w, of the layout dst,
// of %v, a tensor of rows x 32 numbers in the layout src.
func elementwise(t *testing.T, rows int, from, to, src, dst, body string) *kernel {
	t.Helper()
	dims := fmt.Sprintf("%dx32", rows)
	text := moduleOf(fmt.Sprintf("  tt.func public @k(%%x: !tt.ptr<%s>, %%o: !tt.ptr<%s>) {", from, to) +
		indices("i", rows, 32, src) + pointers("x", "x", "i", dims, from, src) +
		fmt.Sprintf("    %%v = tt.load %%x_p : tensor<%sx!tt.ptr<%s>, %s>\n", dims, from, src) + body +
		indices("j", rows, 32, dst) + pointers("o", "o", "j", dims, to, dst) +
		fmt.Sprintf("    tt.store %%o_p, %%w : tensor<%sx!tt.ptr<%s>, %s>\n    tt.return\n  }\n", dims, to, dst))
	text = strings.Replace(text, `"ttg.num-warps" = 4`, `"ttg.num-warps" = 1`, 1)
	return build(t, "onewarp.ttgir", text, 90)
}

// A warp alone meets at no barrier of the block. What it moves between layouts comes in
// the order of the registers that a store takes, by matrices.
func TestConvertInOneWarp(t *testing.T) {
	const (
		mma  = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
		rows = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>"
	)
	k := elementwise(t, 64, "bf16", "bf16", mma, rows, fmt.Sprintf("    %%w = ttg.convert_layout %%v : tensor<64x32xbf16, %s> -> tensor<64x32xbf16, %s>\n", mma, rows))
	if strings.Contains(k.ptx, "bar.sync") || !strings.Contains(k.ptx, "bar.warp.sync") {
		t.Errorf("a warp waits for the block\n%s", k.ptx)
	}
	if !strings.Contains(k.ptx, "matrix") {
		t.Errorf("a load brings words of several vectors\n%s", k.ptx)
	}
	d := sim.New(sim.Options{})
	in := make([]uint16, 64*32)
	for i := range in {
		in[i] = uint16(i * 37)
	}
	out := d.Alloc("o", 2*len(in))
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out)
	for i, got := range sim.Download[uint16](out) {
		if got != in[i] {
			t.Fatalf("element %d is %#x, want %#x\n%s", i, got, in[i], k.ptx)
		}
	}
}
