package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// π/2 as the sum of three floats.
const (
	halfPiHigh = 1.5707963705062866
	halfPiMid  = -4.371138828673793e-08
	halfPiLow  = -1.7151245100058819e-15
)

// twoOverPi are the bits of 2/π, after a word of zeros before the point.
var twoOverPi = [...]uint32{
	0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
}

// twoOverPiLong are the bits of 2/π after a word of zeros, for doubles.
var twoOverPiLong = [...]uint64{
	0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0,
	0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
	0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484,
	0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
	0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
	0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA,
	0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
}

const (
	// halfPiThird continues math.Pi/2 and halfPiTail.
	halfPiThird = -1.4973849048591698e-33
	// largeDouble is where three doubles of π/2 no longer suffice.
	largeDouble = 1 << 26
)

// largeAngle is where three floats of π/2 no longer suffice.
const largeAngle = 105615

// Sin is the sine of x in radians.
func Sin(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	// The reduction makes +0 of -0.
	return k.Select(k.equal(x, k.num(0)), x, k.trig(x, 0))
}

// Cos is the cosine of x in radians.
func Cos(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).trig(x, 1) }

// trig is sin(x + quadrants·π/2).
func (k kit) trig(x llir.Value, quadrants int) llir.Value {
	r, q := k.quadrant(x)
	return k.turned(r, k.Add(q, k.M.I32(quadrants)))
}

// Tan is the tangent of x in radians.
func Tan(b *llir.Builder, x llir.Value) llir.Value { return kitFor(b, x).tan(x) }

func (k kit) tan(x llir.Value) llir.Value {
	r, q := k.quadrant(x)
	sin, cos := k.sinCos(r)
	sin, cos = k.sumOrdered(sin.hi, sin.lo), k.sumOrdered(cos.hi, cos.lo)
	odd := k.ICmp(enum.IPredNE, k.And(q, k.M.I32(1)), k.M.I32(0))
	top := pair{k.Select(odd, cos.hi, sin.hi), k.Select(odd, cos.lo, sin.lo)}
	bottom := pair{k.Select(odd, k.FNeg(sin.hi), cos.hi), k.Select(odd, k.FNeg(sin.lo), cos.lo)}
	// The quotient's zero would lose its sign.
	return k.Select(k.equal(x, k.num(0)), x, k.quotient(top, bottom).hi)
}

// Sinpi is sin πx, Cospi cos πx, exact at multiples of ½.
func Sinpi(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	y := k.halfTurns(x, 0)
	return k.Select(k.equal(y, k.num(0)), k.withSign(k.num(0), x), y)
}

// Cospi is cos πx.
func Cospi(b *llir.Builder, x llir.Value) llir.Value {
	k := kitFor(b, x)
	y := k.halfTurns(x, 1)
	return k.Select(k.equal(y, k.num(0)), k.num(0), y)
}

// halfTurns is sin(πx + quadrants·π/2).
func (k kit) halfTurns(x llir.Value, quadrants int) llir.Value {
	// Without whole turns, exactly; NaN for infinities.
	t := k.fma(k.trunc(k.mul(x, k.num(0.5))), k.num(-2), x)
	n, bits := k.nearest(t, 2)
	r := k.fma(n, k.num(-0.5), t) // exact
	i := k.Resize(bits, llir.I32, true)
	return k.turned(k.timesPair(k.constant(math.Pi, piTail), r), k.Add(i, k.M.I32(quadrants)))
}

// turned is sin(r + q·π/2) for |r| ≤ π/4.
func (k kit) turned(r pair, q llir.Value) llir.Value {
	odd := k.ICmp(enum.IPredNE, k.And(q, k.M.I32(1)), k.M.I32(0))
	var y llir.Value
	if k.t == llir.F32 && r.lo == k.num(0) {
		z := k.mul(r.hi, r.hi)
		sin := k.fma(k.mul(r.hi, z), k.poly(z, sinSingle), r.hi)
		cos := k.fma(z, k.fma(z, k.poly(z, cosSingle), k.num(-0.5)), k.num(1))
		y = k.Select(odd, cos, sin)
	} else {
		sin, cos := k.sinCos(r)
		y = k.Select(odd, k.add(cos.hi, cos.lo), k.add(sin.hi, sin.lo))
	}
	second := k.ICmp(enum.IPredNE, k.And(q, k.M.I32(2)), k.M.I32(0))
	return k.Select(second, k.FNeg(y), y)
}

// sinCos are sine and cosine of a small angle.
func (k kit) sinCos(r pair) (sin, cos pair) {
	s, c := sinSingle, cosSingle
	if k.t == llir.F64 {
		s, c = sinDouble, cosDouble
	}
	z := k.prod(r.hi, r.hi)
	// r.lo counts with the slope, cos r ≈ 1 - z/2.
	half := k.mul(z, k.num(0.5))
	slope := k.nfma(r.lo, half, r.lo)
	sin = pair{r.hi, k.fma(k.prod(r.hi, z), k.poly(z, s), slope)}
	lead := k.sumOrdered(k.num(1), k.FNeg(half))
	rest := k.nfma(r.hi, r.lo, lead.lo)
	cos = pair{lead.hi, k.fma(k.prod(z, z), k.poly(z, c), rest)}
	return sin, cos
}

