package ptx

import "slices"

// hoistComparisons has a loop keep truth values that it does not change, as long as no more of
// them live at once than there are registers for. LLVM does so by the same measure; ptxas leaves
// many in the loop.
func hoistComparisons(f *fn) {
	f.givePreheaders()
	f.place()
	for _, l := range f.loopsInnerFirst() {
		pre := l.preheader()
		if pre == nil || l.fixed() {
			continue
		}
		most := -1 // not counted yet
		for _, b := range f.inOrder(l) {
			for _, v := range slices.Clone(b.insts) {
				if !truthOfNumbers(v) || !l.invariant(v) {
					continue
				}
				if most < 0 {
					most = f.mostLive(l)
				}
				if most >= mostHoisted {
					break
				}
				most++
				i := b.indexOf(v)
				b.insts = slices.Delete(b.insts, i, i+1)
				pre.append(v)
				v.block = pre
			}
		}
	}
}

// mostHoisted is how many truth values may live at once in a loop that one more is kept for.
const mostHoisted = 5

// truthOfNumbers reports whether v compares numbers, or joins truth values.
func truthOfNumbers(v *value) bool {
	return comparesNumbers(v) || v.class == pred && (v.op == opAnd || v.op == opOr || v.op == opNot || v.op == opXor)
}

// mostLive is how many truth values live at once in a loop, at most.
func (f *fn) mostLive(l *loop) int {
	ends := make(map[*block]map[*value]bool) // which live at the end of each block
	live := func(v *value, b *block) {       // at the end of b
		for work := []*block{b}; len(work) > 0; {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if ends[b] == nil {
				ends[b] = make(map[*value]bool)
			}
			if ends[b][v] {
				continue
			}
			ends[b][v] = true
			if b != v.block {
				work = append(work, b.preds...)
			}
		}
	}
	above := func(v *value, b *block) { // it is used in b
		if v.class != pred || v.rooted() || v.block == b || v.block == nil {
			return
		}
		for _, p := range b.preds {
			live(v, p)
		}
	}
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i, a := range p.args {
				if a.class == pred && !a.rooted() && a.block != nil {
					live(a, b.preds[i])
				}
			}
		}
		for _, v := range b.insts {
			for _, a := range v.args {
				above(a, b)
			}
		}
		b.term.each(func(a **value) { above(*a, b) })
	}
	most := 0
	for _, b := range f.inOrder(l) {
		now := make(map[*value]bool)
		for v := range ends[b] {
			now[v] = true
		}
		use := func(a *value) {
			if a.class == pred && !a.rooted() {
				now[a] = true
			}
		}
		b.term.each(func(a **value) { use(*a) })
		most = max(most, len(now))
		for _, v := range slices.Backward(b.insts) {
			delete(now, v)
			for _, a := range v.args {
				use(a)
			}
			most = max(most, len(now))
		}
	}
	return most
}
