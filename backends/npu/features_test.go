package npu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

const ownKernels = "testdata/kernels.py"

// own compiles a kernel of testdata.
func own(t *testing.T, kernel, signature string) []byte {
	t.Helper()
	src, err := os.ReadFile(ownKernels)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := compile(t, ownKernels, src, kernel, signature, nil)
	if err != nil {
		t.Fatal(err)
	}
	return artifact
}

// filled is an array of n times x.
func filled(n int, x float64) []float64 {
	a := make([]float64, n)
	for i := range a {
		a[i] = x
	}
	return a
}

// integers are n numbers below limit.
func integers(r *rand.Rand, n, limit int) *array {
	a := &array{elem: "i32", data: make([]float64, n)}
	for i := range a.data {
		a.data[i] = float64(r.IntN(limit))
	}
	return a
}

// TestRanges has masks with both bounds, a condition about all elements, a factor, and
// addresses that go backward.
func TestRanges(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "ranges", "*fp32, *fp32, i32, i32, i32, i32, B=32")
	for _, n := range []int{2, 10 + r.IntN(60), 200} {
		lo, hi, stride := r.IntN(20)-5, 5+r.IntN(40), 1+r.IntN(3)
		x, out := random(t, r, "f32", 32*stride), blank("f32", 32)
		run(t, "ranges", artifact, [3]int{1, 1, 1}, x, out, i32(lo), i32(hi), i32(n), i32(stride))
		want := filled(32, untouched)
		for i := range 32 {
			v := float64(i)
			if i >= lo && i < hi && n > 3 {
				v = x.data[i*stride]
			}
			if 3*i <= n {
				want[31-i] = v
			}
		}
		near(t, "out", out.data, want, 0)
	}
}

func TestBlocks(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "blocks", "*fp16, *fp16, i32, i32, i32, i32, BM=16, BN=8")
	m, n := 17+r.IntN(15), 9+r.IntN(7)
	sm, sn := n+3, 1
	if r.IntN(2) == 0 {
		sm, sn = 1, m+1
	}
	x, out := random(t, r, "f16", (m+1)*(n+3)), blank("f16", m*n)
	run(t, "blocks", artifact, [3]int{2, 2, 1}, x, out, i32(m), i32(n), i32(sm), i32(sn))
	want := make([]float64, m*n)
	for i := range m {
		for k := range n {
			want[k*m+i] = x.data[i*sm+k*sn]
		}
	}
	near(t, "out", out.data, want, 0)
}

// TestIrregular has addresses that are loaded or remainders, and masks that are not a range.
func TestIrregular(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "irregular", "*fp32, *i32, *fp32, i32, B=64")
	n := 33 + r.IntN(31)
	x, index, out := random(t, r, "f32", 64), &array{elem: "i32"}, blank("f32", 64)
	for _, i := range r.Perm(64) {
		index.data = append(index.data, float64(i))
	}
	run(t, "irregular", artifact, [3]int{1, 1, 1}, x, index, out, i32(n))
	want := filled(64, untouched)
	for i := 0; i < n; i += 2 {
		at := int(index.data[i])
		v := -1.0
		if at%3 != 0 {
			v = x.data[at]
		}
		want[at] = float64(float32(v) + float32(x.data[i*7%n]))
	}
	near(t, "out", out.data, want, 0)
}

func TestReductions(t *testing.T) {
	r := newRand(t)
	for _, shape := range [][2]int{{8, 16}, {7, 13}, {1, 3 + r.IntN(40)}} {
		t.Run(fmt.Sprintf("%dx%d", shape[0], shape[1]), func(t *testing.T) { testReductions(t, r, shape[0], shape[1]) })
	}
}

// testReductions reduces a block of m rows and n columns, of any size.
func testReductions(t *testing.T, r *rand.Rand, m, n int) {
	artifact := own(t, "reductions", fmt.Sprintf("*fp32, *fp32, *fp32, *i32, *fp32, M=%d, N=%d", m, n))
	x := integers(r, m*n, 40) // with equal ones
	x.elem = "f32"
	sum, largest, at, all := blank("f32", n), blank("f32", m), blank("i32", m), blank("f32", 1)
	run(t, "reductions", artifact, [3]int{1, 1, 1}, x, sum, largest, at, all)
	sums, larges, ats, most := make([]float64, n), filled(m, -1), make([]float64, m), -1.0
	for i := range m {
		least := math.Inf(1)
		for k := range n {
			v := x.data[i*n+k]
			sums[k] += v
			larges[i] = max(larges[i], v)
			most = max(most, v)
			if v < least {
				least, ats[i] = v, float64(k)
			}
		}
	}
	near(t, "sum", sum.data, sums, 0)
	near(t, "max", largest.data, larges, 0)
	near(t, "argmin", at.data, ats, 0)
	near(t, "max of all", all.data, []float64{most}, 0)
}

