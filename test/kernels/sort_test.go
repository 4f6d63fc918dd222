package kernels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const mostOfRows = `import triton
import triton.language as tl


@triton.jit
def tiles(x, most, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, COLS: tl.constexpr, UNROLL: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.arange(0, N)
    at = x + i[:, None] * COLS
    best = tl.topk(tl.load(at + j[None, :], mask=j[None, :] < COLS, other=0), K, dim=1)
    for step in (tl.static_range if UNROLL else range)(N, COLS, N):
        best = tl.bitonic_merge(best)
        tile = tl.load(at + (step + j)[None, :], mask=(step + j)[None, :] < COLS, other=0)
        best = tl.maximum(best, tl.topk(tile, K, dim=1))
    tl.store(most + i[:, None] * K + tl.arange(0, K)[None, :], tl.sort(best, dim=1, descending=True))


@triton.jit
def uses(x, most, sums, last, flag, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    best = tl.topk(tl.load(x + i[:, None] * N + tl.arange(0, N)[None, :]), K, dim=1)
    if flag > 0:
        best = tl.sort(best, dim=1)
    tl.store(last + i, tl.max(best, axis=1))
    tl.store(sums + i, tl.sum(best, axis=1) + tl.load(sums + i))
    tl.store(most + i[:, None] * K + tl.arange(0, K)[None, :], best)
`

// rowsOf are rows of numbers from 0 on, of which many are equal.
func rowsOf(t *testing.T, typ string, rows, cols int) *array.Array {
	return kerneltest.Randint(kerneltest.Rand(t), 0, 100, typ, rows, cols)
}

// largest are the k largest numbers of row i of x, from the largest down.
func largest(x *array.Array, i, k int) []float64 {
	row := x.Floats()[i*x.Shape[1] : (i+1)*x.Shape[1]]
	slices.Sort(row)
	slices.Reverse(row)
	return row[:k]
}

// The largest numbers of rows, tile by tile, of every type and on more and fewer threads
// than there are elements.
func TestMostOfRows(t *testing.T) {
	for _, typ := range []string{"i64", "u64", "i32", "u16", "i8", "fp64", "fp32", "fp16"} {
		for _, c := range []struct{ m, n, k, cols, warps int }{
			{32, 32, 8, 128, 4},
			{32, 32, 8, 75, 4},
			{16, 64, 4, 64, 1},
			{64, 16, 2, 40, 2},
			{8, 128, 16, 300, 4},
			{4, 32, 8, 96, 8},
		} {
			for _, unroll := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d of %d in tiles of %dx%d, unroll %t", typ, c.k, c.cols, c.m, c.n, unroll), func(t *testing.T) {
					const programs = 2
					x := rowsOf(t, typ, programs*c.m, c.cols)
					most := kerneltest.Empty(typ, programs*c.m, c.k)
					k := kerneltest.Kernel{Name: "tiles", Source: mostOfRows}.Warps(c.warps)
					k.Run(t, kerneltest.Grid(programs), x, most, c.m, c.n, c.k, c.cols, unroll)
					var want []float64
					for i := range programs * c.m {
						want = append(want, largest(x, i, c.k)...)
					}
					kerneltest.Equal(t, "most", most, want)
				})
			}
		}
	}
}

// Lanes that a reduction has combined share what is left to do: of a thread's eight
// numbers, four after the first and two after the second of the steps in which the larger
// halves stay.
func TestWorkOfMost(t *testing.T) {
	kerneltest.Simulated(t)
	const m, n, k = 32, 32, 8
	x, most := rowsOf(t, "i64", m, n), kerneltest.Empty("i64", m, k)
	out := kerneltest.Kernel{Name: "tiles", Source: mostOfRows}.Warps(4).With(kerneltest.Options{"num_ctas": 1}).Run(t, kerneltest.Grid(1), x, most, m, n, k, n, true)
	// Runs of 8: 1 and 2 exchanges between lanes; then larger halves and 2 exchanges,
	// twice; the last sort, 1 and 2. Each is two shuffles.
	want := 2 * ((1+2)*8 + 8 + 2*4 + 4 + 2*2 + (1+2)*2)
	if got := strings.Count(out.PTX, "shfl.sync"); got != want && out.HasForm(t, nil) {
		t.Errorf("%d shuffles, want %d", got, want)
	}
}

// What is made of the largest numbers beside a sort: conditions, sums and maxima.
func TestUsesOfMost(t *testing.T) {
	const m, n, k = 32, 32, 8
	for _, typ := range []string{"i64", "fp32"} {
		for flag := range 2 {
			t.Run(fmt.Sprintf("%s %d", typ, flag), func(t *testing.T) {
				x := rowsOf(t, typ, m, n)
				most, sums, last := kerneltest.Empty(typ, m, k), kerneltest.Full(3, typ, m), kerneltest.Empty(typ, m)
				kernel := kerneltest.Kernel{Name: "uses", Source: mostOfRows}.Warps(4)
				kernel.Run(t, kerneltest.Grid(1), x, most, sums, last, flag, m, n, k)
				var all, total, first []float64
				for i := range m {
					row, sum := largest(x, i, k), 3.0
					for _, v := range row {
						sum += v
					}
					total, first = append(total, sum), append(first, row[0])
					if flag == 1 {
						slices.Reverse(row)
					}
					all = append(all, row...)
				}
				kerneltest.Equal(t, "most", most, all)
				kerneltest.Equal(t, "sums", sums, total)
				kerneltest.Equal(t, "last", last, first)
			})
		}
	}
}
