package ptx

import "slices"

// fewestPointers is how many pointers a loop advances by the same step before they
// become sums of what does not change and one counter of bytes: what a loop carries
// takes registers that ptxas cannot compute anew.
const fewestPointers = 2

// fewestConstant is the same for a constant step: then the counter takes an addition and a
// register that the pointers alone do not need.
const fewestConstant = 16

// joinInductions gives a loop one counter for all pointers that it advances by the
// same step, as LLVM's loop strength reduction does.
func joinInductions(f *fn) {
	f.givePreheaders()
	f.countUses()
	for _, b := range f.blocks {
		if b.loop != nil && b.loop.head == b && len(b.preds) == 2 {
			f.joinLoop(b.loop)
			f.joinNeighbors(b.loop)
		}
	}
	f.dropTrivialPhis()
	shareValues(f)
}

// induction is a pointer that a loop advances.
type induction struct {
	phi, next *value
}

// ahead reports whether a loop accesses what the pointer is after the step.
func (g *induction) ahead() bool { return g.next.uses > 1 && g.phi.uses == 1 }

func (f *fn) joinLoop(l *loop) {
	h := l.head
	back, ok := l.back()
	if !ok {
		return
	}
	var steps []*value
	groups := make(map[*value][]induction)
	for _, p := range h.phis {
		n := p.args[back]
		if p.class != r64 || n.op != opAdd || n.typ.isFloat() || n.block == nil || !l.in(n.block) {
			continue
		}
		step := n.args[1]
		if n.args[0] != p {
			if step, n = n.args[0], p.args[back]; n.args[1] != p {
				continue
			}
		}
		if step == p || step.block != nil && !step.rooted() && l.in(step.block) {
			continue
		}
		if groups[step] == nil {
			steps = append(steps, step)
		}
		groups[step] = append(groups[step], induction{p, n})
	}
	largest := largestOf(steps, groups)
	for _, step := range steps {
		few := fewestPointers
		if step.isConst() {
			few = fewestConstant
		}
		if g := groups[step]; len(g) >= few || step == largest {
			f.join(l, back, step, g)
		}
	}
}

// fewestSeveral is how many pointers a loop advances by constant steps, several ones, before
// those of the most frequent step have a counter: the others keep their registers.
const fewestSeveral = 12

// largestOf is the constant step of the most pointers, where a loop advances many by several
// constant steps; nil elsewhere.
func largestOf(steps []*value, groups map[*value][]induction) *value {
	var largest *value
	count, kinds := 0, 0
	for _, s := range steps {
		if !s.isConst() {
			continue
		}
		kinds++
		count += len(groups[s])
		if largest == nil || len(groups[s]) > len(groups[largest]) {
			largest = s
		}
	}
	if kinds < 2 || count < fewestSeveral {
		return nil
	}
	return largest
}

