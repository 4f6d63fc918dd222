package ptx

// plainBranches has branches lead away where their condition holds, and otherwise to what
// follows in the text, as LLVM does. A condition that nothing else needs becomes its opposite.
func plainBranches(f *fn) {
	f.countUses()
	needed := make(map[*value][]*terminator)
	var conds []*value
	for i, b := range f.blocks {
		if t := &b.term; len(t.to) == 2 && i+1 < len(f.blocks) && (t.to[0] == f.blocks[i+1]) != t.not {
			if needed[t.cond] == nil {
				conds = append(conds, t.cond)
			}
			needed[t.cond] = append(needed[t.cond], t)
		}
	}
	for _, c := range conds {
		if int(c.uses) != len(needed[c]) || !f.opposite(c) {
			continue
		}
		for _, t := range needed[c] {
			t.not = !t.not
		}
	}
}

// opposite makes a truth value the opposite one, where that costs nothing.
func (f *fn) opposite(v *value) bool {
	switch {
	case comparesNumbers(v):
		v.cmp = v.cmp.inverse(v.typ.isFloat())
		if v.args[1].isConst() && !v.typ.isFloat() {
			f.makeStrict(v)
		}
		return true
	case v.op == opAnd || v.op == opOr:
		for _, a := range v.args {
			if a.uses != 1 || !comparesNumbers(a) {
				return false
			}
		}
		for _, a := range v.args {
			f.opposite(a)
		}
		v.op, v.flags = opAnd+opOr-v.op, opTable[opAnd].flags
		return true
	}
	return false
}
