package transform

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// bypassLDS marks loads that need no buffer: they are loaded as the dot has them.
const bypassLDS = "amdg.bypass_lds_load"

// bypass lets l load in the layout in which its dot has the operand, if memory holds the
// elements in the order in which the matrix cores want them, as reshapes and transpositions
// between the two tell: each thread then loads as many neighbours as before, and no element
// is loaded by two warps.
func bypass(b *ir.Builder, l pipeline.NeededLoad) bool {
	if !l.Use.Is(tt.Dot) && !l.Use.Is(tt.DotScaled) {
		return false
	}
	t := tensors.Type(l.Load.OneResult())
	from, blocked := encoding.Get(t).(*layout.Blocked)
	if !blocked {
		return false
	}
	reached := computedFrom(l.Load)
	var operand *ir.Operation
	for _, v := range l.Use.Operands() {
		if v.Def() == nil || !reached[v.Def()] {
			continue
		}
		if operand != nil {
			return false
		}
		operand = v.Def()
	}
	wanted := wantedLayout(operand, l.Load)
	if wanted == nil {
		return false
	}
	to := layout.FromLayout(tensors.Linear(tensors.WithEncoding(b.Context(), t, encoding.Of(b.Context(), wanted))))
	fastest := from.Order[0]
	linear := tensors.Linear(tensors.WithEncoding(b.Context(), t, encoding.Of(b.Context(), to)))
	if linear.ConsecutiveRegisters(layout.TensorDim(fastest)) < from.SizePerThread[fastest] || linear.ZeroMask(layout.Warp) != 0 {
		return false
	}
	relayoutLoad(b, l.Load, encoding.Of(b.Context(), to))
	l.Load.SetAttr(bypassLDS, b.Context().BoolAttr(true))
	return true
}

// wantedLayout is the layout in which load would have to load for op, which is computed from
// it, to be as it is; nil if op is not the load in another shape.
func wantedLayout(op, load *ir.Operation) layout.Encoding {
	if op == nil || op.NumResults() != 1 {
		return nil
	}
	wanted, turned := encoding.Get(op.OneResult().Type()), false
	for op != load {
		if op == nil || wanted == nil || !op.Is(ttg.ConvertLayout) && !op.Is(tt.Reshape) && !op.Is(tt.Trans) {
			return nil
		}
		in, out := ir.ShapeOf(op.OneOperand().Type()), ir.ShapeOf(op.OneResult().Type())
		var err error
		switch op.Def() {
		case tt.Reshape:
			wanted, err = layout.Reshape(wanted, out, in)
		case tt.Trans:
			perm := tensors.Permutation(op)
			inverse := make([]int, len(perm))
			for i, d := range perm {
				inverse[d] = i
			}
			wanted, err = layout.Trans(wanted, out, inverse)
		}
		if err != nil {
			return nil
		}
		turned = turned || !op.Is(ttg.ConvertLayout)
		op = op.OneOperand().Def()
	}
	if !turned {
		return nil
	}
	return wanted
}

// relayoutLoad lets load load in another layout, from which its users get the old one.
func relayoutLoad(b *ir.Builder, load *ir.Operation, enc ir.Attribute) {
	c, v := b.Context(), load.OneResult()
	old := encoding.AttrOf(v.Type())
	b.At(load)
	for i, o := range load.Operands() {
		if tensors.Type(o) != nil {
			load.OperandUse(i).Set(ttg.NewConvertLayout(b, o, enc))
		}
	}
	v.SetType(tensors.WithEncoding(c, tensors.Type(v), enc))
	b.After(load)
	back := ttg.NewConvertLayout(b, v, old)
	v.ReplaceUsesIf(back, func(u *ir.Use) bool { return u.Owner() != back.Def() })
}
