package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const pipelined = `
import triton
import triton.language as tl

@triton.jit
def gather_sum(index, x, out, n, B: tl.constexpr, S: tl.constexpr):
    o = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for i in tl.range(0, n, num_stages=S):
        k = tl.load(index + i * B + o)
        acc += tl.load(x + k)
    tl.store(out + o, acc)

@triton.jit
def masked(x, out, total, n, m, B: tl.constexpr, S: tl.constexpr):
    o = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for i in tl.range(0, n, num_stages=S):
        v = tl.load(x + i * B + o, mask=o < m - i, other=7.0)
        if i % 2 == 0:
            acc += v
        tl.store(out + i * B + o, 2 * v)
    tl.store(total + o, acc)

@triton.jit
def matmul_nt(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, M)
    rn = tl.arange(0, N)
    rk = tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + rn[:, None] * K + (k + rk)[None, :])
        acc = tl.dot(x, tl.trans(y), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)

@triton.jit
def two_dots(a, b, c, d, K, M: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, M)
    rk = tl.arange(0, BK)
    p = tl.zeros((M, M), tl.float32)
    q = tl.zeros((M, M), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * M + rm[None, :])
        p = tl.dot(x, y, p)
        q = tl.dot(x * 2, y, q)
    tl.store(c + rm[:, None] * M + rm[None, :], p)
    tl.store(d + rm[:, None] * M + rm[None, :], q)

@triton.jit
def persistent(a, b, c, tiles, K, M: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, M)
    rk = tl.arange(0, BK)
    for tile in tl.range(0, tiles, flatten=True):
        acc = tl.zeros((M, M), tl.float32)
        for k in range(0, K, BK):
            x = tl.load(a + (tile * M + rm)[:, None] * K + (k + rk)[None, :])
            y = tl.load(b + (k + rk)[:, None] * M + rm[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + (tile * M + rm)[:, None] * M + rm[None, :], acc)

@triton.jit
def triangle(a, b, c, tiles, low, M: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, M)
    rk = tl.arange(0, BK)
    for tile in tl.range(0, tiles, flatten=True):
        start = low + tile * BK
        stop = start + (tile * tile + 1) * BK
        tl.assume(stop > start)
        acc = tl.zeros((M, M), tl.float32)
        for k in tl.range(start, stop, BK):
            x = tl.load(a + rm[:, None] * 512 + (k + rk)[None, :])
            y = tl.load(b + (k + rk)[:, None] * M + rm[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + (tile * M + rm)[:, None] * M + rm[None, :], acc + start)

@triton.jit
def batched(a, b, c, K, Z: tl.constexpr, M: tl.constexpr, BK: tl.constexpr):
    rz = tl.arange(0, Z)
    rm = tl.arange(0, M)
    rk = tl.arange(0, BK)
    acc = tl.zeros((Z, M, M), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rz[:, None, None] * M * K + rm[None, :, None] * K + (k + rk)[None, None, :])
        y = tl.load(b + rz[:, None, None] * K * M + (k + rk)[None, :, None] * M + rm[None, None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rz[:, None, None] * M * M + rm[None, :, None] * M + rm[None, None, :], acc)

@triton.jit
def in_place(x, n, B: tl.constexpr, S: tl.constexpr):
    o = tl.arange(0, B)
    for i in tl.range(1, n, num_stages=S):
        tl.store(x + i * B + o, 2 * tl.load(x + (i - 1) * B + o) + 1)

@triton.jit
def settles(index, x, out, n, B: tl.constexpr, S: tl.constexpr):
    o = tl.arange(0, B)
    k = tl.load(index + o)
    later = tl.load(index + B + o)
    acc = tl.zeros((B,), tl.float32)
    for i in tl.range(0, n, num_stages=S):
        acc += tl.load(x + k + i)
        k = later
    tl.store(out + o, acc)
    tl.store(out + B + o, k.to(tl.float32))

@triton.jit
def chase(x, next, out, n, B: tl.constexpr, S: tl.constexpr):
    o = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for i in tl.range(0, n, num_stages=S):
        row = tl.load(next)
        v = tl.load(x + row * B + o)
        acc += v
        tl.store(next, row + 2)
    tl.store(out + o, acc)
`

