package gpu

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// A sum in which one index is chosen is its element, +0.0 for -0.0, and 0 where the index
// is outside; what is not chosen may be infinite or no number.
func TestReduceOneTerm(t *testing.T) {
	const mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 4], instrShape = [16, 8]}>"
	r := newRand(t)
	shapes := [][]int{{16, 16}, {32, 64}, {16, 64}, {8, 4}, {64, 32}, {1, 64}}
	var shuffled int
	for i := range 24 {
		shape, axis, start := shapes[i%len(shapes)], r.IntN(2), r.IntN(2)*r.IntN(50)
		enc := randomBlocked(r, 2)
		switch {
		case i == 0:
			shape, axis, enc = []int{16, 32}, 0, mma
		case i%4 == 3:
			enc = randomLinear(r, shape, i%8 == 3)
		}
		elem := []string{"f32", "i32"}[i%5&1]
		index := []string{"i32", "i64", "i16"}[i%3]
		n, terms := shape[1-axis], shape[axis]
		text := oneTerm(r.IntN(2) == 0, index, strings.NewReplacer("DIMS", fmt.Sprintf("%dx%d", shape[0], shape[1]), "ENC", enc,
			"FLAT", []string{fmt.Sprintf("%dx1", terms), fmt.Sprintf("1x%d", terms)}[axis], "AXIS", fmt.Sprint(axis), "OTHER", fmt.Sprint(1-axis),
			"LEN", fmt.Sprint(n), "TERMS", fmt.Sprint(terms), "START", fmt.Sprint(start), "END", fmt.Sprint(start+terms),
			"INDEX", index, "ELEM", elem, "ADD", map[string]string{"f32": "addf", "i32": "addi"}[elem],
			"ZERO", map[string]string{"f32": "0.000000e+00", "i32": "0"}[elem]), shape, enc)
		k := build(t, "oneterm.ttgir", text, []int{80, 90}[r.IntN(2)])
		if strings.Contains(k.ptx, "shfl.sync.idx") && !strings.Contains(k.ptx, "shfl.sync.bfly") {
			shuffled++
		} else if i == 0 {
			t.Errorf("a butterfly sums what one lane has\n%s", k.ptx)
		}
		x := make([]uint32, shape[0]*shape[1])
		for p := range x {
			x[p] = []uint32{math.Float32bits(float32(r.NormFloat64())), 1 << 31, 0x7fc00000, 0x7f800000}[min(r.IntN(8), 3)]
		}
		for _, at := range []int64{0, int64(r.IntN(terms)), int64(terms) - 1, -1, int64(terms), -1 << 15, 1 << 32, 1<<32 + 1} {
			if at >= 1<<15 && index != "i64" {
				continue
			}
			d := sim.New(sim.Options{})
			o := d.Alloc("o", 4*n)
			k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "q", []int64{at + int64(start)}), o)
			for p, got := range sim.Download[uint32](o) {
				want := uint32(0)
				if at >= 0 && at < int64(terms) {
					want = x[[]int{int(at)*shape[1] + p, p*shape[1] + int(at)}[axis]]
				}
				switch {
				case elem == "f32" && want == 1<<31 && terms > 1:
					want = 0
				case elem == "f32" && want == 0x7fc00000 && math.IsNaN(float64(math.Float32frombits(got))):
					continue
				}
				if got != want {
					t.Fatalf("element %d of those at %d is %#x, want %#x\n%s\n%s", p, at, got, want, text, k.ptx)
				}
			}
		}
	}
	if shuffled < 2 { // how many can be depends on the layouts that are drawn
		t.Errorf("%d of 24 sums are a shuffle", shuffled)
	}
}

// oneTerm is a module that sums where a range equals what is loaded: early if they are
// compared before the range has the tensor's rank.
func oneTerm(early bool, index string, r *strings.Replacer, shape []int, enc string) string {
	compare := `
    %c = arith.cmpi eq, %w, %at_s : tensor<TERMSxINDEX, SLICE>
    %c2 = tt.expand_dims %c {axis = OTHER : i32} : tensor<TERMSxi1, SLICE> -> tensor<FLATxi1, ENC>`
	if !early {
		compare = `
    %w2 = tt.expand_dims %w {axis = OTHER : i32} : tensor<TERMSxINDEX, SLICE> -> tensor<FLATxINDEX, ENC>
    %at_2 = tt.splat %at : INDEX -> tensor<FLATxINDEX, ENC>
    %c2 = arith.cmpi eq, %at_2, %w2 : tensor<FLATxINDEX, ENC>`
	}
	convert := map[string]string{
		"i64": `
    %at = arith.addi %at64, %zero64 : i64
    %w = arith.extsi %range : tensor<TERMSxi32, SLICE> to tensor<TERMSxi64, SLICE>`,
		"i32": "\n    %at = arith.trunci %at64 : i64 to i32",
		"i16": `
    %at = arith.trunci %at64 : i64 to i16
    %w = arith.trunci %range : tensor<TERMSxi32, SLICE> to tensor<TERMSxi16, SLICE>`,
	}[index]
	if index == "i32" {
		compare = strings.NewReplacer("%w,", "%range,", "%w ", "%range ").Replace(compare)
	}
	body := indices("i", shape[0], shape[1], enc) + pointers("x", "x", "i", "DIMS", "ELEM", enc) + `
    %v = tt.load %x_p : tensor<DIMSx!tt.ptr<ELEM>, ENC>
    %zero64 = arith.constant 0 : i64
    %at64 = tt.load %q : !tt.ptr<i64>
    %range = tt.make_range {end = END : i32, start = START : i32} : tensor<TERMSxi32, SLICE>` + convert + `
    %at_s = tt.splat %at : INDEX -> tensor<TERMSxINDEX, SLICE>` + compare + `
    %c3 = tt.broadcast %c2 : tensor<FLATxi1, ENC> -> tensor<DIMSxi1, ENC>
    %zero = arith.constant dense<ZERO> : tensor<DIMSxELEM, ENC>
    %chosen = arith.select %c3, %v, %zero : tensor<DIMSxi1, ENC>, tensor<DIMSxELEM, ENC>
    %s = "tt.reduce"(%chosen) <{axis = AXIS : i32}> ({
    ^bb0(%a: ELEM, %b: ELEM):
      %m = arith.ADD %a, %b : ELEM
      tt.reduce.return %m : ELEM
    }) : (tensor<DIMSxELEM, ENC>) -> tensor<LENxELEM, OUT>
    %r = tt.make_range {end = LEN : i32, start = 0 : i32} : tensor<LENxi32, OUT>` + pointers("o", "o", "r", "LEN", "ELEM", "OUT") + `
    tt.store %o_p, %s : tensor<LENx!tt.ptr<ELEM>, OUT>
    tt.return
  }
`
	body = strings.NewReplacer("SLICE", "#ttg.slice<{dim = OTHER, parent = ENC}>", "OUT", "#ttg.slice<{dim = AXIS, parent = ENC}>").Replace(body)
	return moduleOf(r.Replace("  tt.func public @k(%x: !tt.ptr<ELEM>, %q: !tt.ptr<i64>, %o: !tt.ptr<ELEM>) {" + body))
}
