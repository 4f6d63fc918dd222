package gpu

import (
	"fmt"
	"math"
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

// What is rounded to bf16 and widened again is rounded in pairs.
func TestRoundBF16InPairs(t *testing.T) {
	const rows = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>"
	k := elementwise(t, 64, "f32", "f32", rows, rows, strings.ReplaceAll(`    %h = arith.truncf %v : tensor<64x32xf32, L> to tensor<64x32xbf16, L>
    %w = arith.extf %h : tensor<64x32xbf16, L> to tensor<64x32xf32, L>
`, "L", rows))
	if strings.Contains(k.ptx, "cvt.rn.bf16.f32") || !strings.Contains(k.ptx, "cvt.rn.bf16x2.f32") {
		t.Errorf("numbers are rounded one by one\n%s", k.ptx)
	}
	if strings.Contains(k.ptx, "cvt.f32.bf16") {
		t.Errorf("halves are taken out of their words\n%s", k.ptx)
	}
	d := sim.New(sim.Options{})
	in := make([]float32, 64*32)
	for i := range in {
		in[i] = float32(i-700) * 1.0117
	}
	in[0], in[1], in[2] = float32(math.Inf(-1)), math.Float32frombits(1<<31), 1e-40
	out := d.Alloc("o", 4*len(in))
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out)
	for i, got := range sim.Download[uint32](out) {
		x := math.Float32bits(in[i])
		if want := (x + 0x7fff + x>>16&1) &^ 0xffff; got != want {
			t.Fatalf("%g is rounded to %#x, want %#x\n%s", in[i], got, want, k.ptx)
		}
	}
}

// A copy's mask of two conditions is one predicate, unless large tensors crowd the threads
// and llc keeps the conditions apart.
func TestCopyUnderConjunction(t *testing.T) {
	const bl = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 1], order = [1, 0]}>"
	for _, c := range []struct{ rows, selects int }{{64, 1}, {128, 2}} {
		k := elementwise(t, c.rows, "i32", "i32", bl, bl, strings.NewReplacer("BL", bl, "DIMS", fmt.Sprintf("%dx32", c.rows),
			"BUF", "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #ttg.shared_memory, mutable").Replace(`
    %odd = arith.constant dense<1> : tensor<DIMSxi32, BL>
    %most = arith.constant dense<1000> : tensor<DIMSxi32, BL>
    %v1 = arith.andi %v, %odd : tensor<DIMSxi32, BL>
    %m0 = arith.cmpi eq, %v1, %odd : tensor<DIMSxi32, BL>
    %m1 = arith.cmpi slt, %v, %most : tensor<DIMSxi32, BL>
    %m2 = arith.andi %m0, %m1 : tensor<DIMSxi1, BL>
    %m = ttg.local_alloc : () -> !ttg.memdesc<DIMSxi32, BUF>
    %t = ttg.async_copy_global_to_local %x_p, %m mask %m2 : tensor<DIMSx!tt.ptr<i32>, BL> -> <DIMSxi32, BUF>
    %g = ttg.async_commit_group tokens %t
    %a = ttg.async_wait %g {num = 0 : i32}
    %w = ttg.local_load %m token %a : !ttg.memdesc<DIMSxi32, BUF> -> tensor<DIMSxi32, BL>
`))
		if !byLLC {
			c.selects = 1
		}
		copies, selects := strings.Count(k.ptx, "cp.async.ca"), strings.Count(k.ptx, "selp")
		if copies != c.rows || selects != c.selects*copies {
			t.Errorf("%d selects for %d copies, want %d for each of %d\n%s", selects, copies, c.selects, c.rows, k.ptx)
		}
		d := sim.New(sim.Options{})
		in := make([]int32, c.rows*32)
		for i := range in {
			in[i] = int32(i) * 7 % 1500
		}
		out := d.Alloc("o", 4*len(in))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out)
		for i, got := range sim.Download[int32](out) {
			want := in[i]
			if want%2 == 0 || want >= 1000 {
				want = 0
			}
			if got != want {
				t.Fatalf("element %d is %d, want %d\n%s", i, got, want, k.ptx)
			}
		}
	}
}
