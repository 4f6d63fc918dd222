package buffers_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/buffers"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{buffers.CanonicalizePointers, buffers.ConvertBufferOps, buffers.FoldTrueCmpI, buffers.TestRangeAnalysis}
	canonicalize := std.NewCanonicalize(nil)
	passtest.RunIn(t, append(dialect.All(), amdg.Dialect()), "testdata", append(ours, canonicalize), ours...)
}
