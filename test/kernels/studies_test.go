package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// The kernels of docs/examples, each held to a reference in float64.

// study is one kernel of a file of examples.
func study(file, kernel string) kerneltest.Kernel {
	k := examples(file)
	k.Name = kernel
	return k
}

// folded returns what f folds each row of a matrix to.
func folded(x *array.Array, cols int, start float64, f func(a, b float64) float64) []float64 {
	all := x.Floats()
	return each(len(all)/cols, func(row int) float64 {
		out := start
		for _, v := range all[row*cols : (row+1)*cols] {
			out = f(out, v)
		}
		return out
	})
}

// signs draws ±1, ±2 and ±1/2, mostly ±1: their products are exact.
func signs(r *rand.Rand, n int) *array.Array {
	x := kerneltest.Zeros("fp32", n)
	for i := range n {
		v := 1 - 2*float64(r.IntN(2))
		switch r.IntN(64) {
		case 0:
			v *= 2
		case 1:
			v /= 2
		}
		x.Set(i, v)
	}
	return x
}

func TestStudyProd(t *testing.T) {
	r := kerneltest.Rand(t)
	multiply := func(a, b float64) float64 { return a * b }
	for _, n := range []int{1, 777, 1024, 5003} {
		const block = 256
		x := signs(r, n)
		want := folded(x, n, 1, multiply)[0]
		check := func(what string, k kerneltest.Kernel, programs int, constants ...any) {
			t.Helper()
			mid, out := kerneltest.Empty("fp32", programs), kerneltest.Empty("fp32", 1)
			k.Run(t, kerneltest.Grid(programs), append([]any{x, mid, n}, constants...)...)
			study("prod", "prod_kernel_result").Run(t, kerneltest.Grid(1), mid, out, programs, 32)
			kerneltest.Equal(t, fmt.Sprintf("%s of %d", what, n), out, []float64{want})
		}
		check("block", study("prod", "prod_kernel_block"), cdiv(n, block), block)
		for _, programs := range []int{1, 3} {
			check("mid", study("prod", "prod_kernel_mid").Warps(2), programs, block)
			check("halves", study("prod", "prod_kernel_halves").Warps(2), programs, block, 8)
		}
	}
}

func TestStudyMax(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, n := range []int{1, 700, 2048, 9001} {
		// Negative, so that a block's rest must not count as zeros.
		x := scaled(r, -9, -1, "fp32", n)
		want := folded(x, n, math.Inf(-1), math.Max)
		const block = 512
		for _, c := range []struct {
			one      bool
			programs int
		}{{true, cdiv(n, block)}, {false, 3}, {false, 1}} {
			out := kerneltest.Full(math.Inf(-1), "fp32", 1)
			study("max", "max_kernel").Run(t, kerneltest.Grid(c.programs), x, out, n, block, c.one)
			kerneltest.Equal(t, fmt.Sprintf("max of %d, %+v", n, c), out, want)
		}
	}
}

func TestStudyMaxRows(t *testing.T) {
	r := kerneltest.Rand(t)
	const rows, cols = 9, 777
	x := scaled(r, -9, -1, "fp32", rows, cols)
	want := folded(x, cols, math.Inf(-1), math.Max)
	for _, c := range []struct{ jobs, parts, block int }{{9, 1, 1024}, {4, 1, 1024}, {8, 4, 256}, {2, 16, 64}, {16, 2, 512}} {
		out := kerneltest.Full(math.Inf(-1), "fp32", rows)
		study("max", "max_rows_kernel").Run(t, kerneltest.Grid(c.jobs, c.parts), x, out, rows, cols, c.parts, c.block)
		kerneltest.Equal(t, fmt.Sprintf("rows %+v", c), out, want)
	}
}

