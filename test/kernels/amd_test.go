package kernels

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestAMD compiles the reference kernels for AMD's GPUs and runs what llc makes of them.
// Two of them are not for these: one calls CUDA's library, one has PTX.
func TestAMD(t *testing.T) {
	if os.Getenv(kerneltest.StoreEnv) != "" || os.Getenv(kerneltest.DeviceEnv) != "" {
		t.Skip("it runs on the simulator alone, and this run is prepared for a GPU or runs on one")
	}
	defer func(warps []int) { target, warpCounts = "", warps }(warpCounts)
	warpCounts = []int{4}
	for _, target = range []string{"hip:gfx90a", "hip:gfx942", "hip:gfx950", "hip:gfx1100", "hip:gfx1200"} {
		t.Run(target, func(t *testing.T) {
			t.Run("vectors", TestVectorAdd)
			t.Run("softmax", TestRowSoftmax)
			t.Run("layer norm forward", TestLayerNormForward)
			t.Run("layer norm", TestLayerNormBackward)
			t.Run("matmul", TestMatmul)
			t.Run("matmul of strides", TestMatmulStrides)
			t.Run("matmul of descriptors", TestMatmulDescriptors)
			t.Run("attention", TestFlashAttention)
			t.Run("row minimum", TestRowMinSplit)
			t.Run("product", TestProdMid)
			t.Run("cumulative sum", TestCumsumRows)
			t.Run("casts", TestCasts)
			t.Run("casts to 8 bits", TestCastsFP8)
			t.Run("promotions", TestPromotions)
			t.Run("control flow", TestControlFlow)
			t.Run("calls", TestCalls)
			t.Run("reductions", TestReductions)
			t.Run("tuples", TestReduceTuple)
			t.Run("scans", TestScans)
			t.Run("sorts", TestSorts)
			t.Run("shapes", TestShapes)
			t.Run("atomics", TestAtomics)
			t.Run("block pointers", TestBlockPointers)
			t.Run("descriptors", TestDescriptors)
			t.Run("dots", TestDots)
			t.Run("dot chain", TestDotChain)
			t.Run("dot scaled", TestDotScaled)
			t.Run("maths", TestMaths)
			t.Run("libdevice", TestLibdevice)
			t.Run("randoms", TestRandoms)
			t.Run("debugging", TestDebugging)
			t.Run("hints", TestHints)
			t.Run("transpose", TestTranspose)
		})
	}
}
