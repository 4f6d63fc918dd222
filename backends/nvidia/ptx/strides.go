package ptx

// atom is a part of a linear form that is taken as it is: a value, a value of 32 bits
// that is widened, or the product of two such.
type atom struct {
	a, b int32 // ids; b is 0 for what is not a product
	wide typ   // how a is widened
}

// linear is a sum of atoms with coefficients, and a constant.
type linear struct {
	terms    []term
	constant int64
}

type term struct {
	atom  atom
	value *value // nil for an atom that no value is
	by    int64
}

func (l *linear) add(t term, times int64) {
	t.by *= times
	for i := range l.terms {
		if l.terms[i].atom == t.atom {
			if l.terms[i].by += t.by; l.terms[i].by == 0 {
				l.terms = append(l.terms[:i], l.terms[i+1:]...)
			} else if l.terms[i].value == nil {
				l.terms[i].value = t.value
			}
			return
		}
	}
	l.terms = append(l.terms, t)
}

func (l *linear) addAll(m linear, times int64) {
	for _, t := range m.terms {
		l.add(t, times)
	}
	l.constant += m.constant * times
}

// of is the term of l with an atom, or nil.
func (l *linear) of(a atom) *term {
	for i := range l.terms {
		if l.terms[i].atom == a {
			return &l.terms[i]
		}
	}
	return nil
}

// minus returns the term of l - m where there is just one, and whether that is so.
func (l *linear) minus(m *linear) (d term, one bool) {
	n := 0
	for _, t := range l.terms {
		if u := m.of(t.atom); u != nil {
			if t.by -= u.by; t.by == 0 {
				continue
			}
			if t.value == nil {
				t.value = u.value
			}
		}
		if n++; n > 1 {
			return d, false
		}
		d = t
	}
	for _, u := range m.terms {
		if l.of(u.atom) != nil {
			continue
		}
		if n++; n > 1 {
			return d, false
		}
		d, d.by = u, -u.by
	}
	return d, n == 1
}

// linearOf is a value of 64 bits as a linear form.
func linearOf(v *value, depth int) linear {
	var l linear
	switch {
	case v.isConst():
		l.constant = v.imm
	case depth == 0:
		l.terms = []term{{atom{a: v.id}, v, 1}}
	case isSum(v):
		l = linearOf(v.args[0], depth-1)
		l.addAll(linearOf(v.args[1], depth-1), 1)
	case v.op == opSub && !v.typ.isFloat():
		l = linearOf(v.args[0], depth-1)
		l.addAll(linearOf(v.args[1], depth-1), -1)
	case v.op == opShl && v.args[1].isConst() && v.args[1].imm < 40:
		l.addAll(linearOf(v.args[0], depth-1), 1<<v.args[1].imm)
	case v.op == opMul && !v.typ.isFloat() && v.args[1].isConst():
		l.addAll(linearOf(v.args[0], depth-1), v.args[1].imm)
	case v.op == opMul && !v.typ.isFloat():
		l = productOf(v, depth)
	default:
		w := widened(v)
		l.constant = w.constant
		l.terms = []term{{w.atom, w.value, 1}}
		if w.constant == 0 {
			l.terms[0].value = v
		}
	}
	return l
}

// part is an atom and a constant that make a value.
type part struct {
	atom     atom
	value    *value
	constant int64
}

// widened takes a constant out of a value of 32 bits that is widened, where that
// does not change the sum.
func widened(v *value) part {
	if v.op == opCvt && v.args[0].class == r32 && (v.from == tU32 || v.from == tS32) {
		x := v.args[0]
		if (x.op == opOr || x.op == opAdd) && x.flags&disjoint != 0 && x.args[1].isConst() && x.args[1].imm >= 0 {
			return part{atom{a: x.args[0].id, wide: v.from}, nil, x.args[1].imm}
		}
		return part{atom{a: x.id, wide: v.from}, v, 0}
	}
	if isSum(v) && v.args[1].isConst() {
		p := widened(v.args[0])
		p.constant += v.args[1].imm
		return p
	}
	return part{atom{a: v.id}, v, 0}
}

// productOf is (x + c) * y as x*y + c*y.
func productOf(v *value, depth int) linear {
	var l linear
	x, y := widened(v.args[0]), widened(v.args[1])
	if y.constant != 0 {
		x, y = y, x
	}
	if y.constant != 0 || y.value == nil || x.atom.b != 0 || y.atom.b != 0 {
		l.terms = []term{{atom{a: v.id}, v, 1}}
		return l
	}
	// Two numbers, in the order of their ids, make a key.
	a, b := x.atom, y.atom
	if b.a < a.a {
		a, b = b, a
	}
	product := term{atom{a: a.a, b: b.a, wide: a.wide | b.wide<<4}, v, 1}
	if x.constant != 0 {
		product.value = nil
	}
	l.terms = []term{product}
	l.addAll(linearOf(y.value, depth-1), x.constant)
	return l
}

// mostCandidates is how many earlier addresses are compared with one.
const mostCandidates = 24

// candidate is an address, or a pointer that a phi takes, and its linear form.
type candidate struct {
	v *value
	l linear
}

