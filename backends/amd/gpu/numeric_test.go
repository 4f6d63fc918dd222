package gpu_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain has kernels for AMD's targets compiled by the backend, and runs
// the assembly on the simulated devices.
func TestMain(m *testing.M) {
	kerneltest.AddBackend(amd.New(), nil)
	os.Exit(m.Run())
}

// onChips runs a test for chips of each kind.
func onChips(t *testing.T, f func(t *testing.T, chip string)) {
	for _, c := range kerneltest.Chips(t) {
		t.Run(c, func(t *testing.T) { f(t, c) })
	}
}

// kernelOf is a kernel of the name k, whose text lacks what each file begins with.
func kernelOf(chip, source string, o kerneltest.Options) kerneltest.Kernel {
	return kerneltest.Kernel{
		Source: "import triton\nimport triton.language as tl\n\n@triton.jit\n" + source, Name: "k", Target: "hip:" + chip, Options: o,
	}
}

// TestReduceLanes combines all lanes of a warp, and parts of it, by each way to exchange
// values.
func TestReduceLanes(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, columns := range []int{2, 4, 8, 16, 32, 64} {
			const n = 256
			x := kerneltest.Randint(r, -1000, 1000, "i32", n)
			out := kerneltest.Zeros("i32", n/columns)
			want := make([]float64, n/columns)
			for i := range n {
				want[i/columns] += x.At(i)
			}
			kernelOf(chip, `def k(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    v = tl.load(x + i[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + i, tl.sum(v, axis=1))
`, kerneltest.Options{"num_warps": 1}).Run(t, kerneltest.Grid(1), x, out, n/columns, columns)
			kerneltest.Near(t, "sums", out, want, 0, 0)
		}
	})
}

// TestSortLanes compares lanes at every distance.
func TestSortLanes(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		x := kerneltest.Randint(r, -1000, 1000, "i32", 128)
		out := kerneltest.Zeros("i32", 128)
		kernelOf(chip, `def k(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.sort(tl.load(x + i)))
`, kerneltest.Options{"num_warps": 1}).Run(t, kerneltest.Grid(1), x, out, 128)
		kerneltest.Near(t, "sorted", out, slices.Sorted(slices.Values(x.Floats())), 0, 0)
	})
}

// dotKinds are the types of dots, with the relative error of a product.
var dotKinds = []kerneltest.Dot{
	{A: "fp16", B: "fp16", Acc: "float32", Tolerance: 1e-5},
	{A: "fp16", B: "fp16", Acc: "float16", Tolerance: 3e-2},
	{A: "bf16", B: "bf16", Acc: "float32", Tolerance: 1e-5},
	{A: "fp32", B: "fp32", Acc: "float32", Tolerance: 1e-5},
	{A: "fp32", B: "fp32", Acc: "float32", Precision: "tf32", Tolerance: 1e-2},
	{A: "fp64", B: "fp64", Acc: "float64", Tolerance: 1e-12},
	{A: "i8", B: "i8", Acc: "int32"},
	{A: "fp8e4b8", B: "fp8e4b8", Acc: "float32", Tolerance: 1e-5},
	{A: "fp8e5b16", B: "fp8e5b16", Acc: "float32", Tolerance: 1e-5},
	{A: "fp8e4b8", B: "fp8e5b16", Acc: "float32", Tolerance: 1e-5},
	{A: "fp8e4nv", B: "fp8e4nv", Acc: "float32", Tolerance: 1e-5},
	{A: "fp8e5", B: "fp8e4nv", Acc: "float32", Tolerance: 1e-5},
}

type dotShape struct {
	m, n, block, k, warps, kpack int
	isTransposed                 bool
}

// of is a dot of a kind, of this shape.
func (s dotShape) of(d kerneltest.Dot) kerneltest.Dot {
	d.M, d.N, d.Block, d.K, d.IsTransposed = s.m, s.n, s.block, s.k, s.isTransposed
	return d
}

// dotShapes are those of TestDots.
var dotShapes = []dotShape{
	{32, 64, 64, 80, 4, 1, false},
	{16, 32, 64, 40, 1, 1, true},
	{64, 32, 64, 100, 2, 2, true},
}

// TestDots multiplies elements of every type on every chip: by the instructions for them,
// by others after widening, or by multiply-adds; both sizes of instructions, several
// warps, operands transposed on their way, and with the elements of two instructions side
// by side. Each run draws one of the shapes for each type and chip; TRITONC_ALL has all.
func TestDots(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, c := range dotKinds {
			if c.Precision == "tf32" && chip != "gfx942" {
				continue
			}
			drawn := r.IntN(len(dotShapes))
			for i, s := range dotShapes {
				if i != drawn && os.Getenv("TRITONC_ALL") == "" {
					continue
				}
				d := s.of(c)
				t.Run(d.String(), func(t *testing.T) {
					d.Check(t, r, "hip:"+chip, kerneltest.Options{"num_warps": s.warps, "kpack": s.kpack})
				})
			}
		}
	})
}

// TestMultiplyAdds multiplies matrices that are too small for matrix instructions: halves
// and bytes stay as narrow as they are.
func TestMultiplyAdds(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		for _, c := range dotKinds {
			if c.Precision == "tf32" {
				continue
			}
			s := dotShape{2, 32, 16, 40, 1, 1, r.IntN(2) == 0}
			d := s.of(c)
			t.Run(d.String(), func(t *testing.T) {
				d.Check(t, r, "hip:"+chip, kerneltest.Options{"num_warps": s.warps})
			})
		}
	})
}

