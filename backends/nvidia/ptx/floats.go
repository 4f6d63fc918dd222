package ptx

// simplifyFloat returns what a sum of floating-point numbers amounts to where a zero is added,
// or nil: x + 0 is x, but for -0.
func (f *fn) simplifyFloat(v *value) *value {
	if v.op != opAdd || v.typ == tF16x2 || v.typ == tBF16x2 {
		return nil
	}
	if x, y := v.args[0], v.args[1]; y.isConst() && y.imm == 0 && neverNegativeZero(x, v.typ, 4) {
		return x
	}
	return nil
}

// neverNegativeZero reports whether v, as a number of a type, is certainly not -0. Products may
// come to -0 by underflow, sums do not.
func neverNegativeZero(v *value, t typ, depth int) bool {
	if v.isConst() {
		return unsigned(v) != 1<<(v.class.bits()-1)
	}
	if depth == 0 || v.typ != t {
		return false
	}
	depth--
	x := v.args
	switch v.op {
	case opAbs:
		return true
	case opAdd:
		return neverNegativeZero(x[0], t, depth) || neverNegativeZero(x[1], t, depth)
	case opMul:
		return x[0] == x[1]
	case opSelp:
		return neverNegativeZero(x[0], t, depth) && neverNegativeZero(x[1], t, depth)
	}
	return false
}
