package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// inDouble computes a function of f32s in f64 and rounds the result.
func inDouble(b *llir.Builder, f func(k kit, x []llir.Value) llir.Value, x ...llir.Value) llir.Value {
	wide := make([]llir.Value, len(x))
	for i, v := range x {
		wide[i] = b.Cast(llir.FPExt, v, llir.F64, 0)
	}
	return b.Cast(llir.FPTrunc, f(kitFor(b, wide[0]), wide), llir.F32, 0)
}

// widely computes a function of an f64, or of an f32 in f64.
func widely(b *llir.Builder, x llir.Value, f func(k kit, x llir.Value) llir.Value) llir.Value {
	if x.Type() == llir.F64 {
		return f(kitFor(b, x), x)
	}
	return inDouble(b, func(k kit, x []llir.Value) llir.Value { return f(k, x[0]) }, x)
}

// Exp10 is 10 to the power x.
func Exp10(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	if k.t == llir.F32 {
		return k.expSingle(x, log2of10/2)
	}
	limit := float64(k.bias) / 2
	s := k.min(k.max(x, k.num(-limit)), k.num(limit))
	m, n := k.expPair(k.timesPair(k.constant(math.Ln10, ln10Tail), s))
	return k.Select(k.isNaN(x), x, k.times2(k.add(m.hi, m.lo), n))
}

// Log10 is the logarithm to base 10.
func Log10(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).log10(x) }

func (k kit) log10(x llir.Value) llir.Value {
	if k.t == llir.F64 {
		p := k.mulPair(k.logPair(x), k.constant(math.Log10E, log10eTail))
		return k.logSpecial(x, k.add(p.hi, p.lo))
	}
	m, e := k.parts(x)
	f := k.add(m, k.num(-1))
	c := k.constant(log10of2, 0)
	return k.logSpecial(x, k.fma(e, c.hi, k.fma(e, c.lo, k.mul(f, k.poly(f, log10Single)))))
}

const (
	log10eTail = 1.098319650216765e-17
	log10of2   = 0.3010299956639812
	log2of10   = 3.321928094887362
)

// Pow is x to the power y, by logarithm and exponential in pairs.
func Pow(b *llir.Builder, x, y llir.Value) llir.Value { return kitFor(b, x).pow(x, y) }

func (k kit) pow(x, y llir.Value) llir.Value {
	whole := k.equal(k.trunc(y), y)
	halved := k.mul(y, k.num(0.5))
	odd := k.And(whole, k.FCmp(enum.FPredONE, k.trunc(halved), halved))
	return k.powSpecial(x, y, whole, odd, k.powAbs(x, pair{y, k.num(0)}))
}

// powAbs is |x|^y for |x| other than 1 and y other than 0.
func (k kit) powAbs(x llir.Value, y pair) llir.Value {
	if k.t == llir.F32 {
		return k.powAbsSingle(x, y)
	}
	size := k.abs(x)
	l := k.logPair(size)
	// At the ends the logarithm is infinite, and so is then the product.
	l.hi = k.Select(k.equal(size, k.inf()), size, l.hi)
	l.hi = k.Select(k.equal(size, k.num(0)), k.num(math.Inf(-1)), l.hi)
	p := k.timesPair(l, y.hi)
	if y.lo != k.num(0) {
		p.lo = k.fma(l.hi, y.lo, p.lo)
	}
	// Beyond every exponent the error term may not be a number.
	limit := float64(k.bias+60) * math.Ln2
	p.lo = k.Select(k.FCmp(enum.FPredUGT, k.abs(p.hi), k.num(limit)), k.num(0), p.lo)
	p.hi = k.max(k.min(p.hi, k.overflowing()), k.num(-limit))
	m, n := k.expPair(p)
	v := k.times2(k.add(m.hi, m.lo), n)
	return k.Select(k.FCmp(enum.FPredUNO, x, y.hi), k.nan(), v)
}

// powSpecial puts in what |x|^y is not: whole and odd say what y is.
func (k kit) powSpecial(x, y, whole, odd, p llir.Value) llir.Value {
	// A negative base: NaN unless y is an integer, negative where y is odd.
	p = k.Select(k.And(k.negative(x), odd), k.FNeg(p), p)
	finite := k.FCmp(enum.FPredOGT, x, k.num(math.Inf(-1)))
	nan := k.And(k.And(k.less(x, k.num(0)), finite), k.Not(whole))
	p = k.Select(nan, k.nan(), p)
	// 1 to any power, anything to the power 0, and -1 to an infinite one are 1.
	one := k.Or(k.equal(x, k.num(1)), k.equal(y, k.num(0)))
	one = k.Or(one, k.And(k.equal(x, k.num(-1)), k.equal(k.abs(y), k.inf())))
	return k.Select(one, k.num(1), p)
}

