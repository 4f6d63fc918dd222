package mathref

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

type unary = func(*big.Float) *big.Float

func of(f func(int64, *big.Float) *big.Float, n int64) unary {
	return func(x *big.Float) *big.Float { return f(n, x) }
}

// Go's own functions, to their precision.
func TestAgainstMath(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      unary
		g      func(float64) float64
		lo, hi float64
	}{
		{"exp", Exp, math.Exp, -700, 700},
		{"expm1", Expm1, math.Expm1, -2, 2},
		{"log", Log, math.Log, 1e-9, 1e9},
		{"log1p", Log1p, math.Log1p, -0.9, 3},
		{"exp10", Exp10, func(x float64) float64 { return math.Pow(10, x) }, -300, 300},
		{"sin", Sin, math.Sin, -1000, 1000},
		{"cos", Cos, math.Cos, -1000, 1000},
		{"tan", Tan, math.Tan, -10, 10},
		{"asin", Asin, math.Asin, -1, 1},
		{"acos", Acos, math.Acos, -1, 1},
		{"atan", Atan, math.Atan, -20, 20},
		{"sinh", Sinh, math.Sinh, -20, 20},
		{"cosh", Cosh, math.Cosh, -20, 20},
		{"tanh", Tanh, math.Tanh, -20, 20},
		{"asinh", Asinh, math.Asinh, -20, 20},
		{"acosh", Acosh, math.Acosh, 1, 20},
		{"atanh", Atanh, math.Atanh, -1, 1},
		{"cbrt", Cbrt, math.Cbrt, -1e5, 1e5},
		{"erf", Erf, math.Erf, -6, 6},
		{"erfc", Erfc, math.Erfc, -5, 26},
		{"erfinv", Erfinv, math.Erfinv, -1, 1},
		{"erfcinv", Erfcinv, math.Erfcinv, 0, 2},
		{"tgamma", Tgamma, math.Gamma, -10.5, 100},
		{"j0", of(BesselJ, 0), math.J0, -150, 150},
		{"j1", of(BesselJ, 1), math.J1, -150, 150},
		{"j5", of(BesselJ, 5), func(x float64) float64 { return math.Jn(5, x) }, -150, 150},
		{"y0", of(BesselY, 0), math.Y0, 0, 150},
		{"y1", of(BesselY, 1), math.Y1, 0, 150},
		{"y5", of(BesselY, 5), func(x float64) float64 { return math.Yn(5, x) }, 0, 150},
		{"lgamma", Lgamma, func(x float64) float64 { y, _ := math.Lgamma(x); return y }, 2.5, 200},
	} {
		for range 60 {
			x := c.lo + rand.Float64()*(c.hi-c.lo)
			got, want := float(c.f(New(x))), c.g(x)
			if math.Abs(got-want) > 1e-13*math.Abs(want) && math.Abs(got-want) > 1e-13 {
				t.Errorf("%s(%v) = %v, want %v", c.name, x, got, want)
			}
		}
	}
}

// Identities that hold to the last bits.
func TestIdentities(t *testing.T) {
	close := func(what string, x float64, a, b *big.Float) {
		t.Helper()
		d := sub(a, b)
		if d.Sign() != 0 && d.MantExp(nil) > b.MantExp(nil)-200 {
			t.Errorf("%s at %v: %v and %v", what, x, a, b)
		}
	}
	for range 40 {
		f := math.Exp2(rand.Float64()*8 - 5)
		x := New(f)
		close("exp log", f, Exp(Log(x)), x)
		wronskian := sub(mul(BesselJ(1, x), BesselY(0, x)), mul(BesselJ(0, x), BesselY(1, x)))
		close("J₁Y₀-J₀Y₁", f, wronskian, quo(integer(2), mul(num().Set(Pi()), x)))
		close("log exp", f, Log(Exp(x)), x)
		close("log1p expm1", f, Log1p(Expm1(x)), x)
		close("sin²+cos²", f, add(mul(Sin(x), Sin(x)), mul(Cos(x), Cos(x))), integer(1))
		close("tan atan", f, Tan(Atan(x)), x)
		close("sinh asinh", f, Sinh(Asinh(x)), x)
		close("tanh atanh", f, Atanh(Tanh(scale(x, -4))), scale(x, -4))
		close("cosh acosh", f, Cosh(Acosh(add(x, integer(1)))), add(x, integer(1)))
		c := Cbrt(x)
		close("cbrt³", f, mul(c, mul(c, c)), x)
		close("Γ(x+1)", f, Tgamma(add(x, integer(1))), mul(x, Tgamma(x)))
		close("log Γ", f, Exp(Lgamma(add(x, integer(3)))), Tgamma(add(x, integer(3))))
		y := quo(x, integer(9))
		if y.Cmp(integer(1)) < 0 {
			close("erf erfinv", f, Erf(Erfinv(y)), y)
			close("erfc erfcinv", f, Erfc(Erfcinv(scale(y, -60))), scale(y, -60))
			close("sinpi", f, Sinpi(y), Sin(mul(y, num().Set(Pi()))))
			close("normcdf", f, Normcdf(Normcdfinv(y)), y)
		}
	}
	// The series and the continued fraction of erfc meet at 3: its slope there is
	// 2x·erfcx(x) - 2/√π.
	x, x1 := New(3-1e-9), New(3)
	slope := sub(scale(mul(x1, Erfcx(x1)), 1), twoOverRootPi())
	d := quo(sub(Erfcx(x1), Erfcx(x)), sub(x1, x))
	if r := float(quo(d, slope)); math.Abs(r-1) > 1e-7 {
		t.Errorf("the slope of erfcx at 3 is off by a factor of %v", r)
	}
}

// Values by other means: π/6, Γ(½), and I₀ by its integral over a period.
func TestKnownValues(t *testing.T) {
	half := New(0.5)
	if d := sub(mul(Asin(half), integer(6)), num().Set(Pi())); d.Sign() != 0 && d.MantExp(nil) > -200 {
		t.Errorf("asin ½ is off by %v", d)
	}
	if d := sub(mul(Tgamma(half), Tgamma(half)), num().Set(Pi())); d.Sign() != 0 && d.MantExp(nil) > -200 {
		t.Errorf("Γ(½)² is off by %v", d)
	}
	const n = 64
	for _, f := range []float64{0.5, 3, 7} {
		sum, sum1 := num(), num()
		for k := range int64(n) {
			c := Cospi(ratio(2*k, n))
			e := Exp(mul(New(f), c))
			sum.Add(sum, e)
			sum1.Add(sum1, mul(e, c))
		}
		for order, s := range []*big.Float{sum, sum1} {
			want, got := quo(s, integer(n)), BesselI(int64(order), New(f))
			if d := sub(got, want); d.Sign() != 0 && d.MantExp(nil) > -150 {
				t.Errorf("I%d(%v) = %v, want %v", order, f, got, want)
			}
		}
	}
}
