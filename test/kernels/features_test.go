package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// features are one kernel for each feature of the language.
func features(name string) kerneltest.Kernel {
	return kerneltest.Kernel{File: "../../core/frontend/testdata/features.py", Name: name, Target: target, Options: options}
}

// each makes the values f(0), f(1), … f(n-1).
func each(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// scaled draws from [lo, hi).
func scaled(r *rand.Rand, lo, hi float64, typ string, shape ...int) *array.Array {
	a := kerneltest.Zeros(typ, shape...)
	for i := range a.Len() {
		a.Set(i, lo+(hi-lo)*r.Float64())
	}
	return a
}

// blocks are sizes below, at and above what a CTA of 4 warps has.
var blocks = []int{16, 64, 128, 512}

func forBlocks(t *testing.T, k kerneltest.Kernel, test func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, block int)) {
	forWarps(t, k, func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, block := range blocks {
			test(t, k, r, block)
		}
	})
}

func TestCasts(t *testing.T) {
	forBlocks(t, features("casts"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x := scaled(r, 0, 127.9, "fp32", n)
		h, b, i8, u8, i64 := kerneltest.Empty("fp16", n), kerneltest.Empty("bf16", n), kerneltest.Empty("i8", n), kerneltest.Empty("u8", n), kerneltest.Empty("i64", n)
		k.Run(t, kerneltest.Grid(1), x, h, b, i8, u8, i64, n)
		kerneltest.Equal(t, "h", h, each(n, func(i int) float64 { return h.Type.Round(x.At(i)) }))
		kerneltest.Equal(t, "b", b, each(n, func(i int) float64 { return b.Type.Round(x.At(i)) }))
		kerneltest.Equal(t, "i8", i8, each(n, func(i int) float64 { return math.Trunc(x.At(i)) }))
		kerneltest.Equal(t, "u8", u8, each(n, func(i int) float64 { return math.Trunc(x.At(i)) }))
		kerneltest.Equal(t, "i64", i64, each(n, func(i int) float64 {
			return math.Trunc(x.At(i)) + float64(int32(math.Float32bits(float32(x.At(i)))))
		}))
	})
}

func TestCastsFP8(t *testing.T) {
	targets := []string{"cuda:89", "cuda:90"}
	if strings.HasPrefix(target, "hip:") || strings.HasPrefix(target, "npu:") {
		targets = []string{target} // of NVIDIA's, cuda:80 has no fp8e4nv
	}
	for _, target := range targets {
		forBlocks(t, features("casts_fp8").On(target), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
			x, h := kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp16", n)
			e4, e5 := kerneltest.Randn(r, "fp8e4nv", 2*n), kerneltest.Randn(r, "fp8e5", 2*n)
			want := each(n, func(i int) float64 { return h.Type.Round(e4.At(n+i) + e5.At(n+i)) })
			k.Run(t, kerneltest.Grid(1), x, h, e4, e5, n)
			kerneltest.Equal(t, "h", h, want)
			for i := range n {
				if g, w := e4.At(i), e4.Type.Round(x.At(i)); g != w {
					t.Errorf("e4[%d] = %v, want %v (of %v)", i, g, w, x.At(i))
				}
				if g, w := e5.At(i), e5.Type.Round(x.At(i)); g != w {
					t.Errorf("e5[%d] = %v, want %v (of %v)", i, g, w, x.At(i))
				}
			}
		})
	}
}

func TestPromotions(t *testing.T) {
	forBlocks(t, features("promotions"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x, is, us, out := kerneltest.Randn(r, "fp32", n), kerneltest.Randint(r, -50, 50, "i32", n), kerneltest.Randint(r, 0, 8, "u32", n), kerneltest.Empty("fp32", n)
		const s, f = 37, 1.25
		k.Run(t, kerneltest.Grid(1), x, is, us, out, s, f, n)
		kerneltest.Near(t, "out", out, each(n, func(j int) float64 {
			x, i, u := x.At(j), is.Int(j), uint32(us.Int(j))
			b := i/3 + i%7 - (-i) // Triton divides tensors as C does
			c := (u >> 2) | (u<<1 ^ u&255)
			g := x/s + f*x - 2
			if i < s && x >= 0.5 || u != 3 {
				g = x + float64(i) + float64(b)
			}
			return g + float64(c) + float64(^i) + 3
		}), 1e-5, 1e-5)
	})
}

