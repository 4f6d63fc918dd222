package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim"
)

// transposed transposes an m×n matrix.
func transposed(x []float64, m, n int) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i%n*m+i/n] = v
	}
	return y
}

// strided lays a row-major m×n matrix of elements of size bytes out with the
// given strides, in elements.
func strided(x []byte, m, n, size, rowStride, colStride int) []byte {
	y := make([]byte, ((m-1)*rowStride+(n-1)*colStride+1)*size)
	for i := range m {
		for j := range n {
			copy(y[(i*rowStride+j*colStride)*size:], x[(i*n+j)*size:][:size])
		}
	}
	return y
}

type shape struct{ m, n, k int }

// halfRound is the relative error of rounding to f16, roundBF to bfloat16.
const (
	halfRound = 1.0 / 2048
	roundBF   = 1.0 / 256
)

// A dot pipelined with asynchronous copies. Rows may be any number; columns
// and K are multiples of eight, which the vectors of the copies rely on.
func TestMatmul(t *testing.T) {
	for _, c := range []struct {
		file   string
		data   func(*rand.Rand, int) operand
		out    func([]byte) []float64
		bn     int
		rtol   float64
		shapes []shape
	}{
		{"matmul_fp16", halfOperand, float16s, 128, halfRound, []shape{{128, 128, 64}, {77, 136, 208}, {1, 8, 8}, {129, 264, 136}}},
		{"matmul_bf16", bfloatOperand, bfloat16s, 128, roundBF, []shape{{144, 128, 72}}},
		{"matmul_fp16_8w", halfOperand, float16s, 256, halfRound, []shape{{77, 264, 328}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			edit := func(s string) string { return eights(anySize(s, "M"), "N", "K", "sam", "sbk", "scm") }
			each(t, c.file, edit, func(t *testing.T, k *kernel) {
				r := newRand(t)
				for _, s := range c.shapes {
					a, b := c.data(r, s.m*s.k), c.data(r, s.k*s.n)
					d := sim.New(sim.Options{})
					out := d.Alloc("c", 2*s.m*s.n)
					grid := (s.m + 127) / 128 * ((s.n + c.bn - 1) / c.bn)
					k.run(t, d, sim.Dim(grid), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), out,
						int32(s.m), int32(s.n), int32(s.k), int32(s.k), int32(s.n), int32(s.n))
					within(t, fmt.Sprintf("c of %v", s), c.out(out.Read()), product(a.values, b.values, s.m, s.n, s.k),
						sumBound(a.values, b.values, s.m, s.n, s.k, 1e-6), c.rtol)
				}
			})
		})
	}
}

// eights weakens the promise that sizes are multiples of 16 to multiples of 8.
func eights(src string, params ...string) string {
	for _, p := range params {
		src = strings.Replace(src, "%"+p+": i32 {tt.divisibility = 16 : i32}", "%"+p+": i32 {tt.divisibility = 8 : i32}", 1)
	}
	return src
}

// All strides free, any sizes.
func TestMatmulStrided(t *testing.T) {
	edit := func(s string) string {
		return anySize(s, "M", "N", "K", "sam", "sak", "sbk", "sbn", "scm", "scn")
	}
	each(t, "matmul_fp16_strided", edit, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, s := range []shape{{77, 131, 99}, {1, 1, 1}, {129, 3, 65}} {
			a, b := halfOperand(r, s.m*s.k), halfOperand(r, s.k*s.n)
			d := sim.New(sim.Options{})
			// A by columns, B by rows with gaps, C by columns.
			bufA := sim.Upload(d, "a", strided(a.bytes, s.m, s.k, 2, 1, s.m))
			bufB := sim.Upload(d, "b", strided(b.bytes, s.k, s.n, 2, 2*s.n+3, 2))
			out := d.Alloc("c", 2*s.m*s.n)
			grid := (s.m + 127) / 128 * ((s.n + 127) / 128)
			k.run(t, d, sim.Dim(grid), bufA, bufB, out, int32(s.m), int32(s.n), int32(s.k),
				int32(1), int32(s.m), int32(2*s.n+3), int32(2), int32(1), int32(s.m))
			want := product(a.values, b.values, s.m, s.n, s.k)
			within(t, fmt.Sprintf("c of %v", s), float16s(out.Read()), transposed(want, s.m, s.n),
				transposed(sumBound(a.values, b.values, s.m, s.n, s.k, 1e-6), s.m, s.n), halfRound)
		}
	})
}

