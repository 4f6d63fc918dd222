package partition

import (
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// AutomaticWarpSpecialization divides loops with tt.warp_specialize from the choice of
// partitions to ttg.warp_specialize, and gives the loop of each partition its part of the
// schedule. It comes after tritongpu-hoist-tmem-alloc and tritongpu-schedule-loops.
var AutomaticWarpSpecialization = &pass.Pass{
	Name:    "tritongpu-automatic-warp-specialization",
	Doc:     "divide warp-specialized loops among groups of warps",
	Example: automaticWarpSpecializationExample,
	Options: LowerAref.Options,
	Before:  []*pass.Fact{facts.BoundedSchedules},
	After:   []*pass.Fact{facts.Scheduled},
	Breaks:  []*pass.Fact{facts.NoSchedule},
	Run: func(r *pass.Run) error {
		stages := pass.Setting{Name: "num-stages", Value: r.Int("num-stages")}
		for _, row := range []pass.Row{
			{Pass: PartitionScheduling},
			{Pass: InsertAref},
			{Pass: InsertTmemAref},
			{Pass: std.SCCP},
			{Pass: std.CSE}, // of counters
			{Pass: LowerAref, With: []pass.Setting{stages}},
			{Pass: PartitionLoops},
			{Pass: LowerWarpGroup},
			{Pass: pipeline.ScheduleLoops},
		} {
			if err := r.Also(row.Pass, row.With...); err != nil {
				return err
			}
		}
		return nil
	},
}
