package gpu_test

import (
	"strings"
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

// TestOperandsShareLDS multiplies matrices of which the second is put where the first was, as
// more programs then fit a compute unit.
func TestOperandsShareLDS(t *testing.T) {
	const source = `def k(x, y, out, m, n, kk, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    a = tl.load(x + i * kk + tl.arange(0, K)[None, :], mask=(i < m) & (tl.arange(0, K)[None, :] < kk), other=0.0)
    b = tl.load(y + tl.arange(0, K)[:, None] * n + j, mask=(tl.arange(0, K)[:, None] < kk) & (j < n), other=0.0)
    tl.store(out + i * n + j, tl.dot(a, b), mask=(i < m) & (j < n))
`
	warps := map[bool]int{true: 4, false: 8} // of 64 lanes and of 32
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		const size = 64
		m, n, k := size-r.IntN(30), size-r.IntN(30), size-r.IntN(30)
		x, y := kerneltest.Randint(r, -8, 8, "fp16", m*k), kerneltest.Randint(r, -8, 8, "fp16", k*n)
		out := kerneltest.Zeros("fp32", m*n)
		want := make([]float64, m*n)
		for i := range m {
			for j := range n {
				for l := range k {
					want[i*n+j] += x.At(i*k+l) * y.At(l*n+j)
				}
			}
		}
		kernelOf(chip, source, kerneltest.Options{"num_warps": warps[strings.HasPrefix(chip, "gfx9")]}).Run(t, kerneltest.Grid(1), x, y, out, m, n, k, size, size, size)
		kerneltest.Near(t, "products", out, want, 0, 0)
	})
}

// TestPipelineBarriers multiplies matrices in loops whose operands have several buffers: an
// iteration has one barrier, since it writes another buffer than the next one reads.
func TestPipelineBarriers(t *testing.T) {
	const source = `def k(x, y, out, m, n, kk, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, kk, K):
        l = at + tl.arange(0, K)
        a = tl.load(x + i[:, None] * kk + l[None, :], mask=(i < m)[:, None] & (l < kk)[None, :], other=0.0)
        b = tl.load(y + j[None, :] * kk + l[:, None], mask=(l < kk)[:, None] & (j < n)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(out + i[:, None] * n + j[None, :], acc, mask=(i < m)[:, None] & (j < n)[None, :])
`
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for stages := 2; stages <= 4; stages++ {
			const size, block = 64, 32
			m, n, k := size-r.IntN(30), size-r.IntN(30), 16*r.IntN(40)
			x, y := kerneltest.Randint(r, -8, 8, "fp16", max(m*k, 1)), kerneltest.Randint(r, -8, 8, "fp16", max(k*n, 1))
			out := kerneltest.Zeros("fp32", m*n)
			want := make([]float64, m*n)
			for i := range m {
				for j := range n {
					for l := range k {
						want[i*n+j] += x.At(i*k+l) * y.At(j*k+l)
					}
				}
			}
			const warps = 4
			ran := kernelOf(chip, source, kerneltest.Options{"num_warps": warps, "num_stages": stages}).
				Run(t, kerneltest.Grid(1), x, y, out, m, n, k, size, size, block)
			kerneltest.Near(t, "products", out, want, 0, 0)
			iterations := (k + block - 1) / block
			if most := uint64(warps * (iterations + 2*stages)); stages > 2 && ran.Report.Counters.Barriers > most {
				t.Errorf("%d stages: %d barriers in %d iterations, at most %d", stages, ran.Report.Counters.Barriers, iterations, most)
			}
		}
	})
}
