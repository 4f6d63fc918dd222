package kernels

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestDots: dots of one block, every kind of operand.
func TestDots(t *testing.T) {
	for _, c := range []struct {
		typ, out   string
		precision  any
		acc        kerneltest.Expr
		rtol, atol float64
	}{
		{"fp16", "fp32", nil, "tl.float32", 1e-5, 1e-4},
		{"bf16", "fp32", nil, "tl.float32", 1e-5, 1e-4},
		{"fp16", "fp16", nil, "tl.float16", 2e-2, 3e-2},
		{"i8", "i32", nil, "tl.int32", 0, 0},
		{"fp32", "fp32", kerneltest.Expr("'tf32'"), "tl.float32", 3e-3, 3e-2},
		{"fp32", "fp32", kerneltest.Expr("'tf32x3'"), "tl.float32", 1e-5, 1e-4},
		{"fp32", "fp32", kerneltest.Expr("'ieee'"), "tl.float32", 1e-5, 1e-4},
		{"fp8e5", "fp32", nil, "tl.float32", 1e-5, 1e-4},
		{"fp64", "fp64", nil, "tl.float64", 1e-12, 1e-12},
	} {
		name := fmt.Sprintf("%s-%s-%v", c.typ, c.out, c.precision)
		for _, size := range [][4]int{{64, 64, 64, 4}, {16, 32, 32, 1}, {32, 16, 64, 8}, {128, 32, 32, 2}} {
			m, n, k, warps := size[0], size[1], size[2], size[3]
			t.Run(fmt.Sprintf("%s/%d×%d×%d", name, m, n, k), func(t *testing.T) {
				r := kerneltest.Rand(t)
				kernel, atol := features("dots").Warps(warps), c.atol
				if p, ok := c.precision.(kerneltest.Expr); ok && !hasPrecision(kernel.CompiledFor(), string(p)) {
					t.Skipf("%s has no %s", kernel.CompiledFor(), p)
				}
				if c.typ == "fp64" && strings.HasPrefix(target, "npu:") && !onMLIR {
					t.Skip("an NPU has no dots of f64")
				}
				var a, b *array.Array
				if c.typ == "i8" {
					a, b = kerneltest.Randint(r, -128, 128, c.typ, m, k), kerneltest.Randint(r, -128, 128, c.typ, k, n)
				} else {
					a, b = kerneltest.Randn(r, c.typ, m, k), kerneltest.Randn(r, c.typ, k, n)
				}
				out := kerneltest.Empty(c.out, m, n)
				kernel.Run(t, kerneltest.Grid(1), a, b, out, m, n, k, c.precision, c.acc)
				if c.typ == "fp8e5" && kernel.CompiledFor() == "cuda:90" {
					atol = 2e-2 // dots of warpgroups keep 13 bits below the greatest term
				}
				if c.out == "fp16" && onMLIR {
					// Loops of MLIR add one product after another in f16. A sum is about 5 on its
					// way, and 64 roundings to 2⁻⁸ at most leave 0.01 on average.
					atol = 0.1
				}
				kerneltest.Near(t, "out", out, product(a, b, m, n, k), c.rtol, atol)
			})
		}
	}
}

// hasPrecision reports whether dots of f32 on a target can have an input precision.
func hasPrecision(target, precision string) bool {
	switch {
	case strings.HasPrefix(target, "cuda:"), strings.HasPrefix(target, "npu:"), precision == "'ieee'":
		return true
	}
	return target == "hip:gfx942" && precision == "'tf32'"
}

