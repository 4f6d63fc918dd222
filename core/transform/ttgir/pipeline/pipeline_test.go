package pipeline_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{
		pipeline.NewAssignLatencies(mma.Unit{}, nil),
		pipeline.ScheduleLoops,
		pipeline.New(mma.Unit{}, nil),
		pipeline.NewPrefetch(mma.Unit{}),
		pipeline.CoalesceAsyncCopy,
		pipeline.NewTestLowerLoop(mma.Unit{}, nil),
	}
	known := append([]*pass.Pass{std.NewCanonicalize(layouts.ConvertPatterns())}, ours...)
	passtest.Run(t, "testdata", known, ours...)
}
