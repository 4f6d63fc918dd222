package numeric

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/amdsim"
	"github.com/tritonc/tritonc/internal/gpu64"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain names the forms of instructions that have not run on an H200, and fails for
// those of kernels that are the same for every seed.
//
// TRITONC_TARGET=gpu64:gfx942 has all kernels compiled for 64 lanes per warp and
// executed as LLVM IR, and so has TRITONC_TARGET=hip:gfx942 by the backend for AMD's GPUs.
func TestMain(m *testing.M) {
	switch target := os.Getenv(kerneltest.TargetEnv); {
	case strings.HasPrefix(target, "gpu64:"):
		p := gpu64.NewPlatform()
		kerneltest.AddBackend(p, p.Open)
		kerneltest.Everywhere(target)
	case strings.HasPrefix(target, "hip:"):
		p := amdsim.NewPlatform()
		kerneltest.AddBackend(p, p.Open)
		kerneltest.Everywhere(target)
	}
	os.Exit(kerneltest.CheckForms(m.Run(), "TestHints", "TestAtomicOrders"))
}

// asLLVM reports whether kernels are executed as LLVM IR.
func asLLVM() bool {
	target := os.Getenv(kerneltest.TargetEnv)
	return strings.HasPrefix(target, "gpu64:") || strings.HasPrefix(target, "hip:")
}
