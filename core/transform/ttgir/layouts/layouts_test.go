package layouts_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{layouts.Convert, layouts.Coalesce, layouts.PlanCTA, layouts.RemoveConversions, layouts.OptimizeThreadLocality, layouts.SpreadReplicas}
	known := append([]*pass.Pass{std.Canonicalize, std.CSE}, ours...)
	passtest.Run(t, "testdata", known, ours...)
}
