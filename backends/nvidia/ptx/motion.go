package ptx

import (
	"slices"
	"sort"
)

// hoistInvariants moves what does not change in a loop before it. Of a loop with others in it
// only what these need moves: the rest would live through them, and take their registers. Loops
// that LLVM IR excludes keep their code: what leaves them would take registers from what they
// accumulate. Places in a variable, which ptxas hoists where it has the registers, stay, too, and
// choices: a truth value that a loop keeps takes no register of numbers.
func hoistInvariants(f *fn) {
	f.givePreheaders()
	for _, l := range f.loopsInnerFirst() {
		pre := l.preheader()
		if pre == nil || l.fixed() {
			continue
		}
		blocks := f.inOrder(l)
		needed := l.neededInside(blocks)
		for _, b := range blocks {
			kept := b.insts[:0]
			for _, v := range b.insts {
				if (needed == nil || needed[v]) && hoistable(v) && l.invariant(v) && !ofVariable(v) && v.op != opSelp {
					pre.append(v)
					continue
				}
				kept = append(kept, v)
			}
			b.insts = kept
		}
	}
}

// neededInside are the values that the loops in l use, and those that these are computed of; nil
// where there is no loop in l. The blocks are l's, in order.
func (l *loop) neededInside(blocks []*block) map[*value]bool {
	if !l.hasInner {
		return nil
	}
	needed := make(map[*value]bool)
	need := func(a **value) { needed[*a] = true }
	for _, b := range slices.Backward(blocks) {
		inside := b.loop != l
		for _, v := range slices.Backward(b.insts) {
			if !inside && !needed[v] {
				continue
			}
			for i := range v.args {
				need(&v.args[i])
			}
		}
		if !inside {
			continue
		}
		b.term.each(need)
		for _, p := range b.phis {
			for i := range p.args {
				if b.preds[i].loop != l {
					need(&p.args[i])
				}
			}
		}
	}
	return needed
}

// eachInLoops visits the instructions of loops that may change, those of inner loops first, with
// the loop's preheader.
func (f *fn) eachInLoops(visit func(l *loop, pre *block, v *value)) {
	for _, l := range f.loopsInnerFirst() {
		pre := l.preheader()
		if pre == nil || l.fixed() {
			continue
		}
		for _, b := range f.inOrder(l) {
			for _, v := range b.insts {
				visit(l, pre, v)
			}
		}
	}
}

// fixed reports whether a loop is to keep its code.
func (l *loop) fixed() bool {
	for _, p := range l.head.preds {
		if l.in(p) && p.term.noLICM {
			return true
		}
	}
	return false
}

// hoistable reports whether an instruction may be executed though its block is not,
// and is worth a register: truth values have few.
func hoistable(v *value) bool {
	if v.flags&pure == 0 || v.class == pred || v.op == opCopy {
		return false
	}
	return !divides(v) && v.op != opAsm && v.op != opSplit
}

// divides reports whether v is a division, which costs too much where it is not needed.
func divides(v *value) bool { return v.op == opDiv || v.op == opRem }

// waitsBefore reports whether warps have met at a barrier before. A division after that stays
// there: from the branch on, a producer of a kernel that is divided among warps starts its loads.
func waitsBefore(insts []*value) bool {
	return slices.ContainsFunc(insts, func(v *value) bool { return v.op == opInst && v.text == "bar.sync" })
}

// invariant reports whether all operands of v are computed outside of l.
func (l *loop) invariant(v *value) bool {
	for _, a := range v.args {
		if !l.invariantValue(a) {
			return false
		}
	}
	return true
}

// invariantValue reports whether v is computed outside of l.
func (l *loop) invariantValue(v *value) bool {
	return v.block == nil || v.rooted() || !l.in(v.block)
}

// loopsInnerFirst are all loops, those in others before them.
func (f *fn) loopsInnerFirst() []*loop {
	var out []*loop
	for _, b := range f.blocks {
		if b.loop != nil && b.loop.head == b {
			out = append(out, b.loop)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].depth > out[j].depth })
	return out
}

