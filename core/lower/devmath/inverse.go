package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

var (
	// (asin x - x)/x³ as a polynomial in x², |x| ≤ ½; it errs by 1.0e-9.
	asinSingle = []float64{
		0.1666666633653961, 0.07500094761244366, 0.04459931914668844, 0.031101727978231106,
		0.017143716218832292, 0.03370072719907038,
	}
	// (atan x - x)/x³ as a polynomial in x², |x| ≤ 1; it errs by 1.7e-9.
	atanSingle = []float64{
		-0.33333333081072786, 0.19999949321114613, -0.1428400379426577, 0.11088261625070714, -0.08931826761775245,
		0.07031914210881793, -0.04896051343228427, 0.02630500057207836, -0.009144629494124763, 0.0014886918836704845,
	}
)

// Asin is the arc sine of an f32; nil for other types.
func Asin(b *llir.Builder, x llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	k := kitFor(b, x)
	a := k.abs(x)
	// Above ½: asin a = π/2 - 2·asin √((1-a)/2).
	big := k.FCmp(enum.FPredOGT, a, k.num(0.5))
	z := k.Select(big, k.fma(a, k.num(-0.5), k.num(0.5)), k.mul(x, x))
	s := k.Select(big, k.sqrt(z), a)
	p := k.fma(k.mul(s, z), k.poly(z, asinSingle), s)
	far := k.add(k.fma(p, k.num(-2), k.num(halfPiMid)), k.num(halfPiHigh))
	return k.withSign(k.Select(big, far, p), x)
}

// Acos is the arc cosine of an f32; nil for other types.
func Acos(b *llir.Builder, x llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	k := kitFor(b, x)
	a := k.abs(x)
	big := k.FCmp(enum.FPredOGT, a, k.num(0.5))
	z := k.Select(big, k.fma(a, k.num(-0.5), k.num(0.5)), k.mul(x, x))
	s := k.Select(big, k.sqrt(z), x)
	p := k.fma(k.mul(s, z), k.poly(z, asinSingle), s)
	// Above ½: 2·asin √((1-a)/2), or π less that for negative x.
	twice := k.mul(p, k.num(2))
	negative := k.FCmp(enum.FPredOLT, x, k.num(0))
	left := k.add(k.Binary(llir.FSub, k.num(2*halfPiMid), twice, 0), k.num(2*halfPiHigh))
	far := k.Select(negative, left, twice)
	near := k.add(k.Binary(llir.FSub, k.num(halfPiMid), p, 0), k.num(halfPiHigh))
	return k.Select(big, far, near)
}

// Atan is the arc tangent of an f32; nil for other types.
func Atan(b *llir.Builder, x llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	k := kitFor(b, x)
	a := k.abs(x)
	// Above 1: atan a = π/2 - atan 1/a.
	big := k.FCmp(enum.FPredOGT, a, k.num(1))
	s := k.Select(big, k.Binary(llir.FDiv, k.num(1), a, 0), a)
	z := k.mul(s, s)
	p := k.fma(k.mul(s, z), k.poly(z, atanSingle), s)
	far := k.add(k.Binary(llir.FSub, k.num(halfPiMid), p, 0), k.num(halfPiHigh))
	return k.withSign(k.Select(big, far, p), x)
}

func (k kit) sqrt(x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.sqrt."+k.name, llir.Pure, k.t, k.t), x)
}

// Tan is the tangent of an f32 in radians; nil for other types.
func Tan(b *llir.Builder, x llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	return b.Binary(llir.FDiv, Sin(b, x), Cos(b, x), 0)
}

// Log1p is log(1 + x), accurate for small x.
func Log1p(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	u := k.add(k.num(1), x)
	// What the sum lost, in proportion, is what the logarithm lost.
	lost := k.Binary(llir.FSub, x, k.add(u, k.num(-1)), 0)
	y := k.add(Log(b, u), k.Binary(llir.FDiv, lost, u, 0))
	special := k.Or(k.FCmp(enum.FPredOEQ, u, k.num(math.Inf(1))), k.FCmp(enum.FPredOEQ, u, k.num(0)))
	y = k.Select(special, Log(b, u), y)
	return k.Select(k.FCmp(enum.FPredOEQ, x, k.num(0)), x, y)
}

