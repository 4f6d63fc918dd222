package tt

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// ReducedType is what a reduction of t along axis gives: t without that
// dimension, or its element type when none is left.
func ReducedType(c *ir.Context, t *ir.TensorType, axis int) ir.Type {
	if len(t.Shape) == 1 {
		return t.Elem
	}
	shape := slices.Delete(slices.Clone(t.Shape), axis, axis+1)
	return c.Tensor(shape, t.Elem, encoding.Slice(c, t.Encoding, axis))
}

// inferExpandDims knows the result's encoding only where the source's is a
// slice along the new axis.
func inferExpandDims(s *ir.State) ([]ir.Type, error) {
	t, ok := s.Operands[0].Type().(*ir.TensorType)
	axis, hasAxis := s.Attr("axis").(*ir.IntegerAttr)
	if !ok || !hasAxis || axis.Value < 0 || axis.Value > int64(len(t.Shape)) {
		return nil, fmt.Errorf("needs a tensor and an axis within it")
	}
	shape := slices.Insert(slices.Clone(t.Shape), int(axis.Value), 1)
	var enc ir.Attribute
	if a := encoding.AttrOf(t); a != nil {
		slice, ok := a.Layout.(*layout.Slice)
		if !ok || slice.Dim != int(axis.Value) {
			return nil, fmt.Errorf("source encoding is not a slice along axis %d", axis.Value)
		}
		enc = a.Parent
	}
	return []ir.Type{s.Ctx.Tensor(shape, t.Elem, enc)}, nil
}