func TestScans(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "scans", "*fp32, *fp32, *fp32, M=8, N=16")
	x, sum, back := integers(r, 128, 50), blank("f32", 128), blank("f32", 128)
	x.elem = "f32"
	run(t, "scans", artifact, [3]int{1, 1, 1}, x, sum, back)
	sums, backs := make([]float64, 128), make([]float64, 128)
	for i := range 8 {
		for k := range 16 {
			for l := range k + 1 {
				sums[i*16+k] += x.data[i*16+l]
			}
			for l := i; l < 8; l++ {
				backs[i*16+k] += x.data[l*16+k]
			}
		}
	}
	near(t, "sum", sum.data, sums, 0)
	near(t, "reverse sum", back.data, backs, 0)
}

// TestLoops has pointers and indices that loops and conditionals carry.
func TestLoops(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "loops", "*fp32, *fp32, i32, i32, B=16")
	steps := 1 + r.IntN(5)
	n := 16*steps - r.IntN(15)
	x, out := random(t, r, "f32", 128), blank("f32", 16)
	run(t, "loops", artifact, [3]int{1, 1, 1}, x, out, i32(n), i32(steps))
	want := make([]float64, 16)
	for i := range want {
		s := 0
		for k := range steps {
			if at := k*16 + i; at < n {
				want[i] += x.data[at]
			}
			if k%2 == 0 {
				want[i] += x.data[s]
				s += 2
			} else {
				want[i] *= 0.5
			}
		}
		for v := n; v > 3; v /= 2 {
			want[i]++
		}
	}
	near(t, "out", out.data, want, 1e-5)
}

func TestAtomics(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "atomics", "*fp32, *i32, *fp32, *fp32, *i32, *i32, i32, B=16")
	n := 17 + r.IntN(15)
	x, at := random(t, r, "f32", 32), integers(r, 32, 5)
	sum, largest := &array{elem: "f32", data: make([]float64, 5), out: true}, &array{elem: "f32", data: make([]float64, 5), out: true}
	lock, old := &array{elem: "i32", data: make([]float64, 2), out: true}, blank("i32", 2)
	run(t, "atomics", artifact, [3]int{2, 1, 1}, x, at, sum, largest, lock, old, i32(n))
	sums, larges := make([]float64, 5), make([]float64, 5)
	for i := range n {
		k := int(at.data[i])
		sums[k] += x.data[i]
		larges[k] = max(larges[k], x.data[i])
	}
	near(t, "sum", sum.data, sums, 1e-5)
	near(t, "max", largest.data, larges, 0)
	near(t, "lock", lock.data, []float64{2, 1}, 0)
	near(t, "old", old.data, []float64{0, 1}, 0)
}

// TestExtremes: atomic maxima and minima of floats give what was there before, and leave
// what a mask leaves out.
func TestExtremes(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "extremes", "*fp32, *fp32, *fp32, *fp32, *fp32, i32, B=16")
	n := 17 + r.IntN(15)
	x, largest, before, least, last := random(t, r, "f32", 32), random(t, r, "f32", 16), blank("f32", 32), random(t, r, "f32", 1), blank("f32", 2)
	largest.out, least.out = true, true
	wantLargest, wantBefore := slices.Clone(largest.data), slices.Clone(before.data)
	wantLeast, wantLast := slices.Clone(least.data), make([]float64, 2)
	run(t, "extremes", artifact, [3]int{2, 1, 1}, x, largest, before, least, last, i32(n))
	for i := range n {
		wantBefore[i] = wantLargest[i%16]
		wantLargest[i%16] = max(wantLargest[i%16], x.data[i])
	}
	for p := range 2 {
		wantLast[p] = wantLeast[0]
		wantLeast[0] = min(wantLeast[0], x.data[16*p])
	}
	near(t, "largest", largest.data, wantLargest, 0)
	near(t, "before", before.data, wantBefore, 0)
	near(t, "least", least.data, wantLeast, 0)
	near(t, "last", last.data, wantLast, 0)
}

