package devmath

import (
	"math"

	"github.com/tritonc/tritonc/core/llir"
)

// erfcinvOf is the inverse of erfc of f64s for c in (0, 1], with x = 1 - c.
func (k kit) erfcinvOf(c, x llir.Value) llir.Value {
	// A start by polynomials in log((1-x)(1+x)), then one step of Halley's method.
	w := k.FNeg(Log(k.Builder, k.mul(c, k.add(x, k.num(1)))))
	near := k.mul(k.poly(k.add(w, k.num(-2.5)), erfinvNear), x)
	far := k.poly(k.add(k.sqrt(k.max(w, k.num(1))), k.num(-8)), erfinvFar)
	small := k.less(x, k.num(0.8))
	y := k.Select(k.less(w, k.num(5)), near, far)
	// The remainder relative to the slope: (erfc y - c)/(2/√π·e^-y²).
	s := k.square(pair{y, k.num(0)})
	m, n := k.expPair(s)
	grow := k.times2(k.add(m.hi, m.lo), n)
	central := k.mul(k.sub(x, k.erfDouble(y)), grow)
	// In the tail e^y² may overflow: c·e^y² in two factors.
	cy := k.times2(k.mul(k.add(m.hi, m.lo), k.mul(c, k.num(math.Ldexp(1, 60)))), k.add(n, k.num(-60)))
	tail := k.sub(k.erfcxAbove(y, k.over), cy)
	u := k.mul(k.Select(small, central, tail), k.num(math.SqrtPi/2))
	return k.add(y, k.div(u, k.nfma(y, u, k.num(1))))
}

// erfinvSingle is the inverse of erf of f32s for x in [0, 1), with v = 1 - x²; NaN for
// negative v.
func (k kit) erfinvSingle(v, x llir.Value) llir.Value {
	m, e := k.parts(v)
	f := k.add(m, k.num(-1))
	y := k.fma(k.mul(f, f), k.poly(f, logSingle), f)
	hi := k.ln2()
	w := k.fma(e, k.num(-hi), k.fma(e, k.num(-ln2Minus(hi)), k.FNeg(y))) // -log v
	slope := k.poly(k.add(w, k.num(-3.25)), erfinvNearSingle)
	near := k.fma(k.mul(w, x), slope, k.mul(x, k.num(math.SqrtPi/2)))
	s := k.root(w)
	far := k.add(s, k.poly(k.add(s, k.num(-6)), erfinvFarSingle))
	return k.Select(k.less(v, k.num(0)), k.nan(), k.Select(k.less(w, k.num(6.5)), near, far))
}

// Erfinv is the inverse of the error function.
func Erfinv(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).erfinv(x) }

func (k kit) erfinv(x llir.Value) llir.Value {
	a := k.abs(x)
	var y llir.Value
	if k.t == llir.F32 {
		y = k.erfinvSingle(k.nfma(a, a, k.num(1)), a)
	} else {
		y = k.erfcinvOf(k.sub(k.num(1), a), a)
		y = k.Select(k.less(k.num(1), a), k.nan(), y)
		// So small that the function is a line.
		line := k.fma(a, k.num(math.SqrtPi/2), k.mul(a, k.num(rootPiTail)))
		y = k.Select(k.less(a, k.num(1e-9)), line, y)
	}
	y = k.Select(k.equal(a, k.num(1)), k.inf(), y)
	return k.withSign(k.Select(k.isNaN(x), x, y), x)
}

// rootPiTail continues √π/2.
const rootPiTail = -3.8332932499128993e-17

// Erfcinv is the inverse of Erfc.
func Erfcinv(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).erfcinv(x) }

// erfcinv is the inverse of erfc at c; where that is above 1, at 2 - c with
// the other sign.
func (k kit) erfcinv(c llir.Value) llir.Value {
	upper := k.less(k.num(1), c)
	low := k.Select(upper, k.sub(k.num(2), c), c)
	x := k.sub(k.num(1), low)
	var y llir.Value
	if k.t == llir.F32 {
		y = k.erfinvSingle(k.mul(low, k.add(x, k.num(1))), x)
	} else {
		y = k.erfcinvOf(low, x)
		y = k.Select(k.equal(low, k.num(1)), k.num(0), y)
		y = k.Select(k.less(low, k.num(0)), k.nan(), y)
	}
	y = k.Select(k.equal(low, k.num(0)), k.inf(), y)
	y = k.Select(upper, k.FNeg(y), y)
	return k.Select(k.isNaN(c), c, y)
}

// Normcdfinv is the inverse of Normcdf.
func Normcdfinv(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).normcdfinv(x) }

func (k kit) normcdfinv(x llir.Value) llir.Value {
	return k.prod(k.erfcinv(k.mul(x, k.num(2))), k.num(-math.Sqrt2)) // never -0
}