func TestControlFlow(t *testing.T) {
	forWarps(t, features("control_flow"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, flag := range []int{0, 1, 3, 4, 7} {
			const b, n, unroll = 64, 150, 3
			x, out := kerneltest.Randn(r, "fp32", 4*b), kerneltest.Empty("fp32", n)
			k.Run(t, kerneltest.Grid(4), x, out, n, flag, b, unroll) // the last program returns early
			kerneltest.Near(t, fmt.Sprintf("flag=%d", flag), out, each(n, func(i int) float64 {
				acc := 0.0 + 1 + 2
				for j := range flag {
					switch {
					case j%2 == 0:
						acc += x.At(i)
					case j%3 == 0:
						acc--
					default:
						acc *= 2
					}
				}
				for j := flag; j > 0; j-- {
					acc += float64(j)
				}
				for j := range flag {
					acc += x.At(i + j)
				}
				if flag > 3 {
					return acc
				}
				return -acc
			}), 1e-5, 1e-5)
		}
	})
}

func TestCalls(t *testing.T) {
	forBlocks(t, features("calls"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x, out := kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(1), x, out, n)
		m, v := 0.0, 0.0
		for i := range n {
			m += x.At(i) / float64(n)
		}
		for i := range n {
			v += (x.At(i) - m) * (x.At(i) - m) / float64(n)
		}
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 { return (x.At(i)-m)/math.Sqrt(v+1e-5) + m*3 + 1 }), 1e-5, 1e-5)
	})
}

func TestReductions(t *testing.T) {
	forWarps(t, features("reductions"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][2]int{{32, 64}, {4, 8}, {64, 16}, {1, 128}, {16, 2}} {
			m, n := size[0], size[1]
			x, o, is := scaled(r, -100, 100, "fp32", m, n), kerneltest.Empty("fp32", m+n+1), kerneltest.Empty("i32", m+n+m)
			k.Run(t, kerneltest.Grid(1), x, o, is, m, n)
			wantO, wantI := make([]float64, m+n+1), make([]float64, m+n+m)
			total, top := 0.0, math.Inf(-1)
			for i := range m {
				sum, hi, lo, at, xor := 0.0, math.Inf(-1), math.Inf(1), 0, int32(0)
				for j := range n {
					v := x.At(i*n + j)
					if v > hi {
						hi, at = v, j
					}
					lo, sum, xor = min(lo, v), sum+v, xor^int32(v)
				}
				wantO[i], wantI[i], wantI[m+n+i] = sum+hi-lo, float64(at), float64(xor)
				total, top = total+sum, max(top, hi)
			}
			for j := range n {
				hi, lo, hiAt, loAt := math.Inf(-1), math.Inf(1), 0, 0
				for i := range m {
					v := x.At(i*n + j)
					if v > hi {
						hi, hiAt = v, i
					}
					if v < lo {
						lo, loAt = v, i
					}
				}
				wantO[m+j], wantI[m+j] = float64(float32(hi)+float32(hiAt)), float64(loAt)
			}
			wantO[m+n] = total + top
			kerneltest.Near(t, fmt.Sprintf("o, %d×%d", m, n), o, wantO, 1e-5, 5e-3)
			kerneltest.Equal(t, fmt.Sprintf("i, %d×%d", m, n), is, wantI)
		}
	})
}

func TestReduceTuple(t *testing.T) {
	forBlocks(t, features("reduce_tuple"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x, out := kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", 1)
		k.Run(t, kerneltest.Grid(1), x, out, n)
		sum := 0.0
		for i := range n {
			sum += math.Exp(x.At(i))
		}
		kerneltest.Near(t, "out", out, []float64{math.Log(sum)}, 1e-5, 1e-6)
	})
}

