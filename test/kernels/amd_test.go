package kernels

import (
	"fmt"
	"os"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// onChips skips a test of kernels for these targets where all tests are about another device.
func onChips(t *testing.T) {
	t.Helper()
	switch {
	case os.Getenv(kerneltest.StoreEnv) != "" || os.Getenv(kerneltest.DeviceEnv) != "":
		t.Skip("it runs on the simulator alone, and this run is prepared for a GPU or runs on one")
	case onAMD():
		t.Skip("it names its chips, and all tests run on one")
	}
}

// TestAMD compiles the reference kernels for AMD's GPUs and runs what llc makes of them.
// Two of them are not for these: one calls CUDA's library, one has PTX.
func TestAMD(t *testing.T) {
	onChips(t)
	defer func(warps []int) { target, warpCounts = "", warps }(warpCounts)
	warpCounts = []int{4}
	for _, chip := range kerneltest.Chips(t) {
		target = "hip:" + chip
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

const invariantDots = `import triton
import triton.language as tl


@triton.jit
def kernel(h, w, out, n):
    c = tl.arange(0, 32)
    o = c[:, None] * 32 + c[None, :]
    v = tl.load(w + o)
    d = tl.zeros((32, 32), tl.float32)
    for i in range(n):
        d = tl.dot(tl.load(h + o), tl.load(h + 1024 + o), d)
        d = tl.dot(tl.load(h + i * 1024 + o), (v & 3).to(tl.float16), d)
        v = v * 5 + 1
    tl.store(out + o, d)
`

// TestLoadsBeforeBarriers: operands that a loop does not change are read from LDS before
// the barrier that lets the loop overwrite them, though only the loop uses them.
func TestLoadsBeforeBarriers(t *testing.T) {
	onChips(t)
	const n, trips = 32, 3
	r := kerneltest.Rand(t)
	h, w := kerneltest.Randint(r, -3, 4, "fp16", trips, n, n), kerneltest.Randint(r, 0, 1000, "i32", n, n)
	want := make([]float64, n*n)
	for i := range want {
		v := make([]int64, n)
		for k := range v {
			v[k] = w.Int(k*n + i%n)
		}
		for turn := range trips {
			for k := range n {
				want[i] += h.At(i/n*n+k)*h.At((n+k)*n+i%n) + h.At((turn*n+i/n)*n+k)*float64(v[k]&3)
				v[k] = v[k]*5 + 1
			}
		}
	}
	for _, chip := range kerneltest.AMDChips {
		for _, warps := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/%d", chip, warps), func(t *testing.T) {
				out := kerneltest.Empty("fp32", n, n)
				k := kerneltest.Kernel{Source: invariantDots, Target: "hip:" + chip, Options: kerneltest.Options{"num_warps": warps, "num_stages": 4}}
				k.Run(t, kerneltest.Grid(1), h, w, out, trips)
				kerneltest.Near(t, "out", out, want, 0, 0)
			})
		}
	}
}

// TestLastIterations: what the last iterations of a pipelined loop put into LDS side by side
// has room there, in a persistent loop, too: three operands beside three buffers do not fit
// into the 64 KiB of gfx1100.
func TestLastIterations(t *testing.T) {
	onChips(t)
	for _, name := range []string{"product", "persistent"} {
		t.Run(name, func(t *testing.T) {
			r := kerneltest.Rand(t)
			const m, n, k = 150, 96, 192
			a, b, out := kerneltest.Randint(r, -4, 5, "fp16", m, k), kerneltest.Randint(r, -4, 5, "fp16", n, k), kerneltest.Empty("fp16", m, n)
			kerneltest.Kernel{Source: warpGroups, Name: name, Target: "hip:gfx1100"}.Warps(4).
				Run(t, kerneltest.Grid(4), a, b, out, m, n, k, 128, 64, 64, 4, false)
			turned := kerneltest.Zeros("fp16", k, n)
			for i := range n {
				for j := range k {
					turned.Set(j*n+i, b.At(i*k+j))
				}
			}
			want := product(a, turned, m, n, k)
			kerneltest.Equal(t, "out", out, each(m*n, func(i int) float64 { return out.Type.Round(want[i]) }))
		})
	}
}
