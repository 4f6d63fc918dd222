package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const maskedMaxima = `
import triton
import triton.language as tl

@triton.jit
def maxima(x, most, out, scale, first, start, n, M: tl.constexpr, N: tl.constexpr, MASK: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    rows = (first + i)[:, None]
    for step in range(0, n):
        s = tl.load(x + step * M * N + i[:, None] * N + j[None, :]) * scale
        columns = (start + step * N + j)[None, :]
        if MASK == 1:
            s = tl.where(rows >= columns, s, -1.0e6)
        elif MASK == 2:
            s = tl.where(columns < rows, s, -float("inf"))
        elif MASK == 3:
            s = tl.where((rows - columns <= 100) & (rows > columns - 7), s, 0.5)
        elif MASK == 4:
            s = tl.where(rows - columns <= 100, s, 0.5)
        tl.store(most + step * M + i, tl.max(s, 1))
        tl.store(out + step * M * N + i[:, None] * N + j[None, :], s)
`

// What tritongpu-reduce-early makes of a loop gives the same bits: for factors of
// any sign and size, numbers that are none, and coordinates that wrap around.
func TestReduceEarly(t *testing.T) {
	const m, n, trips = 64, 64, 4
	r := kerneltest.Rand(t)
	x := kerneltest.Randn(r, "fp32", trips, m, n)
	for range 200 {
		special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-42, -1e-42, 3e38, -3e38}
		x.Set(r.IntN(trips*m*n), special[r.IntN(len(special))])
	}
	for j := range n {
		x.Set(5*n+j, math.NaN()) // rows of the first iteration
		x.Set(9*n+j, math.Inf(-1))
		x.Set(13*n+j, -float64(j))
	}
	k := kerneltest.Kernel{Source: maskedMaxima, Target: target, Options: kerneltest.Options{"num_warps": 4}}
	for mask := range 5 {
		for _, place := range [][2]int{
			{0, 0},
			{62, 0},
			{63, 0},
			{64, 0},
			{100, 0},
			{-50, -100},
			{math.MaxInt32 - 40, math.MaxInt32 - 150},
			{math.MinInt32 + 3, math.MinInt32 + 30},
			{math.MinInt32 + 10, 0},
		} {
			if mask == 0 && place[0] != 0 {
				continue
			}
			scales := []float64{0.37, -0.5, 0, math.Copysign(0, -1), 1e-38, 1e30, math.Inf(1), math.Inf(-1), math.NaN()}
			if place[0] != 0 {
				scales = scales[:2]
			}
			for _, scale := range scales {
				t.Run(fmt.Sprintf("mask=%d/rows=%d/columns=%d/scale=%g", mask, place[0], place[1], scale), func(t *testing.T) {
					run := func(k kerneltest.Kernel) (most, out *array.Array, ran *kerneltest.Outcome) {
						most, out = kerneltest.Empty("fp32", trips, m), kerneltest.Empty("fp32", trips, m, n)
						return most, out, k.Run(t, kerneltest.Grid(1), x, most, out, scale, place[0], place[1], trips, m, n, mask)
					}
					most, out, ran := run(k)
					wantMost, wantOut, plain := run(k.With(kerneltest.Options{"skip_passes": []string{"tritongpu-reduce-early"}}))
					if ran.PTX == plain.PTX && ran.HasForm(t, oneBlock) {
						t.Error("the pass changed nothing")
					}
					sameBits(t, "maxima", most, wantMost)
					sameBits(t, "blocks", out, wantOut)
				})
			}
		}
	}
}

// sameBits reports elements that differ, -0 from 0, too; all that is not a number is
// equal.
func sameBits(t *testing.T, name string, got, want *array.Array) {
	t.Helper()
	for i := range got.Len() {
		g, w := got.At(i), want.At(i)
		if math.Float64bits(g) != math.Float64bits(w) && !(math.IsNaN(g) && math.IsNaN(w)) {
			t.Fatalf("%s: element %d is %g, want %g", name, i, g, w)
		}
	}
}

const staged = `
import triton
import triton.language as tl

@triton.jit
def squares(x, w, sums, out, n, M: tl.constexpr, K: tl.constexpr, DIVIDES: tl.constexpr):
    i = tl.arange(0, M)
    k = tl.arange(0, K)
    weights = tl.load(w + k[:, None] * M + i[None, :])
    rows = x + i[:, None] * K + k[None, :]
    acc = tl.zeros([M, K], tl.float32)
    for start in tl.range(0, n, M, num_stages=1):
        if DIVIDES:
            a = tl.load(rows)
            s = tl.load(sums + start + i)
        else:
            a = tl.load(rows, mask=(start + i < n)[:, None], other=0.0)
            s = tl.load(sums + start + i, mask=start + i < n, other=0.0)
        p = tl.dot(a, weights) - s[:, None]
        acc += tl.dot(tl.trans(p.to(a.dtype)), a)
        rows += M * K
    tl.store(out + i[:, None] * K + k[None, :], acc)
`

// Loads that start an iteration ahead bring what they did: for loops of any number of
// iterations, none too, with rows that are not there, and elements of 8 and 16 bits.
// Nothing is read past the last row: the simulated memory ends there.
func TestLoadAhead(t *testing.T) {
	const m, k = 32, 64
	r := kerneltest.Rand(t)
	kernel := kerneltest.Kernel{Source: staged, Target: target, Options: kerneltest.Options{"num_warps": 4, "num_stages": 1}}
	for _, dtype := range []string{"fp16", "bf16", "fp8e5"} {
		w := kerneltest.Randn(r, dtype, k, m)
		within := map[string]float64{"fp16": 1e-3, "bf16": 1e-2, "fp8e5": 0.3}[dtype] // of p's rounding
		for _, n := range []int{0, 1, m, 2*m + 5, 5 * m} {
			t.Run(fmt.Sprintf("%s/n=%d", dtype, n), func(t *testing.T) {
				x := kerneltest.Randn(r, dtype, max(n, 1), k)
				sums := kerneltest.Randn(r, "fp32", max(n, 1))
				run := func(kernel kerneltest.Kernel) (*array.Array, *kerneltest.Outcome) {
					out := kerneltest.Empty("fp32", m, k)
					return out, kernel.Run(t, kerneltest.Grid(1), x, w, sums, out, n, m, k, n%m == 0)
				}
				got, ran := run(kernel)
				plain, ranPlain := run(kernel.With(kerneltest.Options{"skip_passes": []string{"tritongpu-load-ahead"}}))
				if n > 1 && ran.PTX == ranPlain.PTX && ran.HasForm(t, oneBlock) {
					t.Error("the pass changed nothing")
				}
				sameBits(t, "sums", got, plain)
				for i := range m {
					for j := range k {
						want, size := 0.0, 0.0
						for row := range n {
							p := -sums.At(row)
							for c := range k {
								p += x.At(row*k+c) * w.At(c*m+i)
							}
							want += p * x.At(row*k+j)
							size += math.Abs(p * x.At(row*k+j))
						}
						if g := got.At(i*k + j); !(math.Abs(g-want) <= within*size) {
							t.Fatalf("sum %d, %d is %g, want %g", i, j, g, want)
						}
					}
				}
			})
		}
	}
}
