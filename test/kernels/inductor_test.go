package kernels

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// The kernels of testdata/inductor are in the style of torch.compile: they import
// torch's modules, which are the compiler's own here, and say in a decorator what
// they were made for.
var inductorFiles = []string{"pointwise", "reductions", "templates"}

func inductor(file, name string) kerneltest.Kernel {
	return kerneltest.Kernel{File: filepath.Join("testdata", "inductor", file+".py"), Name: name}
}

// inductorTests runs each kernel; TestInductor sees that none is left out.
var inductorTests = map[string]func(t *testing.T, r *rand.Rand, k kerneltest.Kernel){
	"triton_poi_add_relu": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		pointwise(t, r, k, 3001, []string{"fp32", "fp32"}, []string{"fp32"}, 0, 0, func(x []float64) []float64 {
			return []float64{max(0, float64(float32(x[0]+x[1])))}
		})
	},
	"triton_poi_gelu": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		pointwise(t, r, k, 999, []string{"bf16"}, []string{"bf16"}, 4e-3, 1e-6, func(x []float64) []float64 {
			return []float64{x[0] / 2 * (1 + math.Erf(x[0]/math.Sqrt2))}
		})
	},
	"triton_poi_swiglu": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 777
		x, y := kerneltest.Randn(r, "fp16", n), kerneltest.Randn(r, "fp16", n)
		want := each(n, func(i int) float64 { return x.At(i) / (1 + math.Exp(-x.At(i))) * y.At(i) })
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, y, n)
		kerneltest.Near(t, "out", x, want, 1e-3, 1e-6)
	},
	"triton_poi_special": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		pointwise(t, r, k, 1001, []string{"fp32", "fp32"}, []string{"fp32"}, 2e-6, 1e-5, func(x []float64) []float64 {
			a, b := x[0], x[1]
			y := math.Expm1(a) + math.Log1p(math.Abs(b)) + math.Tanh(a) + math.Pow(math.Abs(a)+0.5, b) + math.Atan2(a, b)
			y += 1/math.Sqrt(math.Abs(b)+1) + math.Exp(a) + math.Floor(a)
			if math.Signbit(a) {
				y++
			}
			return []float64{y}
		})
	},
	"triton_poi_frexp": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		pointwise(t, r, k, 500, []string{"fp32"}, []string{"fp32", "i32"}, 0, 0, func(x []float64) []float64 {
			m, e := math.Frexp(x[0])
			return []float64{m, float64(e)}
		})
	},
	"triton_poi_integers": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 1333
		x, y := kerneltest.Randint(r, -1000, 1000, "i32", n), kerneltest.Randint(r, 1, 9, "i32", n)
		for i := range n {
			if i%2 == 1 {
				y.SetInt(i, -y.Int(i))
			}
		}
		div, mod := kerneltest.Empty("i32", n), kerneltest.Empty("i32", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, y, div, mod, n)
		kerneltest.Equal(t, "div", div, each(n, func(i int) float64 { return math.Floor(x.At(i) / y.At(i)) }))
		kerneltest.Equal(t, "mod", mod, each(n, func(i int) float64 { return x.At(i) - y.At(i)*math.Floor(x.At(i)/y.At(i)) }))
	},
	"triton_poi_uint8": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 700
		x, y := kerneltest.Randint(r, 0, 256, "u8", n), kerneltest.Randint(r, 0, 256, "u8", n)
		sum, scaled := kerneltest.Empty("u8", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, y, sum, scaled, n)
		kerneltest.Equal(t, "sum", sum, each(n, func(i int) float64 { return float64((x.Int(i) + y.Int(i)) % 256) }))
		kerneltest.Near(t, "scaled", scaled, each(n, func(i int) float64 { return x.At(i) / 255 }), 1e-6, 0)
	},
	"triton_poi_bools": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		pointwise(t, r, k, 900, []string{"fp32", "fp32"}, []string{"bool"}, 0, 0, func(x []float64) []float64 {
			return []float64{truth(x[0] > 0 && x[1] > 0 || x[0] >= x[1])}
		})
	},
	"triton_poi_extremes": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 640
		x, y := withNaNs(r, n), withNaNs(r, n)
		low, high := kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, y, low, high, n)
		kerneltest.Equal(t, "min", low, each(n, func(i int) float64 { return min(x.At(i), y.At(i)) })) // as Go has it: NaN wins
		kerneltest.Equal(t, "max", high, each(n, func(i int) float64 { return max(x.At(i), y.At(i)) }))
	},
	"triton_poi_fp8": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 515
		x, out, wide := kerneltest.Randn(r, "bf16", n), kerneltest.Empty("fp8e5", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, out, wide, n)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 { return 2 * x.At(i) }), 0.125, 1e-5)
		kerneltest.Equal(t, "wide", wide, out.Floats())
	},
	"triton_poi_cat": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const rows = 7
		x, y, out := kerneltest.Randn(r, "fp32", rows, 100), kerneltest.Randn(r, "fp32", rows, 60), kerneltest.Empty("fp32", rows, 160)
		k.Run(t, kerneltest.Grid(cdiv(rows*160, 256)), x, y, out, rows*160)
		kerneltest.Equal(t, "out", out, each(rows*160, func(i int) float64 {
			if c := i % 160; c < 100 {
				return 2 * x.At(i/160*100+c)
			}
			return y.At(i/160*60 + i%160 - 100)
		}))
	},
	"triton_poi_gather": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 33
		at, x, out := kerneltest.Randint(r, -50, 50, "i64", n), kerneltest.Randn(r, "fp32", 50, 32), kerneltest.Empty("fp32", n, 32)
		k.Run(t, kerneltest.Grid(cdiv(n*32, 256)), at, x, out, n*32)
		kerneltest.Equal(t, "out", out, each(n*32, func(i int) float64 { return x.At(int(at.Int(i/32)+50)%50*32 + i%32) }))
	},
	"triton_poi_index_put": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 77
		at, x, out := kerneltest.Randint(r, 0, 50, "i64", n), kerneltest.Randint(r, -9, 9, "fp32", n, 32), kerneltest.Zeros("fp32", 50, 32)
		want := make([]float64, 50*32)
		for i := range n * 32 {
			want[int(at.Int(i/32))*32+i%32] += x.At(i)
		}
		k.Run(t, kerneltest.Grid(cdiv(n*32, 256)), at, x, out, n*32)
		kerneltest.Equal(t, "out", out, want)
	},
	"triton_poi_random": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 300
		seed := r.Int64()
		seeds := array.Of(array.Named("i64"), 0, 0, 0)
		seeds.SetInt(2, seed)
		u, g, whole := kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", n), kerneltest.Empty("i64", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), seeds, u, g, whole, 2, n)
		words := func(i int) [4]uint32 { return philox(uint64(seed), uint32(i)) }
		kerneltest.Near(t, "rand", u, each(n, func(i int) float64 { return uniform(words(i)[0]) }), 1e-6, 1e-7)
		kerneltest.Near(t, "randn", g, each(n, func(i int) float64 { return normal(words(i)[0], words(i)[1]) }), 1e-5, 1e-5)
		kerneltest.Equal(t, "randint64", whole, each(n, func(i int) float64 {
			w := words(i)
			return float64((uint64(w[1])<<32|uint64(w[0]))%1005) - 5
		}))
	},
	"triton_poi_dropout": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 600
		seed := r.Int64()
		seeds, x, out := kerneltest.Zeros("i64", 1), kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
		seeds.SetInt(0, seed)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), seeds, x, out, n)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 {
			return truth(uniform(philox(uint64(seed), uint32(i))[0]) > 0.25) * x.At(i) * 4 / 3
		}), 1e-6, 0)
	},
	"triton_poi_bucketize": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 400, 77
		x := kerneltest.Randint(r, -20, 60, "fp32", n)
		bounds, order := kerneltest.Randint(r, -9, 50, "fp32", m), kerneltest.Zeros("i64", m)
		sorted := bounds.Floats()
		slices.Sort(sorted)
		perm := make([]int64, m)
		for i := range perm {
			perm[i] = int64(i)
		}
		slices.SortFunc(perm, func(a, b int64) int { return cmp.Compare(bounds.At(int(a)), bounds.At(int(b))) })
		for i, p := range perm {
			order.SetInt(i, p)
		}
		below := func(right bool) []float64 {
			return each(n, func(i int) float64 {
				return float64(len(sorted) - len(slices.DeleteFunc(slices.Clone(sorted), func(b float64) bool {
					return b < x.At(i) || right && b == x.At(i)
				})))
			})
		}
		left, right := kerneltest.Empty("i64", n), kerneltest.Empty("i32", n)
		// The first search takes the boundaries as they are, so they are sorted for it.
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, array.Of(array.Named("fp32"), sorted...), identity(m), left, right, n)
		kerneltest.Equal(t, "left", left, below(false))
		kerneltest.Equal(t, "right", right, below(true))
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, bounds, order, kerneltest.Empty("i64", n), right, n)
		kerneltest.Equal(t, "right, by a sorter", right, below(true))
	},
	"triton_poi_max_pool": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 333
		x, out, at := kerneltest.Randint(r, 0, 5, "fp32", 3*n), kerneltest.Empty("fp32", n), kerneltest.Empty("i8", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, out, at, n)
		first := func(i int) int {
			best := 0
			for j := range 3 {
				if x.At(3*i+j) > x.At(3*i+best) {
					best = j
				}
			}
			return best
		}
		kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return x.At(3*i + first(i)) }))
		kerneltest.Equal(t, "at", at, each(n, func(i int) float64 { return float64(first(i)) }))
	},
	"triton_poi_nan_to_num": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 321
		x, out := withNaNs(r, n), kerneltest.Empty("fp32", n)
		x.Set(7, math.Inf(1))
		x.Set(8, math.Inf(-1))
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), x, out, n)
		kerneltest.Equal(t, "out", out, each(n, func(i int) float64 {
			if math.IsNaN(x.At(i)) || math.IsInf(x.At(i), 0) {
				return 0
			}
			return x.At(i)
		}))
	},
	"triton_poi_adam": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 444
		p, g, m, v := kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n), kerneltest.Uniform(r, "fp32", n)
		p0, m0, v0 := p.Floats(), m.Floats(), v.Floats()
		k.Run(t, kerneltest.Grid(cdiv(n, 256)), p, g, m, v, n)
		mean := each(n, func(i int) float64 { return m0[i] + (g.At(i)-m0[i])*0.1 })
		square := each(n, func(i int) float64 { return v0[i]*0.999 + g.At(i)*g.At(i)*0.001 })
		kerneltest.Near(t, "mean", m, mean, 1e-6, 1e-6)
		kerneltest.Near(t, "square", v, square, 1e-6, 1e-6)
		kerneltest.Near(t, "param", p, each(n, func(i int) float64 { return p0[i] - 0.01*mean[i]/(math.Sqrt(square[i])+1e-8) }), 1e-5, 1e-5)
	},
	"triton_poi_transpose": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const ny, nx = 51, 101
		a, b, out := kerneltest.Randn(r, "fp32", nx, ny), kerneltest.Randn(r, "fp32", ny, nx), kerneltest.Empty("fp32", ny, nx)
		k.Run(t, kerneltest.Grid(cdiv(nx, 32), cdiv(ny, 32)), a, b, out, ny, nx)
		kerneltest.Equal(t, "out", out, each(ny*nx, func(i int) float64 { return float64(float32(a.At(i%nx*ny+i/nx) + b.At(i))) }))
	},
	"triton_poi_permute3": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const nz, ny, nx = 7, 11, 19
		a, out := kerneltest.Randn(r, "fp16", nx, ny, nz), kerneltest.Empty("fp16", nz, ny, nx)
		k.Run(t, kerneltest.Grid(nx, ny, nz), a, out, nz, ny, nx)
		kerneltest.Equal(t, "out", out, each(nz*ny*nx, func(i int) float64 { return a.At(i/(ny*nx) + nz*(i/nx%ny) + nz*ny*(i%nx)) }))
	},

	"triton_red_sum": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		rows(t, r, k, "fp32", 5, 3001, "fp32", 1e-5, 1e-3, func(row []float64) float64 { return sum(row) })
	},
	"triton_red_sum_outer": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 303, 77
		x, out := kerneltest.Randn(r, "bf16", m, n), kerneltest.Empty("bf16", n)
		k.Run(t, kerneltest.Grid(n), x, out, n, m)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 {
			s := 0.0
			for j := range m {
				s += x.At(j*n + i)
			}
			return s
		}), 4e-3, 1e-3)
	},
	"triton_red_argmax": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 5, 2500
		x, high, low := kerneltest.Randint(r, -500, 500, "fp32", n, m), kerneltest.Empty("i64", n), kerneltest.Empty("i64", n)
		x.Set(3*m+1234, math.NaN())
		x.Set(3*m+2000, math.NaN())
		k.Run(t, kerneltest.Grid(n), x, high, low, n, m)
		kerneltest.Equal(t, "argmax", high, each(n, func(i int) float64 { return float64(first(x, i, m, func(a, b float64) bool { return a > b })) }))
		kerneltest.Equal(t, "argmin", low, each(n, func(i int) float64 { return float64(first(x, i, m, func(a, b float64) bool { return a < b })) }))
	},
	"triton_red_welford": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 3, 4099
		x, w := kerneltest.Randn(r, "fp32", n, m), kerneltest.Randn(r, "fp32", m)
		means, scales, out := kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", n, m)
		for i := range n * m {
			x.Set(i, x.At(i)+100)
		}
		k.Run(t, kerneltest.Grid(n), x, w, means, scales, out, n, m)
		mu, sd := moments(x, n, m)
		kerneltest.Near(t, "means", means, mu, 1e-6, 0)
		kerneltest.Near(t, "scales", scales, each(n, func(i int) float64 { return 1 / math.Sqrt(sd[i]+1e-5) }), 1e-4, 0)
		kerneltest.Near(t, "out", out, each(n*m, func(i int) float64 {
			return (x.At(i) - mu[i/m]) / math.Sqrt(sd[i/m]+1e-5) * w.At(i%m)
		}), 1e-3, 1e-3)
	},
	"triton_red_any_all": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 9, 2100
		x := kerneltest.Randn(r, "fp32", n, m)
		for i := range 4 * m {
			x.Set(i, min(max(x.At(i), -2), 2))
		}
		anyOf, allOf, count := kerneltest.Empty("bool", n), kerneltest.Empty("bool", n), kerneltest.Empty("i64", n)
		k.Run(t, kerneltest.Grid(n), x, anyOf, allOf, count, n, m)
		row := func(i int) []float64 { return x.Floats()[i*m : (i+1)*m] }
		kerneltest.Equal(t, "any", anyOf, each(n, func(i int) float64 { return truth(slices.Max(row(i)) > 3) }))
		kerneltest.Equal(t, "all", allOf, each(n, func(i int) float64 { return truth(slices.Min(row(i)) > -3) }))
		kerneltest.Equal(t, "count", count, each(n, func(i int) float64 {
			c := 0.0
			for _, v := range row(i) {
				c += truth(v > 0)
			}
			return c
		}))
	},
	"triton_red_online_softmax": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 3, 2777
		x, out := kerneltest.Randn(r, "fp16", n, m), kerneltest.Empty("fp32", n, m)
		k.Run(t, kerneltest.Grid(n), x, out, n, m)
		kerneltest.Near(t, "out", out, rowSoftmax(x, n, m), 1e-5, 1e-9)
	},
	"triton_red_cumsum_loop": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 2, 4500
		x, out := kerneltest.Randint(r, -9, 9, "fp32", n, m), kerneltest.Empty("fp32", n, m)
		k.Run(t, kerneltest.Grid(n), x, out, n, m)
		kerneltest.Equal(t, "out", out, prefix(x, n, m, func(a, b float64) float64 { return a + b }))
	},
	"triton_per_softmax": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 11, 777
		x, out := kerneltest.Randn(r, "fp16", n, m), kerneltest.Empty("fp16", n, m)
		k.Run(t, kerneltest.Grid(n), x, out, n, m)
		kerneltest.Near(t, "out", out, rowSoftmax(x, n, m), 1e-3, 1e-6)
	},
	"triton_per_layernorm": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 9, 768
		x, w, b, out := kerneltest.Randn(r, "bf16", n, m), kerneltest.Randn(r, "bf16", m), kerneltest.Randn(r, "bf16", m), kerneltest.Empty("bf16", n, m)
		k.Run(t, kerneltest.Grid(n), x, w, b, out, n, m)
		mu, sd := moments(x, n, m)
		kerneltest.Near(t, "out", out, each(n*m, func(i int) float64 {
			return (x.At(i)-mu[i/m])/math.Sqrt(sd[i/m]+1e-5)*w.At(i%m) + b.At(i%m)
		}), 4e-3, 1e-4)
	},
	"triton_per_rmsnorm": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 7, 1000
		x, y, w, out := kerneltest.Randn(r, "fp32", n, m), kerneltest.Randn(r, "bf16", n, m), kerneltest.Randn(r, "bf16", m), kerneltest.Empty("bf16", n, m)
		sums := each(n*m, func(i int) float64 { return float64(float32(x.At(i) + y.At(i))) })
		k.Run(t, kerneltest.Grid(n), x, y, w, out, n, m)
		kerneltest.Equal(t, "residual", x, sums)
		kerneltest.Near(t, "out", out, each(n*m, func(i int) float64 {
			s := 0.0
			for _, v := range sums[i/m*m : (i/m+1)*m] {
				s += v * v
			}
			return sums[i] / math.Sqrt(s/m+1e-6) * w.At(i%m)
		}), 4e-3, 1e-5)
	},
	"triton_per_max_index": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 67, 99
		x, out, at := kerneltest.Randint(r, -30, 30, "fp32", n, m), kerneltest.Empty("fp32", n), kerneltest.Empty("i64", n)
		x.Set(5*m+50, math.NaN())
		k.Run(t, kerneltest.Grid(n), x, out, at, n, m)
		best := func(i int) int { return first(x, i, m, func(a, b float64) bool { return a > b }) }
		kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return x.At(i*m + best(i)) }))
		kerneltest.Equal(t, "at", at, each(n, func(i int) float64 { return float64(best(i)) }))
	},
	"triton_per_min_prod": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 45, 50
		x, low, product := kerneltest.Uniform(r, "fp32", n, m), kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", n)
		for i := range n * m {
			x.Set(i, x.At(i)+0.5)
		}
		k.Run(t, kerneltest.Grid(n), x, low, product, n, m)
		kerneltest.Equal(t, "min", low, each(n, func(i int) float64 { return slices.Min(x.Floats()[i*m : (i+1)*m]) }))
		kerneltest.Near(t, "prod", product, each(n, func(i int) float64 {
			p := 1.0
			for _, v := range x.Floats()[i*m : (i+1)*m] {
				p *= v
			}
			return p
		}), 1e-5, 0)
	},
	"triton_per_welford": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 201, 100
		x, mean, variance := kerneltest.Randn(r, "fp32", m, n), kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(n), x, mean, variance, n, m)
		columns := kerneltest.Zeros("fp32", n, m)
		for i := range n * m {
			columns.Set(i, x.At(i%m*n+i/m))
		}
		mu, sd := moments(columns, n, m)
		kerneltest.Near(t, "mean", mean, mu, 1e-5, 1e-6)
		kerneltest.Near(t, "var", variance, each(n, func(i int) float64 { return sd[i] * m / (m - 1) }), 1e-5, 0)
	},
	"triton_per_sort": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 21, 50
		x, out, at := kerneltest.Randint(r, -9, 9, "fp32", n, m), kerneltest.Empty("fp32", n, m), kerneltest.Empty("i64", n, m)
		for i := range 5 {
			x.Set(3*m+7*i, math.NaN())
		}
		k.Run(t, kerneltest.Grid(n), x, out, at, n, m)
		var vals, places []float64
		for i := range n {
			perm := make([]int, m)
			for j := range perm {
				perm[j] = j
			}
			slices.SortStableFunc(perm, func(a, b int) int { return nanLast(x.At(i*m+a), x.At(i*m+b)) })
			for _, p := range perm {
				vals, places = append(vals, x.At(i*m+p)), append(places, float64(p))
			}
		}
		kerneltest.Equal(t, "out", out, vals)
		kerneltest.Equal(t, "at", at, places)
	},
	"triton_per_sort_descending": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 13, 32
		x, out := kerneltest.Randint(r, -1<<31, 1<<31, "i32", n, m), kerneltest.Empty("i32", n, m)
		k.Run(t, kerneltest.Grid(n), x, out, n, m)
		var want []float64
		for i := range n {
			row := x.Floats()[i*m : (i+1)*m]
			slices.SortFunc(row, func(a, b float64) int { return cmp.Compare(b, a) })
			want = append(want, row...)
		}
		kerneltest.Equal(t, "out", out, want)
	},
	"triton_per_scans": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 9, 201
		x, sums, products := kerneltest.Randn(r, "fp32", n, m), kerneltest.Empty("fp32", n, m), kerneltest.Empty("fp32", n, m)
		k.Run(t, kerneltest.Grid(n), x, sums, products, n, m)
		kerneltest.Near(t, "sums", sums, prefix(x, n, m, func(a, b float64) float64 { return a + b }), 1e-5, 1e-4)
		kerneltest.Near(t, "products", products, prefix(x, n, m, func(a, b float64) float64 { return a * b }), 1e-4, 1e-30)
	},
	"triton_per_cross_entropy": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 7, 1000
		x, at, out := kerneltest.Randn(r, "bf16", n, m), kerneltest.Randint(r, 0, m, "i64", n), kerneltest.Empty("fp32", n)
		at.SetInt(2, -100)
		k.Run(t, kerneltest.Grid(n), x, at, out, n, m)
		p := rowSoftmax(x, n, m)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 {
			if at.Int(i) < 0 {
				return 0
			}
			return -math.Log(p[i*m+int(at.Int(i))])
		}), 1e-5, 1e-6)
	},

	"triton_unk_cooperative": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 3, 3500
		for _, split := range []int{3, 4} { // whether it is a power of two matters
			x, out := kerneltest.Randint(r, -9, 9, "fp32", n, m), kerneltest.Empty("fp32", n)
			k.Run(t, kerneltest.Grid(split, cdiv(n, 2)), x, out, kerneltest.Zeros("u32", cdiv(n, 2)), kerneltest.Zeros("fp32", 64, split), n, m, 2, 256, split)
			kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return sum(x.Floats()[i*m : (i+1)*m]) }))
		}
	},
	"triton_spl_cumsum":   func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) { splitScan(t, r, k, "fp32") },
	"triton_spl_cumsum64": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) { splitScan(t, r, k, "i64") },
	"triton_tem_mm_relu": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const m, n, c = 77, 50, 33
		a, b, out := kerneltest.Randn(r, "fp16", m, c), kerneltest.Randn(r, "fp16", c, n), kerneltest.Empty("fp16", m, n)
		k.Run(t, kerneltest.Grid(cdiv(m, 32)*cdiv(n, 32)), a, b, out, m, n, c)
		kerneltest.Near(t, "out", out, each(m*n, func(i int) float64 { return max(0, inner(a, b, i/n, i%n, c, n)) }), 1e-3, 1e-3)
	},
	"triton_tem_bmm_bias": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const q, m, n, c = 3, 40, 35, 48
		a, b, bias, out := kerneltest.Randn(r, "bf16", q*m, c), kerneltest.Randn(r, "bf16", q*c, n), kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", q, m, n)
		k.Run(t, kerneltest.Grid(cdiv(m, 32)*cdiv(n, 32), q), a, b, bias, out, m, n, c)
		kerneltest.Near(t, "out", out, each(q*m*n, func(i int) float64 {
			s, batch := bias.At(i%n), i/(m*n)
			for j := range c {
				s += a.At((batch*m+i/n%m)*c+j) * b.At((batch*c+j)*n+i%n)
			}
			return s
		}), 1e-5, 1e-4)
	},
	"triton_tem_flex": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const z, l, d = 2, 75, 16
		q, key, v := kerneltest.Randn(r, "fp16", z*l, d), kerneltest.Randn(r, "fp16", z*l, d), kerneltest.Randn(r, "fp16", z*l, d)
		lse, out := kerneltest.Empty("fp32", z, l), kerneltest.Empty("fp16", z, l, d)
		k.Run(t, kerneltest.Grid(cdiv(l, 32), z), q, key, v, lse, out, l, l)
		logs, want := make([]float64, z*l), make([]float64, z*l*d)
		for i := range z * l {
			total, acc := 0.0, make([]float64, d)
			for j := i / l * l; j <= i; j++ {
				s := 0.0
				for e := range d {
					s += q.At(i*d+e) * key.At(j*d+e)
				}
				p := math.Exp(s/4 + 0.01*float64(i-j))
				total += p
				for e := range d {
					acc[e] += p * v.At(j*d+e)
				}
			}
			logs[i] = math.Log2(total)
			for e := range d {
				want[i*d+e] = acc[e] / total
			}
		}
		kerneltest.Near(t, "lse", lse, logs, 1e-4, 1e-4)
		kerneltest.Near(t, "out", out, want, 3e-3, 3e-3)
	},
	"triton_for_sgd": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n, m = 1452, 77
		p, g, p2, g2 := kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", m), kerneltest.Randn(r, "fp32", m)
		out, out2 := kerneltest.Empty("fp32", n), kerneltest.Empty("fp32", m)
		k.Run(t, kerneltest.Grid(4), p, g, p2, g2, out, out2) // the last block has nothing to do
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 { return p.At(i) - 0.1*g.At(i) }), 1e-6, 1e-6)
		kerneltest.Near(t, "out2", out2, each(m, func(i int) float64 { return p2.At(i) - 0.1*g2.At(i) }), 1e-6, 1e-6)
	},
	"axpy": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 300
		x, y := kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n)
		want := each(n, func(i int) float64 { return 0.5*x.At(i) + y.At(i) })
		k.Run(t, kerneltest.Grid(cdiv(n, 128)), x, y, 0.5, n)
		kerneltest.Near(t, "y", y, want, 1e-6, 1e-7)
	},
	"triton_poi_fixed": func(t *testing.T, r *rand.Rand, k kerneltest.Kernel) {
		const n = 150
		x, out := kerneltest.Uniform(r, "fp32", n), kerneltest.Empty("fp32", n)
		k.Run(t, kerneltest.Grid(cdiv(n, 64)), x, out, n)
		kerneltest.Near(t, "out", out, each(n, func(i int) float64 { return math.Sqrt(x.At(i)) }), 1e-6, 0)
	},
}

