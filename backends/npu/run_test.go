package npu

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/internal/testseed"
)

// kernelDir holds the reference kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// reference compiles a reference kernel.
func reference(t *testing.T, kernel, signature string) []byte {
	t.Helper()
	return referenceIn(t, "kernels.py", kernel, signature)
}

// referenceIn compiles a kernel of a file of the reference kernels.
func referenceIn(t *testing.T, file, kernel, signature string) []byte {
	t.Helper()
	path := filepath.Join(kernelDir, file)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := compile(t, path, src, kernel, signature, nil)
	if err != nil {
		t.Fatal(err)
	}
	return artifact
}

// random makes an array of numbers between -1 and 1, rounded to the element type.
func random(t *testing.T, r *rand.Rand, elem string, n int) *array {
	t.Helper()
	a := &array{elem: elem, data: make([]float64, n)}
	for i := range a.data {
		a.data[i] = 2*r.Float64() - 1
		if f, ok := a.typ().(*ir.FloatType); ok {
			a.data[i] = ir.BitsToFloat(f.Kind, ir.FloatToBits(f.Kind, a.data[i]))
		}
	}
	return a
}

// blank is an array for results, of a value that no kernel computes.
func blank(elem string, n int) *array {
	a := &array{elem: elem, data: make([]float64, n), out: true}
	for i := range a.data {
		a.data[i] = untouched
	}
	return a
}

const untouched = -777

// newRand is a generator with the test's seed.
func newRand(t *testing.T) *rand.Rand {
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// near compares results with what they should be.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	bad := 0
	for i := range want {
		if math.IsInf(want[i], 0) && got[i] == want[i] {
			continue // the difference is not a number
		}
		if math.IsNaN(want[i]) && math.IsNaN(got[i]) {
			continue
		}
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance*(1+math.Abs(want[i]))) {
			if bad++; bad <= 3 {
				t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
			}
		}
	}
	if bad > 3 {
		t.Errorf("%s: %d of %d are wrong", what, bad, len(want))
	}
}

func i32(n int) string { return strconv.Itoa(n) + " : i32" }

func TestVectorAdd(t *testing.T) {
	r := newRand(t)
	artifact := reference(t, "vector_add", "*fp32, *fp32, *fp32, i32, BLOCK=64")
	n := 130 + r.IntN(60) // of three blocks, the last in part
	x, y, out := random(t, r, "f32", n), random(t, r, "f32", n), blank("f32", 256)
	run(t, "vector_add", artifact, [3]int{4, 1, 1}, x, y, out, i32(n))
	want := make([]float64, 256)
	for i := range want {
		want[i] = untouched
		if i < n {
			want[i] = float64(float32(x.data[i]) + float32(y.data[i]))
		}
	}
	near(t, "out", out.data, want, 0)
}

func TestSoftmax(t *testing.T) {
	r := newRand(t)
	artifact := reference(t, "row_softmax", "*fp32, *fp32, i32, i32, i32, BLOCK=64")
	rows, cols, stride := 5, 33+r.IntN(31), 67
	in, out := random(t, r, "f32", rows*stride), blank("f32", rows*stride)
	run(t, "row_softmax", artifact, [3]int{rows, 1, 1}, out, in, i32(stride), i32(stride), i32(cols))
	want := make([]float64, rows*stride)
	for i := range rows {
		sum := 0.0
		for k := range cols {
			sum += math.Exp(in.data[i*stride+k])
		}
		for k := range stride {
			want[i*stride+k] = untouched
			if k < cols {
				want[i*stride+k] = math.Exp(in.data[i*stride+k]) / sum
			}
		}
	}
	near(t, "out", out.data, want, 1e-5)
}

func TestLayerNorm(t *testing.T) {
	r := newRand(t)
	artifact := reference(t, "layer_norm_fwd", "*fp16, *fp16, *fp16, *fp16, *fp32, *fp32, i32, i32, fp32, BLOCK=128")
	rows, cols := 3, 65+r.IntN(63)
	x, w, b := random(t, r, "f16", rows*cols), random(t, r, "f16", cols), random(t, r, "f16", cols)
	y, mean, rstd := blank("f16", rows*cols), blank("f32", rows), blank("f32", rows)
	run(t, "layer_norm_fwd", artifact, [3]int{rows, 1, 1}, x, y, w, b, mean, rstd, i32(cols), i32(cols), "1.000000e-05 : f32")
	for i := range rows {
		row := x.data[i*cols : (i+1)*cols]
		sum, squares := 0.0, 0.0
		for _, v := range row {
			sum += v
		}
		m := sum / float64(cols)
		for _, v := range row {
			squares += (v - m) * (v - m)
		}
		s := 1 / math.Sqrt(squares/float64(cols)+1e-5)
		want := make([]float64, cols)
		for k, v := range row {
			want[k] = (v-m)*s*w.data[k] + b.data[k]
		}
		near(t, "mean", mean.data[i:i+1], []float64{m}, 1e-5)
		near(t, "rstd", rstd.data[i:i+1], []float64{s}, 1e-5)
		near(t, "y", y.data[i*cols:(i+1)*cols], want, 2e-3)
	}
}

