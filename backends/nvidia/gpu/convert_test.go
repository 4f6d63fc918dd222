package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// Conversions between random layouts must keep every element in its place.
func TestConvertLayout(t *testing.T) {
	r := newRand(t)
	shapes := [][]int{{32, 64}, {16, 16}, {128, 8}, {4, 256}, {64, 64}, {8, 4}, {1, 64}, {1, 1}, {256, 1}}
	elems := []struct {
		name string
		size int
	}{{"f32", 4}, {"f16", 2}, {"i8", 1}, {"i64", 8}}
	pick := func(shape []int) string {
		if r.IntN(2) == 0 {
			return randomBlocked(r, 2)
		}
		return randomLinear(r, shape, r.IntN(2) == 0)
	}
	var taken, needed uint64
	for i := range 54 { // of fewer, a few pairs with conflicts on both sides are a tenth
		shape, elem := shapes[r.IntN(len(shapes))], elems[i%len(elems)]
		src, dst := pick(shape), pick(shape)
		_, rep := converted(t, r, []int{80, 90}[r.IntN(2)], shape, elem.name, elem.size, src, dst)
		// Each pair counts alike, however large its tensor is.
		if n := rep.Counters.SharedWavefrontsNeeded; n > 0 {
			taken += 1000 * rep.Counters.SharedWavefronts / n
			needed += 1000
		}
	}
	noConflicts(t, taken, needed)
}

// converted runs a kernel that brings a tensor of random bytes from one layout to
// another, and checks that no element moved.
func converted(t *testing.T, r *rand.Rand, cc int, shape []int, elem string, size int, src, dst string) (*kernel, *sim.Report) {
	t.Helper()
	dims := fmt.Sprintf("%dx%d", shape[0], shape[1])
	text := moduleOf(fmt.Sprintf("  tt.func public @k(%%x: !tt.ptr<%s>, %%o: !tt.ptr<%s>) {", elem, elem) +
		indices("i", shape[0], shape[1], src) + pointers("x", "x", "i", dims, elem, src) +
		fmt.Sprintf("    %%v = tt.load %%x_p : tensor<%sx!tt.ptr<%s>, %s>\n", dims, elem, src) +
		fmt.Sprintf("    %%w = ttg.convert_layout %%v : tensor<%sx%s, %s> -> tensor<%sx%s, %s>\n", dims, elem, src, dims, elem, dst) +
		indices("j", shape[0], shape[1], dst) + pointers("o", "o", "j", dims, elem, dst) +
		fmt.Sprintf("    tt.store %%o_p, %%w : tensor<%sx!tt.ptr<%s>, %s>\n    tt.return\n  }\n", dims, elem, dst))
	k := build(t, "convert.ttgir", text, cc)
	d := sim.New(sim.Options{})
	in := make([]byte, shape[0]*shape[1]*size)
	for i := range in {
		in[i] = byte(r.Uint32())
	}
	out := d.Alloc("o", len(in))
	rep := k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out)
	if got := out.Read(); string(got) != string(in) {
		t.Fatalf("the elements moved\n%s\n%s", text, k.ptx)
	}
	return k, rep
}

