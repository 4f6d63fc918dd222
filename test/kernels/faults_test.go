package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// integer is an integer type of the language.
type integer struct {
	name   string // of arrays: u8
	triton string // tl.uint8
	bits   uint
	signed bool
}

var integers = []integer{
	{"u8", "uint8", 8, false},
	{"u16", "uint16", 16, false},
	{"u32", "uint32", 32, false},
	{"u64", "uint64", 64, false},
	{"i8", "int8", 8, true},
	{"i16", "int16", 16, true},
	{"i32", "int32", 32, true},
	{"i64", "int64", 64, true},
}

// wrap is the number of type t that has the low bits of v; of u64, its bits.
func (t integer) wrap(v int64) int64 {
	if t.signed {
		return v << (64 - t.bits) >> (64 - t.bits)
	}
	return int64(uint64(v) << (64 - t.bits) >> (64 - t.bits))
}

func (t integer) less(a, b int64) bool {
	if t.signed {
		return a < b
	}
	return uint64(a) < uint64(b)
}

func (t integer) compare(a, b int64) int {
	switch {
	case t.less(a, b):
		return -1
	case t.less(b, a):
		return 1
	}
	return 0
}

// divide is what `//` and `%` give: truncated toward zero.
func (t integer) divide(a, b int64) (quo, rem int64) {
	switch {
	case !t.signed:
		return int64(uint64(a) / uint64(b)), int64(uint64(a) % uint64(b))
	case b == -1:
		return t.wrap(-a), 0
	}
	return a / b, a % b
}

// random draws numbers whose leading bits are often alike: 0, 1, -1, the ends.
func (t integer) random(r *rand.Rand, n int) *array.Array {
	a := kerneltest.Zeros(t.name, n)
	for i := range n {
		v := r.Uint64() >> r.IntN(64)
		if r.IntN(2) == 0 {
			v = ^v
		}
		a.SetInt(i, t.wrap(int64(v)))
	}
	return a
}

// exactly compares integers of up to 64 bits.
func exactly(t *testing.T, what string, got *array.Array, want func(i int) int64) {
	t.Helper()
	for i := range got.Len() {
		if g, w := got.Int(i), want(i); g != w {
			t.Fatalf("%s: element %d is %d, want %d", what, i, g, w)
		}
	}
}

