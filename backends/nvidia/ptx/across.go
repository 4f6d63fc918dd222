package ptx

import "slices"

// shareAcross computes a sum of a constant once, before the ways to two loops part that both need
// it, where one loop leads on to the other: llc does so, and ptxas keeps the sum through the first
// loop where it would keep what the sum is computed of.
func shareAcross(f *fn) {
	f.analyze()
	f.place()
	blocks := make([]*block, len(f.blocks))
	for _, b := range f.blocks {
		blocks[b.order] = b
	}
	known := make(map[gvnKey]*value)
	by := make(map[*value]*value)
	for _, b := range blocks[1:] {
		if b.loop != nil || len(b.term.to) != 1 || b.term.to[0].loop == nil {
			continue // leads into no loop
		}
		for _, v := range b.insts {
			if v.op != opAdd || v.class != r32 || !v.args[1].isConst() || !f.usedIn(b.term.to[0].loop, v) {
				continue
			}
			k := keyOf(v)
			x := known[k]
			if x == nil {
				known[k] = v
				continue
			}
			if c := meet(x.block, b); c != x.block && c.loop == nil && f.computable(x, c) && leadsTo(x.block, b) {
				i := x.block.indexOf(x)
				x.block.insts = slices.Delete(x.block.insts, i, i+1)
				c.append(x)
				by[v] = x
			}
		}
	}
	if len(by) > 0 {
		f.replaceAll(by)
		sweep(f)
	}
}

// usedIn reports whether an instruction of a loop takes v.
func (f *fn) usedIn(l *loop, v *value) bool {
	for _, b := range f.blocks {
		if !l.in(b) {
			continue
		}
		for _, x := range b.insts {
			if slices.Contains(x.args, v) {
				return true
			}
		}
	}
	return false
}

// computable reports whether all operands of v are known at the end of b.
func (f *fn) computable(v *value, b *block) bool {
	for _, a := range v.args {
		if a.block != nil && !a.rooted() && !dominates(a.block, b) {
			return false
		}
	}
	return true
}

// leadsTo reports whether a way leads from a to b.
func leadsTo(a, b *block) bool {
	seen := map[*block]bool{}
	for work := []*block{a}; len(work) > 0; {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		if x == b {
			return true
		}
		if !seen[x] {
			seen[x] = true
			work = append(work, x.term.to...)
		}
	}
	return false
}
