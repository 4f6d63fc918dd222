package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// asinCore is asin(s) - s for 0 ≤ s ≤ ½ with z = s², of f64s.
func (k kit) asinCore(s, z llir.Value) llir.Value {
	return k.mul(k.mul(s, z), k.poly(z, asinDouble))
}

// halved is √((1-a)/2) with its error, for a above ½, else a itself, and its
// square.
func (k kit) halved(a, big llir.Value) (s pair, z llir.Value) {
	z = k.Select(big, k.fma(a, k.num(-0.5), k.num(0.5)), k.mul(a, a))
	root := k.sqrt(z)
	lost := k.div(k.nfma(root, root, z), k.add(root, root))
	lost = k.Select(k.equal(root, k.num(0)), k.num(0), lost)
	return pair{k.Select(big, root, a), k.Select(big, lost, k.num(0))}, z
}

// Asin is the arc sine; NaN beyond ±1.
func Asin(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).asin(x) }

func (k kit) asin(x llir.Value) llir.Value {
	if k.t == llir.F32 {
		return k.asinSingle(x)
	}
	a := k.abs(x)
	// Above ½: asin a = π/2 - 2·asin √((1-a)/2).
	big := k.FCmp(enum.FPredOGT, a, k.num(0.5))
	s, z := k.halved(a, big)
	p := k.asinCore(s.hi, z)
	half := k.halfPi()
	lead := k.sumOrdered(half.hi, k.mul(s.hi, k.num(-2)))
	far := k.add(lead.hi, k.add(k.fma(k.add(p, s.lo), k.num(-2), half.lo), lead.lo))
	return k.withSign(k.Select(big, far, k.add(s.hi, p)), x)
}

// Acos is the arc cosine; NaN beyond ±1.
func Acos(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).acos(x) }

func (k kit) acos(x llir.Value) llir.Value {
	if k.t == llir.F32 {
		return k.acosSingle(x)
	}
	a := k.abs(x)
	big := k.FCmp(enum.FPredOGT, a, k.num(0.5))
	s, z := k.halved(a, big)
	p := k.add(k.asinCore(s.hi, z), s.lo)
	// Above ½: 2·asin √((1-a)/2), or π less that for negative x.
	twice := k.mul(k.add(s.hi, p), k.num(2))
	half := k.halfPi()
	lead := k.sumOrdered(k.mul(half.hi, k.num(2)), k.mul(s.hi, k.num(-2)))
	left := k.add(lead.hi, k.add(k.fma(k.sub(half.lo, p), k.num(2), k.num(0)), lead.lo))
	negative := k.less(x, k.num(0))
	far := k.Select(negative, left, twice)
	lead = k.sumOrdered(half.hi, k.FNeg(x))
	near := k.add(lead.hi, k.add(k.sub(half.lo, k.withSign(p, x)), lead.lo))
	near = k.Select(negative, k.add(lead.hi, k.add(k.add(half.lo, p), lead.lo)), near)
	return k.Select(big, far, near)
}

// halfPi is π/2.
func (k kit) halfPi() pair { return k.constant(math.Pi/2, halfPiTail) }

// atanCore is atan s for 0 ≤ s ≤ 1.
func (k kit) atanCore(s llir.Value) pair {
	c := atanSingle
	if k.t == llir.F64 {
		c = atanDouble
	}
	z := k.mul(s, s)
	return pair{s, k.mul(k.mul(s, z), k.poly(z, c))}
}

// Atan is the arc tangent.
func Atan(b *llir.Builder, x llir.Value) llir.Value {
	return kitFor(b, x).atan(x)
}

func (k kit) atan(x llir.Value) llir.Value {
	a := k.abs(x)
	// Above 1: atan a = π/2 - atan 1/a.
	big := k.FCmp(enum.FPredOGT, a, k.num(1))
	c := k.moderate(a) // the arc tangent of 2^100 is π/2 to the last place
	r := k.inverse(c)
	if k.t == llir.F32 { // a step of Newton's method
		r = k.fma(k.nfma(c, r, k.num(1)), r, r)
	}
	p := k.atanCore(k.Select(big, r, a))
	half := k.halfPi()
	v := k.add(p.hi, p.lo)
	far := k.add(half.hi, k.sub(half.lo, v))
	return k.withSign(k.Select(big, far, v), x)
}

// Atan2 is the angle of the point (x, y), between -π and π.
func Atan2(b *llir.Builder, y, x llir.Value) llir.Value {
	k := kitFor(b, x)
	ay, ax := k.abs(y), k.abs(x)
	steep := k.less(ax, ay)
	low, high := k.Select(steep, ax, ay), k.Select(steep, ay, ax)
	q := k.div(low, high)
	q = k.Select(k.equal(high, k.num(0)), k.num(0), q)
	q = k.Select(k.And(k.equal(ax, k.inf()), k.equal(ay, k.inf())), k.num(1), q)
	p := k.atanCore(q)
	v := k.add(p.hi, p.lo)
	half := k.halfPi()
	v = k.Select(steep, k.add(half.hi, k.sub(half.lo, v)), v)
	left := k.add(k.mul(half.hi, k.num(2)), k.fma(half.lo, k.num(2), k.FNeg(v)))
	v = k.withSign(k.Select(k.negative(x), left, v), y)
	return k.Select(k.Or(k.isNaN(x), k.isNaN(y)), k.nan(), v)
}

func (k kit) sqrt(x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.sqrt."+k.name, llir.Pure, k.t, k.t), x)
}

// Log1p is log(1 + x), accurate for small x.
func Log1p(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).log1pOne(x) }

// log1pOne is Log1p; log1pOf adds a number of two parts.
func (k kit) log1pOne(x llir.Value) llir.Value {
	if k.t == llir.F32 {
		return k.log1pSingle(x)
	}
	u := k.add(k.num(1), x)
	// What the sum lost, in proportion, is what the logarithm lost.
	lost := k.Binary(llir.FSub, x, k.add(u, k.num(-1)), 0)
	l := k.log(u)
	special := k.Or(k.equal(u, k.inf()), k.equal(u, k.num(0)))
	y := k.Select(special, l, k.add(l, k.div(lost, u)))
	return k.Select(k.FCmp(enum.FPredOEQ, x, k.num(0)), x, y)
}

// Expm1 is e^x - 1, accurate for small x.
func Expm1(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	if k.t == llir.F32 {
		return k.expm1Single(x)
	}
	const least = -56.0
	n := k.round(k.mul(x, k.num(math.Log2E)))
	n = k.min(k.max(n, k.num(least)), k.num(float64(k.bias+1)))
	hi := k.ln2()
	r := k.fma(n, k.num(-hi), x)
	r = k.fma(n, k.num(-ln2Minus(hi)), r)
	p := k.fma(k.mul(r, r), k.poly(r, expDouble), r)
	// (2^n·(p + 1) - 1), halved, because 2^n may be too large itself.
	half := k.power(k.Sub(k.Freeze(k.Cast(llir.FPToSI, n, k.bits, 0)), k.int(1)))
	y := k.mul(k.fma(half, p, k.add(half, k.num(-0.5))), k.num(2))
	y = k.Select(k.FCmp(enum.FPredOLT, x, k.num(least*math.Ln2)), k.num(-1), y)
	y = k.Select(k.FCmp(enum.FPredOGT, x, k.num(float64(k.bias+1)*math.Ln2)), k.num(math.Inf(1)), y)
	y = k.Select(k.FCmp(enum.FPredOEQ, x, k.num(0)), x, y)
	return k.Select(k.FCmp(enum.FPredUNO, x, x), x, y)
}
