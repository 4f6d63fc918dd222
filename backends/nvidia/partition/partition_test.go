package partition_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := partition.Passes()
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect(), nvws.Dialect()), "testdata", append(ours, std.Canonicalize, std.CSE), ours...)
}
