package kernels

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestLLVM runs the reference kernels with llc's PTX.
func TestLLVM(t *testing.T) {
	if os.Getenv(kerneltest.StoreEnv) != "" || os.Getenv(kerneltest.DeviceEnv) != "" {
		t.Skip("devices run what is compiled by default")
	}
	if onAMD() {
		t.Skip("it names NVIDIA's targets, and all tests run on another")
	}
	defer func(warps []int) { target, options, warpCounts = "", nil, warps }(warpCounts)
	warpCounts = []int{4}
	options = kerneltest.Options{"ptx": "llvm"}
	for _, target = range []string{"cuda:80", "cuda:90"} {
		t.Run(target, func(t *testing.T) {
			for _, c := range []struct {
				name string
				test func(*testing.T)
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
				{"chosen parameters", TestChosenParameters},
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
				{"assembly", TestInlineAssembly},
				{"debugging", TestDebugging},
				{"hints", TestHints},
				{"transpose", TestTranspose},
			} {
				if c.name == "matmul of strides" && target == "cuda:80" {
					continue // it has 8-bit floats that this target lacks
				}
				t.Run(c.name, c.test)
			}
		})
	}
}
