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
		if tt.AsReshape(op).AllowReorder() {
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
		if !tt.AsGather(op).EfficientLayout() {
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
		if tt.AsReshape(op).AllowReorder() {
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
		if !tt.AsGather(op).EfficientLayout() {
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

// axisOf is the dimension along which op, of those above, reduces, gathers, expands
// or unpacks.
func axisOf(op *ir.Operation) int {
	switch op.Def() {
	case tt.Reduce:
		return int(tt.AsReduce(op).Axis())
	case tt.ExpandDims:
		return int(tt.AsExpandDims(op).Axis())
	case tt.Gather:
		return int(tt.AsGather(op).Axis())
	case ttg.Fp4ToFp:
		return int(ttg.AsFp4ToFp(op).Axis())
	}
	panic("BUG: ttgir: " + op.Name() + " has no axis")
}

// firstTensor is the first operand that is a tensor, which has the shape and the
// layout of all that op, of those above, takes; nil when there is none.
func firstTensor(op *ir.Operation) *ir.Value {
	for _, v := range op.Operands() {
		if tensors.Type(v) != nil {
			return v
		}
	}
	return nil
}

// tensorResult is the first result that is a tensor, which has the shape and the
// layout of all that op gives; nil when there is none.
func tensorResult(op *ir.Operation) *ir.Value {
	for _, v := range op.Results() {
		if tensors.Type(v) != nil {
			return v
		}
	}
	return nil
}

func operandShape(op *ir.Operation) []int64 { return tensors.Type(firstTensor(op)).Shape }
func resultShape(op *ir.Operation) []int64  { return tensors.Type(tensorResult(op)).Shape }

// ResultEncoding is the encoding of op's tensor results when its tensor operands have
// enc; nil when op does not say. It is for passes of targets.
func ResultEncoding(op *ir.Operation, enc ir.Attribute) ir.Attribute { return forward(op, enc) }

// OperandEncoding is the encoding that op's tensor operands must have for its results to
// have enc; nil when there is none.
func OperandEncoding(op *ir.Operation, enc ir.Attribute) ir.Attribute { return backward(op, enc) }
