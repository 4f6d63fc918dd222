package memory

import (
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// AllocateShared gives each operation that has shared memory the attribute
// allocation.offset, the byte of its function's frame where it begins, and the module
// ttg.shared, how many bytes the largest function needs. Scratch memory is that of
// allocation.Neutral.
var AllocateShared = &pass.Pass{
	Name:    "allocate-shared-memory",
	Doc:     "place buffers and scratch memory in shared memory",
	Example: sharedExample,
	Run: func(r *pass.Run) error {
		for _, m := range builtin.Modules(r.Module) {
			placed, err := allocation.Analyze(m, allocation.Neutral(r.Place), allocation.Tight)
			if err != nil {
				return err
			}
			Place(m, placed)
			r.Count("bytes", placed.Size())
		}
		return nil
	},
}

// Place writes where everything is into the module, but for modules inside it.
func Place(m *ir.Operation, placed *allocation.Result) {
	ctx := m.Context()
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op != m && op.Is(builtin.Module) {
			return ir.Skip
		}
		if a, ok := placed.Area(op); ok {
			op.SetAttr(ttg.OffsetAttr, ctx.I32Attr(int64(a.Offset)))
		}
		return ir.Advance
	})
	m.SetAttr(ttg.SharedAttr, ctx.I32Attr(int64(placed.Size())))
}
