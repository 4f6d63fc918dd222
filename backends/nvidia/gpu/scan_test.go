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
