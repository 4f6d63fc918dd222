package ptx

// fuseProducts makes one instruction of a product and the sums that take it, where
// options allow it and nobody else needs the product.
func fuseProducts(f *fn) {
	if !f.mod.opts.Fusion {
		return
	}
	f.countUses()
	sums := make(map[*value]int32)
	for _, b := range f.blocks {
		for _, v := range b.insts {
			if v.op != opAdd && v.op != opSub || !v.typ.isFloat() {
				continue
			}
			for i, a := range v.args {
				if a.op == opMul && a.typ == v.typ && v.args[0] != v.args[1] && !fusesFirst(v, i) {
					sums[a]++
				}
			}
		}
	}
	edit(f, func(e *editor, v *value) *value {
		if v.op != opAdd && v.op != opSub || !v.typ.isFloat() {
			return nil
		}
		for i, m := range v.args {
			if m.op != opMul || m.typ != v.typ || sums[m] != m.uses || fusesFirst(v, i) {
				continue
			}
			x, y, c := m.args[0], m.args[1], v.args[1-i]
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
		}
		return nil
	})
}

// fusesFirst reports whether the other operand of a sum is the product that it takes.
func fusesFirst(v *value, i int) bool {
	return i == 1 && v.args[0].op == opMul && v.args[0].typ == v.typ && v.args[0].uses == 1
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
