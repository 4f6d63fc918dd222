package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/driver/sim"
)

// The kernels of testdata are what Triton 3.6 makes of small programs for
// compute capability 8.0: lowered here, run on the simulated GPU with fresh
// inputs, and compared with results computed in float64.

// anySize takes the promise away that sizes are multiples of 16, so that odd
// ones may be tried: the accesses become narrower.
func anySize(src string, params ...string) string {
	for _, p := range params {
		src = strings.Replace(src, "%"+p+": i32 {tt.divisibility = 16 : i32}", "%"+p+": i32", 1)
	}
	return src
}

// each builds a kernel of testdata for two generations and runs f on both.
func each(t *testing.T, name string, edit func(string) string, f func(t *testing.T, k *kernel)) {
	src := testdata(t, name)
	if edit != nil {
		src = edit(src)
	}
	for _, cc := range []int{80, 90} {
		t.Run(fmt.Sprintf("sm_%d", cc), func(t *testing.T) { f(t, build(t, name+".ttgir", src, cc)) })
	}
}

func TestVectorAdd(t *testing.T) {
	odd := func(s string) string { return anySize(s, "n") }
	for what, edit := range map[string]func(string) string{"multiples": nil, "any": odd} {
		t.Run(what, func(t *testing.T) {
			each(t, "vector_add", edit, func(t *testing.T, k *kernel) {
				r := newRand(t)
				sizes := []int{16, 1008, 1024, 4112}
				if edit != nil {
					sizes = []int{1, 3, 127, 1023, 1025, 5000 + r.IntN(1000)}
				}
				for _, n := range sizes {
					d := sim.New(sim.Options{})
					x, y := randn(r, n), randn(r, n)
					out := d.Alloc("out", 4*n)
					k.run(t, d, sim.Dim((n+1023)/1024), sim.Upload(d, "x", x), sim.Upload(d, "y", y), out, int32(n))
					for i, v := range sim.Download[float32](out) {
						if v != x[i]+y[i] {
							t.Fatalf("n=%d: out[%d] = %v, want %v", n, i, v, x[i]+y[i])
						}
					}
				}
			})
		})
	}
}

func TestRowSoftmax(t *testing.T) {
	edit := func(s string) string { return anySize(s, "in_stride", "out_stride", "n_cols") }
	each(t, "row_softmax", edit, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, n := range []int{1, 17, 1000, 2047, 2048} {
			const rows = 3
			d := sim.New(sim.Options{})
			x := randn(r, rows*n)
			out := d.Alloc("out", 4*rows*n)
			k.run(t, d, sim.Dim(rows), out, sim.Upload(d, "in", x), int32(n), int32(n), int32(n))
			want := make([]float64, rows*n)
			for row := range rows {
				in := x[row*n : (row+1)*n]
				top, sum := float64(slices.Max(in)), 0.0
				for _, v := range in {
					sum += math.Exp(float64(v) - top)
				}
				for i, v := range in {
					want[row*n+i] = math.Exp(float64(v)-top) / sum
				}
			}
			near(t, "softmax", sim.Download[float32](out), want, 1e-5, 1e-7)
		}
	})
}

// half rounds to f16 and widens again.
func halfBits(v float32) uint16 {
	return uint16(constants.Float(llir.Half, float64(v)).Bits)
}

func halfValue(b uint16) float64 { return constants.FloatBits(llir.Half, uint64(b)).Value() }

var constants = llir.NewModule("", "", "")

func halfs(x []float32) []uint16 {
	out := make([]uint16, len(x))
	for i, v := range x {
		out[i] = halfBits(v)
	}
	return out
}

func widened(x []uint16) []float32 {
	out := make([]float32, len(x))
	for i, b := range x {
		out[i] = float32(halfValue(b))
	}
	return out
}

