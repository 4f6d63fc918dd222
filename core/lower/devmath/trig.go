package devmath

import (
	"math"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// (sin r - r)/r³ and (cos r - 1 + r²/2)/r⁴ as polynomials in r², |r| ≤ π/4; the
// sine errs by 2.1e-11, the cosine by 1.4e-12.
var (
	sinSingle = []float64{-0.1666666666362283, 0.008333331785217524, -0.00019840038872502065, 2.7243781404496077e-06}
	cosSingle = []float64{0.04166666666412721, -0.0013888887597327667, 2.4800560429868877e-05, -2.729583082347162e-07}
)

// π/2 as the sum of three floats.
const (
	halfPiHigh = 1.5707963705062866
	halfPiMid  = -4.371138828673793e-08
	halfPiLow  = -1.7151245100058819e-15
)

// twoOverPi are the bits of 2/π, behind a word of zeros before the point.
var twoOverPi = [...]uint32{
	0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
}

// largeAngle is where three floats of π/2 no longer suffice.
const largeAngle = 105615

// Sin is the sine of an f32 in radians; nil for other types.
func Sin(b *llir.Builder, x llir.Value) llir.Value { return trig(b, x, 0) }

// Cos is the cosine of an f32 in radians; nil for other types.
func Cos(b *llir.Builder, x llir.Value) llir.Value { return trig(b, x, 1) }

// trig is sin(x + turns·π/2).
func trig(b *llir.Builder, x llir.Value, turns int) llir.Value {
	if x.Type() != llir.F32 {
		return nil
	}
	k := kitFor(b, x)
	n := k.round(k.mul(x, k.num(2/math.Pi)))
	r := k.fma(n, k.num(-halfPiHigh), x)
	r = k.fma(n, k.num(-halfPiMid), r)
	r = k.fma(n, k.num(-halfPiLow), r)
	// Frozen, because the conversion is undefined for large numbers and NaNs,
	// for which another quadrant is put in, or does not matter.
	q := k.Freeze(k.Cast(llir.FPToSI, n, llir.I32, 0))
	size := k.Call(k.M.Declare("llvm.fabs.f32", llir.Pure, llir.F32, llir.F32), x)
	large := k.FCmp(enum.FPredOGT, size, k.num(largeAngle))
	r, q = k.onlyIf(large, r, q, func() (llir.Value, llir.Value) { return k.reduceLarge(x) })
	r = k.Select(k.FCmp(enum.FPredOEQ, size, k.num(math.Inf(1))), k.num(math.NaN()), r)

	z := k.mul(r, r)
	sin := k.fma(k.mul(r, z), k.poly(z, sinSingle), r)
	cos := k.fma(z, k.fma(z, k.poly(z, cosSingle), k.num(-0.5)), k.num(1))
	q = k.Add(q, k.int(int64(turns)))
	odd := k.ICmp(enum.IPredNE, k.And(q, k.int(1)), k.int(0))
	y := k.Select(odd, cos, sin)
	second := k.ICmp(enum.IPredNE, k.And(q, k.int(2)), k.int(0))
	return k.Select(second, k.FNeg(y), y)
}

// onlyIf is f's two values where cond holds, else x and y; f's code stands
// behind a branch.
func (k kit) onlyIf(cond, x, y llir.Value, f func() (llir.Value, llir.Value)) (llir.Value, llir.Value) {
	if c, ok := llir.ConstInt(cond); ok {
		if c == 0 {
			return x, y
		}
		return f()
	}
	before := k.Block()
	do, join := k.F.NewBlock(before), k.F.NewBlock(before)
	k.CondBr(cond, do, join)
	k.SetBlock(do)
	x2, y2 := f()
	end := k.Block()
	k.Br(join)
	k.F.MoveToEnd(join)
	k.SetBlock(join)
	px, py := k.Phi(x.Type()), k.Phi(y.Type())
	llir.AddIncoming(px, x, before)
	llir.AddIncoming(px, x2, end)
	llir.AddIncoming(py, y, before)
	llir.AddIncoming(py, y2, end)
	return px, py
}

// reduceLarge is x modulo π/2, to nearest, and the number of the quadrant, for
// x of at least 2^16, by Payne and Hanek's method ("Radian reduction for
// trigonometric functions", 1983): x = m·2^p is multiplied by a window of 96 bits
// of 2/π; the bits before it only add multiples of four quadrants, those behind
// it are too small to matter.
func (k kit) reduceLarge(x llir.Value) (r, q llir.Value) {
	bits := k.BitCast(x, llir.I32)
	exp := k.And(k.LShr(bits, 23), k.int(255))
	m := k.Or(k.And(bits, k.int(1<<23-1)), k.int(1<<23))
	// p = exp - 150; the window begins two bits above 2^-p, 32 behind the start
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
