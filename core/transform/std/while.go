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

// whileCondition puts in the body what the test has found: true for the
// condition, and what follows for comparisons of the same values.
func whileCondition(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cond, body := op.Region(0).First().Terminator(), op.Region(1).First()
	test := cond.Operand(0)
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
	for i, v := range cond.OperandValues()[1:] {
		if v == test {
			known(body.Arg(i), 1)
		}
	}
	cmp := test.Def()
	if cmp == nil || !cmp.Is(arith.CmpI) {
		return changed
	}
	pred, _ := cmp.IntAttr("predicate")
	for i, v := range cond.OperandValues()[1:] {
		for side := range 2 {
			if cmp.Operand(side) != v {
				continue
			}
			var same []*ir.Operation
			for u := range body.Arg(i).Uses() {
				c := u.Owner()
				if c.Is(arith.CmpI) && u.Index() == side && c.Operand(1-side) == cmp.Operand(1-side) {
					same = append(same, c)
				}
			}
			for _, c := range same {
				switch p, _ := c.IntAttr("predicate"); p {
				case pred:
					known(c.Result(0), 1)
				case inverse[pred]:
					known(c.Result(0), 0)
				}
			}
		}
	}
	return changed
}

// whileCarried drops what the test is given and does not use, or what every
// iteration computes anew.
func whileCarried(rw *rewrite.Rewriter, op *ir.Operation) bool {
	before := op.Region(0).First()
	cond, end := before.Terminator(), op.Region(1).First().Terminator()
	drop, any := make([]bool, before.NumArgs()), false
	for i, init := range op.Group(0) {
		arg, next := before.Arg(i), end.Operand(i)
		passed := next == init
		if next.IsArgument() && next.Block() == end.Block() {
			passed = passed || cond.Operand(1+next.Index()) == arg
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
	cond, body := op.Region(0).First().Terminator(), op.Region(1).First()
	vals := cond.OperandValues()[1:]
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
	var inits []*ir.Value
	for i, v := range op.Group(0) {
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
	n.Region(0).TakeBody(op.Region(0))
	n.Region(1).TakeBody(op.Region(1))
	before, body := n.Region(0).First(), n.Region(1).First()
	cond, end := before.Terminator(), body.Terminator()
	for i := len(dropArgs) - 1; i >= 0; i-- {
		if dropArgs[i] {
			end.EraseOperand(i)
			before.EraseArg(i)
		}
	}
	k := len(types) - 1
	for i := len(dropResults) - 1; i >= 0; i-- {
		if dropResults[i] {
			cond.EraseOperand(1 + i)
			body.EraseArg(i)
			continue
		}
		op.Result(i).ReplaceAllUsesWith(n.Result(k))
		k--
	}
	rw.Erase(op)
	rw.Modified(cond)
	rw.Modified(end)
	rw.Modified(n)
}
