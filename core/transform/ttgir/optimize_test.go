package ttgir_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestOptimizations(t *testing.T) {
	split := ttgir.NewF32DotTC(ttgir.TF32Rounding{Asm: "cvt.rna.tf32.f32 $0, $1;", Constraints: "=r,r"})
	tested := []*pass.Pass{
		split, ttgir.PlanCTA, ttgir.AccelerateMatmul, ttgir.FuseNestedLoops, ttgir.AssignLatencies, ttgir.ScheduleLoops, ttgir.Pipeline,
		ttgir.OptimizeDotOperands, ttgir.Prefetch, ttgir.CoalesceAsyncCopy,
		ttgir.LoopAwareCSE, ttgir.SplitOffsets, ttgir.LICM, ttgir.CombineSelectAndIf, ttgir.ReduceDataDuplication, ttgir.ReorderInstructions,
		ttgir.BoundMasks, ttgir.ReduceEarly, ttgir.LoadEarly,
	}
	known := append([]*pass.Pass{split, canonicalize}, ttgir.Passes()...)
	passtest.Run(t, "testdata", known, tested...)
}
