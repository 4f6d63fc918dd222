package inspect

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// Alias tells, of each descriptor of shared memory, which buffers it may be a view of.
// Values have the numbers that they have in text without locations. Those that may be of
// any memory, as parameters of functions, have no remark; of what a loop carries it is
// said what it is in the first iteration.
var Alias = &pass.Pass{
	Name:    "test-print-alias",
	Doc:     "remark on the buffers that each memory descriptor may be a view of",
	Example: aliasExample,
	Run: func(r *pass.Run) error {
		names := text.Numbers(r.Module)
		say := func(op *ir.Operation, v, from *ir.Value) {
			if of := buffers(from, names); len(of) > 0 {
				r.Say(op, "%s -> %s", names[v], strings.Join(of, ","))
			}
		}
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch {
			case op.Is(scf.For):
				for i, v := range scf.IterArgs(op) {
					say(op, v, scf.AsFor(op).InitArgsAt(i))
				}
			case op.IsTerminator() && len(op.Successors()) > 0:
				for _, v := range op.Block().Args() {
					say(op, v, v)
				}
			}
			for _, v := range op.Results() {
				say(op, v, v)
			}
			return ir.Advance
		})
		return nil
	},
}

// buffers are the names of the buffers that v may be a view of, in order.
func buffers(v *ir.Value, names map[*ir.Value]string) []string {
	var of []string
	for _, b := range alias.Of(v).Buffers {
		of = append(of, names[b.OneResult()])
	}
	slices.Sort(of)
	return of
}