// TestSmallDots multiplies matrices of few rows or columns on CDNA: by instructions of
// blocks of 4×4, by larger ones of which a part is used, or by multiply-adds. Each run
// draws some of the kernels; TRITONC_ALL has all.
func TestSmallDots(t *testing.T) {
	for _, chip := range []string{"gfx90a", "gfx942", "gfx950"} {
		r := kerneltest.Rand(t)
		for _, c := range dotKinds {
			if c.Precision == "tf32" && chip != "gfx942" || c.A == "fp64" {
				continue
			}
			for _, s := range []dotShape{
				{4, 128, 64, 100, 2, 1, false},
				{8, 64, 64, 70, 1, 1, true},
				{64, 4, 64, 100, 4, 1, false},
				{128, 8, 64, 40, 1, 1, true},
				{2, 64, 32, 40, 2, 1, false},
			} {
				for _, side := range []int{0, 16, 32} {
					if r.IntN(8) > 0 && os.Getenv("TRITONC_ALL") == "" {
						continue
					}
					d := s.of(c)
					t.Run(fmt.Sprintf("%s/%s/%d", chip, d, side), func(t *testing.T) {
						d.Check(t, r, "hip:"+chip, kerneltest.Options{"num_warps": s.warps, "matrix_instr_nonkdim": side})
					})
				}
			}
		}
	}
}

// TestChain multiplies the result of one dot by another matrix, as attention does: the
// accumulator becomes an operand.
func TestChain(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		r := kerneltest.Rand(t)
		const m, n, k = 64, 32, 64
		q, x, v := kerneltest.Randn(r, "fp16", m*k), kerneltest.Randn(r, "fp16", n*k), kerneltest.Randn(r, "fp16", n*k)
		want := make([]float64, m*k)
		half := kerneltest.Zeros("fp16", 1)
		for i := range m {
			for j := range n {
				p := 0.0
				for l := range k {
					p += q.At(i*k+l) * x.At(j*k+l)
				}
				half.Set(0, p/8)
				for l := range k {
					want[i*k+l] += half.At(0) * v.At(j*k+l)
				}
			}
		}
		out := kerneltest.Zeros("fp32", m*k)
		kernelOf(chip, `def k(q, x, v, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    l = tl.arange(0, K)
    a = tl.load(q + i[:, None] * K + l[None, :])
    b = tl.load(x + j[:, None] * K + l[None, :])
    c = tl.load(v + j[:, None] * K + l[None, :])
    p = tl.dot(a, b.T) / 8
    tl.store(out + i[:, None] * K + l[None, :], tl.dot(p.to(tl.float16), c))
`, kerneltest.Options{"num_warps": 4}).Run(t, kerneltest.Grid(1), q, x, v, out, m, n, k)
		kerneltest.Near(t, "product", out, want, 2e-2, 2e-2)
	})
}

// TestPrint prints from several programs, and from an assertion that fails.
func TestPrint(t *testing.T) {
	onChips(t, func(t *testing.T, chip string) {
		k := kernelOf(chip, `def k(x, n):
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    if tl.program_id(0) < 2:
        tl.device_print("half: 100%", v.to(tl.float32) / 2, n)
    tl.device_assert(v > 0, "x: not positive")
`, kerneltest.Options{"num_warps": 1, "debug": true})
		x := kerneltest.Zeros("i32", 32)
		for i := range 32 {
			x.SetInt(i, int64(i)+1)
		}
		got := k.Run(t, kerneltest.Grid(3), x, int64(-1)<<40)
		lines := map[string]bool{}
		for line := range strings.Lines(got.Printed) {
			lines[line] = true
		}
		if len(lines) != 2*(32+1) || !lines["pid (1, 0, 0) idx (31) half: 100%: (operand 0) 16.000000\n"] ||
			!lines["pid (0, 0, 0) idx () half: 100%: (operand 1) -1099511627776\n"] {
			t.Errorf("printed %d different lines:\n%s", len(lines), got.Printed)
		}
		x.SetInt(7, -1)
		_, err := k.TryRun(t, kerneltest.Grid(1), x, int64(-1)<<40)
		if err == nil || !strings.Contains(kerneltest.Text(err), "kernel.py:10: k: Assertion `x: not positive' failed.") {
			t.Errorf("got %v", err)
		}
	})
}

// TestManyMasks has 512 elements in a thread, each under a mask of its own: so many branches
// compute their conditions where they are.
func TestManyMasks(t *testing.T) {
	const rows, cols, step = 512, 64, 3
	r := kerneltest.Rand(t)
	m, n, stride := 2+r.IntN(rows-1), 2+r.IntN(cols-1), step*cols+1
	x, out := kerneltest.Randint(r, -100, 100, "i32", rows*stride), kerneltest.Zeros("i32", rows*stride)
	kernelOf("gfx942", `def k(x, out, m, n, s, t, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    mask = (i < m) & (j < n)
    tl.store(out + i * s + j * t, 3 * tl.load(x + i * s + j * t, mask=mask, other=0), mask=mask)
`, kerneltest.Options{"num_warps": 1, "use_buffer_ops": false}).Run(t, kerneltest.Grid(1), x, out, m, n, stride, step, rows, cols)
	for at := range rows * stride {
		i, j, want := at/stride, at%stride, int64(0)
		if j%step == 0 && i < m && j/step < n {
			want = 3 * x.Int(at)
		}
		if got := out.Int(at); got != want {
			t.Fatalf("%d×%d: element %d is %d, want %d", m, n, at, got, want)
		}
	}
}
