package masks

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Group is the number of the mask among op's operand groups, those before it
// being single operands; -1 for an operation that takes no mask.
func Group(op *ir.Operation) int {
	switch op.Def() {
	case tt.Load:
		return 1
	case tt.Store, tt.AtomicRMW, ttg.AsyncCopy:
		return 2
	}
	return -1
}

// Restrict lets op, which takes a mask, happen only where pred, a scalar, is true
// as well.
func Restrict(b *ir.Builder, op *ir.Operation, pred *ir.Value) {
	group := Group(op)
	mask := op.GroupOne(group)
	b.SetBefore(op)
	all := maskOf(b, op.Operand(0).Type(), pred)
	if mask != nil {
		op.SetOperand(group, arith.Binary(b, arith.AndI, all, mask))
		return
	}
	operands := op.OperandValues()
	rest := append([]*ir.Value{all}, operands[group:]...)
	op.SetOperands(append(operands[:group:group], rest...))
	if s := op.Segments(); s != nil {
		s = append([]int32(nil), s...)
		s[group] = 1
		op.SetSegments(s)
	}
}

// maskOf is pred for every element of t, a tensor of pointers, or pred itself
// for a single pointer.
func maskOf(b *ir.Builder, t ir.Type, pred *ir.Value) *ir.Value {
	p, ok := t.(*ir.TensorType)
	if !ok {
		return pred
	}
	c := b.Context()
	return tt.Unary(b, tt.Splat, pred, c.Tensor(p.Shape, c.I1(), p.Encoding))
}
