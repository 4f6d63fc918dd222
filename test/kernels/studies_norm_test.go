package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// normed is a layer norm of random rows with what its two directions must give.
type normed struct {
	rows, cols                  int
	x, w, b, dy, mean, rstd     *array.Array
	y, means, rstds, dx, dw, db []float64
}

func newNormed(r *rand.Rand, rows, cols int, eps float64) *normed {
	l := &normed{
		rows: rows, cols: cols,
		x: kerneltest.Randn(r, "fp16", rows, cols), dy: kerneltest.Randn(r, "fp16", rows, cols),
		w: kerneltest.Randn(r, "fp16", cols), b: kerneltest.Randn(r, "fp16", cols),
		y: make([]float64, rows*cols), dx: make([]float64, rows*cols),
		dw: make([]float64, cols), db: make([]float64, cols),
	}
	x, dy, w, b := l.x.Floats(), l.dy.Floats(), l.w.Floats(), l.b.Floats()
	for row := range rows {
		m, v := 0.0, 0.0
		for i := range cols {
			m += x[row*cols+i] / float64(cols)
		}
		for i := range cols {
			v += (x[row*cols+i] - m) * (x[row*cols+i] - m) / float64(cols)
		}
		s := 1 / math.Sqrt(v+eps)
		l.means, l.rstds = append(l.means, m), append(l.rstds, s)
		c1, c2 := 0.0, 0.0
		for i := range cols {
			hat, g := (x[row*cols+i]-m)*s, dy[row*cols+i]
			l.y[row*cols+i] = hat*w[i] + b[i]
			c1 += hat * g * w[i] / float64(cols)
			c2 += g * w[i] / float64(cols)
			l.dw[i] += g * hat
			l.db[i] += g
		}
		for i := range cols {
			l.dx[row*cols+i] = (dy[row*cols+i]*w[i] - (x[row*cols+i]-m)*s*c1 - c2) * s
		}
	}
	l.mean, l.rstd = array.Of(array.Named("fp32"), l.means...), array.Of(array.Named("fp32"), l.rstds...)
	return l
}

func TestStudyLayerNormWide(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, cols := range []int{1000, 1024, 77} {
		const rows, eps, block = 3, 1e-4, 256
		l := newNormed(r, rows, cols, eps)
		y, mean, rstd := kerneltest.Empty("fp16", rows, cols), kerneltest.Empty("fp32", rows), kerneltest.Empty("fp32", rows)
		examples("layer_norm_wide").Run(t, kerneltest.Grid(rows), l.x, y, l.w, l.b, mean, rstd, cols, cols, eps, block)
		kerneltest.Near(t, "y", y, l.y, 2e-3, 2e-3)
		kerneltest.Near(t, "mean", mean, l.means, 1e-5, 1e-6)
		kerneltest.Near(t, "rstd", rstd, l.rstds, 1e-5, 1e-6)
	}
}

func TestStudyLayerNormBackward(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, size := range [][2]int{{7, 1000}, {16, 512}, {1, 33}} {
		l := newNormed(r, size[0], size[1], 1e-5)
		block := 32
		for block < l.cols {
			block *= 2
		}
		check := func(what string, dx, dw, db *array.Array) {
			t.Helper()
			what = fmt.Sprint(what, size)
			kerneltest.Near(t, what+" dx", dx, l.dx, 4e-3, 4e-3)
			kerneltest.Near(t, what+" dw", dw, l.dw, 1e-4, 1e-4)
			kerneltest.Near(t, what+" db", db, l.db, 1e-4, 1e-4)
		}
		dx, dw, db := kerneltest.Empty("fp16", l.rows, l.cols), kerneltest.Zeros("fp32", l.cols), kerneltest.Zeros("fp32", l.cols)
		study("layer_norm_backward", "layer_norm_backward_row").Run(t, kerneltest.Grid(l.rows),
			dx, l.dy, dw, db, l.x, l.w, l.mean, l.rstd, l.rows, l.cols, block)
		check("row", dx, dw, db)
		for _, rows := range []int{1, 2} {
			dx, dw, db = kerneltest.Empty("fp16", l.rows, l.cols), kerneltest.Zeros("fp32", l.cols), kerneltest.Zeros("fp32", l.cols)
			study("layer_norm_backward", "layer_norm_backward_kernel").Run(t, kerneltest.Grid(3),
				dx, l.dy, dw, db, l.x, l.w, l.mean, l.rstd, l.rows, l.cols, rows, block)
			check(fmt.Sprint(rows, " rows at once"), dx, dw, db)
		}
		dx, dw, db = kerneltest.Empty("fp16", l.rows, l.cols), kerneltest.Empty("fp32", l.cols), kerneltest.Empty("fp32", l.cols)
		study("layer_norm_backward", "input_backward_kernel").Run(t, kerneltest.Grid(2), l.dy, l.x, l.w, l.mean, l.rstd, dx, l.rows, l.cols, 2, 256)
		study("layer_norm_backward", "weight_bias_backward_kernel").Run(t, kerneltest.Grid(3), l.dy, l.x, l.mean, l.rstd, dw, db, l.rows, l.cols, 8, 64)
		check("two kernels", dx, dw, db)
	}
}
