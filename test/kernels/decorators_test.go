package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// maxKernels are reductions to the greatest element whose constants come from a
// configuration and, of that and the arguments, from heuristics.
const maxKernels = `import triton
import triton.language as tl

MOST_BLOCKS = 5


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 2), (256, 4))], key=["n"])
@triton.heuristics(values={
    "WHOLE": lambda args: args["n"] <= args["BLOCK"] * MOST_BLOCKS,
    "num_warps": lambda args: args["num_warps"] * (1 if args["n"] <= args["BLOCK"] * MOST_BLOCKS else 2),
})
@triton.jit
def of_all(x, out, n, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    if WHOLE:
        o = first + tl.arange(0, BLOCK)
        most = tl.max(tl.load(x + o, mask=o < n, other=-float("inf")))
    else:
        part = tl.full([BLOCK], -float("inf"), tl.float32)
        for i in range(first, n, tl.num_programs(0) * BLOCK):
            o = i + tl.arange(0, BLOCK)
            part = tl.maximum(part, tl.load(x + o, mask=o < n, other=-float("inf")))
        most = tl.max(part)
    tl.atomic_max(out, most)


@triton.autotune(configs=[triton.Config({"PARTS": p}) for p in (2, 8)], key=["cols"])
@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(triton.cdiv(args["cols"], args["PARTS"]))})
@triton.jit
def of_rows(x, out, rows, cols, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    jobs = tl.num_programs(0)
    each = (rows + jobs - 1) // jobs
    first = tl.program_id(0) * each
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    for row in range(first, min(first + each, rows)):
        part = tl.load(x + row * cols + o, mask=o < cols, other=-float("inf"))
        tl.atomic_max(out + row, tl.max(part))
`

// TestHeuristicsOfArguments: kernels run for arguments take both ways of a
// constant that heuristics make of them.
func TestHeuristicsOfArguments(t *testing.T) {
	for _, n := range []int{1, 63, 320, 321, 1999} {
		t.Run(fmt.Sprint("all/", n), func(t *testing.T) {
			x, out := kerneltest.Randn(kerneltest.Rand(t), "fp32", n), kerneltest.Full(-1e30, "fp32", 1)
			kerneltest.Kernel{Source: maxKernels, Name: "of_all"}.Run(t, kerneltest.Grid(min(cdiv(n, 64), 5)), x, out, n)
			want := math.Inf(-1)
			for i := range n {
				want = max(want, x.At(i))
			}
			kerneltest.Near(t, "out", out, []float64{want}, 0, 0)
		})
	}
	for _, shape := range [][2]int{{1, 1}, {7, 33}, {13, 250}} {
		t.Run(fmt.Sprint("rows/", shape), func(t *testing.T) {
			rows, cols := shape[0], shape[1]
			x, out := kerneltest.Randn(kerneltest.Rand(t), "fp32", rows, cols), kerneltest.Full(-1e30, "fp32", rows)
			kerneltest.Kernel{Source: maxKernels, Name: "of_rows"}.Run(t, kerneltest.Grid(3, 2), x, out, rows, cols)
			want := make([]float64, rows)
			for i := range want {
				want[i] = math.Inf(-1)
				for j := range cols {
					want[i] = max(want[i], x.At(i*cols+j))
				}
			}
			kerneltest.Near(t, "out", out, want, 0, 0)
		})
	}
}
