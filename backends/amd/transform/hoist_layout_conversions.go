package transform

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// HoistLayoutConversions converts an operand of a dot before the loop where the tensor is
// computed before it: the operand then stays in registers, as Q of attention does, and is
// not read from LDS in each iteration.
var HoistLayoutConversions = &pass.Pass{
	Name:    "tritonamdgpu-hoist-layout-conversions",
	Doc:     "convert operands of dots that a loop does not change before it",
	Example: hoistLayoutConversionsExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		for _, op := range operations(r.Module, ttg.ConvertLayout) {
			if _, operand := encoding.Get(op.OneResult().Type()).(*layout.DotOp); !operand {
				continue
			}
			def, loop := ttg.AsConvertLayout(op).Src().Def(), op.ParentOf(scf.For)
			if def != nil && loop != nil && !loop.IsAncestorOf(def) {
				op.MoveAfter(def)
				r.Count("hoisted", 1)
			}
		}
		return nil
	},
}
