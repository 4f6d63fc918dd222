package matrix_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	split := matrix.NewF32DotTC(matrix.TF32Rounding{Asm: "cvt.rna.tf32.f32 $0, $1;", Constraints: "=r,r"})
	ours := []*pass.Pass{split, matrix.NewAccelerateMatmul(mma.Unit{}), matrix.NewOptimizeDotOperands(mma.Unit{}), matrix.NewReduceDataDuplication(mma.Unit{})}
	passtest.Run(t, "testdata", ours, ours...)
}