// quadrant writes x = r + q·π/2 with |r| a little above π/4 at most; r is NaN for
// infinities and NaNs.
func (k kit) quadrant(x llir.Value) (r pair, q llir.Value) {
	n, low := k.nearest(x, 2/math.Pi)
	limit := float64(largeAngle)
	if k.t == llir.F32 {
		// As before, one number is enough.
		v := k.fma(n, k.num(-halfPiHigh), x)
		v = k.fma(n, k.num(-halfPiMid), v)
		r = pair{k.fma(n, k.num(-halfPiLow), v), k.num(0)}
	} else {
		limit = largeDouble
		first := k.fma(n, k.num(-math.Pi/2), x) // exact
		p := k.product(n, k.num(halfPiTail))
		s := k.sum(first, k.FNeg(p.hi))
		r = k.sumOrdered(s.hi, k.fma(n, k.num(-halfPiThird), k.sub(s.lo, p.lo)))
	}
	q = k.Resize(low, llir.I32, true)
	size := k.abs(x)
	large := k.less(k.num(limit), size)
	if k.t == llir.F32 {
		v := k.branch(large, []llir.Value{r.hi, q}, func() []llir.Value {
			r, q := k.reduceLarge(x)
			return []llir.Value{r, q}
		})
		r.hi, q = v[0], v[1]
	} else {
		v := k.branch(large, []llir.Value{r.hi, r.lo, q}, func() []llir.Value {
			r, q := k.reduceHuge(x)
			return []llir.Value{r.hi, r.lo, q}
		})
		r, q = pair{v[0], v[1]}, v[2]
	}
	r.hi = k.Select(k.equal(size, k.inf()), k.nan(), r.hi)
	return r, q
}

// reduceHuge is reduceLarge for an f64 of at least 2^26: a window of 192 bits of
// 2/π, chosen from a table that lives in the code.
func (k kit) reduceHuge(x llir.Value) (r pair, q llir.Value) {
	bits := k.BitCast(x, llir.I64)
	exp := k.And(k.LShr(bits, 52), k.int(2047))
	m := k.Or(k.And(bits, k.int(1<<52-1)), k.int(1<<52))
	// x = m·2^p with p = exp - 1075. The window begins two bits above 2^-p; the
	// table has a word of zeros before the point.
	start := k.Sub(exp, k.int(1075-62))
	word, shift := k.LShr(start, 6), k.And(start, k.int(63))
	// Four words from number word on: by halves of the distance.
	c := make([]llir.Value, len(twoOverPiLong))
	for i, w := range twoOverPiLong {
		c[i] = k.int(int64(w))
	}
	for by := 16; by > 0; by /= 2 {
		is := k.ICmp(enum.IPredNE, k.And(word, k.int(int64(by))), k.int(0))
		c = c[:min(len(c), by+3+by)]
		next := make([]llir.Value, by+3)
		for i := range next {
			if next[i] = c[i]; i+by < len(c) {
				next[i] = k.Select(is, c[i+by], c[i])
			}
		}
		c = next
	}
	fshl := k.M.Declare("llvm.fshl.i64", llir.Pure, llir.I64, llir.I64, llir.I64, llir.I64)
	w2, w1, w0 := k.Call(fshl, c[0], c[1], shift), k.Call(fshl, c[1], c[2], shift), k.Call(fshl, c[2], c[3], shift)
	// The low 192 bits of m·w: hi, mid, lo. The top two are the quadrant.
	h0, h1 := k.highProduct(m, w0), k.highProduct(m, w1)
	mid := k.Add(k.Mul(m, w1), h0)
	carry := k.ZExt(k.ICmp(enum.IPredULT, mid, h0), llir.I64)
	hi := k.Add(k.Mul(m, w2), k.Add(h1, carry))
	lo := k.Mul(m, w0)
	frac := k.Call(fshl, hi, mid, k.int(2))
	next := k.Call(fshl, mid, lo, k.int(2))
	// As a signed number the fraction is the nearer one.
	q = k.Trunc(k.Add(k.LShr(hi, 62), k.LShr(frac, 63)), llir.I32)
	sign := k.Binary(llir.AShr, frac, k.int(63), 0)
	frac, next = k.Xor(frac, sign), k.Xor(next, sign)
	// To two numbers, by way of the leading zeros, of which there are up to 62.
	zeros := k.Call(k.M.Declare("llvm.ctlz.i64", llir.Pure, llir.I64, llir.I64, llir.I1), frac, k.M.Bool(false))
	zeros = k.And(zeros, k.int(63))
	top := k.Call(fshl, frac, next, zeros)
	below := k.Binary(llir.Shl, next, zeros, 0)
	// 53 bits of it, then the rest.
	lead := k.Cast(llir.UIToFP, k.LShr(top, 11), llir.F64, 0)
	tail := k.Cast(llir.UIToFP, k.Or(k.Shl(top, 53), k.LShr(below, 11)), llir.F64, 0)
	f := k.sumOrdered(k.mul(lead, k.num(math.Ldexp(1, -53))), k.mul(tail, k.num(math.Ldexp(1, -117))))
	f = k.mulPair(f, k.constant(math.Pi/2, halfPiTail))
	scale := k.power(k.Sub(k.int(0), zeros))
	negative := k.ICmp(enum.IPredNE, k.Xor(k.LShr(bits, 63), k.LShr(sign, 63)), k.int(0))
	scale = k.Select(negative, k.FNeg(scale), scale)
	q = k.Select(k.negative(x), k.Sub(k.M.I32(0), q), q)
	return pair{k.mul(f.hi, scale), k.mul(f.lo, scale)}, q
}

