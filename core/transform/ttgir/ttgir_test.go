package ttgir_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{ttgir.Convert, ttgir.Coalesce, ttgir.RemoveConversions, ttgir.OptimizeThreadLocality}
	all := append([]*pass.Pass{std.Canonicalize, std.CSE}, ours...)
	passtest.Run(t, "testdata", all, ours...)
}
