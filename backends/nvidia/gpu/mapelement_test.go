package gpu

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// A function of the user on pairs of elements, with a loop and returns of its
// own: the steps of Collatz's sequence, at most 100, and what the greater of the
// pair is.
func TestMapElementwiseBranches(t *testing.T) {
	src := moduleOf(strings.ReplaceAll(`
  tt.func public @k(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, ENC>
`+pointers("x", "x", "r", "512", "i32", "ENC")+pointers("o", "o", "r", "512", "i32", "ENC")+pointers("q", "q", "r", "512", "i32", "ENC")+`
    %v = tt.load %x_p : tensor<512x!tt.ptr<i32>, ENC>
    %y:2 = "tt.map_elementwise"(%v) <{pack = 2 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %most = arith.constant 100 : i32
      %g = arith.cmpi sgt, %a, %b : i32
      cf.cond_br %g, ^first, ^loop(%b, %zero : i32, i32)
    ^first:
      tt.map_elementwise.return %zero, %one, %a, %a : i32, i32, i32, i32
    ^loop(%n: i32, %i: i32):
      %done = arith.cmpi sle, %n, %one : i32
      %late = arith.cmpi sge, %i, %most : i32
      %stop = arith.ori %done, %late : i1
      cf.cond_br %stop, ^out, ^step
    ^step:
      %bit = arith.andi %n, %one : i32
      %odd = arith.cmpi eq, %bit, %one : i32
      %t = arith.muli %n, %three : i32
      %up = arith.addi %t, %one : i32
      %down = arith.divsi %n, %two : i32
      %m = arith.select %odd, %up, %down : i32
      %j = arith.addi %i, %one : i32
      cf.br ^loop(%m, %j : i32, i32)
    ^out:
      tt.map_elementwise.return %i, %n, %b, %b : i32, i32, i32, i32
    }) : (tensor<512xi32, ENC>) -> (tensor<512xi32, ENC>, tensor<512xi32, ENC>)
    tt.store %o_p, %y#0 : tensor<512x!tt.ptr<i32>, ENC>
    tt.store %q_p, %y#1 : tensor<512x!tt.ptr<i32>, ENC>
    tt.return
  }
`, "ENC", "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"))
	k := build(t, "map.ttgir", src, 80)
	r := newRand(t)
	x := make([]int32, 512)
	for i := range x {
		x[i] = int32(r.IntN(1000))
	}
	d := sim.New(sim.Options{})
	o, q := d.Alloc("o", 4*len(x)), d.Alloc("q", 4*len(x))
	k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o, q)
	got, greater := sim.Download[int32](o), sim.Download[int32](q)
	for i := 0; i < len(x); i += 2 {
		a, b := x[i], x[i+1]
		want := [2]int32{0, 1}
		if a <= b {
			n, steps := b, int32(0)
			for ; n > 1 && steps < 100; steps++ {
				if n%2 == 1 {
					n = 3*n + 1
				} else {
					n /= 2
				}
			}
			want = [2]int32{steps, n}
		}
		if got[i] != want[0] || got[i+1] != want[1] || greater[i] != max(a, b) || greater[i+1] != max(a, b) {
			t.Fatalf("of %d and %d: %v and %v, want %v and %d", a, b, got[i:i+2], greater[i:i+2], want, max(a, b))
		}
	}
}
