package ttir_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll, ttir.RewriteTensorPointer}
	passtest.Run(t, "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
}
