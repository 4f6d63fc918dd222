package numeric

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/gpu64"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain names the forms of instructions that have not run on an H200, and fails for
// those of kernels that are the same for every seed.
//
// TRITONC_TARGET=gpu64:gfx942 has all kernels compiled for 64 lanes per warp and
// executed as LLVM IR.
func TestMain(m *testing.M) {
	if on64Lanes() {
		p := gpu64.NewPlatform()
		kerneltest.AddBackend(p, p.Open)
		kerneltest.Everywhere(os.Getenv(kerneltest.TargetEnv))
	}
	os.Exit(kerneltest.CheckForms(m.Run(), "TestHints", "TestAtomicOrders"))
}

// on64Lanes reports whether kernels are compiled for internal/gpu64.
func on64Lanes() bool { return strings.HasPrefix(os.Getenv(kerneltest.TargetEnv), "gpu64:") }
