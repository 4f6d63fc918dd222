package tma_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/passtest"
)

var (
	canonicalize = std.NewCanonicalize(ttgir.ConvertPatterns())
	pipeline     = ttgir.NewPipeline(tma.Copies{})
	rewrite      = ttir.NewRewriteTensorDescriptor(tma.Takes)
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{tma.OptimizeDescriptorEncoding, tma.PipelineStores, tma.Lower}
	also := []*pass.Pass{rewrite, pipeline, ttgir.AssignLatencies, ttgir.ScheduleLoops, canonicalize, std.CSE}
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata", append(ours, also...), append(ours, rewrite, pipeline)...)
}
