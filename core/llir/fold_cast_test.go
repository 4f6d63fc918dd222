package llir

import (
	"math"
	"testing"

	"github.com/llir/llvm/ir"
)

func TestCastFolds(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	for _, c := range []struct {
		op   Op
		from Value
		to   Type
		want string
	}{
		{FPToSI, m.Float(F32, -3.9), I32, "i32 -3"},
		{FPToSI, m.Float(F64, 2147483647), I32, "i32 2147483647"},
		{FPToUI, m.Float(F64, 18446744073709549568), I64, "i64 -2048"},
		{UIToFP, m.I64(-1), F32, "float 0x43F0000000000000"},
		{SIToFP, m.I64(16777217), F32, "float 0x4170000000000000"},
		{SIToFP, m.I64(16777219), F32, "float 0x4170000040000000"},
		{FPExt, m.Float(Half, 1.0/3), F32, "float 0x3FD5540000000000"},
		{BitCast, m.Float(BF16, 1), I16, "i16 16256"},
		{BitCast, m.I32(-1), F32, "float 0xFFFFFFFFE0000000"},
		{TruncOp, m.I64(511), I8, "i8 -1"},
	} {
		if got := b.Cast(c.op, c.from, c.to, 0).String(); got != c.want {
			t.Errorf("cast %d of %s: got %s, want %s", c.op, c.from, got, c.want)
		}
	}
	for _, v := range []float64{2147483648, -2147483649, math.Inf(1), math.NaN()} {
		if got := b.Cast(FPToSI, m.Float(F64, v), I32, 0); IsConst(got) {
			t.Errorf("fptosi %v folded to %s though it is poison", v, got)
		}
	}
}

// TestPacked: a bit-cast of neighbours of one vector is that part of the vector,
// and of no others.
func TestPacked(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	word := func(i int) []Value {
		bytes := b.BitCast(fn.Param(i), m.Vec(4, I8))
		out := make([]Value, 4)
		for k := range out {
			out[k] = b.ExtractElement(bytes, k)
		}
		return out
	}
	x, y := word(0), word(1)
	halves := b.BitCast(fn.Param(0), m.Vec(2, I16))
	for _, c := range []struct {
		name  string
		elems []Value
		to    Type
		want  Value
	}{
		{"all", x, I32, fn.Param(0)},
		{"lower half", x[:2], I16, b.ExtractElement(halves, 0)},
		{"upper half", x[2:], I16, b.ExtractElement(halves, 1)},
		{"upper half as f16", x[2:], Half, b.BitCast(b.ExtractElement(halves, 1), Half)},
		{"across halves", x[1:3], I16, nil},
		{"swapped", []Value{x[1], x[0]}, I16, nil},
		{"of two words", []Value{x[0], y[1]}, I16, nil},
	} {
		got := b.BitCast(b.Vector(c.elems...), c.to)
		_, cast := got.(*ir.InstBitCast)
		if c.want != nil && got != c.want || c.want == nil && !cast {
			t.Errorf("%s: got %s", c.name, got)
		}
	}
}
