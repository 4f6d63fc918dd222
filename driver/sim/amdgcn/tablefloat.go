package amdgcn

import (
	"math"
	"math/big"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// floatRows are the instructions on floats other than conversions and comparisons.
func floatRows() []row {
	var rows []row
	add := func(r ...row) { rows = append(rows, r...) }
	add(withFLOPs(1,
		op2("v_add_f32", "f=ff", func(a, b uint64) uint64 { return u32(f32(a) + f32(b)) }),
		op2("v_sub_f32", "f=ff", func(a, b uint64) uint64 { return u32(f32(a) - f32(b)) }),
		op2("v_subrev_f32", "f=ff", func(a, b uint64) uint64 { return u32(f32(b) - f32(a)) }),
		op2("v_mul_f32", "f=ff", func(a, b uint64) uint64 { return u32(f32(a) * f32(b)) }),
		op2("v_mul_legacy_f32", "f=ff", mulLegacy),
		op2("v_mul_dx9_zero_f32", "f=ff", mulLegacy),
		op2("v_add_f16", "h=hh", func(a, b uint64) uint64 { return uint64(toHalf(halfOf(a) + halfOf(b))) }),
		op2("v_sub_f16", "h=hh", func(a, b uint64) uint64 { return uint64(toHalf(halfOf(a) - halfOf(b))) }),
		op2("v_subrev_f16", "h=hh", func(a, b uint64) uint64 { return uint64(toHalf(halfOf(b) - halfOf(a))) }),
		op2("v_mul_f16", "h=hh", func(a, b uint64) uint64 { return uint64(toHalf(halfOf(a) * halfOf(b))) }),
		op2("v_add_f64", "d=dd", func(a, b uint64) uint64 { return u64(f64(a) + f64(b)) }),
		op2("v_mul_f64", "d=dd", func(a, b uint64) uint64 { return u64(f64(a) * f64(b)) }),
	)...)
	add(withFLOPs(2,
		op3("v_fma_f32", "f=fff", fma32),
		op3("v_fmac_f32", "f=ff+", fma32),
		op3("v_fmamk_f32", "f=fff", fma32),
		op3("v_fmaak_f32", "f=fff", fma32),
		op3("v_mad_f32", "f=fff", mad32),
		op3("v_mac_f32", "f=ff+", mad32),
		op3("v_madmk_f32", "f=fff", mad32),
		op3("v_madak_f32", "f=fff", mad32),
		op3("v_fma_f16", "h=hhh", fma16),
		op3("v_fmac_f16", "h=hh+", fma16),
		op3("v_fmamk_f16", "h=hhh", fma16),
		op3("v_fmaak_f16", "h=hhh", fma16),
		op3("v_mad_f16", "h=hhh", fma16),
		op3("v_fma_f64", "d=ddd", func(a, b, c uint64) uint64 { return u64(math.FMA(f64(a), f64(b), f64(c))) }),
		op3("v_fmac_f64", "d=dd+", func(a, b, c uint64) uint64 { return u64(math.FMA(f64(a), f64(b), f64(c))) }),
		op3("v_dot2_f32_f16", "f=uuf", dot2(dF16)),
		op3("v_dot2c_f32_f16", "f=uu+", dot2(dF16)),
		op3("v_dot2_f32_bf16", "f=uuf", dot2(dBF16)),
	)...)
	add(
		float1("v_floor_f32", "f=f", math.Floor), float1("v_ceil_f32", "f=f", math.Ceil),
		float1("v_trunc_f32", "f=f", math.Trunc), float1("v_rndne_f32", "f=f", math.RoundToEven),
		float1("v_fract_f32", "f=f", func(x float64) float64 { return math.Min(x-math.Floor(x), 1-0x1p-24) }),
		float1("v_floor_f64", "d=d", math.Floor), float1("v_ceil_f64", "d=d", math.Ceil),
		float1("v_trunc_f64", "d=d", math.Trunc), float1("v_rndne_f64", "d=d", math.RoundToEven),
		float1("v_fract_f64", "d=d", func(x float64) float64 { return math.Min(x-math.Floor(x), 1-0x1p-53) }),
		float1("v_floor_f16", "h=h", math.Floor), float1("v_ceil_f16", "h=h", math.Ceil),
		float1("v_trunc_f16", "h=h", math.Trunc), float1("v_rndne_f16", "h=h", math.RoundToEven),
		float1("v_fract_f16", "h=h", func(x float64) float64 { return math.Min(x-math.Floor(x), 1-0x1p-11) }),
		special1("v_exp_f32", "f=f", math.Exp2), special1("v_log_f32", "f=f", math.Log2),
		special1("v_rcp_f32", "f=f", func(x float64) float64 { return 1 / x }),
		special1("v_rcp_iflag_f32", "f=f", func(x float64) float64 { return 1 / x }),
		special1("v_rsq_f32", "f=f", func(x float64) float64 { return 1 / math.Sqrt(x) }),
		special1("v_sqrt_f32", "f=f", math.Sqrt),
		special1("v_sin_f32", "f=f", func(x float64) float64 { return math.Sin(2 * math.Pi * (x - math.Round(x))) }),
		special1("v_cos_f32", "f=f", func(x float64) float64 { return math.Cos(2 * math.Pi * (x - math.Round(x))) }),
		special1("v_exp_f16", "h=h", math.Exp2), special1("v_log_f16", "h=h", math.Log2),
		special1("v_rcp_f16", "h=h", func(x float64) float64 { return 1 / x }),
		special1("v_rsq_f16", "h=h", func(x float64) float64 { return 1 / math.Sqrt(x) }),
		special1("v_sqrt_f16", "h=h", math.Sqrt),
		special1("v_sin_f16", "h=h", func(x float64) float64 { return math.Sin(2 * math.Pi * (x - math.Round(x))) }),
		special1("v_cos_f16", "h=h", func(x float64) float64 { return math.Cos(2 * math.Pi * (x - math.Round(x))) }),
		special1("v_rcp_f64", "d=d", func(x float64) float64 { return 1 / x }),
		special1("v_rsq_f64", "d=d", func(x float64) float64 { return 1 / math.Sqrt(x) }),
		special1("v_sqrt_f64", "d=d", math.Sqrt),
		op2("v_ldexp_f32", "f=fu", func(a, b uint64) uint64 { return u32(ldexp32(f32(a), int(int32(b)))) }),
		op2("v_ldexp_f64", "d=du", func(a, b uint64) uint64 { return u64(math.Ldexp(f64(a), int(int32(b)))) }),
		op2("v_ldexp_f16", "h=hs", func(a, b uint64) uint64 { return uint64(toHalf(math.Ldexp(halfOf(a), int(int16(b))))) }),
		op1("v_frexp_mant_f32", "f=f", func(a uint64) uint64 { return dF32.encode(mantissa(dF32.value(a))) }),
		op1("v_frexp_mant_f64", "d=d", func(a uint64) uint64 { return dF64.encode(mantissa(dF64.value(a))) }),
		op1("v_frexp_mant_f16", "h=h", func(a uint64) uint64 { return dF16.encode(mantissa(dF16.value(a))) }),
		op1("v_frexp_exp_i32_f32", "u=f", func(a uint64) uint64 { return exponent(dF32.value(a)) }),
		op1("v_frexp_exp_i32_f64", "u=d", func(a uint64) uint64 { return exponent(dF64.value(a)) }),
		op1("v_frexp_exp_i16_f16", "s=h", func(a uint64) uint64 { return exponent(dF16.value(a)) }),
		sig(row{name: "v_div_scale_f32", carry: divScale(dF32, 96, 64, 23), masks: "o"}, "f=fff o"),
		sig(row{name: "v_div_scale_f64", carry: divScale(dF64, 768, 128, 53), masks: "o"}, "d=ddd o"),
		sig(row{name: "v_div_fmas_f32", carry: divFmas32, flops: 2}, "f=fff v"),
		sig(row{name: "v_div_fmas_f64", carry: divFmas64, flops: 2}, "d=ddd v"),
		op3("v_div_fixup_f32", "f=fff", divFixup(dF32, -150)),
		op3("v_div_fixup_f64", "d=ddd", divFixup(dF64, -1075)),
		op3("v_div_fixup_f16", "h=hhh", divFixup(dF16, -40)),
	)
	for _, t := range [...]struct {
		name string
		t    dtype
	}{{"f32", dF32}, {"f64", dF64}, {"f16", dF16}} {
		add(minMax(t.name, t.t)...)
	}
	return rows
}

// minMax are the instructions that choose among numbers. A number is chosen before a
// NaN, and -0 is less than +0.
func minMax(suffix string, t dtype) []row {
	least := func(a, b uint64) uint64 { return choose(t, a, b, false) }
	most := func(a, b uint64) uint64 { return choose(t, a, b, true) }
	c := string(t)
	rows := []row{
		op2("v_min_"+suffix, c+"="+c+c, least), op2("v_max_"+suffix, c+"="+c+c, most),
		op2("v_min_num_"+suffix, c+"="+c+c, least), op2("v_max_num_"+suffix, c+"="+c+c, most),
	}
	// Of gfx12 and gfx950: a NaN is chosen before a number.
	minimum := func(a, b uint64) uint64 { return propagate(t, a, b, least) }
	maximum := func(a, b uint64) uint64 { return propagate(t, a, b, most) }
	rows = append(rows, op2("v_minimum_"+suffix, c+"="+c+c, minimum), op2("v_maximum_"+suffix, c+"="+c+c, maximum))
	if t == dF64 {
		return rows
	}
	med := func(x, y, z uint64) uint64 {
		if isNaN(t, x) || isNaN(t, y) || isNaN(t, z) {
			return least(least(x, y), z)
		}
		return most(least(x, y), least(most(x, y), z))
	}
	s := c + "=" + c + c + c
	for _, num := range [...]string{"", "_num"} {
		rows = append(rows,
			op3("v_min3"+num+"_"+suffix, s, func(x, y, z uint64) uint64 { return least(least(x, y), z) }),
			op3("v_max3"+num+"_"+suffix, s, func(x, y, z uint64) uint64 { return most(most(x, y), z) }),
			op3("v_minmax"+num+"_"+suffix, s, func(x, y, z uint64) uint64 { return most(least(x, y), z) }),
			op3("v_maxmin"+num+"_"+suffix, s, func(x, y, z uint64) uint64 { return least(most(x, y), z) }),
			op3("v_med3"+num+"_"+suffix, s, med),
		)
	}
	return append(rows,
		op3("v_minimummaximum_"+suffix, s, func(x, y, z uint64) uint64 { return maximum(minimum(x, y), z) }),
		op3("v_maximumminimum_"+suffix, s, func(x, y, z uint64) uint64 { return minimum(maximum(x, y), z) }),
		op3("v_minimum3_"+suffix, s, func(x, y, z uint64) uint64 { return minimum(minimum(x, y), z) }),
		op3("v_maximum3_"+suffix, s, func(x, y, z uint64) uint64 { return maximum(maximum(x, y), z) }),
	)
}

func isNaN(t dtype, a uint64) bool { v := t.value(a); return v != v }

func propagate(t dtype, a, b uint64, f func(a, b uint64) uint64) uint64 {
	switch {
	case isNaN(t, a):
		return quiet(t, a)
	case isNaN(t, b):
		return quiet(t, b)
	}
	return f(a, b)
}

// quiet makes a NaN a quiet one.
func quiet(t dtype, a uint64) uint64 {
	return a | map[dtype]uint64{dF32: 1 << 22, dF64: 1 << 51, dF16: 1 << 9, dBF16: 1 << 6}[t]
}

func choose(t dtype, a, b uint64, most bool) uint64 {
	x, y := t.value(a), t.value(b)
	switch {
	case x != x && y != y:
		return quiet(t, a)
	case x != x:
		return b
	case y != y:
		return a
	}
	less := x < y || x == y && math.Signbit(x) && !math.Signbit(y)
	if less != most {
		return a
	}
	return b
}

func mulLegacy(a, b uint64) uint64 {
	if f32(a) == 0 || f32(b) == 0 {
		return 0
	}
	return u32(f32(a) * f32(b))
}

// fma32 rounds once: the product is exact in a double, the sum is rounded to odd.
func fma32(a, b, c uint64) uint64 {
	return u32(float32(simt.AddOdd(float64(f32(a))*float64(f32(b)), float64(f32(c)))))
}

func mad32(a, b, c uint64) uint64 {
	p := f32(a) * f32(b)
	return u32(p + f32(c))
}

func fma16(a, b, c uint64) uint64 {
	return uint64(toHalf(simt.AddOdd(halfOf(a)*halfOf(b), halfOf(c))))
}

// dot2 is a sum of two products of halves and a float.
func dot2(t dtype) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		x := t.value(a&0xffff)*t.value(b&0xffff) + t.value(a>>16&0xffff)*t.value(b>>16&0xffff)
		return u32(float32(simt.AddOdd(x, float64(f32(c)))))
	}
}

