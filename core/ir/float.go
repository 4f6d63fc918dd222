package ir

import "math"

// floatFormat describes a binary floating point format.
type floatFormat struct {
	exp, man int // bits
	bias     int
	inf      bool // has infinities; without them overflow is NaN (or, noNaN, the largest)
	// nanAllOnes: the one NaN has all bits of exponent and mantissa set (the
	// "FN" formats); negZeroNaN: the one NaN is the pattern of −0 (the "FNUZ").
	nanAllOnes, negZeroNaN bool
	noNaN                  bool
	noSign, noZero         bool // f8E8M0FNU is a bare exponent
}

var floatFormats = [numFloatKinds]floatFormat{
	F16:           {exp: 5, man: 10, bias: 15, inf: true},
	BF16:          {exp: 8, man: 7, bias: 127, inf: true},
	F32:           {exp: 8, man: 23, bias: 127, inf: true},
	F64:           {exp: 11, man: 52, bias: 1023, inf: true},
	TF32:          {exp: 8, man: 10, bias: 127, inf: true},
	F8E5M2:        {exp: 5, man: 2, bias: 15, inf: true},
	F8E4M3:        {exp: 4, man: 3, bias: 7, inf: true},
	F8E3M4:        {exp: 3, man: 4, bias: 3, inf: true},
	F8E4M3FN:      {exp: 4, man: 3, bias: 7, nanAllOnes: true},
	F8E4M3FNUZ:    {exp: 4, man: 3, bias: 8, negZeroNaN: true},
	F8E5M2FNUZ:    {exp: 5, man: 2, bias: 16, negZeroNaN: true},
	F8E4M3B11FNUZ: {exp: 4, man: 3, bias: 11, negZeroNaN: true},
	F8E8M0FNU:     {exp: 8, man: 0, bias: 127, nanAllOnes: true, noSign: true, noZero: true},
	F6E2M3FN:      {exp: 2, man: 3, bias: 1, noNaN: true},
	F6E3M2FN:      {exp: 3, man: 2, bias: 3, noNaN: true},
	F4E2M1FN:      {exp: 2, man: 1, bias: 1, noNaN: true},
}

// FloatToBits rounds v to nearest even in format k and returns the bits. A
// value beyond the largest becomes infinity, or NaN in a format without it, or
// the largest in a format with neither. F80 and F128 are not supported.
func FloatToBits(k FloatKind, v float64) uint64 {
	switch k {
	case F64:
		return math.Float64bits(v)
	case F32:
		return uint64(math.Float32bits(float32(v)))
	case F80, F128:
		panic("BUG: ir: no arithmetic in " + k.String())
	}
	f := floatFormats[k]
	bits := math.Float64bits(v)
	sign := bits >> 63
	if f.noSign {
		sign = 0
	}
	top := uint64(f.exp + f.man)
	signBit := sign << top
	if math.IsNaN(v) {
		return f.nan(signBit, bits)
	}
	if v == 0 {
		if f.negZeroNaN {
			return 0
		}
		return signBit
	}
	if math.IsInf(v, 0) {
		return signBit | f.overflow(signBit)
	}
	frac, e := math.Frexp(math.Abs(v)) // frac in [0.5, 1)
	e--                                // v = 1.m × 2^e
	mant := uint64(frac * (1 << 53))   // 53 bits, the leading one included
	drop := 52 - f.man
	biased := e + f.bias
	if biased < 1 && !f.noZero {
		drop += 1 - biased
		biased = 0
	}
	var q uint64
	if drop <= 53 {
		q = mant >> drop
		rest, half := mant&(1<<drop-1), uint64(1)<<(drop-1)
		if rest > half || rest == half && q&1 == 1 {
			q++
		}
	}
	if biased == 0 && !f.noZero { // subnormal; a carry makes the smallest normal by itself
		if q == 0 && f.negZeroNaN {
			return 0
		}
		return signBit | q
	}
	q -= 1 << f.man // the hidden bit; a carry out of the mantissa adds to the exponent
	if biased < 0 {
		return 0
	}
	r := uint64(biased)<<f.man + q
	if r > f.largest() {
		return signBit | f.overflow(signBit)
	}
	return signBit | r
}

// largest is the bit pattern of the greatest finite magnitude.
func (f floatFormat) largest() uint64 {
	all := uint64(1)<<(f.exp+f.man) - 1
	switch {
	case f.inf:
		return (uint64(1)<<f.exp-1)<<f.man - 1
	case f.nanAllOnes:
		return all - 1
	default:
		return all
	}
}

func (f floatFormat) overflow(signBit uint64) uint64 {
	switch {
	case f.inf:
		return (uint64(1)<<f.exp - 1) << f.man
	case f.noNaN:
		return f.largest()
	default:
		return f.nan(signBit, 0)
	}
}

func (f floatFormat) nan(signBit, from uint64) uint64 {
	switch {
	case f.negZeroNaN:
		return 1 << (f.exp + f.man)
	case f.nanAllOnes:
		return signBit | (1<<(f.exp+f.man) - 1)
	case f.noNaN:
		return signBit // no NaN to give: zero
	}
	payload := from << 12 >> 12 >> (52 - f.man)
	return signBit | (uint64(1)<<f.exp-1)<<f.man | payload | 1<<(f.man-1)
}

// BitsToFloat is the value of a bit pattern in format k.
func BitsToFloat(k FloatKind, bits uint64) float64 {
	switch k {
	case F64:
		return math.Float64frombits(bits)
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case F80, F128:
		panic("BUG: ir: no arithmetic in " + k.String())
	}
	f := floatFormats[k]
	mag := bits & (1<<(f.exp+f.man) - 1)
	sign := 1.0
	if !f.noSign && bits>>(f.exp+f.man)&1 == 1 {
		sign = -1
	}
	e, m := int(mag>>f.man), mag&(1<<f.man-1)
	switch {
	case f.negZeroNaN && sign < 0 && mag == 0:
		return math.NaN()
	case f.nanAllOnes && mag == 1<<(f.exp+f.man)-1:
		return math.NaN()
	case f.inf && e == 1<<f.exp-1:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	case e == 0 && !f.noZero:
		return sign * math.Ldexp(float64(m), 1-f.bias-f.man)
	}
	return sign * math.Ldexp(float64(m|1<<f.man), e-f.bias-f.man)
}
