package ptx

// joinNeighbors makes pointers that begin at a constant distance from another one, and advance
// by the same constant, sums of that one and the distance, which accesses take: LLVM's loop
// strength reduction carries one of them, too. They come last: a loop with many pointers has a
// counter for all of them.
func (f *fn) joinNeighbors(l *loop) {
	back, ok := l.back()
	if !ok {
		return
	}
	type key struct{ base, step *value }
	type first struct {
		phi *value
		at  int64
	}
	firsts, by := make(map[key]first), make(map[*value]*value)
	h, kept := l.head, l.head.phis[:0]
	var sums []*value
	for _, p := range h.phis {
		n := p.args[back]
		if p.class != r64 || n.op != opAdd || n.typ.isFloat() || n.args[0] != p || !n.args[1].isConst() {
			kept = append(kept, p)
			continue
		}
		base, at := apart(p.args[1-back])
		k := key{base, n.args[1]}
		to, ok := firsts[k]
		if !ok {
			firsts[k] = first{p, at}
			kept = append(kept, p)
			continue
		}
		s := f.newValue(opAdd, tS64, r64, to.phi, f.constant(r64, at-to.at))
		s.loc, s.block = n.loc, h
		sums, by[p] = append(sums, s), s
	}
	h.phis = kept
	h.insertBefore(0, sums...)
	f.replaceAll(by)
}

// apart is v as another value and a constant.
func apart(v *value) (*value, int64) {
	if v.op == opAdd && !v.typ.isFloat() && v.args[1].isConst() {
		return v.args[0], v.args[1].imm
	}
	return v, 0
}
