package pipeline_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{
		pipeline.AssignLatencies,
		pipeline.ScheduleLoops,
		pipeline.Pipeline,
		pipeline.Prefetch,
		pipeline.CoalesceAsyncCopy,
	}
	known := append([]*pass.Pass{std.NewCanonicalize(layouts.ConvertPatterns())}, ours...)
	passtest.Run(t, "testdata", known, ours...)
}
