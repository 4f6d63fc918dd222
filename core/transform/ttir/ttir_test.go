package ttir_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll, ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor}
	passtest.Run(t, "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
	// What the front end builds, through the whole stage: the outputs are equal,
	// in the sense of package diff, to what Triton 3.6 makes of the same input.
	all := append(ours, std.Inline, std.Canonicalize, std.CSE, std.SymbolDCE)
	t.Run("pipeline", func(t *testing.T) { passtest.Pipelines(t, "testdata/pipeline", all) })
}
