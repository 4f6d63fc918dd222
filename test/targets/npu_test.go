package targets

import (
	"context"
	"io"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/mlircpu"
)

// onMLIR has kernels for NPUs run by MLIR on the CPU.
var onMLIR bool

func needMLIR(t *testing.T) {
	t.Helper()
	if why := mlircpu.Missing(); why != "" {
		t.Skip("skipped: " + why)
	}
}

// openNPU makes the device of a target of NPUs ready.
func openNPU(_ context.Context, target core.Target, printed io.Writer) (driver.Device, error) {
	if onMLIR {
		return mlircpu.Open(target)
	}
	return simulated.New(target, simulated.Options{Output: printed})
}
