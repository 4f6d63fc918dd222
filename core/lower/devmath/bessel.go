package devmath

import "github.com/tritonc/tritonc/core/llir"

// BesselI0 is the modified Bessel function of the first kind of order 0.
func BesselI0(b *llir.Builder, x llir.Value) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value {
		return k.besselI(x, k.num(1), besselI0Small, besselI0Large)
	})
}

// BesselI1 is the modified Bessel function of the first kind of order 1.
func BesselI1(b *llir.Builder, x llir.Value) llir.Value {
	return widely(b, x, func(k kit, x llir.Value) llir.Value {
		y := k.besselI(x, k.mul(k.abs(x), k.num(0.5)), besselI1Small, besselI1Large)
		return k.withSign(y, x)
	})
}

// besselI is first·P(x²/4) up to 8, e^|x|·Q(1/|x|)/√|x| above.
func (k kit) besselI(x, first llir.Value, small, large []float64) llir.Value {
	a := k.min(k.abs(x), k.num(750)) // infinite from 714 on
	low := k.less(a, k.num(8))
	z := k.Select(low, k.mul(k.mul(a, a), k.num(0.25)), k.num(0))
	near := k.mul(first, k.poly(z, small))
	far := k.Select(low, k.num(8), a)
	m, n := k.expPair(pair{far, k.num(0)})
	q := k.div(k.poly(k.div(k.num(1), far), large), k.sqrt(far))
	y := k.Select(low, near, k.times2(k.mul(k.add(m.hi, m.lo), q), n))
	return k.Select(k.isNaN(x), x, y)
}
