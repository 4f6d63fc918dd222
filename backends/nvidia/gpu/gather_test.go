package gpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

func TestGather(t *testing.T) {
	r := newRand(t)
	// Layouts in which the elements along an axis are in one warp, some of them
	// in one lane.
	within := func(size, threads, warps string) string {
		return "#ttg.blocked<{sizePerThread = " + size + ", threadsPerWarp = " + threads + ", warpsPerCTA = " + warps + ", order = [1, 0]}>"
	}
	local := [][]string{
		{within("[1, 1]", "[32, 1]", "[1, 4]"), within("[2, 1]", "[16, 2]", "[1, 4]"), within("[8, 2]", "[4, 8]", "[1, 4]")},
		{within("[1, 2]", "[1, 32]", "[4, 1]"), within("[2, 2]", "[2, 16]", "[4, 1]"), within("[1, 4]", "[4, 8]", "[4, 1]")},
	}
	for i := range 18 {
		const m, n = 32, 64
		axis, src, dst := i%2, randomBlocked(r, 2), randomBlocked(r, 2)
		if i >= 12 {
			src = local[axis][(i-12)/2]
			dst = src
		}
		text := moduleOf("  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<i32>, %o: !tt.ptr<f32>) {" +
			indices("i", m, n, "SRC") + pointers("x", "x", "i", "32x64", "f32", "SRC") +
			indices("j", m, n, "DST") + pointers("y", "y", "j", "32x64", "i32", "DST") + pointers("o", "o", "j", "32x64", "f32", "DST") + `
    %v = tt.load %x_p : tensor<32x64x!tt.ptr<f32>, SRC>
    %w = tt.load %y_p : tensor<32x64x!tt.ptr<i32>, DST>
    %g = tt.gather %v[%w] {axis = AXIS : i32} : (tensor<32x64xf32, SRC>, tensor<32x64xi32, DST>) -> tensor<32x64xf32, DST>
    tt.store %o_p, %g : tensor<32x64x!tt.ptr<f32>, DST>
    tt.return
  }
`)
		text = strings.NewReplacer("SRC", src, "DST", dst, "AXIS", fmt.Sprint(axis)).Replace(text)
		k := build(t, "gather.ttgir", text, 80)
		if shuffles := strings.Contains(k.ptx, "shfl.sync.idx"); shuffles != (k.Shared == 0) || (i >= 12 && i < 16) && !shuffles {
			t.Errorf("layout %s uses shuffles: %v, and %d bytes of shared memory", src, shuffles, k.Shared)
		}
		x, idx := randn(r, m*n), make([]int32, m*n)
		for p := range idx {
			idx[p] = int32(r.IntN([]int{m, n}[axis]))
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*m*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "y", idx), o)
		for p, v := range sim.Download[float32](o) {
			from := int(idx[p])*n + p%n
			if axis == 1 {
				from = p/n*n + int(idx[p])
			}
			if v != x[from] {
				t.Fatalf("element %d is %v, want %v\n%s", p, v, x[from], text)
			}
		}
	}
}

func TestHistogram(t *testing.T) {
	r := newRand(t)
	for _, masked := range []bool{false, true} {
		mask := ""
		if masked {
			mask = ", %c"
		}
		enc, bins := randomBlocked(r, 1), randomBlocked(r, 1)
		k := build(t, "histogram.ttgir", moduleOf(strings.NewReplacer("A", "tensor<512xi32, "+enc+">", "C", "tensor<512xi1, "+enc+">",
			"P", "tensor<512x!tt.ptr<i32>, "+enc+">", "B", "tensor<32xi32, "+bins+">", "Q", "tensor<32x!tt.ptr<i32>, "+bins+">",
			"MASK", mask).Replace(`
  tt.func public @k(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>, %n: i32) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : A
    %s = tt.splat %n : i32 -> A
    %c = arith.cmpi slt, %r, %s : A
    %xs = tt.splat %x : !tt.ptr<i32> -> P
    %xp = tt.addptr %xs, %r : P, A
    %v = tt.load %xp : P
    %h = tt.histogram %vMASK : A -> B
    %b = tt.make_range {end = 32 : i32, start = 0 : i32} : B
    %os = tt.splat %o : !tt.ptr<i32> -> Q
    %op = tt.addptr %os, %b : Q, B
    tt.store %op, %h : Q
    tt.return
  }
`)), 80)
		x := make([]int32, 512)
		want := make([]int32, 32)
		const n = 300
		for i := range x {
			x[i] = int32(r.IntN(32))
			if !masked || i < n {
				want[x[i]]++
			}
		}
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*32)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o, int32(n))
		for i, c := range sim.Download[int32](o) {
			if c != want[i] {
				t.Errorf("bin %d holds %d, want %d", i, c, want[i])
			}
		}
	}
}

// The same module gives the same bytes, however often it is lowered.
func TestDeterminism(t *testing.T) {
	for _, name := range []string{"reductions", "layer_norm_bwd", "atomics", "control_flow"} {
		first := ""
		for range 5 {
			k := string(lowered(t, name))
			if first == "" {
				first = k
			} else if k != first {
				t.Errorf("%s: another text", name)
			}
		}
	}
}
