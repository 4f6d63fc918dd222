package gpu

import "strings"

// AsmConstraint knows the kinds of registers of PTX (predicates and integers of
// 8 to 128 bits, floats of 32 and 64), and of immediates and addresses.
func (*Target) AsmConstraint(letter rune) bool {
	return strings.ContainsRune("bchrlqfdN"+"insXmp", letter)
}
