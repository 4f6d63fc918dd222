package ttgir

import "github.com/tritonc/tritonc/core/pass"

// Passes lists the passes of this package, in the order in which a pipeline for
// a GPU runs each first.
func Passes() []*pass.Pass {
	return []*pass.Pass{
		Convert, Coalesce, RemoveConversions, LoopAwareCSE, LICM, CombineSelectAndIf,
		ReduceDataDuplication, ReorderInstructions,
	}
}
