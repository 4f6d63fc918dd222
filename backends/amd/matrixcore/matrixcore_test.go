package matrixcore_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	unit := matrixcore.Unit{}
	ours := []*pass.Pass{
		matrixcore.AccelerateMatmul, matrix.NewOptimizeDotOperands(unit), matrix.NewReduceDataDuplication(unit),
	}
	passtest.RunIn(t, append(dialect.All(), amdg.Dialect()), "testdata", ours, ours...)
}
