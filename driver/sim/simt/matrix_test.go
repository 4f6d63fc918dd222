package simt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// randomOperand fills a fragment with elements whose exponents spread over range
// spread of its type, and decodes it.
func randomOperand(r *rand.Rand, f *fragment, ty Type, width, k, spread int, special bool) {
	format, shift := mmaFormat(ty)
	most := 1<<format.exp - 1
	low := r.IntN(most - spread)
	if r.IntN(3) > 0 {
		low = (most - spread) / 2
	}
	*f = fragment{ty: ty, regs: width * k * ty.Bits() / 1024}
	for i := range f.regs {
		for l := range f.raw[i] {
			for j := 0; j < 32; j += ty.Bits() {
				v := r.Uint32()&(1<<format.mant-1) | uint32(low+r.IntN(spread))<<format.mant | r.Uint32()&1<<(format.mant+format.exp)
				switch n := r.IntN(400); {
				case n < 20:
					v &= 1 << (format.mant + format.exp)
				case n == 20 && special:
					v |= uint32(most) << format.mant
				}
				f.raw[i][l] |= v << shift << j
			}
		}
	}
	f.decode(width, k)
}

// element finds the encoding of element k of a line as the registers hold it.
func (f *fragment) element(width, line, k int) uint32 {
	_, shift := mmaFormat(f.ty)
	per := 32 / f.ty.Bits()
	r, col := k/(4*per), k%(4*per)
	if width == widthA {
		r = 2*r + line/8
	}
	v := f.raw[r][line%8*4+col/per] >> (col % per * f.ty.Bits())
	return v & uint32(1<<f.ty.Bits()-1) >> shift
}

// exactSum is a sum of products as matrixfloat.go tells it, in integers.
func exactSum(a, b *fragment, row, col, k int, c float32) float64 {
	type term struct {
		neg bool
		mag int64
		exp int // mag has 25 bits below that of this weight
	}
	var terms []term
	top := math.MinInt
	add := func(neg bool, mag int64, exp int) {
		if mag != 0 {
			terms = append(terms, term{neg, mag, exp})
			top = max(top, exp)
		}
	}
	part := func(v uint32, f *format) (bool, int64, int) {
		e, m := int(v>>f.mant)&(1<<f.exp-1), int64(v&(1<<f.mant-1))
		if e != 0 {
			m |= 1 << f.mant
		}
		return v>>(f.mant+f.exp) != 0, m, max(e, 1) - (1<<(f.exp-1) - 1)
	}
	fa, _ := mmaFormat(a.ty)
	fb, _ := mmaFormat(b.ty)
	for i := range k {
		sa, ma, ea := part(a.element(widthA, row, i), fa)
		sb, mb, eb := part(b.element(widthB, col, i), fb)
		add(sa != sb, ma*mb<<(alignBits-fa.mant-fb.mant), ea+eb)
	}
	sc, mc, ec := part(math.Float32bits(c), fmtF32)
	add(sc, mc<<(alignBits-fmtF32.mant), ec)
	sum := int64(0)
	for _, t := range terms {
		v := t.mag >> min(uint(top-t.exp), 63)
		if t.neg {
			v = -v
		}
		sum += v
	}
	if sum == 0 {
		return 0
	}
	return math.Ldexp(float64(sum), top-alignBits)
}

// testSums compares f, which may refuse tiles, with exact sums rounded toward zero,
// or to odd.
func testSums(t *testing.T, odd bool, f func(a, b *fragment, c, d *accumulator) bool) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 5))
	for _, c := range []struct {
		ty Type
		k  int
	}{{F16, 8}, {F16, 16}, {BF16, 8}, {BF16, 16}, {TF32, 4}, {TF32, 8}} {
		format, _ := mmaFormat(c.ty)
		done := 0
		const trials = 300
		for trial := range trials {
			spread := 1 + trial%(1<<format.exp-2)
			if trial%2 == 0 {
				spread = 1 + trial%30
			}
			var a, b fragment
			randomOperand(r, &a, c.ty, widthA, c.k, spread, false)
			randomOperand(r, &b, c.ty, widthB, c.k, spread, false)
			var from, to [4][mmaLanes]uint32
			for i := range from {
				for l := range from[i] {
					from[i][l] = math.Float32bits(float32(r.NormFloat64() * math.Ldexp(1, r.IntN(2*spread)-spread)))
					if r.IntN(10) == 0 {
						from[i][l] &= 1 << 31
					}
					if from[i][l]&0x7f800000 == 0x7f800000 {
						from[i][l] = 1
					}
				}
			}
			before, untouched := from, to
			src, dst := inMemory(&from), inMemory(&to)
			if trial%3 == 0 { // the results go to registers of c, in another order
				dst = accumulator{&from[2], &from[0], &from[3], &from[1]}
			}
			if !f(&a, &b, &src, &dst) {
				if from != before || to != untouched {
					t.Fatalf("%s k %d: a refused tile is changed", c.ty, c.k)
				}
				continue
			}
			done++
			for i := range dst {
				for l := range dst[i] {
					row, col := cPlace(l, i)
					x := exactSum(&a, &b, row, col, c.k, f32(before[i][l]))
					want := roundTo(x, fmtF32, RoundZero)
					if math.Abs(x) >= 0x1p128 {
						want = math.Float32bits(float32(math.Copysign(math.Inf(1), x)))
					}
					if odd && float64(f32(want)) != x {
						want |= 1
					}
					if got := dst[i][l]; got != want {
						t.Fatalf("%s k %d: element %d,%d is %08x, want %08x", c.ty, c.k, row, col, got, want)
					}
				}
			}
		}
		if done < trials/10 {
			t.Errorf("%s k %d: %d tiles of %d are done: the test compares too few", c.ty, c.k, done, trials)
		}
	}
}

