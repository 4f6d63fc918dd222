package kernels

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// rowLoops load several rows in each iteration and use them at once.
const rowLoops = `import triton
import triton.language as tl


@triton.jit
def largest(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    best = tl.full([BM, BN], float("-inf"), tl.float32)
    for at in range(0, n, BN):
        c = at + tl.arange(0, BN)
        v = tl.load(x + r[:, None] * n + c[None, :], mask=(r < m)[:, None] & (c < n)[None, :], other=float("-inf"))
        best = tl.maximum(best, v)
    tl.store(out + r, tl.max(best, 1), mask=r < m)


@triton.jit
def both(a, b):
    return a + b


@triton.jit
def zeros(x, eq, ne, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    equal = tl.zeros([BM, BN], tl.int32)
    other = tl.zeros([BM, BN], tl.int32)
    for at in range(0, n, BN):
        c = at + tl.arange(0, BN)
        v = tl.load(x + r[:, None] * n + c[None, :], mask=(r < m)[:, None] & (c < n)[None, :], other=7.0)
        equal += v == -0.0
        other += v != 0.0
    tl.store(eq + r, tl.reduce(equal, 1, both), mask=r < m)
    tl.store(ne + r, tl.reduce(other, 1, both), mask=r < m)


@triton.jit
def inside(x, out, d, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros([BM, BN], tl.float32)
    for at in range(0, n, BN):
        c = at + tl.arange(0, BN)
        hit = (r < m)[:, None] & (c < n)[None, :] & ((r[:, None] + c[None, :]) % 3 != 0)
        total += tl.where(hit, tl.load(x + r[:, None] * n + c[None, :], mask=hit, other=1.0) / d, 0.0)
    tl.store(out + r, tl.sum(total, 1), mask=r < m)
`

// TestRowLoops: values are used in another order than that of the registers, and a
// comparison with zero looks at bits.
func TestRowLoops(t *testing.T) {
	for _, target := range []string{"cuda:80", "cuda:90"} {
		for _, s := range []struct{ m, n, bm, bn int }{{4, 1024, 4, 1024}, {3, 1040, 4, 512}, {5, 999, 2, 256}} {
			r := kerneltest.Rand(t)
			x := kerneltest.Randn(r, "fp32", s.m, s.n)
			odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e-45, -1e-40}
			for i := range x.Len() {
				if k := r.IntN(20); k < len(odd) && i%s.n != 0 {
					x.Set(i, odd[k])
				}
			}
			row := func(f func(sum, v float64) float64, from float64) []float64 {
				return each(s.m, func(i int) float64 {
					sum := from
					for j := range s.n {
						sum = f(sum, x.At(i*s.n+j))
					}
					return sum
				})
			}
			count := func(is func(float64) bool, from int) []float64 {
				return row(func(sum, v float64) float64 {
					if is(v) {
						sum++
					}
					return sum
				}, float64(from))
			}
			padding := cdiv(s.n, s.bn)*s.bn - s.n // where the mask is false, v is 7
			forWarps(t, kerneltest.Kernel{Source: rowLoops, Target: target}, func(t *testing.T, k kerneltest.Kernel) {
				g := kerneltest.Grid(cdiv(s.m, s.bm))
				most, eq, ne := kerneltest.Empty("fp32", s.m), kerneltest.Empty("i32", s.m), kerneltest.Empty("i32", s.m)
				k.Name = "largest"
				k.Run(t, g, x, most, s.m, s.n, s.bm, s.bn)
				kerneltest.Equal(t, "largest", most, row(func(sum, v float64) float64 {
					if v > sum {
						return v
					}
					return sum
				}, math.Inf(-1)))
				k.Name = "zeros"
				k.Run(t, g, x, eq, ne, s.m, s.n, s.bm, s.bn)
				kerneltest.Equal(t, "equal", eq, count(func(v float64) bool { return v == 0 }, 0))
				kerneltest.Equal(t, "unequal", ne, count(func(v float64) bool { return v != 0 }, padding))
			})
		}
	}
}

// TestMasksKept: where a load's masks are too many for predicates, they are kept as
// words, by which selects go, too. A divisor of NaN, infinity and zero shows whether
// what is not selected is 0 and nothing else.
func TestMasksKept(t *testing.T) {
	for _, s := range []struct{ m, n, bm, bn int }{{4, 300, 4, 128}, {3, 1025, 4, 1024}, {1, 77, 1, 2048}} {
		for _, d := range []float64{3, 0, math.NaN(), math.Inf(1)} {
			forWarps(t, kerneltest.Kernel{Source: rowLoops, Name: "inside", Target: "cuda:90"}, func(t *testing.T, k kerneltest.Kernel) {
				x, out := kerneltest.Randn(kerneltest.Rand(t), "fp32", s.m, s.n), kerneltest.Empty("fp32", s.m)
				for i := range x.Len() {
					x.Set(i, math.Abs(x.At(i)))
				}
				// Programs of one row select nothing of theirs beyond m.
				k.Run(t, kerneltest.Grid(cdiv(s.m, s.bm)), x, out, d, s.m, s.n, s.bm, s.bn)
				kerneltest.Near(t, "out", out, each(s.m, func(i int) float64 {
					sum := 0.0
					for j := range s.n {
						if (i+j)%3 != 0 {
							sum += x.At(i*s.n+j) / d
						}
					}
					return sum
				}), 1e-4, 1e-5)
			})
		}
	}
}

var (
	loadedWords = regexp.MustCompile(`ld\.global\.v4\.b32 \{ (%r\d+), (%r\d+), (%r\d+), (%r\d+) \}`)
	usesOfMax   = regexp.MustCompile(`max\.f32 +\t?%r\d+, (%r\d+), (%r\d+);`)
)

// TestUsesByTurns: the first operation on what a loop loads visits every access
// before it comes to the second register of any, so that no load waits for another.
func TestUsesByTurns(t *testing.T) {
	const m, n = 4, 1024
	x, out := kerneltest.Randn(kerneltest.Rand(t), "fp32", m, n), kerneltest.Empty("fp32", m)
	run := kerneltest.Kernel{Source: rowLoops, Name: "largest", Target: "cuda:90"}.Warps(4).With(oneBlock).Run(t, kerneltest.Grid(1), x, out, m, n, m, n)
	access := map[string]int{}
	if !run.HasForm(t, oneBlock) {
		return
	}
	loads := loadedWords.FindAllStringSubmatch(run.PTX, -1)
	for i, l := range loads {
		for _, reg := range l[1:] {
			access[reg] = i
		}
	}
	if len(loads) != 8 {
		t.Fatalf("there are %d loads of four words, want 8:\n%s", len(loads), run.PTX)
	}
	body := run.PTX[strings.LastIndex(run.PTX, "ld.global.v4"):]
	seen := 0
	for _, u := range usesOfMax.FindAllStringSubmatch(body, 4*len(loads)) {
		for _, reg := range u[1:] {
			if i, ok := access[reg]; ok {
				if i != seen%len(loads) {
					t.Fatalf("use %d is of load %d, want %d:\n%s", seen, i, seen%len(loads), body)
				}
				seen++
			}
		}
	}
	if seen != 4*len(loads) {
		t.Errorf("the loop uses %d of %d loaded registers:\n%s", seen, 4*len(loads), body)
	}
}
