package gpu_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/gpu"
)

// TestOperations: the table of operations names those that there are.
func TestOperations(t *testing.T) {
	for name := range (&gpu.Target{}).Operations() {
		if amdg.Dialect().Op(name) == nil && amdg.ROCDL().Op(name) == nil {
			t.Errorf("there is no operation %s", name)
		}
	}
}
