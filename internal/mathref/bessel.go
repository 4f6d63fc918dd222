package mathref

import (
	"math/big"
	"sync"
)

// BesselI is the modified Bessel function of the first kind of order n.
func BesselI(n int64, x *big.Float) *big.Float {
	half := scale(x, -1)
	z := mul(half, half)
	term := integer(1)
	for k := int64(1); k <= n; k++ {
		term = quo(mul(term, half), integer(k))
	}
	sum := num().Set(term)
	for k := int64(1); term.Sign() != 0; k++ {
		term = quo(mul(term, z), integer(k*(k+n)))
		if small(term, sum) {
			break
		}
		sum.Add(sum, term)
	}
	return sum
}

// besselFar is from where on the asymptotic series give all bits: their error is
// about e^-2x.
const besselFar = 110

// BesselJ is the Bessel function of the first kind of order n ≥ 0.
func BesselJ(n int64, x *big.Float) *big.Float {
	if float(x) < 0 {
		y := BesselJ(n, neg(x))
		if n%2 != 0 {
			y.Neg(y)
		}
		return y
	}
	switch {
	case float(x) < besselFar:
		return besselSeries(n, x, nil)
	case n <= 1:
		j, _ := hankel(n, x)
		return j
	}
	// Up from orders 0 and 1, which is stable while the order is below x.
	return recur(n, x, BesselJ(0, x), BesselJ(1, x))
}

// BesselY is the Bessel function of the second kind of order n ≥ 0; x ≥ 0.
func BesselY(n int64, x *big.Float) *big.Float {
	switch {
	case x.Sign() == 0:
		return num().SetInf(true)
	case x.Sign() < 0:
		return nil
	case n > 1:
		return recur(n, x, BesselY(0, x), BesselY(1, x))
	case float(x) >= besselFar:
		_, y := hankel(n, x)
		return y
	}
	// 2/π·((log x/2 + γ)·J₀ - Σ (-x²/4)^k·H_k/k!²), and for order 1
	// 2/π·(log x/2·J₁ - 1/x) - 1/π·Σ (-1)^k·(ψ(k+1)+ψ(k+2))·(x/2)^(2k+1)/(k!(k+1)!).
	l := add(Log(scale(x, -1)), euler())
	overPi := quo(integer(2), num().Set(Pi()))
	if n == 0 {
		harmonic := func(k int64, h *big.Float) *big.Float { return h }
		return mul(overPi, sub(mul(l, BesselJ(0, x)), besselSeries(0, x, harmonic)))
	}
	both := func(k int64, h *big.Float) *big.Float { // H_k + H_{k+1}
		p := h.Prec()
		inv := new(big.Float).SetPrec(p).Quo(big.NewFloat(1).SetPrec(p), new(big.Float).SetPrec(p).SetInt64(k+1))
		return inv.Add(inv, new(big.Float).SetPrec(p).Add(h, h))
	}
	rest := scale(besselSeries(1, x, both), -1)
	return mul(overPi, sub(sub(mul(l, BesselJ(1, x)), Inverse(x)), rest))
}

// recur is the function of order n by C(k+1) = 2k/x·C(k) - C(k-1).
func recur(n int64, x, c0, c1 *big.Float) *big.Float {
	for k := int64(1); k < n; k++ {
		c0, c1 = c1, sub(mul(quo(integer(2*k), x), c1), c0)
	}
	return c1
}

