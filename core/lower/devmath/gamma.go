package devmath

import (
	"math"

	"github.com/tritonc/tritonc/core/llir"
)

// gammaLarge is from where on Stirling's series serves; arguments below are
// raised by as much.
const gammaLarge = 8

// raised is x(x+1)…(x+7) for 0 < x < 8.
func (k kit) raised(x llir.Value) pair {
	p := pair{x, k.num(0)}
	for i := 1; i < gammaLarge; i++ {
		s := k.sum(x, k.num(float64(i)))
		p = k.mulPair(p, s)
		p = k.sumOrdered(p.hi, p.lo)
	}
	return p
}

// stirling is log Γ(x) for x ≥ 8, as a pair.
func (k kit) stirling(x pair) pair {
	l := k.logPair(x.hi)
	// (x - ½)·log x - x + ½·log 2π + …
	h := k.sum(x.hi, k.num(-0.5))
	p := k.mulPair(pair{h.hi, k.add(h.lo, x.lo)}, l)
	s := k.sum(p.hi, k.FNeg(x.hi))
	r := k.div(k.num(1), x.hi)
	series := k.mul(r, k.poly(k.mul(r, r), stirlingDouble))
	const halfLog2Pi, tail = 0.9189385332046728, -3.8782941580672414e-17
	c := k.sum(k.num(halfLog2Pi), series)
	// That x.lo moves log x as well makes up for it in -x.
	s2 := k.sum(s.hi, c.hi)
	return pair{s2.hi, k.add(k.add(s2.lo, c.lo), k.add(s.lo, k.add(p.lo, k.num(tail))))}
}

// gammaPositive is Γ(x) for x > 0 as m·2^n; x at most 180.
func (k kit) gammaPositive(x llir.Value) (m pair, n llir.Value) {
	low := k.less(x, k.num(gammaLarge))
	safe := k.Select(low, x, k.num(1))
	up := k.sum(safe, k.num(gammaLarge))
	arg := pair{k.Select(low, up.hi, x), k.Select(low, up.lo, k.num(0))}
	g, n := k.expPair(k.stirling(arg))
	p := k.raised(safe)
	one := k.num(1)
	d := pair{k.Select(low, p.hi, one), k.Select(low, p.lo, k.num(0))}
	return k.quotient(g, d), n
}

// Tgamma is the gamma function.
func Tgamma(b *llir.Builder, x llir.Value) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value {
		a := k.abs(x)
		tiny := k.less(a, k.num(math.Ldexp(1, -60)))
		below := k.less(x, k.num(0))
		// Γ(x)·Γ(-x) = -π/(x·sin πx)
		c := k.min(k.Select(tiny, k.num(1), a), k.num(190))
		m, n := k.gammaPositive(c)
		y := k.times2(k.add(m.hi, m.lo), n)
		s := k.mul(Sinpi(k.Builder, a), a)
		reflected := k.div(k.num(-math.Pi), k.mul(s, k.add(m.hi, m.lo)))
		y = k.Select(below, k.times2(k.withSignOf(reflected, k.num(1)), k.FNeg(n)), y)
		y = k.Select(tiny, k.div(k.num(1), x), y)
		// At whole numbers below zero there is no value.
		pole := k.And(below, k.equal(k.trunc(x), x))
		y = k.Select(pole, k.nan(), y)
		y = k.Select(k.equal(x, k.inf()), k.inf(), y)
		return k.Select(k.isNaN(x), x, y)
	})
}

// Lgamma is log|Γ(x)|.
func Lgamma(b *llir.Builder, x llir.Value) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value {
		a := k.abs(x)
		y := k.lgammaPositive(a)
		// log|Γ(x)| = log(π/|x·sin πx|) - log Γ(|x|) below zero.
		s := k.mul(k.abs(Sinpi(k.Builder, a)), a)
		reflected := k.sub(k.num(1.1447298858494002), k.add(Log(k.Builder, s), y))
		y = k.Select(k.less(x, k.num(0)), reflected, y)
		// Near zero -log|x|, without overflow or the product's.
		y = k.Select(k.less(a, k.num(math.Ldexp(1, -60))), k.FNeg(Log(k.Builder, a)), y)
		whole := k.And(k.equal(k.trunc(x), x), k.less(x, k.num(0.5)))
		y = k.Select(whole, k.inf(), y)
		y = k.Select(k.equal(a, k.inf()), k.inf(), y)
		return k.Select(k.isNaN(x), x, y)
	})
}

// lgammaPositive is log Γ(x) for x > 0.
func (k kit) lgammaPositive(x llir.Value) llir.Value {
	// From 8 on Stirling's series. Below, x is moved to t + 2, t between -¾ and 1,
	// by the product of what is passed over: log Γ(2+t) = t·P(t).
	low := k.less(x, k.num(gammaLarge))
	safe := k.Select(low, k.num(gammaLarge), x)
	s := k.stirling(pair{safe, k.num(0)})
	large := k.add(s.hi, s.lo)
	// x·log x overflows before the sum; then no other term counts.
	huge := k.mul(safe, k.sub(k.logPair(safe).hi, k.num(1)))
	large = k.Select(k.less(k.num(1e20), x), huge, large)

	t, passed := k.sub(x, k.num(2)), k.num(1)
	var p llir.Value = passed
	for i := 3; i < gammaLarge; i++ { // down to [2, 3)
		over := k.FCmp(oge, x, k.num(float64(i)))
		p = k.Select(over, k.mul(p, k.sub(x, k.num(float64(i-2)))), p)
		t = k.Select(over, k.sub(x, k.num(float64(i))), t)
	}
	first := k.less(x, k.num(1.25))
	second := k.less(x, k.num(0.5))
	t = k.Select(first, k.sub(x, k.num(1)), t)
	t = k.Select(second, x, t)
	// Below 1¼ the logarithm counts negatively, of x or of x(x+1).
	q := k.Select(second, k.fma(x, x, x), k.Select(first, x, p))
	l := Log(k.Builder, q)
	l = k.Select(first, k.FNeg(l), l)
	small := k.fma(t, k.poly(t, lgammaDouble), l)
	return k.Select(low, small, large)
}