// ldexp32 rounds once, also to a subnormal number.
func ldexp32(x float32, n int) float32 {
	return float32(math.Ldexp(float64(x), max(min(n, 600), -600)))
}

func mantissa(x float64) float64 {
	m, _ := math.Frexp(x)
	return m
}

func exponent(x float64) uint64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return 0
	}
	_, e := math.Frexp(x)
	return uint64(uint32(int32(e)))
}

// biased is the exponent as a float of the type stores it.
func biased(t dtype, a uint64) int {
	switch t {
	case dF64:
		return int(a >> 52 & 0x7ff)
	case dF16:
		return int(a >> 10 & 0x1f)
	}
	return int(a >> 23 & 0xff)
}

// divScale is the first step of a division of c by b: a is one of them, scaled so that
// the steps after it neither overflow nor lose bits; the mask says that v_div_fmas must
// scale back.
func divScale(t dtype, far, by, tiny int) func(a, b, c uint64, _ bool) (uint64, bool) {
	subnormal := func(x float64) bool { return x != 0 && math.Abs(x) < t.least() }
	inverseTiny := map[dtype]int{dF32: 253, dF64: 2045}[t] // of exponents from here on 1/b is subnormal
	return func(a, b, c uint64, _ bool) (uint64, bool) {
		den, num := t.value(b), t.value(c)
		scaled := func(n int) uint64 {
			if t == dF32 {
				return u32(ldexp32(f32(a), n))
			}
			return u64(math.Ldexp(f64(a), n))
		}
		isDen := a == b
		quotient := num / den
		if t == dF32 {
			quotient = float64(float32(quotient))
		}
		switch {
		case num == 0 || den == 0:
			return t.encode(math.NaN()), false
		case biased(t, c)-biased(t, b) >= far:
			if isDen {
				return scaled(by), true
			}
			return a, true
		case subnormal(den):
			return scaled(by), false
		case biased(t, b) >= inverseTiny && subnormal(quotient):
			if isDen {
				return scaled(-by), true
			}
			return a, true
		case biased(t, b) >= inverseTiny:
			return scaled(-by), false
		case subnormal(quotient):
			if a == c && !isDen {
				return scaled(by), true
			}
			return a, true
		case biased(t, c) <= tiny:
			return scaled(by), false
		}
		return a, false
	}
}

