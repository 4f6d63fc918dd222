package devmath

import (
	"math"

	"github.com/tritonc/tritonc/core/llir"
)

// Parts of functions of f32 that are in no need of twice the precision.

// nearest is the integer n nearest to x·scale, and that same sum's bits, of which
// the lowest are those of n: the sum with so great a number has no place for
// fractions. |x·scale| must be below 2^(man-1).
func (k kit) nearest(x llir.Value, scale float64) (n, bits llir.Value) {
	t := k.fma(x, k.num(scale), k.wholes())
	return k.sub(t, k.wholes()), k.BitCast(t, k.bits)
}

// powerOf is 2^n for the bits that nearest gives and a normal result.
func (k kit) powerOf(bits llir.Value) llir.Value {
	return k.BitCast(k.Add(k.Shl(bits, k.man), k.int(k.bias<<k.man)), k.t)
}

// wholeOf is the integer in the bits that nearest gives.
func (k kit) wholeOf(bits llir.Value) llir.Value {
	return k.Sub(bits, k.BitCast(k.wholes(), k.bits))
}

// timesFour is y·4^n for the bits that nearest gives, rounded once; 2n may be half as
// great again as exponents are.
func (k kit) timesFour(y, bits llir.Value) llir.Value {
	p := k.powerOf(bits)
	return k.mul(k.mul(y, p), p)
}

// least is the smaller of x and a number, NaN where x is.
func (k kit) least(x llir.Value, limit float64) llir.Value {
	return k.Call(k.M.Declare("llvm.minimum."+k.name, llir.Pure, k.t, k.t, k.t), x, k.num(limit))
}

// clamp is x between two numbers, NaN where it is.
func (k kit) clamp(x llir.Value, low, high float64) llir.Value {
	return k.least(k.Call(k.M.Declare("llvm.maximum."+k.name, llir.Pure, k.t, k.t, k.t), x, k.num(low)), high)
}

// expSingle is 4^(c·x) of f32s; x·c is written as n + r.
func (k kit) expSingle(x llir.Value, c float64) llir.Value {
	x = k.clamp(x, -76/c, 65/c)
	n, bits := k.nearest(x, c)
	hi := float64(float32(c))
	r := k.fma(x, k.num(hi), k.FNeg(n))
	if hi != c {
		r = k.fma(x, k.num(c-hi), r)
	}
	return k.timesFour(k.poly(r, exp4Single), bits)
}

// exp2Large is 2^x for f32s x ≥ 0, right until its inverse does not count beside 1.
func (k kit) exp2Large(x llir.Value) llir.Value {
	if k.hw != nil {
		return k.hw.Exp2(k.Builder, x)
	}
	x = k.least(x, 60)
	n, bits := k.nearest(x, 0.5)
	return k.timesFour(k.poly(k.fma(x, k.num(0.5), k.FNeg(n)), exp4Single), bits)
}

// moderate is x, but 2^100 where x is more and inverse could not take it.
func (k kit) moderate(x llir.Value) llir.Value {
	switch {
	case k.t == llir.F32:
		return k.least(x, 0x1p100)
	case k.hw == nil:
		return x
	}
	return k.Select(k.less(k.num(0x1p100), x), k.num(0x1p100), x)
}

// over is x/y, y as for inverse, to a place.
func (k kit) over(x, y llir.Value) llir.Value {
	if k.t == llir.F64 && k.hw == nil {
		return k.div(x, y)
	}
	r := k.inverse(y)
	q := k.prod(x, r)
	return k.fma(k.nfma(q, y, x), r, q)
}

// safeRoot is √x; of an f32 as for root.
func (k kit) safeRoot(x llir.Value) llir.Value {
	if k.t == llir.F64 {
		return k.sqrt(x)
	}
	return k.root(x)
}

// inverse is 1/x to a place or two, for x between 2^-100 and 2^100; of f64s, between
// 2^-1000 and 2^1000.
func (k kit) inverse(x llir.Value) llir.Value {
	switch {
	case k.t == llir.F64 && k.hw == nil:
		return k.div(k.num(1), x)
	case k.t == llir.F64: // two steps of Newton's method
		r := k.hw.InverseDouble(k.Builder, x)
		for range 2 {
			r = k.fma(k.nfma(x, r, k.num(1)), r, r)
		}
		return r
	case k.hw != nil:
		return k.hw.Inverse(k.Builder, x)
	}
	return k.Binary(llir.FDiv, k.num(1), x, llir.AFn)
}