// Cbrt is the cube root, Rcbrt its inverse.
func Cbrt(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	m, n, r := k.inverseCbrt(x)
	// m·r² and one step of Newton's method with an exact remainder.
	y := k.prod(k.prod(m, r), r)
	y2 := k.product(y, y)
	rest := k.nfma(y2.lo, y, k.nfma(y2.hi, y, m))
	y = k.fma(k.prod(k.prod(rest, r), r), k.num(1./3), y)
	y = k.withSign(k.timesPower(y, n), x)
	return k.Select(k.atEnds(x), x, y)
}

// Rcbrt is 1/∛x.
func Rcbrt(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	m, n, r := k.inverseCbrt(x)
	r2 := k.product(r, r)
	r3 := k.timesPair(r2, r)
	e := k.nfma(m, r3.lo, k.nfma(m, r3.hi, k.num(1)))
	y := k.fma(k.prod(r, e), k.num(1./3), r)
	y = k.timesPower(y, k.Sub(k.int(0), n))
	y = k.Select(k.equal(x, k.num(0)), k.inf(), k.Select(k.equal(k.abs(x), k.inf()), k.num(0), y))
	return k.Select(k.isNaN(x), x, k.withSign(y, x))
}

// atEnds reports whether x is zero, infinite or NaN.
func (k kit) atEnds(x llir.Value) llir.Value {
	return k.Or(k.equal(x, k.num(0)), k.FCmp(enum.FPredUEQ, k.abs(x), k.inf()))
}

// inverseCbrt writes |x| = m·2^3n and gives r, nearly m^-⅓.
func (k kit) inverseCbrt(x llir.Value) (m, n, r llir.Value) {
	f, e := k.parts(k.abs(x))
	third := k.round(k.mul(e, k.num(1./3)))
	m = k.mul(f, k.power(k.integer(k.fma(third, k.num(-3), e))))
	// A line through the bits, right to 4 %, then steps that multiply the bits by
	// four.
	start := k.Binary(llir.UDiv, k.BitCast(m, k.bits), k.int(3), 0)
	magic := int64(math.Float64bits(1)/3*4) - int64(math.Ldexp(0.0345, 52))
	if k.t == llir.F32 {
		magic = int64(math.Float32bits(1)/3*4) - int64(math.Ldexp(0.0345, 23))
	}
	r = k.BitCast(k.Sub(k.int(magic), start), k.t)
	for range 2 {
		e := k.fma(k.mul(k.mul(r, r), k.FNeg(m)), r, k.num(1))
		r = k.fma(k.mul(r, e), k.fma(e, k.fma(e, k.num(14./81), k.num(2./9)), k.num(1./3)), r)
	}
	return m, k.integer(third), r
}

// normal scales the operands by a power of two, 2^-n, so that the greatest is
// near 1, and gives the sum of their squares.
func (k kit) normal(x []llir.Value) (sum, n llir.Value) {
	most := k.abs(x[0])
	for _, v := range x[1:] {
		most = k.max(most, k.abs(v))
	}
	exp := k.Sub(k.Binary(llir.LShr, k.BitCast(most, k.bits), k.int(int64(k.man)), 0), k.int(k.bias))
	low := k.int(-(k.bias - 2))
	exp = k.Select(k.ICmp(enum.IPredSLT, exp, low), low, exp)
	high := k.int(k.bias - 2)
	exp = k.Select(k.ICmp(enum.IPredSGT, exp, high), high, exp)
	scale := k.power(k.Sub(k.int(0), exp))
	for _, v := range x {
		v = k.mul(v, scale)
		if sum == nil {
			sum = k.mul(v, v)
		} else {
			sum = k.fma(v, v, sum)
		}
	}
	return sum, exp
}

// Hypot is √(Σx²) without overflow on the way; infinite where an operand is.
func Hypot(b *llir.Builder, x ...llir.Value) llir.Value { return kitFor(b, x[0]).hypot(x) }

func (k kit) hypot(x []llir.Value) llir.Value {
	sum, n := k.normal(x)
	return k.Select(k.anyInfinite(x), k.inf(), k.timesPower(k.safeRoot(sum), n))
}

// Rhypot is 1/√(Σx²).
func Rhypot(b *llir.Builder, x ...llir.Value) llir.Value { return kitFor(b, x[0]).rhypot(x) }

func (k kit) rhypot(x []llir.Value) llir.Value {
	sum, n := k.normal(x)
	r := k.inverseRoot(sum)
	// A step of Newton's method takes away the errors of root and quotient.
	p := k.product(sum, r)
	e := k.nfma(p.lo, r, k.nfma(p.hi, r, k.num(1)))
	better := k.fma(k.mul(r, k.num(0.5)), e, r)
	r = k.Select(k.equal(sum, k.num(0)), k.inf(), better)
	y := k.timesPower(r, k.Sub(k.int(0), n))
	return k.Select(k.anyInfinite(x), k.num(0), y)
}

func (k kit) anyInfinite(x []llir.Value) llir.Value {
	any := k.equal(k.abs(x[0]), k.inf())
	for _, v := range x[1:] {
		any = k.Or(any, k.equal(k.abs(v), k.inf()))
	}
	return any
}
