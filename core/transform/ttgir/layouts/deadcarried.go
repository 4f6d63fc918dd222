package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// dropDeadCarried removes the values that loops carry along for nothing: the
// result is unused, and the argument leads to nothing but what is yielded for
// it again. Rematerialization leaves such values, when all users of a carried
// value moved to its copy.
func dropDeadCarried(f *ir.Operation) {
	var loops []*ir.Operation
	ir.WalkPost(f, func(op *ir.Operation) {
		if op.Is(scf.For) && op.NumResults() > 0 {
			loops = append(loops, op)
		}
	})
	for _, loop := range loops {
		drop := deadCarried(loop)
		for i := len(drop) - 1; i >= 0; i-- {
			if drop[i] {
				// The carried value keeps its place but no longer changes, so
				// that what computed it dies; canonicalize drops the place.
				yield := loop.Body().Terminator()
				yield.SetOperand(i, scf.IterArg(loop, i))
			}
		}
	}
}

// deadCarried marks the carried values that no live operation of the loop
// needs. Live is what has effects or yields a value that is live or used
// outside.
func deadCarried(loop *ir.Operation) []bool {
	body := loop.Body()
	yield := body.Terminator()
	live := make(map[*ir.Operation]bool)
	liveArg := make([]bool, loop.NumResults())
	var queue []*ir.Value
	needOp := func(op *ir.Operation) {
		if live[op] {
			return
		}
		live[op] = true
		ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
			queue = append(queue, o.OperandValues()...)
			return ir.Advance
		})
	}
	need := func(i int) {
		if !liveArg[i] {
			liveArg[i] = true
			queue = append(queue, yield.Operand(i))
		}
	}
	for i, r := range loop.Results() {
		if r.HasUses() {
			need(i)
		}
	}
	for op := range body.Ops() {
		if op != yield && !ir.IsPure(op) && !isRead(op) {
			needOp(op)
		}
	}
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if v.Block() == body && v.IsArgument() {
			if i := scf.CarriedIndex(v); i >= 0 {
				need(i)
			}
			continue
		}
		// The operation of the body that holds v's definition, if any.
		op := v.Def()
		if op == nil {
			op = v.Block().Parent()
		}
		for op != nil && op.Block() != body {
			op = op.Parent()
		}
		if op != nil {
			needOp(op)
		}
	}
	dead := make([]bool, len(liveArg))
	for i := range dead {
		dead[i] = !liveArg[i]
	}
	return dead
}

// isRead reports whether op does nothing but read memory, so that it can go
// when nobody needs what it read.
func isRead(op *ir.Operation) bool {
	return !ir.HasEffect(op, ir.Effects.Changes)
}