func TestScans(t *testing.T) {
	forWarps(t, features("scans"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][2]int{{32, 64}, {4, 8}, {16, 16}, {2, 128}, {64, 4}} {
			m, n := size[0], size[1]
			x, out := scaled(r, 0.9, 1.1, "fp32", m, n), kerneltest.Empty("fp32", m, n)
			k.Run(t, kerneltest.Grid(1), x, out, m, n)
			kerneltest.Near(t, fmt.Sprintf("%d×%d", m, n), out, each(m*n, func(at int) float64 {
				i, j := at/n, at%n
				sum, prod, back := 0.0, 1.0, 0.0
				for c := 0; c <= j; c++ {
					sum += x.At(i*n + c)
				}
				for c := 0; c <= i; c++ {
					prod *= x.At(c*n + j)
				}
				for c := i; c < m; c++ {
					back += x.At(c*n + j)
				}
				return sum + prod + back
			}), 1e-5, 1e-5)
		}
	})
}

func TestSorts(t *testing.T) {
	forWarps(t, features("sorts"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, n := range []int{16, 64, 256} {
			if n > blocks[len(blocks)-1] {
				continue
			}
			x, out, hist := scaled(r, 0, 64, "fp32", n), kerneltest.Empty("fp32", 2*n+8), kerneltest.Empty("i32", 64)
			k.Run(t, kerneltest.Grid(1), x, out, hist, n)
			sorted := x.Floats()
			slices.Sort(sorted)
			slices.Reverse(sorted)
			flipped := x.Floats()
			slices.Reverse(flipped)
			kerneltest.Equal(t, "out", out, slices.Concat(sorted, flipped, sorted[:8]))
			count := make([]float64, 64)
			for i := range n {
				count[int(x.At(i))]++
			}
			kerneltest.Equal(t, "histogram", hist, count)
		}
	})
}

// Values that have no bin count in none but the histogram's own.
func TestHistogramWithoutBins(t *testing.T) {
	const source = `
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, z_ptr, N: tl.constexpr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(z_ptr + tl.arange(0, B), tl.histogram(x, B))
`
	r := kerneltest.Rand(t)
	for _, bins := range []int{1, 8, 64} {
		const n = 256
		x, z := kerneltest.Randint(r, -1<<30, 1<<30, "i32", n), kerneltest.Empty("i32", bins)
		kerneltest.Kernel{Source: source, Name: "k"}.Run(t, kerneltest.Grid(1), x, z, n, bins)
		want := make([]float64, bins)
		for i := range n {
			want[int(int64(x.At(i)))&(bins-1)]++
		}
		kerneltest.Equal(t, "histogram", z, want)
	}
}

func TestShapes(t *testing.T) {
	forWarps(t, features("shapes"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][2]int{{32, 32}, {8, 4}, {4, 32}} {
			m, n := size[0], size[1]
			x, out := kerneltest.Randn(r, "fp32", m, n), kerneltest.Empty("fp32", 3*m*n)
			k.Run(t, kerneltest.Grid(1), x, out, m, n)
			transposed := each(m*n, func(i int) float64 { return x.At(i%m*n + i/m) })
			// (m/2, 2, n) permuted to (m/2, n, 2); the halves are its last dimension,
			// and joining or interleaving them gives it back.
			f := each(m*n, func(i int) float64 {
				block, col, half := i/(2*n), i/2%n, i%2
				return transposed[block*2*n+half*n+col]
			})
			got := out.Floats()
			want := each(m*n, func(p int) float64 {
				return 3*f[p] + x.At(p%m*n+p%n) + float64(p%n)
			})
			head, tail := kerneltest.Zeros("fp32", m*n), append([]float64(nil), got[m*n:]...)
			for i := range m * n {
				head.Set(i, got[i])
			}
			kerneltest.Near(t, fmt.Sprintf("out, %d×%d", m, n), head, want, 1e-5, 1e-5)
			both := slices.Concat(f, f) // in any order: the kernel allows that
			slices.Sort(both)
			slices.Sort(tail)
			if !slices.Equal(tail, both) {
				t.Errorf("%d×%d: the concatenation has other elements", m, n)
			}
		}
	})
}