// TestInductor compiles each kernel for what its decorator says, with nothing else
// given, and runs it, compiled for its arguments.
func TestInductor(t *testing.T) {
	defined := regexp.MustCompile(`(?m)^@triton_heuristics\.(?:.*\n)*?def (\w+)\(`)
	kernels := 0
	for _, file := range inductorFiles {
		path := inductor(file, "").File
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range defined.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		target, err := core.ParseTarget("cuda:90")
		if err != nil {
			t.Fatal(err)
		}
		opts := &core.Options{Select: kerneltest.SelectBackend, Stages: []string{"ttgir"}}
		variants, err := core.Variants(t.Context(), &core.Source{Path: path, Text: text}, target, opts, core.Want{})
		if err != nil {
			t.Fatal(kerneltest.Text(err))
		}
		if len(variants) != len(names) {
			t.Fatalf("%s has %d kernels and %d variants", path, len(names), len(variants))
		}
		for i, name := range names {
			kernels++
			t.Run(name, func(t *testing.T) {
				k, err := core.Compile(t.Context(), variants[i], target, opts)
				if err != nil {
					t.Fatal(kerneltest.Text(err))
				}
				if k.Name != name {
					t.Errorf("%s was compiled", k.Name)
				}
				run := inductorTests[name]
				if run == nil {
					t.Fatal("no test runs it")
				}
				run(t, kerneltest.Rand(t), inductor(file, name))
			})
		}
	}
	if kernels != len(inductorTests) {
		t.Errorf("the files have %d kernels, and there are tests of %d", kernels, len(inductorTests))
	}
}

