package kernels

import (
	"math"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// examples are the kernels that users see first.
func examples(file string) kerneltest.Kernel {
	return kerneltest.Kernel{File: "../../examples/" + file + ".py"}
}

func TestExampleVectorAdd(t *testing.T) {
	r := kerneltest.Rand(t)
	const n, block = 3001, 1024
	x, y, out := kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
	examples("vector_add").Run(t, kerneltest.Grid(cdiv(n, block)), x, y, out, n, block)
	kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return float64(float32(x.At(i)) + float32(y.At(i))) }))
}

func TestExampleSaxpy(t *testing.T) {
	forWarps(t, examples("saxpy"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, typ := range []string{"fp32", "fp16"} {
			const n, a, block, steps = 1777, 1.75, 128, 4
			x, y, out := kerneltest.Randn(r, typ, n), kerneltest.Randn(r, typ, n), kerneltest.Empty(typ, n)
			k.Run(t, kerneltest.Grid(cdiv(n, block*steps)), out, x, y, a, n, block, steps)
			kerneltest.Near(t, typ, out, each(n, func(i int) float64 { return a*x.At(i) + y.At(i) }), 2e-3, 2e-3)
		}
	})
}

func TestExampleSoftmax(t *testing.T) {
	forWarps(t, examples("row_softmax"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		const rows, n, stride = 3, 700, 720 // rows apart in memory
		x, out := kerneltest.Randn(r, "fp32", rows, stride), kerneltest.Empty("fp32", rows, n)
		k.Run(t, kerneltest.Grid(rows), out, x, stride, n, n, 1024)
		used := array.New(x.Type, rows, n)
		for i := range rows * n {
			used.Set(i, x.At(i/n*stride+i%n))
		}
		kerneltest.Near(t, "out", out, softmax(used.Floats(), n), 3e-6, 1e-8)
	})
}

func TestExampleMatmul(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, target := range []string{"cuda:80", "cuda:90"} {
		forWarps(t, examples("matmul").On(target), func(t *testing.T, k kerneltest.Kernel) {
			const m, n, depth, bm, bn, bk = 40, 72, 56, 32, 64, 32
			a, b, c := kerneltest.Randn(r, "fp16", m, depth), kerneltest.Randn(r, "fp16", depth, n), kerneltest.Empty("fp16", m, n)
			k.Run(t, kerneltest.Grid(cdiv(m, bm), cdiv(n, bn)), &launch.Descriptor{Array: a, Block: []int{bm, bk}},
				&launch.Descriptor{Array: b, Block: []int{bk, bn}}, &launch.Descriptor{Array: c, Block: []int{bm, bn}})
			kerneltest.Near(t, "c", c, product(a, b, m, n, depth), 2e-3, 1e-2)
		})
	}
}

func TestExampleLayerNorm(t *testing.T) {
	forWarps(t, examples("layer_norm"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		const rows, n, eps = 2, 777, 1e-4
		x, w, b := kerneltest.Randn(r, "fp16", rows, n), kerneltest.Randn(r, "fp16", n), kerneltest.Randn(r, "fp16", n)
		y, mean, rstd := kerneltest.Empty("fp16", rows, n), kerneltest.Empty("fp32", rows), kerneltest.Empty("fp32", rows)
		k.Run(t, kerneltest.Grid(rows), x, y, w, b, mean, rstd, n, n, eps, 1024)
		for row := range rows {
			m, v := 0.0, 0.0
			for i := range n {
				m += x.At(row*n+i) / n
			}
			for i := range n {
				v += (x.At(row*n+i) - m) * (x.At(row*n+i) - m) / n
			}
			s := 1 / math.Sqrt(v+eps)
			if !(math.Abs(mean.At(row)-m) <= 1e-6 && math.Abs(rstd.At(row)-s) <= 1e-5*s) { // nor a NaN
				t.Errorf("row %d: mean %v, rstd %v, want %v, %v", row, mean.At(row), rstd.At(row), m, s)
			}
			for i := range n {
				got, want := y.At(row*n+i), (x.At(row*n+i)-m)*s*w.At(i)+b.At(i)
				if !(math.Abs(got-want) <= 2e-3*(1+math.Abs(want))) {
					t.Fatalf("y[%d, %d] = %v, want %v", row, i, got, want)
				}
			}
		}
	})
}
