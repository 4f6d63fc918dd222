package mfma_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/internal/gpu64/mfma"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	unit := mfma.Unit{Target: "gpu64:gfx942"}
	ours := []*pass.Pass{
		matrix.NewAccelerateMatmul(unit), matrix.NewOptimizeDotOperands(unit),
		matrix.NewReduceDataDuplication(unit), pipeline.NewPrefetch(unit),
	}
	passtest.Run(t, "testdata", ours, ours...)
}