// pointwise runs a kernel of n elements on normal inputs.
func pointwise(t *testing.T, r *rand.Rand, k kerneltest.Kernel, n int, in, out []string, rtol, atol float64, f func(x []float64) []float64) {
	t.Helper()
	var args []any
	for _, typ := range in {
		args = append(args, kerneltest.Randn(r, typ, n))
	}
	for _, typ := range out {
		args = append(args, kerneltest.Empty(typ, n))
	}
	k.Run(t, kerneltest.Grid(cdiv(n, 256)), append(args, n)...)
	for i := range out {
		kerneltest.Near(t, out[i], args[len(in)+i].(*array.Array), each(n, func(at int) float64 {
			x := make([]float64, len(in))
			for j := range x {
				x[j] = args[j].(*array.Array).At(at)
			}
			return f(x)[i]
		}), rtol, atol)
	}
}

// rows runs a reduction of n rows of m elements.
func rows(t *testing.T, r *rand.Rand, k kerneltest.Kernel, in string, n, m int, result string, rtol, atol float64, f func(row []float64) float64) {
	t.Helper()
	x, out := kerneltest.Randn(r, in, n, m), kerneltest.Empty(result, n)
	k.Run(t, kerneltest.Grid(n), x, out, n, m)
	kerneltest.Near(t, "out", out, each(n, func(i int) float64 { return f(x.Floats()[i*m : (i+1)*m]) }), rtol, atol)
}

