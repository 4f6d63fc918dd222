package warpspec

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// task is one of the two kinds of work, and what it needs of the function.
type task struct {
	p        *plan
	consumes bool
	needed   map[*ir.Operation]bool
	// carried are the values of loops that it needs.
	carried map[*ir.Operation]map[int]bool
}

func newTask(p *plan) *task {
	return &task{p: p, needed: make(map[*ir.Operation]bool), carried: make(map[*ir.Operation]map[int]bool)}
}

// op has the task do an operation.
func (t *task) op(op *ir.Operation) {
	if t.needed[op] {
		return
	}
	t.needed[op] = true
	t.around(op)
	switch {
	case op.Is(scf.For):
		t.value(scf.LowerBound(op))
		t.value(scf.UpperBound(op))
		t.value(scf.Step(op))
		return
	case op.Is(scf.If):
		t.value(scf.AsIf(op).Condition())
		return
	case t.consumes && t.p.groupOf[op] != nil:
		return // others do it
	}
	ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		for _, v := range o.OperandValues() {
			if b := v.Block(); b != nil && b.Parent() != nil && op.IsAncestorOf(b.Parent()) {
				continue // its own
			}
			t.value(v)
		}
		return ir.Advance
	})
}

// around has the task do the loops and conditions around op.
func (t *task) around(op *ir.Operation) {
	if a := op.Parent(); a != nil && a != t.p.f {
		t.op(a)
	}
}

// value has the task have a value.
func (t *task) value(v *ir.Value) {
	op := v.Def()
	switch {
	case op == nil:
		parent := v.Block().Parent()
		if !parent.Is(scf.For) {
			return
		}
		if i := scf.CarriedIndex(v); i >= 0 {
			t.carry(parent, i)
		} else {
			t.op(parent)
		}
	case op.Is(scf.For):
		t.carry(op, v.Index())
	default:
		t.op(op)
	}
}

// carry has the task carry a value through a loop.
func (t *task) carry(loop *ir.Operation, i int) {
	if t.carried[loop][i] {
		return
	}
	if t.carried[loop] == nil {
		t.carried[loop] = make(map[int]bool)
	}
	t.carried[loop][i] = true
	t.op(loop)
	t.value(scf.Inits(loop)[i])
	t.value(loop.Body().Terminator().Operand(i))
}
