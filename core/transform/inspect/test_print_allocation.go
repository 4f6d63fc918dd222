package inspect

import (
	"fmt"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// scratchOption chooses who says how much scratch memory operations need.
const scratchOption = "get-scratch-size-function"

// Allocation tells where buffers and scratch memory are in shared memory, and how much a
// function needs.
var Allocation = &pass.Pass{
	Name:    "test-print-allocation",
	Doc:     "remark on the shared memory of each operation and function",
	Example: allocationExample,
	Options: []pass.Option{
		{Name: scratchOption, Doc: "None: what operations need; ValidConstant: 128 bytes for each", Default: "None"},
	},
	Run: func(r *pass.Run) error {
		scratch := allocation.Neutral(r.Place)
		switch name := r.Text(scratchOption); name {
		case "None":
		case "ValidConstant":
			scratch = func(*ir.Operation) (bytes, align int, err error) { return 128, 0, nil }
		default:
			return fmt.Errorf("the choices of %s are None and ValidConstant, not %q", scratchOption, name)
		}
		for _, m := range builtin.Modules(r.Module) {
			placed, err := allocation.Analyze(m, scratch, allocation.Tight)
			if err != nil {
				return err
			}
			for f := range m.Body().Ops() {
				if f.Is(tt.Func) {
					sayAreas(r, f, placed)
				}
			}
		}
		return nil
	},
}

// sayAreas tells of the areas of one function.
func sayAreas(r *pass.Run, f *ir.Operation, placed *allocation.Result) {
	name := tt.AsFunc(f).SymName()
	r.Say(f, "%s", name)
	ir.WalkPost(f, func(op *ir.Operation) {
		a, ok := placed.Area(op)
		kind := ""
		switch {
		case !ok:
			return
		case op.Is(tt.Call):
			kind = "virtual "
		case a.Scratch:
			kind = "scratch "
		}
		r.Say(op, "%soffset = %d, size = %d", kind, a.Offset, a.Size)
	})
	r.Say(f, "size = %d", placed.Frame(name))
}
