package gpu

import "strings"

// AsmConstraint knows scalar registers (s, and r, as LLVM has it), vector registers, and
// on chips with MFMA accumulation registers.
func (t *Target) AsmConstraint(letter rune) bool {
	return strings.ContainsRune("srv", letter) || letter == 'a' && t.MFMA > 0
}