func TestMatmul(t *testing.T) {
	r := newRand(t)
	for _, elem := range []struct {
		mlir, triton string
		tolerance    float64
	}{{"f32", "fp32", 1e-5}, {"f16", "fp16", 2e-3}} {
		t.Run(elem.mlir, func(t *testing.T) {
			p := "*" + elem.triton
			artifact := reference(t, "matmul", p+", "+p+", "+p+", i32, i32, i32, i32, 1, i32, 1, i32, 1, BM=16, BN=32, BK=16, GROUP=2")
			if strings.Contains(string(artifact), "memref.load") {
				t.Error("blocks are loaded element by element")
			}
			for _, size := range [][3]int{{17 + r.IntN(15), 33 + r.IntN(31), 17 + r.IntN(31)}, {1 + r.IntN(15), 1 + r.IntN(31), 1 + r.IntN(15)}} {
				m, n, k := size[0], size[1], size[2]
				a, b, c := random(t, r, elem.mlir, m*k), random(t, r, elem.mlir, k*n), blank(elem.mlir, m*n)
				run(t, "matmul", artifact, [3]int{(m + 15) / 16 * ((n + 31) / 32), 1, 1}, a, b, c, i32(m), i32(n), i32(k), i32(k), i32(n), i32(n))
				want := make([]float64, m*n)
				for i := range m {
					for j := range n {
						for l := range k {
							want[i*n+j] += a.data[i*k+l] * b.data[l*n+j]
						}
					}
				}
				near(t, "c", c.data, want, elem.tolerance)
			}
		})
	}
}

func TestFlash(t *testing.T) {
	r := newRand(t)
	const heads, ctx, d = 2, 48, 16
	for _, causal := range []bool{false, true} {
		artifact := reference(t, "flash_fwd", "*fp16, *fp16, *fp16, *fp16, *fp32, fp32, i32, i32, i32, 1, i32, i32, BM=16, BN=16, D=16, CAUSAL="+map[bool]string{false: "False", true: "True"}[causal])
		q, k, v := random(t, r, "f16", heads*ctx*d), random(t, r, "f16", heads*ctx*d), random(t, r, "f16", heads*ctx*d)
		o, l := blank("f16", heads*ctx*d), blank("f32", heads*ctx)
		run(t, "flash_fwd", artifact, [3]int{ctx / 16, heads, 1}, q, k, v, o, l, "2.500000e-01 : f32", i32(heads*ctx*d), i32(ctx*d), i32(d), i32(heads), i32(ctx))
		wantO, wantL := make([]float64, len(o.data)), make([]float64, len(l.data))
		for h := range heads {
			for i := range ctx {
				last := ctx
				if causal {
					last = i + 1
				}
				row := func(a *array, i int) []float64 { return a.data[(h*ctx+i)*d : (h*ctx+i+1)*d] }
				weights, sum := make([]float64, last), 0.0
				for n := range last {
					dot := 0.0
					for x, y := range row(q, i) {
						dot += y * row(k, n)[x]
					}
					weights[n] = math.Exp(dot / 4)
					sum += weights[n]
				}
				wantL[h*ctx+i] = math.Log2(sum)
				for n, w := range weights {
					for x, y := range row(v, n) {
						wantO[(h*ctx+i)*d+x] += w / sum * y
					}
				}
			}
		}
		near(t, "o", o.data, wantO, 3e-3)
		near(t, "l", l.data, wantL, 1e-4)
	}
}

func TestRowMin(t *testing.T) {
	r := newRand(t)
	artifact := reference(t, "row_min_split", "*fp32, *fp32, i32, i32, i32, BM=4, BN=64, SUB=16")
	m, n := 5+r.IntN(7), 100+r.IntN(90)
	stride := n + 3
	x := random(t, r, "f32", m*stride)
	for i := range x.data { // also rows without a negative number
		if i/stride%2 == 0 {
			x.data[i] = math.Abs(x.data[i])
		}
	}
	out := &array{elem: "f32", data: filled(m, math.Inf(1)), out: true}
	run(t, "row_min_split", artifact, [3]int{3, 1, 1}, x, out, i32(m), i32(n), i32(stride))
	want := filled(m, math.Inf(1))
	for i := range m {
		for k := range n {
			want[i] = min(want[i], x.data[i*stride+k])
		}
	}
	near(t, "out", out.data, want, 0)
}

func TestSorts(t *testing.T) {
	r := newRand(t)
	artifact := referenceIn(t, "features.py", "sorts", "*fp32, *fp32, *i32, B=64")
	x, out, bins := integers(r, 64, 64), blank("f32", 136), blank("i32", 64)
	x.elem = "f32"
	run(t, "sorts", artifact, [3]int{1, 1, 1}, x, out, bins)
	sorted, flipped, counts := slices.Clone(x.data), slices.Clone(x.data), make([]float64, 64)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	slices.Reverse(flipped)
	for _, v := range x.data {
		counts[int(v)]++
	}
	near(t, "out", out.data, slices.Concat(sorted, flipped, sorted[:8]), 0)
	near(t, "histogram", bins.data, counts, 0)
}
