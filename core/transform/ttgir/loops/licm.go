package loops

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/masks"
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
			if forloop.DefinedInside(v, loop) && !forloop.DefinedInside(v, op) {
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
		d, ok := arith.ConstantInt(arith.AsBinary(op).Rhs())
		return ok && d != 0 && d != -1
	}
	return false
}

// readsOnly reports whether nothing in op does more than read memory.
func readsOnly(op *ir.Operation) bool {
	return !ir.HasEffect(op, ir.Effects.Changes)
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
		case op.Is(tt.Load) && !tt.IsBlockPtr(tt.AsLoad(op).Ptr().Type()):
			op.MoveBefore(loop)
			b.SetBefore(op)
			b.Loc = loop.Loc()
			runs := arith.Compare(b, arith.CmpI, arith.SLT, scf.LowerBound(loop), scf.UpperBound(loop))
			masks.Restrict(b, op, runs)
			n++
		case speculatable(op):
			op.MoveBefore(loop)
		}
	}
	return n
}
