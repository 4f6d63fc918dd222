package ttg

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// ShapeOf is the shape of a tensor, a buffer, or the block of a descriptor; nil for all
// else.
func ShapeOf(t ir.Type) []int64 {
	switch t := t.(type) {
	case *ir.TensorType:
		return t.Shape
	case *MemDescType:
		return t.Shape
	case *tt.TensorDescType:
		return t.Block.Shape
	}
	return nil
}

// Part is the type of one of n equal parts along a dimension of a value of type t, which
// has a shape (ShapeOf). A part of a buffer is a buffer of its own.
func Part(c *ir.Context, t ir.Type, dim, n int) ir.Type {
	shape := slices.Clone(ShapeOf(t))
	shape[dim] /= int64(n)
	switch t := t.(type) {
	case *MemDescType:
		m := *t
		m.Shape, m.AllocShape = shape, nil
		return MemDesc(c, m)
	case *tt.TensorDescType:
		return tt.TensorDesc(c, c.Tensor(shape, t.Block.Elem, t.Block.Encoding))
	}
	x := t.(*ir.TensorType)
	return c.Tensor(shape, x.Elem, x.Encoding)
}
