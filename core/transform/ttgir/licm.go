package ttgir

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// LICM takes out of loops what is the same in every iteration: pure operations, and
// loads from counted loops that write no memory. A load that moves out would be
// executed even where the loop runs no iteration at all, so it gets the mask
// lower bound < upper bound.
var LICM = &pass.Pass{
	Name:    "triton-licm",
	Doc:     "hoist invariants, including loads, out of loops",
	Example: licmExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			if !op.Is(scf.For) && !op.Is(scf.While) {
				return
			}
			r.Count("pure", hoistPure(op))
			if op.Is(scf.For) && readsOnly(op) {
				r.Count("loads", hoistLoads(b, op))
			}
		})
		return nil
	},
}

// isInvariant reports whether all that op uses, the operations in its regions
// included, is defined outside loop.
func isInvariant(op, loop *ir.Operation) bool {
	return !ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		for _, v := range o.Operands() {
			if definedInside(v, loop) && !definedInside(v, op) {
				return ir.Stop
			}
		}
		return ir.Advance
	})
}

// hoistPure moves the invariant operations without effects before loop and
// returns their number. One pass in order finds all of them, since an operation
// comes after what it uses.
func hoistPure(loop *ir.Operation) int {
	n := 0
	for _, region := range loop.Regions() {
		for op := range region.First().Ops() {
			if !op.IsTerminator() && speculatable(op) && isInvariant(op, loop) {
				op.MoveBefore(loop)
				n++
			}
		}
	}
	return n
}

// speculatable reports whether op may be executed where it was not: a division
// may if its divisor is a constant that no dividend makes fail.
func speculatable(op *ir.Operation) bool {
	if ir.IsSpeculatable(op) {
		return true
	}
	switch op.Def() {
	case arith.DivSI, arith.RemSI, arith.DivUI, arith.RemUI:
		d, ok := arith.ConstantInt(op.Operand(1))
		return ok && d != 0 && d != -1
	}
	return false
}

// readsOnly reports whether nothing in op does more than read memory.
func readsOnly(op *ir.Operation) bool {
	e := ir.EffectsOf(op)
	return !e.Unknown && !e.Write && !e.Alloc
}

// hoistLoads moves the invariant loads of a counted loop before it, and with
// them what then became invariant.
func hoistLoads(b *ir.Builder, loop *ir.Operation) int {
	n := 0
	for op := range loop.Body().Ops() {
		if op.IsTerminator() || !isInvariant(op, loop) {
			continue
		}
		switch {
		case op.Is(tt.Load) && !tt.IsBlockPtr(op.Operand(0).Type()):
			op.MoveBefore(loop)
			b.SetBefore(op)
			b.Loc = loop.Loc()
			runs := arith.Compare(b, arith.CmpI, arith.SLT, scf.LowerBound(loop), scf.UpperBound(loop))
			setMask(b, op, runs)
			n++
		case speculatable(op):
			op.MoveBefore(loop)
		}
	}
	return n
}

// maskGroup is the number of the mask among op's operand groups, those before it
// being single operands; -1 for an operation that takes no mask.
func maskGroup(op *ir.Operation) int {
	switch op.Def() {
	case tt.Load:
		return 1
	case tt.Store, tt.AtomicRMW, ttg.AsyncCopy:
		return 2
	}
	return -1
}

// setMask lets op, which takes a mask, happen only where pred, a scalar, is true
// as well.
func setMask(b *ir.Builder, op *ir.Operation, pred *ir.Value) {
	group := maskGroup(op)
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