func TestAtomics(t *testing.T) {
	forWarps(t, features("atomics"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, b := range []int{32, 256} {
			const n = 200
			x, is, out := kerneltest.Randn(r, "fp32", 32), kerneltest.Randint(r, 0, 1000, "i32", 4097), kerneltest.Empty("fp32", n)
			is.SetInt(4096, 0)
			x0, i0 := x.Floats(), is.Ints()
			programs := cdiv(n, b) + 1 // the last one is masked off
			k.Run(t, kerneltest.Grid(programs), x, is, out, n, b)
			wantX, wantI := slices.Clone(x0), slices.Clone(i0)
			olds := make([][]float64, 16)
			for o := range programs * b {
				at := o % 16
				wantI[32+at] &= int64(o)
				wantI[48+at] |= int64(o)
				wantI[64+at] ^= int64(o)
				if o < n {
					olds[at] = append(olds[at], float64(float32(out.At(o))-float32(i0[80+o])))
					wantI[at] = max(wantI[at], int64(o))
					wantI[80+o] = int64(o)
					wantX[at]++
					wantX[16+at] = min(wantX[16+at], -1)
				}
			}
			wantI[4096] = 1
			kerneltest.Near(t, "x", x, wantX, 1e-5, 1e-5)
			kerneltest.Equal(t, "i", is, each(4097, func(i int) float64 { return float64(wantI[i]) }))
			// Each addition saw another of the values on the way, in any order.
			for at, seen := range olds {
				slices.Sort(seen)
				for j, v := range seen {
					if math.Abs(v-(x0[at]+float64(j))) > 1e-3 {
						t.Errorf("x[%d]: the %d-th addition saw %v, want %v", at, j, v, x0[at]+float64(j))
					}
				}
			}
		}
	})
}

func TestBlockPointers(t *testing.T) {
	forWarps(t, features("block_ptrs"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][4]int{{50, 100, 32, 64}, {48, 112, 32, 64}, {7, 33, 4, 8}} {
			m, n, bm, bn := size[0], size[1], size[2], size[3]
			a, out := kerneltest.Randn(r, "fp16", m, n), kerneltest.Empty("fp32", m, bn)
			k.Run(t, kerneltest.Grid(cdiv(m, bm)), a, out, m, n, n, 1, bm, bn)
			kerneltest.Near(t, "out", out, each(m*bn, func(at int) float64 {
				sum := 0.0
				for j := at % bn; j < n; j += bn {
					sum += a.At(at/bn*n + j)
				}
				return sum
			}), 1e-5, 1e-5)
		}
	})
}

func TestDescriptors(t *testing.T) {
	forWarps(t, features("descriptors"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][4]int{{50, 104, 32, 64}, {48, 112, 32, 64}, {32, 64, 16, 16}} {
			m, n, bm, bn := size[0], size[1], size[2], size[3]
			a, out := kerneltest.Randn(r, "fp16", m, n), kerneltest.Empty("fp16", m, n)
			k.Run(t, kerneltest.Grid(cdiv(m, bm), cdiv(n, bn)), a, out, m, n, bm, bn)
			kerneltest.Equal(t, "out", out, each(m*n, func(i int) float64 { return 2 * a.At(i) }))
		}
	})
}

func TestTranspose(t *testing.T) {
	forWarps(t, features("transpose2d"), func(t *testing.T, k kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		for _, size := range [][4]int{{70, 100, 64, 64}, {33, 9, 8, 4}, {128, 64, 32, 16}} {
			m, n, bm, bn := size[0], size[1], size[2], size[3]
			x, out := kerneltest.Randn(r, "fp16", m, n), kerneltest.Empty("fp16", n, m)
			k.Run(t, kerneltest.Grid(cdiv(m, bm), cdiv(n, bn)), x, out, m, n, bm, bn)
			kerneltest.Equal(t, "out", out, each(m*n, func(i int) float64 { return x.At(i%m*n + i/m) }))
		}
	})
}

