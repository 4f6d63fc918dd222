package ptx

// fuseProducts makes one instruction of a product and each sum that takes it, where options
// allow it. Who else needs the product computes it: its factors mostly live on anyway.
func fuseProducts(f *fn) {
	if !f.mod.opts.Fusion {
		return
	}
	f.countUses()
	edit(f, func(e *editor, v *value) *value {
		if v.op != opAdd && v.op != opSub || !v.typ.isFloat() || v.args[0] == v.args[1] {
			return nil
		}
		i := fusedOperand(v)
		if i < 0 {
			return nil
		}
		x, y, c := v.args[i].args[0], v.args[i].args[1], v.args[1-i]
		if x.isConst() {
			x, y = y, x
		}
		switch {
		case v.op == opAdd:
		case i == 0: // x*y - c
			c = e.negative(v.typ, c)
		case y.isConst(): // c - x*y
			y = e.negative(v.typ, y)
		default:
			x = e.negative(v.typ, x)
		}
		return e.emit(opFma, v.typ, v.class, x, y, c)
	})
}

// fusedOperand is the operand of a sum or a difference that is a product, of two the one with
// fewer uses; -1 if none is.
func fusedOperand(v *value) int {
	product := func(i int) bool { return v.args[i].op == opMul && v.args[i].typ == v.typ }
	switch {
	case product(0) && (!product(1) || v.args[0].uses <= v.args[1].uses):
		return 0
	case product(1):
		return 1
	}
	return -1
}

// negative is -v.
func (e *editor) negative(t typ, v *value) *value {
	signs := map[typ]int64{tF16: signF16, tBF16: signF16, tF16x2: signF16<<16 | signF16, tBF16x2: signF16<<16 | signF16, tF32: 1 << 31, tF64: -1 << 63}
	switch {
	case v.isConst():
		return e.constant(v.class, v.imm^signs[t])
	case v.op == opNeg && v.typ == t:
		return v.args[0]
	case t != tF32 && t != tF64:
		return e.emit(opXor, bitsOf(v.class), v.class, v, e.constant(v.class, signs[t]))
	}
	return e.emit(opNeg, t, v.class, v)
}
