package kernels

import (
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestChosenParameters: a choice between a function's parameters. llc loads it
// through the address of one of the two, which ld.param takes in a register.
func TestChosenParameters(t *testing.T) {
	forWarps(t, kerneltest.Kernel{Source: `import triton
import triton.language as tl


@triton.jit(noinline=True)
def either(c, a, b, x, y):
    return tl.where(c, a, b), tl.where(c, x, y)


@triton.jit
def k(o, p, n):
    i = tl.program_id(0)
    first, second = either(i < n, i * 3, i + 7, i * 0.5, 1.0 - i)
    tl.store(o + i, first)
    tl.store(p + i, second)
`, Name: "k", Target: target, Options: options}, func(t *testing.T, k kerneltest.Kernel) {
		const n, blocks = 5, 20
		o, p := kerneltest.Empty("i32", blocks), kerneltest.Empty("fp32", blocks)
		k.Run(t, kerneltest.Grid(blocks), o, p, n)
		choose := func(yes, no func(i int) float64) []float64 {
			return each(blocks, func(i int) float64 {
				if i < n {
					return yes(i)
				}
				return no(i)
			})
		}
		kerneltest.Equal(t, "o", o, choose(func(i int) float64 { return float64(3 * i) }, func(i int) float64 { return float64(i + 7) }))
		kerneltest.Equal(t, "p", p, choose(func(i int) float64 { return float64(i) / 2 }, func(i int) float64 { return float64(1 - i) }))
	})
}