// A persistent kernel whose B is transposed in shared memory.
func TestMatmulDescriptors(t *testing.T) {
	each(t, "matmul_desc", nil, func(t *testing.T, k *kernel) {
		r := newRand(t)
		s := shape{144, 272, 80}
		a, b := halfOperand(r, s.m*s.k), halfOperand(r, s.n*s.k)
		d := sim.New(sim.Options{})
		out := d.Alloc("c", 2*s.m*s.n)
		k.run(t, d, sim.Dim(132), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), out, int32(s.m), int32(s.n), int32(s.k))
		bt := transposed(b.values, s.n, s.k)
		within(t, "c", float16s(out.Read()), product(a.values, bt, s.m, s.n, s.k), sumBound(a.values, bt, s.m, s.n, s.k, 1e-6), halfRound)
	})
}

// softmaxRow turns scores into weights and gives the logarithm of their sum.
func softmaxRow(s []float64) (logSum float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range s {
		top = max(top, v)
	}
	for i, v := range s {
		s[i] = math.Exp(v - top)
		sum += s[i]
	}
	for i := range s {
		s[i] /= sum
	}
	return top + math.Log(sum)
}

func TestFlashForward(t *testing.T) {
	for _, causal := range []bool{false, true} {
		name := "flash_fwd_full"
		if causal {
			name = "flash_fwd_causal"
		}
		t.Run(name, func(t *testing.T) {
			each(t, name, nil, func(t *testing.T, k *kernel) {
				const heads, n, dim = 2, 256, 64
				const scale = float32(0.125)
				r := newRand(t)
				q, key, v := halfOperand(r, heads*n*dim), halfOperand(r, heads*n*dim), halfOperand(r, heads*n*dim)
				d := sim.New(sim.Options{})
				o, l := d.Alloc("O", 2*heads*n*dim), d.Alloc("L", 4*heads*n)
				k.run(t, d, sim.Dim(n/128, heads), sim.Upload(d, "Q", q.bytes), sim.Upload(d, "K", key.bytes), sim.Upload(d, "V", v.bytes),
					o, l, scale, int32(heads*n*dim), int32(n*dim), int32(dim), int32(heads), int32(n))
				var wantO, wantL []float64
				for h := range heads {
					at := func(x []float64) []float64 { return x[h*n*dim : (h+1)*n*dim] }
					s := product(at(q.values), transposed(at(key.values), n, dim), n, n, dim)
					for i := range n {
						row := s[i*n : (i+1)*n]
						for j := range row {
							if row[j] *= float64(scale); causal && j > i {
								row[j] = math.Inf(-1)
							}
						}
						// The kernel's sum begins with 1 at a maximum of minus infinity.
						wantL = append(wantL, softmaxRow(row)/math.Ln2)
					}
					wantO = append(wantO, product(s, at(v.values), n, dim, n)...)
				}
				near(t, "L", sim.Download[float32](l), wantL, 1e-4, 1e-4)
				near(t, "O", widened(sim.Download[uint16](o)), wantO, 2e-3, 2e-3)
			})
		})
	}
}

// The result of one dot is the operand of the next.
func TestDotChain(t *testing.T) {
	each(t, "dot_chain", nil, func(t *testing.T, k *kernel) {
		const n = 64
		r := newRand(t)
		small := func() operand {
			x := randn(r, n*n)
			for i := range x {
				x[i] *= 0.3
			}
			h := halfs(x)
			return operand{sim.Bytes(h), doubles(widened(h))}
		}
		q, key, v := small(), small(), halfOperand(r, n*n)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*n*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "q", q.bytes), sim.Upload(d, "k", key.bytes), sim.Upload(d, "v", v.bytes), o)
		s := product(q.values, transposed(key.values, n, n), n, n, n)
		for i := range n {
			softmaxRow(s[i*n : (i+1)*n])
		}
		near(t, "o", sim.Download[float32](o), product(s, v.values, n, n, n), 1e-3, 1e-3)
	})
}

