package ptx

// joinCounters gives a loop one counter for all numbers that are always at the same distance
// from it: those that it counts by the same step, and what an iteration leaves of them to the
// next one.
func joinCounters(f *fn) {
	f.givePreheaders()
	by, sums := make(map[*value]*value), make(map[*block]int)
	for _, b := range f.blocks {
		if b.loop != nil && b.loop.head == b && len(b.preds) == 2 {
			sums[b] = f.joinCountersOf(b.loop, by)
		}
	}
	if len(by) > 0 {
		f.replaceAll(by)
		for b, n := range sums {
			b.settle(n)
		}
		f.subtractFirst()
		shareValues(f)
		sweep(f)
	}
}

// subtractFirst makes x - (y + c), in 64 bits, (x - y) - c: rows at constant distances share the
// difference.
func (f *fn) subtractFirst() {
	edit(f, func(e *editor, v *value) *value {
		if v.class != r64 || v.typ.isFloat() {
			return nil
		}
		if v.op == opSub && isSum(v.args[1]) && v.args[1].args[1].isConst() {
			x, y := v.args[0], v.args[1]
			v.op, v.flags = opAdd, opTable[opAdd].flags
			v.args = []*value{e.emit(opSub, tS64, r64, x, y.args[0]), e.constant(r64, -y.args[1].imm)}
		}
		if v.op == opAdd {
			return e.simplify(v)
		}
		return nil
	})
}

// counter is a number that a loop counts by a constant step.
type counter struct {
	phi   *value
	step  int64
	start linear
}

// distance is how far a phi always is from a multiple of a counter.
type distance struct {
	from  *counter
	times int64
	by    linear
}

// joinCountersOf returns how many sums the loop begins with instead of phis.
func (f *fn) joinCountersOf(l *loop, by map[*value]*value) int {
	h := l.head
	back, ok := l.back()
	if !ok {
		return 0
	}
	known := make(map[*value]distance)
	var counters []*counter
	for _, p := range h.phis {
		n := p.args[back]
		if p.class != r32 && p.class != r64 || n.op != opAdd || n.typ.isFloat() || n.args[0] != p || !n.args[1].isConst() {
			continue
		}
		c := &counter{p, n.args[1].imm, sumOf(p.args[1-back], 6)}
		for _, to := range counters {
			d := difference(c.start, to.start)
			if p.class == r32 && to.phi.class == r32 && to.step == c.step && len(d.terms) == 0 {
				known[p] = distance{to, 1, d}
				break
			}
		}
		if known[p].from == nil {
			known[p] = distance{from: c, times: 1}
			counters = append(counters, c)
		}
	}
	for changed := len(counters) > 0; changed; {
		changed = false
		for _, p := range h.phis {
			if known[p].from != nil || p.class != r32 && p.class != r64 {
				continue
			}
			if d := l.distanceOf(p, back, known); d.from != nil {
				known[p], changed = d, true
			}
		}
	}
	var sums []*value
	plus := func(x, y, like *value) *value {
		s := f.newValue(opAdd, signedOf(x.class), x.class, x, y)
		s.loc, s.block = like.loc, h
		sums = append(sums, s)
		return s
	}
	for _, p := range h.phis {
		d := known[p]
		if d.from == nil || d.from.phi == p {
			continue
		}
		x := d.from.phi
		terms := d.by.terms
		if d.times != 1 {
			if len(terms) == 1 && terms[0].by == d.times { // the sum's multiple
				x, terms = plus(x, terms[0].value, p.args[back]), nil
			}
			x = f.newValue(opMul, signedOf(x.class), x.class, x, f.constant(x.class, d.times))
			x.loc, x.block = p.args[back].loc, h
			if s := f.simplify(x); s != nil {
				x = s
			} else {
				sums = append(sums, x)
			}
		}
		for _, t := range terms {
			x = plus(x, t.value, p.args[back])
		}
		if c := f.constant(x.class, d.by.constant); c.imm != 0 {
			x = plus(x, c, p.args[back])
		}
		by[p] = x
	}
	h.insertBefore(0, sums...)
	return len(sums)
}

// distanceOf is how far p always is from a counter, where the first and the next one are.
func (l *loop) distanceOf(p *value, back int, known map[*value]distance) distance {
	next := sumOf(p.args[back], 6)
	var from distance
	var rest linear
	rest.constant = next.constant
	for _, t := range next.terms {
		switch d, ok := known[t.value]; {
		case ok && from.from == nil && signExtend(d.times*t.by, p.class.bits()) != 0:
			from = distance{d.from, signExtend(d.times*t.by, p.class.bits()), linear{}}
			rest.addAll(d.by, t.by)
		case t.value.op == opPhi && t.value.block == l.head || !l.invariantValue(t.value):
			return distance{}
		default:
			rest.add(t, 1)
		}
	}
	if from.from == nil {
		return distance{}
	}
	rest.constant -= from.times * from.from.step
	if len(rest.terms) > 1 || len(rest.terms) == 1 && rest.terms[0].by != 1 && rest.terms[0].by != from.times {
		return distance{}
	}
	first := difference(sumOf(p.args[1-back], 6), linear{})
	first.addAll(from.from.start, -from.times)
	if d := difference(first, rest); len(d.terms) > 0 || signExtend(d.constant, p.class.bits()) != 0 {
		return distance{}
	}
	return distance{from.from, from.times, rest}
}

// sumOf is a value as a sum of values of its class, which wraps as it does.
func sumOf(v *value, depth int) linear {
	var l linear
	switch {
	case v.isConst():
		l.constant = v.imm
	case depth > 0 && isSum(v):
		l = sumOf(v.args[0], depth-1)
		l.addAll(sumOf(v.args[1], depth-1), 1)
	case depth > 0 && v.op == opShl && v.args[1].isConst() && v.args[1].imm >= 0 && v.args[1].imm < 31:
		l.addAll(sumOf(v.args[0], depth-1), 1<<v.args[1].imm)
	default:
		l.terms = []term{{atom{a: v.id}, v, 1}}
	}
	return l
}

func difference(a, b linear) linear {
	d := linear{append([]term(nil), a.terms...), a.constant}
	d.addAll(b, -1)
	return d
}

// counted are the numbers of a loop that it counts by a constant step, and sums of one of
// them and what it does not change.
func (f *fn) counted(l *loop) map[*value]bool {
	if len(l.head.preds) != 2 || l.fixed() {
		return nil
	}
	back, ok := l.back()
	if !ok {
		return nil
	}
	counts := make(map[*value]bool)
	for _, p := range l.head.phis {
		if n := p.args[back]; p.class == r32 && n.op == opAdd && !n.typ.isFloat() && n.args[0] == p && n.args[1].isConst() {
			counts[p] = true
		}
	}
	if len(counts) == 0 {
		return nil
	}
	for _, b := range f.inOrder(l) {
		for _, v := range b.insts {
			if v.class == r32 && isSum(v) && (counts[v.args[0]] && l.invariantValue(v.args[1]) || counts[v.args[1]] && l.invariantValue(v.args[0])) {
				counts[v] = true
			}
		}
	}
	return counts
}
