package mathref

import (
	"math"
	"math/big"
	"sync"
)

// Prec is the working precision in bits.
const Prec = 256

// New is a number of the working precision.
func New(x float64) *big.Float { return new(big.Float).SetPrec(Prec).SetFloat64(x) }

func num() *big.Float                      { return new(big.Float).SetPrec(Prec) }
func integer(n int64) *big.Float           { return num().SetInt64(n) }
func ratio(a, b int64) *big.Float          { return num().Quo(integer(a), integer(b)) }
func add(x, y *big.Float) *big.Float       { return num().Add(x, y) }
func sub(x, y *big.Float) *big.Float       { return num().Sub(x, y) }
func mul(x, y *big.Float) *big.Float       { return num().Mul(x, y) }
func quo(x, y *big.Float) *big.Float       { return num().Quo(x, y) }
func neg(x *big.Float) *big.Float          { return num().Neg(x) }
func scale(x *big.Float, e int) *big.Float { return num().SetMantExp(x, e) }
func sqrt(x *big.Float) *big.Float         { return num().Sqrt(x) }
func abs(x *big.Float) *big.Float          { return num().Abs(x) }

func float(x *big.Float) float64 {
	f, _ := x.Float64()
	return f
}

// small reports whether term no longer matters beside sum.
func small(term, sum *big.Float) bool {
	return term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-Prec-4
}

// longPrec is enough of π to reduce the largest double.
const longPrec = 1024 + 2*Prec

// Pi is π with more bits than the working precision.
var Pi = sync.OnceValue(func() *big.Float {
	// Machin: π/4 = 4 atan 1/5 - atan 1/239.
	inverse := func(n int64) *big.Float {
		one := new(big.Float).SetPrec(longPrec + 32).SetInt64(1)
		p := new(big.Float).Quo(one, new(big.Float).SetInt64(n))
		n2 := new(big.Float).SetPrec(longPrec + 32).SetInt64(n * n)
		sum := new(big.Float).Copy(p)
		for k := int64(3); ; k += 2 {
			p.Quo(p, n2)
			p.Neg(p)
			t := new(big.Float).Quo(p, new(big.Float).SetInt64(k))
			if t.MantExp(nil) < -longPrec-30 {
				return sum
			}
			sum.Add(sum, t)
		}
	}
	a := inverse(5)
	a.SetMantExp(a, 2)
	a.Sub(a, inverse(239))
	return a.SetMantExp(a, 2)
})

// Ln2 is the natural logarithm of 2.
var Ln2 = sync.OnceValue(func() *big.Float { // 2·artanh 1/3
	sum, p := num(), ratio(2, 3)
	for k := int64(1); ; k += 2 {
		t := quo(p, integer(k))
		sum.Add(sum, t)
		if small(t, sum) {
			return sum
		}
		p.Quo(p, integer(9))
	}
})

var ln10 = sync.OnceValue(func() *big.Float { return Log(integer(10)) })

// Exp is e^x.
func Exp(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return integer(1)
	}
	n := int(math.Round(float(x) / math.Ln2))
	const halvings = 12
	r := scale(sub(x, mul(integer(int64(n)), Ln2())), -halvings)
	sum, term := integer(1), integer(1)
	for k := int64(1); ; k++ {
		term = quo(mul(term, r), integer(k))
		if small(term, sum) {
			break
		}
		sum.Add(sum, term)
	}
	// Squaring e^r - 1, not e^r, keeps the bits of small results.
	m := sub(sum, integer(1))
	for range halvings {
		m = mul(m, add(m, integer(2)))
	}
	return scale(add(m, integer(1)), n)
}

// Expm1 is e^x - 1.
func Expm1(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return num()
	}
	if x.MantExp(nil) > -4 {
		return sub(Exp(x), integer(1))
	}
	sum, term := num().Set(x), num().Set(x)
	for k := int64(2); ; k++ {
		term = quo(mul(term, x), integer(k))
		if small(term, sum) {
			return sum
		}
		sum.Add(sum, term)
	}
}