func TestHints(t *testing.T) {
	forBlocks(t, features("hints"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, b int) {
		const n, grid = 3, 3
		m := grid * b
		x, out := kerneltest.Randn(r, "fp32", max(m, b/16*n+2)), kerneltest.Empty("fp32", m)
		k.Run(t, kerneltest.Grid(grid), x, out, m, n, b)
		kerneltest.Near(t, "out", out, each(m, func(i int) float64 {
			c := i % b / 16 * n
			return x.At(i) + x.At(c) + x.At(c+1)
		}), 1e-6, 1e-6)
	})
}

func TestInlineAssembly(t *testing.T) {
	forNVIDIA(t, "the kernel has PTX; backends/amd/gpu has other assembly")
	forBlocks(t, features("inline_asm"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x, out := kerneltest.Randint(r, -1000, 1000, "i32", n), kerneltest.Empty("i32", n)
		k.Run(t, kerneltest.Grid(1), x, out, n)
		kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return x.At(i) + 1 }))
	})
}

func TestDebugging(t *testing.T) {
	r := kerneltest.Rand(t)
	const programs = 3
	for warps, n := range map[int]int{1: 32, 4: 128} {
		k := features("debugging").With(kerneltest.Options{"debug": true, "num_warps": warps})
		x, out := scaled(r, 1, 2, "fp32", programs*n), kerneltest.Empty("fp32", programs*n)
		got := k.Run(t, kerneltest.Grid(programs), x, out, programs*n, n)
		kerneltest.Equal(t, "out", out, x.Floats())
		// Each thread prints what it holds; the threads of a cluster hold n elements together,
		// and so do twice as many of warps of 64 lanes.
		threads := programs * n * got.Blocks()
		if strings.HasPrefix(k.CompiledFor(), "hip:gfx9") {
			threads *= 2
		}
		if lines := strings.Count(got.Printed, "x: "); lines != threads {
			t.Errorf("%d lines printed, want %d:\n%s", lines, threads, got.Printed)
		}
		printed := map[string]bool{}
		for line := range strings.Lines(got.Printed) {
			at, _, _ := strings.Cut(line, "x: ")
			printed[strings.Join(strings.Fields(at), "")] = true
		}
		for i := range programs * n {
			if at := fmt.Sprintf("pid(%d,0,0)idx(%d)", i/n, i%n); !printed[at] {
				t.Errorf("%d warps: no line %q:\n%s", warps, at, got.Printed)
			}
		}
		x.Set(3, -1)
		_, err := k.TryRun(t, kerneltest.Grid(programs), x, out, programs*n, n)
		if err == nil {
			t.Error("the assertion about x[3] does not fail")
		} else if text := kerneltest.Text(err); !strings.Contains(text, "x must be positive") {
			t.Errorf("the assertion about x[3] fails otherwise: %s", text)
		}
	}
}

func TestMaths(t *testing.T) {
	forBlocks(t, features("maths"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x, out := scaled(r, 0.1, 8, "fp32", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(1), x, out, n)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 {
			x := x.At(i)
			y := math.Exp(x) + math.Exp2(x) + math.Log(x) + math.Log2(x) + math.Sin(x) + math.Cos(x) + math.Sqrt(x) + 1/math.Sqrt(x)
			y += math.Abs(x) + math.Floor(x) + math.Ceil(x) + math.Erf(x) + x*x + x + math.Sqrt(x) + x/y
			y += 1/(1+math.Exp(-x)) + min(x, 6) + min(x, y) + max(x, y)
			return y + float64(int64(x)*12345>>32)
		}), 3e-6, 1e-5)
	})
}

const angles = `
import triton
import triton.language as tl

@triton.jit
def angles(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(o + 2 * at, tl.sin(v), mask=at < n)
    tl.store(o + 2 * at + 1, tl.cos(v), mask=at < n)
`