// Expm1 is e^x - 1, accurate for small x.
func Expm1(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	c, least := expSingle, -26.0
	if k.t == llir.F64 {
		c, least = expDouble, -56
	}
	n := k.round(k.mul(x, k.num(math.Log2E)))
	n = k.Call(k.M.Declare("llvm.maxnum."+k.name, llir.Pure, k.t, k.t, k.t), n, k.num(least))
	n = k.Call(k.M.Declare("llvm.minnum."+k.name, llir.Pure, k.t, k.t, k.t), n, k.num(float64(k.bias+1)))
	hi := k.ln2()
	r := k.fma(n, k.num(-hi), x)
	r = k.fma(n, k.num(-ln2Minus(hi)), r)
	p := k.fma(k.mul(r, r), k.poly(r, c), r)
	// (2^n·(p + 1) - 1), halved, because 2^n may be too large itself.
	half := k.power(k.Sub(k.Freeze(k.Cast(llir.FPToSI, n, k.bits, 0)), k.int(1)))
	y := k.mul(k.fma(half, p, k.add(half, k.num(-0.5))), k.num(2))
	y = k.Select(k.FCmp(enum.FPredOLT, x, k.num(least*math.Ln2)), k.num(-1), y)
	y = k.Select(k.FCmp(enum.FPredOGE, x, k.num(float64(k.bias+1)*math.Ln2)), k.num(math.Inf(1)), y)
	y = k.Select(k.FCmp(enum.FPredOEQ, x, k.num(0)), x, y)
	return k.Select(k.FCmp(enum.FPredUNO, x, x), x, y)
}

// Exp10 is 10 to the power x, and Log10 the logarithm to base 10, of an f32,
// computed in f64; nil for other types.
func Exp10(b *llir.Builder, x llir.Value) llir.Value {
	return inDouble(b, x, func(k kit, x llir.Value) llir.Value {
		return Exp2(b, k.mul(x, k.num(math.Log2(10))))
	})
}

// Log10 is the logarithm to base 10; see Exp10.
func Log10(b *llir.Builder, x llir.Value) llir.Value {
	return inDouble(b, x, func(k kit, x llir.Value) llir.Value {
		return k.mul(Log2(b, x), k.num(math.Log10(2)))
	})
}

// inDouble computes an f32 function in f64 and rounds the result.
func inDouble(b *llir.Builder, x llir.Value, f func(k kit, x llir.Value) llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	wide := b.Cast(llir.FPExt, x, llir.F64, 0)
	return b.Cast(llir.FPTrunc, f(kitFor(b, wide), wide), llir.F32, 0)
}

// Pow is x to the power y for f32s, by logarithm and exponential in f64; nil for
// other types.
func Pow(b *llir.Builder, x, y llir.Value) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	s := kitFor(b, x)
	size := b.Cast(llir.FPExt, s.abs(x), llir.F64, 0)
	wide := b.Cast(llir.FPExt, y, llir.F64, 0)
	k := kitFor(b, wide)
	p := b.Cast(llir.FPTrunc, Exp2(b, k.mul(Log2(b, size), wide)), llir.F32, 0)
	// A negative base: NaN unless y is an integer, negative where y is odd.
	trunc := func(v llir.Value) llir.Value {
		return s.Call(s.M.Declare("llvm.trunc.f32", llir.Pure, llir.F32, llir.F32), v)
	}
	whole := s.FCmp(enum.FPredOEQ, trunc(y), y)
	halved := s.mul(y, s.num(0.5))
	odd := s.And(whole, s.FCmp(enum.FPredONE, trunc(halved), halved))
	sign := s.ICmp(enum.IPredSLT, s.BitCast(x, llir.I32), s.int(0))
	p = s.Select(s.And(sign, odd), s.FNeg(p), p)
	finite := s.FCmp(enum.FPredOGT, x, s.num(math.Inf(-1)))
	nan := s.And(s.And(s.FCmp(enum.FPredOLT, x, s.num(0)), finite), s.Not(whole))
	p = s.Select(nan, s.num(math.NaN()), p)
	// 1 to any power, anything to the power 0, and -1 to an infinite one are 1.
	one := s.Or(s.FCmp(enum.FPredOEQ, x, s.num(1)), s.FCmp(enum.FPredOEQ, y, s.num(0)))
	one = s.Or(one, s.And(s.FCmp(enum.FPredOEQ, x, s.num(-1)), s.FCmp(enum.FPredOEQ, s.abs(y), s.num(math.Inf(1)))))
	return s.Select(one, s.num(1), p)
}
