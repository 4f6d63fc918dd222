package ptx

// addCounters has an innermost loop add what it does not change, and constants, to what it
// counts, where it joined them as bits: ptxas adds and shifts in one instruction.
func addCounters(f *fn) {
	f.analyze()
	f.place()
	counts := make(map[*value]bool)
	for _, b := range f.blocks {
		l := b.loop
		if l == nil || l.hasInner {
			continue
		}
		if l.head == b && len(b.preds) == 2 {
			if back, ok := l.back(); ok {
				for _, p := range b.phis {
					n := p.args[back]
					counts[p] = p.class == r32 && isSum(n) && n.args[0] == p && l.invariantValue(n.args[1])
				}
			}
		}
		for _, v := range b.insts {
			if v.class != r32 || !isSum(v) {
				continue
			}
			x, y := v.args[0], v.args[1]
			if !counts[x] {
				x, y = y, x
			}
			if !counts[x] || !l.invariantValue(y) {
				continue
			}
			counts[v] = true
			if v.op == opOr {
				v.op, v.typ = opAdd, tS32
				if !y.isConst() {
					v.flags &^= disjoint
				}
			}
		}
	}
}