func TestLayerNormForward(t *testing.T) {
	edit := func(s string) string { return anySize(s, "stride", "N") }
	each(t, "layer_norm_fwd", edit, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, n := range []int{1, 333, 2048, 4095} {
			const rows = 2
			x, w, b := halfs(randn(r, rows*n)), halfs(randn(r, n)), halfs(randn(r, n))
			d := sim.New(sim.Options{})
			y, mean, rstd := d.Alloc("Y", 2*rows*n), d.Alloc("Mean", 4*rows), d.Alloc("Rstd", 4*rows)
			k.run(t, d, sim.Dim(rows), sim.Upload(d, "X", x), y, sim.Upload(d, "W", w), sim.Upload(d, "B", b),
				mean, rstd, int32(n), int32(n), float32(1e-5))
			var wantY, wantMean, wantRstd []float64
			for row := range rows {
				in := widened(x[row*n : (row+1)*n])
				mu, va := 0.0, 0.0
				for _, v := range in {
					mu += float64(v) / float64(n)
				}
				for _, v := range in {
					va += (float64(v) - mu) * (float64(v) - mu) / float64(n)
				}
				rs := 1 / math.Sqrt(va+1e-5)
				wantMean, wantRstd = append(wantMean, mu), append(wantRstd, rs)
				for i, v := range in {
					wantY = append(wantY, (float64(v)-mu)*rs*halfValue(w[i])+halfValue(b[i]))
				}
			}
			near(t, "mean", sim.Download[float32](mean), wantMean, 1e-5, 1e-5)
			near(t, "rstd", sim.Download[float32](rstd), wantRstd, 1e-5, 0)
			near(t, "y", widened(sim.Download[uint16](y)), wantY, 1e-3, 2e-3)
		}
	})
}

func TestLayerNormBackward(t *testing.T) {
	each(t, "layer_norm_bwd", nil, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, c := range []struct{ rows, n, grid int }{{16, 16, 2}, {32, 1040, 4}} {
			n := c.n
			x, dy, w := halfs(randn(r, c.rows*n)), halfs(randn(r, c.rows*n)), halfs(randn(r, n))
			mean, rstd := randn(r, c.rows), randn(r, c.rows)
			d := sim.New(sim.Options{})
			dx := d.Alloc("DX", 2*c.rows*n)
			dw, db := sim.Upload(d, "DW", make([]float32, n)), sim.Upload(d, "DB", make([]float32, n))
			k.run(t, d, sim.Dim(c.grid), dx, sim.Upload(d, "DY", dy), dw, db, sim.Upload(d, "X", x), sim.Upload(d, "W", w),
				sim.Upload(d, "Mean", mean), sim.Upload(d, "Rstd", rstd), int32(c.rows), int32(n))
			wantX, wantW, wantB := make([]float64, c.rows*n), make([]float64, n), make([]float64, n)
			for row := range c.rows {
				mu, rs := float64(mean[row]), float64(rstd[row])
				xh := func(i int) float64 { return (halfValue(x[row*n+i]) - mu) * rs }
				wdy := func(i int) float64 { return halfValue(dy[row*n+i]) * halfValue(w[i]) }
				c1, c2 := 0.0, 0.0
				for i := range n {
					c1 += xh(i) * wdy(i)
					c2 += wdy(i)
					wantW[i] += halfValue(dy[row*n+i]) * xh(i)
					wantB[i] += halfValue(dy[row*n+i])
				}
				for i := range n {
					wantX[row*n+i] = (wdy(i) - (xh(i)*c1+c2)/float64(n)) * rs
				}
			}
			near(t, "dx", widened(sim.Download[uint16](dx)), wantX, 2e-3, 2e-3)
			near(t, "dw", sim.Download[float32](dw), wantW, 1e-4, 1e-4)
			near(t, "db", sim.Download[float32](db), wantB, 1e-4, 1e-4)
		}
	})
}

func TestProdMid(t *testing.T) {
	each(t, "prod_mid", func(s string) string { return anySize(s, "M") }, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, n := range []int{1, 5000, 20001} {
			const grid = 3
			x := randn(r, n)
			for i := range x {
				x[i] = 1 + x[i]/100
			}
			d := sim.New(sim.Options{})
			mid := d.Alloc("mid", 4*grid)
			k.run(t, d, sim.Dim(grid), sim.Upload(d, "in", x), mid, int32(n))
			want := []float64{1, 1, 1}
			for i, v := range x {
				want[i/2048%grid] *= float64(v)
			}
			near(t, "product", sim.Download[float32](mid), want, 1e-4, 0)
		}
	})
}

func TestRowMinSplit(t *testing.T) {
	edit := func(s string) string { return anySize(s, "M", "N", "sm") }
	each(t, "row_min_split", edit, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, c := range []struct{ m, n int }{{16, 2048}, {7, 3001}} {
			x := randn(r, c.m*c.n)
			out, want := make([]float32, c.m), make([]float64, c.m)
			for i := range out {
				out[i] = float32(math.Inf(1))
				want[i] = float64(slices.Min(x[i*c.n : (i+1)*c.n]))
			}
			d := sim.New(sim.Options{})
			o := sim.Upload(d, "out", out)
			k.run(t, d, sim.Dim((c.n+2047)/2048), sim.Upload(d, "in", x), o, int32(c.m), int32(c.n), int32(c.n))
			near(t, "min", sim.Download[float32](o), want, 0, 0)
		}
	})
}

