package transform

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// ReadLate puts reads of LDS right before the dot of a loop that they are operands of, below
// the loads of later iterations and what computes their addresses:
//
//	%a = ttg.local_load %x
//	%q = tt.load %p
//	%d = tt.dot %a, …
//
// becomes
//
//	%q = tt.load %p
//	%a = ttg.local_load %x
//	%d = tt.dot %a, …
//
// LLVM reads LDS in the order that it is given, all at once where nothing is in between, and
// operands that are read first wait in registers for the rest.
var ReadLate = &pass.Pass{
	Name:    "tritonamdgpu-read-late",
	Doc:     "read operands of a loop's dots from LDS right before them",
	Example: readLateExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		for _, op := range operations(r.Module, ttg.LocalLoad) {
			v := op.OneResult()
			if _, operand := encoding.Get(v.Type()).(*layout.DotOp); !operand || op.ParentOf(scf.For) == nil || !v.HasOneUse() {
				continue
			}
			dot := v.OnlyUser()
			if tt.IsDot(dot) && dot.Block() == op.Block() && op.Next() != dot && onlyLoadsBetween(op, dot) {
				op.MoveBefore(dot)
				r.Count("moved", 1)
			}
		}
		return nil
	},
}

// onlyLoadsBetween reports whether what lies between two operations of a block computes or
// reads memory, and fills no buffer, which may take the place of one that was read before.
func onlyLoadsBetween(op, end *ir.Operation) bool {
	for o := op.Next(); o != end; o = o.Next() {
		if o.NumRegions() > 0 || o.Is(ttg.LocalAlloc) || ir.HasEffect(o, ir.Effects.Changes) {
			return false
		}
	}
	return true
}
