package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// kernels are those of the reference benchmark.
func kernels(name string) kerneltest.Kernel {
	return kerneltest.Kernel{File: "../../core/frontend/testdata/kernels.py", Name: name, Target: target, Options: options}
}

// target is the device that the tests compile for; TestTargets changes it.
var target string

// options are those of all reference kernels, beside what tests set.
var options kerneltest.Options

// TestTargets runs tests that differ by what a device can do on the others.
func TestTargets(t *testing.T) {
	forNVIDIA(t, "its tests run by themselves")
	defer func(warps []int) { target, warpCounts = "", warps }(warpCounts)
	warpCounts = []int{4}
	for _, target = range []string{"cuda:86", "cuda:89", "cuda:90"} {
		t.Run(target, func(t *testing.T) {
			t.Run("softmax", TestRowSoftmax)
			t.Run("layer norm", TestLayerNormBackward)
			t.Run("reductions", TestReductions)
			t.Run("scans", TestScans)
			t.Run("sorts", TestSorts)
			t.Run("shapes", TestShapes)
			t.Run("atomics", TestAtomics)
			t.Run("descriptors", TestDescriptors)
			t.Run("transpose", TestTranspose)
			t.Run("maths", TestMaths)
			t.Run("matmul", TestMatmul)
			t.Run("attention", TestFlashAttention)
			if target != "cuda:90" {
				return
			}
			t.Run("layer norm forward", TestLayerNormForward)
			t.Run("matmul of descriptors", TestMatmulDescriptors)
			t.Run("row minimum", TestRowMinSplit)
			t.Run("product", TestProdMid)
			t.Run("cumulative sum", TestCumsumRows)
			t.Run("casts", TestCasts)
			t.Run("promotions", TestPromotions)
			t.Run("control flow", TestControlFlow)
			t.Run("calls", TestCalls)
			t.Run("tuples", TestReduceTuple)
			t.Run("block pointers", TestBlockPointers)
			t.Run("dots", TestDots)
			t.Run("dot chain", TestDotChain)
			t.Run("dot scaled", TestDotScaled)
			t.Run("libdevice", TestLibdevice)
			t.Run("randoms", TestRandoms)
			t.Run("assembly", TestInlineAssembly)
			t.Run("debugging", TestDebugging)
			t.Run("hints", TestHints)
		})
	}
}

func cdiv(a, b int) int { return (a + b - 1) / b }

// warpCounts are the numbers of warps that each kernel runs with.
var warpCounts = []int{1, 2, 4, 8}

// oneBlock is for kernels whose programs would race as clusters, since threads of a
// program do not wait for one another between accesses to global memory; and for claims
// about code (HasForm) that depend on how much of a tensor a block has.
var oneBlock = kerneltest.Options{"num_ctas": 1}

// forWarps runs a test for each number of warps.
func forWarps(t *testing.T, k kerneltest.Kernel, test func(t *testing.T, k kerneltest.Kernel)) {
	for _, w := range warpCounts {
		t.Run(fmt.Sprintf("warps=%d", w), func(t *testing.T) { test(t, k.Warps(w)) })
	}
}

func TestVectorAdd(t *testing.T) {
	forWarps(t, kernels("vector_add"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, block := range []int{16, 64, 1024} { // the first is smaller than a warp
			for _, n := range []int{1, 97, 1024, 3001} {
				x, y, out := kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
				k.Run(t, kerneltest.Grid(cdiv(n, block)), x, y, out, n, block)
				want := make([]float64, n)
				for i := range want {
					want[i] = float64(float32(x.At(i)) + float32(y.At(i)))
				}
				kerneltest.Equal(t, "out", out, want)
			}
		}
	})
}

// TestVectorAddTypes: every element type, on every target.
func TestVectorAddTypes(t *testing.T) {
	const n, block = 333, 256
	for _, target := range []string{"cuda:80", "cuda:86", "cuda:89", "cuda:90"} {
		for _, typ := range []string{"fp16", "bf16", "fp32", "fp64", "i8", "u8", "i16", "i32", "u32", "i64"} {
			t.Run(target+"/"+typ, func(t *testing.T) {
				r := kerneltest.Rand(t)
				x, y, out := kerneltest.Randint(r, 0, 60, typ, n), kerneltest.Randint(r, 0, 60, typ, n), kerneltest.Empty(typ, n)
				kernels("vector_add").On(target).Run(t, kerneltest.Grid(cdiv(n, block)), x, y, out, n, block)
				want := make([]float64, n)
				for i := range want {
					want[i] = x.At(i) + y.At(i)
				}
				kerneltest.Equal(t, "out", out, want)
			})
		}
	}
}