// tanhSingle is a polynomial up to 0.8, then 1 - 2/(e^2a + 1).
func (k kit) tanhSingle(x llir.Value) llir.Value {
	a := k.abs(x)
	z := k.mul(x, x)
	near := k.fma(k.mul(k.poly(z, tanhSingle), z), x, x)
	e := k.exp2Large(k.mul(a, k.num(2*math.Log2E)))
	far := k.fma(k.inverse(k.add(e, k.num(1))), k.num(-2), k.num(1))
	return k.withSign(k.Select(k.less(a, k.num(0.8)), near, far), x)
}

// erfSingle is 1 - e^v, v = log erfc a being a polynomial, without loss where v is
// small.
func (k kit) erfSingle(x llir.Value) llir.Value {
	a := k.least(k.abs(x), 3.93)
	v := k.fma(a, k.poly(a, erfSingle), k.FNeg(a))
	n, bits := k.nearest(v, math.Log2E)
	r := k.fma(n, k.num(-math.Ln2), v)
	s := k.powerOf(bits)
	p := k.fma(k.mul(r, r), k.poly(r, expm1Single), r)
	return k.withSign(k.nfma(s, p, k.sub(k.num(1), s)), x)
}

// log1pSingle is log m + e·ln 2 for 1 + x = m·2^e, with x·2^-e + (2^-e - 1) for
// m - 1: what the sum 1 + x loses does not matter.
func (k kit) log1pSingle(x llir.Value) llir.Value {
	u := k.add(x, k.num(1))
	n := k.exponentAbove(k.BitCast(u, k.bits))
	// By way of 2^(2-e), because 2^-e may be subnormal.
	scale := k.mul(k.BitCast(k.Sub(k.BitCast(k.num(4), k.bits), n), k.t), k.num(0.25))
	f := k.fma(x, scale, k.add(scale, k.num(-1)))
	y := k.fma(k.mul(f, f), k.poly(f, logSingle), f)
	y = k.fma(k.Cast(llir.SIToFP, n, k.t, 0), k.num(math.Ldexp(math.Ln2, -23)), y)
	return k.withSign(k.logSpecial(u, y), x)
}

// expm1Parts gives e^x as 2^n·(p + 1), n being what the bits end in as nearest's do.
func (k kit) expm1Parts(x pair) (bits, p llir.Value) {
	n, bits := k.nearest(x.hi, math.Log2E)
	hi := k.ln2()
	r := k.fma(n, k.num(-hi), x.hi)
	r = k.fma(n, k.num(-ln2Minus(hi)), r)
	if x.lo != k.num(0) {
		r = k.add(r, x.lo)
	}
	return bits, k.fma(k.mul(r, r), k.poly(r, expm1Single), r)
}

// scaledExpm1 gives e^x·2^m as scale·(p + 1), scale a power of two and normal.
func (k kit) scaledExpm1(x llir.Value, m int64) (scale, p llir.Value) {
	bits, p := k.expm1Parts(pair{x, k.num(0)})
	return k.BitCast(k.Add(k.Shl(bits, k.man), k.int((k.bias+m)<<k.man)), k.t), p
}

// expm1Single is e^x - 1.
func (k kit) expm1Single(x llir.Value) llir.Value {
	// Halved, because 2^n may be too large itself.
	half, p := k.scaledExpm1(k.clamp(x, -18, 88.8), -1)
	y := k.fma(half, p, k.add(half, k.num(-0.5)))
	return k.withSign(k.add(y, y), x)
}

// arcSingle is asin s in two parts, s and the rest; s is √((1-a)/2) where big holds,
// else a.
func (k kit) arcSingle(a, big llir.Value) (s, rest llir.Value) {
	z := k.Select(big, k.fma(a, k.num(-0.5), k.num(0.5)), k.mul(a, a))
	s = k.Select(big, k.root(z), a)
	return s, k.mul(k.mul(s, z), k.poly(z, asinSingle))
}

