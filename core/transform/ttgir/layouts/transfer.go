package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// isUniform reports whether all tensors that op takes and gives have one
// encoding and no value of another thread is needed.
func isUniform(op *ir.Operation) bool {
	return op.Def().Has(ir.SameEncoding|ir.Elementwise|ir.SameOperandsAndResultType) ||
		op.Is(tt.Scan) || op.Is(tt.MapElementwise)
}

// forward is the encoding of op's tensor results when its tensor operands have
// enc; nil when op does not say.
func forward(op *ir.Operation, enc ir.Attribute) ir.Attribute {
	if isUniform(op) {
		return enc
	}
	a, ok := enc.(*encoding.Attr)
	if !ok {
		return nil
	}
	c := op.Context()
	switch op.Def() {
	case tt.Reduce:
		return encoding.Slice(c, a, axisOf(op))
	case tt.ExpandDims:
		return attrOf(c)(layout.ExpandDims(a.Layout, axisOf(op)))
	case tt.Trans:
		return attrOf(c)(layout.Trans(a.Layout, operandShape(op), tensors.Permutation(op)))
	case tt.Reshape:
		if op.HasAttr("allow_reorder") {
			return nil
		}
		return attrOf(c)(layout.Reshape(a.Layout, operandShape(op), resultShape(op)))
	case tt.Join:
		return attrOf(c)(layout.Join(a.Layout, operandShape(op)))
	case tt.Split:
		return attrOf(c)(layout.Split(a.Layout, operandShape(op)))
	case ttg.Fp4ToFp:
		return encoding.Of(c, tensors.Unpacked(a.Layout, operandShape(op), axisOf(op)))
	case tt.Gather:
		if !op.HasAttr("efficient_layout") {
			return enc // of the indices
		}
	}
	return nil
}

// backward is the encoding that op's tensor operands must have for its results
// to have enc; nil when there is none.
func backward(op *ir.Operation, enc ir.Attribute) ir.Attribute {
	a, ok := enc.(*encoding.Attr)
	if op.Is(tt.Scan) {
		if _, blocked := layoutOf(a, ok).(*layout.Blocked); !blocked {
			return nil // scans are lowered for blocked layouts
		}
	}
	if isUniform(op) || op.Is(tt.Load) || op.Is(tt.Store) {
		return enc
	}
	if !ok {
		return nil
	}
	c := op.Context()
	switch op.Def() {
	case tt.Reduce:
		if s, ok := a.Layout.(*layout.Slice); ok && s.Dim == axisOf(op) {
			return a.Parent
		}
	case tt.ExpandDims:
		return encoding.Slice(c, a, axisOf(op))
	case tt.Trans:
		perm := tensors.Permutation(op)
		inverse := make([]int, len(perm))
		for i, d := range perm {
			inverse[d] = i
		}
		return attrOf(c)(layout.Trans(a.Layout, resultShape(op), inverse))
	case tt.Reshape:
		if op.HasAttr("allow_reorder") {
			return nil
		}
		return attrOf(c)(layout.Reshape(a.Layout, resultShape(op), operandShape(op)))
	case tt.Join:
		return attrOf(c)(layout.Split(a.Layout, resultShape(op)))
	case tt.Split:
		return attrOf(c)(layout.Join(a.Layout, resultShape(op)))
	case ttg.Fp4ToFp:
		if e := tensors.Packed(a.Layout, resultShape(op), axisOf(op)); e != nil {
			return encoding.Of(c, e)
		}
	case tt.Gather:
		if !op.HasAttr("efficient_layout") {
			return enc
		}
	}
	return nil
}

func layoutOf(a *encoding.Attr, ok bool) layout.Encoding {
	if !ok {
		return nil
	}
	return a.Layout
}

// attrOf converts the answer of an inference to an attribute, nil on an error:
// then no layout leaves the values in place.
func attrOf(c *ir.Context) func(layout.Encoding, error) ir.Attribute {
	return func(e layout.Encoding, err error) ir.Attribute {
		if err != nil {
			return nil
		}
		return encoding.Of(c, e)
	}
}

func axisOf(op *ir.Operation) int {
	axis, _ := op.IntAttr("axis")
	return int(axis)
}

func operandShape(op *ir.Operation) []int64 { return ir.ShapeOf(op.Operand(0).Type()) }
func resultShape(op *ir.Operation) []int64  { return ir.ShapeOf(op.Result(0).Type()) }