// Where a lane's elements lie apart, what a row has of them lies with other lanes:
// such a result goes to memory by matrices where there is an instruction for it, and
// comes back a row at a time.
func TestConvertByTiles(t *testing.T) {
	const (
		mma  = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
		same = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>" // in pairs of warps
		rows = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
		cols = "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>"
		four = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>"
		ones = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
	)
	r := newRand(t)
	for _, c := range []struct {
		elem          string
		size          int
		shape         []int
		src, dst      string
		store, stored string // the instruction, and what it is without
	}{
		{"f16", 2, []int{32, 32}, mma, rows, "stmatrix.sync.aligned.m8n8.x4.shared.b16", "st.shared"},
		{"f16", 2, []int{32, 16}, same, rows, "\tstmatrix.sync.aligned.m8n8.x4.shared.b16", "st.shared"},
		{"f16", 2, []int{64, 64}, mma, cols, "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "st.shared"},
		{"f32", 4, []int{128, 4}, ones, four, "stmatrix.sync.aligned.m8n8.x4.shared.b16", "st.shared"},
		{"i8", 1, []int{32, 64}, cols, rows, "st.shared", "st.shared"}, // a lane has no four of a row
	} {
		for cc, want := range map[int]string{80: c.stored, 90: c.store} {
			k, rep := converted(t, r, cc, c.shape, c.elem, c.size, c.src, c.dst)
			if !strings.Contains(k.ptx, want) {
				t.Errorf("%s from %s to %s: no %s on %d\n%s", c.elem, c.src, c.dst, want, cc, k.ptx)
			}
			noConflicts(t, rep.Counters.SharedWavefronts, rep.Counters.SharedWavefrontsNeeded)
		}
	}
}

// Where neighbouring lanes of one side hold what a thread of the other has in registers,
// that thread moves it at once.
func TestConvertWide(t *testing.T) {
	const (
		rows  = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
		cols  = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>"
		bytes = "#ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>"
		apart = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [2, 16], warpsPerCTA = [2, 2], order = [0, 1]}>"
		owned = "#ttg.linear<{register = [[0, 4], [0, 8]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2]], block = []}>"
		quads = "#ttg.linear<{register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 0]], warp = [[0, 0], [0, 0]], block = []}>"
	)
	r := newRand(t)
	for _, c := range []struct {
		elem          string
		size          int
		shape         []int
		src, dst      string
		stores, loads int
		vector        string // one of the accesses
	}{
		{"f32", 4, []int{32, 16}, rows, cols, 1, 4, "st.shared.v4"},
		{"f32", 4, []int{32, 16}, cols, rows, 4, 1, "ld.shared.v4"},
		{"f32", 4, []int{32, 32}, rows, cols, 2, 4, "st.shared.v4"}, // two that both have in common
		{"i64", 8, []int{32, 16}, rows, cols, 2, 4, "st.shared.v2"},
		{"i8", 1, []int{128, 32}, bytes, apart, 2, 32, "st.shared.v4"},
		{"f32", 4, []int{1, 16}, owned, quads, 1, 1, "st.shared.v4"},
	} {
		k, rep := converted(t, r, 90, c.shape, c.elem, c.size, c.src, c.dst)
		if s, l := strings.Count(k.ptx, "st.shared"), strings.Count(k.ptx, "ld.shared"); s != c.stores || l != c.loads || !strings.Contains(k.ptx, c.vector) {
			t.Errorf("%s from %s to %s: %d stores and %d loads, want %d and %d with %s", c.elem, c.src, c.dst, s, l, c.stores, c.loads, c.vector)
		}
		noConflicts(t, rep.Counters.SharedWavefronts, rep.Counters.SharedWavefrontsNeeded)
	}
}

// Large conversions go in rounds through little memory, where both layouts have a
// direction in registers.
func TestConvertRounds(t *testing.T) {
	const (
		rows  = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"
		tiles = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
	)
	r := newRand(t)
	var taken, needed uint64
	for _, c := range []struct {
		shape    []int
		elem     string
		size     int
		src, dst string
	}{
		{[]int{128, 128}, "f32", 4, tiles, rows},
		{[]int{128, 256}, "f16", 2, tiles, rows},
		{[]int{64, 256}, "f32", 4, rows, tiles},
		{[]int{128, 64}, "f64", 8, tiles, rows},
	} {
		k, rep := converted(t, r, 80, c.shape, c.elem, c.size, c.src, c.dst)
		if k.Shared > 32<<10 {
			t.Errorf("%v x %s takes %d bytes of shared memory from\n%s to\n%s", c.shape, c.elem, k.Shared, c.src, c.dst)
		}
		taken += rep.Counters.SharedWavefronts
		needed += rep.Counters.SharedWavefrontsNeeded
	}
	noConflicts(t, taken, needed)
	for i := range 4 { // any layouts
		shape := [][]int{{128, 128}, {256, 64}}[i%2]
		converted(t, r, 80, shape, "f32", 4, randomLinear(r, shape, i%3 == 0), randomBlocked(r, 2))
	}
}