// splitScan runs a scan of two rows, of which many blocks share each.
func splitScan(t *testing.T, r *rand.Rand, k kerneltest.Kernel, typ string) {
	t.Helper()
	const n, m, block = 2, 1300, 256
	x, out := kerneltest.Randint(r, -9, 9, typ, n, m), kerneltest.Empty(typ, n, m)
	k.Run(t, kerneltest.Grid(cdiv(m, block), n), x, out, kerneltest.Zeros("u8", 8*3*n*cdiv(m, block)), n, m, block)
	kerneltest.Equal(t, "out", out, prefix(x, n, m, func(a, b float64) float64 { return a + b }))
}

func withNaNs(r *rand.Rand, n int) *array.Array {
	x := kerneltest.Randn(r, "fp32", n)
	for range n / 8 {
		x.Set(r.IntN(n), math.NaN())
	}
	return x
}

func identity(n int) *array.Array { return kerneltest.Zeros("i64", n).Arange() }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// first is the place of the best element of a row, of equals the first; a NaN is
// better than any number.
func first(x *array.Array, row, m int, better func(a, b float64) bool) int {
	best := 0
	for j := range m {
		a, b := x.At(row*m+j), x.At(row*m+best)
		if better(a, b) || math.IsNaN(a) && !math.IsNaN(b) {
			best = j
		}
	}
	return best
}

