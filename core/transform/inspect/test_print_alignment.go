package inspect

import (
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// Alignment tells, of each result of each operation, how its elements are aligned, and
// the runs that they come in.
var Alignment = &pass.Pass{
	Name:    "test-print-alignment",
	Doc:     "remark on what is known of the elements of each result",
	Example: alignmentExample,
	Run: func(r *pass.Run) error {
		known := axisinfo.Analyze(r.Module)
		names := text.Names(r.Module)
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			for _, v := range op.Results() {
				r.Say(op, "%s = %s => %v", names[v], op.Name(), known.Runs(v))
			}
			return ir.Advance
		})
		return nil
	},
}