// Log is the natural logarithm.
func Log(x *big.Float) *big.Float {
	switch {
	case x.Sign() < 0:
		return nil
	case x.Sign() == 0:
		return num().SetInf(true)
	}
	m := num()
	e := x.MantExp(m)
	if float(m) < math.Sqrt2/2 {
		m = scale(m, 1)
		e--
	}
	// 2·artanh((m-1)/(m+1)), after three square roots where m is not near 1.
	d := sub(m, integer(1))
	roots := 0
	if d.Sign() != 0 && d.MantExp(nil) > -20 {
		for ; roots < 4; roots++ {
			m = sqrt(m)
		}
		d = sub(m, integer(1))
	}
	s := quo(d, add(m, integer(1)))
	s2 := mul(s, s)
	sum, p := num().Set(s), num().Set(s)
	for k := int64(3); s.Sign() != 0; k += 2 {
		p = mul(p, s2)
		t := quo(p, integer(k))
		if small(t, sum) {
			break
		}
		sum.Add(sum, t)
	}
	return add(scale(sum, 1+roots), mul(integer(int64(e)), Ln2()))
}

// Log1p is log(1 + x).
func Log1p(x *big.Float) *big.Float {
	wide := new(big.Float).SetPrec(1400)
	u := wide.Add(wide.SetInt64(1), x)
	if x.Sign() == 0 || u.Sign() <= 0 {
		return Log(num().Set(u))
	}
	if x.MantExp(nil) > -20 {
		return Log(add(integer(1), x))
	}
	// x - x²/2 + …
	sum, p := num().Set(x), num().Set(x)
	for k := int64(2); ; k++ {
		p = neg(mul(p, x))
		t := quo(p, integer(k))
		if small(t, sum) {
			return sum
		}
		sum.Add(sum, t)
	}
}

// Log2 and Log10 are logarithms to bases 2 and 10.
func Log2(x *big.Float) *big.Float  { return over(Log(x), Ln2()) }
func Log10(x *big.Float) *big.Float { return over(Log(x), ln10()) }

func over(x, y *big.Float) *big.Float {
	if x == nil || x.IsInf() {
		return x
	}
	return quo(x, y)
}

// Exp2 and Exp10 are powers of 2 and 10.
func Exp2(x *big.Float) *big.Float  { return Exp(mul(x, Ln2())) }
func Exp10(x *big.Float) *big.Float { return Exp(mul(x, ln10())) }

// Pow is x^y for positive x.
func Pow(x, y *big.Float) *big.Float {
	l := Log(x)
	if l == nil || l.IsInf() {
		return nil
	}
	return Exp(mul(l, y))
}

// Cbrt is the cube root.
func Cbrt(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return num()
	}
	m := num()
	e := x.MantExp(m)
	for e%3 != 0 {
		m, e = scale(m, -1), e+1
	}
	y := New(math.Cbrt(float(m)))
	for range 3 {
		y = quo(add(scale(y, 1), quo(m, mul(y, y))), integer(3))
	}
	return scale(y, e/3)
}

// quadrant splits x·(π/2)/unit into a multiple n of π/2 and a remainder.
func quadrant(x *big.Float, pi *big.Float) (r *big.Float, n int) {
	wide := func() *big.Float { return new(big.Float).SetPrec(longPrec) }
	half := wide().SetMantExp(pi, -1)
	q := wide().Quo(wide().Set(x), half)
	q.Add(q, wide().SetFloat64(math.Copysign(0.5, float(x))))
	i, _ := q.Int(nil)
	rest := wide().Sub(wide().Set(x), wide().Mul(wide().SetInt(i), half))
	return num().Set(rest), int(new(big.Int).And(i, big.NewInt(3)).Int64())
}

// sinSmall and cosSmall are for |x| ≤ 1.
func sinSmall(x *big.Float) *big.Float { return alternating(num().Set(x), mul(x, x), 2) }
func cosSmall(x *big.Float) *big.Float { return alternating(integer(1), mul(x, x), 1) }

func alternating(first, z *big.Float, k int64) *big.Float {
	sum, term := num().Set(first), first
	for ; ; k += 2 {
		term = quo(neg(mul(term, z)), integer(k*(k+1)))
		if small(term, sum) {
			return sum
		}
		sum.Add(sum, term)
	}
}

func turn(r *big.Float, n int) *big.Float {
	var y *big.Float
	if n&1 == 0 {
		y = sinSmall(r)
	} else {
		y = cosSmall(r)
	}
	if n&2 != 0 {
		y.Neg(y)
	}
	return y
}

// Sin is the sine of x in radians.
func Sin(x *big.Float) *big.Float {
	r, n := quadrant(x, Pi())
	return turn(r, n)
}

// Cos is the cosine of x in radians.
func Cos(x *big.Float) *big.Float {
	r, n := quadrant(x, Pi())
	return turn(r, n+1)
}

