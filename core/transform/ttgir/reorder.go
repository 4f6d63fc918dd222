package ttgir

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
)

// ReorderInstructions puts operations where values live shorter in registers:
// loads from shared memory and operands of dots go down into the loop that
// alone uses them, buffers are filled as soon as their value is there,
// transpositions stand after what they transpose, and the second operand of a
// dot is read after the first.
var ReorderInstructions = &pass.Pass{
	Name:    "tritongpu-reorder-instructions",
	Doc:     "place operations so that values live shorter in registers",
	Example: reorderInstructionsExample,
	Run: func(r *pass.Run) error {
		sinkIntoLoops(r)
		dom := newDominance()
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch {
			case op.Is(ttg.LocalAlloc) && op.NumOperands() > 0, op.Is(tt.Trans), op.Is(ttg.MemDescTrans):
				if d := op.Operand(0).Def(); d != nil && d.Next() != op {
					op.MoveAfter(d)
					r.Count("raised", 1)
				}
			case op.Is(ttg.LocalLoad) && dotOperand(op.Result(0).Type()) == 1:
				if a := firstOperandOf(op); a != nil && dom.before(op, a) && dom.beforeUsers(a, op) && readsTheSameAfter(op, a) {
					op.MoveAfter(a)
					r.Count("sunk", 1)
				}
			}
			return ir.Advance
		})
		return nil
	},
}

// sinkIntoLoops moves what fills many registers to its one user, when that is in
// another loop.
func sinkIntoLoops(r *pass.Run) {
	var sink []*ir.Operation
	ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
		fills := op.Is(ttg.LocalLoad) && !isMutable(op.Operand(0)) || op.Is(ttg.ConvertLayout) && dotOperand(op.Result(0).Type()) >= 0
		if fills && op.Result(0).HasOneUse() && onlyUser(op).ParentOf(scf.For) != op.ParentOf(scf.For) {
			sink = append(sink, op)
		}
		return ir.Advance
	})
	for _, op := range sink {
		op.MoveBefore(onlyUser(op))
		r.Count("sunk", 1)
	}
}

// isMutable reports whether what a buffer holds may change after it was made.
func isMutable(buffer *ir.Value) bool { return buffer.Type().(*ttg.MemDescType).Mutable }

// readsTheSameAfter reports whether the load from shared memory op reads the
// same when it is moved behind last.
func readsTheSameAfter(op, last *ir.Operation) bool {
	if !isMutable(op.Operand(0)) {
		return true
	}
	for o := op; o != last; o = o.Next() {
		if o == nil || ir.EffectsOf(o).Write || ir.EffectsOf(o).Unknown {
			return false
		}
	}
	return true
}

// onlyUser is the user of op's one result, which has one.
func onlyUser(op *ir.Operation) *ir.Operation {
	for u := range op.Result(0).Users() {
		return u
	}
	return nil
}

// dotOperand is the operand number of a tensor type laid out for a dot, or -1.
func dotOperand(t ir.Type) int {
	if d, ok := encoding.Get(t).(*layout.DotOp); ok {
		return d.OpIdx
	}
	return -1
}

// firstOperandOf is the load of the first operand of the dot that uses op, when
// both operands come from shared memory.
func firstOperandOf(op *ir.Operation) *ir.Operation {
	var user *ir.Operation
	for u := range op.Result(0).Users() {
		user = u // the last is the first that was made
	}
	if user == nil || !user.Is(tt.Dot) {
		return nil
	}
	if a := user.Operand(0).Def(); a != nil && a.Is(ttg.LocalLoad) {
		return a
	}
	return nil
}
