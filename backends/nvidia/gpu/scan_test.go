package gpu

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Scans of random layouts with an operation that does not commute: affine maps
// x → a·x + b, composed in the order of the axis, modulo 2^32.
func TestScanLayouts(t *testing.T) {
	r := newRand(t)
	shapes := [][]int{{32, 64}, {16, 16}, {128, 8}, {4, 256}, {64, 64}, {2, 512}, {1, 64}, {1, 1}, {256, 1}}
	for i := range 24 {
		shape, axis, reverse := shapes[r.IntN(len(shapes))], r.IntN(2), r.IntN(2) == 1
		enc := randomBlocked(r, 2)
		if i%3 == 0 {
			enc = randomLinear(r, shape, i%2 == 0)
		}
		dims := fmt.Sprintf("%dx%d", shape[0], shape[1])
		text := moduleOf("  tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %o: !tt.ptr<i32>, %q: !tt.ptr<i32>) {" +
			indices("i", shape[0], shape[1], enc) + pointers("x", "x", "i", dims, "i32", enc) + pointers("y", "y", "i", dims, "i32", enc) +
			strings.NewReplacer("DIMS", dims, "ENC", enc, "AXIS", fmt.Sprint(axis), "REV", fmt.Sprint(reverse)).Replace(`
    %a = tt.load %x_p : tensor<DIMSx!tt.ptr<i32>, ENC>
    %b = tt.load %y_p : tensor<DIMSx!tt.ptr<i32>, ENC>
    %s:2 = "tt.scan"(%a, %b) <{axis = AXIS : i32, reverse = REV}> ({
    ^bb0(%a1: i32, %b1: i32, %a2: i32, %b2: i32):
      %p = arith.muli %a1, %a2 : i32
      %m = arith.muli %b1, %a2 : i32
      %z = arith.addi %m, %b2 : i32
      tt.scan.return %p, %z : i32, i32
    }) : (tensor<DIMSxi32, ENC>, tensor<DIMSxi32, ENC>) -> (tensor<DIMSxi32, ENC>, tensor<DIMSxi32, ENC>)
`) + pointers("o", "o", "i", dims, "i32", enc) + pointers("q", "q", "i", dims, "i32", enc) +
			fmt.Sprintf("    tt.store %%o_p, %%s#0 : tensor<%sx!tt.ptr<i32>, %s>\n    tt.store %%q_p, %%s#1 : tensor<%sx!tt.ptr<i32>, %s>\n    tt.return\n  }\n", dims, enc, dims, enc))
		k := build(t, "scan.ttgir", text, 80)
		n := shape[0] * shape[1]
		a, b := make([]uint32, n), make([]uint32, n)
		for p := range a {
			a[p], b[p] = r.Uint32()|1, r.Uint32()
		}
		d := sim.New(sim.Options{})
		o, q := d.Alloc("o", 4*n), d.Alloc("q", 4*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "a", a), sim.Upload(d, "b", b), o, q)
		gotA, gotB := sim.Download[uint32](o), sim.Download[uint32](q)
		for line := range shape[1-axis] {
			accA, accB := uint32(1), uint32(0)
			for j := range shape[axis] {
				if reverse {
					j = shape[axis] - 1 - j
				}
				p := line*shape[1] + j
				if axis == 0 {
					p = j*shape[1] + line
				}
				accA, accB = accA*a[p], accB*a[p]+b[p]
				if gotA[p] != accA || gotB[p] != accB {
					t.Fatalf("element %d of line %d is %d, %d, want %d, %d\n%s", j, line, gotA[p], gotB[p], accA, accB, text)
				}
			}
		}
	}
}

