package forloop

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// All lists the counted loops inside root, inner ones before those around
// them.
func All(root *ir.Operation) []*ir.Operation {
	var loops []*ir.Operation
	ir.WalkPost(root, func(op *ir.Operation) {
		if op.Is(scf.For) {
			loops = append(loops, op)
		}
	})
	return loops
}

// IsInnermost reports whether no other loop is inside loop.
func IsInnermost(loop *ir.Operation) bool {
	return !ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op != loop && (op.Is(scf.For) || op.Is(scf.While)) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// DefinedInside reports whether v is defined in one of op's regions.
func DefinedInside(v *ir.Value, op *ir.Operation) bool {
	if v.Block() == nil {
		return false
	}
	p := v.Block().Parent()
	return p != nil && op.IsAncestorOf(p)
}

// AncestorIn is op or the operation around it that is in block b; nil when
// there is none.
func AncestorIn(b *ir.Block, op *ir.Operation) *ir.Operation {
	for op != nil && op.Block() != b {
		op = op.Parent()
	}
	return op
}

// Yield is the terminator of a loop's body.
func Yield(loop *ir.Operation) *ir.Operation { return loop.Body().Terminator() }

// Next is what an iteration of loop yields for v, the argument of its body for a
// carried value; nil for any other value.
func Next(loop *ir.Operation, v *ir.Value) *ir.Value {
	if !v.IsArgument() || v.Block() != loop.Body() || scf.CarriedIndex(v) < 0 {
		return nil
	}
	return Yield(loop).Operand(scf.CarriedIndex(v))
}

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
	b.At(loop)
	n := b.Create(scf.For, ir.State{Operands: operands, Types: append(types, more...), Attrs: loop.Attrs(), Regions: 1})
	scf.AsFor(n).Region().TakeBody(scf.AsFor(loop).Region())
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

// AddCarried makes loop again so that it carries more values, which start as
// inits. It returns the loop and the body's arguments for them. What is to be
// yielded for them the caller appends to the yield, in order.
func AddCarried(b *ir.Builder, loop *ir.Operation, inits ...*ir.Value) (*ir.Operation, []*ir.Value) {
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

// DropCarried makes loop again without the carried values that drop marks,
// which nothing uses any more.
func DropCarried(b *ir.Builder, loop *ir.Operation, drop []bool) *ir.Operation {
	operands := []*ir.Value{scf.LowerBound(loop), scf.UpperBound(loop), scf.Step(loop)}
	keep := make([]bool, len(drop))
	inits := scf.Inits(loop)
	yield, body := Yield(loop), loop.Body()
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
