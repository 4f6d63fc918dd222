package loops

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// CombineSelectAndIf lets a condition give what a choice between tensors by the
// same condition, made before it in the same block, gives: one branch then moves
// fewer values, and what only one side needs can go into that side. Choices
// between scalars cost nothing and stay.
//
//	%s = arith.select %c, %x, %y
//	%r = scf.if %c -> … { … scf.yield %a } else { … scf.yield %b }
//
// becomes
//
//	%r:2 = scf.if %c -> … { … scf.yield %a, %x } else { … scf.yield %b, %y }
//
// It happens only where all uses of %s come after the condition or in it.
var CombineSelectAndIf = &pass.Pass{
	Name:    "tritongpu-combine-tensor-select-and-if",
	Doc:     "fold selects into the scf.if with the same condition",
	Example: selectAndIfExample,
	Run: func(r *pass.Run) error {
		dom := newDominance()
		var ifs []*ir.Operation // in the order of their first choice
		chosen := make(map[*ir.Operation][]*ir.Operation)
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(arith.Select) {
				if cond := conditionFor(dom, op); cond != nil {
					if chosen[cond] == nil {
						ifs = append(ifs, cond)
					}
					chosen[cond] = append(chosen[cond], op)
				}
			}
			return ir.Advance
		})
		b := ir.NewBuilder(r.Module.Context())
		for _, cond := range ifs {
			mergeSelects(b, cond, chosen[cond])
			r.Count("merged", len(chosen[cond]))
		}
		return nil
	},
}

// conditionFor is the first scf.if that can take over the choice sel, or nil.
func conditionFor(dom *dominance, sel *ir.Operation) *ir.Operation {
	choice := arith.AsSelect(sel)
	if tensors.Type(choice.Condition()) != nil || tensors.Type(choice.Result()) == nil {
		return nil
	}
	var first *ir.Operation
	for u := range choice.Condition().Users() {
		if u.Is(scf.If) && u.Block() == sel.Block() && sel.IsBeforeInBlock(u) && (first == nil || u.IsBeforeInBlock(first)) {
			first = u
		}
	}
	if first == nil {
		return nil
	}
	for u := range choice.Result().Users() {
		if !dom.before(first, u) {
			return nil
		}
	}
	return first
}

// mergeSelects makes cond again with one more result for each of the choices,
// which go.
func mergeSelects(b *ir.Builder, cond *ir.Operation, selects []*ir.Operation) {
	types := make([]ir.Type, 0, cond.NumResults()+len(selects))
	for _, r := range cond.Results() {
		types = append(types, r.Type())
	}
	for _, s := range selects {
		types = append(types, s.OneResult().Type())
	}
	b.At(cond)
	n := b.Create(scf.If, ir.State{Operands: cond.OperandValues(), Types: types, Attrs: cond.Attrs(), Regions: 2})
	for i, region := range cond.Regions() {
		n.Region(i).TakeBody(region)
		if n.Region(i).Empty() {
			b.SetToEnd(n.Region(i).AddBlock())
			scf.NewYield(b)
		}
		yield := n.Region(i).First().Terminator()
		for _, s := range selects {
			v := arith.AsSelect(s).TrueValue()
			if n.Region(i) == scf.AsIf(n).ElseRegion() {
				v = arith.AsSelect(s).FalseValue()
			}
			s.OneResult().ReplaceUsesIf(v, func(u *ir.Use) bool { return insideRegion(u.Owner(), n.Region(i)) })
			yield.AppendOperand(v)
		}
	}
	k := cond.NumResults()
	for i, r := range cond.Results() {
		r.ReplaceAllUsesWith(n.Result(i))
	}
	cond.Erase()
	for i, s := range selects {
		s.OneResult().ReplaceAllUsesWith(n.Result(k + i))
		s.Erase()
	}
}

// insideRegion reports whether op is in r or deeper.
func insideRegion(op *ir.Operation, r *ir.Region) bool {
	for ; op != nil && op.Block() != nil; op = op.Parent() {
		if op.Block().Region() == r {
			return true
		}
	}
	return false
}