// e2m1 operands with a scale for each 32.
func TestDotScaled(t *testing.T) {
	each(t, "dot_scaled", nil, func(t *testing.T, k *kernel) {
		const n = 64
		r := newRand(t)
		e2m1 := [16]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}
		a, scales, aw := make([]uint8, n*n/2), make([]uint8, n*n/32), make([]float64, n*n)
		for i := range a {
			a[i] = uint8(r.UintN(256))
		}
		for i := range scales {
			scales[i] = uint8(120 + r.UintN(14))
		}
		for i := range aw {
			aw[i] = e2m1[a[i/2]>>(i%2*4)&15] * math.Ldexp(1, int(scales[i/32])-127)
		}
		b := bfloatOperand(r, n*n)
		d := sim.New(sim.Options{})
		o := d.Alloc("o", 4*n*n)
		k.run(t, d, sim.Dim(1), sim.Upload(d, "a", a), sim.Upload(d, "as", scales), sim.Upload(d, "b", b.bytes), o)
		within(t, "o", float32s(o.Read()), product(aw, b.values, n, n, n), sumBound(aw, b.values, n, n, n, 1e-6), 0)
	})
}

func TestTranspose(t *testing.T) {
	edit := func(s string) string { return anySize(s, "M", "N") }
	each(t, "transpose2d", edit, func(t *testing.T, k *kernel) {
		r := newRand(t)
		for _, s := range []shape{{64, 64, 0}, {65, 33, 0}, {1, 127, 0}} {
			x := make([]uint16, s.m*s.n)
			want := make([]uint16, len(x))
			for i := range x {
				x[i] = uint16(r.Uint32())
				want[i%s.n*s.m+i/s.n] = x[i]
			}
			d := sim.New(sim.Options{})
			o := d.Alloc("o", 2*len(x))
			k.run(t, d, sim.Dim((s.m+63)/64, (s.n+63)/64), sim.Upload(d, "x", x), o, int32(s.m), int32(s.n))
			for i, v := range sim.Download[uint16](o) {
				if v != want[i] {
					t.Fatalf("%v: o[%d] = %04x, want %04x", s, i, v, want[i])
				}
			}
		}
	})
}

// The same kernel, its operands copied through descriptors into three buffers
// each and its result written so: Triton's module for compute capability 9.0, but
// for the dot, which takes its operands from registers.
func TestMatmulTMA(t *testing.T) {
	// Two programs, so that each has several tiles.
	src := strings.Replace(given(t, "matmul_tma"), "arith.constant 132 : i32", "arith.constant 2 : i32", 1)
	k := build(t, "matmul_tma.ttgir", src, 90)
	r := newRand(t)
	for _, s := range []shape{{144, 272, 80}, {128, 128, 8}, {40, 136, 0}, {200, 72, 520}} {
		a, b := halfOperand(r, s.m*s.k), halfOperand(r, s.n*s.k)
		d := sim.New(sim.Options{Random: true, Seed: r.Uint64()})
		out := d.Alloc("c", 2*s.m*s.n)
		rep := k.run(t, d, sim.Dim(2), sim.Upload(d, "a", a.bytes), sim.Upload(d, "b", b.bytes), out, int32(s.m), int32(s.n), int32(s.k))
		if n := rep.Counters; n.SharedWavefronts != n.SharedWavefrontsNeeded {
			t.Errorf("%v: %d passes through the banks of shared memory, where %d would do", s, n.SharedWavefronts, n.SharedWavefrontsNeeded)
		}
		bt := transposed(b.values, s.n, s.k)
		within(t, "c", float16s(out.Read()), product(a.values, bt, s.m, s.n, s.k), sumBound(a.values, bt, s.m, s.n, s.k, 1e-6), halfRound)
	}
}
