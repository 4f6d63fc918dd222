package gpu

import (
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// The 8-bit formats e5m2 and e4m3 are held as i8. From compute capability 8.9 on
// the hardware converts pairs. Before, e5m2 is the high byte of an f16, and
// rounding is arithmetic on its bits; e4m3 does not exist.

// nativeFP8 is the first compute capability that converts 8-bit floats.
const nativeFP8 = 89

// fp8Names are PTX's names of pairs.
var fp8Names = map[ir.FloatKind]string{ir.F8E5M2: "e5m2x2", ir.F8E4M3FN: "e4m3x2"}

// ConvertFloats converts between an 8-bit format and another; nil where the
// hardware lacks the format.
func (t *Target) ConvertFloats(b *llir.Builder, from, to ir.FloatKind, rounding int64, x []llir.Value) []llir.Value {
	if from.Width() == 8 && to.Width() == 8 { // f16 holds both
		h := t.ConvertFloats(b, from, ir.F16, rounding, x)
		if h == nil {
			return nil
		}
		return t.ConvertFloats(b, ir.F16, to, rounding, h)
	}
	narrow, wide := from, to
	if to.Width() == 8 {
		narrow, wide = to, from
	}
	if fp8Names[narrow] == "" || narrow == ir.F8E4M3FN && t.CC < nativeFP8 {
		return nil
	}
	if from.Width() == 8 {
		return t.widen(b, narrow, wide, x)
	}
	if rounding == tt.RoundTowardZero && narrow != ir.F8E5M2 {
		return nil
	}
	return t.narrow(b, narrow, wide, rounding, x)
}

// widen goes through f16, which holds both formats.
func (t *Target) widen(b *llir.Builder, from, to ir.FloatKind, x []llir.Value) []llir.Value {
	out := make([]llir.Value, 0, len(x)+1)
	if from == ir.F8E5M2 && len(x)%4 == 0 {
		return wider(b, to, highBytes(b, x))
	}
	for i := 0; i < len(x); i += 2 {
		hi := x[min(i+1, len(x)-1)]
		if from == ir.F8E5M2 {
			for _, v := range []llir.Value{x[i], hi} {
				out = append(out, b.BitCast(b.Shl(b.ZExt(v, llir.I16), 8), llir.Half))
			}
			continue
		}
		pair := b.BitCast(b.Vector(x[i], hi), llir.I16)
		h := b.Asm("cvt.rn.f16x2."+fp8Names[from]+" $0, $1;", "=r,h", false, b.M.Vec(2, llir.Half), pair)
		out = append(out, b.ExtractElement(h, 0), b.ExtractElement(h, 1))
	}
	return wider(b, to, out[:len(x)])
}

// highBytes makes f16s with the given high bytes, four of them at a time.
func highBytes(b *llir.Builder, x []llir.Value) []llir.Value {
	out := make([]llir.Value, 0, len(x))
	zero := b.M.I32(0)
	for i := 0; i < len(x); i += 4 {
		word := b.BitCast(b.Vector(x[i:i+4]...), llir.I32)
		// A byte of zero (4) below each byte of the word (0 to 3).
		for _, selector := range []int{0x1404, 0x3424} {
			pair := b.BitCast(permute(b, word, zero, b.M.I32(selector)), b.M.Vec(2, llir.Half))
			out = append(out, b.ExtractElement(pair, 0), b.ExtractElement(pair, 1))
		}
	}
	return out
}

// permute gives four of the eight bytes of lo and hi, numbered from 0 in this
// order; the selector's hexadecimal digits name them.
func permute(b *llir.Builder, lo, hi, selector llir.Value) llir.Value {
	f := b.M.Declare("llvm.nvvm.prmt", llir.Pure, llir.I32, llir.I32, llir.I32, llir.I32)
	return b.Call(f, lo, hi, selector)
}

// wider converts f16s to a wider type, in place.
func wider(b *llir.Builder, to ir.FloatKind, out []llir.Value) []llir.Value {
	for i, v := range out {
		switch to {
		case ir.F32:
			out[i] = b.Cast(llir.FPExt, v, llir.F32, 0)
		case ir.F64:
			out[i] = b.Cast(llir.FPExt, v, llir.F64, 0)
		case ir.BF16: // through f32; every value fits
			out[i] = b.Cast(llir.FPTrunc, b.Cast(llir.FPExt, v, llir.F32, 0), llir.BF16, 0)
		}
	}
	return out
}

func (t *Target) narrow(b *llir.Builder, to, from ir.FloatKind, rounding int64, x []llir.Value) []llir.Value {
	if rounding == tt.RoundTowardZero || t.CC < nativeFP8 {
		out := make([]llir.Value, len(x))
		for i, v := range x {
			out[i] = narrowE5M2(b, v, rounding == tt.RoundTowardZero)
		}
		return out
	}
	out := make([]llir.Value, 0, len(x)+1)
	for i := 0; i < len(x); i += 2 {
		lo, hi := x[i], x[min(i+1, len(x)-1)]
		var pair llir.Value
		if from == ir.F16 {
			pair = b.Asm("cvt.rn.satfinite."+fp8Names[to]+".f16x2 $0, $1;", "=h,r", false, llir.I16, b.Vector(lo, hi))
		} else {
			lo, hi = single(b, lo), single(b, hi)
			pair = b.Asm("cvt.rn.satfinite."+fp8Names[to]+".f32 $0, $1, $2;", "=h,f,f", false, llir.I16, hi, lo)
		}
		bytes := b.BitCast(pair, b.M.Vec(2, llir.I8))
		out = append(out, b.ExtractElement(bytes, 0), b.ExtractElement(bytes, 1))
	}
	return out[:len(x)]
}

// single is a number as f32.
func single(b *llir.Builder, v llir.Value) llir.Value {
	switch v.Type() {
	case llir.F64:
		return b.Cast(llir.FPTrunc, v, llir.F32, 0)
	case llir.F32:
		return v
	}
	return b.Cast(llir.FPExt, v, llir.F32, 0)
}

// narrowE5M2 rounds in integer arithmetic on the bits of an f16: to nearest even
// or toward zero, finite values staying finite as in hardware.
func narrowE5M2(b *llir.Builder, v llir.Value, towardZero bool) llir.Value {
	h := v
	if v.Type() != llir.Half {
		// Rounding toward zero, with what was lost kept in the last bit, so that
		// the second rounding sees on which side the number was.
		h = oddHalf(b, single(b, v))
	}
	bits := b.BitCast(h, llir.I16)
	c := func(x int64) llir.Value { return b.M.Int(llir.I16, x) }
	size := b.And(bits, c(0x7FFF))
	rounded := size
	if !towardZero {
		even := b.And(b.LShr(size, 8), c(1))
		rounded = b.Add(size, b.Add(even, c(0x7F)))
	}
	top := b.LShr(rounded, 8)
	const largest, nan = 0x7B, 0x7F
	top = b.Select(b.ICmp(enum.IPredUGT, top, c(largest)), c(largest), top)
	top = b.Select(b.ICmp(enum.IPredUGT, size, c(0x7C00)), c(nan), top)
	sign := b.And(b.LShr(bits, 8), c(0x80))
	return b.Trunc(b.Or(top, sign), llir.I8)
}

// oddHalf rounds an f32 to f16 toward zero and sets the last bit where that lost
// something.
func oddHalf(b *llir.Builder, v llir.Value) llir.Value {
	h := b.Asm("cvt.rz.f16.f32 $0, $1;", "=h,f", false, llir.I16, v)
	back := b.Cast(llir.FPExt, b.BitCast(h, llir.Half), llir.F32, 0)
	lost := b.FCmp(enum.FPredONE, back, v)
	return b.BitCast(b.Or(h, b.ZExt(lost, llir.I16)), llir.Half)
}

// UnpackE2M1 looks the numbers up: a permutation of bytes is a table of eight, and
// the lower three bits of a nibble are the index. Only the high byte of an f16
// differs from number to number, of a bf16 both.
func (t *Target) UnpackE2M1(b *llir.Builder, to llir.Type, x []llir.Value) []llir.Value {
	if len(x)%4 != 0 {
		return nil
	}
	m := b.M
	word := func(v uint32) llir.Value { return m.I32(int(int32(v))) }
	high := [2]uint32{0x3E3C3800, 0x46444240}
	low := [2]uint32{}
	if to == llir.BF16 {
		high, low = [2]uint32{0x3F3F3F00, 0x40404040}, [2]uint32{0xC0800000, 0xC0804000}
	}
	out := make([]llir.Value, 0, 2*len(x))
	for i := 0; i < len(x); i += 4 {
		nibbles := b.BitCast(b.Vector(x[i:i+4]...), llir.I32)
		// The highest bit of a digit of a selector asks for something else.
		index, shifted := b.And(nibbles, word(0x77777777)), b.Shl(nibbles, 4)
		// Four bytes whose highest bits are those of four nibbles.
		for half, bytes := range []uint32{0x5140, 0x7362} {
			at := b.LShr(index, 16*half)
			tops := permute(b, word(high[0]), word(high[1]), at)
			signs := permute(b, shifted, nibbles, word(bytes))
			tops = b.Or(tops, b.And(signs, word(0x80808080)))
			bottoms := word(0)
			if to == llir.BF16 {
				bottoms = permute(b, word(low[0]), word(low[1]), at)
			}
			for _, selector := range []uint32{0x5140, 0x7362} {
				pair := b.BitCast(permute(b, bottoms, tops, word(selector)), m.Vec(2, to))
				out = append(out, b.ExtractElement(pair, 0), b.ExtractElement(pair, 1))
			}
		}
	}
	return out
}