// softmax of each row.
func softmax(x []float64, n int) []float64 {
	out := make([]float64, len(x))
	for row := 0; row < len(x); row += n {
		top, sum := math.Inf(-1), 0.0
		for _, v := range x[row : row+n] {
			top = max(top, v)
		}
		for i := row; i < row+n; i++ {
			out[i] = math.Exp(x[i] - top)
			sum += out[i]
		}
		for i := row; i < row+n; i++ {
			out[i] /= sum
		}
	}
	return out
}

func TestRowSoftmax(t *testing.T) {
	forWarps(t, kernels("row_softmax"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][2]int{{64, 1}, {64, 50}, {1024, 781}, {1024, 1024}} {
			const rows = 5
			block, n := size[0], size[1]
			x, out := kerneltest.Randn(r, "fp32", rows, n), kerneltest.Empty("fp32", rows, n)
			k.Run(t, kerneltest.Grid(rows), out, x, n, n, n, block)
			kerneltest.Near(t, "out", out, softmax(x.Floats(), n), 3e-6, 1e-8)
		}
	})
}

func TestLayerNormForward(t *testing.T) {
	forWarps(t, kernels("layer_norm_fwd"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][2]int{{128, 77}, {1024, 1000}} {
			const rows, eps = 3, 1e-3
			block, n := size[0], size[1]
			x, w, b := kerneltest.Randn(r, "fp16", rows, n), kerneltest.Randn(r, "fp16", n), kerneltest.Randn(r, "fp16", n)
			y, mean, rstd := kerneltest.Empty("fp16", rows, n), kerneltest.Empty("fp32", rows), kerneltest.Empty("fp32", rows)
			k.Run(t, kerneltest.Grid(rows), x, y, w, b, mean, rstd, n, n, eps, block)
			wantY, wantMean, wantRstd := make([]float64, rows*n), make([]float64, rows), make([]float64, rows)
			for row := range rows {
				m, v := 0.0, 0.0
				for i := range n {
					m += x.At(row*n+i) / float64(n)
				}
				for i := range n {
					d := x.At(row*n+i) - m
					v += d * d / float64(n)
				}
				wantMean[row], wantRstd[row] = m, 1/math.Sqrt(v+eps)
				for i := range n {
					wantY[row*n+i] = (x.At(row*n+i)-m)*wantRstd[row]*w.At(i) + b.At(i)
				}
			}
			kerneltest.Near(t, "mean", mean, wantMean, 1e-5, 1e-6)
			kerneltest.Near(t, "rstd", rstd, wantRstd, 1e-5, 0)
			kerneltest.Near(t, "y", y, wantY, 1e-3, 1e-3)
		}
	})
}

func TestLayerNormBackward(t *testing.T) {
	forWarps(t, kernels("layer_norm_bwd"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, programs := range []int{1, 3} {
			const m, n, rows, cols = 7, 100, 2, 128
			x, dy, w := kerneltest.Randn(r, "fp16", m, n), kerneltest.Randn(r, "fp16", m, n), kerneltest.Randn(r, "fp16", n)
			mean, rstd := kerneltest.Randn(r, "fp32", m), kerneltest.Uniform(r, "fp32", m)
			dx, dw, db := kerneltest.Empty("fp16", m, n), kerneltest.Zeros("fp32", n), kerneltest.Zeros("fp32", n)
			k.Run(t, kerneltest.Grid(programs), dx, dy, dw, db, x, w, mean, rstd, m, n, rows, cols)
			wantDX, wantDW, wantDB := make([]float64, m*n), make([]float64, n), make([]float64, n)
			for i := range m {
				xh, wdy := make([]float64, n), make([]float64, n)
				c1, c2 := 0.0, 0.0
				for j := range n {
					xh[j] = (x.At(i*n+j) - mean.At(i)) * rstd.At(i)
					wdy[j] = w.At(j) * dy.At(i*n+j)
					c1, c2 = c1+xh[j]*wdy[j], c2+wdy[j]
					wantDW[j] += dy.At(i*n+j) * xh[j]
					wantDB[j] += dy.At(i*n + j)
				}
				for j := range n {
					wantDX[i*n+j] = (wdy[j] - (xh[j]*c1+c2)/n) * rstd.At(i)
				}
			}
			kerneltest.Near(t, "dx", dx, wantDX, 2e-3, 2e-3)
			kerneltest.Near(t, "dw", dw, wantDW, 1e-4, 1e-4)
			kerneltest.Near(t, "db", db, wantDB, 1e-4, 1e-4)
		}
	})
}