func TestShapes(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "shapes", "*fp32, *fp32, *i32, M=4, N=8")
	x, out, bins := random(t, r, "f32", 32), blank("f32", 32), blank("i32", 4)
	run(t, "shapes", artifact, [3]int{1, 1, 1}, x, out, bins)
	joined := make([]float64, 32) // [2][4][4]
	counts := make([]float64, 4)
	for i := range 16 {
		a, b := x.data[2*i], x.data[2*i+1]
		joined[i], joined[16+i] = b, float64(float32(a)-float32(b))
		counts[int(a*2+2)]++
		counts[int(b*2+2)]++
	}
	want := make([]float64, 32)
	for i := range 4 {
		for k := range 8 {
			want[i*8+k] = float64(float32(joined[i*8+(k+3)%8]) + float32(k%4))
		}
	}
	near(t, "out", out.data, want, 1e-6)
	near(t, "histogram", bins.data, counts, 0)
}

// TestConstants has masks whose bounds are known, also such that leave nothing.
func TestConstants(t *testing.T) {
	r := newRand(t)
	for _, b := range [][2]int{{-3, 100}, {0, -5}, {0, 0}, {16, 20}, {40, 50}, {3, 9}, {9, 3}} {
		lo, hi := b[0], b[1]
		artifact := own(t, "constants", fmt.Sprintf("*fp32, *fp32, LO=%d, HI=%d, B=16", lo, hi))
		x, out := random(t, r, "f32", 16), blank("f32", 32)
		run(t, "constants", artifact, [3]int{1, 1, 1}, x, out)
		want := filled(32, untouched)
		for i := range 16 {
			want[i] = 2
			if i >= lo && i < hi {
				want[i] = x.data[i]
			}
			if i > lo && 2*i <= hi {
				want[16+i] = want[i]
			}
		}
		near(t, fmt.Sprint("out of ", b), out.data, want, 0)
	}
}

// TestWalk has pointers that while loops carry.
func TestWalk(t *testing.T) {
	r := newRand(t)
	const b = 16
	artifact := own(t, "walk", "*fp32, *fp32, i32, B=16")
	n := 1 + r.IntN(5*b)
	x, out := random(t, r, "f32", 8*b), blank("f32", b+1)
	run(t, "walk", artifact, [3]int{1, 1, 1}, x, out, i32(n))
	want := make([]float64, b+1)
	at := 0
	for ; at < n; at += b {
		for i := range b {
			if at+i < n {
				want[i] += x.data[at+i] * x.data[at]
			}
		}
	}
	want[b] = x.data[at]
	for i := range b {
		want[i] += 2*x.data[i] + x.data[2*i] // moved by 0, then by i
	}
	near(t, "out", out.data, want, 1e-5)
}

// TestStrides has indices that a while loop carries, and such whose strides change.
func TestStrides(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "strides", "*fp32, *fp32, i32, B=16")
	n := 1 + r.IntN(5)
	x, out := random(t, r, "f32", 128), blank("f32", 16)
	run(t, "strides", artifact, [3]int{1, 1, 1}, x, out, i32(n))
	want := make([]float64, 16)
	for i := range want {
		for k := range n {
			want[i] += x.data[k*16+i]
		}
		want[i] += x.data[i] + x.data[2*i] + x.data[4*i]
	}
	near(t, "out", out.data, want, 1e-5)
}

// TestWraps has remainders and quotients of indices, of negative numbers, too, in blocks
// that hold several quotients.
func TestWraps(t *testing.T) {
	r := newRand(t)
	const b, c, w, low = 32, 4, 40, 300 // up to 39 quotients with strides of 6
	artifact := own(t, "wraps", fmt.Sprintf("*fp32, *fp32, i32, i32, i32, i32, i32, B=%d, C=%d, W=%d", b, c, w))
	if strings.Contains(string(artifact), "memref.load") || strings.Contains(string(artifact), "memref.store") {
		t.Error("remainders are accessed element by element")
	}
	for _, start := range []int{0, 3 + r.IntN(30), -1 - r.IntN(30)} {
		n, by, stride := 1+r.IntN(40), 1+r.IntN(9), 4+r.IntN(3)
		x, out := random(t, r, "f32", 2*low), blank("f32", 2*b*c+2*w)
		run(t, "wraps", artifact, [3]int{1, 1, 1}, x, out, i32(low), i32(start), i32(n), i32(by), i32(stride))
		want := filled(len(out.data), untouched)
		for i := range b {
			at := start + i
			for k := range c {
				y := 0.5
				if at < n && k < 3 {
					y = x.data[low+at%by+at/by*stride+k]
				}
				want[i*c+k] = float64(float32(x.data[low+at%n*stride+k]) + float32(y))
				want[b*c+i*c+k] = float64(float32(x.data[low+at%n*stride+(start+k)%3]) + float32(at%n))
			}
			want[2*b*c+(at+b)%w*2] = float64(at)
		}
		near(t, fmt.Sprintf("out of start %d, n %d, w %d, stride %d", start, n, by, stride), out.data, want, 0)
	}
}

