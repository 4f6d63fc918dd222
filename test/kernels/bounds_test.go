package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestBounds: blocks that lie anywhere, at the ends of 32 bits, too, in tensors of
// any length, an impossible one as well. All rows are one row of memory, so that a
// tensor can have 2^31 of them; what is outside is zero, or is left alone.
func TestBounds(t *testing.T) {
	const body = `import triton
import triton.language as tl


@triton.jit
def descriptor(x_ptr, y_ptr, row, column, M, N, STEP, TURNS, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[STEP, 1], block_shape=[BM, BN])
    sum = tl.zeros((BM, BN), tl.int32)
    for i in range(TURNS):
        sum += x.load([row, column]) * (i + 1)
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(y_ptr + at, sum)


@triton.jit
def pointer(x_ptr, y_ptr, row, column, M, N, STEP, TURNS, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, shape=(M, N), strides=(STEP, 1), offsets=(row, column), block_shape=(BM, BN), order=(1, 0))
    sum = tl.zeros((BM, BN), tl.int32)
    for i in range(TURNS):
        sum += tl.load(x, boundary_check=(0, 1), padding_option="zero") * (i + 1)
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(y_ptr + at, sum)
`
	const bm, bn, columns = 16, 8, 32
	rows := []int{math.MinInt32, -bm, -bm + 1, -3, 0, 2, math.MaxInt32 - bm, math.MaxInt32 - 3, math.MaxInt32}
	lengths := []int{math.MinInt32, -2, 0, 1, bm, math.MaxInt32 - 1, math.MaxInt32}
	starts := []int{math.MinInt32, -5, 0, 9, columns - 3, math.MaxInt32}
	for _, name := range []string{"descriptor", "pointer"} {
		for _, cc := range []string{"cuda:80", "cuda:90"} {
			forWarps(t, kerneltest.Kernel{Source: body, Name: name}.On(cc), func(t *testing.T, k kerneltest.Kernel) {
				r := kerneltest.Rand(t)
				for i, row := range rows {
					m, column := lengths[r.IntN(len(lengths))], starts[r.IntN(len(starts))]
					if i == 0 { // each test has one with something inside
						row, m, column = math.MaxInt32-3, math.MaxInt32-1, -5
					}
					n, trips := columns, 3
					x, y := kerneltest.Randint(r, -99, 99, "i32", columns), kerneltest.Empty("i32", bm*bn)
					k.Run(t, kerneltest.Grid(1), x, y, row, column, m, n, 0, trips, bm, bn)
					kerneltest.Equal(t, fmt.Sprintf("from row %d, column %d, of %d by %d", row, column, m, n), y, each(bm*bn, func(at int) float64 {
						i, j := row+at/bn, column+at%bn
						if i < 0 || i >= m || j < 0 || j >= n {
							return 0
						}
						return 6 * x.At(j)
					}))
				}
			})
		}
	}
}
