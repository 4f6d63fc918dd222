package ptx

// loop is a natural loop.
type loop struct {
	head   *block
	blocks []*block
	outer  *loop
	depth  int
	// hasInner: there are loops in it.
	hasInner bool
}

// in reports whether b belongs to l.
func (l *loop) in(b *block) bool {
	for x := b.loop; x != nil; x = x.outer {
		if x == l {
			return true
		}
	}
	return false
}

// setPreds makes the lists of predecessors anew.
func (f *fn) setPreds() {
	for _, b := range f.blocks {
		b.preds = nil
	}
	for _, b := range f.blocks {
		for _, to := range b.term.to {
			to.preds = append(to.preds, b)
		}
	}
}

// analyze drops blocks that nothing reaches and finds dominators and loops.
func (f *fn) analyze() {
	order := f.postorder()
	f.keep(order)
	for i, b := range order { // reverse postorder
		b.order, b.idom, b.loop = len(order)-1-i, nil, nil
	}
	byOrder := make([]*block, len(order))
	for _, b := range order {
		byOrder[b.order] = b
	}
	entry := f.blocks[0]
	entry.idom = entry
	for changed := true; changed; {
		changed = false
		for _, b := range byOrder[1:] {
			var dom *block
			for _, p := range b.preds {
				switch {
				case p.idom == nil:
				case dom == nil:
					dom = p
				default:
					dom = meet(dom, p)
				}
			}
			if dom != b.idom {
				b.idom, changed = dom, true
			}
		}
	}
	numberTree(byOrder)
	f.findLoops(byOrder)
}

// numberTree numbers the dominator tree, in which a block comes later in the order than
// those that dominate it.
func numberTree(byOrder []*block) {
	entry := byOrder[0]
	for _, b := range byOrder {
		b.dominated = 1
	}
	for i := len(byOrder) - 1; i > 0; i-- {
		byOrder[i].idom.dominated += byOrder[i].dominated
	}
	next := make([]int, len(byOrder)) // the number of a block's next child
	entry.depth, entry.first, next[0] = 0, 1, 2
	for _, b := range byOrder[1:] {
		above := &next[b.idom.order]
		b.depth, b.first, next[b.order] = b.idom.depth+1, *above, *above+1
		*above += b.dominated
	}
}

func meet(a, b *block) *block {
	for a != b {
		for a.order > b.order {
			a = a.idom
		}
		for b.order > a.order {
			b = b.idom
		}
	}
	return a
}

func (f *fn) postorder() []*block {
	var order []*block
	seen := make([]bool, len(f.blocks))
	for i, b := range f.blocks {
		b.id = i
	}
	var walk func(*block)
	walk = func(b *block) {
		seen[b.id] = true
		for _, to := range b.term.to {
			if !seen[to.id] {
				walk(to)
			}
		}
		order = append(order, b)
	}
	walk(f.blocks[0])
	return order
}

// keep drops the blocks that are not in a list, and their values for phis.
func (f *fn) keep(list []*block) {
	if len(list) == len(f.blocks) {
		return
	}
	live := make(map[*block]bool, len(list))
	for _, b := range list {
		live[b] = true
	}
	kept := f.blocks[:0]
	for _, b := range f.blocks {
		if !live[b] {
			continue
		}
		kept = append(kept, b)
		for i := len(b.preds) - 1; i >= 0; i-- {
			if !live[b.preds[i]] {
				b.dropPred(i)
			}
		}
	}
	f.blocks = kept
	for i, b := range kept {
		b.id = i
	}
}

func (b *block) dropPred(i int) {
	b.preds = append(append([]*block(nil), b.preds[:i]...), b.preds[i+1:]...)
	for _, p := range b.phis {
		p.args = append(append([]*value(nil), p.args[:i]...), p.args[i+1:]...)
	}
}

func (b *block) predIndex(p *block) int {
	for i, x := range b.preds {
		if x == p {
			return i
		}
	}
	panic("BUG: ptx: not a predecessor")
}

// dominates reports whether every way to b leads through a.
func dominates(a, b *block) bool {
	return a == b || a.first <= b.first && b.first < a.first+a.dominated
}

