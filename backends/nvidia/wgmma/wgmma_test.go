package wgmma_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{
		matrix.NewAccelerateMatmul(wgmma.Unit{}), wgmma.PipelineDots, wgmma.InsertFences, wgmma.LoadBeforeDots,
		layouts.RemoveConversions, pipeline.NewTestLowerLoop(wgmma.Unit{}, nil),
	}
	known := append([]*pass.Pass{std.NewCanonicalize(layouts.ConvertPatterns())}, ours...)
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata", known, ours...)
}
