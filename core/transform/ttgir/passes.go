package ttgir

import (
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/memory"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// Passes lists the passes of the rooms below, in the order in which a pipeline
// for a GPU first runs each. Those that none runs, for memory and for tests, come last.
func Passes() []*pass.Pass {
	return []*pass.Pass{
		layouts.Convert,
		layouts.Coalesce,
		matrix.NewF32DotTC(matrix.TF32Rounding{}),
		layouts.PlanCTA,
		layouts.RemoveConversions,
		layouts.OptimizeThreadLocality,
		matrix.AccelerateMatmul,
		matrix.OptimizeDotOperands,
		loops.LoopAwareCSE,
		loops.FuseNestedLoops,
		loops.SplitOffsets,
		loops.LICM,
		loops.CombineSelectAndIf,
		pipeline.AssignLatencies,
		pipeline.ScheduleLoops,
		pipeline.Pipeline,
		pipeline.Prefetch,
		pipeline.CoalesceAsyncCopy,
		layouts.SpreadReplicas,
		matrix.ReduceDataDuplication,
		loops.ReorderInstructions,
		loops.BoundMasks,
		loops.ReduceEarly,
		loops.LoadEarly,
		loops.LoadAhead,
		memory.AllocateShared,
		memory.AllocateGlobal,
		pipeline.TestLowerLoop,
	}
}