// join makes the pointers of a group sums of their first values and a counter.
func (f *fn) join(l *loop, back int, step *value, group []induction) {
	h := l.head
	iv := f.newValue(opPhi, tB64, r64)
	iv.block = h
	next := f.newValue(opAdd, tS64, r64, iv, step)
	next.loc = group[0].next.loc
	iv.args = []*value{f.constant(r64, 0), f.constant(r64, 0)}
	iv.args[back] = next
	by := make(map[*value]*value)
	gone := make(map[*value]bool)
	var sums []*value
	plus := func(x, y *value, like *value) *value {
		s := f.newValue(opAdd, tS64, r64, x, y)
		s.loc, s.block = like.loc, h
		sums = append(sums, s)
		return s
	}
	pre, nextNeeded, allAhead := l.preheader(), false, false
	side, base := grid(group, back), commonBase(group, back)
	if pre == nil {
		base = nil
	}
	if base != nil {
		// The counter is a pointer itself, to which each of the others is at a distance.
		side, allAhead = -1, true
		for _, g := range group {
			allAhead = allAhead && g.ahead()
		}
		if allAhead {
			first := f.newValue(opAdd, tS64, r64, base, step)
			first.loc = next.loc
			iv.args[1-back] = pre.append(first)
		} else {
			iv.args[1-back] = base
		}
	}
	for _, g := range group {
		start := g.phi.args[1-back]
		if base != nil {
			start = start.otherThan(base)
		}
		advance := func(counter *value) *value {
			switch {
			case base != nil:
				return plus(counter, start, g.next)
			case side < 0:
				return plus(start, counter, g.next)
			}
			return plus(plus(start.args[side], counter, g.next), start.args[1-side], g.next)
		}
		switch {
		case allAhead:
			by[g.next] = advance(iv)
		case g.ahead() && step.isConst():
			by[g.next] = plus(advance(iv), step, g.next) // accesses take the constant
		case g.ahead() && side < 0 && pre != nil:
			// Loads are ahead by an iteration: so is what they begin with.
			ahead := f.newValue(opAdd, tS64, r64, start, step)
			ahead.loc = g.next.loc
			start = pre.append(ahead)
			by[g.next] = advance(iv)
		case g.next.uses > 1: // the next values are sums of the next counter
			by[g.next], nextNeeded = advance(next), true
			fallthrough
		default:
			by[g.phi] = advance(iv)
		}
		gone[g.phi] = true
	}
	kept := h.phis[:0]
	for _, p := range h.phis {
		if !gone[p] {
			kept = append(kept, p)
		}
	}
	h.phis = append(kept, iv)
	f.replaceAll(by)
	if nextNeeded {
		sums = append([]*value{next}, sums...)
	} else {
		h.preds[back].append(next)
	}
	h.insertBefore(0, sums...)
	f.settleIn(h, len(sums))
}

// settleIn moves each of the first n instructions of a loop's head to before the first one that
// uses it, in the block that leads to all that do: from the head on it would take registers.
func (f *fn) settleIn(h *block, n int) {
	f.place()
	where := make([]*block, f.lastID+1) // by ids
	note := func(a *value, at *block) {
		if w := where[a.id]; w != nil {
			at = meet(w, at)
		}
		where[a.id] = at
	}
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i, a := range p.args {
				note(a, b.preds[i])
			}
		}
		insts := b.insts
		if b == h {
			insts = insts[n:] // those that move take their operands along
		}
		for _, v := range insts {
			for _, a := range v.args {
				note(a, b)
			}
		}
		b.term.each(func(a **value) { note(*a, b) })
	}
	for i := n - 1; i >= 0; i-- {
		v := h.insts[i]
		to := where[v.id]
		for to != nil && to != h && to.loop != h.loop { // not into another loop
			to = to.idom
		}
		if to == nil {
			to = h
		}
		for _, a := range v.args {
			note(a, to)
		}
		switch first := firstUse(to.insts, v); {
		case to == h && first > i:
			h.moveDown(i, first-1)
		case to != h && first >= 0:
			h.insts = slices.Delete(h.insts, i, i+1)
			to.insertBefore(first, v)
		case to != h:
			h.insts = slices.Delete(h.insts, i, i+1)
			to.append(v)
		}
	}
}

// commonBase returns an operand that the first values of all of a group are sums of, or nil.
func commonBase(group []induction, back int) *value {
	s := group[0].phi.args[1-back]
	if s.op != opAdd {
		return nil
	}
next:
	for _, base := range s.args {
		if base.isConst() {
			continue
		}
		for _, g := range group {
			if s := g.phi.args[1-back]; s.op != opAdd || s.args[0] != base && s.args[1] != base {
				continue next
			}
		}
		return base
	}
	return nil
}

// otherThan is the operand of a sum that is not x.
func (v *value) otherThan(x *value) *value {
	if v.args[0] == x {
		return v.args[1]
	}
	return v.args[0]
}

// settle moves each of the first n instructions to before the first one that uses it.
func (b *block) settle(n int) {
	for i := n - 1; i >= 0; i-- {
		if first := firstUse(b.insts[i+1:], b.insts[i]); first > 0 {
			b.moveDown(i, i+first)
		}
	}
}