func TestRowMinSplit(t *testing.T) {
	forWarps(t, kernels("row_min_split"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		const m, n, bm, bn, sub = 21, 300, 16, 128, 32
		x, out := kerneltest.Randn(r, "fp32", m, n), kerneltest.Full(math.Inf(1), "fp32", m)
		k.Run(t, kerneltest.Grid(cdiv(n, bn)), x, out, m, n, n, bm, bn, sub)
		want := make([]float64, m)
		for i := range want {
			want[i] = math.Inf(1)
			for j := range n {
				want[i] = min(want[i], x.At(i*n+j))
			}
		}
		kerneltest.Equal(t, "out", out, want)
	})
}

func TestProdMid(t *testing.T) {
	forWarps(t, kernels("prod_mid"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, block := range []int{16, 256} {
			const m, programs = 1001, 3
			x := kerneltest.Uniform(r, "fp32", m)
			for i := range m {
				x.Set(i, x.At(i)+0.5)
			}
			mid := kerneltest.Empty("fp32", programs)
			k.Run(t, kerneltest.Grid(programs), x, mid, m, block)
			want := make([]float64, programs)
			for p := range want {
				want[p] = 1
				for first := p * block; first < m; first += programs * block {
					for i := first; i < min(first+block, m); i++ {
						want[p] *= x.At(i)
					}
				}
			}
			kerneltest.Near(t, "mid", mid, want, 1e-4, 0)
		}
	})
}

func TestCumsumRows(t *testing.T) {
	forWarps(t, kernels("cumsum_rows"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, block := range []int{16, 128, 1024} {
			const rows = 3
			n := block - 3
			x, y := kerneltest.Randn(r, "fp32", rows, n), kerneltest.Empty("fp32", rows, n)
			k.Run(t, kerneltest.Grid(rows), x, y, n, n, block)
			want := make([]float64, rows*n)
			for row := range rows {
				sum := 0.0
				for i := row * n; i < (row+1)*n; i++ {
					sum += x.At(i)
					want[i] = sum
				}
			}
			kerneltest.Near(t, "y", y, want, 1e-5, 3e-5)
		}
	})
}

// product is the m×n matrix a·b of row-major a (m×k) and b (k×n).
func product(a, b *array.Array, m, n, k int) []float64 {
	out := make([]float64, m*n)
	x, y := a.Floats(), b.Floats()
	for i := range m {
		for p := range k {
			for j := range n {
				out[i*n+j] += x[i*k+p] * y[p*n+j]
			}
		}
	}
	return out
}

func TestMatmul(t *testing.T) {
	for _, c := range []struct {
		typ          string
		m, n, k      int
		bm, bn, bk   int
		warps        int
		stages       int
		rtol, atol   float64
		out          string
		transposedB  bool
		groupedLines int
	}{
		{typ: "fp16", out: "fp16", m: 64, n: 64, k: 64, bm: 64, bn: 64, bk: 32, warps: 4, stages: 3, rtol: 2e-3, atol: 2e-3, groupedLines: 8},
		{typ: "fp16", out: "fp32", m: 70, n: 90, k: 53, bm: 32, bn: 64, bk: 32, warps: 2, stages: 2, rtol: 1e-4, atol: 1e-4, groupedLines: 2},
		{typ: "fp16", out: "fp32", m: 48, n: 32, k: 100, bm: 16, bn: 16, bk: 16, warps: 1, stages: 4, rtol: 1e-4, atol: 1e-4, groupedLines: 1},
		{typ: "bf16", out: "fp32", m: 64, n: 130, k: 64, bm: 64, bn: 128, bk: 64, warps: 8, stages: 3, rtol: 1e-4, atol: 1e-4, groupedLines: 8},
		{typ: "fp32", out: "fp32", m: 40, n: 72, k: 48, bm: 32, bn: 32, bk: 32, warps: 4, stages: 3, rtol: 5e-3, atol: 3e-2, groupedLines: 8},
		{typ: "fp16", out: "fp32", m: 64, n: 64, k: 96, bm: 64, bn: 64, bk: 32, warps: 4, stages: 3, rtol: 1e-4, atol: 1e-4, groupedLines: 4, transposedB: true},
		{typ: "fp16", out: "fp32", m: 100, n: 200, k: 70, bm: 128, bn: 256, bk: 32, warps: 8, stages: 2, rtol: 1e-4, atol: 1e-4, groupedLines: 8},
	} {
		t.Run(fmt.Sprintf("%s/%dx%dx%d/warps=%d", c.typ, c.m, c.n, c.k, c.warps), func(t *testing.T) {
			r := kerneltest.Rand(t)
			a, b, out := kerneltest.Randn(r, c.typ, c.m, c.k), kerneltest.Randn(r, c.typ, c.k, c.n), kerneltest.Empty(c.out, c.m, c.n)
			want := product(a, b, c.m, c.n, c.k)
			sbk, sbn := c.n, 1
			if c.transposedB {
				at := b.Clone()
				for i := range c.k {
					for j := range c.n {
						at.Set(j*c.k+i, b.At(i*c.n+j))
					}
				}
				b, sbk, sbn = at, 1, c.k
			}
			grid := kerneltest.Grid(cdiv(c.m, c.bm) * cdiv(c.n, c.bn))
			kernels("matmul").With(kerneltest.Options{"num_warps": c.warps, "num_stages": c.stages}).
				Run(t, grid, a, b, out, c.m, c.n, c.k, c.k, 1, sbk, sbn, c.n, 1, c.bm, c.bn, c.bk, c.groupedLines)
			kerneltest.Near(t, "c", out, want, c.rtol, c.atol)
		})
	}
}