// Pointers keep their places and stay pointers, whatever carries them.
func TestConvertPointers(t *testing.T) {
	r := newRand(t)
	for range 8 {
		shape := [][]int{{32, 64}, {64, 16}}[r.IntN(2)]
		src, dst := randomBlocked(r, 2), randomBlocked(r, 2)
		text := moduleOf("  tt.func public @k(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>) {" +
			indices("i", shape[0], shape[1], src) + pointers("x", "x", "i", "DIMS", "i32", src) + `
    %p = ttg.convert_layout %x_p : tensor<DIMSx!tt.ptr<i32>, SRC> -> tensor<DIMSx!tt.ptr<i32>, DST>
    %first = arith.constant 0 : i32
    %last = arith.constant 2 : i32
    %step = arith.constant 1 : i32
    %zero = arith.constant dense<0> : tensor<DIMSxi32, DST>
    %q = scf.for %k = %first to %last step %step iter_args(%c = %p) -> (tensor<DIMSx!tt.ptr<i32>, DST>) : i32 {
      %n = tt.addptr %c, %zero : tensor<DIMSx!tt.ptr<i32>, DST>, tensor<DIMSxi32, DST>
      scf.yield %n : tensor<DIMSx!tt.ptr<i32>, DST>
    }
    %w = tt.load %q : tensor<DIMSx!tt.ptr<i32>, DST>
` + indices("j", shape[0], shape[1], dst) + pointers("o", "o", "j", "DIMS", "i32", dst) +
			"    tt.store %o_p, %w : tensor<DIMSx!tt.ptr<i32>, DST>\n    tt.return\n  }\n")
		text = strings.NewReplacer("DIMS", fmt.Sprintf("%dx%d", shape[0], shape[1]), "SRC", src, "DST", dst).Replace(text)
		k := build(t, "pointers.ttgir", text, 80)
		d := sim.New(sim.Options{})
		in := make([]byte, shape[0]*shape[1]*4)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		out := d.Alloc("o", len(in))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out)
		if got := out.Read(); string(got) != string(in) {
			t.Fatalf("the pointers moved\n%s\n%s", text, k.ptx)
		}
	}
}

// noConflicts checks that accesses to shared memory lose next to nothing to
// conflicts in its banks.
func noConflicts(t *testing.T, taken, needed uint64) {
	t.Helper()
	if taken > needed+needed/10 {
		t.Errorf("accesses to shared memory take %d passes of the banks for %d without conflicts", taken, needed)
	}
}

// A tensor stored to shared memory in any arrangement and loaded in another
// layout, whole and by parts, is the same tensor.
func TestLocalMemory(t *testing.T) {
	r := newRand(t)
	for range 24 {
		shape := [][]int{{32, 64}, {16, 128}, {64, 16}}[r.IntN(3)]
		src, dst := randomBlocked(r, 2), randomBlocked(r, 2)
		if r.IntN(3) == 0 {
			dst = randomLinear(r, shape, false)
		}
		phase := 1 << r.IntN(4)
		order := []string{"[1, 0]", "[0, 1]"}[r.IntN(2)]
		shared := fmt.Sprintf("#ttg.swizzled_shared<{vec = %d, perPhase = %d, maxPhase = %d, order = %s}>",
			1<<r.IntN(4), 1<<r.IntN(2), phase, order)
		elem := []struct {
			name string
			size int
		}{{"f16", 2}, {"f32", 4}, {"i8", 1}}[r.IntN(3)]
		dims := fmt.Sprintf("%dx%d", shape[0], shape[1])
		text := moduleOf("  tt.func public @k(%x: !tt.ptr<ELEM>, %o: !tt.ptr<ELEM>) {" +
			indices("i", shape[0], shape[1], src) + pointers("x", "x", "i", dims, elem.name, src) + `
    %v = tt.load %x_p : tensor<DIMSx!tt.ptr<ELEM>, SRC>
    %one = arith.constant 1 : i32
    %m = ttg.local_alloc : () -> !ttg.memdesc<2xDIMSxELEM, SHARED, #ttg.shared_memory, mutable>
    %n = ttg.memdesc_index %m[%one] : !ttg.memdesc<2xDIMSxELEM, SHARED, #ttg.shared_memory, mutable> -> !ttg.memdesc<DIMSxELEM, SHARED, #ttg.shared_memory, mutable>
    ttg.local_store %v, %n : tensor<DIMSxELEM, SRC> -> !ttg.memdesc<DIMSxELEM, SHARED, #ttg.shared_memory, mutable>
    %w = ttg.local_load %n : !ttg.memdesc<DIMSxELEM, SHARED, #ttg.shared_memory, mutable> -> tensor<DIMSxELEM, DST>
` + indices("j", shape[0], shape[1], dst) + pointers("o", "o", "j", dims, elem.name, dst) +
			"    tt.store %o_p, %w : tensor<DIMSx!tt.ptr<ELEM>, DST>\n    tt.return\n  }\n")
		text = strings.NewReplacer("DIMS", dims, "ELEM", elem.name, "SRC", src, "DST", dst, "SHARED", shared).Replace(text)
		k := build(t, "local.ttgir", text, 80)
		d := sim.New(sim.Options{})
		in := make([]byte, shape[0]*shape[1]*elem.size)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		out := d.Alloc("o", len(in))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", in), out)
		if got := out.Read(); string(got) != string(in) {
			t.Fatalf("the elements moved\n%s\n%s", text, k.ptx)
		}
	}
}

