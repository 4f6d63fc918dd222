package warpspec_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{warpspec.AllocateWarpGroups}
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata", ours, ours...)
}
