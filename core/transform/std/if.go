package std

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

func ifPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "if-known", Root: scf.If, Apply: ifKnown},
		{Name: "if-not", Root: scf.If, Apply: ifNot},
		{Name: "if-condition", Root: scf.If, Apply: ifCondition},
		{Name: "if-unused-result", Root: scf.If, Apply: ifUnusedResults},
		{Name: "if-yields-condition", Root: scf.If, Apply: ifYieldsCondition},
		{Name: "if-to-select", Root: scf.If, Apply: ifToSelect},
		{Name: "if-empty-else", Root: scf.If, Apply: ifEmptyElse},
		{Name: "if-if", Root: scf.If, Apply: ifIf},
		{Name: "if-nested", Root: scf.If, Apply: ifNested},
	}
}

// ifKnown resolves a condition that is constant.
func ifKnown(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cond := scf.AsIf(op)
	v, ok := arith.ConstantInt(cond.Condition())
	if !ok {
		return false
	}
	taken := cond.ElseRegion().First()
	if v&1 == 1 {
		taken = cond.ThenRegion().First()
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

// ifNot swaps the two ways of a conditional on a negated condition.
func ifNot(rw *rewrite.Rewriter, op *ir.Operation) bool {
	old := scf.AsIf(op)
	x, ok := isNot(old.Condition())
	if !ok || old.ElseRegion().Empty() {
		return false
	}
	types := make([]ir.Type, op.NumResults())
	for i, r := range op.Results() {
		types[i] = r.Type()
	}
	n := scf.AsIf(rw.Create(scf.If, ir.State{Operands: []*ir.Value{x}, Types: types, Attrs: op.Attrs(), Regions: 2}))
	n.ThenRegion().TakeBody(old.ElseRegion())
	n.ElseRegion().TakeBody(old.ThenRegion())
	rw.Replace(op, n.Results()...)
	rw.Modified(n.Op)
	return true
}

// ifCondition puts in each region the constant that the condition is there.
func ifCondition(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cond := scf.AsIf(op).Condition()
	changed := false
	for i, known := range []int64{1, 0} {
		in := rw.UsesIn(cond, op.Region(i))
		if len(in) == 0 {
			continue
		}
		c := rw.Constant(op, arith.IntValue(op.Context(), cond.Type(), known), cond.Type())
		for _, u := range in {
			u.Set(c)
			rw.Modified(u.Owner())
		}
		changed = true
	}
	return changed
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

// yields are the ends of the two ways of a conditional with results.
func yields(op *ir.Operation) (yes, no *ir.Operation) {
	v := scf.AsIf(op)
	return v.ThenRegion().First().Terminator(), v.ElseRegion().First().Terminator()
}

// ifToSelect replaces results whose two values are defined outside.
func ifToSelect(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if op.NumResults() == 0 {
		return false
	}
	yes, no := yields(op)
	changed := false
	for i, r := range op.Results() {
		a, b := yes.Operand(i), no.Operand(i)
		if !r.HasUses() || inside(a, op) || inside(b, op) {
			continue
		}
		v := a
		if a != b {
			v = arith.NewSelect(rw.Builder, scf.AsIf(op).Condition(), a, b)
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

// ifYieldsCondition gives the users of a result what it is in either case: the
// condition or its opposite, for constant bits; y, for x where x == y and else y.
func ifYieldsCondition(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if op.NumResults() == 0 {
		return false
	}
	yes, no := yields(op)
	changed := false
	for i, r := range op.Results() {
		if !r.HasUses() {
			continue
		}
		v := knownResult(rw, op, yes.Operand(i), no.Operand(i))
		if v == nil {
			continue
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

// knownResult is what a conditional with these two outcomes gives, or nil.
func knownResult(rw *rewrite.Rewriter, op *ir.Operation, yes, no *ir.Value) *ir.Value {
	cond := scf.AsIf(op).Condition()
	if y, ok := arith.ConstantInt(yes); ok && ir.IsInt(yes.Type(), 1) {
		n, ok := arith.ConstantInt(no)
		switch {
		case !ok || y&1 == n&1:
			return nil
		case y&1 == 1:
			return cond
		}
		return not(rw, op, cond)
	}
	if !cond.DefIs(arith.CmpI) {
		return nil
	}
	cmp := arith.AsCmpI(cond.Def())
	l, r := cmp.Lhs(), cmp.Rhs()
	if !(l == yes && r == no) && !(l == no && r == yes) {
		return nil
	}
	switch cmp.Predicate() {
	case arith.EQ:
		return no
	case arith.NE:
		return yes
	}
	return nil
}

// ifEmptyElse drops an else region that does nothing.
func ifEmptyElse(rw *rewrite.Rewriter, op *ir.Operation) bool {
	b := scf.AsIf(op).ElseRegion().First()
	if op.NumResults() > 0 || b == nil || b.First() != b.Terminator() {
		return false
	}
	rw.Erase(b.Terminator())
	b.Erase()
	rw.Modified(op)
	return true
}

// ifIf joins a conditional with the one just before it where their conditions
// are the same or opposite.
func ifIf(rw *rewrite.Rewriter, op *ir.Operation) bool {
	prev := op.Prev()
	if prev == nil || !prev.Is(scf.If) {
		return false
	}
	second := scf.AsIf(op)
	regions := [2]*ir.Block{second.ThenRegion().First(), second.ElseRegion().First()}
	cond, before := second.Condition(), scf.AsIf(prev).Condition()
	if cond != before {
		x, isNot1 := isNot(cond)
		y, isNot2 := isNot(before)
		if !(isNot1 && x == before) && !(isNot2 && y == cond) {
			return false
		}
		regions[0], regions[1] = regions[1], regions[0]
	}
	// what the second sees of the first is the outcome of that way
	for i, b := range regions {
		if b == nil {
			continue
		}
		first := prev.Region(i).First()
		for k, r := range prev.Results() {
			r.ReplaceUsesIf(first.Terminator().Operand(k), func(u *ir.Use) bool { return b.Region().Contains(u.Owner()) })
		}
	}
	types := make([]ir.Type, 0, prev.NumResults()+op.NumResults())
	for _, r := range prev.Results() {
		types = append(types, r.Type())
	}
	for _, r := range op.Results() {
		types = append(types, r.Type())
	}
	loc := rw.Loc
	rw.Loc = prev.Loc()
	n := rw.Create(scf.If, ir.State{Operands: []*ir.Value{before}, Types: types, Regions: 2})
	rw.Loc = loc
	for i, b := range regions {
		n.Region(i).TakeBody(prev.Region(i))
		into := n.Region(i).First()
		switch {
		case b == nil:
		case into == nil:
			n.Region(i).TakeBody(b.Region())
		default:
			end := into.Terminator()
			vals := append(end.OperandValues(), b.Terminator().OperandValues()...)
			last := b.Terminator()
			last.SetOperands(vals)
			rw.Erase(end)
			into.TakeOps(b.First())
			rw.Modified(last)
		}
	}
	k := prev.NumResults()
	rw.Replace(op, n.Results()[k:]...)
	rw.Replace(prev, n.Results()[:k]...)
	rw.Modified(n)
	return true
}

// ifNested makes one conditional of two, the second being all that the first
// holds.
func ifNested(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := scf.AsIf(op)
	body := outer.ThenRegion().First()
	if !body.First().Is(scf.If) || body.First().Next() != body.Terminator() || !yieldsOnly(outer.ElseRegion().First()) {
		return false
	}
	inner := scf.AsIf(body.First())
	if !yieldsOnly(inner.ElseRegion().First()) {
		return false
	}
	var vals, elses []*ir.Value
	choose := make([]bool, op.NumResults()) // between two values from outside
	for i, v := range body.Terminator().OperandValues() {
		no := outer.ElseRegion().First().Terminator().Operand(i)
		if v.DefIs(scf.If) && v.Def() == inner.Op {
			if inner.ElseRegion().First().Terminator().Operand(v.Index()) != no {
				return false
			}
			v = inner.ThenRegion().First().Terminator().Operand(v.Index())
		} else {
			choose[i] = true
		}
		vals, elses = append(vals, v), append(elses, no)
	}
	types := make([]ir.Type, op.NumResults())
	for i, r := range op.Results() {
		types[i] = r.Type()
	}
	both := arith.Binary(rw.Builder, arith.AndI, outer.Condition(), inner.Condition())
	n := scf.AsIf(rw.Create(scf.If, ir.State{Operands: []*ir.Value{both}, Types: types, Regions: 2}))
	results := n.Results()
	for i, c := range choose {
		if c {
			results[i] = arith.NewSelect(rw.Builder, outer.Condition(), vals[i], elses[i])
		}
	}
	n.ThenRegion().TakeBody(inner.ThenRegion())
	end := n.ThenRegion().First().Terminator()
	end.SetOperands(vals)
	rw.Modified(end)
	if len(elses) > 0 {
		n.ElseRegion().TakeBody(outer.ElseRegion())
	}
	rw.Replace(op, results...)
	rw.Modified(n.Op)
	return true
}

// yieldsOnly reports whether an else block does nothing; nil is one that does not
// exist.
func yieldsOnly(b *ir.Block) bool { return b == nil || b.First() == b.Terminator() }
