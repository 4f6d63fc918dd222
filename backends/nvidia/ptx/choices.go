package ptx

// splitChoices makes a choice by a conjunction that nothing else needs two choices, one of
// the other's result, as LLVM does: loads that such choices guard then need fewer truth
// values, of which there are seven, and ptxas has more loads wait at once. That a number's
// lowest bit is zero becomes the opposite of its being set, and such choices take no not,
// unless only exclusive ors need it: these would keep the truth value and its opposite.
func splitChoices(f *fn) {
	f.countUses()
	xors := make(map[*value]int32) // how many take a comparison
	for _, b := range f.blocks {
		for _, v := range b.insts {
			if v.op != opXor || v.class != pred {
				continue
			}
			for _, a := range v.args {
				xors[a]++
			}
		}
	}
	edit(f, func(e *editor, v *value) *value {
		switch {
		case isChoice(v):
			e.splitChoice(v)
		case v.op == opSetp && v.cmp == cmpEQ && v.args[0].class == r32 && isLowBit(v) && xors[v] != v.uses:
			x := v.args[0]
			if x.uses == 1 {
				x = e.emit(opAnd, x.typ, x.class, x.args[0], x.args[1])
			}
			bit := e.newValue(opSetp, v.typ, pred, x, v.args[1])
			bit.cmp, bit.uses, bit.loc, bit.block = cmpNE, 1, v.loc, e.b
			e.out = append(e.out, bit)
			v.op, v.typ, v.cmp, v.args = opNot, tPred, cmpNone, []*value{bit}
		}
		return nil
	})
	sweep(f)
}

// isChoice reports whether v is a choice, and not a truth value as a number.
func isChoice(v *value) bool {
	return v.op == opSelp && !(v.args[0].isConst() && v.args[1].isConst())
}

// isLowBit reports whether a comparison is of a number's lowest bit and zero.
func isLowBit(v *value) bool {
	x, y := v.args[0], v.args[1]
	return x.op == opAnd && x.args[1].isConst() && x.args[1].imm == 1 && y.isConst() && y.imm == 0
}

// splitChoice emits the choices that go before v, and leaves v the last one.
func (e *editor) splitChoice(v *value) {
	for {
		c := v.args[2]
		if c.op == opNot {
			v.args = []*value{v.args[1], v.args[0], c.args[0]}
			continue
		}
		if c.op != opAnd && c.op != opOr || c.uses != 1 {
			return
		}
		x, y := v.args[0], v.args[1]
		inner := e.newValue(opSelp, v.typ, v.class, x, y, c.args[1])
		inner.loc, inner.block, inner.uses = v.loc, e.b, 1
		e.splitChoice(inner)
		e.out = append(e.out, inner)
		if c.op == opAnd {
			v.args = []*value{inner, y, c.args[0]}
		} else {
			v.args = []*value{x, inner, c.args[0]}
		}
	}
}