// root is √z of f32s that are zero or at least 2^-100; NaN below.
func (k kit) root(z llir.Value) llir.Value {
	r := k.inverseRoot(z)
	s := k.mul(z, r)
	s = k.fma(k.nfma(s, s, z), k.mul(r, k.num(0.5)), s)
	return k.Select(k.equal(z, k.num(0)), z, s)
}

// inverseRoot is 1/√z to a place or two, of f32s that are at least 2^-100; NaN below
// zero.
func (k kit) inverseRoot(z llir.Value) llir.Value {
	if k.t == llir.F32 && k.hw != nil {
		return k.hw.InverseRoot(k.Builder, z)
	}
	var flags llir.Flags
	if k.t == llir.F32 {
		flags = llir.AFn
	}
	return k.Binary(llir.FDiv, k.num(1), k.sqrt(z), flags)
}

// arcLimit is up to where asinSingle's polynomial serves: a bit more than sin ½, so
// that the arc of √((1-a)/2) is below ½.
const arcLimit = 0.5405

// asinSingle is π/2 - 2·asin √((1-a)/2) above that.
func (k kit) asinSingle(x llir.Value) llir.Value {
	a := k.abs(x)
	big := k.less(k.num(arcLimit), a)
	s, rest := k.arcSingle(a, big)
	half := k.halfPi()
	// Twice the arc is below 1, so that its rounding counts no more than the sum's.
	far := k.sub(half.hi, k.fma(s, k.num(2), k.fma(rest, k.num(2), k.FNeg(half.lo))))
	return k.withSign(k.Select(big, far, k.add(s, rest)), x)
}

// acosSingle is twice the arc above the limit, π less that below its negative, else
// π/2 - asin x.
func (k kit) acosSingle(x llir.Value) llir.Value {
	a := k.abs(x)
	big := k.less(k.num(arcLimit), a)
	s, rest := k.arcSingle(a, big)
	v := k.add(s, rest)
	half := k.halfPi()
	negative := k.less(x, k.num(0))
	twice := k.add(v, v)
	left := k.add(k.sub(k.mul(half.lo, k.num(2)), twice), k.mul(half.hi, k.num(2)))
	near := k.add(k.sub(half.lo, k.withSign(v, x)), half.hi)
	return k.Select(big, k.Select(negative, left, twice), near)
}

// log2Pair is log2 of a positive finite f32, to about 2^-30.
func (k kit) log2Pair(x llir.Value) pair {
	m, e := k.parts(x)
	f := k.add(m, k.num(-1))
	r := k.inverse(k.add(m, k.num(1)))
	// s = f/(2+f), and what it lacks.
	s := k.prod(f, r)
	low := k.mul(k.nfma(s, f, k.fma(s, k.num(-2), f)), r)
	z := k.mul(s, s)
	c := k.constant(2*math.Log2E, 0)
	lead := k.product(s, c.hi)
	// The slope at s is 2/(1-s²).
	rest := k.fma(low, k.fma(z, c.hi, c.hi), k.fma(s, c.lo, lead.lo))
	rest = k.fma(k.mul(s, z), k.poly(z, log2TailSingle), rest)
	sum := k.sumOrdered(e, lead.hi)
	return k.sumOrdered(sum.hi, k.add(sum.lo, rest))
}

// powAbsSingle is |x|^y as powAbs.
func (k kit) powAbsSingle(x llir.Value, y pair) llir.Value {
	size := k.abs(x)
	l := k.log2Pair(size)
	// At the ends the logarithm is infinite or NaN, and so is then the product.
	l.hi = k.Select(k.less(size, k.inf()), l.hi, size)
	l.hi = k.Select(k.equal(size, k.num(0)), k.num(math.Inf(-1)), l.hi)
	p := k.timesPair(l, y.hi)
	if y.lo != k.num(0) {
		p.lo = k.fma(l.hi, y.lo, p.lo)
	}
	// Beyond every exponent the error term may not be a number.
	const limit = 180
	p.lo = k.Select(k.less(k.num(limit), k.abs(p.hi)), k.num(0), p.lo)
	p.hi = k.clamp(p.hi, -limit, limit)
	n, bits := k.nearest(p.hi, 0.5)
	r := k.fma(p.lo, k.num(0.5), k.fma(p.hi, k.num(0.5), k.FNeg(n)))
	return k.timesFour(k.poly(r, exp4Single), bits)
}
