package gpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// scaledCase is a dot of block-scaled matrices.
type scaledCase struct {
	a, b           string // formats
	scaleA, scaleB bool
	// acrossA and acrossB: two numbers of 4 bits that share a byte are of two rows (or
	// columns), not of two k.
	acrossA, acrossB bool
	m, n, block, k   int
	warps, side      int
	nan              bool
}

// scaledOperand is a random matrix of rows×k numbers, as bytes, with its scales.
type scaledOperand struct {
	bytes, scales *array.Array
	values        []float64 // rows×k, times their scales
}

func newScaledOperand(r *rand.Rand, format string, rows, k int, hasScale, across, nan bool) scaledOperand {
	per := 1
	if format == "e2m1" {
		per = 2
	}
	typ := "u8"
	if format == "bf16" || format == "fp16" {
		typ = format
	}
	o := scaledOperand{kerneltest.Zeros(typ, rows*k/per), kerneltest.Zeros("u8", rows*k/32), make([]float64, rows*k)}
	small := map[string]string{"e4m3": "fp8e4nv", "e5m2": "fp8e5"}[format]
	one := kerneltest.Zeros("fp32", 1)
	if small != "" {
		one = kerneltest.Zeros(small, 1)
	}
	for i := range rows {
		for l := range k {
			if per == 2 {
				x := int64(r.IntN(16))
				o.values[i*k+l] = math.Copysign([]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}[x&7], float64(7-x))
				at, high := i*(k/2)+l/2, l%2
				if across {
					at, high = i/2*k+l, i%2
				}
				o.bytes.SetInt(at, int64(o.bytes.At(at))|x<<(4*high))
				continue
			}
			if typ != "u8" {
				o.bytes.Set(i*k+l, r.NormFloat64())
				o.values[i*k+l] = o.bytes.At(i*k + l)
				continue
			}
			one.Set(0, r.NormFloat64())
			o.values[i*k+l] = one.At(0)
			o.bytes.SetInt(i*k+l, int64(array.Named(small).Bits(one.At(0))))
		}
	}
	for at := range rows * k / 32 {
		s := 120 + r.IntN(12)
		if nan && r.IntN(rows*k/32) == 0 {
			s = 255
		}
		o.scales.SetInt(at, int64(s))
		f := math.Ldexp(1, s-127)
		if s == 255 {
			f = math.NaN()
		}
		for l := range 32 {
			if hasScale {
				o.values[at*32+l] *= f
			}
		}
	}
	return o
}

// source is the kernel: each operand has rows×k bytes, k/2 of them where numbers of 4 bits
// lie along k, and half the rows where they do not.
func (c *scaledCase) source() string {
	load := func(name, free, rows, format string, across, right bool) string {
		k, end, per := "l", "K", "1"
		switch {
		case format == "e2m1" && across:
			free = "tl.arange(0, " + rows + " // 2)"
		case format == "e2m1":
			k, end, per = "tl.arange(0, B // 2)", "(K // 2)", "2"
		}
		row, column := "[:, None]", "[None, :]"
		if right {
			row, column = column, row
		}
		text := fmt.Sprintf("        %[1]s = tl.load(%[1]s_ptr + %[2]s%[3]s * %[4]s + (at // %[5]s + %[6]s)%[7]s, mask=(at // %[5]s + %[6]s)%[7]s < %[4]s, other=0)\n",
			name, free, row, end, per, k, column)
		if to := map[string]string{"e4m3": "float8e4nv", "e5m2": "float8e5"}[format]; to != "" {
			text += fmt.Sprintf("        %[1]s = %[1]s.to(tl.%[2]s, bitcast=True)\n", name, to)
		}
		return text
	}
	scale := func(name, free string, has bool) string {
		if !has {
			return fmt.Sprintf("        %s = None\n", name)
		}
		at := "(at // 32 + tl.arange(0, B // 32))[None, :]"
		return fmt.Sprintf("        %s = tl.load(%s_ptr + (%s)[:, None] * (K // 32) + %s, mask=%s < K // 32, other=0)\n", name, name, free, at, at)
	}
	python := map[bool]string{true: "False", false: "True"}
	return `def k(a_ptr, sa_ptr, b_ptr, sb_ptr, out, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    l = tl.arange(0, B)
    acc = tl.zeros((M, N), tl.float32)
    for at in range(0, K, B):
` + load("a", "i", "M", c.a, c.acrossA, false) + load("b", "j", "N", c.b, c.acrossB, true) + scale("sa", "i", c.scaleA) + scale("sb", "j", c.scaleB) +
		"        acc = tl.dot_scaled(a, sa, '" + c.a + "', b, sb, '" + c.b + "', acc, lhs_k_pack=" + python[c.acrossA] + ", rhs_k_pack=" + python[c.acrossB] + `)
    tl.store(out + i[:, None] * N + j[None, :], acc)
`
}

