package ttgir

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// Counted loops (scf.for) are what most passes of this package work on. The
// helpers of this file keep the four places of a carried value together: the
// initial value, the argument of the body, what is yielded, the result.

// loopsOf lists the counted loops inside root, inner ones before those around
// them.
func loopsOf(root *ir.Operation) []*ir.Operation {
	var loops []*ir.Operation
	ir.WalkPost(root, func(op *ir.Operation) {
		if op.Is(scf.For) {
			loops = append(loops, op)
		}
	})
	return loops
}

// isInnermost reports whether no other loop is inside loop.
func isInnermost(loop *ir.Operation) bool {
	return !ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op != loop && (op.Is(scf.For) || op.Is(scf.While)) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// definedInside reports whether v is defined in one of op's regions.
func definedInside(v *ir.Value, op *ir.Operation) bool {
	if v.Block() == nil {
		return false
	}
	p := v.Block().Parent()
	return p != nil && op.IsAncestorOf(p)
}

// ancestorIn is op or the operation around it that is in block b; nil when
// there is none.
func ancestorIn(b *ir.Block, op *ir.Operation) *ir.Operation {
	for op != nil && op.Block() != b {
		op = op.Parent()
	}
	return op
}

// yieldOf is the terminator of a loop's body.
func yieldOf(loop *ir.Operation) *ir.Operation { return loop.Body().Terminator() }

// remadeLoop makes loop again with other bounds' operands and carried values:
// the body moves over, and the results of the kept values, in order, take over
// the uses of the old ones. keep[i] says whether carried value i stays; its
// place in body and yield is the caller's to have removed or kept.
func remadeLoop(b *ir.Builder, loop *ir.Operation, operands []*ir.Value, keep []bool, more ...ir.Type) *ir.Operation {
	types := make([]ir.Type, 0, loop.NumResults()+len(more))
	for i, r := range loop.Results() {
		if keep == nil || keep[i] {
			types = append(types, r.Type())
		}
	}
	b.SetBefore(loop)
	b.Loc = loop.Loc()
	n := b.Create(scf.For, ir.State{Operands: operands, Types: append(types, more...), Attrs: loop.Attrs(), Regions: 1})
	n.Region(0).TakeBody(loop.Region(0))
	k := 0
	for i, r := range loop.Results() {
		if keep == nil || keep[i] {
			r.ReplaceAllUsesWith(n.Result(k))
			k++
		}
	}
	loop.Erase()
	return n
}

// addCarried makes loop again so that it carries more values, which start as
// inits. It returns the loop and the body's arguments for them. What is to be
// yielded for them the caller appends to the yield, in order.
func addCarried(b *ir.Builder, loop *ir.Operation, inits ...*ir.Value) (*ir.Operation, []*ir.Value) {
	if len(inits) == 0 {
		return loop, nil
	}
	types := make([]ir.Type, len(inits))
	for i, v := range inits {
		types[i] = v.Type()
	}
	n := remadeLoop(b, loop, append(loop.OperandValues(), inits...), nil, types...)
	args := make([]*ir.Value, len(inits))
	for i, v := range inits {
		args[i] = n.Body().AddArg(v.Type(), loop.Loc())
	}
	return n, args
}

// dropCarried makes loop again without the carried values that drop marks,
// which nothing uses any more.
func dropCarried(b *ir.Builder, loop *ir.Operation, drop []bool) *ir.Operation {
	operands := loop.OperandValues()[:3]
	keep := make([]bool, len(drop))
	inits := scf.Inits(loop)
	yield, body := yieldOf(loop), loop.Body()
	for i, v := range inits {
		if keep[i] = !drop[i]; keep[i] {
			operands = append(operands, v)
		}
	}
	for i := len(drop) - 1; i >= 0; i-- {
		if drop[i] {
			yield.EraseOperand(i)
			body.EraseArg(i + 1)
		}
	}
	return remadeLoop(b, loop, operands, keep)
}