// moments are the mean and the variance of each row.
func moments(x *array.Array, n, m int) (mean, variance []float64) {
	mean, variance = make([]float64, n), make([]float64, n)
	for i := range n * m {
		mean[i/m] += x.At(i) / float64(m)
	}
	for i := range n * m {
		d := x.At(i) - mean[i/m]
		variance[i/m] += d * d / float64(m)
	}
	return mean, variance
}

func rowSoftmax(x *array.Array, n, m int) []float64 {
	total := make([]float64, n)
	for i := range n * m {
		total[i/m] += math.Exp(x.At(i))
	}
	return each(n*m, func(i int) float64 { return math.Exp(x.At(i)) / total[i/m] })
}

// prefix is the scan of each row.
func prefix(x *array.Array, n, m int, f func(a, b float64) float64) []float64 {
	out := x.Floats()
	for i := range n * m {
		if i%m > 0 {
			out[i] = f(out[i-1], out[i])
		}
	}
	return out
}

func nanLast(a, b float64) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return int(truth(math.IsNaN(a)) - truth(math.IsNaN(b)))
	}
	return cmp.Compare(a, b)
}

// inner is one element of a[…, c] times b[c, n].
func inner(a, b *array.Array, i, j, c, n int) (s float64) {
	for e := range c {
		s += a.At(i*c+e) * b.At(e*n+j)
	}
	return s
}
