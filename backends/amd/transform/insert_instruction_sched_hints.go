package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// InsertInstructionSchedHints marks the loops whose instructions LLVM is to interleave in a
// way of its own: for "attention" those in which one dot's result is the other's operand.
var InsertInstructionSchedHints = &pass.Pass{
	Name:    "triton-amdgpu-insert-instruction-sched-hints",
	Doc:     "mark loops whose instructions are to be interleaved",
	Options: []pass.Option{{Name: "variant", Doc: "attention; anything else marks nothing", Default: amdg.HintNone}},
	Example: insertInstructionSchedHintsExample,
	Run: func(r *pass.Run) error {
		if r.Text("variant") != amdg.HintAttention {
			return nil
		}
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range operations(r.Module, scf.For) {
			if !slices.ContainsFunc(operations(loop, tt.Dot), matrixcore.IsChainHead) {
				continue
			}
			b.At(loop)
			b.SetToStart(loop.Body())
			amdg.NewInstructionSchedHint(b, amdg.HintAttention)
			r.Count("marked", 1)
		}
		return nil
	},
}