// Reductions of random layouts along either dimension.
func TestReduceLayouts(t *testing.T) {
	r := newRand(t)
	shapes := [][]int{{32, 64}, {16, 16}, {128, 8}, {4, 256}, {64, 64}, {2, 512}, {1, 64}, {1, 1}, {256, 1}}
	var taken, needed uint64
	for i := range 27 {
		shape, axis := shapes[r.IntN(len(shapes))], r.IntN(2)
		enc := randomBlocked(r, 2)
		if i%2 == 0 {
			enc = randomLinear(r, shape, i%4 == 0)
		}
		dims := fmt.Sprintf("%dx%d", shape[0], shape[1])
		n := shape[1-axis]
		slice := fmt.Sprintf("#ttg.slice<{dim = %d, parent = %s}>", axis, enc)
		// The maximum and where it is, the least index of equal ones.
		text := moduleOf("  tt.func public @k(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>, %q: !tt.ptr<i32>) {" +
			indices("i", shape[0], shape[1], enc) + pointers("x", "x", "i", dims, "f32", enc) +
			strings.NewReplacer("DIMS", dims, "ENC", enc, "AXIS", fmt.Sprint(axis), "LEN", fmt.Sprint(n), "SLICE", slice).Replace(`
    %v = tt.load %x_p : tensor<DIMSx!tt.ptr<f32>, ENC>
    %s:2 = "tt.reduce"(%v, %i) <{axis = AXIS : i32}> ({
    ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
      %eq = arith.cmpf oeq, %a, %b : f32
      %lt = arith.cmpi slt, %ai, %bi : i32
      %tie = arith.andi %eq, %lt : i1
      %gt = arith.cmpf ogt, %a, %b : f32
      %c = arith.ori %gt, %tie : i1
      %m = arith.select %c, %a, %b : f32
      %mi = arith.select %c, %ai, %bi : i32
      tt.reduce.return %m, %mi : f32, i32
    }) : (tensor<DIMSxf32, ENC>, tensor<DIMSxi32, ENC>) -> (tensor<LENxf32, SLICE>, tensor<LENxi32, SLICE>)
    %t = "tt.reduce"(%v) <{axis = AXIS : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %m = arith.addf %a, %b : f32
      tt.reduce.return %m : f32
    }) : (tensor<DIMSxf32, ENC>) -> tensor<LENxf32, SLICE>
    %r = tt.make_range {end = LEN : i32, start = 0 : i32} : tensor<LENxi32, SLICE>
    %both = arith.addf %s#0, %t : tensor<LENxf32, SLICE>
`) + pointers("o", "o", "r", fmt.Sprint(n), "f32", slice) + pointers("q", "q", "r", fmt.Sprint(n), "i32", slice) +
			fmt.Sprintf("    tt.store %%o_p, %%both : tensor<%dx!tt.ptr<f32>, %s>\n    tt.store %%q_p, %%s#1 : tensor<%dx!tt.ptr<i32>, %s>\n    tt.return\n  }\n", n, slice, n, slice))
		k := build(t, "reduce.ttgir", text, 80)
		d := sim.New(sim.Options{})
		x := randn(r, shape[0]*shape[1])
		for i := range x {
			if r.IntN(4) == 0 {
				x[i] = 2 // ties
			}
		}
		o, q := d.Alloc("o", 4*n), d.Alloc("q", 4*n)
		rep := k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o, q)
		taken += rep.Counters.SharedWavefronts
		needed += rep.Counters.SharedWavefrontsNeeded
		want, where := make([]float64, n), sim.Download[int32](q)
		for p := range n {
			best, at, sum := math.Inf(-1), -1, 0.0
			for a := range shape[axis] {
				idx := p*shape[1] + a
				if axis == 0 {
					idx = a*shape[1] + p
				}
				sum += float64(x[idx])
				if v := float64(x[idx]); v > best {
					best, at = v, idx
				}
			}
			want[p] = best + sum
			if where[p] != int32(at) {
				t.Fatalf("the maximum of %d is at %d, not %d\n%s", p, at, where[p], text)
			}
		}
		if near(t, "o", sim.Download[float32](o), want, 1e-5, 1e-4); t.Failed() {
			t.Fatal(text)
		}
	}
	noConflicts(t, taken, needed)
}
