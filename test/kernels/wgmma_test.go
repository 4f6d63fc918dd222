package kernels

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// Loops with dots of warpgroups. Each kernel loads one block of A and one of B for each
// iteration, and differs in what it does with their product.
const warpgroups = `
import triton
import triton.language as tl

@triton.jit
def blocks(a, b, i, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    k = i * BK + tl.arange(0, BK)
    x = tl.load(a + (k // BK)[None, :] * M * BK + tl.arange(0, M)[:, None] * BK + (k % BK)[None, :])
    y = tl.load(b + k[:, None] * N + tl.arange(0, N)[None, :])
    return x, y

@triton.jit
def put(c, acc, M: tl.constexpr, N: tl.constexpr):
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)

@triton.jit
def layers(a, b, d, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, P: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    s = tl.minimum(tl.maximum(tl.dot(x, y), 0), 2).to(a.dtype.element_ty)
    z = tl.load(d + tl.arange(0, N)[:, None] * P + tl.arange(0, P)[None, :])
    put(c, tl.dot(s, z), M, P)

@triton.jit
def sum(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
    put(c, acc, M, N)

@triton.jit
def halves(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float16)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc, out_dtype=tl.float16)
    put(c, acc, M, N)

@triton.jit
def scaled(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc += tl.dot(x, y) * (1 + i % 2)
    put(c, acc, M, N)

@triton.jit
def registers(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x * (1 + i % 2).to(tl.float16), y, acc)
    put(c, acc, M, N)

@triton.jit
def upcast(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x.to(tl.float16) * 0.5, y, acc)
    put(c, acc, M, N)

@triton.jit
def two(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    odd = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
        odd = tl.dot(x * (i % 2).to(tl.float16), y, odd)
    put(c, acc + odd, M, N)

@triton.jit
def chain(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
        z, w = blocks(a, b, i // 2 * 2 + 1, M, N, BK)
        acc = tl.dot(z, w, acc)
    put(c, acc, M, N)

@triton.jit
def invariant(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    x, y = blocks(a, b, 0, M, N, BK)
    for i in range(n):
        _, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
    put(c, acc, M, N)

@triton.jit
def now_and_then(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
        if i % 3 == 2:
            put(c + M * N, acc, M, N)
            acc = tl.zeros((M, N), tl.float32)
    put(c, acc, M, N)

@triton.jit
def peeks(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
        if i % 3 == 1:
            put(c + M * N, acc, M, N)
            if i > 3:
                put(c + 2 * M * N, acc * 2, M, N)
        if i == 2:
            put(c + 3 * M * N, acc, M, N)
    put(c, acc, M, N)

@triton.jit
def attention(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    q, _ = blocks(a, b, 0, M, N, BK)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        s = tl.dot(q, tl.trans(x))
        acc = tl.dot((s * 0.125).to(tl.float16), y, acc * 0.5)
    put(c, acc, M, N)

@triton.jit
def shape(a, b, c, one, N: tl.constexpr, K: tl.constexpr, REGISTERS: tl.constexpr, TURNED: tl.constexpr, SUM: tl.constexpr):
    m = tl.arange(0, 64)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    if REGISTERS:
        x = (x.to(tl.float32) * one).to(a.dtype.element_ty)
    if TURNED:
        y = tl.load(b + n[:, None] * K + k[None, :]).T
    else:
        y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y, out_dtype=SUM))

@triton.jit
def nested(a, b, c, n, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for i in range(n):
        x, y = blocks(a, b, i, M, N, BK)
        acc = tl.dot(x, y, acc)
        for j in range(i):
            z, w = blocks(a, b, j, M, N, BK)
            acc = tl.dot(z, w, acc)
    put(c, acc, M, N)
`

// blockProduct is A of block i times B of block j.
func blockProduct(a, b *array.Array, i, j, m, n, bk int) []float64 {
	x, y := a.Floats()[i*m*bk:(i+1)*m*bk], b.Floats()[j*bk*n:(j+1)*bk*n]
	out := make([]float64, m*n)
	for r := range m {
		for p := range bk {
			for c := range n {
				out[r*n+c] += x[r*bk+p] * y[p*n+c]
			}
		}
	}
	return out
}

