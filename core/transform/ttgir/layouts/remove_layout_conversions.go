package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// RemoveConversions makes values change their layout as seldom as possible:
//
//  1. Layouts spread forward from the operations for which they matter.
//  2. Of the conversions that remain, those go whose operand can be computed
//     again in the layout wanted for less than the conversion costs.
//  3. The others move to where fewer bytes have to be moved.
//
// Loops and conditions carry along what is computed twice.
var RemoveConversions = &pass.Pass{
	Name:    "tritongpu-remove-layout-conversions",
	Doc:     "remove layout conversions, rematerializing values where that is cheaper",
	Example: removeLayoutConversionsExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		m := machine.Of(r.Module)
		for f := range r.Module.Body().Ops() {
			if f.Is(tt.Func) && f.Body() != nil {
				removeConversions(f, m, r.Count)
			}
		}
		return nil
	},
}

func removeConversions(f *ir.Operation, m machine.Machine, count func(string, int)) {
	before := len(tensors.Conversions(f))
	propagate(f, m)
	foldConverts(f)
	for newRemat(f, m, count).run(f) {
		foldConverts(f)
	}
	if newRemat(f, m, count).hoistAboveWidening(f) {
		foldConverts(f)
		// What was hoisted is there now for others to be computed from.
		newRemat(f, m, count).run(f)
		foldConverts(f)
	}
	if newRemat(f, m, count).hoistIntoConditions(f) {
		foldConverts(f)
	}
	if newRemat(f, m, count).hoistDotOperands(f) {
		foldConverts(f)
	}
	dropDeadCarried(f)
	rewrite.Greedy(f, cleanUp, rewrite.Options{})
	count("removed", before-len(tensors.Conversions(f)))
}

// cleanUp leaves out what loops carry and conditions give for nothing now.
var cleanUp = rewrite.NewSet(ConvertPatterns(), std.ControlPatterns())