func TestStudyMin(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, size := range [][2]int{{16, 2048}, {11, 3001}, {1, 5}} {
		rows, cols := size[0], size[1]
		x := scaled(r, 1, 9, "fp32", rows, cols)
		want := folded(x, cols, math.Inf(1), math.Min)
		const bm, bn, sub = 8, 512, 128
		check := func(kernel string, grid int, constants ...any) {
			t.Helper()
			out := kerneltest.Full(math.Inf(1), "fp32", rows)
			study("min", kernel).Run(t, kerneltest.Grid(grid), append([]any{x, out, rows, cols}, constants...)...)
			kerneltest.Equal(t, fmt.Sprint(kernel, size), out, want)
		}
		check("min_rows", cdiv(rows, 2), 2, 256)
		check("min_split_each", cdiv(cols, bn), bm, bn, sub)
		check("min_split", cdiv(cols, bn), bm, bn, sub)
		check("min_split_once", cdiv(cols, bn), 16, bm, bn, sub)
	}
}

func TestStudySoftmax(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, size := range [][2]int{{5, 1000}, {3, 257}, {1, 1}} {
		rows, cols := size[0], size[1]
		x := scaled(r, -40, 40, "fp32", rows, cols)
		want := softmax(x.Floats(), cols)
		near := func(what string, out *array.Array) {
			t.Helper()
			kerneltest.Near(t, fmt.Sprint(what, size), out, want, 1e-5, 1e-10)
		}
		out := kerneltest.Empty("fp32", rows, cols)
		study("softmax_wide", "softmax_columns").Warps(1).Run(t, kerneltest.Grid(cdiv(rows, 4)), out, x, rows, cols, 4)
		near("columns", out)
		for _, block := range [][2]int{{1, 256}, {4, 64}} {
			out = kerneltest.Empty("fp32", rows, cols)
			study("softmax_wide", "softmax_tiles").Run(t, kerneltest.Grid(cdiv(rows, block[0])), out, x, rows, cols, block[0], block[1])
			near("tiles", out)
		}
		const block = 128
		parts := cdiv(cols, block)
		top, total := kerneltest.Empty("fp32", rows, parts), kerneltest.Empty("fp32", rows, parts)
		out = kerneltest.Empty("fp32", rows, cols)
		study("softmax_wide", "softmax_partials").Run(t, kerneltest.Grid(rows, parts), top, total, x, rows, cols, block)
		study("softmax_wide", "softmax_combine").Run(t, kerneltest.Grid(rows, parts), out, x, top, total, rows, cols, block, 16)
		near("parts", out)
	}
}

func TestStudyCumsum(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, size := range [][2]int{{3, 1000}, {2, 130}, {1, 1}} {
		rows, cols := size[0], size[1]
		x := kerneltest.Randn(r, "fp32", rows, cols)
		want := x.Floats()
		for i := range want {
			if i%cols > 0 {
				want[i] += want[i-1]
			}
		}
		near := func(what string, out *array.Array) {
			t.Helper()
			kerneltest.Near(t, fmt.Sprint(what, size), out, want, 1e-4, 1e-3)
		}
		const block, chunks = 128, 16
		out := kerneltest.Empty("fp32", rows, cols)
		study("cumsum", "cumsum_columns").Warps(1).Run(t, kerneltest.Grid(cdiv(rows, 2)), out, x, rows, cols, 2)
		near("columns", out)
		out = kerneltest.Empty("fp32", rows, cols)
		study("cumsum", "cumsum_row").Run(t, kerneltest.Grid(rows), out, x, cols, 1024)
		near("row", out)
		out = kerneltest.Empty("fp32", rows, cols)
		study("cumsum", "cumsum_tiles").Run(t, kerneltest.Grid(rows), out, x, cols, block)
		near("tiles", out)
		sums := kerneltest.Empty("fp32", rows, cdiv(cols, block))
		out = kerneltest.Empty("fp32", rows, cols)
		grid := kerneltest.Grid(rows, cdiv(cols, block))
		study("cumsum", "chunk_sums").Run(t, grid, sums, x, cols, block)
		study("cumsum", "cumsum_chunks").Run(t, grid, out, x, sums, cols, block, chunks)
		near("chunks", out)
	}
}

