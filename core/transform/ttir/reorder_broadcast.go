package ttir

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/std"
)

// ReorderBroadcast computes before it repeats: an element-wise operation on
// splats becomes the scalar operation and one splat; on broadcasts of tensors
// of one shape (and splats) it becomes the operation on that shape and one
// broadcast.
var ReorderBroadcast = &pass.Pass{
	Name:    "triton-reorder-broadcast",
	Doc:     "move splats and broadcasts after elementwise operations",
	Example: reorderBroadcastExample,
	Run: func(r *pass.Run) error {
		rewrite.Greedy(r.Module, reorderSet, rewrite.Options{BottomUp: true, Count: func(name string) { r.Count(name, 1) }})
		return nil
	},
}

var reorderSet = rewrite.NewSet(std.BroadcastPatterns(), []rewrite.Pattern{
	{Name: "splat-after", Apply: splatAfter},
	{Name: "broadcast-after", Apply: broadcastAfter},
})

// repeatable reports whether op may be computed once for many equal elements.
func repeatable(op *ir.Operation) bool {
	return op.Def().Has(ir.Elementwise) && op.NumOperands() > 0 && op.NumResults() == 1 && op.NumRegions() == 0 && ir.IsPure(op)
}

// scalarOf is the scalar that v repeats: the source of a splat, or the element
// of a splat constant (then made as a constant at op).
func scalarOf(rw *rewrite.Rewriter, op *ir.Operation, v *ir.Value) *ir.Value {
	if v.DefIs(tt.Splat) {
		return tt.AsSplat(v.Def()).Src()
	}
	a, ok := arith.ConstantValue(v).(*ir.DenseElementsAttr)
	if !ok || !a.IsSplat() {
		return nil
	}
	c := rw.Context()
	switch t := ir.ElemOf(a.Type).(type) {
	case *ir.IntegerType:
		n, _ := arith.AttrInt(a)
		return rw.Constant(op, c.IntAttr(t, n), t)
	case *ir.FloatType:
		return rw.Constant(op, c.FloatBits(t, a.Values[0]), t)
	}
	return nil
}

func isSplat(v *ir.Value) bool {
	if v.DefIs(tt.Splat) {
		return true
	}
	a, ok := arith.ConstantValue(v).(*ir.DenseElementsAttr)
	return ok && a.IsSplat()
}

func splatAfter(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if !repeatable(op) {
		return false
	}
	t, ok := op.OneResult().Type().(*ir.TensorType)
	if !ok {
		return false
	}
	for _, v := range op.Operands() {
		if _, tensor := v.Type().(*ir.TensorType); tensor && !isSplat(v) {
			return false
		}
	}
	operands := op.OperandValues()
	for i, v := range operands {
		if _, tensor := v.Type().(*ir.TensorType); tensor {
			operands[i] = scalarOf(rw, op, v)
		}
	}
	small := rw.Create(op.Def(), ir.State{Operands: operands, Types: []ir.Type{t.Elem}, Attrs: op.Attrs(), Segments: op.Segments()})
	rw.Replace(op, tt.Unary(rw.Builder, tt.Splat, small.OneResult(), t))
	return true
}

func broadcastAfter(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if !repeatable(op) {
		return false
	}
	t, ok := op.OneResult().Type().(*ir.TensorType)
	if !ok {
		return false
	}
	var from *ir.TensorType // the one shape that is broadcast
	for _, v := range op.Operands() {
		_, tensor := v.Type().(*ir.TensorType)
		switch {
		case !tensor || isSplat(v):
		case v.DefIs(tt.Broadcast):
			src := tt.AsBroadcast(v.Def()).Src().Type().(*ir.TensorType)
			if from != nil && ir.KeyOf(from.Shape) != ir.KeyOf(src.Shape) {
				return false
			}
			from = src
		default:
			return false
		}
	}
	if from == nil {
		return false
	}
	c := rw.Context()
	operands := op.OperandValues()
	for i, v := range operands {
		vt, tensor := v.Type().(*ir.TensorType)
		switch {
		case !tensor:
		case v.DefIs(tt.Broadcast):
			operands[i] = tt.AsBroadcast(v.Def()).Src()
		default:
			small := c.Tensor(from.Shape, vt.Elem, from.Encoding)
			operands[i] = tt.Unary(rw.Builder, tt.Splat, scalarOf(rw, op, v), small)
		}
	}
	small := rw.Create(op.Def(), ir.State{
		Operands: operands, Types: []ir.Type{c.Tensor(from.Shape, t.Elem, from.Encoding)}, Attrs: op.Attrs(), Segments: op.Segments(),
	})
	rw.Replace(op, tt.Unary(rw.Builder, tt.Broadcast, small.OneResult(), t))
	return true
}