// A function that is not inlined: parameters and results register by register.
func TestCalls(t *testing.T) {
	each(t, "calls", nil, func(t *testing.T, k *kernel) {
		x := randn(newRand(t), 256)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*len(x))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		mean, va := 0.0, 0.0
		for _, v := range x {
			mean += float64(v) / 256
		}
		for _, v := range x {
			va += (float64(v) - mean) * (float64(v) - mean) / 256
		}
		want := make([]float64, len(x))
		for i, v := range x {
			want[i] = (float64(v)-mean)/math.Sqrt(va+1e-5) + mean*3 + 1
		}
		near(t, "o", sim.Download[float32](o), want, 1e-5, 1e-5)
	})
}

func TestPromotions(t *testing.T) {
	each(t, "promotions", nil, func(t *testing.T, k *kernel) {
		r := newRand(t)
		const n = 256
		x := randn(r, n)
		is, us := make([]int32, n), make([]uint32, n)
		for i := range is {
			is[i], us[i] = int32(r.IntN(2000)-1000), uint32(r.IntN(100))
		}
		const s, f = int32(48), float32(1.5)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), sim.Upload(d, "i", is), sim.Upload(d, "u", us), o, s, f)
		want := make([]float64, n)
		for j := range want {
			xv, i, u := float64(x[j]), is[j], us[j]
			g := xv/float64(s) + float64(f)*xv - 2
			if i < s && xv >= 0.5 || u != 3 {
				g = xv + float64(i) + float64(i/3+i%7+i)
			}
			want[j] = g + float64(u>>2|(u<<1^(u&255))) + float64(^i) + float64((s+15)/16)
		}
		near(t, "o", sim.Download[float32](o), want, 1e-5, 1e-3)
	})
}

func TestAtomics(t *testing.T) {
	each(t, "atomics", func(s string) string { return anySize(s, "n") }, func(t *testing.T, k *kernel) {
		const block, grid, n = 256, 3, 2*256 + 91
		x, is := make([]float32, 32), make([]int32, 4097)
		for i := range 16 {
			x[16+i] = float32(i) - 8
			is[32+i] = -1
		}
		d := sim.New(sim.Options{})
		bx, bi, o := sim.Upload(d, "x", x), sim.Upload(d, "i", is), d.Alloc("o", 4*n)
		k.run(t, d, sim.Dim(grid), bx, bi, o, int32(n))
		wantX, wantI := make([]float64, 32), make([]int32, 4097)
		for i := range 16 {
			wantX[16+i] = min(float64(i)-8, -1)
			wantI[32+i] = -1
			for p := i; p < grid*block; p += 16 {
				if p < n {
					wantX[i]++
					wantI[i] = int32(p)
				}
				wantI[32+i] &= int32(p)
				wantI[48+i] |= int32(p)
				wantI[64+i] ^= int32(p)
			}
		}
		for p := range n {
			wantI[80+p] = int32(p)
		}
		wantI[4096] = 1
		near(t, "x", sim.Download[float32](bx), wantX, 0, 0)
		if got := sim.Download[int32](bi); !slices.Equal(got, wantI) {
			t.Errorf("i is\n%v, want\n%v", got[:96], wantI[:96])
		}
	})
}

func TestReductions(t *testing.T) {
	each(t, "reductions", nil, func(t *testing.T, k *kernel) {
		const m, n = 32, 64
		x := randn(newRand(t), m*n)
		for i := range x {
			x[i] *= 10
		}
		d := sim.New(sim.Options{})
		o, idx := d.Alloc("o", 4*(m+n+1)), d.Alloc("i", 4*(m+n+m))
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o, idx)
		var wantO []float64
		var wantI []int32
		total := 0.0
		for i := range m {
			row := x[i*n : (i+1)*n]
			sum := 0.0
			for _, v := range row {
				sum += float64(v)
			}
			total += sum
			wantO = append(wantO, sum+float64(slices.Max(row))-float64(slices.Min(row)))
			wantI = append(wantI, int32(slices.Index(row, slices.Max(row))))
		}
		for c := range n {
			var col []float32
			for i := range m {
				col = append(col, x[i*n+c])
			}
			wantI = append(wantI, int32(slices.Index(col, slices.Min(col))))
			wantO = append(wantO, float64(slices.Max(col))+float64(slices.Index(col, slices.Max(col))))
		}
		wantO = append(wantO, total+float64(slices.Max(x)))
		for i := range m {
			v := int32(0)
			for _, e := range x[i*n : (i+1)*n] {
				v ^= int32(e)
			}
			wantI = append(wantI, v)
		}
		near(t, "o", sim.Download[float32](o), wantO, 1e-4, 1e-3)
		if got := sim.Download[int32](idx); !slices.Equal(got, wantI) {
			t.Errorf("indices are\n%v, want\n%v", got, wantI)
		}
	})
}

