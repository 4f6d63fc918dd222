package warpspec

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// Specialize divides a kernel with a loop that is marked for it among warpgroups: the
// kernel's own warps copy what the dots read to shared memory, by TMA, and one or two
// partitions compute:
//
//	for … { %a = tt.descriptor_load …; %c = dot %a, … }
//	tt.store %c
//
// becomes
//
//	ttg.warp_specialize(…)
//	default    { for … { wait empty[slot]; copy into ring[slot], which completes full[slot] } }
//	partition0 { for … { wait full[slot]; %c = dot ring[slot], …; arrive empty[slot] }; tt.store %c }
//
// Each region has all of the function that it needs; what both need, they compute both.
// Where the rows of the results can be halved there are two partitions, one for each
// half. The ring has num-stages buffers, or as many as the loop says.
//
// A kernel that cannot be divided is left as it is, with a remark that says why.
var Specialize = &pass.Pass{
	Name:    "nvgpu-warp-specialization",
	Doc:     "divide kernels among warps that copy and warps that compute",
	Example: specializeExample,
	Options: []pass.Option{
		{Name: "num-stages", Doc: "buffers of the ring, where the loop does not say", Default: 3},
		{Name: "shared-memory", Doc: "bytes of shared memory that a program may use; 0: any", Default: 0},
	},
	Before: []*pass.Fact{facts.Machine, facts.Layouts, facts.KnownDescriptors, facts.BlockIndices},
	Run: func(r *pass.Run) error {
		warps, _ := r.Module.IntAttr(ttg.NumWarpsAttr)
		ctas := ttg.NumCTAs(r.Module)
		for f := range r.Module.Body().Ops() {
			if !f.Is(tt.Func) || tt.AsFunc(f).SymVisibility() == "private" {
				continue
			}
			marked := MarkedLoops(f)
			if len(marked) == 0 {
				continue
			}
			p, why := newPlan(f, int(warps), int(ctas), r.Int("num-stages"), r.Int("shared-memory"))
			decision := Specialized
			if why != nil {
				decision = Whole
			} else {
				p.apply()
				r.Count("partitions", p.halves)
			}
			for _, at := range marked {
				m := pass.Remark{Subject: RemarkSubject, At: at, Decision: decision, Why: "one partition computes"}
				if why != nil {
					m.Why = why.Error()
				} else if p.halves > 1 {
					m.Why = fmt.Sprintf("%d partitions compute", p.halves)
				}
				r.Remark(m)
			}
		}
		return nil
	},
}

// What remarks say: the subject, and the decisions.
const (
	RemarkSubject = "warp_specialize"
	Specialized   = "specialized"
	Whole         = "whole"
)

// LoadedByPointers is in the reason of a remark on a loop that stays whole because of an
// operand that no descriptor loads, or one that went by pointers.
const LoadedByPointers = "loaded by pointers"

// MarkedLoops are the places of the loops in root that ask to be specialized.
func MarkedLoops(root *ir.Operation) []ir.Location {
	var out []ir.Location
	ir.Walk(root, func(op *ir.Operation) ir.WalkResult {
		if op.Is(scf.For) && op.Attr(tt.WarpSpecializeAttr) != nil {
			out = append(out, op.Loc())
		}
		return ir.Advance
	})
	return out
}
