package gpu

import (
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// float8 is a format that instructions convert.
type float8 struct {
	name    string // fp8 or bf8, of the instructions
	largest float64
}

// float8s are the formats of the chip's instructions.
func (t *Target) float8s() map[ir.FloatKind]float8 {
	switch {
	case t.FNUZFloat8:
		return map[ir.FloatKind]float8{ir.F8E4M3FNUZ: {"fp8", 240}, ir.F8E5M2FNUZ: {"bf8", 57344}}
	case t.OCPFloat8:
		return map[ir.FloatKind]float8{ir.F8E4M3FN: {"fp8", 448}, ir.F8E5M2: {"bf8", 57344}}
	}
	return nil
}

// ConvertFloats goes through f32, two elements at a time, where the chip has instructions
// for the format; these round to nearest even. Every number of eight bits fits f16 and
// bf16, so that a conversion to those is exact, and from them f32 rounds nothing; from f64
// it would round twice. Other formats and directions are computed.
func (t *Target) ConvertFloats(b *llir.Builder, from, to ir.FloatKind, rounding int64, x []llir.Value) []llir.Value {
	formats := t.float8s()
	source, widens := formats[from]
	target, narrows := formats[to]
	narrows = narrows && rounding != tt.RoundTowardZero && from != ir.F64
	soft := func(from, to ir.FloatKind, x []llir.Value) []llir.Value {
		return lower.SoftFloats{}.ConvertFloats(b, from, to, rounding, x)
	}
	switch {
	case !widens && !narrows:
		return soft(from, to, x)
	case widens:
		x = source.widen(b, x)
	case from.Width() == 8:
		x = soft(from, ir.F32, x)
	default:
		x = each(x, func(v llir.Value) llir.Value { return toF32(b, v) })
	}
	switch {
	case narrows:
		return target.narrow(b, x)
	case to.Width() == 8:
		return soft(ir.F32, to, x)
	}
	return each(x, func(v llir.Value) llir.Value { return exactly(b, v, to) })
}

// toF32 widens a float that has no more than 32 bits.
func toF32(b *llir.Builder, v llir.Value) llir.Value {
	if v.Type() == llir.F32 {
		return v
	}
	return b.Cast(llir.FPExt, v, llir.F32, 0)
}

// exactly converts an f32 that the other format has, too.
func exactly(b *llir.Builder, v llir.Value, to ir.FloatKind) llir.Value {
	switch to {
	case ir.F16:
		return b.Cast(llir.FPTrunc, v, llir.Half, 0)
	case ir.BF16: // the upper half
		return b.BitCast(b.Trunc(b.LShr(b.BitCast(v, llir.I32), 16), llir.I16), llir.BF16)
	case ir.F64:
		return b.Cast(llir.FPExt, v, llir.F64, 0)
	}
	return v
}

func each(x []llir.Value, f func(llir.Value) llir.Value) []llir.Value {
	out := make([]llir.Value, len(x))
	for i, v := range x {
		out[i] = f(v)
	}
	return out
}

// widenHalf gives the pair of f32 of one half of a word's bytes, 0 or 1.
func (f float8) widenHalf(b *llir.Builder, word llir.Value, half int) llir.Value {
	m := b.M
	convert := m.Declare("llvm.amdgcn.cvt.pk.f32."+f.name, llir.Pure, m.Vec(2, llir.F32), llir.I32, llir.I1)
	return b.Call(convert, word, m.Bool(half == 1))
}

// widen gives the f32 of bytes.
func (f float8) widen(b *llir.Builder, x []llir.Value) []llir.Value {
	m := b.M
	var out []llir.Value
	for i := 0; i < len(x); i += 4 {
		var bytes [4]llir.Value
		for j := range bytes {
			bytes[j] = m.Int(llir.I8, 0)
			if i+j < len(x) {
				bytes[j] = x[i+j]
			}
		}
		word := b.BitCast(b.Vector(bytes[:]...), llir.I32)
		for j := 0; j < 4 && i+j < len(x); j += 2 {
			v := f.widenHalf(b, word, j/2)
			out = append(out, b.ExtractElement(v, 0), b.ExtractElement(v, 1))
		}
	}
	return out[:len(x)]
}

// narrow rounds f32 to bytes. What lies beyond the largest number becomes that one; a NaN,
// which the clamp loses, stays one.
func (f float8) narrow(b *llir.Builder, x []llir.Value) []llir.Value {
	m := b.M
	clamp := m.Declare("llvm.amdgcn.fmed3.f32", llir.Pure, llir.F32, llir.F32, llir.F32, llir.F32)
	convert := m.Declare("llvm.amdgcn.cvt.pk."+f.name+".f32", llir.Pure, llir.I32, llir.F32, llir.F32, llir.I32, llir.I1)
	limited := func(i int) llir.Value {
		if i >= len(x) {
			return m.Float(llir.F32, 0)
		}
		v := b.Call(clamp, x[i], m.Float(llir.F32, f.largest), m.Float(llir.F32, -f.largest))
		return b.Select(b.FCmp(enum.FPredUNO, x[i], x[i]), x[i], v)
	}
	out := make([]llir.Value, 0, len(x)+3)
	for i := 0; i < len(x); i += 4 {
		word := b.Call(convert, limited(i), limited(i+1), m.I32(0), m.Bool(false))
		if i+2 < len(x) {
			word = b.Call(convert, limited(i+2), limited(i+3), word, m.Bool(true))
		}
		bytes := b.BitCast(word, m.Vec(4, llir.I8))
		for j := range 4 {
			out = append(out, b.ExtractElement(bytes, j))
		}
	}
	return out[:len(x)]
}
