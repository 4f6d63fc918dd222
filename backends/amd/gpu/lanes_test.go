package gpu_test

import (
	"slices"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestStoredByOneLane: what one lane of a warp stores for all, a number or elements of which
// several lanes hold each, all load in the next iteration.
func TestStoredByOneLane(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		const n, few = 128, 8
		trips := 2 + r.IntN(5)
		next, list := kerneltest.Randint(r, -9, 9, "i32", 1), kerneltest.Randint(r, -9, 9, "i32", few)
		sum := func(first int64) (total float64) {
			for range trips {
				total += float64(first)
				first = 3*first + 1
			}
			return total
		}
		number, elements := sum(next.Int(0)), 0.0
		for i := range few {
			elements += sum(list.Int(i))
		}
		options := kerneltest.Options{"num_warps": 1, "use_buffer_ops": false}
		out := kerneltest.Empty("i32", n)
		kernelOf(chip, `def k(next, out, trips, N: tl.constexpr):
    o = tl.arange(0, N)
    sum = tl.zeros((N,), tl.int32)
    for i in range(trips):
        v = tl.load(next)
        sum += v
        tl.store(next, 3 * v + 1)
    tl.store(out + o, sum)
`, options).Run(t, kerneltest.Grid(1), next, out, trips, n)
		kerneltest.Equal(t, "number", out, slices.Repeat([]float64{number}, n))
		out = kerneltest.Empty("i32", n)
		kernelOf(chip, `def k(list, out, trips, N: tl.constexpr, F: tl.constexpr):
    o = tl.arange(0, N)
    f = tl.arange(0, F)
    sum = tl.zeros((N,), tl.int32)
    for i in range(trips):
        v = tl.load(list + f)
        sum += tl.sum(v)
        tl.store(list + f, 3 * v + 1)
    tl.store(out + o, sum)
`, options).Run(t, kerneltest.Grid(1), list, out, trips, n, few)
		kerneltest.Equal(t, "elements", out, slices.Repeat([]float64{elements}, n))
	})
}
