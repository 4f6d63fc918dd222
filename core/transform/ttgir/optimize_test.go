package ttgir_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestOptimizations(t *testing.T) {
	tested := []*pass.Pass{
		ttgir.LoopAwareCSE, ttgir.LICM, ttgir.CombineSelectAndIf, ttgir.ReduceDataDuplication, ttgir.ReorderInstructions,
	}
	passtest.Run(t, "testdata", append(ttgir.Passes(), canonicalize), tested...)
}
