package expr

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// matmul multiplies matrices, or batches of them, whose leading dimensions
// broadcast. A single dimension is a row on the left, a column on the
// right, and leaves none in the result.
func (c *evaluator) matmul(a, b any) (any, error) {
	x, err := tensorOf(a)
	if err != nil {
		return nil, err
	}
	y, err := tensorOf(b)
	if err != nil {
		return nil, err
	}
	if len(x.shape) == 0 || len(y.shape) == 0 {
		return nil, &helped{errors.New("a matrix cannot be multiplied by a number so"), "* multiplies by numbers"}
	}
	wrong := fmt.Errorf("shapes %s and %s cannot be multiplied as matrices", shapeText(x.shape), shapeText(y.shape))
	row, column := len(x.shape) == 1, len(y.shape) == 1
	if row {
		x = x.reshaped([]int{1, x.shape[0]})
	}
	if column {
		y = y.reshaped([]int{y.shape[0], 1})
	}
	p, q := len(x.shape)-2, len(y.shape)-2
	m, k, n := x.shape[p], x.shape[p+1], y.shape[q+1]
	if y.shape[q] != k {
		return nil, fmt.Errorf("%w: %d is not %d", wrong, k, y.shape[q])
	}
	batch, err := broadcast(x.shape[:p], y.shape[:q])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", wrong, err)
	}
	if x, err = x.expand(append(slices.Clone(batch), m, k)); err != nil {
		return nil, err
	}
	if y, err = y.expand(append(slices.Clone(batch), k, n)); err != nil {
		return nil, err
	}
	kind := promote(x.kind, y.kind)
	out, err := makeTensor(kind, append(slices.Clone(batch), m, n))
	if err != nil {
		return nil, err
	}
	if kind == floating {
		err = products(c, out.f, x.floats(), y.floats(), m, k, n)
	} else {
		err = products(c, out.i, x.i, y.i, m, k, n)
	}
	shape := out.shape
	if column {
		shape = shape[:len(shape)-1]
	}
	if row {
		shape = slices.Delete(slices.Clone(shape), len(batch), len(batch)+1)
	}
	return out.reshaped(shape), err
}

// Rows of the result that are summed up together, so that the rows of the right matrix
// which they need stay in the cache, and how many of these.
const (
	rowsAtOnce  = 16
	stepsAtOnce = 4
)

// products multiplies matrices that follow one another, on all cores. Each element is
// summed in the order of k.
func products[E int64 | float64](c *evaluator, out, x, y []E, m, k, n int) error {
	if len(out) == 0 || k == 0 {
		return nil
	}
	rows := len(out) / n
	var group sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), rows)
	for w := range workers {
		group.Go(func() {
			end := (w + 1) * rows / workers
			for r := w * rows / workers; r < end && c.ctx.Err() == nil; {
				last := min(r+rowsAtOnce, end, (r/m+1)*m) // of one matrix
				block(out[r*n:last*n], x[r*k:last*k], y[r/m*k*n:(r/m+1)*k*n], k, n)
				r = last
			}
		})
	}
	group.Wait()
	return c.ctx.Err()
}

// block adds some rows of a product.
func block[E int64 | float64](out, x, y []E, k, n int) {
	i := 0
	for ; i+stepsAtOnce <= k; i += stepsAtOnce {
		y0, y1, y2, y3 := y[i*n:(i+1)*n], y[(i+1)*n:(i+2)*n], y[(i+2)*n:(i+3)*n], y[(i+3)*n:(i+4)*n]
		for r := range len(out) / n {
			to, v := out[r*n:(r+1)*n], x[r*k+i:r*k+i+stepsAtOnce]
			v0, v1, v2, v3 := v[0], v[1], v[2], v[3]
			y0, y1, y2, y3 := y0[:len(to)], y1[:len(to)], y2[:len(to)], y3[:len(to)]
			for j, sum := range to {
				to[j] = sum + v0*y0[j] + v1*y1[j] + v2*y2[j] + v3*y3[j]
			}
		}
	}
	for ; i < k; i++ {
		for r := range len(out) / n {
			to, v := out[r*n:(r+1)*n], x[r*k+i]
			for j, u := range y[i*n : (i+1)*n] {
				to[j] += v * u
			}
		}
	}
}