func TestStudyMatmul(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, target := range []string{"cuda:80", "cuda:90"} {
		const m, n, k = 100, 72, 56
		a, b := kerneltest.Randn(r, "fp16", m, k), kerneltest.Randn(r, "fp16", k, n)
		want := product(a, b, m, n, k)
		c := kerneltest.Empty("fp16", m, n)
		study("matmul_grouped", "matmul_kernel1").On(target).Run(t, kerneltest.Grid(cdiv(m, 32), cdiv(n, 32)), a, b, c, m, n, k, 32, 32, 32)
		kerneltest.Near(t, "matmul_kernel1", c, want, 2e-3, 1e-2)
		for _, group := range []int{1, 3, 8} {
			c = kerneltest.Empty("fp16", m, n)
			study("matmul_grouped", "matmul_kernel").On(target).Run(t, kerneltest.Grid(cdiv(m, 32)*cdiv(n, 16)),
				a, b, c, m, n, k, k, 1, n, 1, n, 1, 32, 16, 32, group, kerneltest.Expr(`"leaky_relu"`))
			kerneltest.Near(t, fmt.Sprint("group ", group), c, each(m*n, func(i int) float64 { return max(want[i], 0.01*want[i]) }), 2e-3, 1e-2)
		}
	}
}

// attended is attention of each head: q, k and v are heads of ctx rows of d numbers.
func attended(q, k, v *array.Array, heads, ctx, d int, scale float64, causal bool) []float64 {
	qs, ks, vs := q.Floats(), k.Floats(), v.Floats()
	out := make([]float64, heads*ctx*d)
	for row := range heads * ctx {
		first, keys := row/ctx*ctx, ctx
		if causal {
			keys = row%ctx + 1
		}
		scores := each(keys, func(j int) float64 {
			sum := 0.0
			for i := range d {
				sum += qs[row*d+i] * ks[(first+j)*d+i]
			}
			return sum * scale
		})
		for j, p := range softmax(scores, keys) {
			for i := range d {
				out[row*d+i] += p * vs[(first+j)*d+i]
			}
		}
	}
	return out
}

func TestStudyAttention(t *testing.T) {
	r := kerneltest.Rand(t)
	const heads, ctx, d, scale, bm, bn = 2, 75, 32, 0.3, 32, 16
	for _, target := range []string{"cuda:80", "cuda:90"} {
		q, k, v := kerneltest.Randn(r, "fp16", heads, ctx, d), kerneltest.Randn(r, "fp16", heads, ctx, d), kerneltest.Randn(r, "fp16", heads, ctx, d)
		for _, causal := range []bool{false, true} {
			out := kerneltest.Empty("fp16", heads, ctx, d)
			study("attention", "attention_kernel").On(target).Run(t, kerneltest.Grid(cdiv(ctx, bm), heads), q, k, v, out, scale, ctx, d, bm, bn, causal)
			kerneltest.Near(t, fmt.Sprint("fused, causal ", causal), out, attended(q, k, v, heads, ctx, d, scale, causal), 5e-3, 5e-3)
		}
		s, p, out := kerneltest.Empty("fp16", heads, ctx, ctx), kerneltest.Empty("fp16", heads, ctx, ctx), kerneltest.Empty("fp16", heads, ctx, d)
		study("attention", "scores_kernel").On(target).Run(t, kerneltest.Grid(cdiv(ctx, bm), cdiv(ctx, bn), heads), q, k, s, scale, ctx, d, bm, bn)
		examples("row_softmax").On(target).Run(t, kerneltest.Grid(heads*ctx), p, s, ctx, ctx, ctx, 128)
		study("attention", "values_kernel").On(target).Run(t, kerneltest.Grid(cdiv(ctx, bm), heads), p, v, out, ctx, d, bm, bn)
		kerneltest.Near(t, "three kernels", out, attended(q, k, v, heads, ctx, d, scale, false), 5e-3, 5e-3)
	}
}