// firstUse is the index of the first of some instructions that reads v, or -1.
func firstUse(insts []*value, v *value) int {
	for i, x := range insts {
		for _, a := range x.args {
			if a == v {
				return i
			}
		}
	}
	return -1
}

// fewestOfGrid is how many pointers of a tile are worth an addition more each row.
const fewestOfGrid = 16

// grid finds that the first values of a group are sums of few values for rows and few
// for columns, and returns which operand is for the fewer ones; else -1. The loop then
// keeps those, instead of a sum for each element.
func grid(group []induction, back int) int {
	var of [2]map[*value]bool
	of[0], of[1] = make(map[*value]bool), make(map[*value]bool)
	for _, g := range group {
		s := g.phi.args[1-back]
		if s.op != opAdd || s.args[1].isConst() {
			return -1
		}
		of[0][s.args[0]], of[1][s.args[1]] = true, true
	}
	if len(group) < fewestOfGrid || 2*(len(of[0])+len(of[1])) > len(group) {
		return -1
	}
	if len(of[1]) < len(of[0]) {
		return 1
	}
	return 0
}

// regroupSums adds what does not change in a loop together before the loop: the sum
// (n + x) + y is n + (x + y), such as the place of a thread in a buffer of a pipeline. Where n
// is not a counter a constant stays where it is, since an access may take it, and so it does
// where another loop adds the number that it would join: both loops would keep that and the sum.
func regroupSums(f *fn) {
	f.givePreheaders()
	f.countUses()
	adding := make(map[*value]*loop) // the first loop that adds a number
	common := make(map[*value]bool)  // what others add, too
	for _, b := range f.blocks {
		for _, v := range b.insts {
			if b.loop == nil || !isSum(v) {
				continue
			}
			for _, a := range v.args {
				l := adding[a]
				if l == nil {
					adding[a] = b.loop
				} else if !l.in(b) && !b.loop.in(l.head) {
					common[a] = true
				}
			}
		}
	}
	f.eachInLoops(func(l *loop, pre *block, v *value) { f.regroup(l, pre, v, common) })
}

func (f *fn) regroup(l *loop, pre *block, v *value, common map[*value]bool) {
	if !isSum(v) || v.class != r32 {
		return
	}
	for i := range 2 {
		x, y := v.args[i], v.args[1-i]
		if !isSum(x) || x.class != v.class || !l.invariantValue(y) {
			continue
		}
		for k := range 2 {
			n, inv := x.args[k], x.args[1-k]
			counts := n.op == opPhi && n.block == l.head
			constant := inv.isConst() || y.isConst()
			if !l.invariantValue(inv) || l.invariantValue(n) || !counts && constant {
				continue
			}
			if x.uses != 1 && (!counts || constant || y.uses != 1) {
				continue
			}
			if inv.isConst() && common[y] || y.isConst() && common[inv] {
				continue
			}
			x.uses--
			s := f.sumBefore(pre, v, inv, y)
			v.op, v.typ, v.flags = opAdd, tS32, opTable[opAdd].flags
			v.args = []*value{n, s}
			f.regroup(l, pre, v, common)
			return
		}
	}
}

// sumBefore adds two numbers before a loop, for v. Of what sums that were made so have, products
// are added last, as LLVM does.
func (f *fn) sumBefore(pre *block, v, x, y *value) *value {
	var terms, products []*value
	for _, a := range []*value{x, y} {
		parts := []*value{a}
		if a.block == pre && a.op == opAdd && a.uses == 1 {
			parts = a.args
		}
		for _, p := range parts {
			if p.op == opMul {
				products = append(products, p)
			} else {
				terms = append(terms, p)
			}
		}
	}
	terms = append(terms, products...)
	s := terms[0]
	for _, t := range terms[1:] {
		sum := f.newValue(opAdd, tS32, r32, s, t)
		sum.loc, sum.uses = v.loc, 1
		s = pre.append(sum)
	}
	return s
}
