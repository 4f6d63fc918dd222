package std

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

func whilePatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "while-never", Root: scf.While, Apply: whileNever},
		{Name: "while-condition", Root: scf.While, Apply: whileCondition},
		{Name: "while-carried", Root: scf.While, Apply: whileCarried},
		{Name: "while-results", Root: scf.While, Apply: whileResults},
	}
}

// condition is the end of a while loop's test.
func condition(loop *ir.Operation) scf.ConditionOp {
	return scf.AsCondition(scf.AsWhile(loop).Before().First().Terminator())
}

// whileNever resolves a while loop whose condition is false at once.
func whileNever(rw *rewrite.Rewriter, op *ir.Operation) bool {
	loop := scf.AsWhile(op)
	before := loop.Before().First()
	cond := scf.AsCondition(before.Terminator())
	if v, ok := arith.ConstantInt(cond.Condition()); !ok || v&1 == 1 {
		return false
	}
	for i, v := range loop.Inits() {
		before.Arg(i).ReplaceAllUsesWith(v)
	}
	vals := cond.Args()
	moveBody(before, op)
	rw.Replace(op, vals...)
	return true
}

// whileCondition puts in the body what the test has found: true for the
// condition, and what follows for comparisons of the same values.
func whileCondition(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cond, body := condition(op), scf.AsWhile(op).After().First()
	test := cond.Condition()
	changed := false
	known := func(v *ir.Value, is int64) {
		if v.HasUses() {
			for u := range v.Users() {
				rw.Modified(u)
			}
			v.ReplaceAllUsesWith(rw.Constant(op, arith.IntValue(op.Context(), v.Type(), is), v.Type()))
			changed = true
		}
	}
	for i, v := range cond.Args() {
		if v == test {
			known(body.Arg(i), 1)
		}
	}
	if !test.DefIs(arith.CmpI) {
		return changed
	}
	cmp := arith.AsCmpI(test.Def())
	// compared tells of the comparisons in the body in which arg takes the place
	// of one side of the test, and the other side is the same.
	compared := func(arg *ir.Value, sides func(arith.CmpIOp) (place *ir.Use, other *ir.Value)) {
		_, other := sides(cmp)
		var same []arith.CmpIOp
		for u := range arg.Uses() {
			if !u.Owner().Is(arith.CmpI) {
				continue
			}
			c := arith.AsCmpI(u.Owner())
			if place, with := sides(c); u == place && with == other {
				same = append(same, c)
			}
		}
		for _, c := range same {
			switch c.Predicate() {
			case cmp.Predicate():
				known(c.Result(), 1)
			case inverse[cmp.Predicate()]:
				known(c.Result(), 0)
			}
		}
	}
	for i, v := range cond.Args() {
		if v == cmp.Lhs() {
			compared(body.Arg(i), func(c arith.CmpIOp) (*ir.Use, *ir.Value) { return c.LhsUse(), c.Rhs() })
		}
		if v == cmp.Rhs() {
			compared(body.Arg(i), func(c arith.CmpIOp) (*ir.Use, *ir.Value) { return c.RhsUse(), c.Lhs() })
		}
	}
	return changed
}

// whileCarried drops what the test is given and does not use, or what every
// iteration computes anew.
func whileCarried(rw *rewrite.Rewriter, op *ir.Operation) bool {
	loop := scf.AsWhile(op)
	before, cond, end := loop.Before().First(), condition(op), loop.After().First().Terminator()
	drop, any := make([]bool, before.NumArgs()), false
	for i, init := range loop.Inits() {
		arg, next := before.Arg(i), end.Operand(i)
		passed := next == init
		if next.IsArgument() && next.Block() == end.Block() {
			passed = passed || cond.ArgsAt(next.Index()) == arg
		}
		if passed {
			arg.ReplaceAllUsesWith(init)
		}
		drop[i] = passed || !arg.HasUses()
		any = any || drop[i]
	}
	if any {
		rebuildWhile(rw, op, drop, make([]bool, op.NumResults()))
	}
	return any
}

// whileResults drops what the body and the code after the loop do not use, or
// get twice, or can take from before the loop.
func whileResults(rw *rewrite.Rewriter, op *ir.Operation) bool {
	body, vals := scf.AsWhile(op).After().First(), condition(op).Args()
	drop, any := make([]bool, len(vals)), false
	for i, v := range vals {
		arg, res := body.Arg(i), op.Result(i)
		switch {
		case !inside(v, op):
			arg.ReplaceAllUsesWith(v)
			res.ReplaceAllUsesWith(v)
		default:
			for k, w := range vals[:i] {
				if w == v && !drop[k] {
					arg.ReplaceAllUsesWith(body.Arg(k))
					res.ReplaceAllUsesWith(op.Result(k))
					break
				}
			}
		}
		drop[i] = !arg.HasUses() && !res.HasUses()
		any = any || drop[i]
	}
	if any {
		rebuildWhile(rw, op, make([]bool, op.NumOperands()), drop)
	}
	return any
}

// rebuildWhile makes a loop again without some arguments of its test, and some
// of its body and results; nothing uses those.
func rebuildWhile(rw *rewrite.Rewriter, op *ir.Operation, dropArgs, dropResults []bool) {
	old := scf.AsWhile(op)
	var inits []*ir.Value
	for i, v := range old.Inits() {
		if !dropArgs[i] {
			inits = append(inits, v)
		}
	}
	var types []ir.Type
	for i, r := range op.Results() {
		if !dropResults[i] {
			types = append(types, r.Type())
		}
	}
	n := rw.Create(scf.While, ir.State{Operands: inits, Types: types, Attrs: op.Attrs(), Regions: 2})
	loop := scf.AsWhile(n)
	loop.Before().TakeBody(old.Before())
	loop.After().TakeBody(old.After())
	before, body := loop.Before().First(), loop.After().First()
	cond, end := condition(n), body.Terminator()
	for i := len(dropArgs) - 1; i >= 0; i-- {
		if dropArgs[i] {
			end.EraseOperand(i)
			before.EraseArg(i)
		}
	}
	k := len(types) - 1
	for i := len(dropResults) - 1; i >= 0; i-- {
		if dropResults[i] {
			cond.EraseArgsAt(i)
			body.EraseArg(i)
			continue
		}
		op.Result(i).ReplaceAllUsesWith(n.Result(k))
		k--
	}
	rw.Erase(op)
	rw.Modified(cond.Op)
	rw.Modified(end)
	rw.Modified(n)
}
