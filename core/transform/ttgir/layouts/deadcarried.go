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
	l := &liveness{loop: loop, ops: make(map[*ir.Operation]bool), results: make(map[*ir.Value]bool), carried: make([]bool, loop.NumResults())}
	for i, r := range loop.Results() {
		if r.HasUses() {
			l.needCarried(i)
		}
	}
	l.roots(loop.Body())
	for len(l.queue) > 0 {
		v := l.queue[len(l.queue)-1]
		l.queue = l.queue[:len(l.queue)-1]
		l.needValue(v)
	}
	dead := make([]bool, len(l.carried))
	for i := range dead {
		dead[i] = !l.carried[i]
	}
	return dead
}

// liveness finds what a loop computes for more than itself.
type liveness struct {
	loop    *ir.Operation
	ops     map[*ir.Operation]bool // live; of a condition that it is computed, not its results
	results map[*ir.Value]bool     // live results of conditions
	carried []bool
	queue   []*ir.Value
}

// roots marks the operations with effects of a block of the loop, and of the
// conditions in it.
func (l *liveness) roots(b *ir.Block) {
	for op := range b.Ops() {
		switch {
		case op.Is(scf.If):
			for _, region := range op.Regions() {
				if b := region.First(); b != nil {
					l.roots(b)
				}
			}
		case !op.IsTerminator() && !ir.IsPure(op) && !isRead(op):
			l.needOp(op)
		}
	}
}

// needCarried marks a carried value, and with it what is yielded for it.
func (l *liveness) needCarried(i int) {
	if !l.carried[i] {
		l.carried[i] = true
		l.queue = append(l.queue, l.loop.Body().Terminator().Operand(i))
	}
}

// needOp marks an operation with all that is in it, and the conditions around it.
func (l *liveness) needOp(op *ir.Operation) {
	if l.ops[op] {
		return
	}
	l.ops[op] = true
	if op.Is(scf.If) {
		l.queue = append(l.queue, scf.AsIf(op).Condition())
	} else {
		ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
			l.queue = append(l.queue, o.OperandValues()...)
			return ir.Advance
		})
	}
	if p := op.Parent(); p != l.loop {
		l.needOp(p)
	}
}

func (l *liveness) needValue(v *ir.Value) {
	body := l.loop.Body()
	if v.Block() == body && v.IsArgument() {
		if i := scf.CarriedIndex(v); i >= 0 {
			l.needCarried(i)
		}
		return
	}
	// The operation that v comes from, in a block of the loop or of conditions in it.
	op := v.Def()
	if op == nil {
		op = v.Block().Parent()
	}
	if op == nil || !l.loop.IsAncestorOf(op) || op == l.loop {
		return
	}
	l.needOp(op)
	if op.Is(scf.If) && !l.results[v] {
		l.results[v] = true
		for _, region := range op.Regions() {
			l.queue = append(l.queue, region.First().Terminator().Operand(v.Index()))
		}
	}
}

// isRead reports whether op does nothing but read memory, so that it can go
// when nobody needs what it read.
func isRead(op *ir.Operation) bool {
	return !ir.HasEffect(op, ir.Effects.Changes)
}
