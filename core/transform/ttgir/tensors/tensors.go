package tensors

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// Type is the type of v if it is a tensor, else nil.
func Type(v *ir.Value) *ir.TensorType {
	t, _ := v.Type().(*ir.TensorType)
	return t
}

// Encoding is the encoding of v; nil if it is not a tensor.
func Encoding(v *ir.Value) ir.Attribute {
	if t := Type(v); t != nil {
		return t.Encoding
	}
	return nil
}

// WithEncoding is t with another encoding.
func WithEncoding(c *ir.Context, t *ir.TensorType, enc ir.Attribute) *ir.TensorType {
	return c.Tensor(t.Shape, t.Elem, enc)
}

// Linear is the layout of a tensor type as a linear map.
func Linear(t *ir.TensorType) layout.Layout {
	l, err := encoding.AttrOf(t).Linear(t.Shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return l
}

// Registers is the number of values of a tensor in each thread.
func Registers(shape []int64, a *encoding.Attr) int {
	l, err := a.Linear(shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return l.Registers()
}

// PerCTA is the shape of the part of a tensor that one CTA holds.
func PerCTA(t *ir.TensorType) []int64 {
	e := encoding.Get(t)
	if e == nil || layout.CTAs(e) == 1 {
		return t.Shape
	}
	part, err := layout.PartOf(e, t.Shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return part
}

// Elements is the number of elements that one CTA holds of a tensor.
func Elements(t *ir.TensorType) int64 {
	n := int64(1)
	for _, size := range PerCTA(t) {
		n *= size
	}
	return n
}

// CGA is how t, of which each CTA of a cluster has a box, is divided among them; nil
// where a cluster is one CTA.
func CGA(t *ir.TensorType) layout.Bases {
	if e := encoding.Get(t); e == nil || layout.CTAs(e) == 1 {
		return nil
	}
	cga, ok := Linear(t).CGA()
	if !ok {
		panic("BUG: ttgir: a buffer for CTAs that do not have boxes of a tensor")
	}
	return cga
}

// InBoxes reports whether each CTA of a cluster has a box of t. One CTA has all of it,
// with a layout or without.
func InBoxes(t *ir.TensorType) bool {
	if e := encoding.Get(t); e == nil || layout.CTAs(e) == 1 {
		return true
	}
	_, ok := Linear(t).CGA()
	return ok
}

// SameParts reports whether the CTAs of a cluster have the same parts of two tensors of
// one shape.
func SameParts(a, b *ir.TensorType) bool {
	if layout.CTAs(encoding.Get(a)) == 1 {
		return true
	}
	parts := func(t *ir.TensorType) layout.Bases {
		dims := make([]layout.Dim, len(t.Shape))
		for d := range dims {
			dims[d] = layout.TensorDim(d)
		}
		return Linear(t).TransposeOuts(dims...).BasesOf(layout.Block)
	}
	return slices.EqualFunc(parts(a), parts(b), slices.Equal[[]int32])
}

// IsMatrix reports whether e is the layout of a matrix instruction's result.
func IsMatrix(e layout.Encoding) bool {
	_, ok := e.(layout.Accumulator)
	return ok
}

// Permutation is the order of a tt.trans.
func Permutation(op *ir.Operation) []int {
	order := tt.AsTrans(op).Order()
	perm := make([]int, len(order))
	for i, d := range order {
		perm[i] = int(d)
	}
	return perm
}

// Conversions lists the conversions inside root.
func Conversions(root *ir.Operation) []*ir.Operation {
	var list []*ir.Operation
	ir.Walk(root, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.ConvertLayout) {
			list = append(list, op)
		}
		return ir.Advance
	})
	return list
}