// plus is x + f·y.
func plus(x []float64, f float64, y []float64) []float64 {
	out := slices.Clone(x)
	for i := range out {
		out[i] += f * y[i]
	}
	return out
}

// times is f·x.
func times(f float64, x []float64) []float64 { return plus(make([]float64, len(x)), f, x) }

// A warpgroupCase is a kernel of warpgroups and what it computes in steps.
type warpgroupCase struct {
	name string
	// step is what iteration i makes of the sum; at(i, j) is A of block i times B
	// of block j. Nil for attention.
	step func(sum []float64, i int, at func(i, j int) []float64) []float64
	// pending are the numbers of dots that its waits leave in flight with three
	// stages.
	pending string
	atol    float64
}

var warpgroupCases = []warpgroupCase{
	{"sum", func(s []float64, i int, at func(i, j int) []float64) []float64 { return plus(s, 1, at(i, i)) }, "0 1", 1e-3},
	{"halves", func(s []float64, i int, at func(i, j int) []float64) []float64 { return plus(s, 1, at(i, i)) }, "0", 0.3},
	{"scaled", func(s []float64, i int, at func(i, j int) []float64) []float64 {
		return plus(s, float64(1+i%2), at(i, i))
	}, "0", 1e-3},
	{"registers", func(s []float64, i int, at func(i, j int) []float64) []float64 {
		return plus(s, float64(1+i%2), at(i, i))
	}, "0", 1e-3},
	{"upcast", func(s []float64, i int, at func(i, j int) []float64) []float64 { return plus(s, 0.5, at(i, i)) }, "0", 2e-2},
	{"two", func(s []float64, i int, at func(i, j int) []float64) []float64 {
		return plus(s, float64(1+i%2), at(i, i))
	}, "0", 1e-3},
	{"chain", func(s []float64, i int, at func(i, j int) []float64) []float64 {
		return plus(plus(s, 1, at(i, i)), 1, at(i/2*2+1, i/2*2+1))
	}, "0 2", 2e-3},
	{"invariant", func(s []float64, i int, at func(i, j int) []float64) []float64 { return plus(s, 1, at(0, i)) }, "0 1", 1e-3},
	{"nested", func(s []float64, i int, at func(i, j int) []float64) []float64 {
		s = plus(s, 1, at(i, i))
		for j := range i {
			s = plus(s, 1, at(j, j))
		}
		return s
	}, "0 1", 2e-3},
}

var waitGroup = regexp.MustCompile(`wgmma\.wait_group\.sync\.aligned\s+(\d+)`)