func TestMatmulDescriptors(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, c := range []struct {
		m, n, k, bm, bn, bk, programs int
		specialize                    bool
	}{
		{96, 80, 64, 32, 32, 32, 4, false},
		{160, 144, 64, 128, 128, 64, 132, true},
	} {
		a, b, out := kerneltest.Randn(r, "fp16", c.m, c.k), kerneltest.Randn(r, "fp16", c.n, c.k), kerneltest.Empty("fp16", c.m, c.n)
		kernels("matmul_desc").Run(t, kerneltest.Grid(4), a, b, out, c.m, c.n, c.k, c.bm, c.bn, c.bk, 8, c.programs, c.specialize)
		bt := kerneltest.Zeros("fp16", c.k, c.n)
		for i := range c.n {
			for j := range c.k {
				bt.Set(j*c.n+i, b.At(i*c.k+j))
			}
		}
		kerneltest.Near(t, "c", out, product(a, bt, c.m, c.n, c.k), 2e-3, 2e-2)
	}
}

func TestFlashAttention(t *testing.T) {
	for _, causal := range []bool{false, true} {
		t.Run(fmt.Sprintf("causal=%v", causal), func(t *testing.T) {
			r := kerneltest.Rand(t)
			const z, h, ctx, d, bm, bn = 1, 2, 128, 32, 64, 32
			scale := 1 / math.Sqrt(d)
			q, k, v := kerneltest.Randn(r, "fp16", z, h, ctx, d), kerneltest.Randn(r, "fp16", z, h, ctx, d), kerneltest.Randn(r, "fp16", z, h, ctx, d)
			o, l := kerneltest.Empty("fp16", z, h, ctx, d), kerneltest.Empty("fp32", z, h, ctx)
			kernels("flash_fwd").Run(t, kerneltest.Grid(ctx/bm, z*h), q, k, v, o, l, scale, h*ctx*d, ctx*d, d, 1, h, ctx, bm, bn, d, causal)
			wantO, wantL := make([]float64, z*h*ctx*d), make([]float64, z*h*ctx)
			for head := range z * h {
				for i := range ctx {
					row := head*ctx + i
					last := ctx
					if causal {
						last = i + 1
					}
					s := make([]float64, last)
					for j := range s {
						for e := range d {
							s[j] += q.At(row*d+e) * k.At((head*ctx+j)*d+e) * scale
						}
						wantL[row] += math.Exp(s[j])
					}
					// The kernel keeps logarithms to base 2.
					p := softmax(s, last)
					for j := range p {
						for e := range d {
							wantO[row*d+e] += p[j] * v.At((head*ctx+j)*d+e)
						}
					}
					wantL[row] = math.Log2(wantL[row])
				}
			}
			kerneltest.Near(t, "o", o, wantO, 5e-3, 5e-3)
			kerneltest.Near(t, "l", l, wantL, 1e-3, 1e-3)
		})
	}
}