// TestIntegerSemantics: what Triton's language documents of integers of each width,
// signed and not: operations wrap in their own type, `//` and `%` truncate toward
// zero, shifts to the right keep the sign of signed numbers alone, comparisons,
// maximum and minimum know the sign, and conversions extend by it.
func TestIntegerSemantics(t *testing.T) {
	exprs := []struct {
		text string
		want func(t integer, a, b, s int64) int64
	}{
		{"a + b", func(_ integer, a, b, _ int64) int64 { return a + b }},
		{"a - b", func(_ integer, a, b, _ int64) int64 { return a - b }},
		{"a * b", func(_ integer, a, b, _ int64) int64 { return a * b }},
		{"a // b", func(t integer, a, b, _ int64) int64 { q, _ := t.divide(a, b); return q }},
		{"a % b", func(t integer, a, b, _ int64) int64 { _, m := t.divide(a, b); return m }},
		{"a << s", func(_ integer, a, _, s int64) int64 { return a << s }},
		{"a >> s", func(t integer, a, _, s int64) int64 {
			if t.signed {
				return a >> s
			}
			return int64(uint64(a) >> s)
		}},
		{"-a", func(_ integer, a, _, _ int64) int64 { return -a }},
		{"~a", func(_ integer, a, _, _ int64) int64 { return ^a }},
		{"a & b", func(_ integer, a, b, _ int64) int64 { return a & b }},
		{"a ^ b", func(_ integer, a, b, _ int64) int64 { return a ^ b }},
		{"tl.maximum(a, b)", func(t integer, a, b, _ int64) int64 { return slices.MaxFunc([]int64{a, b}, t.compare) }},
		{"tl.minimum(a, b)", func(t integer, a, b, _ int64) int64 { return slices.MinFunc([]int64{a, b}, t.compare) }},
		{"(a < b).to(T)", func(t integer, a, b, _ int64) int64 { return int64(boolBit(t.less(a, b))) }},
		{"(a >= b).to(T)", func(t integer, a, b, _ int64) int64 { return int64(boolBit(!t.less(a, b))) }},
		{"tl.cdiv(a, b)", func(t integer, a, b, _ int64) int64 { q, _ := t.divide(t.wrap(a+t.wrap(b-1)), b); return q }},
		{"tl.where(a > b, a, b)", func(t integer, a, b, _ int64) int64 { return slices.MaxFunc([]int64{a, b}, t.compare) }},
		{"a.to(tl.float64).to(T)", func(t integer, a, _, _ int64) int64 {
			if f := asFloat(t, a); t.signed || f < 1<<63 {
				return int64(f)
			}
			return int64(uint64(asFloat(t, a)))
		}},
	}
	for _, typ := range integers {
		t.Run(typ.name, func(t *testing.T) {
			const n, b = 101, 128
			var body strings.Builder
			for i, e := range exprs {
				fmt.Fprintf(&body, "    tl.store(out + %d * n + at, %s, mask=m)\n", i, strings.ReplaceAll(e.text, "T)", "tl."+typ.triton+")"))
			}
			for i, to := range integers {
				fmt.Fprintf(&body, "    tl.store(wide + %d * n + at, a.to(tl.%s).to(tl.int64), mask=m)\n", i, to.triton)
			}
			k := kerneltest.Kernel{Name: "k", Source: `import triton
import triton.language as tl


@triton.jit
def k(x, y, z, out, wide, n, B: tl.constexpr):
    at = tl.arange(0, B)
    m = at < n
    a = tl.load(x + at, mask=m, other=1)
    b = tl.load(y + at, mask=m, other=1)
    s = tl.load(z + at, mask=m, other=0)
` + body.String()}
			r := kerneltest.Rand(t)
			x, y, z := typ.random(r, n), typ.random(r, n), kerneltest.Randint(r, 0, int64(typ.bits-1), typ.name, n)
			for i := range n {
				if f := asFloat(typ, x.Int(i)); f >= math.Ldexp(1, 64) || typ.signed && f >= math.Ldexp(1, 63) {
					x.SetInt(i, 7) // rounds beyond the type's end
				}
				if y.Int(i) == 0 {
					y.SetInt(i, 3)
				}
				if typ.signed && y.Int(i) == -1 {
					y.SetInt(i, -3) // the least number by -1 has no quotient
				}
			}
			out, wide := kerneltest.Empty(typ.name, len(exprs)*n), kerneltest.Empty("i64", len(integers)*n)
			k.Run(t, kerneltest.Grid(1), x, y, z, out, wide, n, b)
			for i, e := range exprs {
				for j := range n {
					a, b, s := x.Int(j), y.Int(j), z.Int(j)
					if got, want := out.Int(i*n+j), typ.wrap(e.want(typ, a, b, s)); got != want {
						t.Fatalf("%s with a = %d, b = %d, s = %d is %d, want %d", e.text, a, b, s, got, want)
					}
				}
			}
			exactly(t, "converted", wide, func(i int) int64 { return integers[i/n].wrap(x.Int(i % n)) })
		})
	}
}

func boolBit(v bool) int {
	if v {
		return 1
	}
	return 0
}

func asFloat(t integer, v int64) float64 {
	if t.signed {
		return float64(v)
	}
	return float64(uint64(v))
}

