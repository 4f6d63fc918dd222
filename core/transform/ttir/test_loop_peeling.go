package ttir

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// peelAttr marks the loops whose last iteration is to be peeled.
const peelAttr = "__test_peel_epilogue"

// TestLoopPeeling takes the last iteration out of each loop with the attribute
// __test_peel_epilogue, and runs it after the loop:
//
//	for i = lo to hi step s { body(i) }
//
// becomes
//
//	for i = lo to hi − s step s { body(i) }
//	if lo < hi { body(lo + (hi − lo − 1) / s · s) }
//
// Bounds are numbers with a sign, steps are positive, and hi − s does not wrap around.
var TestLoopPeeling = &pass.Pass{
	Name:    "triton-test-loop-peeling",
	Doc:     "peel the last iteration of the loops that __test_peel_epilogue marks",
	Example: testLoopPeelingExample,
	Run: func(r *pass.Run) error {
		var loops []*ir.Operation
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			if op.Is(scf.For) && op.HasAttr(peelAttr) {
				loops = append(loops, op)
			}
		})
		for _, op := range loops {
			op.SetAttr(peelAttr, nil)
			peelLast(op)
		}
		r.Count("peeled", len(loops))
		return nil
	},
}

// peelLast puts the last iteration of a loop after it.
func peelLast(op *ir.Operation) {
	b := ir.NewBuilder(op.Context())
	b.At(op)
	loop := scf.AsFor(op)
	lo, hi, step := loop.LowerBound(), loop.UpperBound(), loop.Step()
	loop.SetUpperBound(arith.Binary(b, arith.SubI, hi, step))

	b.After(op)
	span := arith.Binary(b, arith.SubI, arith.Binary(b, arith.SubI, hi, lo), arith.Int(b, lo.Type(), 1))
	before := arith.Binary(b, arith.MulI, arith.Binary(b, arith.DivSI, span, step), step)
	last := arith.Binary(b, arith.AddI, before, lo)
	results := op.Results()
	types := make([]ir.Type, len(results))
	for i, v := range results {
		types[i] = v.Type()
	}
	choice := scf.NewIf(b, arith.Compare(b, arith.CmpI, arith.SLT, lo, hi), true, types...)
	for i, v := range results {
		v.ReplaceAllUsesWith(choice.Result(i))
	}

	m := ir.NewMapping()
	m.Map(scf.InductionVar(op), last)
	for i, v := range scf.IterArgs(op) {
		m.Map(v, results[i])
	}
	b.SetToEnd(scf.AsIf(choice).ThenRegion().First())
	for x := range op.Body().Ops() {
		b.Insert(x.Clone(m))
	}
	b.SetToEnd(scf.AsIf(choice).ElseRegion().First())
	scf.NewYield(b, results...)
}
