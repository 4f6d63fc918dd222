package npu

import (
	"math"
	"testing"
)

// TestRunning has transfers an iteration early in loops of none to many iterations, with
// addresses that the loop carries and a value that the scalar unit needs.
func TestRunning(t *testing.T) {
	r := newRand(t)
	artifact := own(t, "running", "*fp32, *fp32, i32, fp32, B=16")
	for _, n := range []int{0, 1 + r.IntN(16), 16, 17 + r.IntN(15), 33 + r.IntN(15), 49 + r.IntN(60)} {
		const programs = 3
		x, out := random(t, r, "f32", programs*n+16), blank("f32", programs*n+16)
		run(t, "running", artifact, [3]int{programs, 1, 1}, x, out, i32(n), "5.000000e-01 : f32")
		want := filled(len(out.data), untouched)
		for p := range programs {
			value := 0.0
			for i := 0; i < n; i += 16 {
				value *= 0.5
				last := min(i+16, n)
				for k := i; k < last; k++ {
					value += x.data[p*n+k]
				}
				for k := i; k < last; k++ {
					want[p*n+k] = x.data[p*n+k] - value
				}
			}
		}
		near(t, "out", out.data, want, 1e-5)
	}
}

// TestManyRows has cores with none, one and several programs of the softmax of a row, which
// waits for the row's maximum and sum.
func TestManyRows(t *testing.T) {
	r := newRand(t)
	artifact := reference(t, "row_softmax", "*fp32, *fp32, i32, i32, i32, BLOCK=64")
	rows, cols := 41+r.IntN(160), 33+r.IntN(31)
	in, out := random(t, r, "f32", rows*cols), blank("f32", rows*cols)
	simulate(t, artifact, [3]int{rows, 1, 1}, out, in, i32(cols), i32(cols), i32(cols))
	want := make([]float64, rows*cols)
	for i := range rows {
		sum := 0.0
		for k := range cols {
			sum += math.Exp(in.data[i*cols+k])
		}
		for k := range cols {
			want[i*cols+k] = math.Exp(in.data[i*cols+k]) / sum
		}
	}
	near(t, "out", out.data, want, 1e-5)
}