// TestIntegerReductions: sums of integers narrower than 32 bits are of 32 bits of
// their sign, wider ones wrap; so are running sums. The largest, the least and the
// order of numbers know the sign.
func TestIntegerReductions(t *testing.T) {
	for _, typ := range integers {
		t.Run(typ.name, func(t *testing.T) {
			sum := typ
			if typ.bits < 32 {
				sum = integer{"u32", "uint32", 32, false}
				if typ.signed {
					sum = integer{"i32", "int32", 32, true}
				}
			}
			k := kerneltest.Kernel{Name: "k", Source: `import triton
import triton.language as tl


@triton.jit
def k(x, sums, ends, sorted, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(a, 0))
    tl.store(sums + B, tl.sum(a, 0))
    tl.store(ends, tl.max(a, 0))
    tl.store(ends + 1, tl.min(a, 0))
    tl.store(ends + 2, tl.argmax(a, 0).to(a.dtype))
    tl.store(sorted + at, tl.sort(a))
`}
			const n = 64
			x := typ.random(kerneltest.Rand(t), n)
			sums, ends, sorted := kerneltest.Empty(sum.name, n+1), kerneltest.Empty(typ.name, 3), kerneltest.Empty(typ.name, n)
			k.Run(t, kerneltest.Grid(1), x, sums, ends, sorted, n)
			in := x.Ints()
			exactly(t, "sums", sums, func(i int) (s int64) {
				for _, v := range in[:min(i+1, n)] {
					s += v
				}
				return sum.wrap(s)
			})
			most, least := slices.MaxFunc(in, typ.compare), slices.MinFunc(in, typ.compare)
			exactly(t, "ends", ends, func(i int) int64 { return []int64{most, least, int64(slices.Index(in, most))}[i] })
			slices.SortFunc(in, typ.compare)
			exactly(t, "sorted", sorted, func(i int) int64 { return in[i] })
		})
	}
}

// TestNaNs: maximum and max give the other operand unless propagate_nan says so,
// where chooses NaNs like numbers, comparisons with one are false but for !=, and
// reductions of booleans count or join them.
func TestNaNs(t *testing.T) {
	k := kerneltest.Kernel{Name: "k", Source: `import triton
import triton.language as tl


@triton.jit
def k(x, y, out, ends, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    b = tl.load(y + at)
    tl.store(out + at, tl.maximum(a, b))
    tl.store(out + B + at, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 2 * B + at, tl.where(a < b, a, b))
    tl.store(out + 3 * B + at, tl.where(a != a, b, a))
    tl.store(out + 4 * B + at, (a == b).to(tl.float32) + 2 * (a != b).to(tl.float32) + 4 * (a >= b).to(tl.float32))
    tl.store(ends, tl.max(a, 0))
    tl.store(ends + 1, tl.sum((a != a).to(tl.int32), 0))
    tl.store(ends + 2, tl.sum(a != a, 0))
    tl.store(ends + 3, tl.max((a != a).to(tl.int1).to(tl.int8), 0))
`}
	forWarps(t, k, func(t *testing.T, k kerneltest.Kernel) {
		const n = 128
		r := kerneltest.Rand(t)
		special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}
		draw := func() *array.Array {
			a := kerneltest.Randn(r, "fp32", n)
			for i := range n {
				if r.IntN(3) == 0 {
					a.Set(i, special[r.IntN(len(special))])
				}
			}
			a.Set(r.IntN(n), 1) // not all of them NaN
			return a
		}
		x, y := draw(), draw()
		out, ends := kerneltest.Empty("fp32", 5*n), kerneltest.Empty("fp32", 4)
		k.Run(t, kerneltest.Grid(1), x, y, out, ends, n)
		nan, most := 0, math.Inf(-1)
		kerneltest.Equal(t, "out", out, each(5*n, func(at int) float64 {
			a, b := x.At(at%n), y.At(at%n)
			switch at / n {
			case 0:
				if a != a {
					return b
				}
				if b != b {
					return a
				}
				return math.Max(a, b)
			case 1:
				if a != a || b != b {
					return math.NaN()
				}
				return math.Min(a, b)
			case 2:
				if a < b {
					return a
				}
				return b
			case 3:
				if a != a {
					return b
				}
				return a
			}
			return float64(boolBit(a == b) + 2*boolBit(a != b) + 4*boolBit(a >= b))
		}))
		for i := range n {
			if a := x.At(i); a != a {
				nan++
			} else {
				most = max(most, a)
			}
		}
		kerneltest.Equal(t, "ends", ends, []float64{most, float64(nan), float64(nan), float64(min(nan, 1))})
	})
}