// besselSeries is Σ (-1)^k·w(k)·(x/2)^(2k+n)/(k!(n+k)!), where w sees the harmonic
// number H_k; nil stands for 1. The terms grow to e^x before they cancel: there are
// as many bits more.
func besselSeries(n int64, x *big.Float, w func(k int64, h *big.Float) *big.Float) *big.Float {
	prec := uint(Prec + 64 + int(3*float(x)))
	val := func() *big.Float { return new(big.Float).SetPrec(prec) }
	of := func(n int64) *big.Float { return val().SetInt64(n) }
	half := val().Quo(val().Set(x), of(2))
	z := val().Neg(val().Mul(half, half))
	term := of(1)
	for k := int64(1); k <= n; k++ {
		term.Quo(term.Mul(term, half), of(k))
	}
	sum, h := val(), val()
	most := term.MantExp(nil)
	for k := int64(0); ; k++ {
		if k > 0 {
			term.Quo(term.Mul(term, z), of(k*(k+n)))
			h.Add(h, val().Quo(of(1), of(k)))
		}
		most = max(most, term.MantExp(nil))
		if term.Sign() == 0 || term.MantExp(nil) < most-int(prec) {
			return num().Set(sum)
		}
		t := term
		if w != nil {
			t = val().Mul(term, w(k, h))
		}
		sum.Add(sum, t)
	}
}

// hankel is J and Y of order n for large x: √(2/πx)·(P·cos χ - Q·sin χ) and
// √(2/πx)·(P·sin χ + Q·cos χ) with χ = x - (n/2 + ¼)·π.
func hankel(n int64, x *big.Float) (j, y *big.Float) {
	p, q := hankelSeries(n, x)
	s, c := Sin(x), Cos(x)
	// √2·cos and √2·sin of χ for orders 0 and 1.
	cosine, sine := add(c, s), sub(s, c)
	if n == 1 {
		cosine, sine = sine, neg(cosine)
	}
	r := sqrt(Inverse(mul(num().Set(Pi()), x)))
	return mul(r, sub(mul(p, cosine), mul(q, sine))), mul(r, add(mul(p, sine), mul(q, cosine)))
}

// hankelSeries are the asymptotic series P and Q of order n, summed up to their
// least term.
func hankelSeries(n int64, x *big.Float) (p, q *big.Float) {
	p, q = integer(1), num()
	term := integer(1)
	for k := int64(1); ; k++ {
		m := 2*k - 1
		next := quo(mul(term, integer(4*n*n-m*m)), mul(integer(8*k), x))
		if next.MantExp(nil) > term.MantExp(nil) || small(next, p) {
			return p, q
		}
		term = next
		sum := q
		if k%2 == 0 {
			sum = p
		}
		if k/2%2 == 0 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
	}
}

// BesselPQ are P and Q of hankel, exactly: by the functions themselves where the
// series are not good enough.
func BesselPQ(n int64, x *big.Float) (p, q *big.Float) {
	if float(x) >= besselFar {
		return hankelSeries(n, x)
	}
	s, c := Sin(x), Cos(x)
	cosine, sine := add(c, s), sub(s, c)
	if n == 1 {
		cosine, sine = sine, neg(cosine)
	}
	j, y := BesselJ(n, x), BesselY(n, x)
	r := scale(sqrt(mul(num().Set(Pi()), x)), -1)
	return mul(r, add(mul(j, cosine), mul(y, sine))), mul(r, sub(mul(y, cosine), mul(j, sine)))
}

// BesselZero is the zero next to start of a Bessel function f of order n, whose
// derivative is f(n-1) - n/x·f(n); that of order 0, -f(1).
func BesselZero(f func(n int64, x *big.Float) *big.Float, n int64, start float64) *big.Float {
	return newton(New(start), func(x *big.Float) *big.Float { return f(n, x) }, func(x *big.Float) *big.Float {
		if n == 0 {
			return neg(f(1, x))
		}
		return sub(f(n-1, x), mul(quo(integer(n), x), f(n, x)))
	})
}

// euler is γ, by Brent and McMillan's formula: Σ H_k·(m^k/k!)²/Σ (m^k/k!)² - log m,
// which errs by e^-4m.
var euler = sync.OnceValue(func() *big.Float {
	const m = 80
	a, b, h, term := num(), integer(1), num(), integer(1)
	for k := int64(1); ; k++ {
		t := quo(integer(m), integer(k))
		term = mul(term, mul(t, t))
		if small(term, b) {
			return sub(quo(a, b), Log(integer(m)))
		}
		h = add(h, Inverse(integer(k)))
		a, b = add(a, mul(h, term)), add(b, term)
	}
})
