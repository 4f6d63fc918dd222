package text

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
)

// floatBits is the value of a literal in format t. A hexadecimal integer is the
// bits themselves.
func (p *Parser) floatBits(pos Pos, lit string, k kind, neg bool, t *ir.FloatType) uint64 {
	if t.Width() > 64 {
		p.FailAt(pos, "constants of type %s are not supported", t.Kind)
	}
	if k == tokInt {
		if len(lit) < 2 || lit[1] != 'x' {
			p.FailAt(pos, "expected a floating point number such as 1.0 or bits such as 0x%0*X", (t.Width()+3)/4, 0)
		}
		v, err := parseUint(lit)
		if err != nil || t.Width() < 64 && v>>t.Width() != 0 || neg {
			p.FailAt(pos, "bits do not fit %s", t.Kind)
		}
		return v
	}
	if len(lit) > 64 {
		p.FailAt(pos, "floating point number has more than 64 characters")
	}
	return decimalBits(t.Kind, lit, neg)
}

// decimalBits rounds a decimal literal to nearest even in format k.
func decimalBits(k ir.FloatKind, lit string, neg bool) uint64 {
	v, _ := strconv.ParseFloat(lit, 64) // out of range gives an infinity, as it should
	switch k {
	case ir.F64:
	case ir.F32:
		f, _ := strconv.ParseFloat(lit, 32)
		v = f
	default:
		v = stickyOdd(lit, v)
	}
	if neg {
		v = -v
	}
	return ir.FloatToBits(k, v)
}

// stickyOdd corrects v, the literal's nearest float64, for a second rounding to
// a narrower format: where v is not the literal's exact value and ends in a zero
// bit, it goes to the neighbour that ends in a one, on the literal's side.
func stickyOdd(lit string, v float64) float64 {
	if math.IsInf(v, 0) || math.Float64bits(v)&1 == 1 {
		return v
	}
	exact, _, err := big.ParseFloat(lit, 10, 320, big.ToNearestEven)
	if err != nil {
		return v
	}
	switch exact.Cmp(new(big.Float).SetFloat64(v)) {
	case 1:
		return math.Nextafter(v, math.Inf(1))
	case -1:
		return math.Nextafter(v, math.Inf(-1))
	}
	return v
}

// float writes a floating point number by its bits.
func (w *Printer) float(t *ir.FloatType, bits uint64) {
	if w.visiting {
		return
	}
	w.buf = appendFloat(w.buf, t, bits)
}

// appendFloat writes the number as MLIR does: in exponential notation with six
// decimals if that reads back as the same number, else with as many digits as
// the format needs, else (and for infinities and NaNs) as hexadecimal bits.
func appendFloat(b []byte, t *ir.FloatType, bits uint64) []byte {
	hex := func() []byte {
		b = append(b, "0x"...)
		return append(b, strings.ToUpper(strconv.FormatUint(bits, 16))...)
	}
	if t.Width() > 64 {
		return hex()
	}
	v := ir.BitsToFloat(t.Kind, bits)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return hex()
	}
	neg := math.Signbit(v)
	if v == 0 {
		if neg {
			b = append(b, '-')
		}
		return append(b, "0.000000e+00"...)
	}
	start := len(b)
	if neg {
		b = append(b, '-')
	}
	digits, exp := decimalDigits(math.Abs(v), 6)
	b = appendScientific(b, digits, exp)
	if decimalBits(t.Kind, string(b[start+btoi(neg):]), neg) == bits {
		return b
	}
	b = b[:start]
	if neg {
		b = append(b, '-')
	}
	precision := 2 + significand(t.Kind)*59/196
	digits, exp = decimalDigits(math.Abs(v), precision)
	if full := appendPlain(nil, digits, exp, precision); full != nil {
		return append(b, full...)
	}
	b = b[:start]
	return hex()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// significand is the number of bits of a format's significand, the hidden one
