package kernelsuite

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain names the forms of instructions that have not run on an H200, and fails for
// those of kernels that are the same for every seed.
func TestMain(m *testing.M) { os.Exit(kerneltest.CheckForms(m.Run(), "TestHints", "TestAtomicOrders")) }