// pendings are the numbers of dots that the waits of a kernel leave in flight, in
// order, each once.
func pendings(ptx string) string {
	var list []string
	for _, m := range waitGroup.FindAllStringSubmatch(ptx, -1) {
		if !slices.Contains(list, m[1]) {
			list = append(list, m[1])
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func warpgroupKernel(name string, warps, stages int) kerneltest.Kernel {
	return kerneltest.Kernel{Source: warpgroups, Name: name, Target: "cuda:90"}.With(kerneltest.Options{"num_warps": warps, "num_stages": stages})
}

// TestWarpgroupLoops: what loops make of dots that run on is right, whatever the
// numbers of stages and iterations, and nothing overtakes them (the simulator
// reports who touches registers or memory of a dot in flight).
func TestWarpgroupLoops(t *testing.T) {
	const n, bk = 64, 32
	for _, c := range warpgroupCases {
		for _, warps := range []int{4, 8} {
			for _, stages := range []int{1, 2, 3, 4, 5} {
				if warps == 8 && stages%2 == 0 {
					continue
				}
				for _, trips := range []int{0, 1, 2, 3, 7} {
					t.Run(fmt.Sprintf("%s/warps=%d/stages=%d/trips=%d", c.name, warps, stages, trips), func(t *testing.T) {
						r := kerneltest.Rand(t)
						m, room := 16*warps, trips+2
						a, b := kerneltest.Randn(r, "fp16", room*m, bk), kerneltest.Randn(r, "fp16", room*bk, n)
						typ := "fp32"
						switch c.name {
						case "halves":
							typ = "fp16"
						case "upcast":
							a = kerneltest.Randint(r, -20, 20, "i8", room*m, bk)
						}
						out := kerneltest.Empty(typ, m, n)
						ran := warpgroupKernel(c.name, warps, stages).Run(t, kerneltest.Grid(1), a, b, out, trips, m, n, bk)
						if got := pendings(ran.PTX); stages == 3 && trips > 1 && got != c.pending && ran.HasForm(t, oneBlock) {
							t.Errorf("waits leave %q dots in flight, want %q", got, c.pending)
						}
						want := make([]float64, m*n)
						for i := range trips {
							want = c.step(want, i, func(i, j int) []float64 { return blockProduct(a, b, i, j, m, n, bk) })
						}
						kerneltest.Near(t, "out", out, want, 1e-3, c.atol)
					})
				}
			}
		}
	}
}

// TestWarpgroupConditions: a sum that the loop stores, and clears or keeps, now and then.
func TestWarpgroupConditions(t *testing.T) {
	const n, bk = 64, 64
	for _, stages := range []int{1, 3} {
		for _, trips := range []int{0, 2, 3, 7} {
			t.Run(fmt.Sprintf("kept/stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const m = 64
				a, b := kerneltest.Randn(r, "fp16", (trips+1)*m, bk), kerneltest.Randn(r, "fp16", (trips+1)*bk, n)
				out := kerneltest.Zeros("fp32", 4*m, n)
				warpgroupKernel("peeks", 4, stages).Run(t, kerneltest.Grid(1), a, b, out, trips, m, n, bk)
				sum, want := make([]float64, m*n), make([]float64, 4*m*n)
				for i := range trips {
					sum = plus(sum, 1, blockProduct(a, b, i, i, m, n, bk))
					if i%3 == 1 {
						copy(want[m*n:], sum)
					}
					for j, v := range sum {
						if i%3 == 1 && i > 3 {
							want[2*m*n+j] = 2 * v
						}
						if i == 2 {
							want[3*m*n+j] = v
						}
					}
				}
				copy(want, sum)
				kerneltest.Near(t, "out", out, want, 1e-3, 1e-3)
			})
		}
	}
	for _, stages := range []int{1, 2, 3, 4} {
		for _, trips := range []int{0, 1, 2, 3, 4, 7} {
			t.Run(fmt.Sprintf("stages=%d/trips=%d", stages, trips), func(t *testing.T) {
				r := kerneltest.Rand(t)
				const m = 64
				a, b := kerneltest.Randn(r, "fp16", (trips+1)*m, bk), kerneltest.Randn(r, "fp16", (trips+1)*bk, n)
				out := kerneltest.Zeros("fp32", 2*m, n)
				warpgroupKernel("now_and_then", 4, stages).Run(t, kerneltest.Grid(1), a, b, out, trips, m, n, bk)
				sum, last := make([]float64, m*n), make([]float64, m*n)
				for i := range trips {
					if sum = plus(sum, 1, blockProduct(a, b, i, i, m, n, bk)); i%3 == 2 {
						sum, last = make([]float64, m*n), sum
					}
				}
				kerneltest.Near(t, "out", out, append(sum, last...), 1e-3, 1e-3)
			})
		}
	}
}

// TestWarpgroupAttention: the first dot is waited for, the second one, which reads
// registers, in the next iteration.
func TestWarpgroupAttention(t *testing.T) {
	for _, size := range [][3]int{{64, 64, 4}, {128, 64, 8}, {128, 32, 4}} {
		for _, stages := range []int{1, 2, 3, 4} {
			for _, trips := range []int{0, 1, 2, 5} {
				m, n, warps := size[0], size[1], size[2]
				t.Run(fmt.Sprintf("%dx%d/warps=%d/stages=%d/trips=%d", m, n, warps, stages, trips), func(t *testing.T) {
					r := kerneltest.Rand(t)
					bk := m // x is a block of M×BK, of which the product with q is M×M
					a, b := kerneltest.Randn(r, "fp16", (trips+1)*m, bk), kerneltest.Randn(r, "fp16", (trips+1)*bk, n)
					out := kerneltest.Empty("fp32", m, n)
					warpgroupKernel("attention", warps, stages).Run(t, kerneltest.Grid(1), a, b, out, trips, m, n, bk)
					x := a.Floats()
					want := make([]float64, m*n)
					for i := range trips {
						p := kerneltest.Zeros("fp16", m, m)
						for r := range m {
							for j := range m {
								s := 0.0
								for e := range bk {
									s += x[r*bk+e] * x[(i*m+j)*bk+e]
								}
								p.Set(r*m+j, s*0.125)
							}
						}
						rows := array.Array{Type: b.Type, Shape: []int{bk, n}, Data: b.Data[i*bk*n*2 : (i+1)*bk*n*2]}
						want = plus(times(0.5, want), 1, product(p, &rows, m, n, m))
					}
					kerneltest.Near(t, "out", out, want, 2e-2, 0.05*math.Sqrt(float64(m)))
				})
			}
		}
	}
}

// TestWarpgroupMatmul: whole products of odd sizes, every type of operands.
func TestWarpgroupMatmul(t *testing.T) {
	for _, c := range []struct {
		typ, out string
		bk       int
		atol     float64
	}{
		{"fp16", "fp32", 64, 1e-3}, {"bf16", "fp32", 32, 1e-3}, {"fp32", "fp32", 32, 0.1}, {"fp8e4nv", "fp32", 64, 0.3}, {"fp8e5", "fp32", 128, 0.3},
	} {
		for _, warps := range []int{4, 8} {
			for _, stages := range []int{1, 2, 3, 4, 5} {
				t.Run(fmt.Sprintf("%s/warps=%d/stages=%d", c.typ, warps, stages), func(t *testing.T) {
					r := kerneltest.Rand(t)
					m, n, k := 70+r.IntN(90), 16*(1+r.IntN(9)), 16*r.IntN(20)
					const bm, bn = 128, 64
					a, b, out := kerneltest.Randn(r, c.typ, m, max(k, 1)), kerneltest.Randn(r, c.typ, n, max(k, 1)), kerneltest.Empty(c.out, m, n)
					kernels("matmul").On("cuda:90").With(kerneltest.Options{"num_warps": warps, "num_stages": stages}).
						Run(t, kerneltest.Grid(cdiv(m, bm)*cdiv(n, bn)), a, b, out, m, n, k, max(k, 1), 1, 1, max(k, 1), n, 1, bm, bn, c.bk, 4)
					kerneltest.Near(t, "c", out, product(a, transposed(b, c.typ, n, max(k, 1)), m, n, k), 1e-3, c.atol)
				})
			}
		}
	}
}

// TestWarpgroupShapes: every shape and type of the instruction that tiles of powers
// of two give, with A in shared memory and in registers, and B either way round. What
// is added up is small and whole, and so exact.
func TestWarpgroupShapes(t *testing.T) {
	for _, c := range []struct {
		a, b, sum string
	}{
		{"fp16", "fp16", "float32"},
		{"fp16", "fp16", "float16"},
		{"bf16", "bf16", "float32"},
		{"fp32", "fp32", "float32"},
		{"i8", "i8", "int32"},
		{"fp8e4nv", "fp8e4nv", "float32"},
		{"fp8e4nv", "fp8e5", "float32"},
		{"fp8e5", "fp8e4nv", "float32"},
		{"fp8e5", "fp8e5", "float32"},
	} {
		for _, n := range []int{16, 32, 64, 128, 256} {
			for _, registers := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%s/n=%d/registers=%v", c.a, c.b, c.sum, n, registers), func(t *testing.T) {
					r := kerneltest.Rand(t)
					const m, k = 64, 32
					a, b := kerneltest.Randint(r, -2, 2, c.a, m, k), kerneltest.Randint(r, -2, 2, c.b, k, n)
					out := kerneltest.Empty(map[string]string{"float32": "fp32", "float16": "fp16", "int32": "i32"}[c.sum], m, n)
					want := product(a, b, m, n, k)
					turned := r.IntN(2) == 0
					if turned {
						b = transposed(b, c.b, k, n)
					}
					ran := kerneltest.Kernel{Source: warpgroups, Name: "shape"}.On("cuda:90").Warps(4).
						Run(t, kerneltest.Grid(1), a, b, out, float32(1), n, k, registers, turned, kerneltest.Expr("tl."+c.sum))
					instr := n
					if c.a == "i8" {
						instr = min(n, 128) // integers have no 256
					}
					if !strings.Contains(ran.PTX, fmt.Sprintf("m64n%dk", instr)) && ran.HasForm(t, oneBlock) {
						t.Errorf("no dot of warpgroups of n %d", n)
					}
					kerneltest.Near(t, "c", out, want, 0, 0)
				})
			}
		}
	}
}

