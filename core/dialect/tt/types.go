package tt

import (
	"github.com/tritonc/tritonc/core/ir"
)

// PtrType is !tt.ptr<Pointee, AddrSpace>. The pointee is a scalar, or a ranked
// tensor for a block pointer.
type PtrType struct {
	Pointee   ir.Type
	AddrSpace int // 1 is global memory
}

// TensorDescType is !tt.tensordesc<Block>: a descriptor of a tensor in global
// memory that is read and written in blocks.
type TensorDescType struct{ Block *ir.TensorType }

func (*PtrType) TypeDialect() string        { return "tt" }
func (*TensorDescType) TypeDialect() string { return "tt" }

type (
	ptrKey struct {
		pointee ir.Type
		space   int
	}
	descKey struct{ block *ir.TensorType }
)

// Ptr returns the pointer type in global memory (address space 1).
func Ptr(c *ir.Context, pointee ir.Type) *PtrType { return PtrIn(c, pointee, 1) }

// PtrIn returns the pointer type in the given address space.
func PtrIn(c *ir.Context, pointee ir.Type, space int) *PtrType {
	return ir.InternType(c, ptrKey{pointee, space}, func() *PtrType { return &PtrType{pointee, space} })
}

// TensorDesc returns the descriptor type of blocks of the given tensor type.
func TensorDesc(c *ir.Context, block *ir.TensorType) *TensorDescType {
	return ir.InternType(c, descKey{block}, func() *TensorDescType { return &TensorDescType{block} })
}

// PointeeOf is what a pointer, or each pointer of a tensor, points to; nil for
// other types.
func PointeeOf(t ir.Type) ir.Type {
	if p, ok := ir.ElemOf(t).(*PtrType); ok {
		return p.Pointee
	}
	return nil
}

// IsBlockPtr reports whether t is a pointer to a tensor.
func IsBlockPtr(t ir.Type) bool {
	p, ok := t.(*PtrType)
	if !ok {
		return false
	}
	_, ok = p.Pointee.(*ir.TensorType)
	return ok
}

// ValueTypeOf is the type of what a load through a pointer of type t gives: the
// pointee, in the shape and encoding of a tensor of pointers. Nil when t is not
// a pointer.
func ValueTypeOf(c *ir.Context, t ir.Type) ir.Type {
	p := PointeeOf(t)
	if p == nil {
		return nil
	}
	return c.WithElem(t, p)
}

// Constraints of the tt tables.
var (
	PtrLike = ir.Constraint{Name: "ptr or tensor of ptr", Test: func(t ir.Type) bool {
		p, ok := ir.ElemOf(t).(*PtrType)
		if !ok {
			return false
		}
		_, block := p.Pointee.(*ir.TensorType)
		return !block
	}}
	ScalarPtr = ir.Constraint{Name: "ptr", Prefix: "!tt.ptr", Test: func(t ir.Type) bool {
		_, tensor := t.(*ir.TensorType)
		return !tensor && PtrLike.Test(t)
	}}
	BlockPtr      = ir.Constraint{Name: "ptr to a ranked tensor", Prefix: "!tt.ptr", Test: IsBlockPtr}
	PtrOrBlockPtr = ir.Constraint{Name: "ptr or tensor of ptr or ptr to a ranked tensor", Test: func(t ir.Type) bool {
		return PtrLike.Test(t) || IsBlockPtr(t)
	}}
	// offsets are those of rows of a descriptor.
	offsets = ir.Constraint{Name: "tensor of 32-bit signless integers", Test: func(t ir.Type) bool {
		return ir.AnyTensor.Test(t) && ir.IsInt(ir.ElemOf(t), 32)
	}}
	// scales are those of block-scaled operands: numbers, or exponents in bytes.
	scales = ir.Constraint{Name: "ranked tensor of floating-point or 8-bit signless integer values", Test: func(t ir.Type) bool {
		return ir.AnyTensor.Test(t) && (ir.FloatLike.Test(t) || ir.IsInt(ir.ElemOf(t), 8))
	}}
	DescLike = ir.Constraint{Name: "tensor descriptor", Prefix: "!tt.tensordesc", Test: func(t ir.Type) bool {
		_, ok := t.(*TensorDescType)
		return ok
	}}
	AnyValue = ir.Constraint{Name: "floating-point, integer or ptr, or a tensor of them", Test: func(t ir.Type) bool {
		return ir.FloatLike.Test(t) || ir.IntLike.Test(t) || PtrOrBlockPtr.Test(t)
	}}
)