func pipelines(name string) kerneltest.Kernel {
	return kerneltest.Kernel{Source: pipelined, Name: name}
}

// copiesAhead checks whether the kernel copies asynchronously.
func copiesAhead(t *testing.T, ran *kerneltest.Outcome, want bool) {
	t.Helper()
	if got := strings.Contains(ran.PTX, "cp.async.c"); got != want && ran.HasForm(t, oneBlock) {
		t.Errorf("asynchronous copies: %v, want %v", got, want)
	}
}

// tripCounts are numbers of iterations below, at and above the stages of a pipeline.
var tripCounts = []int{0, 1, 2, 3, 5}

func TestPipelinedGather(t *testing.T) {
	for _, stages := range []int{1, 2, 3, 5} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const b = 256
				x, out := kerneltest.Randn(r, "fp32", 1000), kerneltest.Empty("fp32", b)
				index := kerneltest.Zeros("i32", max(trips, 1)*b)
				for i := range trips * b {
					index.Set(i, float64(r.IntN(1000)))
				}
				ran := pipelines("gather_sum").Run(t, kerneltest.Grid(1), index, x, out, trips, b, stages)
				copiesAhead(t, ran, stages > 1 && trips != 1) // of a single iteration no loop is left
				kerneltest.Near(t, "out", out, each(b, func(i int) float64 {
					sum := 0.0
					for k := range trips {
						sum += x.At(int(index.At(k*b + i)))
					}
					return sum
				}), 1e-5, 1e-5)
			})
		}
	}
}

func TestPipelinedMask(t *testing.T) {
	for _, stages := range []int{2, 3, 4} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const b, m = 256, 200
				x, out, total := kerneltest.Randn(r, "fp32", max(trips, 1)*b), kerneltest.Zeros("fp32", max(trips, 1)*b), kerneltest.Empty("fp32", b)
				ran := pipelines("masked").Run(t, kerneltest.Grid(1), x, out, total, trips, m, b, stages)
				copiesAhead(t, ran, trips != 1)
				at := func(iter, i int) float64 {
					if i < m-iter {
						return x.At(iter*b + i)
					}
					return 7
				}
				kerneltest.Near(t, "out", out, each(max(trips, 1)*b, func(i int) float64 {
					if trips == 0 {
						return 0
					}
					return 2 * at(i/b, i%b)
				}), 1e-6, 1e-6)
				kerneltest.Near(t, "total", total, each(b, func(i int) float64 {
					sum := 0.0
					for k := 0; k < trips; k += 2 {
						sum += at(k, i)
					}
					return sum
				}), 1e-5, 1e-5)
			})
		}
	}
}

// transposed is a of m×n as n×m.
func transposed(a *array.Array, typ string, m, n int) *array.Array {
	out := kerneltest.Zeros(typ, n, m)
	for i := range m {
		for j := range n {
			out.Set(j*m+i, a.At(i*n+j))
		}
	}
	return out
}

func TestPipelinedDots(t *testing.T) {
	for _, stages := range []int{1, 2, 3, 4} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const m, bk = 32, 32
				k := trips * bk
				room := max(k, 1)
				o := kerneltest.Options{"num_stages": stages}
				a, b := kerneltest.Randn(r, "fp16", m, room), kerneltest.Randn(r, "fp16", m, room)
				c, d := kerneltest.Empty("fp32", m, m), kerneltest.Empty("fp32", m, m)
				copiesAhead(t, pipelines("matmul_nt").With(o).Run(t, kerneltest.Grid(1), a, b, c, k, m, m, bk), stages > 1)
				bt := transposed(b, "fp16", m, room)
				want := product(a, bt, m, m, k)
				kerneltest.Near(t, "a·bᵀ", c, want, 1e-4, 1e-3)
				copiesAhead(t, pipelines("two_dots").With(o).Run(t, kerneltest.Grid(1), a, bt, c, d, k, m, bk), stages > 1)
				kerneltest.Near(t, "a·b", c, want, 1e-4, 1e-3)
				for i := range want {
					want[i] *= 2
				}
				kerneltest.Near(t, "2a·b", d, want, 1e-4, 2e-3)
			})
		}
	}
}

