package simt

import "math"

// format describes a binary floating-point format of up to 32 bits.
type format struct {
	mant    uint // stored bits of the significand
	exp     uint // bits of the exponent
	noInf   bool // all exponents are finite; only all-ones is NaN (e4m3)
	nan     uint32
	maxFin  uint32
	infBits uint32
}

var (
	fmtF16  = &format{mant: 10, exp: 5, nan: 0x7fff, maxFin: 0x7bff, infBits: 0x7c00}
	fmtBF16 = &format{mant: 7, exp: 8, nan: 0x7fff, maxFin: 0x7f7f, infBits: 0x7f80}
	fmtF32  = &format{mant: 23, exp: 8, nan: 0x7fffffff, maxFin: 0x7f7fffff, infBits: 0x7f800000}
	fmtTF32 = &format{mant: 10, exp: 8, nan: 0x3ffff, maxFin: 0x3fbff, infBits: 0x3fc00}
	fmtE5M2 = &format{mant: 2, exp: 5, nan: 0x7f, maxFin: 0x7b, infBits: 0x7c}
	fmtE4M3 = &format{mant: 3, exp: 4, noInf: true, nan: 0x7f, maxFin: 0x7e, infBits: 0x7f}
)

// roundTo rounds x to format f. x must be the exact value, or the value rounded
// to odd (see addOdd), which no rounding to at most 51 bits can tell from it.
// The result is the encoding without a NaN's sign.
func roundTo(x float64, f *format, mode Round) uint32 {
	bits := math.Float64bits(x)
	sign := uint32(bits>>63) << (f.mant + f.exp)
	e := int(bits>>52) & 0x7ff
	m := bits & (1<<52 - 1)
	switch {
	case e == 0x7ff && m != 0:
		return f.nan
	case e == 0x7ff:
		if f.noInf {
			return sign | f.nan
		}
		return sign | f.infBits
	case e == 0 && m == 0:
		return sign
	case e == 0:
		e = 1
	default:
		m |= 1 << 52
	}
	bias := 1<<(f.exp-1) - 1
	te := e - 1023 + bias // the target's biased exponent
	shift := 52 - f.mant
	base := uint64(0)
	if te < 1 {
		shift += uint(1 - te)
	} else {
		base = uint64(te-1) << f.mant
	}
	var q, rem, half uint64
	if shift > 54 {
		q, rem, half = 0, 1, 2
	} else {
		q, rem, half = m>>shift, m&(1<<shift-1), 1<<(shift-1)
	}
	up := false
	switch mode {
	case RoundNearest:
		up = rem > half || rem == half && q&1 == 1
	case RoundAway:
		up = rem >= half
	case RoundDown:
		up = rem != 0 && sign != 0
	case RoundUp:
		up = rem != 0 && sign == 0
	}
	if up {
		q++
	}
	r := base + q
	if r > uint64(f.maxFin) {
		toMax := mode == RoundZero || mode == RoundDown && sign == 0 || mode == RoundUp && sign != 0
		if toMax {
			return sign | f.maxFin
		}
		return sign | f.infBits
	}
	return sign | uint32(r)
}

// widen returns the value of an encoding of f; a NaN becomes a NaN.
func widen(v uint32, f *format) float64 {
	e := int(v>>f.mant) & (1<<f.exp - 1)
	m := uint64(v) & (1<<f.mant - 1)
	neg := v>>(f.mant+f.exp)&1 != 0
	bias := 1<<(f.exp-1) - 1
	var x float64
	switch {
	case f.noInf && v&(1<<(f.mant+f.exp)-1) == f.nan:
		return math.NaN()
	case !f.noInf && e == 1<<f.exp-1:
		if m != 0 {
			return math.NaN()
		}
		x = math.Inf(1)
	case e == 0:
		x = math.Ldexp(float64(m), 1-bias-int(f.mant))
	default:
		x = math.Float64frombits(uint64(e-bias+1023)<<52 | m<<(52-f.mant))
	}
	if neg {
		x = -x
	}
	return x
}

// addOdd returns a+b rounded to odd: the exact sum where a float64 holds it,
// else the neighbour of it whose last bit is one. Rounding that to a format of
// at most 51 bits equals rounding the exact sum.
func addOdd(a, b float64) float64 {
	s := a + b
	bb := s - a
	err := (a - (s - bb)) + (b - bb)
	if err == 0 || err != err || math.IsInf(s, 0) {
		return s
	}
	return odd(s, err)
}

// odd rounds s, a rounded value whose exact one is s+err, to its rounding to
// odd.
func odd(s, err float64) float64 {
	b := math.Float64bits(s)
	if b&1 == 1 {
		return s
	}
	if (err > 0) == (s > 0) {
		b++
	} else {
		b--
	}
	return math.Float64frombits(b)
}

// fma32 is a*b+c of float32 with one rounding to nearest even; a NaN is the
// canonical one. The product of two float32 is exact in float64 and so is, but
// for its rounding, the sum; the second rounding errs only where the first one
// landed on a tie, whose low 28 bits are zero.
func fma32(a, b, c float32) uint32 {
	p := float64(a) * float64(b)
	s := float64(p) + float64(c)
	if math.Float64bits(s)&(1<<28-1) == 0 {
		s = addOdd(p, float64(c))
	}
	return canon(float32(s))
}

// nan32 is the NaN that single-precision instructions return.
const nan32 = 0x7fffffff

func canon(x float32) uint32 {
	if x != x {
		return nan32
	}
	return math.Float32bits(x)
}

// flush32 replaces a subnormal by the zero of its sign.
func flush32(b uint32) uint32 {
	if b&0x7f800000 == 0 {
		return b & 0x80000000
	}
	return b
}

// sat32 clamps to [0, 1]; a NaN becomes +0.
func sat32(b uint32) uint32 {
	x := math.Float32frombits(b)
	switch {
	case x >= 1:
		return 0x3f800000
	case x > 0:
		return b
	}
	return 0
}

// f16to32 widens a half; exact.
func f16to32(h uint32) float32 {
	sign := h & 0x8000 << 16
	e := h >> 10 & 0x1f
	m := h & 0x3ff
	switch {
	case e == 0x1f:
		if m != 0 {
			return float32(math.NaN())
		}
		return math.Float32frombits(sign | 0x7f800000)
	case e != 0:
		return math.Float32frombits(sign | (e+112)<<23 | m<<13)
	}
	x := float32(m) * (1.0 / (1 << 24))
	return math.Float32frombits(sign | math.Float32bits(x))
}

// f32to16 rounds to half, nearest even.
func f32to16(x float32) uint32 {
	b := math.Float32bits(x)
	sign := b >> 16 & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return 0x7fff
	case b >= 0x477ff000:
		return sign | 0x7c00
	case b >= 0x38800000:
		b += 0xfff + b>>13&1 - 112<<23
		return sign | b>>13
	case b < 0x33000000:
		return sign
	}
	return roundTo(float64(x), fmtF16, RoundNearest)
}

// bf16to32 widens a bfloat16.
func bf16to32(h uint32) float32 { return math.Float32frombits(h << 16) }

// f32toBF16 rounds to bfloat16, nearest even.
func f32toBF16(x float32) uint32 {
	b := math.Float32bits(x)
	if x != x {
		return 0x7fff
	}
	return (b + 0x7fff + b>>16&1) >> 16
}