// TestDotChain is attention of one block.
func TestDotChain(t *testing.T) {
	forWarps(t, features("dot_chain"), func(t *testing.T, kernel kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		const m, d = 64, 32
		q, k, v, out := kerneltest.Randn(r, "fp16", m, d), kerneltest.Randn(r, "fp16", m, d), kerneltest.Randn(r, "fp16", m, d), kerneltest.Empty("fp32", m, d)
		kernel.Run(t, kerneltest.Grid(1), q, k, v, out, m, d)
		want := make([]float64, m*d)
		for i := range m {
			s := make([]float64, m)
			for j := range m {
				for e := range d {
					s[j] += q.At(i*d+e) * k.At(j*d+e)
				}
			}
			for j, p := range softmax(s, m) {
				for e := range d {
					want[i*d+e] += p * v.At(j*d+e)
				}
			}
		}
		kerneltest.Near(t, "out", out, want, 5e-3, 5e-3)
	})
}

// e2m1 are the values of 4-bit floats.
var e2m1 = []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

// unpackE2M1 makes the m×k matrix of packed 4-bit floats, the low one first,
// with a power of two for each 32 of a row.
func unpackE2M1(packed, scales *array.Array, m, k int) *array.Array {
	a := kerneltest.Zeros("fp64", m, k)
	for i := range m * k {
		nibble := packed.Int(i/2) >> (4 * (i % 2)) & 15
		a.Set(i, e2m1[nibble]*math.Exp2(float64(scales.Int(i/32)-127)))
	}
	return a
}

// TestDotScaled: 4-bit floats with a scale for each 32 of them.
func TestDotScaled(t *testing.T) {
	r := kerneltest.Rand(t)
	const m, n, k = 64, 64, 64
	packed, scales := kerneltest.Randint(r, 0, 256, "u8", m, k/2), kerneltest.Randint(r, 124, 131, "u8", m, k/32)
	b, out := kerneltest.Randn(r, "bf16", k, n), kerneltest.Empty("fp32", m, n)
	features("dot_scaled").Run(t, kerneltest.Grid(1), packed, scales, b, out, m, n, k)
	kerneltest.Near(t, "out", out, product(unpackE2M1(packed, scales, m, k), b, m, n, k), 1e-4, 1e-3)
}

// TestDotKinds: one kernel with dots of every rank, type and accumulator. It stores to
// where it loads operands from, so that blocks of a cluster would race.
func TestDotKinds(t *testing.T) {
	const n = 32
	forWarps(t, golden(t, "dots").With(oneBlock), func(t *testing.T, kernel kerneltest.Kernel) {
		r := kerneltest.Rand(t)
		h, f, i8, e := kerneltest.Randn(r, "fp16", n, n), kerneltest.Randn(r, "fp32", n, n), kerneltest.Randint(r, -9, 10, "i8", n, n), kerneltest.Randn(r, "fp8e5", n, n)
		hh, ff, ii, ee := product(h, h, n, n, n), product(f, f, n, n, n), product(i8, i8, n, n, n), product(e, e, n, n, n)
		kernel.Run(t, kerneltest.Grid(1), h, f, i8, e)
		// Of h: itself, rounded to fp16, twice in a batch, four times in two.
		kerneltest.Near(t, "f", f, each(n*n, func(i int) float64 { return 8*hh[i] + 2*ff[i] + ee[i] + ii[i] }), 1e-4, 0.05)
	})
}

// TestDotScaledBoth: both operands have scales, and one is an 8-bit float.
func TestDotScaledBoth(t *testing.T) {
	const m, n, k = 64, 64, 64
	r := kerneltest.Rand(t)
	x, scales, y := kerneltest.Randint(r, 0x30, 0x40, "u8", k, n), kerneltest.Randint(r, 125, 129, "u8", m, k/32), kerneltest.Empty("fp16", m, n)
	named(golden(t, "dots"), "scaled").Run(t, kerneltest.Grid(1), x, scales, y)
	a, b := unpackE2M1(x, scales, m, k), kerneltest.Zeros("fp64", k, n)
	bits := array.Array{Type: array.Named("fp8e5"), Shape: x.Shape, Data: x.Data}
	for i := range k * n {
		b.Set(i, bits.At(i)*math.Exp2(float64(scales.Int(i%n*(k/32)+i/n/32)-127)))
	}
	kerneltest.Near(t, "y", y, product(a, b, m, n, k), 2e-3, 2e-2)
}