// findLoops finds the natural loops, inner ones last to have their blocks named.
func (f *fn) findLoops(byOrder []*block) {
	for i := len(byOrder) - 1; i >= 0; i-- { // inner heads come later in the order
		h := byOrder[i]
		var l *loop
		for _, p := range h.preds {
			if !dominates(h, p) {
				continue
			}
			if l == nil {
				l = &loop{head: h}
			}
			l.collect(p)
		}
		if l == nil {
			continue
		}
		l.add(h)
	}
	for _, b := range byOrder {
		if l := b.loop; l != nil && l.depth == 0 {
			for x := l; x != nil; x = x.outer {
				l.depth++
			}
			if l.outer != nil {
				l.outer.hasInner = true
			}
		}
	}
}

// add puts b, with all loops that it is in already, into l.
func (l *loop) add(b *block) {
	l.blocks = append(l.blocks, b)
	if b.loop == nil {
		b.loop = l
		return
	}
	x := b.loop
	for x != l && x.outer != nil && x.outer != l {
		x = x.outer
	}
	if x != l {
		x.outer = l
	}
}

// collect adds all blocks from which p is reached without passing the head.
func (l *loop) collect(p *block) {
	work := []*block{p}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == l.head || b.last == l {
			continue
		}
		b.last = l
		l.add(b)
		work = append(work, b.preds...)
	}
}

// back is which of the head's two predecessors is in the loop; false where not one is.
func (l *loop) back() (int, bool) {
	first, second := l.in(l.head.preds[0]), l.in(l.head.preds[1])
	if second {
		return 1, !first
	}
	return 0, first
}

// preheader is the only block outside of a loop that leads into it, and has no other
// successor; nil if there is none.
func (l *loop) preheader() *block {
	var pre *block
	for _, p := range l.head.preds {
		if l.in(p) {
			continue
		}
		if pre != nil {
			return nil
		}
		pre = p
	}
	if pre == nil || len(pre.term.to) != 1 {
		return nil
	}
	return pre
}

// givePreheaders puts an empty block before every loop that has none.
func (f *fn) givePreheaders() {
	f.analyze()
	changed := false
	for _, b := range f.blocks {
		if l := b.loop; l == nil || l.head != b || l.preheader() != nil {
			continue
		}
		changed = f.preheaderOf(b.loop) || changed
	}
	if changed {
		f.analyze()
	}
}

func (f *fn) preheaderOf(l *loop) bool {
	h := l.head
	var outside []int
	for i, p := range h.preds {
		if !l.in(p) {
			outside = append(outside, i)
		}
	}
	if len(outside) == 0 {
		return false
	}
	pre := &block{loop: l.outer}
	pre.term = terminator{to: []*block{h}, loc: h.preds[outside[0]].term.loc}
	for _, i := range outside {
		p := h.preds[i]
		for k, to := range p.term.to {
			if to == h {
				p.term.to[k] = pre
			}
		}
		pre.preds = append(pre.preds, p)
	}
	for _, phi := range h.phis {
		v := phi.args[outside[0]]
		if len(outside) > 1 {
			v = f.newValue(opPhi, phi.typ, phi.class)
			v.block = pre
			for _, i := range outside {
				v.args = append(v.args, phi.args[i])
			}
			pre.phis = append(pre.phis, v)
		}
		for k := len(outside) - 1; k >= 0; k-- {
			i := outside[k]
			phi.args = append(append([]*value(nil), phi.args[:i]...), phi.args[i+1:]...)
		}
		phi.args = append(phi.args, v)
	}
	for k := len(outside) - 1; k >= 0; k-- {
		i := outside[k]
		h.preds = append(append([]*block(nil), h.preds[:i]...), h.preds[i+1:]...)
	}
	h.preds = append(h.preds, pre)
	// Before the head in the text, too.
	at := 0
	for i, b := range f.blocks {
		if b == h {
			at = i
		}
	}
	f.blocks = append(f.blocks[:at], append([]*block{pre}, f.blocks[at:]...)...)
	return true
}

// place has every instruction know its block, which those that phases have made may not.
func (f *fn) place() {
	for _, b := range f.blocks {
		for _, v := range b.insts {
			v.block = b
		}
	}
}