func TestStudyHints(t *testing.T) {
	r := kerneltest.Rand(t)
	const block, m = 256, 512
	x, out := kerneltest.Randn(r, "fp16", m), kerneltest.Empty("fp16", 3*block)
	for _, kernel := range []string{"wrap", "wrap_hinted"} {
		study("hints", kernel).Run(t, kerneltest.Grid(3), out, x, m, block)
		kerneltest.Equal(t, kernel, out, each(3*block, func(i int) float64 { return x.At(i % m) }))
	}
	const n = 1000
	y := kerneltest.Randn(r, "fp32", n)
	const group = 24
	live := kerneltest.Randint(r, 0, 2, "i32", cdiv(n, group))
	for _, kernel := range []string{"flags", "flags_hinted"} {
		z := kerneltest.Empty("fp32", n)
		study("hints", kernel).Run(t, kerneltest.Grid(cdiv(n, block)), z, live, y, n, group, block)
		kerneltest.Equal(t, kernel, z, each(n, func(i int) float64 { return y.At(i) * live.At(i/group) }))
	}
	const rows, stride, cols = 3, 264, 200 // multiples of 8, not of 16
	w := kerneltest.Randn(r, "fp32", rows, stride)
	for _, kernel := range []string{"rows", "rows_parameters", "rows_hinted"} {
		z := kerneltest.Empty("fp32", rows, block)
		study("hints", kernel).Run(t, kerneltest.Grid(rows), z, w, stride, cols, block)
		kerneltest.Equal(t, kernel, z, each(rows*block, func(i int) float64 {
			if i%block >= cols {
				return 0
			}
			return w.At(i/block*stride + i%block)
		}))
	}
}

func TestStudyReplacements(t *testing.T) {
	r := kerneltest.Rand(t)
	const n, block = 777, 256
	x := kerneltest.Randn(r, "fp32", n)
	for _, kernel := range []string{"relu_maximum", "relu_where"} {
		out := kerneltest.Empty("fp32", n)
		study("replacements", kernel).Run(t, kerneltest.Grid(cdiv(n, block)), out, x, n, block)
		kerneltest.Equal(t, kernel, out, each(n, func(i int) float64 { return max(x.At(i), 0) }))
	}
	const rows, cols = 3, 200
	a, b := kerneltest.Randn(r, "fp32", rows, cols), kerneltest.Randn(r, "fp32", rows, cols)
	for _, kernel := range []string{"distance_where", "distance"} {
		out := kerneltest.Empty("fp32", rows)
		study("replacements", kernel).Run(t, kerneltest.Grid(rows), out, a, b, cols, block)
		kerneltest.Near(t, kernel, out, each(rows, func(row int) float64 {
			sum := 0.0
			for i := row * cols; i < (row+1)*cols; i++ {
				sum += (a.At(i) - b.At(i)) * (a.At(i) - b.At(i))
			}
			return sum
		}), 1e-5, 1e-5)
	}
	const tiles, size = 2, 1024 // a tile of 32 by 32
	y := kerneltest.Randn(r, "fp32", tiles, size)
	add := func(a, b float64) float64 { return a + b }
	for _, kernel := range []string{"sum_at_once", "sum_in_steps"} {
		out := kerneltest.Empty("fp32", tiles)
		study("replacements", kernel).Run(t, kerneltest.Grid(tiles), out, y, size)
		kerneltest.Near(t, kernel, out, folded(y, size, 0, add), 1e-5, 1e-4)
	}
	out := kerneltest.Empty("fp32", tiles, 32)
	study("replacements", "sum_rows").Run(t, kerneltest.Grid(tiles), out, y, 32, 32)
	kerneltest.Near(t, "sum_rows", out, folded(y, 32, 0, add), 1e-5, 1e-4)
	out = kerneltest.Empty("fp32", tiles, 32)
	study("replacements", "sum_columns").Run(t, kerneltest.Grid(tiles), out, y, 32, 32)
	kerneltest.Near(t, "sum_columns", out, each(tiles*32, func(i int) float64 {
		sum := 0.0
		for row := range 32 {
			sum += y.At(i/32*size + row*32 + i%32)
		}
		return sum
	}), 1e-5, 1e-4)
}
