package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

const oge = enum.FPredOGE

// withSignOf is y times the sign of x.
func (k kit) withSignOf(y, x llir.Value) llir.Value {
	sign := k.And(k.BitCast(x, k.bits), k.int(-1<<(llir.Width(k.t)-1)))
	return k.BitCast(k.Xor(k.BitCast(y, k.bits), sign), k.t)
}

// exponent writes a positive finite x as m·2^e, 1 ≤ m < 2, with an integral e.
func (k kit) exponent(x llir.Value) (m, e llir.Value) {
	tiny := k.less(x, k.num(math.Ldexp(1, 1-int(k.bias))))
	scaled := k.Select(tiny, k.mul(x, k.num(math.Ldexp(1, k.man+1))), x)
	bits := k.BitCast(scaled, k.bits)
	shift := k.Select(tiny, k.int(k.bias+int64(k.man)+1), k.int(k.bias))
	e = k.Sub(k.LShr(bits, k.man), shift)
	one := k.int(k.bias << k.man)
	return k.BitCast(k.Or(k.And(bits, k.int(1<<k.man-1)), one), k.t), e
}

// Ldexp is x·2^n for an i32 n, rounded once.
func Ldexp(b *llir.Builder, x, n llir.Value) llir.Value {
	k := kitFor(b, x)
	m, e := k.exponent(k.abs(x))
	limit := 4 * k.bias
	wide := k.M.Int(llir.I32, limit)
	n = k.Select(k.ICmp(enum.IPredSGT, n, wide), wide, n)
	least := k.M.Int(llir.I32, -limit)
	n = k.Select(k.ICmp(enum.IPredSLT, n, least), least, n)
	e = k.Add(e, k.Resize(n, llir.IntN(llir.Width(k.t)), true))
	high, low := k.int(k.bias+2), k.int(-k.bias-int64(k.man)-2)
	e = k.Select(k.ICmp(enum.IPredSGT, e, high), high, e)
	e = k.Select(k.ICmp(enum.IPredSLT, e, low), low, e)
	y := k.withSign(k.timesPower(m, e), x)
	return k.Select(k.atEnds(x), x, y)
}

// Ilogb is the exponent of x as an i32: the least one for zero and NaN, the
// greatest for infinities.
func Ilogb(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	a := k.abs(x)
	_, e := k.exponent(a)
	e = k.Resize(e, llir.I32, true)
	e = k.Select(k.equal(a, k.inf()), k.M.I32(math.MaxInt32), e)
	return k.Select(k.FCmp(enum.FPredUEQ, a, k.num(0)), k.M.I32(math.MinInt32), e)
}

// Logb is the exponent of x as a number.
func Logb(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	a := k.abs(x)
	_, e := k.exponent(a)
	y := k.Cast(llir.SIToFP, e, k.t, 0)
	y = k.Select(k.equal(a, k.num(0)), k.num(math.Inf(-1)), y)
	return k.Select(k.FCmp(enum.FPredUEQ, a, k.inf()), a, y)
}

// Nextafter is the number after x in the direction of y.
func Nextafter(b *llir.Builder, x, y llir.Value) llir.Value {
	k := kitFor(b, x)
	bits := k.BitCast(x, k.bits)
	// Away from zero is one up in the bits.
	away := k.Xor(k.less(x, y), k.negative(x))
	step := k.Select(away, k.int(1), k.int(-1))
	next := k.BitCast(k.Add(bits, step), k.t)
	least := k.withSign(k.BitCast(k.int(1), k.t), y)
	next = k.Select(k.equal(x, k.num(0)), least, next)
	next = k.Select(k.equal(x, y), y, next)
	return k.Select(k.Or(k.isNaN(x), k.isNaN(y)), k.nan(), next)
}

// Fdim is x - y, or 0 where that is negative.
func Fdim(b *llir.Builder, x, y llir.Value) llir.Value {
	k := kitFor(b, x)
	return k.Select(k.FCmp(enum.FPredOLE, x, y), k.num(0), k.sub(x, y))
}