// inOrder are a loop's blocks such that each follows its dominators.
func (f *fn) inOrder(l *loop) []*block {
	var out []*block
	for _, b := range f.blocks {
		if l.in(b) {
			out = append(out, b)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].order < out[j].order })
	return out
}

// sinkValues moves what only some ways through a function use to where these begin,
// but not into loops, and not to where all ways lead: after a loop it would be computed as
// often as before it, and ptxas schedules a loop worse that fewer values live through.
// Comparisons always go to where they are needed, those for loops to the end of the block
// before these.
func sinkValues(f *fn) {
	f.analyze()
	always := &following{}
	f.place()
	where := make([]*block, f.lastID+1) // by values
	note := func(a *value, at *block) {
		if a.block == nil || a.rooted() {
			return
		}
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
		b.term.each(func(a **value) { note(*a, b) })
	}
	blocks := append([]*block(nil), f.blocks...)
	sort.SliceStable(blocks, func(i, j int) bool { return blocks[i].order > blocks[j].order })
	sunk := make(map[*block][]*value) // the first ones last
	last := make(map[*block][]*value) // of a block, the first ones last, too
	for _, b := range blocks {        // what uses a value comes before it
		var kept []*value
		for i := len(b.insts) - 1; i >= 0; i-- {
			v := b.insts[i]
			to, forLoop := b, false
			if w := where[v.id]; w != nil && (hoistable(v) || divides(v) && !waitsBefore(b.insts[:i])) {
				for to = w; to != b && depthOf(to) > depthOf(b); {
					to = to.idom
				}
				switch {
				case to == b:
				case !dominates(b, to):
					to = b
				case !always.follows(to, b):
				default:
					to = towards(b, to)
				}
			} else if w != nil && w != b && comparesNumbers(v) {
				for to = w; to != b && depthOf(to) > depthOf(b); {
					to = to.idom
				}
				forLoop = dominates(b, to) && to != w
				if !dominates(b, to) {
					to = b
				}
			}
			for _, a := range v.args {
				note(a, to)
			}
			switch {
			case forLoop:
				last[to] = append(last[to], v)
			case to == b:
				kept = append(kept, v)
			default:
				sunk[to] = append(sunk[to], v)
			}
			v.block = to
		}
		slices.Reverse(kept)
		b.insts = kept
	}
	for b, front := range sunk {
		slices.Reverse(front)
		b.insts = append(front, b.insts...)
	}
	for b, end := range last {
		slices.Reverse(end)
		b.insts = append(b.insts, end...)
	}
}

// towards is the last block on the way from b to one that all ways lead to and that uses a
// value, or b where a loop is on the way.
func towards(b, to *block) *block {
	last := b
	for x := to.idom; x != b; x = x.idom {
		if depthOf(x) > depthOf(b) {
			return b
		}
		if last == b {
			last = x
		}
	}
	return last
}

// following knows which blocks every way from others leads through.
type following struct {
	known map[[2]*block]bool
}

// follows reports whether every way from b to an end leads through a.
func (p *following) follows(a, b *block) bool {
	k := [2]*block{a, b}
	if r, ok := p.known[k]; ok {
		return r
	}
	if p.known == nil {
		p.known = make(map[[2]*block]bool)
	}
	p.known[k] = !endsWithout(a, b)
	return p.known[k]
}

// endsWithout reports whether a way from b ends without a.
func endsWithout(a, b *block) bool {
	seen := map[*block]bool{a: true}
	for work := []*block{b}; len(work) > 0; {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[x] {
			continue
		}
		seen[x] = true
		if len(x.term.to) == 0 {
			return true
		}
		work = append(work, x.term.to...)
	}
	return false
}

// ofVariable reports whether v is a place in a variable of shared memory.
func ofVariable(v *value) bool {
	return v.op == opAdd && v.class == r32 && (v.args[0].op == opSym || v.args[1].op == opSym)
}