// highProduct is the high half of a product of unsigned integers.
func (k kit) highProduct(x, y llir.Value) llir.Value {
	w := llir.Width(x.Type())
	wide := llir.IntN(2 * w)
	return k.Trunc(k.LShr(k.Mul(k.ZExt(x, wide), k.ZExt(y, wide)), w), x.Type())
}

// branch gives f's values where cond holds, else x; f's code is in a
// branch.
func (k kit) branch(cond llir.Value, x []llir.Value, f func() []llir.Value) []llir.Value {
	before := k.Block()
	do, join := k.F.NewBlock(before), k.F.NewBlock(before)
	k.CondBr(cond, do, join)
	k.SetBlock(do)
	y := f()
	end := k.Block()
	k.Br(join)
	k.F.MoveToEnd(join)
	k.SetBlock(join)
	out := make([]llir.Value, len(x))
	for i := range out {
		p := k.Phi(x[i].Type())
		llir.AddIncoming(p, x[i], before)
		llir.AddIncoming(p, y[i], end)
		out[i] = p
	}
	return out
}

// reduceLarge is x modulo π/2, to nearest, and the number of the quadrant, for
// x of at least 2^16, by Payne and Hanek's method ("Radian reduction for
// trigonometric functions", 1983): x = m·2^p is multiplied by a window of 96 bits
// of 2/π; the bits before it only add multiples of four quadrants, those after
// it are too small to matter.
func (k kit) reduceLarge(x llir.Value) (r, q llir.Value) {
	bits := k.BitCast(x, llir.I32)
	exp := k.And(k.LShr(bits, 23), k.int(255))
	m := k.Or(k.And(bits, k.int(1<<23-1)), k.int(1<<23))
	// p = exp - 150; the window begins two bits above 2^-p, 32 after the start
	// of the table.
	start := k.Sub(exp, k.int(120))
	word, shift := k.LShr(start, 5), k.And(start, k.int(31))
	pick := func(i int) llir.Value { // table word number word + i
		v := k.int(int64(twoOverPi[i]))
		for s := 1; s+3 < len(twoOverPi); s++ {
			is := k.ICmp(enum.IPredEQ, word, k.int(int64(s)))
			v = k.Select(is, k.int(int64(twoOverPi[s+i])), v)
		}
		return v
	}
	c := [...]llir.Value{pick(0), pick(1), pick(2), pick(3)}
	w2, w1, w0 := k.funnel(c[0], c[1], shift), k.funnel(c[1], c[2], shift), k.funnel(c[2], c[3], shift)
	// The low 96 bits of m·w: hi, mid, lo. The top two are the quadrant.
	wide := func(v llir.Value) llir.Value { return k.ZExt(v, llir.I64) }
	lo := k.Mul(wide(m), wide(w0))
	mid := k.Add(k.Mul(wide(m), wide(w1)), k.LShr(lo, 32))
	hi := k.Add(k.Mul(m, w2), k.Trunc(k.LShr(mid, 32), llir.I32))
	top := k.Or(k.Shl(wide(hi), 32), k.And(mid, k.M.I64(1<<32-1)))
	frac := k.Or(k.Shl(top, 2), k.LShr(k.And(lo, k.M.I64(1<<32-1)), 30))
	// As a signed number the fraction is the nearer one, half the time that of
	// the next quadrant.
	q = k.Add(k.LShr(hi, 30), k.Trunc(k.LShr(frac, 63), llir.I32))
	scaled := k.Binary(llir.FMul, k.Cast(llir.SIToFP, frac, llir.F64, 0), k.M.Float(llir.F64, math.Ldexp(math.Pi/2, -64)), 0)
	r = k.Cast(llir.FPTrunc, scaled, llir.F32, 0)
	negative := k.ICmp(enum.IPredSLT, bits, k.int(0))
	return k.Select(negative, k.FNeg(r), r), k.Select(negative, k.Sub(k.int(0), q), q)
}

// funnel is the high word of hi:lo shifted left by less than 32.
func (k kit) funnel(hi, lo, shift llir.Value) llir.Value {
	f := k.M.Declare("llvm.fshl.i32", llir.Pure, llir.I32, llir.I32, llir.I32, llir.I32)
	return k.Call(f, hi, lo, shift)
}
