package ptx

// fewestSaved is how many instructions of each iteration a counter is worth.
const fewestSaved = 2

// countMultiples gives a loop a counter for what it computes of another one by several
// instructions, such as n - 64*i - 128: an iteration then adds once, and what waits for the
// number, a comparison or an address, does not wait for a product. It is one counter for each
// factor, to which several of the same one, such as the rows of a tile, add what they begin with.
func countMultiples(f *fn) {
	f.givePreheaders()
	f.countUses()
	by := make(map[*value]*value)
	for _, l := range f.loopsInnerFirst() {
		if len(l.head.preds) == 2 && !l.fixed() && l.preheader() != nil && f.countMultiplesOf(l, by) {
			f.countUses()
		}
	}
	if len(by) > 0 {
		f.replaceAll(by)
		shareValues(f)
		sweep(f)
	}
}

// multiple is a number that is, up to what does not change in a loop, a factor times a
// counter.
type multiple struct {
	of     *counter
	factor *value
	minus  bool // the factor's negative
	plain  bool // the factor is 1 or -1
	cost   int  // how many instructions it alone needs
}

// countMultiplesOf reports whether it made a counter.
func (f *fn) countMultiplesOf(l *loop, by map[*value]*value) bool {
	back, ok := l.back()
	if !ok {
		return false
	}
	known := make(map[*value]multiple)
	for _, p := range l.head.phis {
		n := p.args[back]
		if p.class == r32 && n.op == opAdd && !n.typ.isFloat() && n.args[0] == p && n.args[1].isConst() {
			known[p] = multiple{of: &counter{phi: p, step: n.args[1].imm}, factor: f.constant(r32, 1), plain: true}
		}
	}
	if len(known) == 0 {
		return false
	}
	var found []*value
	within := make(map[*value]int32) // uses by multiples
	for _, b := range f.inOrder(l) {
		for _, v := range b.insts {
			if m, ok := f.multipleOf(l, v, known); ok {
				known[v] = m
				found = append(found, v)
				for _, a := range v.args {
					within[a]++
				}
			}
		}
	}
	made := make(map[multiple][]*value)
	var order []multiple
	for _, v := range found {
		m := known[v]
		if v.uses == within[v] || m.plain || isSum(v) && m.cost < fewestSaved { // a sum for a sum
			continue
		}
		k := multiple{of: m.of, factor: m.factor, minus: m.minus}
		if made[k] == nil {
			order = append(order, k)
		}
		made[k] = append(made[k], v)
	}
	changed := false
	for _, k := range order {
		saved := 0
		for _, v := range made[k] {
			saved += known[v].cost
		}
		// One product in an innermost loop is worth the counter that takes its place.
		one := made[k][0]
		if saved >= fewestSaved || len(made[k]) == 1 && one.op == opMul && !k.factor.isConst() && !l.hasInner {
			f.countAll(l, back, made[k], k, by)
			changed = true
		}
	}
	return changed
}

// countAll makes a counter for values of the same factor: one is the counter, several are sums
// of it and what they are in the first iteration.
func (f *fn) countAll(l *loop, back int, values []*value, m multiple, by map[*value]*value) {
	first := f.constant(r32, 0)
	if len(values) == 1 {
		first = f.atStart(l, back, values[0], m.of)
	}
	phi := f.counterFrom(l, back, first, values[0], m)
	for _, v := range values {
		if len(values) == 1 {
			by[v] = phi
			continue
		}
		s := f.newValue(opAdd, tS32, r32, f.atStart(l, back, v, m.of), phi)
		s.loc = v.loc
		v.block.insertBefore(v.block.indexOf(v), s)
		by[v] = s
	}
}

// multipleOf says what multiple v is of what is known.
func (f *fn) multipleOf(l *loop, v *value, known map[*value]multiple) (multiple, bool) {
	if v.class != r32 || v.typ.isFloat() || len(v.args) != 2 {
		return multiple{}, false
	}
	x, y := v.args[0], v.args[1]
	m, first := known[x]
	if !first {
		x, y = y, x
		var ok bool
		if m, ok = known[x]; !ok {
			return multiple{}, false
		}
	}
	if !l.invariantValue(y) {
		return multiple{}, false
	}
	if x.uses > 1 {
		m.cost = 0
	}
	m.cost++
	switch {
	case isSum(v):
	case v.op == opSub:
		m.minus = m.minus != !first
	case v.op == opShl && first && y.isConst() && y.imm < 32 && m.factor.isConst():
		m.factor, m.plain = f.constant(r32, m.factor.imm<<y.imm), false
	case v.op == opMul && y.isConst() && m.factor.isConst():
		m.factor, m.plain = f.constant(r32, m.factor.imm*y.imm), false
	case v.op == opMul && m.plain:
		m.factor, m.plain = y, false
	default:
		return multiple{}, false
	}
	return m, true
}

// atStart computes before a loop what v is in its first iteration.
func (f *fn) atStart(l *loop, back int, v *value, of *counter) *value {
	pre := l.preheader()
	outside := func(o op, t typ, x, y *value) *value {
		n := f.newValue(o, t, r32, x, y)
		n.loc = v.loc
		if s := f.simplify(n); s != nil {
			return s
		}
		return pre.append(n)
	}
	var start func(x *value) *value
	start = func(x *value) *value {
		switch {
		case x == of.phi:
			return x.args[1-back]
		case l.invariantValue(x):
			return x
		case isSum(x): // an or is one where it is executed, which the loop's beginning is not
			return outside(opAdd, tS32, start(x.args[0]), start(x.args[1]))
		}
		return outside(x.op, x.typ, start(x.args[0]), start(x.args[1]))
	}
	return start(v)
}

// counterFrom makes a counter that a loop counts by the steps of m.
func (f *fn) counterFrom(l *loop, back int, first, like *value, m multiple) *value {
	step := m.of.step
	if m.minus {
		step = -step
	}
	by := f.newValue(opMul, tS32, r32, m.factor, f.constant(r32, step))
	by.loc = like.loc
	if s := f.simplify(by); s != nil {
		by = s
	} else {
		by = l.preheader().append(by)
	}
	phi := f.newValue(opPhi, tB32, r32)
	phi.block = l.head
	next := f.newValue(opAdd, tS32, r32, phi, by)
	next.loc = like.loc
	phi.args = []*value{first, first}
	phi.args[back] = next
	l.head.phis = append(l.head.phis, phi)
	tail := l.head.preds[back]
	if at := tail.indexOf(m.of.phi.args[back]); at >= 0 {
		tail.insertBefore(at+1, next)
	} else {
		tail.append(next)
	}
	return phi
}
