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
			if back, ok := l.back(); ok && b.preds[back] == b {
				f.copyCarriedOf(b, back, takers, by)
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

// indexOf is the index of v among the block's instructions, or -1.
func (b *block) indexOf(v *value) int {
	for i, x := range b.insts {
		if x == v {
			return i
		}
	}
	return -1
}