// TestBlockAtomics: atomic operations on blocks, in whole and in part, are transfers.
func TestBlockAtomics(t *testing.T) {
	r := newRand(t)
	for _, elem := range []string{"i32", "f32"} {
		typ := map[string]string{"i32": "*i32", "f32": "*fp32"}[elem]
		artifact := own(t, "block_atomics", typ+", "+typ+", "+typ+", i32, i32, M=4, N=16")
		m, n := 9+r.IntN(3), 9+r.IntN(7)
		x := integers(r, m*n, 100)
		for i := range x.data {
			x.data[i] -= 50
		}
		x.elem = elem
		sum := &array{elem: elem, data: make([]float64, 64), out: true}
		least := &array{elem: elem, data: make([]float64, 16), out: true}
		run(t, "block_atomics", artifact, [3]int{3, 1, 1}, x, sum, least, i32(m), i32(n))
		sums, mins := make([]float64, 64), make([]float64, 16)
		for i, v := range x.data {
			sums[i/n%4*16+i%n] += v
			mins[i%n] = min(mins[i%n], v)
		}
		near(t, "sum", sum.data, sums, 0)
		near(t, "least", least.data, mins, 0)
	}
}

// TestBins counts numbers of which some have no bin.
func TestBins(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "bins", "*i32, *i32, *i32, N=64, B=8")
	x, out, masked := integers(r, 64, 20), blank("i32", 8), blank("i32", 8)
	want, wantMasked := make([]float64, 8), make([]float64, 8)
	for i := range x.data {
		x.data[i] -= 6
		if v := int(x.data[i]); v >= 0 && v < 8 {
			want[v]++
			if v != 1 {
				wantMasked[v]++
			}
		}
	}
	run(t, "bins", artifact, [3]int{1, 1, 1}, x, out, masked)
	near(t, "out", out.data, want, 0)
	near(t, "masked", masked.data, wantMasked, 0)
}

// TestHF32 has the input precision that only NPUs have, which is computed in f32.
func TestHF32(t *testing.T) {
	r := newRand(t)
	const m, n, k = 13, 24, 37
	artifact := own(t, "hf32", fmt.Sprintf("*fp32, *fp32, *fp32, M=%d, N=%d, K=%d", m, n, k))
	a, b, out := random(t, r, "f32", m*k), random(t, r, "f32", k*n), blank("f32", m*n)
	run(t, "hf32", artifact, [3]int{1, 1, 1}, a, b, out)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				want[i*n+j] += a.data[i*k+l] * b.data[l*n+j]
			}
		}
	}
	near(t, "out", out.data, want, 1e-5)
}

// TestHalfMath calls functions of floats of 16 bits.
func TestHalfMath(t *testing.T) {
	r := newRand(t)
	for _, typ := range [][2]string{{"fp16", "f16"}, {"bf16", "bf16"}} {
		artifact := own(t, "half_math", "*"+typ[0]+", *"+typ[0]+", i32, B=23")
		n := 24 + r.IntN(40)
		x, out := random(t, r, typ[1], n), blank(typ[1], n)
		run(t, "half_math", artifact, [3]int{(n + 22) / 23, 1, 1}, x, out, i32(n))
		want := make([]float64, n)
		for i, v := range x.data {
			want[i] = 1/(1+math.Exp(-v)) + math.Sqrt(math.Abs(v))*math.Exp(v)
		}
		near(t, typ[0], out.data, want, map[string]float64{"fp16": 4e-3, "bf16": 3e-2}[typ[0]])
	}
}