func TestFusedLoops(t *testing.T) {
	for _, tiles := range []int{0, 1, 3} {
		for _, trips := range []int{0, 1, 2, 4} {
			t.Run(fmt.Sprintf("tiles=%d/trips=%d", tiles, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const m, bk = 32, 32
				k := trips * bk
				a, b, c := kerneltest.Randn(r, "fp16", max(tiles, 1)*m, max(k, 1)), kerneltest.Randn(r, "fp16", max(k, 1), m), kerneltest.Zeros("fp32", max(tiles, 1)*m, m)
				copiesAhead(t, pipelines("persistent").Run(t, kerneltest.Grid(1), a, b, c, tiles, k, m, bk), true)
				want := make([]float64, max(tiles, 1)*m*m)
				if tiles > 0 {
					want = product(a, b, tiles*m, m, k)
				}
				kerneltest.Near(t, "c", c, want, 1e-4, 1e-3)
			})
		}
	}
}

// The bounds of the inner loop change with the tile: 1, 2, 5 and 10 iterations.
func TestFusedTriangle(t *testing.T) {
	for _, tiles := range []int{0, 1, 2, 4} {
		for _, stages := range []int{1, 3} {
			t.Run(fmt.Sprintf("tiles=%d/stages=%d", tiles, stages), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const m, bk, row = 32, 32, 512
				low := r.IntN(64)
				a, b := kerneltest.Randn(r, "fp16", m, row), kerneltest.Randn(r, "fp16", row, m)
				c := kerneltest.Zeros("fp32", max(tiles, 1)*m, m)
				k := pipelines("triangle").With(kerneltest.Options{"num_stages": stages})
				loops := tiles != 1 || low != 1 // both constant, the loops run once: none is left
				copiesAhead(t, k.Run(t, kerneltest.Grid(1), a, b, c, tiles, low, m, bk), stages > 1 && loops)
				kerneltest.Near(t, "c", c, each(max(tiles, 1)*m*m, func(i int) float64 {
					if tiles == 0 {
						return 0
					}
					tile := i / (m * m)
					start := low + tile*bk
					sum := float64(start)
					for p := range (tile*tile + 1) * bk {
						sum += a.At(i/m%m*row+start+p) * b.At((start+p)*m+i%m)
					}
					return sum
				}), 1e-4, 1e-3)
			})
		}
	}
}

func TestPipelinedBatches(t *testing.T) {
	for _, warps := range []int{1, 4, 8} {
		t.Run(fmt.Sprintf("warps=%d", warps), func(t *testing.T) {
			r := kerneltest.Rand(t)
			const z, m, k, bk = 4, 16, 64, 16
			a, b, c := kerneltest.Randn(r, "fp16", z, m, k), kerneltest.Randn(r, "fp16", z, k, m), kerneltest.Empty("fp32", z, m, m)
			copiesAhead(t, pipelines("batched").Warps(warps).Run(t, kerneltest.Grid(1), a, b, c, k, z, m, bk), true)
			kerneltest.Near(t, "c", c, each(z*m*m, func(i int) float64 {
				sum := 0.0
				for p := range k {
					sum += a.At(i/m*k+p) * b.At(i/(m*m)*k*m+p*m+i%m)
				}
				return sum
			}), 1e-4, 1e-3)
		})
	}
}

// A value that all iterations but the first have from outside of the loop: what is begun
// before the loop and what runs ahead in it belong to later iterations.
func TestPipelinedSettles(t *testing.T) {
	for _, stages := range []int{1, 2, 3, 5} {
		for _, trips := range tripCounts {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const b = 128
				x, out := kerneltest.Randn(r, "fp32", 1000+trips), kerneltest.Empty("fp32", 2*b)
				index := kerneltest.Randint(r, 0, 1000, "i32", 2*b)
				ran := pipelines("settles").Run(t, kerneltest.Grid(1), index, x, out, trips, b, stages)
				copiesAhead(t, ran, stages > 1 && trips != 1)
				kerneltest.Near(t, "out", out, each(2*b, func(i int) float64 {
					if i >= b {
						return index.At(i - b + b*min(trips, 1))
					}
					sum := 0.0
					for k := range trips {
						sum += x.At(int(index.At(i+b*min(k, 1))) + k)
					}
					return sum
				}), 1e-5, 1e-5)
			})
		}
	}
}

