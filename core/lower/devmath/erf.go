package devmath

import "github.com/tritonc/tritonc/core/llir"

// Erf is the error function.
func Erf(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).erf(x) }

func (k kit) erf(x llir.Value) llir.Value {
	if k.t == llir.F32 {
		return k.erfSingle(x)
	}
	return k.erfDouble(x)
}

// Tanh is the hyperbolic tangent.
func Tanh(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).tanh(x) }

func (k kit) tanh(x llir.Value) llir.Value {
	if k.t == llir.F32 {
		return k.tanhSingle(x)
	}
	return k.tanhDouble(x)
}

func (k kit) abs(x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.fabs."+k.name, llir.Pure, k.t, k.t), x)
}

// withSign is y, not negative, with the sign of x.
func (k kit) withSign(y, x llir.Value) llir.Value {
	return k.Call(k.M.Declare("llvm.copysign."+k.name, llir.Pure, k.t, k.t, k.t), y, x)
}

// erfDouble is a polynomial below 1, and 1 - erfc above.
func (k kit) erfDouble(x llir.Value) llir.Value {
	a := k.abs(x)
	small := k.erfNear(x)
	far := k.sub(k.num(1), k.erfcAbove(pair{k.min(a, k.num(6)), k.num(0)}))
	y := k.Select(k.less(a, k.num(1)), small, k.withSign(far, x))
	return k.Select(k.isNaN(x), x, y)
}

// erfNearLimit is up to where erfNear serves floats. 1 - erf errs less there than
// erfcAbove does, whose last sum 1/2 + a is rounded.
const erfNearLimit = 0.625

// erfNear is erf(x) for |x| up to erfNearLimit, of an f64 up to 1.
func (k kit) erfNear(x llir.Value) llir.Value {
	c := erfNearSingle
	if k.t == llir.F64 {
		c = erfDouble
	}
	return k.fma(x, k.poly(k.mul(x, x), c), x)
}

// greatest is the greatest finite number.
func (k kit) greatest() llir.Value {
	return k.BitCast(k.Sub(k.BitCast(k.inf(), k.bits), k.int(1)), k.t)
}

// erfcxAbove is e^a²·erfc(a) for a ≥ 0, by a division for which a is not too large.
func (k kit) erfcxAbove(a llir.Value, over func(x, y llir.Value) llir.Value) llir.Value {
	c := erfcxSingle
	if k.t == llir.F64 {
		c = erfcxDouble
	}
	t := over(k.add(a, k.num(-4)), k.add(a, k.num(4)))
	return over(k.mul(k.poly(t, c), k.num(0.5)), k.add(a, k.num(0.5)))
}

// overAny is over for y ≥ ½.
func (k kit) overAny(x, y llir.Value) llir.Value {
	if k.t == llir.F64 {
		return k.div(x, y)
	}
	scale := k.Select(k.less(k.num(0x1p60), y), k.num(0x1p-64), k.num(1))
	return k.over(k.mul(x, scale), k.mul(y, scale))
}

// square is a² as a pair.
func (k kit) square(a pair) pair {
	p := k.product(a.hi, a.hi)
	return pair{p.hi, k.fma(k.mul(a.hi, k.num(2)), a.lo, p.lo)}
}

// erfcAbove is erfc(a) for a ≥ 0 up to 30, of an f32 up to 11.
func (k kit) erfcAbove(a pair) llir.Value {
	s := k.square(a)
	if k.t == llir.F32 {
		bits, p := k.expm1Parts(pair{k.FNeg(s.hi), k.FNeg(s.lo)})
		y := k.erfcxAbove(a.hi, k.over)
		return k.timesPower(k.fma(p, y, y), k.wholeOf(bits))
	}
	m, n := k.expPair(pair{k.FNeg(s.hi), k.FNeg(s.lo)})
	return k.times2(k.mul(k.add(m.hi, m.lo), k.erfcxAbove(a.hi, k.over)), n)
}

// erfcOf is erfc of a pair of any sign.
func (k kit) erfcOf(x pair) llir.Value {
	sign := k.less(x.hi, k.num(0))
	limit := k.num(30)
	if k.t == llir.F32 {
		limit = k.num(11)
	}
	a := k.min(k.abs(x.hi), limit)
	lo := k.Select(k.less(limit, k.abs(x.hi)), k.num(0), k.Select(sign, k.FNeg(x.lo), x.lo))
	y := k.erfcAbove(pair{a, lo})
	y = k.Select(sign, k.sub(k.num(2), y), y)
	// Near zero the polynomial of erf is better; x.lo does not matter there.
	y = k.Select(k.less(k.abs(x.hi), k.num(erfNearLimit)), k.sub(k.num(1), k.erfNear(x.hi)), y)
	return k.Select(k.isNaN(x.hi), x.hi, y)
}

// Erfc is 1 - erf, accurate where that is small.
func Erfc(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).erfc(x) }

func (k kit) erfc(x llir.Value) llir.Value {
	return k.erfcOf(pair{x, k.num(0)})
}

// Erfcx is e^x²·erfc(x).
func Erfcx(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).erfcx(x) }

func (k kit) erfcx(x llir.Value) llir.Value {
	a := k.abs(x)
	y := k.erfcxAbove(k.min(a, k.greatest()), k.overAny)
	// 2·e^x² - y for negative x.
	e := k.twiceExpSquare(a)
	y = k.Select(k.less(x, k.num(0)), k.sub(e, y), y)
	near := k.sub(k.num(1), k.erfNear(x))
	y = k.Select(k.less(a, k.num(0.5)), k.mul(k.mul(e, k.num(0.5)), near), y)
	y = k.Select(k.equal(x, k.inf()), k.num(0), y)
	return k.Select(k.isNaN(x), x, y)
}

// twiceExpSquare is 2·e^a² for a ≥ 0.
func (k kit) twiceExpSquare(a llir.Value) llir.Value {
	if k.t == llir.F32 {
		bits, p := k.expm1Parts(k.square(pair{k.min(a, k.num(9.5)), k.num(0)}))
		return k.timesPower(k.add(p, k.num(1)), k.Add(k.wholeOf(bits), k.int(1)))
	}
	m, n := k.expPair(k.square(pair{k.min(a, k.num(30)), k.num(0)}))
	return k.times2(k.add(m.hi, m.lo), k.add(n, k.num(1)))
}

// Normcdf is the distribution function of the normal distribution.
func Normcdf(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).normcdf(x) }

func (k kit) normcdf(x llir.Value) llir.Value {
	u := k.timesPair(k.constant(-rootHalf, -rootHalfTail), k.max(k.min(x, k.num(50)), k.num(-50)))
	return k.Select(k.isNaN(x), x, k.mul(k.erfcOf(u), k.num(0.5)))
}
