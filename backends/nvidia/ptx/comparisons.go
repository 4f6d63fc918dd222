package ptx

import "slices"

// mostTruths is how many truth values a loop may keep: there are seven registers for them,
// and an iteration needs some.
const mostTruths = 6

// sinkComparisons has blocks make the comparisons that they need, as LLVM does, so that few
// truth values live from one block to another. A loop compares what it does not change only
// where it would keep more truth values than there are registers for; ptxas moves those to
// others, and back.
func sinkComparisons(f *fn) {
	f.analyze()
	f.place()
	changed := false
	for _, l := range f.loopsInnerFirst() {
		kept := make(map[*value]bool)
		blocks := f.inOrder(l)
		for _, b := range blocks {
			for _, v := range b.insts {
				for _, a := range v.args {
					if comparesNumbers(a) && !l.in(a.block) {
						kept[a] = true
					}
				}
			}
		}
		if len(kept) <= mostTruths {
			continue
		}
		changed = true
		for _, b := range blocks {
			f.compareIn(b, kept)
		}
	}
	changed = f.compareWhereUsed() || changed
	if changed {
		sweep(f)
	}
}

// compareWhereUsed moves comparisons of numbers to the blocks that use them, unless their own
// does, or they would go into a loop that does not change them. A branch that goes elsewhere if
// the comparison fails, and is not all that uses it, makes the opposite one. It reports whether
// anything changed.
func (f *fn) compareWhereUsed() bool {
	blocks := slices.Clone(f.blocks)
	slices.SortFunc(blocks, func(x, y *block) int { return x.order - y.order })
	used := make(map[*value][]*block) // where, dominators first
	opposite := make(map[*value]bool) // for the branch
	note := func(a *value, b *block) {
		if at := used[a]; comparesNumbers(a) && (len(at) == 0 || at[len(at)-1] != b) {
			used[a] = append(at, b)
		}
	}
	for _, b := range blocks {
		for _, p := range b.phis {
			for _, a := range p.args {
				note(a, a.block)
			}
		}
		for _, v := range b.insts {
			for _, a := range v.args {
				note(a, b)
			}
		}
		switch c := b.term.cond; {
		case c == nil:
		case comparesNumbers(c) && c.block == b && f.fallsThrough(b) && !c.typ.isFloat():
			opposite[c] = true
		default:
			note(c, b)
		}
	}
	changed := false
	for _, b := range blocks {
		for _, a := range slices.Clone(b.insts) {
			if at := used[a]; len(at) > 0 {
				changed = f.moveComparison(a, at) || changed
				if opposite[a] {
					c := f.compareAgain(a, b)
					c.cmp = a.cmp.inverse(false)
					if c.args[1].isConst() {
						f.makeStrict(c)
					}
					b.insts = append(b.insts, c)
					b.term.cond, b.term.not, changed = c, !b.term.not, true
				}
			}
		}
	}
	return changed
}

// fallsThrough reports whether a branch is written with the opposite of its condition, since
// what follows it in the text is where it goes if that holds.
func (f *fn) fallsThrough(b *block) bool {
	i := slices.Index(f.blocks, b)
	return i+1 < len(f.blocks) && (f.blocks[i+1] == b.term.to[0]) != b.term.not
}

// moveComparison has blocks that use a comparison make it, those alone that no other of them
// dominates, and reports whether it did.
func (f *fn) moveComparison(a *value, used []*block) bool {
	for _, b := range used {
		if b == a.block || b.loop != nil && (!b.loop.in(a.block) || b.loop.invariant(a)) {
			return false
		}
	}
	var made []*value
next:
	for _, b := range used {
		for _, c := range made {
			if dominates(c.block, b) {
				replaceIn(b, a, c)
				continue next
			}
		}
		c := f.compareAgain(a, b)
		made = append(made, c)
		replaceIn(b, a, c)
		b.insertBefore(0, c)
	}
	return true
}

// replaceIn has a block's instructions and its branch take one value in the place of another.
func replaceIn(b *block, old, by *value) {
	for _, v := range b.insts {
		for i, a := range v.args {
			if a == old {
				v.args[i] = by
			}
		}
	}
	if b.term.cond == old {
		b.term.cond = by
	}
}

// compareAgain is a comparison like a, for a block. Its operands are its own: phases change them
// in place.
func (f *fn) compareAgain(a *value, b *block) *value {
	c := f.newValue(opSetp, a.typ, pred, slices.Clone(a.args)...)
	c.cmp, c.flags, c.loc, c.block = a.cmp, a.flags, a.loc, b
	return c
}

// comparesNumbers reports whether v compares numbers, and nothing else with the result.
func comparesNumbers(v *value) bool {
	return v.op == opSetp && len(v.args) == 2 && v.args[0].class != pred
}

// compareIn has a block compare what it uses of a set at its beginning.
func (f *fn) compareIn(b *block, set map[*value]bool) {
	own := make(map[*value]*value)
	var front []*value
	compare := func(at **value) {
		a := *at
		if !set[a] {
			return
		}
		c := own[a]
		if c == nil {
			c = f.compareAgain(a, b)
			own[a] = c
			front = append(front, c)
		}
		*at = c
	}
	for _, v := range b.insts {
		for i := range v.args {
			compare(&v.args[i])
		}
	}
	if b.term.cond != nil {
		compare(&b.term.cond)
	}
	b.insertBefore(0, front...)
}

// shareComparisons has a block take a comparison of a block that dominates it in the place of an
// equal one: where blocks branch by the opposite of the same comparison, say. A loop does not
// take one from outside: where it compares again it has no registers to keep truth values.
func shareComparisons(f *fn) {
	f.analyze()
	blocks := slices.Clone(f.blocks)
	slices.SortFunc(blocks, func(x, y *block) int { return x.order - y.order })
	known := make(map[gvnKey][]*value)
	by := make(map[*value]*value)
	for _, b := range blocks {
	next:
		for _, v := range b.insts {
			if !comparesNumbers(v) {
				continue
			}
			k := keyOf(v)
			for _, x := range known[k] {
				if dominates(x.block, b) && (b.loop == nil || b.loop.in(x.block)) {
					by[v] = x
					continue next
				}
			}
			known[k] = append(known[k], v)
		}
	}
	if len(by) > 0 {
		f.replaceAll(by)
		sweep(f)
	}
}