// TestHugeAngles: sine and cosine of numbers of which the quotient by π has to be
// known to many more bits than they have.
func TestHugeAngles(t *testing.T) {
	for _, c := range []struct {
		typ      string
		most     int // binary exponent
		rel, abs float64
	}{{"fp32", 127, 0, 1e-6}, {"fp64", 1023, 0, 1e-14}} {
		t.Run(c.typ, func(t *testing.T) {
			r := kerneltest.Rand(t)
			const n = 331
			x, out := kerneltest.Zeros(c.typ, n), kerneltest.Empty(c.typ, n, 2)
			want := make([]float64, 2*n)
			for i := range n {
				x.Set(i, math.Ldexp(1+r.Float64(), r.IntN(c.most))*float64(1-2*r.IntN(2)))
				want[2*i], want[2*i+1] = math.Sin(x.At(i)), math.Cos(x.At(i))
			}
			kerneltest.Kernel{Source: angles}.Warps(2).Run(t, kerneltest.Grid(cdiv(n, 128)), x, out, n, 128)
			kerneltest.Near(t, "sines and cosines", out, want, c.rel, c.abs)
		})
	}
}

func TestLibdevice(t *testing.T) {
	forBlocks(t, features("libdevices"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, n int) {
		x, out := scaled(r, -0.9, 0.9, "fp32", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(1), x, out, n)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 {
			x := x.At(i)
			y := math.Tanh(x) + x*x + math.Log1p(x) + math.Expm1(x) + math.Asin(x)
			return y + math.Round(x) + math.RoundToEven(x) + math.Mod(x, 3)
		}), 1e-5, 2e-6)
	})
}

// philox is Philox-4×32 with ten rounds (Salmon et al., SC 2011).
func philox(key uint64, counter uint32) [4]uint32 {
	c := [4]uint32{counter}
	k0, k1 := uint32(key), uint32(key>>32)
	for range 10 {
		a, b := uint64(c[0])*0xd2511f53, uint64(c[2])*0xcd9e8d57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k0, uint32(b), uint32(a>>32) ^ c[3] ^ k1, uint32(a)}
		k0, k1 = k0+0x9e3779b9, k1+0xbb67ae85
	}
	return c
}

// uniform maps random bits to [0, 1) as Triton does: the magnitude of a signed
// number, scaled in f32. The logarithm of numbers near 1 makes much of that rounding.
func uniform(bits uint32) float64 {
	v := int32(bits)
	if v < 0 {
		v = -v - 1
	}
	return float64(float32(v) * 4.6566127342e-10)
}

func normal(a, b uint32) float64 {
	return math.Sqrt(-2*math.Log(max(1e-7, uniform(a)))) * math.Cos(2*math.Pi*uniform(b))
}

func TestRandoms(t *testing.T) {
	forBlocks(t, features("randoms"), func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, b int) {
		const grid = 3
		for _, seed := range []int64{r.Int64N(1 << 40), 16 * r.Int64N(1<<27)} {
			out := kerneltest.Empty("fp32", grid*b)
			k.Run(t, kerneltest.Grid(grid), out, seed, b)
			kerneltest.Near(t, "out", out, each(grid*b, func(i int) float64 {
				c := philox(uint64(seed), uint32(i))
				return uniform(c[0]) + normal(c[0], c[1]) + float64(c[0])
			}), 1e-6, 1e-5)
		}
	})
}

// TestRandomKinds: each distribution alone; in the kernel above the integers
// hide the others.
func TestRandomKinds(t *testing.T) {
	k := kerneltest.Kernel{Source: `import triton
import triton.language as tl

@triton.jit
def k(u_ptr, n_ptr, seed, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(u_ptr + o, tl.rand(seed, o))
    tl.store(n_ptr + o, tl.randn(seed, o))
`}
	forBlocks(t, k, func(t *testing.T, k kerneltest.Kernel, r *rand.Rand, b int) {
		seed := r.Int64N(1 << 31)
		u, n := kerneltest.Empty("fp32", 2*b), kerneltest.Empty("fp32", 2*b)
		k.Run(t, kerneltest.Grid(2), u, n, seed, b)
		kerneltest.Near(t, "rand", u, each(2*b, func(i int) float64 { return uniform(philox(uint64(seed), uint32(i))[0]) }), 1e-6, 1e-9)
		kerneltest.Near(t, "randn", n, each(2*b, func(i int) float64 {
			c := philox(uint64(seed), uint32(i))
			return normal(c[0], c[1])
		}), 1e-5, 1e-5)
	})
}
