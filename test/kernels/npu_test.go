package kernels

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/mlircpu"
)

// onMLIR has kernels for NPUs run by MLIR on the CPU.
var onMLIR bool

// openNPU makes the device of a target of NPUs ready.
func openNPU(_ context.Context, target core.Target, printed io.Writer) (driver.Device, error) {
	if onMLIR {
		return mlircpu.Open(target)
	}
	return simulated.New(target, simulated.Options{Output: printed})
}

// npuTests are the tests of the reference kernels that have a meaning on an NPU: all but
// the one that prints and the one with PTX.
var npuTests = []struct {
	name string
	test func(t *testing.T)
}{
	{"vectors", TestVectorAdd},
	{"softmax", TestRowSoftmax},
	{"layer norm forward", TestLayerNormForward},
	{"layer norm", TestLayerNormBackward},
	{"matmul", TestMatmul},
	{"matmul of strides", TestMatmulStrides},
	{"matmul of descriptors", TestMatmulDescriptors},
	{"attention", TestFlashAttention},
	{"row minimum", TestRowMinSplit},
	{"product", TestProdMid},
	{"cumulative sum", TestCumsumRows},
	{"casts", TestCasts},
	{"casts to 8 bits", TestCastsFP8},
	{"promotions", TestPromotions},
	{"control flow", TestControlFlow},
	{"calls", TestCalls},
	{"reductions", TestReductions},
	{"tuples", TestReduceTuple},
	{"scans", TestScans},
	{"sorts", TestSorts},
	{"shapes", TestShapes},
	{"atomics", TestAtomics},
	{"block pointers", TestBlockPointers},
	{"descriptors", TestDescriptors},
	{"dots", TestDots},
	{"dot chain", TestDotChain},
	{"dot scaled", TestDotScaled},
	{"maths", TestMaths},
	{"libdevice", TestLibdevice},
	{"randoms", TestRandoms},
	{"hints", TestHints},
	{"transpose", TestTranspose},
}

func runNPU(t *testing.T) {
	if os.Getenv(kerneltest.StoreEnv) != "" || os.Getenv(kerneltest.DeviceEnv) != "" {
		t.Skip("it runs here alone, and this run is prepared for a GPU or runs on one")
	}
	defer func(warps []int) { target, warpCounts = "", warps }(warpCounts)
	warpCounts = []int{4}
	target = "npu:ascend910b3"
	for _, tt := range npuTests {
		t.Run(tt.name, tt.test)
	}
}

// TestNPU compiles the reference kernels for an NPU and runs the program of the cores on
// the simulated one.
func TestNPU(t *testing.T) { runNPU(t) }

// TestMLIR runs what the stage ttadapter says on the CPU, by MLIR's passes and its runner.
func TestMLIR(t *testing.T) {
	if why := mlircpu.Missing(); why != "" {
		t.Skip("skipped: " + why)
	}
	defer func(all []int) { onMLIR, blocks = false, all }(blocks)
	onMLIR = true
	if os.Getenv("TRITONC_ALL") == "" {
		blocks = blocks[:2] // mlir-opt takes long for sorts of many elements
	}
	runNPU(t)
}
