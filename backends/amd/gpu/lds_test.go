package gpu_test

import (
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestLargeConversion transposes tiles whose rows and columns are in registers on either side
// alone: scratch memory of the whole tile would be 128 KiB, and goes through a layout between.
func TestLargeConversion(t *testing.T) {
	const source = `def k(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    mask = (i < m) & (j < n)
    tl.store(out + i + j * m, tl.load(x + i * n + j, mask=mask, other=0.0), mask=mask)
`
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		const rows, cols = 256, 128
		m, n := rows-r.IntN(90), cols-r.IntN(50)
		x := kerneltest.Randint(r, -1000, 1000, "fp32", m*n)
		out := kerneltest.Zeros("fp32", m*n)
		want := make([]float64, m*n)
		for i := range m {
			for j := range n {
				want[i+j*m] = x.At(i*n + j)
			}
		}
		kernelOf(chip, source, kerneltest.Options{"num_warps": 4}).Run(t, kerneltest.Grid(1), x, out, m, n, rows, cols)
		kerneltest.Near(t, "transposed", out, want, 0, 0)
	})
}
