package std

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

func scfPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "if-known", Root: scf.If, Apply: ifKnown},
		{Name: "if-unused-result", Root: scf.If, Apply: ifUnusedResults},
		{Name: "if-to-select", Root: scf.If, Apply: ifToSelect},
		{Name: "if-empty-else", Root: scf.If, Apply: ifEmptyElse},
		{Name: "for-trip-count", Root: scf.For, Apply: forTripCount},
		{Name: "for-carried", Root: scf.For, Apply: forCarried},
		{Name: "while-never", Root: scf.While, Apply: whileNever},
	}
}

// moveBody puts the operations of b, its terminator apart, before op.
func moveBody(b *ir.Block, op *ir.Operation) {
	end := b.Terminator()
	for x := range b.Ops() {
		if x != end {
			x.MoveBefore(op)
		}
	}
}

// ifKnown resolves a condition that is constant.
func ifKnown(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v, ok := arith.ConstantInt(op.Operand(0))
	if !ok {
		return false
	}
	taken := op.Region(1).First()
	if v&1 == 1 {
		taken = op.Region(0).First()
	}
	if taken == nil {
		rw.Erase(op)
		return true
	}
	vals := taken.Terminator().OperandValues()
	moveBody(taken, op)
	rw.Replace(op, vals...)
	return true
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

func ifUnusedResults(rw *rewrite.Rewriter, op *ir.Operation) bool {
	drop, any := make([]bool, op.NumResults()), false
	for i, r := range op.Results() {
		drop[i] = !r.HasUses()
		any = any || drop[i]
	}
	if any {
		withoutResults(rw, op, drop)
	}
	return any
}

// ifToSelect replaces results whose two values are defined outside.
func ifToSelect(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if op.NumResults() == 0 {
		return false
	}
	yes, no := op.Region(0).First().Terminator(), op.Region(1).First().Terminator()
	changed := false
	for i, r := range op.Results() {
		a, b := yes.Operand(i), no.Operand(i)
		if !r.HasUses() || inside(a, op) || inside(b, op) {
			continue
		}
		v := a
		if a != b {
			v = arith.NewSelect(rw.Builder, op.Operand(0), a, b)
		}
		for u := range r.Users() {
			rw.Modified(u)
		}
		r.ReplaceAllUsesWith(v)
		changed = true
	}
	if changed {
		rw.Modified(op)
	}
	return changed
}

// inside reports whether v is defined within op's regions.
func inside(v *ir.Value, op *ir.Operation) bool {
	b := v.Block()
	for p := b.Parent(); p != nil; p = p.Parent() {
		if p == op {
			return true
		}
	}
	return false
}

// ifEmptyElse drops an else region that does nothing.
func ifEmptyElse(rw *rewrite.Rewriter, op *ir.Operation) bool {
	b := op.Region(1).First()
	if op.NumResults() > 0 || b == nil || b.First() != b.Terminator() {
		return false
	}
	b.Erase()
	rw.Modified(op)
	return true
}

// forTripCount resolves loops that run never, or once.
func forTripCount(rw *rewrite.Rewriter, op *ir.Operation) bool {
	lo, hi := op.Operand(0), op.Operand(1)
	l, lok := arith.ConstantInt(lo)
	h, hok := arith.ConstantInt(hi)
	if lo == hi || lok && hok && l >= h {
		rw.Replace(op, op.Group(3)...)
		return true
	}
	s, sok := arith.ConstantInt(op.Operand(2))
	if !lok || !hok || !sok || s <= 0 || l+s < h || l+s < l {
		return false
	}
	body := op.Body()
	body.Arg(0).ReplaceAllUsesWith(lo)
	for i, v := range op.Group(3) {
		body.Arg(i + 1).ReplaceAllUsesWith(v)
	}
	vals := body.Terminator().OperandValues()
	moveBody(body, op)
	rw.Replace(op, vals...)
	return true
}

// forCarried drops a carried value that never changes (the loop yields what it
// was given), or that nothing needs: it is unused after the loop and, in it, only
// passed on.
func forCarried(rw *rewrite.Rewriter, op *ir.Operation) bool {
	body := op.Body()
	end := body.Terminator()
	inits := op.Group(3)
	drop, any := make([]bool, len(inits)), false
	for i, init := range inits {
		arg, next, res := body.Arg(i+1), end.Operand(i), op.Result(i)
		switch {
		case next == arg || next == init && !inside(init, op):
			arg.ReplaceAllUsesWith(init)
			res.ReplaceAllUsesWith(init)
			drop[i] = true
		case !arg.HasUses() && !res.HasUses():
			drop[i] = true
		}
		any = any || drop[i]
	}
	if !any {
		return false
	}
	var types []ir.Type
	operands := op.OperandValues()[:3]
	for i, v := range inits {
		if !drop[i] {
			operands, types = append(operands, v), append(types, v.Type())
		}
	}
	n := rw.Create(scf.For, ir.State{Operands: operands, Types: types, Attrs: op.Attrs(), Regions: 1})
	n.Region(0).TakeBody(op.Region(0))
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

// whileNever resolves a while loop whose condition is false at once.
func whileNever(rw *rewrite.Rewriter, op *ir.Operation) bool {
	before := op.Region(0).First()
	cond := before.Terminator()
	if v, ok := arith.ConstantInt(cond.Operand(0)); !ok || v&1 == 1 {
		return false
	}
	for i, v := range op.Group(0) {
		before.Arg(i).ReplaceAllUsesWith(v)
	}
	vals := cond.OperandValues()[1:]
	moveBody(before, op)
	rw.Replace(op, vals...)
	return true
}
