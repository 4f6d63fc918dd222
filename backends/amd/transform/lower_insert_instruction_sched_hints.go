package transform

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// LowerInsertInstructionSchedHints makes of hints what LLVM understands: the block is closed
// to what is around it, and its instructions are interleaved as for attention (iglp.opt 2).
var LowerInsertInstructionSchedHints = &pass.Pass{
	Name: "triton-amdgpu-lower-insert-instruction-sched-hints",
	Doc:  "turn hints of how to interleave instructions into LLVM's",
	Options: []pass.Option{
		{Name: "arch", Doc: "the chip; all have the same", Default: ""},
		{Name: "num_stages", Doc: "stages of the loop; all have the same", Default: 2},
	},
	Example: lowerInsertInstructionSchedHintsExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, op := range operations(r.Module, amdg.Dialect().Op("amdg.instruction_sched_hint")) {
			if hint, _ := amdg.HintOf(op); hint == amdg.HintAttention {
				block := op.Block()
				b.At(op)
				b.SetToStart(block)
				newSchedBarrier(b)
				b.SetBefore(block.Terminator())
				b.Create(amdg.ROCDL().Op("rocdl.iglp.opt"), ir.State{Attrs: []ir.NamedAttr{{Name: "variant", Attr: b.Context().I32Attr(iglpAttention)}}})
				newSchedBarrier(b)
				r.Count("lowered", 1)
			}
			op.Erase()
		}
		return nil
	},
}

// iglpAttention is the number of LLVM's way to interleave exponentials and MFMA.
const iglpAttention = 2

// newSchedBarrier makes a barrier that LLVM's scheduler moves nothing across.
func newSchedBarrier(b *ir.Builder) {
	b.Create(amdg.ROCDL().Op("rocdl.sched.barrier"), ir.State{Attrs: []ir.NamedAttr{{Name: "mask", Attr: b.Context().I32Attr(0)}}})
}