// TestWarpgroupLayers: two dots one after another, the first of which is A of the second,
// in registers. B of the second lies where A of the first lay.
func TestWarpgroupLayers(t *testing.T) {
	for _, c := range []struct {
		typ                 string
		m, n, k, out, warps int
	}{
		{"fp16", 64, 64, 64, 64, 4},
		{"fp16", 128, 64, 64, 64, 4},
		{"fp16", 128, 64, 64, 64, 8},
		{"fp16", 64, 32, 32, 32, 4},
		{"fp16", 64, 128, 128, 128, 4},
		{"bf16", 64, 64, 64, 64, 4},
		{"bf16", 64, 128, 64, 32, 4},
		{"fp32", 64, 32, 32, 32, 4},
		{"fp8e5", 64, 128, 128, 128, 4},
	} {
		t.Run(fmt.Sprintf("%s/%dx%dx%dx%d/warps=%d", c.typ, c.m, c.n, c.k, c.out, c.warps), func(t *testing.T) {
			r := kerneltest.Rand(t)
			x, y, z := kerneltest.Randint(r, -1, 2, c.typ, c.m, c.k), kerneltest.Randint(r, -1, 2, c.typ, c.k, c.n), kerneltest.Randint(r, -2, 3, c.typ, c.n, c.out)
			out := kerneltest.Empty("fp32", c.m, c.out)
			ran := kerneltest.Kernel{Source: warpgroups, Name: "layers"}.On("cuda:90").Warps(c.warps).Run(t, kerneltest.Grid(1), x, y, z, out, c.m, c.n, c.k, c.out)
			if !regexp.MustCompile(`mma_async\S+ \{[^}]*\}, \{`).MatchString(ran.PTX) && ran.HasForm(t, oneBlock) {
				t.Error("no dot has A in registers")
			}
			s := product(x, y, c.m, c.n, c.k)
			hidden := kerneltest.Zeros("fp64", c.m, c.n)
			for i, v := range s {
				hidden.Set(i, min(max(v, 0), 2)) // a number of every type
			}
			kerneltest.Near(t, "c", out, product(hidden, z, c.m, c.out, c.n), 0, 0)
		})
	}
}

