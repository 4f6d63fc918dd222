package diag

import "fmt"

// Count is n of a noun: "1 operand", "2 operands", "0 entries", "3 misses".
func Count[N ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := cutY(noun); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	if noun != "" && noun[len(noun)-1] == 's' {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// cutY returns the noun without its y, where its plural ends in ies.
func cutY(noun string) (stem string, ok bool) {
	n := len(noun)
	if n < 2 || noun[n-1] != 'y' {
		return noun, false
	}
	switch noun[n-2] {
	case 'a', 'e', 'i', 'o', 'u':
		return noun, false
	}
	return noun[:n-1], true
}