func divFmas32(a, b, c uint64, in bool) (uint64, bool) {
	r := simt.AddOdd(float64(f32(a))*float64(f32(b)), float64(f32(c)))
	if !in {
		return u32(float32(r)), false
	}
	by := -64
	if biased(dF32, c) > 127 {
		by = 64
	}
	return u32(float32(math.Ldexp(r, by))), false
}

func divFmas64(a, b, c uint64, in bool) (uint64, bool) {
	r := math.FMA(f64(a), f64(b), f64(c))
	if !in {
		return u64(r), false
	}
	by := -128
	if biased(dF64, c) > 1023 {
		by = 128
	}
	if subnormal := by < 0 && math.Abs(r) < math.Ldexp(dF64.least(), -by); !subnormal || r == 0 {
		return u64(math.Ldexp(r, by)), false
	}
	// It is rounded once.
	x := func(a uint64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(f64(a)) }
	sum := x(c)
	sum.Add(sum, new(big.Float).SetPrec(exactBits).Mul(x(a), x(b)))
	y, _ := sum.SetMantExp(sum, by).Float64()
	return u64(y), false
}

// exactBits are enough for sums of products of doubles.
const exactBits = 4400

// divFixup is the last step of a division of c by b whose quotient is a.
func divFixup(t dtype, underflow int) func(a, b, c uint64) uint64 {
	inf, nan := t.encode(math.Inf(1)), t.encode(math.NaN())|t.sign()
	return func(a, b, c uint64) uint64 {
		den, num := t.value(b), t.value(c)
		sign := (b ^ c) & t.sign()
		switch {
		case num != num:
			return quiet(t, c)
		case den != den:
			return quiet(t, b)
		case den == 0 && num == 0, math.IsInf(den, 0) && math.IsInf(num, 0):
			return nan
		case den == 0, math.IsInf(num, 0):
			return sign | inf
		case math.IsInf(den, 0), num == 0:
			return sign
		case biased(t, c)-biased(t, b) < underflow:
			return sign
		case isNaN(t, a):
			return sign | inf // only an overflow of the steps before ends here
		}
		return a&^t.sign() | sign
	}
}