// Scans over many totals of warps, which one thread of each column sums up: affine maps as
// above, with a sum of bytes beside them.
func TestScanManyTotals(t *testing.T) {
	r := newRand(t)
	const blocked = "#ttg.blocked<{sizePerThread = [%s], threadsPerWarp = [%s], warpsPerCTA = [%s], order = [1, 0]}>"
	for _, c := range []struct {
		m, n, axis         int
		regs, lanes, warps string
		barriers           int
	}{
		{128, 64, 0, "1, 4", "2, 16", "4, 1", 2},
		{512, 32, 0, "1, 1", "1, 32", "4, 1", 2},  // no vectors
		{64, 128, 0, "1, 4", "1, 32", "4, 1", 2},  // as many columns as threads
		{16, 512, 0, "2, 4", "1, 32", "4, 1", 2},  // more columns than threads
		{128, 256, 0, "1, 8", "2, 16", "2, 2", 2}, // columns of several warps
		{64, 128, 1, "4, 1", "32, 1", "1, 4", 2},  // along rows
		{8, 1024, 0, "1, 16", "1, 32", "4, 1", 2}, // a vector of bytes is longer than one of words
		{32, 64, 0, "1, 4", "2, 16", "4, 1", 1},   // few totals: every thread for itself
		{512, 16, 0, "1, 2", "8, 4", "4, 1", 1},   // fewer columns than lanes
	} {
		for _, reverse := range []bool{false, true} {
			enc := fmt.Sprintf(blocked, c.regs, c.lanes, c.warps)
			dims := fmt.Sprintf("%dx%d", c.m, c.n)
			text := moduleOf("  tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %z: !tt.ptr<i8>, %o: !tt.ptr<i32>, %q: !tt.ptr<i8>) {" +
				indices("i", c.m, c.n, enc) + pointers("x", "x", "i", dims, "i32", enc) + pointers("y", "y", "i", dims, "i32", enc) + pointers("z", "z", "i", dims, "i8", enc) +
				strings.NewReplacer("DIMS", dims, "ENC", enc, "AXIS", fmt.Sprint(c.axis), "REV", fmt.Sprint(reverse)).Replace(`
    %a = tt.load %x_p : tensor<DIMSx!tt.ptr<i32>, ENC>
    %b = tt.load %y_p : tensor<DIMSx!tt.ptr<i32>, ENC>
    %c = tt.load %z_p : tensor<DIMSx!tt.ptr<i8>, ENC>
    %s:3 = "tt.scan"(%a, %b, %c) <{axis = AXIS : i32, reverse = REV}> ({
    ^bb0(%a1: i32, %b1: i32, %c1: i8, %a2: i32, %b2: i32, %c2: i8):
      %p = arith.muli %a1, %a2 : i32
      %m = arith.muli %b1, %a2 : i32
      %d = arith.addi %m, %b2 : i32
      %e = arith.addi %c1, %c2 : i8
      tt.scan.return %p, %d, %e : i32, i32, i8
    }) : (tensor<DIMSxi32, ENC>, tensor<DIMSxi32, ENC>, tensor<DIMSxi8, ENC>) -> (tensor<DIMSxi32, ENC>, tensor<DIMSxi32, ENC>, tensor<DIMSxi8, ENC>)
`) + pointers("o", "o", "i", dims, "i32", enc) + pointers("q", "q", "i", dims, "i8", enc) +
				fmt.Sprintf("    tt.store %%o_p, %%s#1 : tensor<%sx!tt.ptr<i32>, %s>\n    tt.store %%q_p, %%s#2 : tensor<%sx!tt.ptr<i8>, %s>\n    tt.return\n  }\n", dims, enc, dims, enc))
			k := build(t, "scan.ttgir", text, 80)
			a, b, e := make([]uint32, c.m*c.n), make([]uint32, c.m*c.n), make([]uint8, c.m*c.n)
			for p := range a {
				a[p], b[p], e[p] = r.Uint32()|1, r.Uint32(), uint8(r.Uint32())
			}
			d := sim.New(sim.Options{})
			o, q := d.Alloc("o", 4*len(a)), d.Alloc("q", len(a))
			rep := k.run(t, d, sim.Dim(1), sim.Upload(d, "a", a), sim.Upload(d, "b", b), sim.Upload(d, "c", e), o, q)
			if got := strings.Count(k.ptx, "bar.sync"); got != c.barriers {
				t.Errorf("%d barriers, want %d\n%s", got, c.barriers, text)
			}
			noConflicts(t, rep.Counters.SharedWavefronts, rep.Counters.SharedWavefrontsNeeded)
			got, gotBytes := sim.Download[uint32](o), sim.Download[uint8](q)
			for line := range []int{c.n, c.m}[c.axis] {
				acc, sum := uint32(0), uint8(0)
				length := []int{c.m, c.n}[c.axis]
				for j := range length {
					if reverse {
						j = length - 1 - j
					}
					p := line*c.n + j
					if c.axis == 0 {
						p = j*c.n + line
					}
					acc, sum = acc*a[p]+b[p], sum+e[p]
					if got[p] != acc || gotBytes[p] != sum {
						t.Fatalf("element %d of line %d is %d, %d, want %d, %d\n%s", j, line, got[p], gotBytes[p], acc, sum, text)
					}
				}
			}
		}
	}
}

func TestCumsumRows(t *testing.T) {
	edit := func(s string) string { return anySize(s, "stride", "N") }
	each(t, "cumsum_rows", edit, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, n := range []int{1, 777, 2048} {
			const rows = 2
			x := randn(r, rows*n)
			d := sim.New(sim.Options{})
			y := d.Alloc("y", 4*rows*n)
			k.run(t, d, sim.Dim(rows), sim.Upload(d, "x", x), y, int32(n), int32(n))
			want := make([]float64, rows*n)
			for row := range rows {
				sum := 0.0
				for i := range n {
					sum += float64(x[row*n+i])
					want[row*n+i] = sum
				}
			}
			near(t, "cumsum", sim.Download[float32](y), want, 1e-5, 1e-4*math.Sqrt(float64(n)))
		}
	})
}