// TestSortNaN: a sort keeps the larger or the lesser of two numbers by one comparison
// on each side, which a NaN fails on both: it takes its neighbor's place. Triton's
// sort does so, and ours is the same ttir.
func TestSortNaN(t *testing.T) {
	k := kerneltest.Kernel{Name: "k", Source: `import triton
import triton.language as tl


@triton.jit
def k(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.sort(tl.load(x + at)))
`}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{nan, 1}, []float64{nan, nan}},
		{[]float64{1, nan}, []float64{1, 1}},
		{[]float64{inf, -inf}, []float64{-inf, inf}},
	} {
		out := kerneltest.Empty("fp32", 2)
		k.Run(t, kerneltest.Grid(1), array.Of(array.Named("fp32"), c.in...), out, 2)
		kerneltest.Equal(t, fmt.Sprint(c.in), out, c.want)
	}
}

// TestWrapsBeforePointers: offsets of 32 bits are multiplied and added in 32 bits
// before they meet a pointer.
func TestWrapsBeforePointers(t *testing.T) {
	k := kerneltest.Kernel{Name: "k", Source: `import triton
import triton.language as tl


@triton.jit
def k(x, out, big, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + (at * big * 4 + at)))
    tl.store(out + B + at, (at + 2147483647).to(tl.int64))
`}
	const n = 64
	x, out := kerneltest.Randint(kerneltest.Rand(t), 0, 1000000, "i64", n), kerneltest.Empty("i64", 2*n)
	k.Run(t, kerneltest.Grid(1), x, out, 1<<30, n)
	exactly(t, "out", out, func(i int) int64 {
		if i < n {
			return x.Int(i)
		}
		return int64(int32(i-n) + math.MaxInt32)
	})
}

// TestShortDivisions: numbers of 32 and 16 bits divided as numbers of 64, one after
// another, the ends of the short types among them.
func TestShortDivisions(t *testing.T) {
	k := kerneltest.Kernel{Name: "k", Source: `import triton
import triton.language as tl


@triton.jit
def k(x, y, z, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    m = at < n
    a = tl.load(x + at, mask=m, other=1).to(tl.int64)
    b = tl.load(y + at, mask=m, other=1).to(tl.int64)
    c = tl.load(z + at, mask=m, other=1).to(tl.int64)
    tl.store(out + at, a // b, mask=m)
    tl.store(out + n + at, a % b, mask=m)
    tl.store(out + 2 * n + at, c // b, mask=m)
    tl.store(out + 3 * n + at, c % a, mask=m)
    tl.store(out + 4 * n + at, (a * a % b) // c, mask=m)
    tl.store(out + 5 * n + at, (at.to(tl.int64) * 77 // a) % b, mask=m)
    tl.store(out + 6 * n + at, ((a - b) % c) % b, mask=m)
    tl.store(out + 7 * n + at, (at.to(tl.int64) * 77 // a) // b, mask=m)
`}
	const n, block = 1009, 1024
	long, short := integer{"i32", "int32", 32, true}, integer{"i16", "int16", 16, true}
	r := kerneltest.Rand(t)
	x, y, z := long.random(r, n), long.random(r, n), short.random(r, n)
	for i := range n {
		switch i % 9 {
		case 0:
			x.SetInt(i, math.MinInt32)
			y.SetInt(i, -1)
		case 1:
			y.SetInt(i, math.MinInt32)
			z.SetInt(i, math.MinInt16)
		}
		for _, a := range []*array.Array{x, y, z} {
			if a.Int(i) == 0 {
				a.SetInt(i, -1)
			}
		}
	}
	out := kerneltest.Empty("i64", 8*n)
	k.Run(t, kerneltest.Grid(1), x, y, z, out, n, block)
	exactly(t, "out", out, func(i int) int64 {
		at := int64(i % n)
		a, b, c := x.Int(int(at)), y.Int(int(at)), z.Int(int(at))
		return []int64{a / b, a % b, c / b, c % a, a * a % b / c, at * 77 / a % b, (a - b) % c % b, at * 77 / a / b}[i/n]
	})
}
