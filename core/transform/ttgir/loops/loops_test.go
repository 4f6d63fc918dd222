package loops_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{
		loops.LoopAwareCSE,
		loops.FuseNestedLoops,
		loops.SplitOffsets,
		loops.LICM,
		loops.CombineSelectAndIf,
		loops.ReorderInstructions,
		loops.BoundMasks,
		loops.ReduceEarly,
		loops.LoadEarly,
		loops.LoadAhead,
	}
	known := append([]*pass.Pass{std.NewCanonicalize(layouts.ConvertPatterns())}, ours...)
	passtest.Run(t, "testdata", known, ours...)
}
