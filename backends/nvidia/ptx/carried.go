package ptx

// copyCarried has a loop of one block copy a number that it carries at its beginning, where
// it needs the number after it has computed the next one, and the next one goes elsewhere, too,
// such as to a loop that follows. The next one then has the register of the number, in which
// others take it, and only the copy is in another.
func copyCarried(f *fn) {
	f.analyze()
	takers := make(map[*value]int) // phis that take a value
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for _, a := range p.args {
				takers[a]++
			}
		}
	}
	by := make(map[*value]*value)
	for _, b := range f.blocks {
		if l := b.loop; l != nil && l.head == b && len(b.preds) == 2 {
			back, ok := l.back()
			switch {
			case ok && b.preds[back] == b:
				f.copyCarriedOf(b, back, takers, by)
			case ok:
				f.copyCarriedOver(l, back, by)
			}
		}
	}
	f.replaceAll(by)
	for p, c := range by {
		c.args = []*value{p}
	}
}

func (f *fn) copyCarriedOf(h *block, back int, takers map[*value]int, by map[*value]*value) {
	var copies []*value
	for _, p := range h.phis {
		n := p.args[back]
		if takers[n] < 2 {
			continue
		}
		at := h.indexOf(n)
		if at < 0 || lastUse(h.insts[at+1:], p) < 0 {
			continue
		}
		c := f.newValue(opCopy, bitsOf(p.class), p.class)
		c.loc = n.loc
		copies = append(copies, c)
		by[p] = c
	}
	h.insertBefore(0, copies...)
}

// copyCarriedOver has a loop of several blocks copy a number at its beginning that another one,
// which is an iteration later, has next: LLVM does, and others at the end.
func (f *fn) copyCarriedOver(l *loop, back int, by map[*value]*value) {
	h := l.head
	lagged := make(map[*value]bool)
	for _, p := range h.phis {
		lagged[p.args[back]] = true
	}
	var copies []*value
	for _, p := range h.phis {
		n := p.args[back]
		if !lagged[p] || n.isConst() || n.rooted() || n.op == opPhi && n.block == h || n.block == nil || !l.in(n.block) {
			continue
		}
		c := f.newValue(opCopy, bitsOf(p.class), p.class)
		c.loc = n.loc
		copies = append(copies, c)
		by[p] = c
	}
	h.insertBefore(0, copies...)
}

// indexOf is the index of v among the block's instructions, or -1.
func (b *block) indexOf(v *value) int {
	for i, x := range b.insts {
		if x == v {
			return i
		}
	}
	return -1
}
