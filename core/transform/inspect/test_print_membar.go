package inspect

import (
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// NewMembar makes the pass that puts a ttg.local_barrier wherever a barrier is due.
// foreign tells of operations of a target's dialect, and may be nil.
func NewMembar(foreign membar.Foreign) *pass.Pass {
	return &pass.Pass{
		Name:     "test-print-membar",
		Doc:      "put a barrier wherever one is due between accesses to shared memory",
		Example:  membarExample,
		ByTarget: true,
		Run: func(r *pass.Run) error {
			return PutBarriers(r, func(m *ir.Operation, placed *allocation.Result) *membar.Result {
				return membar.Analyze(m, placed, foreign)
			})
		},
	}
}

// PutBarriers puts a ttg.local_barrier wherever analyze has one be due in a module whose
// shared memory is placed.
func PutBarriers(r *pass.Run, analyze func(m *ir.Operation, placed *allocation.Result) *membar.Result) error {
	var before, after []*ir.Operation
	for _, m := range builtin.Modules(r.Module) {
		placed, err := allocation.Analyze(m, allocation.Neutral(r.Place), allocation.Tight)
		if err != nil {
			return err
		}
		due := analyze(m, placed)
		ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
			if due.Before(op) {
				before = append(before, op)
			}
			if due.After(op) {
				after = append(after, op)
			}
			return ir.Advance
		})
	}
	b := ir.NewBuilder(r.Module.Context())
	for _, op := range before {
		b.At(op)
		b.Op(ttg.LocalBarrier, nil)
	}
	for _, op := range after {
		b.After(op)
		b.Op(ttg.LocalBarrier, nil)
	}
	r.Count("barriers", len(before)+len(after))
	return nil
}
