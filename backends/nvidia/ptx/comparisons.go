package ptx

// mostTruths is how many truth values a loop may keep: there are seven registers for them,
// and an iteration needs some.
const mostTruths = 6

// sinkComparisons has a loop compare anew in each iteration where it would keep more truth
// values than there are registers for. ptxas moves those to others, and back.
func sinkComparisons(f *fn) {
	f.analyze()
	for _, b := range f.blocks {
		for _, v := range b.insts {
			v.block = b
		}
	}
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
	if changed {
		sweep(f)
	}
}

// comparesNumbers reports whether v compares numbers, and nothing else with the result.
func comparesNumbers(v *value) bool {
	return v.op == opSetp && len(v.args) == 2 && v.args[0].class != pred
}

// compareIn has a block compare what it uses of a set at its beginning.
func (f *fn) compareIn(b *block, set map[*value]bool) {
	own := make(map[*value]*value)
	var front []*value
	for _, v := range b.insts {
		for i, a := range v.args {
			if !set[a] {
				continue
			}
			c := own[a]
			if c == nil {
				c = f.newValue(opSetp, a.typ, pred, a.args...)
				c.cmp, c.flags, c.loc = a.cmp, a.flags, a.loc
				own[a] = c
				front = append(front, c)
			}
			v.args[i] = c
		}
	}
	b.insertBefore(0, front...)
}