// TestSums compares the scalar code with exact sums.
func TestSums(t *testing.T) {
	testSums(t, false, func(a, b *fragment, c, d *accumulator) bool {
		sum(&a.steps[0], &b.steps[0], c, d)
		return true
	})
}

// TestHalfSums compares dots with f16 accumulators, in vectors where this machine
// has them, with exact sums.
func TestHalfSums(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 7))
	m := &Mma{M: 16, N: 8, K: 16, AType: F16, BType: F16, CType: F16, DType: F16}
	st := new(mmaState)
	for trial := range 200 {
		var a, b fragment
		spread := 1 + trial%20
		randomOperand(r, &a, F16, widthA, m.K, spread, false)
		randomOperand(r, &b, F16, widthB, m.K, spread, false)
		var c, d [4][mmaLanes]uint32
		for i := range 2 {
			for l := range c[i] {
				c[i][l] = f32to16(float32(r.NormFloat64()*16)) | f32to16(float32(r.NormFloat64()*1e-5))<<16
			}
		}
		st.half(m, &a, &b, &c, &d)
		for i := range 2 {
			for l := range d[i] {
				for j := range 2 {
					row, col := l/4+8*i, l%4*2+j
					want := roundTo(exactSum(&a, &b, row, col, m.K, f16to32(c[i][l]>>(16*j)&0xffff)), fmtF16, RoundNearest)
					if got := d[i][l] >> (16 * j) & 0xffff; got != want {
						t.Fatalf("element %d,%d is %04x, want %04x", row, col, got, want)
					}
				}
			}
		}
	}
}

// TestDecode compares what the vector code makes of registers with the scalar
// code, and that with the encodings.
func TestDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 6))
	for _, c := range []struct {
		ty Type
		k  int
	}{{F16, 8}, {F16, 16}, {BF16, 8}, {BF16, 16}, {TF32, 4}, {TF32, 8}, {E4M3, 32}, {E5M2, 32}} {
		format, _ := mmaFormat(c.ty)
		special, wide := 0, 0
		for trial := range 200 {
			for _, width := range []int{widthA, widthB} {
				var f fragment
				randomOperand(r, &f, c.ty, width, c.k, 1+trial%(1<<format.exp-2), trial%4 == 0)
				g := f
				for i := range g.steps {
					clear(g.steps[i].val[:min(c.k, stepK)*width])
				}
				g.decodeOneByOne(width)
				if f.special != g.special || f.wide != g.wide {
					t.Fatalf("%s: special %v and wide %v in vectors, %v and %v one by one", c.ty, f.special, f.wide, g.special, g.wide)
				}
				if f.special {
					special++
				}
				if f.wide {
					wide++
				}
				for line := range width {
					for k := range c.k {
						step, at := 0, k*width+line
						if c.k > stepK {
							n := k>>2<<1 | k&1 | k&2<<3
							step, at = n/stepK, n%stepK*width+line
						}
						x, y := &f.steps[step], &g.steps[step]
						want := float32(widen(f.element(width, line, k), format))
						same := math.Float32bits(want) == math.Float32bits(y.val[at]) || want != want && y.val[at] != y.val[at]
						if !same || x.exp[at] != y.exp[at] || math.Float32bits(x.val[at]) != math.Float32bits(y.val[at]) && want == want {
							t.Fatalf("%s: element %d of line %d is %v 2^%d in vectors, %v 2^%d one by one, must be %v",
								c.ty, k, line, x.val[at], x.exp[at], y.val[at], y.exp[at], want)
						}
					}
				}
			}
		}
		if special == 0 || wide == 0 && format.exp == 8 {
			t.Errorf("%s: %d operands are special, %d wide: the test compares too few", c.ty, special, wide)
		}
	}
}
