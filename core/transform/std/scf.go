package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

// CarriedPatterns drop what loops carry for nothing, for passes that make such values.
func CarriedPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{{Name: "for-carried", Root: scf.For, Apply: forCarried}}
}

// ControlPatterns are the canonical forms of loops that count and of conditions, for
// passes that leave them with more than they need.
func ControlPatterns() []rewrite.Pattern {
	return append(ifPatterns(),
		rewrite.Pattern{Name: "for-trip-count", Root: scf.For, Apply: forTripCount},
		rewrite.Pattern{Name: "for-carried", Root: scf.For, Apply: forCarried},
	)
}

func scfPatterns() []rewrite.Pattern { return append(whilePatterns(), ControlPatterns()...) }

// moveBody puts the operations of b, its terminator apart, before op.
func moveBody(b *ir.Block, op *ir.Operation) {
	end := b.Terminator()
	for x := range b.Ops() {
		if x != end {
			x.MoveBefore(op)
		}
	}
}

// withoutResults makes op again without the results that drop marks; the
// regions move over, and their terminators lose those values.
func withoutResults(rw *rewrite.Rewriter, op *ir.Operation, drop []bool) {
	var types []ir.Type
	for i, r := range op.Results() {
		if !drop[i] {
			types = append(types, r.Type())
		}
	}
	n := rw.Create(op.Def(), ir.State{
		Operands: op.OperandValues(), Types: types, Attrs: op.Attrs(), Regions: op.NumRegions(), Segments: op.Segments(),
	})
	for i, r := range op.Regions() {
		n.Region(i).TakeBody(r)
		if b := n.Region(i).First(); b != nil {
			end := b.Terminator()
			for k := len(drop) - 1; k >= 0; k-- {
				if drop[k] {
					end.EraseOperand(k)
				}
			}
			rw.Modified(end)
		}
	}
	k := 0
	for i, r := range op.Results() {
		if !drop[i] {
			r.ReplaceAllUsesWith(n.Result(k))
			k++
		}
	}
	rw.Erase(op)
	rw.Modified(n)
}

// inside reports whether v, which the body of op can see, is defined there.
func inside(v *ir.Value, op *ir.Operation) bool { return v.Block().Parent() == op }

// forTripCount resolves loops that run never, or once, or do nothing but give
// values from outside.
func forTripCount(rw *rewrite.Rewriter, op *ir.Operation) bool {
	loop := scf.AsFor(op)
	lo, hi := loop.LowerBound(), loop.UpperBound()
	l, lok := arith.ConstantInt(lo)
	h, hok := arith.ConstantInt(hi)
	if lo == hi || lok && hok && l >= h {
		rw.Replace(op, loop.InitArgs()...)
		return true
	}
	s, sok := arith.ConstantInt(loop.Step())
	if !lok || !hok || !sok || s <= 0 || l+s < l {
		return false
	}
	body := op.Body()
	if l+s < h { // runs more than once
		end := body.Terminator()
		if body.First() != end || slices.ContainsFunc(end.OperandValues(), func(v *ir.Value) bool { return inside(v, op) }) {
			return false
		}
		rw.Replace(op, end.OperandValues()...)
		return true
	}
	scf.InductionVar(op).ReplaceAllUsesWith(lo)
	for i, v := range loop.InitArgs() {
		scf.IterArg(op, i).ReplaceAllUsesWith(v)
	}
	vals := body.Terminator().OperandValues()
	moveBody(body, op)
	rw.Replace(op, vals...)
	return true
}

// forCarried drops a carried value that never changes (the loop yields what it
// was given), or that nothing needs: it is unused after the loop and, in it, only
// passed on; or that is another one: both start and go on as the same.
func forCarried(rw *rewrite.Rewriter, op *ir.Operation) bool {
	body := op.Body()
	end := body.Terminator()
	inits := scf.Inits(op)
	drop, any := make([]bool, len(inits)), false
	first := make(map[[2]*ir.Value]int, len(inits)) // by what is carried at first and next
	for i, init := range inits {
		arg, next, res := scf.IterArg(op, i), end.Operand(i), op.Result(i)
		switch {
		case next == arg || next == init && !inside(init, op):
			arg.ReplaceAllUsesWith(init)
			res.ReplaceAllUsesWith(init)
			drop[i] = true
		case !arg.HasUses() && !res.HasUses():
			drop[i] = true
		default:
			if k, ok := first[[2]*ir.Value{init, next}]; ok {
				arg.ReplaceAllUsesWith(scf.IterArg(op, k))
				res.ReplaceAllUsesWith(op.Result(k))
				drop[i] = true
			} else {
				first[[2]*ir.Value{init, next}] = i
			}
		}
		any = any || drop[i]
	}
	if !any {
		return false
	}
	var types []ir.Type
	operands := []*ir.Value{scf.LowerBound(op), scf.UpperBound(op), scf.Step(op)}
	for i, v := range inits {
		if !drop[i] {
			operands, types = append(operands, v), append(types, v.Type())
		}
	}
	n := rw.Create(scf.For, ir.State{Operands: operands, Types: types, Attrs: op.Attrs(), Regions: 1})
	scf.AsFor(n).Region().TakeBody(scf.AsFor(op).Region())
	k := len(types) - 1
	for i := len(drop) - 1; i >= 0; i-- {
		if drop[i] {
			end.EraseOperand(i)
			body.EraseArg(i + 1)
			continue
		}
		op.Result(i).ReplaceAllUsesWith(n.Result(k))
		k--
	}
	rw.Erase(op)
	rw.Modified(end)
	rw.Modified(n)
	return true
}
