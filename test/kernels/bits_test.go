package kernels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

const bitsOfRows = `import triton
import triton.language as tl


@triton.jit
def _and(a, b):
    return a & b


@triton.jit
def _or(a, b):
    return a | b


@triton.jit
def _xor(a, b):
    return a ^ b


@triton.jit
def bits(x, every, some, odd, rows, cols, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, TRUTH: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    inside = (i < rows) & (j < cols)
    v = tl.load(x + i * cols + j, mask=inside, other=0)
    most = tl.load(x + i * cols + j, mask=inside, other=-1)
    if TRUTH:
        v = (v & 1) != 0
        most = (most & 1) != 0
    k = tl.arange(0, M if AXIS == 1 else N)
    there = k < (rows if AXIS == 1 else cols)
    tl.store(every + k, tl.reduce(most, AXIS, _and).to(x.dtype.element_ty), mask=there)
    tl.store(some + k, tl.reduce(v, AXIS, _or).to(x.dtype.element_ty), mask=there)
    tl.store(odd + k, tl.reduce(v, AXIS, _xor).to(x.dtype.element_ty), mask=there)
`

// Reductions bit by bit of truth values and of numbers narrower than a word, along either
// dimension, over lanes and warps: several go in one word.
func TestBitsOfRows(t *testing.T) {
	for _, typ := range []string{"i8", "i16", "i32"} {
		for _, c := range []struct{ m, n, rows, cols, warps int }{
			{4, 1024, 4, 1000, 8},
			{4, 1024, 3, 1024, 4},
			{2, 64, 2, 61, 1},
			{32, 16, 29, 13, 4},
			{64, 128, 64, 101, 16},
			{1, 256, 1, 200, 2},
		} {
			for axis := range 2 {
				for _, truth := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s %dx%d axis %d truth %t", typ, c.m, c.n, axis, truth), func(t *testing.T) {
						r := kerneltest.Rand(t)
						x := kerneltest.Randint(r, -128, 127, typ, c.rows, c.cols)
						for i := range x.Len() { // so that some are set in all
							if r.IntN(4) > 0 {
								x.SetInt(i, -1)
							}
						}
						n := c.rows
						if axis == 0 {
							n = c.cols
						}
						every, some, odd := kerneltest.Empty(typ, n), kerneltest.Empty(typ, n), kerneltest.Empty(typ, n)
						k := kerneltest.Kernel{Name: "bits", Source: bitsOfRows}.Warps(c.warps)
						k.Run(t, kerneltest.Grid(1), x, every, some, odd, c.rows, c.cols, c.m, c.n, axis, truth)
						all, anyOf, sum := make([]int64, n), make([]int64, n), make([]int64, n)
						for i := range all {
							all[i] = -1
						}
						for i := range c.rows {
							for j := range c.cols {
								at, v := i, x.Int(i*c.cols+j)
								if axis == 0 {
									at = j
								}
								all[at] &= v
								anyOf[at] |= v
								sum[at] ^= v
							}
						}
						kerneltest.Equal(t, "every", every, masked(all, truth))
						kerneltest.Equal(t, "some", some, masked(anyOf, truth))
						kerneltest.Equal(t, "odd", odd, masked(sum, truth))
					})
				}
			}
		}
	}
}

// masked are the lowest bits of numbers where these are truth values.
func masked(list []int64, truth bool) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		if truth {
			v &= 1
		}
		out[i] = float64(v)
	}
	return out
}

// Four rows of truth values cross the lanes of a warp together, and eight warps' results
// of a row are read as two words.
func TestWorkOfBits(t *testing.T) {
	kerneltest.Simulated(t)
	x := kerneltest.Zeros("i32", 4, 1024)
	out := [3]any{kerneltest.Empty("i32", 4), kerneltest.Empty("i32", 4), kerneltest.Empty("i32", 4)}
	k := kerneltest.Kernel{Name: "bits", Source: bitsOfRows}.Warps(8).With(kerneltest.Options{"num_ctas": 1})
	ran := k.Run(t, kerneltest.Grid(1), x, out[0], out[1], out[2], 4, 1024, 4, 1024, 1, true)
	if !ran.HasForm(t, nil) {
		return
	}
	for _, c := range []struct {
		what string
		want int
	}{{"redux.sync", 3}, {"ld.shared.b8", 0}, {"ld.shared.v2.b32", 3 * 4}} {
		if got := strings.Count(ran.PTX, c.what); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