// Tan is the tangent of x in radians.
func Tan(x *big.Float) *big.Float { return quo(Sin(x), Cos(x)) }

// Sinpi is sin πx, Cospi cos πx.
func Sinpi(x *big.Float) *big.Float {
	r, n := quadrant(x, integer(1))
	return turn(mul(r, Pi()), n)
}

// Cospi is cos πx.
func Cospi(x *big.Float) *big.Float {
	r, n := quadrant(x, integer(1))
	return turn(mul(r, Pi()), n+1)
}

// Atan is the arc tangent.
func Atan(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return num()
	}
	a := abs(x)
	flip := a.Cmp(integer(1)) > 0
	if flip {
		a = quo(integer(1), a)
	}
	const halvings = 4
	for range halvings {
		a = quo(a, add(integer(1), sqrt(add(integer(1), mul(a, a)))))
	}
	z := neg(mul(a, a))
	sum, p := num().Set(a), num().Set(a)
	for k := int64(3); ; k += 2 {
		p = mul(p, z)
		t := quo(p, integer(k))
		if small(t, sum) {
			break
		}
		sum.Add(sum, t)
	}
	sum = scale(sum, halvings)
	if flip {
		sum = sub(scale(num().Set(Pi()), -1), sum)
	}
	if x.Sign() < 0 {
		sum.Neg(sum)
	}
	return sum
}

// Atan2 is the angle of the point (x, y), for x other than zero.
func Atan2(y, x *big.Float) *big.Float {
	if x.Sign() == 0 {
		h := scale(num().Set(Pi()), -1)
		if y.Sign() < 0 {
			h.Neg(h)
		}
		return h
	}
	a := Atan(quo(y, x))
	if x.Sign() > 0 {
		return a
	}
	if y.Sign() < 0 {
		return sub(a, num().Set(Pi()))
	}
	return add(a, num().Set(Pi()))
}

// Asin is the arc sine, Acos the arc cosine.
func Asin(x *big.Float) *big.Float {
	c := mul(sub(integer(1), x), add(integer(1), x))
	switch c.Sign() {
	case -1:
		return nil
	case 0:
		return mul(x, scale(num().Set(Pi()), -1))
	}
	return Atan(quo(x, sqrt(c)))
}

// Acos is the arc cosine.
func Acos(x *big.Float) *big.Float {
	c := mul(sub(integer(1), x), add(integer(1), x))
	if c.Sign() < 0 {
		return nil
	}
	return Atan2(sqrt(c), x)
}

// Sinh is the hyperbolic sine; the others follow.
func Sinh(x *big.Float) *big.Float {
	t := Expm1(abs(x))
	y := scale(add(t, quo(t, add(t, integer(1)))), -1)
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

// Cosh is the hyperbolic cosine.
func Cosh(x *big.Float) *big.Float {
	e := Exp(x)
	return scale(add(e, quo(integer(1), e)), -1)
}

// Tanh is the hyperbolic tangent.
func Tanh(x *big.Float) *big.Float {
	t := Expm1(scale(abs(x), 1))
	y := quo(t, add(t, integer(2)))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

// Asinh is the inverse of Sinh.
func Asinh(x *big.Float) *big.Float {
	a := abs(x)
	z := mul(a, a)
	// log1p(a + z/(1 + √(1+z)))
	y := Log1p(add(a, quo(z, add(integer(1), sqrt(add(integer(1), z))))))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

// Acosh is the inverse of Cosh.
func Acosh(x *big.Float) *big.Float {
	d := sub(x, integer(1))
	if d.Sign() < 0 {
		return nil
	}
	return Log1p(add(d, sqrt(mul(d, add(x, integer(1))))))
}

// Atanh is the inverse of Tanh.
func Atanh(x *big.Float) *big.Float {
	d := sub(integer(1), x)
	if d.Sign() < 0 || x.Cmp(integer(-1)) < 0 {
		return nil
	}
	if d.Sign() == 0 {
		return num().SetInf(false)
	}
	return scale(Log1p(quo(scale(x, 1), d)), -1)
}

// Hypot is √(Σ x²).
func Hypot(x ...*big.Float) *big.Float {
	sum := num()
	for _, v := range x {
		sum.Add(sum, mul(v, v))
	}
	return sqrt(sum)
}

// Inverse is 1/x.
func Inverse(x *big.Float) *big.Float { return quo(integer(1), x) }

// Sqrt is the square root.
func Sqrt(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return nil
	}
	return sqrt(x)
}