// included.
func significand(k ir.FloatKind) int {
	switch k {
	case ir.F64:
		return 53
	case ir.F32:
		return 24
	case ir.F16, ir.TF32:
		return 11
	case ir.BF16:
		return 8
	case ir.F8E3M4:
		return 5
	case ir.F8E4M3, ir.F8E4M3FN, ir.F8E4M3FNUZ, ir.F8E4M3B11FNUZ, ir.F6E2M3FN:
		return 4
	case ir.F8E5M2, ir.F8E5M2FNUZ, ir.F6E3M2FN:
		return 3
	case ir.F4E2M1FN:
		return 2
	}
	return 1
}

// decimalDigits is v > 0 as decimal digits times a power of ten, with at most
// precision digits and no zero at the end. Bits far below the precision are
// dropped first, in binary, and the digits that remain are rounded half up: not
// the nearest decimal in every case, but the one that LLVM prints.
func decimalDigits(v float64, precision int) (digits string, exp int) {
	frac, e2 := math.Frexp(v)
	m := new(big.Int).SetUint64(uint64(frac * (1 << 53)))
	e2 -= 53
	tz := int(m.TrailingZeroBits())
	m.Rsh(m, uint(tz))
	e2 += tz
	if e2 >= 0 {
		m.Lsh(m, uint(e2))
	} else {
		// m · 2^e2 = m · 5^-e2 · 10^e2
		m.Mul(m, new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(-e2)), nil))
		exp = e2
	}
	// 196/59 is a little more than the number of bits in a decimal digit.
	if bits, need := m.BitLen(), (precision*196+58)/59; bits > need {
		if n := (bits - need) * 59 / 196; n > 0 {
			m.Quo(m, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
			exp += n
		}
	}
	d := m.Append(nil, 10)
	d, exp = trimZeros(d, exp)
	if len(d) > precision {
		up := d[precision] >= '5'
		exp += len(d) - precision
		d = d[:precision]
		if up {
			i := precision - 1
			for i >= 0 && d[i] == '9' {
				i--
			}
			if i < 0 {
				return "1", exp + precision
			}
			d[i]++
			exp += precision - 1 - i
			d = d[:i+1]
		}
		d, exp = trimZeros(d, exp)
	}
	return string(d), exp
}

func trimZeros(d []byte, exp int) ([]byte, int) {
	for len(d) > 1 && d[len(d)-1] == '0' {
		d = d[:len(d)-1]
		exp++
	}
	return d, exp
}

// appendScientific writes d.dddddde±XX with six decimals.
func appendScientific(b []byte, digits string, exp int) []byte {
	exp += len(digits) - 1
	b = append(b, digits[0], '.')
	b = append(b, digits[1:]...)
	for range 7 - len(digits) {
		b = append(b, '0')
	}
	b = append(b, 'e')
	if exp < 0 {
		b = append(b, '-')
		exp = -exp
	} else {
		b = append(b, '+')
	}
	if exp < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(exp), 10)
}

// appendPlain writes the number in full, with E notation for large and small
// ones; nil if that has no decimal point, which would read as an integer.
func appendPlain(b []byte, digits string, exp, precision int) []byte {
	const maxPadding = 3
	n := len(digits)
	top := exp + n - 1 // the power of the first digit
	scientific := false
	switch {
	case exp >= 0:
		scientific = exp > maxPadding || n+exp > precision
	case top < 0:
		scientific = -top > maxPadding
	}
	switch {
	case scientific:
		b = append(b, digits[0], '.')
		if n == 1 {
			b = append(b, '0')
		}
		b = append(b, digits[1:]...)
		b = append(b, 'E')
		if top >= 0 {
			b = append(b, '+')
		}
		return strconv.AppendInt(b, int64(top), 10)
	case exp >= 0:
		return nil
	case top >= 0:
		b = append(b, digits[:top+1]...)
		b = append(b, '.')
		return append(b, digits[top+1:]...)
	}
	b = append(b, "0."...)
	for range -top - 1 {
		b = append(b, '0')
	}
	return append(b, digits...)
}
