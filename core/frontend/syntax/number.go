package syntax

import (
	"math/big"
	"strconv"
	"strings"
)

// numberValue works out the number that the current token is.
func (p *parser) numberValue() any {
	s := p.text()
	if len(s) <= 18 {
		if v, ok := smallDecimal(s); ok {
			return v
		}
	}
	if strings.IndexByte(s, '_') >= 0 {
		s = strings.ReplaceAll(s, "_", "")
	}
	if len(s) > 1 && s[0] == '0' {
		switch s[1] | 0x20 {
		case 'x':
			return integer(s[2:], 16)
		case 'o':
			return integer(s[2:], 8)
		case 'b':
			return integer(s[2:], 2)
		}
	}
	if last := s[len(s)-1]; last|0x20 == 'j' {
		return complex(0, float(s[:len(s)-1]))
	}
	if strings.ContainsAny(s, ".eE") {
		return float(s)
	}
	if len(s) > maxDecimalDigits {
		p.failHelp(p.tok.Span, "write it in hexadecimal",
			"the integer has %d decimal digits, more than the limit of %d", len(s), maxDecimalDigits)
	}
	return integer(s, 10)
}

// smallDecimal reads a decimal integer that cannot overflow an int64.
func smallDecimal(s string) (int64, bool) {
	var v int64
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	return v, true
}

// integer reads digits, which the lexer has checked, as an int64 or *big.Int.
func integer(s string, base int) any {
	if v, err := strconv.ParseInt(s, base, 64); err == nil {
		return v
	}
	v, ok := new(big.Int).SetString(s, base)
	if !ok {
		panic("BUG: the lexer took " + strconv.Quote(s) + " for an integer")
	}
	return v
}

// float reads a floating point number as Python does: what is too large is
// infinite.
func float(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && (v == 0 || v-v == 0) {
		panic("BUG: the lexer took " + strconv.Quote(s) + " for a number")
	}
	return v
}