// TestWarpgroupTurnedCopies: operands of which K is not contiguous in global memory
// but in shared memory, as wgmma wants tf32, are copied element by element, whatever a
// thread's elements are.
func TestWarpgroupTurnedCopies(t *testing.T) {
	for _, c := range []struct {
		typ                       string
		bm, bn, bk, warps, stages int
	}{
		{"fp32", 128, 128, 32, 4, 4},
		{"fp32", 128, 256, 32, 8, 3},
		{"fp32", 256, 128, 32, 8, 3},
		{"fp32", 64, 64, 16, 4, 3},
		{"fp32", 128, 128, 32, 4, 1},
		{"fp8e4nv", 64, 128, 64, 4, 3},
	} {
		t.Run(fmt.Sprintf("%s/%dx%dx%d/warps=%d/stages=%d", c.typ, c.bm, c.bn, c.bk, c.warps, c.stages), func(t *testing.T) {
			r := kerneltest.Rand(t)
			m, n, k := c.bm+16, c.bn-16, 5*c.bk-16
			a, b := kerneltest.Randint(r, -9, 9, c.typ, m, k), kerneltest.Randint(r, -9, 9, c.typ, k, n)
			out := kerneltest.Empty("fp32", m, n)
			grid := kerneltest.Grid(cdiv(m, c.bm) * cdiv(n, c.bn))
			kernels("matmul").On("cuda:90").With(kerneltest.Options{"num_warps": c.warps, "num_stages": c.stages}).
				Run(t, grid, a, b, out, m, n, k, k, 1, n, 1, n, 1, c.bm, c.bn, c.bk, 4)
			kerneltest.Near(t, "c", out, product(a, b, m, n, k), 1e-2, 0)
		})
	}
}
