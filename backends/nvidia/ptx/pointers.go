package ptx

// countPointers has a loop advance an address that is, up to what does not change in it, a
// multiple of a counter: the address is known before the iteration begins, and what it is
// loaded from does not wait for a product.
func countPointers(f *fn) {
	f.givePreheaders()
	by := make(map[*value]*value)
	for _, l := range f.loopsInnerFirst() {
		if len(l.head.preds) != 2 || l.fixed() || l.preheader() == nil {
			continue
		}
		for _, b := range f.inOrder(l) {
			for _, v := range b.insts {
				for i, a := range v.args {
					if addressOperand(v, i) && a.class == r64 && by[a] == nil && a.block != nil && !a.rooted() && l.in(a.block) {
						if p := f.pointerOf(l, a); p != nil {
							by[a] = p
						}
					}
				}
			}
		}
	}
	if len(by) > 0 {
		f.replaceAll(by)
		sweep(f)
	}
}

// pointerOf makes the pointer that is a in each iteration, if a is a multiple of a counter.
func (f *fn) pointerOf(l *loop, a *value) *value {
	back, ok := l.back()
	if !ok {
		return nil
	}
	var base []*value
	var of *value
	var times, constant int64
	var split func(v *value, depth int) bool
	split = func(v *value, depth int) bool {
		switch {
		case v.isConst():
			constant += v.imm
			return true
		case l.invariantValue(v):
			base = append(base, v)
			return true
		case isSum(v) && depth > 0:
			return split(v.args[0], depth-1) && split(v.args[1], depth-1)
		}
		s := linearOf(v, 4)
		if len(s.terms) != 1 || of != nil {
			return false
		}
		of, times = l.counted(s.terms[0].atom, back), s.terms[0].by
		constant += s.constant
		return of != nil
	}
	if !split(a, 8) || of == nil || len(base) == 0 {
		return nil
	}
	if _, ok := l.most(of); !ok {
		return nil
	}
	c := constant + times*of.args[1-back].imm
	first := base[0]
	pre := l.preheader()
	for _, x := range base[1:] {
		n := f.newValue(opAdd, tS64, r64, first, x)
		n.loc = a.loc
		first = pre.append(n)
	}
	if c != 0 {
		n := f.newValue(opAdd, tS64, r64, first, f.constant(r64, c))
		n.loc = a.loc
		first = pre.append(n)
	}
	phi := f.newValue(opPhi, tB64, r64)
	phi.block = l.head
	next := f.newValue(opAdd, tS64, r64, phi, f.constant(r64, times*of.args[back].args[1].imm))
	next.loc = a.loc
	phi.args = []*value{first, first}
	phi.args[back] = next
	l.head.phis = append(l.head.phis, phi)
	l.head.preds[back].append(next)
	return phi
}

// counted is the counter of l that an atom widens, or nil.
func (l *loop) counted(a atom, back int) *value {
	if a.b != 0 || a.wide != tS32 && a.wide != tU32 {
		return nil
	}
	for _, p := range l.head.phis {
		if p.id == a.a && p.class == r32 && p.args[back].op == opAdd {
			return p
		}
	}
	return nil
}