func TestReduceTuple(t *testing.T) {
	each(t, "reduce_tuple", nil, func(t *testing.T, k *kernel) {
		x := randn(newRand(t), 1024)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), o)
		sum := 0.0
		for _, v := range x {
			sum += math.Exp(float64(v))
		}
		near(t, "logsumexp", sim.Download[float32](o), []float64{math.Log(sum)}, 1e-5, 0)
	})
}

func TestCasts(t *testing.T) {
	each(t, "casts", nil, func(t *testing.T, k *kernel) {
		r := newRand(t)
		const n = 256
		x := randn(r, n)
		for i := range x {
			x[i] = min(float32(math.Abs(float64(x[i])*30)), 127) // in the range of all results
		}
		d := sim.New(sim.Options{})
		h, b, i8, u8, i64 := d.Alloc("h", 2*n), d.Alloc("b", 2*n), d.Alloc("i8", n), d.Alloc("u8", n), d.Alloc("i64", 8*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "x", x), h, b, i8, u8, i64)
		for i, v := range x {
			if got, want := sim.Download[uint16](h)[i], halfBits(v); got != want {
				t.Errorf("half of %v is %04x, want %04x", v, got, want)
			}
			if got, want := sim.Download[uint16](b)[i], uint16(constants.Float(llir.BF16, float64(v)).Bits); got != want {
				t.Errorf("bfloat16 of %v is %04x, want %04x", v, got, want)
			}
			if got, want := sim.Download[int8](i8)[i], int8(v); got != want {
				t.Errorf("int8 of %v is %d, want %d", v, got, want)
			}
			if got, want := sim.Download[uint8](u8)[i], uint8(v); got != want {
				t.Errorf("uint8 of %v is %d, want %d", v, got, want)
			}
			if got, want := sim.Download[int64](i64)[i], int64(v)+int64(int32(math.Float32bits(v))); got != want {
				t.Errorf("int64 of %v is %d, want %d", v, got, want)
			}
		}
	})
}

func TestHints(t *testing.T) {
	each(t, "hints", nil, func(t *testing.T, k *kernel) {
		r := newRand(t)
		const m, n = 256, 16
		x := randn(r, 1024)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*m)
		k.run(t, d, sim.Dim(2), sim.Upload(d, "x", x), o, int32(m), int32(n))
		want := make([]float64, m)
		for i := range want {
			c := i % 128 / 16 * n
			want[i] = float64(x[i] + x[c] + x[c+1])
		}
		near(t, "o", sim.Download[float32](o), want, 0, 0)
	})
}

// Loops, conditions and an early return; a loop that Triton has pipelined with
// asynchronous copies.
func TestControlFlow(t *testing.T) {
	each(t, "control_flow", func(s string) string { return anySize(s, "n") }, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, flag := range []int{0, 1, 2, 3, 4, 7, 12} {
			const n = 2*256 + 33
			x := randn(r, 3*256+16)
			d := sim.New(sim.Options{})
			o := d.Alloc("o", 4*n)
			k.run(t, d, sim.Dim(4), sim.Upload(d, "x", x), o, int32(n), int32(flag))
			want := make([]float64, n)
			for p := range want {
				acc := 3.0 // 0 + 1 + 2
				for i := range flag {
					switch {
					case i%2 == 0:
						acc += float64(x[p])
					case i%3 == 0:
						acc--
					default:
						acc *= 2
					}
				}
				for j := flag; j > 0; j-- {
					acc += float64(j)
				}
				for i := range flag {
					acc += float64(x[p+i])
				}
				if flag <= 3 {
					acc = -acc
				}
				want[p] = acc
			}
			near(t, fmt.Sprintf("o with flag %d", flag), sim.Download[float32](o), want, 1e-5, 1e-4)
		}
	})
}