func (c *scaledCase) run(t *testing.T, chip string, r *rand.Rand) {
	a := newScaledOperand(r, c.a, c.m, c.k, c.scaleA, c.acrossA, c.nan && c.scaleA)
	b := newScaledOperand(r, c.b, c.n, c.k, c.scaleB, c.acrossB, c.nan && c.scaleB)
	want, most := make([]float64, c.m*c.n), 0.0
	for i := range c.m {
		for j := range c.n {
			for l := range c.k {
				want[i*c.n+j] += a.values[i*c.k+l] * b.values[j*c.k+l]
			}
			if !math.IsNaN(want[i*c.n+j]) {
				most = max(most, math.Abs(want[i*c.n+j]))
			}
		}
	}
	out := kerneltest.Zeros("fp32", c.m*c.n)
	kernelOf(chip, c.source(), kerneltest.Options{"num_warps": c.warps, "matrix_instr_nonkdim": c.side}).
		Run(t, kerneltest.Grid(1), a.bytes, a.scales, b.bytes, b.scales, out, c.k, c.m, c.n, c.block)
	kerneltest.Near(t, "product", out, want, 1e-5, 1e-5*most)
}

// TestScaledDots multiplies block-scaled matrices on CDNA: by the instructions of gfx950
// for them, or after widening or decomposing them. Each run draws some cases; TRITONC_ALL has all.
func TestScaledDots(t *testing.T) {
	formats := []string{"e2m1", "e4m3", "e5m2", "bf16", "fp16"}
	for _, chip := range []string{"gfx90a", "gfx942", "gfx950"} {
		r := kerneltest.Rand(t)
		for _, a := range formats {
			for _, b := range formats {
				for _, c := range []scaledCase{
					{scaleA: true, scaleB: true, m: 64, n: 32, block: 128, k: 160, warps: 4},
					{scaleA: true, m: 32, n: 128, block: 64, k: 96, warps: 2},
					{scaleB: true, m: 16, n: 64, block: 128, k: 224, warps: 4},
					{m: 32, n: 32, block: 64, k: 64, warps: 1},
					{scaleA: true, scaleB: true, m: 16, n: 16, block: 256, k: 256, warps: 1, nan: true},
					{scaleA: true, scaleB: true, m: 64, n: 64, block: 128, k: 128, warps: 4, side: 16, nan: true},
					{scaleA: true, scaleB: true, m: 32, n: 32, block: 32, k: 96, warps: 2, nan: true},
					{scaleA: true, m: 64, n: 16, block: 32, k: 96, warps: 4, nan: true},
					{scaleB: true, m: 16, n: 64, block: 64, k: 96, warps: 2, nan: true},
					{scaleA: true, scaleB: true, acrossA: true, m: 64, n: 32, block: 64, k: 96, warps: 2},
					{scaleB: true, acrossB: true, m: 32, n: 64, block: 128, k: 160, warps: 4},
					{scaleA: true, scaleB: true, acrossA: true, acrossB: true, m: 32, n: 32, block: 128, k: 128, warps: 4, side: 16},
				} {
					wideA, wideB := a == "bf16" || a == "fp16", b == "bf16" || b == "fp16"
					if wideA && wideB || wideA && c.scaleA || wideB && c.scaleB {
						continue
					}
					if c.a, c.b = a, b; c.acrossA && a != "e2m1" || c.acrossB && b != "e2m1" {
						continue
					}
					if os.Getenv("TRITONC_ALL") == "" && r.IntN(6) > 0 {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%dx%dx%d", chip, a, b, c.m, c.n, c.block), func(t *testing.T) { c.run(t, chip, r) })
				}
			}
		}
	}
}
