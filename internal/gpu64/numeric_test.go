package gpu64

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain has kernels for the target compiled by this backend, and executed.
func TestMain(m *testing.M) {
	p := NewPlatform()
	kerneltest.AddBackend(p, p.Open)
	os.Exit(m.Run())
}

// kernelOf is a kernel of the name k, whose text lacks what each file begins with.
func kernelOf(source string, o options) kerneltest.Kernel {
	return kerneltest.Kernel{
		Source: "import triton\nimport triton.language as tl\n\n@triton.jit\n" + source, Name: "k", Target: target,
		Options: kerneltest.Options{"num_warps": o.NumWarps, "num_stages": max(o.NumStages, 2), "debug": true, "mfma": o.MFMA},
	}
}

func run(t *testing.T, source string, o options, grid [3]int, args ...any) {
	t.Helper()
	kernelOf(source, o).Run(t, grid, args...)
}

func near(t *testing.T, got *array.Array, want []float64, tolerance float64) {
	t.Helper()
	kerneltest.Near(t, "result", got, want, tolerance, tolerance)
}

// of makes an array of a type.
func of(typ string, x []float64) *array.Array { return array.Of(array.Named(typ), x...) }

// random are numbers that f32 holds.
func random(r *rand.Rand, n int) []float64 { return kerneltest.Randn(r, "fp32", n).Floats() }

func TestAdd(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, warps := range []int{1, 2, 8} {
		const n = 1000
		x, y := random(r, n), random(r, n)
		want := make([]float64, n)
		for i := range want {
			want[i] = float64(float32(x[i] + y[i]))
		}
		out := kerneltest.Empty("fp32", n)
		run(t, `def k(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)
`, options{NumWarps: warps}, kerneltest.Grid(4), of("fp32", x), of("fp32", y), out, n, 256)
		near(t, out, want, 0)
	}
}
