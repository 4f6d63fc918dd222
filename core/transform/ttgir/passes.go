package ttgir

import "github.com/tritonc/tritonc/core/pass"

// Passes lists the passes of this package, in the order in which a pipeline for
// a GPU runs each first.
func Passes() []*pass.Pass {
	return []*pass.Pass{
		Convert, Coalesce, NewF32DotTC(TF32Rounding{}), PlanCTA, RemoveConversions, OptimizeThreadLocality, AccelerateMatmul, OptimizeDotOperands, LoopAwareCSE,
		FuseNestedLoops, SplitOffsets, LICM, CombineSelectAndIf,
		AssignLatencies, ScheduleLoops, Pipeline, Prefetch, CoalesceAsyncCopy,
		ReduceDataDuplication, ReorderInstructions, BoundMasks, ReduceEarly, LoadEarly,
	}
}
