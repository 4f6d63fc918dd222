package numeric

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd"
	"github.com/tritonc/tritonc/backends/npu"
	"github.com/tritonc/tritonc/internal/gpu64"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain names the forms of instructions that have not run on an H200, and fails for
// those of kernels that are the same for every seed.
//
// TRITONC_TARGET=hip:gfx942 has all kernels compiled to assembly of AMD's GPUs and
// executed there, and TRITONC_TARGET=gpu64:gfx942 has them compiled for 64 lanes per warp
// and executed as LLVM IR. TRITONC_TARGET=npu:ascend910b3 has them run on the simulated NPU.
func TestMain(m *testing.M) {
	switch target := os.Getenv(kerneltest.TargetEnv); {
	case strings.HasPrefix(target, "gpu64:"):
		p := gpu64.NewPlatform()
		kerneltest.AddBackend(p, p.Open)
		kerneltest.Everywhere(target)
	case strings.HasPrefix(target, "hip:"):
		kerneltest.AddBackend(amd.New(), nil)
		kerneltest.Everywhere(target)
	case strings.HasPrefix(target, "npu:"):
		kerneltest.AddBackend(npu.New(), nil)
		kerneltest.Everywhere(target)
	}
	os.Exit(kerneltest.CheckForms(m.Run(), "TestHints", "TestAtomicOrders"))
}

// onCUDA reports whether kernels are compiled for NVIDIA's GPUs.
func onCUDA() bool {
	target := os.Getenv(kerneltest.TargetEnv)
	return target == "" || strings.HasPrefix(target, "cuda:")
}

// onNPU reports whether they are compiled for NPUs.
func onNPU() bool { return strings.HasPrefix(os.Getenv(kerneltest.TargetEnv), "npu:") }

// portable are those of a program's options that the target has: for NPUs none, as they are
// about GPUs' instructions and passes.
func portable(o kerneltest.Options) kerneltest.Options {
	if onNPU() {
		return nil
	}
	return o
}
