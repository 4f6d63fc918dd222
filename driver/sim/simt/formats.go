package simt

// formatOf is the format of a floating-point type of up to 32 bits.
func formatOf(t Type) *format {
	switch t {
	case F16:
		return fmtF16
	case BF16:
		return fmtBF16
	case F32:
		return fmtF32
	case TF32:
		return fmtTF32
	case E5M2:
		return fmtE5M2
	case E4M3:
		return fmtE4M3
	}
	panic("BUG: not a floating-point type of up to 32 bits: " + t.String())
}

// RoundFloat rounds x, an exact value or one that AddOdd made, to a type of up to 32
// bits and returns its encoding. Beyond the greatest number it is infinite, or in a
// type without infinities a NaN.
func RoundFloat(x float64, t Type, mode Round) uint32 { return roundTo(x, formatOf(t), mode) }

// FloatOf returns the value of an encoding.
func FloatOf(v uint32, t Type) float64 { return widen(v, formatOf(t)) }

// AddOdd returns a+b rounded to odd, which RoundFloat rounds like the exact sum.
func AddOdd(a, b float64) float64 { return addOdd(a, b) }
