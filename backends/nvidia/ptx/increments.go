package ptx

import "slices"

// sinkIncrements moves the value that the next iteration begins with after the last use of
// the one that this iteration began with, where nobody needs it before: then both have one
// register.
func sinkIncrements(f *fn) {
	f.analyze()
	f.place()
	f.countUses()
	for _, b := range f.blocks {
		for _, phi := range b.phis {
			for i, n := range phi.args {
				if n.block == nil || n.flags&pure == 0 || n.rooted() || !dominates(b, b.preds[i]) || n.op == opPhi {
					continue
				}
				if latch := b.preds[i]; latch != n.block && latch.loop == b.loop && f.onlyCounts(n, phi) {
					at := n.block.indexOf(n)
					n.block.insts = slices.Delete(n.block.insts, at, at+1)
					latch.append(n)
					continue
				}
				sinkBehind(n, phi)
			}
		}
	}
}

// onlyCounts reports whether n, which nothing but the phi takes, is computed of the phi, while other
// blocks read the phi after n.
func (f *fn) onlyCounts(n, phi *value) bool {
	if n.uses != 1 || !slices.Contains(n.args, phi) || divides(n) {
		return false
	}
	after := func(a *value, b *block) bool { return a == phi && b != n.block && dominates(n.block, b) }
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i, a := range p.args {
				if after(a, b.preds[i]) {
					return true
				}
			}
		}
		for _, v := range b.insts {
			for _, a := range v.args {
				if after(a, b) {
					return true
				}
			}
		}
	}
	return false
}

// sinkBehind moves n, of which a phi takes its next value.
func sinkBehind(n, phi *value) {
	b := n.block
	at := b.indexOf(n)
	if at < 0 {
		return
	}
	last := -1
	for i := at + 1; i < len(b.insts); i++ {
		for _, a := range b.insts[i].args {
			if a == n && last < 0 {
				// Nothing after this use of n may read the phi.
				for _, v := range b.insts[i:] {
					for _, x := range v.args {
						if x == phi {
							return
						}
					}
				}
				if last = lastUse(b.insts[at+1:i], phi); last < 0 {
					return
				}
				b.moveDown(at, at+1+last)
				return
			}
		}
	}
	if last = lastUse(b.insts[at+1:], phi); last >= 0 {
		b.moveDown(at, at+1+last)
	}
}

// lastUse is the index of the last of some instructions that reads v, or -1.
func lastUse(insts []*value, v *value) int {
	for i := len(insts) - 1; i >= 0; i-- {
		for _, a := range insts[i].args {
			if a == v {
				return i
			}
		}
	}
	return -1
}

// moveDown moves the instruction at one index to after the one at another.
func (b *block) moveDown(from, to int) {
	v := b.insts[from]
	copy(b.insts[from:to], b.insts[from+1:to+1])
	b.insts[to] = v
}
