package devmath

import (
	"math"

	"github.com/tritonc/tritonc/core/llir"
)

// overflowing bounds arguments of exponentials: e^limit is infinite, and the
// integers on the way are not.
func (k kit) overflowing() llir.Value { return k.num(float64(k.bias+3) * math.Ln2) }

// halfExp is e^a/2 for a ≥ 0, infinite only where it must be.
func (k kit) halfExp(a llir.Value) llir.Value {
	if k.t == llir.F32 {
		quarter, p := k.scaledExpm1(k.least(a, 89.5), -2) // infinite from 89.42 on
		y := k.fma(quarter, p, quarter)
		return k.add(y, y)
	}
	m, n := k.expPair(pair{k.min(a, k.overflowing()), k.num(0)})
	return k.times2(k.add(m.hi, m.lo), k.add(n, k.num(-1)))
}

// quarterOver is ¼/h, which for a great h does not matter.
func (k kit) quarterOver(h llir.Value) llir.Value {
	return k.over(k.num(0.25), k.moderate(h))
}

// Sinh is the hyperbolic sine.
func Sinh(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).sinh(x) }

func (k kit) sinh(x llir.Value) llir.Value {
	c := sinhSingle
	if k.t == llir.F64 {
		c = sinhDouble
	}
	a := k.abs(x)
	z := k.mul(x, x)
	small := k.fma(k.mul(x, z), k.poly(z, c), x)
	h := k.halfExp(a)
	large := k.withSign(k.sub(h, k.quarterOver(h)), x)
	y := k.Select(k.less(a, k.num(1)), small, large)
	return k.Select(k.isNaN(x), x, y)
}

// Cosh is the hyperbolic cosine.
func Cosh(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).cosh(x) }

func (k kit) cosh(x llir.Value) llir.Value {
	h := k.halfExp(k.abs(x))
	return k.Select(k.isNaN(x), x, k.add(h, k.quarterOver(h)))
}

// tanhDouble is (e^2a - 1)/(e^2a + 1).
func (k kit) tanhDouble(x llir.Value) llir.Value {
	a := k.min(k.abs(x), k.num(22)) // 1 to the last place from 19.1 on
	n, r := k.expParts(pair{k.mul(a, k.num(2)), k.num(0)})
	p := k.expm1Core(r)
	scale := k.power(k.integer(n))
	t := k.sum(k.add(scale, k.num(-1)), k.mul(scale, p.hi)) // exact product
	t = k.sumOrdered(t.hi, k.fma(scale, p.lo, t.lo))
	d := k.sum(t.hi, k.num(2))
	q := k.quotient(t, pair{d.hi, k.add(d.lo, t.lo)})
	y := k.withSign(q.hi, x)
	return k.Select(k.less(k.abs(x), k.num(math.Ldexp(1, -28))), x, k.Select(k.isNaN(x), x, y))
}

// log1pOf is log(1 + x.hi + x.lo) for x ≥ 0.
func (k kit) log1pOf(x pair) llir.Value {
	u := k.sum(k.num(1), x.hi)
	y := k.add(k.log(u.hi), k.over(k.add(u.lo, x.lo), u.hi))
	// Log is no better than relative to x itself only above the last place of 1.
	return k.Select(k.equal(u.hi, k.num(1)), k.add(x.hi, x.lo), y)
}

// Asinh is the inverse of the hyperbolic sine.
func Asinh(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).asinh(x) }

func (k kit) asinh(x llir.Value) llir.Value {
	a := k.abs(x)
	// log(1 + w), w = a + a²/(1+√(1+a²)); beyond the root of the greatest number
	// log a + log 2.
	large := k.less(k.num(math.Ldexp(1, int(k.bias)/2-3)), a)
	safe := k.Select(large, k.num(1), a)
	z := k.prod(safe, safe)
	root := k.safeRoot(k.fma(safe, safe, k.num(1)))
	w := k.sum(safe, k.over(z, k.add(root, k.num(1))))
	y := k.log1pOf(w)
	y = k.Select(large, k.add(k.log(a), k.num(math.Ln2)), y)
	// Where a² is below the last place of 1, so is a³/6 below that of a.
	y = k.Select(k.less(a, k.num(math.Ldexp(1, -(k.man/2)-3))), a, y)
	return k.withSign(k.Select(k.isNaN(x), x, y), x)
}

// Acosh is the inverse of the hyperbolic cosine; NaN below 1.
func Acosh(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).acosh(x) }

func (k kit) acosh(x llir.Value) llir.Value {
	large := k.less(k.num(math.Ldexp(1, int(k.bias)/2-3)), x)
	d := k.add(k.Select(large, k.num(2), x), k.num(-1))
	// log(1 + d + √(d·(d+2)))
	w := k.sum(d, k.safeRoot(k.fma(d, d, k.add(d, d))))
	y := k.Select(large, k.add(k.log(x), k.num(math.Ln2)), k.log1pOf(w))
	return k.Select(k.less(x, k.num(1)), k.nan(), k.Select(k.isNaN(x), x, y))
}

// Atanh is the inverse of the hyperbolic tangent; infinite at ±1, NaN beyond.
func Atanh(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).atanh(x) }

func (k kit) atanh(x llir.Value) llir.Value {
	a := k.abs(x)
	d := k.sumOrdered(k.num(1), k.FNeg(a))
	q := k.quotient(pair{k.add(a, a), k.num(0)}, d)
	y := k.mul(k.log1pOf(q), k.num(0.5))
	y = k.Select(k.less(a, k.num(math.Ldexp(1, -(k.man/2)-3))), a, y)
	y = k.Select(k.equal(a, k.num(1)), k.inf(), y)
	y = k.Select(k.less(k.num(1), a), k.nan(), y)
	return k.withSign(k.Select(k.isNaN(x), x, y), x)
}
