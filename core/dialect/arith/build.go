package arith

import (
	"math"

	"github.com/tritonc/tritonc/core/ir"
)

// Binary makes one of the two-operand operations.
func Binary(b *ir.Builder, def *ir.OpDef, lhs, rhs *ir.Value) *ir.Value {
	return b.Op(def, []*ir.Value{lhs, rhs}).OneResult()
}

// Cast makes one of the conversions, to the type to.
func Cast(b *ir.Builder, def *ir.OpDef, in *ir.Value, to ir.Type) *ir.Value {
	return b.Op(def, []*ir.Value{in}, to).OneResult()
}

// Compare makes CmpI or CmpF with one of the predicates.
func Compare(b *ir.Builder, def *ir.OpDef, pred int64, lhs, rhs *ir.Value) *ir.Value {
	return b.Create(def, ir.State{
		Operands: []*ir.Value{lhs, rhs},
		Attrs:    []ir.NamedAttr{{Name: "predicate", Attr: b.Context().I64Attr(pred)}},
	}).OneResult()
}

// NewSelect makes cond ? yes : no.
func NewSelect(b *ir.Builder, cond, yes, no *ir.Value) *ir.Value {
	return b.Op(Select, []*ir.Value{cond, yes, no}).OneResult()
}

// NewConstant makes a constant of the attribute's own type.
func NewConstant(b *ir.Builder, value ir.Attribute) *ir.Value {
	return b.Create(Constant, ir.State{Attrs: []ir.NamedAttr{{Name: "value", Attr: value}}}).OneResult()
}

// Int makes the integer constant v of type t; a splat where t is a tensor.
func Int(b *ir.Builder, t ir.Type, v int64) *ir.Value {
	return NewConstant(b, IntValue(b.Context(), t, v))
}

// Float makes the floating point constant v, rounded to t's format; a splat
// where t is a tensor.
func Float(b *ir.Builder, t ir.Type, v float64) *ir.Value {
	return NewConstant(b, FloatValue(b.Context(), t, v))
}

// IntValue is the attribute of the integer v with type t, a scalar or tensor.
func IntValue(c *ir.Context, t ir.Type, v int64) ir.Attribute {
	if tt, ok := t.(*ir.TensorType); ok {
		return c.DenseSplat(tt, uint64(v)&widthMask(ir.BitWidth(tt.Elem)))
	}
	return c.IntAttr(t, v)
}

// FloatValue is the attribute of v, rounded to nearest even in t's format.
func FloatValue(c *ir.Context, t ir.Type, v float64) ir.Attribute {
	ft := ir.ElemOf(t).(*ir.FloatType)
	bits := ir.FloatToBits(ft.Kind, v)
	if tt, ok := t.(*ir.TensorType); ok {
		return c.DenseSplat(tt, bits)
	}
	return c.FloatBits(ft, bits)
}

func widthMask(width int) uint64 {
	if width >= 64 {
		return math.MaxUint64
	}
	return 1<<width - 1
}

// TypeOf is the type of a typed attribute, nil for others.
func TypeOf(a ir.Attribute) ir.Type {
	switch a := a.(type) {
	case *ir.IntegerAttr:
		return a.Type
	case *ir.FloatAttr:
		return a.Type
	case *ir.DenseElementsAttr:
		return a.Type
	case *ir.DenseResourceAttr:
		return a.Type
	}
	return nil
}

// ConstantValue is the attribute of the constant that defines v, nil if v is
// none.
func ConstantValue(v *ir.Value) ir.Attribute {
	if v.DefIs(Constant) {
		return AsConstant(v.Def()).Value()
	}
	return nil
}

// ConstantInt is the integer that v equals if it is an integer constant, or a
// splat of one, sign-extended.
func ConstantInt(v *ir.Value) (int64, bool) { return AttrInt(ConstantValue(v)) }

// IsZero reports whether v is the constant 0 (+0.0 for floats), or a splat of it.
func IsZero(v *ir.Value) bool {
	switch a := ConstantValue(v).(type) {
	case *ir.IntegerAttr:
		return a.Value == 0
	case *ir.FloatAttr:
		return a.Bits == 0
	case *ir.DenseElementsAttr:
		return a.IsSplat() && a.Values[0] == 0
	}
	return false
}

// AttrInt is the integer of an integer attribute or integer splat.
func AttrInt(a ir.Attribute) (int64, bool) {
	switch a := a.(type) {
	case *ir.IntegerAttr:
		return a.Value, true
	case *ir.DenseElementsAttr:
		t, ok := ir.ElemOf(a.Type).(*ir.IntegerType)
		if !ok || !a.IsSplat() {
			return 0, false
		}
		if t.Width == 1 || t.Width >= 64 {
			return int64(a.Values[0]), true
		}
		return int64(a.Values[0]) << (64 - t.Width) >> (64 - t.Width), true
	}
	return 0, false
}
