package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

const oge = enum.FPredOGE

// withSignOf is y times the sign of x.
func (k kit) withSignOf(y, x llir.Value) llir.Value {
	return k.Select(k.negative(x), k.FNeg(y), y)
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

// Fmod is the exact rest of x/y, truncated, with the sign of x.
func Fmod(b *llir.Builder, x, y llir.Value) llir.Value { return kitFor(b, x).fmod(x, y) }

func (k kit) fmod(x, y llir.Value) llir.Value {
	if k.t == llir.F32 {
		return k.fmodSingle(x, y)
	}
	r := k.modulo(k.abs(x), k.abs(y))
	return k.restSpecial(x, y, k.withSign(r, x))
}

// Remainder is the exact rest of x/y, rounded to nearest even.
func Remainder(b *llir.Builder, x, y llir.Value) llir.Value {
	if x.Type() == llir.F32 {
		return inDouble(b, func(k kit, v []llir.Value) llir.Value { return Remainder(b, v[0], v[1]) }, x, y)
	}
	k := kitFor(b, x)
	a, c := k.abs(x), k.abs(y)
	// Modulo 2c, unless that is infinite and a smaller anyway.
	r := k.modulo(a, k.add(c, c))
	// 2r > c, without overflow; for c below 1 doubling is safe, above it halving
	// exact.
	small := k.less(c, k.num(1))
	twice := func(r llir.Value) (llir.Value, llir.Value) {
		return k.Select(small, k.add(r, r), r), k.Select(small, c, k.mul(c, k.num(0.5)))
	}
	l, h := twice(r)
	over := k.less(h, l)
	r = k.Select(over, k.sub(r, c), r)
	l, h = twice(r)
	again := k.And(over, k.FCmp(oge, l, h))
	r = k.Select(again, k.sub(r, c), r)
	// A zero has the sign of x.
	r = k.Select(k.equal(r, k.num(0)), k.num(0), r)
	return k.restSpecial(x, y, k.withSignOf(r, x))
}

// restSpecial is x where y is infinite, NaN where the rest of x/y is undefined.
func (k kit) restSpecial(x, y, r llir.Value) llir.Value {
	r = k.Select(k.equal(k.abs(y), k.inf()), x, r)
	bad := k.Or(k.FCmp(enum.FPredUEQ, k.abs(x), k.inf()), k.FCmp(enum.FPredUEQ, y, k.num(0)))
	return k.Select(bad, k.nan(), r)
}

// modulo is a mod c for f64s a ≥ 0, c > 0, in a loop that takes 51 bits of the
// quotient at a time. Operands without a rest leave it at once.
func (k kit) modulo(a, c llir.Value) llir.Value {
	defined := k.And(k.less(a, k.inf()), k.And(k.less(k.num(0), c), k.less(c, k.inf())))
	_, ec := k.exponent(k.Select(defined, c, k.num(1)))

	return k.while([]llir.Value{a}, func(v []llir.Value) llir.Value {
		return k.And(defined, k.FCmp(oge, v[0], c))
	}, func(v []llir.Value) []llir.Value {
		r := v[0]
		_, er := k.exponent(r)
		up := k.Sub(k.Sub(er, ec), k.int(51))
		up = k.Select(k.ICmp(enum.IPredSLT, up, k.int(0)), k.int(0), up)
		d := k.timesPower(c, up) // exact, and at most r
		q := k.trunc(k.div(r, d))
		// The quotient may have been rounded up to a whole number.
		next := k.nfma(q, d, r)
		return []llir.Value{k.Select(k.less(next, k.num(0)), k.add(next, d), next)}
	})[0]
}

// whole writes a positive finite f32 as m·2^e with integers, 2²³ ≤ m < 2²⁴.
func (k kit) whole(x llir.Value) (m, e llir.Value) {
	tiny := k.less(x, k.num(0x1p-126))
	bits := k.BitCast(k.Select(tiny, k.mul(x, k.num(0x1p24)), x), k.bits)
	e = k.Sub(k.LShr(bits, 23), k.Select(tiny, k.int(150+24), k.int(150)))
	return k.Or(k.And(bits, k.int(1<<23-1)), k.int(1<<23)), e
}

// fmodSingle is Fmod of f32s by long division of whole numbers, 20 bits of the
// quotient at a time. (The inverse may err by a unit in the last place and the product by
// half a one: a quotient below 2²⁰ is off by one at most.)
func (k kit) fmodSingle(x, y llir.Value) llir.Value {
	a, c := k.abs(x), k.abs(y)
	ma, ea := k.whole(a)
	mc, ec := k.whole(c)
	inverse := k.inverse(k.Cast(llir.SIToFP, mc, k.t, 0))
	less := func(p, q llir.Value) llir.Value { return k.ICmp(enum.IPredSLT, p, q) }
	down := func(r llir.Value) llir.Value { return k.Select(less(r, mc), r, k.Sub(r, mc)) }

	defined := k.And(k.And(k.FCmp(oge, a, c), k.less(a, k.inf())), k.less(k.num(0), c))
	left := k.Select(defined, k.Sub(ea, ec), k.int(0))
	r := k.while([]llir.Value{down(ma), left}, func(v []llir.Value) llir.Value {
		return less(k.int(0), v[1])
	}, func(v []llir.Value) []llir.Value {
		r, left := v[0], v[1]
		s := k.Select(less(left, k.int(20)), left, k.int(20))
		up := k.Binary(llir.Shl, r, s, 0)
		q := k.mul(k.mul(k.Cast(llir.SIToFP, r, k.t, 0), k.power(s)), inverse)
		next := k.Sub(up, k.Mul(k.Freeze(k.Cast(llir.FPToSI, q, k.bits, 0)), mc)) // its low word is all of it
		next = k.Select(less(next, k.int(0)), k.Add(next, mc), next)
		return []llir.Value{down(next), k.Sub(left, s)}
	})[0]
	v := k.withSign(k.timesPower(k.Cast(llir.SIToFP, r, k.t, 0), ec), x)
	return k.Select(k.less(a, c), x, k.Select(defined, v, k.nan()))
}
