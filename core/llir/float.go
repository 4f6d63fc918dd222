package llir

import "math"

// floatFormat describes a binary interchange format narrower than double.
type floatFormat struct {
	exp, man int // bits of exponent and of stored significand
}

func formatOf(t Type) floatFormat {
	switch t {
	case Half:
		return floatFormat{5, 10}
	case BF16:
		return floatFormat{8, 7}
	case F32:
		return floatFormat{8, 23}
	case F64:
		return floatFormat{11, 52}
	}
	panic("BUG: llir: not a floating-point type: " + t.String())
}

// floatValue widens bits of format t to the equal double. A NaN becomes some
// quiet NaN.
func floatValue(t Type, bits uint64) float64 {
	switch t {
	case F64:
		return math.Float64frombits(bits)
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case BF16:
		return float64(math.Float32frombits(uint32(bits) << 16))
	}
	f := formatOf(t)
	bias := 1<<(f.exp-1) - 1
	man := bits & (1<<f.man - 1)
	exp := int(bits>>f.man) & (1<<f.exp - 1)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(float64(man), 1-bias-f.man)
	case 1<<f.exp - 1:
		if v = math.Inf(1); man != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(float64(man|1<<f.man), exp-bias-f.man)
	}
	if bits>>(f.exp+f.man)&1 != 0 {
		v = math.Copysign(v, -1)
	}
	return v
}

// FloatBits is the number v, rounded to nearest, ties to even, in the format of t.
func FloatBits(t Type, v float64) uint64 { return floatBits(t, v) }

// floatBits rounds v to nearest, ties to even, in the format of t and returns
// the bits. Overflow gives infinity, a NaN the format's plain quiet NaN.
func floatBits(t Type, v float64) uint64 {
	switch t {
	case F64:
		return math.Float64bits(v)
	case F32:
		return uint64(math.Float32bits(float32(v)))
	}
	f := formatOf(t)
	var sign uint64
	if math.Signbit(v) {
		sign = 1 << (f.exp + f.man)
	}
	inf := uint64(1<<f.exp-1) << f.man
	switch {
	case math.IsNaN(v):
		return sign | inf | 1<<(f.man-1)
	case math.IsInf(v, 0):
		return sign | inf
	case v == 0:
		return sign
	}
	bias := 1<<(f.exp-1) - 1
	_, e := math.Frexp(math.Abs(v)) // |v| = m·2^e with m in [1/2, 1)
	// The unit in the last place: 2^(e-1-man) for a normal number, bounded
	// below by that of the subnormals.
	ulp := max(e-1-f.man, 1-bias-f.man)
	n := uint64(math.RoundToEven(math.Ldexp(math.Abs(v), -ulp)))
	// n counts units; a carry out of the significand moves into the exponent
	// by plain addition, because the encoding is monotonic.
	if ulp == 1-bias-f.man {
		return sign | n
	}
	bits := uint64(ulp+f.man+bias)<<f.man + (n - 1<<f.man)
	return sign | min(bits, inf)
}
