package transform_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/transform"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	dialects := append(dialect.All(), amdg.Dialect(), amdg.ROCDL())
	passes := append(transform.Passes(), std.NewCanonicalize(transform.SlicePatterns()))
	passtest.RunIn(t, dialects, "testdata", passes, passes...)
}
