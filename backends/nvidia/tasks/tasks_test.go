package tasks_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tasks"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := tasks.Passes()
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect(), nvws.Dialect()), "testdata", ours, ours...)
}
