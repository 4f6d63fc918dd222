package lower

import (
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// SoftFloats converts floats of eight bits by arithmetic on their bits. Numbers
// beyond the largest finite one become that one, as hardware conversions that
// saturate have it; a NaN stays a NaN.
type SoftFloats struct{}

// byteFloat is a format of eight bits: a sign, an exponent, man bits of mantissa.
type byteFloat struct {
	man, bias int
	// largest is the greatest finite magnitude, nan a NaN without its sign.
	largest, nan int
	// infinite is set where the largest exponent is that of infinity and NaNs, as
	// in IEEE 754; unsigned where there is one zero, and -0 is the one NaN. In
	// other formats the one NaN has all bits set, but for the sign.
	infinite, unsigned bool
}

var byteFloats = map[ir.FloatKind]byteFloat{
	ir.F8E5M2:     {man: 2, bias: 15, largest: 0x7B, nan: 0x7F, infinite: true},
	ir.F8E4M3FN:   {man: 3, bias: 7, largest: 0x7E, nan: 0x7F},
	ir.F8E4M3FNUZ: {man: 3, bias: 8, largest: 0x7F, nan: 0x80, unsigned: true},
	ir.F8E5M2FNUZ: {man: 2, bias: 16, largest: 0x7F, nan: 0x80, unsigned: true},
}

func (SoftFloats) UnpackE2M1(*llir.Builder, llir.Type, []llir.Value) []llir.Value { return nil }

func (SoftFloats) ConvertFloats(b *llir.Builder, from, to ir.FloatKind, rounding int64, x []llir.Value) []llir.Value {
	source, narrowFrom := byteFloats[from]
	target, narrowTo := byteFloats[to]
	if !narrowFrom && !known(from) || !narrowTo && !known(to) {
		return nil
	}
	wide := map[ir.FloatKind]llir.Type{ir.F16: llir.Half, ir.BF16: llir.BF16, ir.F32: llir.F32, ir.F64: llir.F64}
	out := make([]llir.Value, len(x))
	for i, v := range x {
		if narrowFrom && source.inHalf() {
			if v = source.half(b, v); to == ir.F16 {
				out[i] = v
				continue
			}
			v = b.Cast(llir.FPExt, v, llir.F32, 0)
		} else if narrowFrom {
			v = source.widen(b, v)
		}
		switch {
		case narrowTo:
			v = target.narrow(b, v, rounding == tt.RoundTowardZero)
		case to == ir.F64:
			v = b.Cast(llir.FPExt, v, llir.F64, 0)
		case to != ir.F32: // every number of eight bits fits
			v = b.Cast(llir.FPTrunc, v, wide[to], 0)
		}
		out[i] = v
	}
	return out
}

// inHalf reports whether every exponent of the format is one of f16 after a shift of the
// byte, so that a product with a power of two corrects the bias, of subnormals as well.
func (f byteFloat) inHalf() bool { return f.infinite || f.man == 3 }

// half gives the f16 of a byte, which is exact.
func (f byteFloat) half(b *llir.Builder, x llir.Value) llir.Value {
	m := b.M
	bits := b.ZExt(x, llir.I16)
	if f.infinite { // the upper byte of f16
		return b.BitCast(b.Shl(bits, 8), llir.Half)
	}
	shifted := b.Or(b.Shl(b.And(bits, m.Int(llir.I16, 0x7F)), 10-f.man), b.Shl(b.And(bits, m.Int(llir.I16, 0x80)), 8))
	y := b.Binary(llir.FMul, b.BitCast(shifted, llir.Half), m.Float(llir.Half, float64(int(1)<<(15-f.bias))), 0)
	isNaN := b.ICmp(ipredEQ, b.And(bits, m.Int(llir.I16, int64(0x7F|f.nan))), m.Int(llir.I16, int64(f.nan)))
	return b.Select(isNaN, m.FloatBits(llir.Half, 0x7E00), y)
}

// widen gives the f32 of a byte, which is exact.
func (f byteFloat) widen(b *llir.Builder, x llir.Value) llir.Value {
	m := b.M
	bits := b.ZExt(x, llir.I32)
	mag := b.And(bits, m.I32(0x7F))
	shifted := b.Shl(mag, 23-f.man)
	normal := b.Add(shifted, m.I32((127-f.bias)<<23))
	unit := m.FloatBits(llir.F32, uint64(127+1-f.bias-f.man)<<23)
	subnormal := b.BitCast(b.Binary(llir.FMul, b.Cast(llir.UIToFP, mag, llir.F32, 0), unit, 0), llir.I32)
	y := b.Select(b.ICmp(enum.IPredULT, mag, m.I32(1<<f.man)), subnormal, normal)
	const quiet, exponent = 0x7FC00000, 0x7F800000
	switch {
	case f.infinite:
		y = b.Select(b.ICmp(enum.IPredUGT, mag, m.I32(f.largest)), b.Or(shifted, m.I32(exponent)), y)
	default:
		y = b.Select(b.ICmp(ipredEQ, b.And(bits, m.I32(0x7F|f.nan)), m.I32(f.nan)), m.I32(quiet), y)
	}
	sign := b.Shl(b.And(bits, m.I32(0x80)), 24)
	return b.BitCast(b.Or(y, sign), llir.F32)
}

// narrow rounds to the format, to nearest even or toward zero.
func (f byteFloat) narrow(b *llir.Builder, v llir.Value, towardZero bool) llir.Value {
	m := b.M
	man, bias := 23, 127
	switch v.Type() {
	case llir.F64: // not by way of f32, which would round twice
		man, bias = 52, 1023
	case llir.Half, llir.BF16:
		v = b.Cast(llir.FPExt, v, llir.F32, 0)
	}
	width := llir.Width(v.Type())
	t := llir.IntN(width)
	c := func(x int64) llir.Value { return m.Int(t, x) }
	bits := b.BitCast(v, t)
	mag := b.And(bits, c(1<<(width-1)-1))
	isNaN := b.ICmp(enum.IPredUGT, mag, c((1<<(width-1-man)-1)<<man))
	largest := c(int64(f.largest)<<(man-f.man) + int64(bias-f.bias)<<man)
	mag = b.Select(b.ICmp(enum.IPredUGT, mag, largest), largest, mag)

	// exp is the exponent field that the number would have, below 1 where it is
	// subnormal: its mantissa then goes further down, with the leading one. What
	// lies below half of the smallest number needs no exact distance.
	exp := b.Sub(b.LShr(mag, man), c(int64(bias-f.bias)))
	isSmall := b.ICmp(ipredSLT, exp, c(1))
	below := b.Select(isSmall, b.Sub(c(1), exp), c(0))
	far := c(int64(f.man + 2))
	below = b.Select(b.ICmp(ipredSGT, below, far), far, below)
	leading := b.Or(b.And(mag, c(1<<man-1)), c(1<<man))
	above := b.Select(isSmall, c(0), b.Sub(exp, c(1)))
	y := b.Add(leading, b.Shl(above, man))
	shift := b.Add(below, c(int64(man-f.man)))
	if !towardZero {
		half := b.Binary(llir.Shl, c(1), b.Sub(shift, c(1)), 0)
		odd := b.And(b.Binary(llir.LShr, y, shift, 0), c(1))
		y = b.Add(y, b.Add(b.Sub(half, c(1)), odd))
	}
	y = b.Trunc(b.Binary(llir.LShr, y, shift, 0), llir.I8)

	sign := b.And(b.Trunc(b.LShr(bits, width-8), llir.I8), m.Int(llir.I8, 0x80))
	if f.unsigned {
		sign = b.Select(b.ICmp(ipredEQ, y, m.Int(llir.I8, 0)), m.Int(llir.I8, 0), sign)
		return b.Select(isNaN, m.Int(llir.I8, int64(f.nan)), b.Or(y, sign))
	}
	return b.Or(b.Select(isNaN, m.Int(llir.I8, int64(f.nan)), y), sign)
}
