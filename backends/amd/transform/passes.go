package transform

import "github.com/tritonc/tritonc/core/pass"

// Passes are all of the package.
func Passes() []*pass.Pass {
	return []*pass.Pass{
		BlockPingpong, CoalesceAsyncCopy, HoistLayoutConversions, InThreadTranspose, InsertInstructionSchedHints, LowerInsertInstructionSchedHints, OptimizeDotOperands, OptimizeEpilogue,
		Pipeline, ReadLate, ReorderInstructions, ScheduleLoops, UpdateAsyncWaitCount,
	}
}