// reduceStrides computes an address of an earlier one where they differ by a multiple
// of one value: an addition takes the place of a product. What differs is often the same
// for all threads, where the product is not, and ptxas keeps it in a uniform register.
func reduceStrides(f *fn) {
	f.analyze()
	f.countUses()
	children := make([][]*block, len(f.blocks))
	for _, b := range f.blocks[1:] {
		children[b.idom.id] = append(children[b.idom.id], b)
	}
	e := &editor{fn: f}
	reduced := make(map[*value]*value)
	var walk func(b *block, known []candidate)
	walk = func(b *block, known []candidate) {
		e.b, e.out = b, make([]*value, 0, len(b.insts))
		reduce := func(at **value) {
			a := *at
			if r, ok := reduced[a]; ok && dominates(r.block, b) {
				*at = r
				return
			}
			if a.class != r64 || !isSum(a) || a.block == nil {
				return
			}
			l := linearOf(a, 8)
			if len(l.terms) < 2 {
				return
			}
			if r := e.reduce(a, &l, known); r != nil {
				reduced[a] = r
				a, *at = r, r
			}
			known = append(known, candidate{a, l})
		}
		for _, v := range b.insts {
			e.loc = v
			for i := range v.args {
				if addressOperand(v, i) {
					reduce(&v.args[i])
				} else if r, ok := reduced[v.args[i]]; ok && dominates(r.block, b) {
					v.args[i] = r
				}
			}
			e.out = append(e.out, v)
		}
		for _, to := range b.term.to {
			at := to.predIndex(b)
			for _, p := range to.phis {
				if a := p.args[at]; a.block == b {
					e.loc = a
					reduce(&p.args[at])
				}
			}
		}
		b.insts = e.out
		for _, c := range children[b.id] {
			walk(c, known[:len(known):len(known)])
		}
	}
	walk(f.blocks[0], nil)
}

// reduce computes a, whose linear form is l, of one of the last known candidates, or returns nil.
func (e *editor) reduce(a *value, l *linear, known []candidate) *value {
	for k := len(known) - 1; k >= 0 && k >= len(known)-mostCandidates; k-- {
		c := known[k]
		if c.v == a {
			return nil
		}
		t, one := l.minus(&c.l)
		if !one || t.value == nil || costOf(a, 6) < 1 {
			continue
		}
		if t.value.block != nil && !dominates(t.value.block, e.b) || t.value.block == e.b && !e.emitted(t.value) {
			continue
		}
		step := t.value
		if t.by != 1 {
			step = e.emit(opMul, tS64, r64, step, e.constant(r64, t.by))
		}
		r := e.emit(opAdd, tS64, r64, c.v, step)
		if d := l.constant - c.l.constant; d != 0 {
			r = e.emit(opAdd, tS64, r64, r, e.constant(r64, d))
		}
		return r
	}
	return nil
}

// emitted reports whether a value of the block that is edited stands there already.
func (e *editor) emitted(v *value) bool {
	for i := len(e.out) - 1; i >= 0; i-- {
		if e.out[i] == v {
			return true
		}
	}
	return false
}

// addressOperand reports whether operand i of v is an address.
func addressOperand(v *value, i int) bool {
	switch v.op {
	case opLd, opSt, opAtom:
		return i == 0
	case opAsm:
		s := v.aux.(*assembly)
		return s.isAddress(s.outs+i) && (i >= len(s.tied) || s.tied[i] < 0)
	}
	return false
}

// costOf is how many instructions are not needed any more without v: those that it
// alone uses, up to a depth; a product counts for two.
func costOf(v *value, depth int) int {
	if v.rooted() || v.flags&pure == 0 || v.op == opParam || depth == 0 {
		return 0
	}
	n := 1
	if v.op == opMul {
		n = 2
	}
	for _, a := range v.args {
		if a.uses == 1 {
			n += costOf(a, depth-1)
		}
	}
	return n
}

// rowProduct is a product of a row's number and a stride.
type rowProduct struct {
	row, stride *value
}

// chainProducts computes the numbers of a tile's rows times a stride, (x + c) * stride, one
// of the other in loops in which the stride does not change: the product of the difference
// is computed before the loop, and is the same for rows at equal distances. Rows that a loop
// counts are left to countMultiples.
func chainProducts(f *fn) {
	f.analyze()
	counts := make(map[*loop]map[*value]bool)
	for _, b := range f.blocks {
		if b.loop == nil || b.loop.fixed() {
			continue
		}
		if counts[b.loop] == nil {
			counts[b.loop] = f.counted(b.loop)
		}
		type last struct {
			v *value
			c int64
		}
		known := make(map[rowProduct]last)
		for i := 0; i < len(b.insts); i++ {
			v := b.insts[i]
			if v.op != opMul || v.class != r32 || v.typ.isFloat() {
				continue
			}
			for k := range 2 {
				x, stride := v.args[k], v.args[1-k]
				if stride.isConst() || !b.loop.invariantValue(stride) || b.loop.invariantValue(x) || counts[b.loop][x] {
					continue
				}
				p, c := rowProduct{x, stride}, int64(0)
				if isSum(x) && x.args[1].isConst() {
					p.row, c = x.args[0], x.args[1].imm
				}
				if l, ok := known[p]; ok {
					step := f.newValue(opMul, tS32, r32, stride, f.constant(r32, c-l.c))
					step.loc = v.loc
					v.op, v.typ, v.args = opAdd, tS32, []*value{l.v, step}
					b.insertBefore(i, step)
					i++
				}
				known[p] = last{v, c}
				break
			}
		}
	}
}
