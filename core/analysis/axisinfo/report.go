package axisinfo

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
)

// Report is what r knows of the values inside root, a line a value: the name
// that its location gives it, what defines it, and the numbers in the form of
// Triton's analysis printer.
func (r *Result) Report(root *ir.Operation) string {
	var b strings.Builder
	line := func(v *ir.Value, by string) {
		if info, ok := r.infos[v]; ok {
			fmt.Fprintf(&b, "%%%s %s => %v\n", ir.NameOf(v.Loc()), by, info)
		}
	}
	ir.Walk(root, func(op *ir.Operation) ir.WalkResult {
		for _, v := range op.Results() {
			line(v, op.Name())
		}
		for _, region := range op.Regions() {
			for block := range region.Blocks() {
				for _, v := range block.Args() {
					line(v, "argument of "+op.Name())
				}
			}
		}
		return ir.Advance
	})
	return b.String()
}
