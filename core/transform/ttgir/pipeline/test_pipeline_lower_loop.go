package pipeline

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// TestLowerLoop is NewTestLowerLoop for targets without matrix units.
var TestLowerLoop = NewTestLowerLoop(dots.MultiplyAdd{}, nil)

// NewTestLowerLoop is what New does of a scheduled loop before its stages run in different
// iterations: dots run on, and loads become copies. The schedule stays on the operations.
// Operations without a place get that of their first user; loops that then have others
// stay as they are. Whether a schedule keeps the meaning of its loop is not asked, and nothing
// is shared or left out that New saves: see loopLowering.
func NewTestLowerLoop(unit dots.MatrixUnit, blocks BlockCopies) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-test-pipeline-lower-loop",
		Doc:      "lower loads and dots of scheduled loops to asynchronous ones, and keep the schedule",
		Example:  testLowerLoopExample,
		ByTarget: true,
		Before:   []*pass.Fact{facts.Machine, facts.Layouts, facts.BoundedSchedules},
		Run: func(r *pass.Run) error {
			b := ir.NewBuilder(r.Module.Context())
			complete, err := completeSchedules(r.Module)
			if err != nil {
				return err
			}
			lowerDots(b, unit, r.Module, complete, blocks)
			if complete, err = completeSchedules(r.Module); err != nil {
				return err
			}
			elems := accessesOf(r.Module, complete)
			for _, s := range complete {
				r.Count("copies", loopLowering{b, elems, unit, blocks, true}.lower(s))
				s.write()
			}
			return nil
		},
	}
}

// completeSchedules are the schedules of the loops in which each operation has a place, or
// gets one since another needs it.
func completeSchedules(module *ir.Operation) ([]*schedule, error) {
	var complete []*schedule
	for _, s := range readSchedules(module) {
		if err := s.checkStages(); err != nil {
			return nil, err
		}
		s.addAllDeps()
		if s.isComplete() {
			s.write()
			complete = append(complete, s)
		}
	}
	return complete, nil
}

// loopLowering gives descriptors that loops make their places, and makes copies of loads.
type loopLowering struct {
	b      *ir.Builder
	elems  map[*ir.Operation]int64 // see accessesOf
	unit   dots.MatrixUnit
	blocks BlockCopies // nil: loads through descriptors stay
	// literal saves nothing: a load through a descriptor that comes after a use of others
	// has a barrier of its own, and a descriptor that needs one place a counter, too. Else
	// the barrier is shared, and such a descriptor stays as it is.
	literal bool
}

// lower lowers the loop of s, and returns the number of copies.
func (l loopLowering) lower(s *schedule) int {
	if l.blocks != nil {
		placeDescriptors(l.b, s, l.blocks, l.literal)
	}
	return lowerLoads(l, s)
}

// checkStages refuses schedules of more stages than a loop may have.
func (s *schedule) checkStages() error {
	if s.stages <= pass.MaxStages {
		return nil
	}
	return pass.OverLimit(s.loop.Loc(), "what more stages hold does not fit in shared memory",
		"the loop is scheduled in %s; it may have %d", diag.Count(s.stages, "stage"), pass.MaxStages)
}

// isComplete reports whether all operations of the body that need a place have one.
func (s *schedule) isComplete() bool {
	for op := range s.loop.Body().Ops() {
		if !s.has(op) && !op.IsTerminator() && !op.Def().Has(ir.ConstantLike) {
			return false
		}
	}
	return true
}
