package partition

import "github.com/tritonc/tritonc/core/pass"

// Passes are the passes of this package.
func Passes() []*pass.Pass {
	return []*pass.Pass{PartitionLoops, LowerWarpGroup, AssignStagePhase, LowerAref, OptimizePartitionWarps, InsertAref, InsertTmemAref, PartitionScheduling, AutomaticWarpSpecialization}
}
