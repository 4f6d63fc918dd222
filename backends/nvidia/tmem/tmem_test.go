package tmem_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := append(tmem.Passes(), matrix.NewOptimizeDotOperands(dots.MultiplyAdd{}, tmem.KeepScalesShared), pipeline.NewAssignLatencies(wgmma.Unit{}, tmem.Dots{}), matrix.NewAccelerateMatmul(tmem.Unit{}), pipeline.New(tmem.Unit{}, nil), pipeline.NewTestLowerLoop(tmem.Unit{AsScheduled: true}, tma.Copies{}))
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
}

func TestRows16(t *testing.T) {
	p := matrix.NewAccelerateMatmul(tmem.Unit{Rows16: true})
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata16", []*pass.Pass{p}, p)
}