// Where the address of a load comes from memory that the loop writes, no iteration
// begins before the one before has written. (One warp of one block: others would not wait.
// One lane stores the number, and the others load it.)
func TestPointerChase(t *testing.T) {
	k := pipelines("chase").Warps(1).With(oneBlock)
	r := kerneltest.Rand(t)
	const b, n = 128, 5
	x, next, out := kerneltest.Randn(r, "fp32", 2*n*b), kerneltest.Zeros("i32", 1), kerneltest.Empty("fp32", b)
	copiesAhead(t, k.Run(t, kerneltest.Grid(1), x, next, out, n, b, 3), false)
	kerneltest.Near(t, "out", out, each(b, func(i int) float64 {
		sum := 0.0
		for k := range n {
			sum += x.At(2*k*b + i)
		}
		return sum
	}), 1e-5, 1e-5)
}

// A loop that reads what it wrote an iteration before must not read ahead.
func TestInPlaceLoop(t *testing.T) {
	r := kerneltest.Rand(t)
	const b, n = 128, 6
	x := kerneltest.Randn(r, "fp32", n*b)
	want := make([]float64, n*b)
	for i := range want {
		if want[i] = x.At(i); i >= b {
			want[i] = 2*want[i-b] + 1
		}
	}
	ran := pipelines("in_place").Run(t, kerneltest.Grid(1), x, n, b, 3)
	copiesAhead(t, ran, false)
	kerneltest.Near(t, "x", x, want, 1e-6, 1e-6)
}

// Operands that are read ahead: dots of which the pipeliner finds the buffers by
// a counter, the loop turned so that it carries them.
func TestPrefetchedOperands(t *testing.T) {
	for _, c := range []struct {
		typ       string
		m, n, k   int
		bm, bn    int
		bk, warps int
		atol      float64
	}{
		{"fp16", 64, 64, 256, 64, 64, 64, 4, 1e-4},
		{"fp16", 70, 90, 53, 32, 64, 32, 2, 1e-4},
		{"fp16", 48, 32, 40, 16, 16, 16, 1, 1e-4},
		{"bf16", 64, 130, 320, 64, 128, 64, 8, 1e-4},
		{"fp32", 40, 72, 96, 32, 32, 32, 4, 0.1},
	} {
		for _, stages := range []int{1, 2, 3, 4, 5} {
			t.Run(fmt.Sprintf("%s/%dx%dx%d/stages=%d", c.typ, c.m, c.n, c.k, stages), func(t *testing.T) {
				r := kerneltest.Rand(t)
				a, b, out := kerneltest.Randn(r, c.typ, c.m, c.k), kerneltest.Randn(r, c.typ, c.k, c.n), kerneltest.Empty("fp32", c.m, c.n)
				grid := kerneltest.Grid(cdiv(c.m, c.bm) * cdiv(c.n, c.bn))
				kernels("matmul").With(kerneltest.Options{"num_warps": c.warps, "num_stages": stages, "prefetch_operands": true}).
					Run(t, grid, a, b, out, c.m, c.n, c.k, c.k, 1, c.n, 1, c.n, 1, c.bm, c.bn, c.bk, 4)
				kerneltest.Near(t, "c", out, product(a, b, c.m, c.n, c.k), 1e-4, c.atol)
			})
		}
	}
	for _, trips := range tripCounts {
		t.Run(fmt.Sprintf("trips=%d", trips), func(t *testing.T) {
			r := kerneltest.Rand(t)
			const m, bk = 32, 32
			k := trips * bk
			a, b, out := kerneltest.Randn(r, "fp16", m, max(k, 1)), kerneltest.Randn(r, "fp16", max(k, 1), m), kerneltest.Empty("fp32", m, m)
			args := []any{a, b, out, m, m, k, max(k, 1), 1, m, 1, m, 1, m, m, bk, 1}
			plain := kernels("matmul").Run(t, kerneltest.Grid(1), args...)
			ahead := kernels("matmul").With(kerneltest.Options{"prefetch_operands": true}).Run(t, kerneltest.Grid(1), args...)
			if trips > 0 && plain.PTX == ahead.PTX && ahead.HasForm(t, oneBlock) { // without an iteration A has no width, and nothing is copied
				t.Error("nothing is read ahead")
			}
			kerneltest.Near(t, "c", out, product(a, b, m, m, k), 1e-4, 1e-4)
		})
	}
}
