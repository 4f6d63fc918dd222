package mathref

import (
	"math"
	"math/big"
	"sync"
)

// Erf is the error function.
func Erf(x *big.Float) *big.Float {
	if a := math.Abs(float(x)); a > 3 {
		y := sub(integer(1), Erfc(abs(x)))
		if x.Sign() < 0 {
			y.Neg(y)
		}
		return y
	}
	// 2/√π·e^-x²·Σ 2ⁿx²ⁿ⁺¹/(2n+1)!!
	z := scale(mul(x, x), 1)
	sum, term := num().Set(x), num().Set(x)
	for k := int64(3); term.Sign() != 0; k += 2 {
		term = quo(mul(term, z), integer(k))
		if small(term, sum) {
			break
		}
		sum.Add(sum, term)
	}
	return mul(mul(sum, Exp(neg(mul(x, x)))), twoOverRootPi())
}

var twoOverRootPi = sync.OnceValue(func() *big.Float { return quo(integer(2), sqrt(num().Set(Pi()))) })

// Erfcx is e^x²·(1 - erf x).
func Erfcx(x *big.Float) *big.Float {
	if float(x) < 3 {
		return mul(Exp(mul(x, x)), sub(integer(1), Erf(x)))
	}
	// 1/√π · 1/(x + ½/(x + 1/(x + 3/2/(x + …))))
	f := float(x)
	y := num().Set(x)
	for k := 40 + int64(9000/(f*f)); k > 0; k-- {
		y = add(x, quo(scale(integer(k), -1), y))
	}
	return quo(scale(twoOverRootPi(), -1), y)
}

// Erfc is 1 - erf x.
func Erfc(x *big.Float) *big.Float {
	if float(x) < 3 {
		return sub(integer(1), Erf(x))
	}
	return mul(Erfcx(x), Exp(neg(mul(x, x))))
}

// Normcdf is the distribution function of the normal distribution.
func Normcdf(x *big.Float) *big.Float {
	return scale(Erfc(neg(quo(x, sqrt(integer(2))))), -1)
}

// newton improves an approximation of a root of f by Newton's method; slope is
// f's derivative.
func newton(y *big.Float, f, slope func(*big.Float) *big.Float) *big.Float {
	for range 8 {
		d := quo(f(y), slope(y))
		y = sub(y, d)
		if small(scale(d, Prec/2), y) {
			break
		}
	}
	return y
}

// Erfinv is the inverse of Erf.
func Erfinv(x *big.Float) *big.Float {
	switch c := abs(x).Cmp(integer(1)); {
	case c > 0:
		return nil
	case c == 0:
		return num().SetInf(x.Sign() < 0)
	case x.Sign() == 0:
		return num()
	}
	if a := float(x); math.Abs(a) < 0.9 {
		slope := func(y *big.Float) *big.Float { return mul(twoOverRootPi(), Exp(neg(mul(y, y)))) }
		start := New(math.Erfinv(a))
		if math.Abs(a) < 1e-9 {
			start = quo(x, twoOverRootPi())
		}
		return newton(start, func(y *big.Float) *big.Float { return sub(Erf(y), x) }, slope)
	}
	y := Erfcinv(sub(integer(1), abs(x)))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

// Erfcinv is the inverse of Erfc.
func Erfcinv(x *big.Float) *big.Float {
	switch {
	case x.Sign() < 0 || x.Cmp(integer(2)) > 0:
		return nil
	case x.Sign() == 0:
		return num().SetInf(false)
	case x.Cmp(integer(2)) == 0:
		return num().SetInf(true)
	}
	if d := sub(integer(1), x); math.Abs(float(d)) < 0.9 {
		return Erfinv(d)
	}
	if x.Cmp(integer(1)) > 0 {
		return neg(Erfcinv(sub(integer(2), x)))
	}
	// On log erfc, which is nearly a parabola.
	l := Log(x)
	start := math.Sqrt(-float(l))
	for range 50 {
		start = math.Sqrt(-float(l) - math.Log(start*math.Sqrt(math.Pi)*(1+0.5/(start*start))))
		if start < 1.2 {
			start = 1.2
		}
	}
	return newton(New(start),
		func(y *big.Float) *big.Float { return sub(sub(Log(Erfcx(y)), mul(y, y)), l) },
		func(y *big.Float) *big.Float { return neg(quo(twoOverRootPi(), Erfcx(y))) })
}

// Normcdfinv is the inverse of Normcdf.
func Normcdfinv(x *big.Float) *big.Float {
	y := Erfcinv(scale(x, 1))
	if y == nil || y.IsInf() {
		return y
	}
	return neg(mul(sqrt(integer(2)), y))
}

// bernoulli are the numbers B₂, B₄, …
var bernoulli = sync.OnceValue(func() []*big.Rat {
	const n = 80
	b := make([]*big.Rat, n+1)
	b[0] = big.NewRat(1, 1)
	for m := int64(1); m <= n; m++ {
		sum := new(big.Rat)
		c := big.NewInt(1) // (m+1 over k)
		for k := int64(0); k < m; k++ {
			sum.Add(sum, new(big.Rat).Mul(new(big.Rat).SetInt(c), b[k]))
			c = new(big.Int).Div(new(big.Int).Mul(c, big.NewInt(m+1-k)), big.NewInt(k+1))
		}
		b[m] = sum.Neg(sum.Quo(sum, new(big.Rat).SetInt64(m+1)))
	}
	var even []*big.Rat
	for m := 2; m <= n; m += 2 {
		even = append(even, b[m])
	}
	return even
})

// lgammaPositive is log Γ(x) for x > 0.
func lgammaPositive(x *big.Float) *big.Float {
	// Γ(x) = Γ(x+n)/(x(x+1)…(x+n-1)), Stirling's series for x+n.
	p := integer(1)
	for float(x) < 50 {
		p = mul(p, x)
		x = add(x, integer(1))
	}
	sum := sub(mul(sub(x, ratio(1, 2)), Log(x)), x)
	sum.Add(sum, scale(Log(scale(num().Set(Pi()), 1)), -1))
	x2, xp := mul(x, x), num().Set(x)
	for i, b := range bernoulli() {
		k := int64(2 * (i + 1))
		t := quo(quo(num().SetRat(b), integer(k*(k-1))), xp)
		if small(t, sum) {
			break
		}
		sum.Add(sum, t)
		xp = mul(xp, x2)
	}
	return sub(sum, Log(p))
}

// Lgamma is log|Γ(x)|.
func Lgamma(x *big.Float) *big.Float {
	if x.Sign() > 0 {
		return lgammaPositive(x)
	}
	if x.IsInt() {
		return num().SetInf(false)
	}
	// Γ(x)Γ(1-x) = π/sin πx
	return sub(Log(quo(num().Set(Pi()), abs(Sinpi(x)))), lgammaPositive(sub(integer(1), x)))
}

// Tgamma is Γ(x).
func Tgamma(x *big.Float) *big.Float {
	if x.Sign() > 0 {
		return Exp(lgammaPositive(x))
	}
	if x.IsInt() {
		return nil
	}
	return quo(num().Set(Pi()), mul(Sinpi(x), Exp(lgammaPositive(sub(integer(1), x)))))
}
