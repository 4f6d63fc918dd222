package ptx

// mostAdvanced is how many numbers more an innermost loop may advance.
const mostAdvanced = 8

// advanceAddresses has an innermost loop advance addresses, and what it compares, that it would
// compute in each iteration of other numbers that it advances, as LLVM's loop strength reduction
// does: where each takes the place of two instructions at least. Arithmetic of 64 bits is what
// addresses are made of, and wraps as they do.
func advanceAddresses(f *fn) {
	f.givePreheaders()
	f.place()
	changed := false
	for _, b := range f.blocks {
		l := b.loop
		if l == nil || l.head != b || l.hasInner || l.fixed() || len(b.preds) != 2 || l.preheader() == nil {
			continue
		}
		if back, ok := l.back(); ok {
			a := &advancer{f: f, l: l, back: back, known: make(map[*value]bool)}
			changed = a.run() || changed
		}
	}
	if changed {
		shareValues(f)
		sweep(f)
	}
}

// advancer makes numbers that a loop advances by the same step in each iteration.
type advancer struct {
	f     *fn
	l     *loop
	back  int
	known map[*value]bool // whether such are
}

func (a *advancer) run() bool {
	nexts := make(map[*value]bool)
	for _, p := range a.l.head.phis {
		nexts[p.args[a.back]] = true
	}
	chosen := make(map[*value]bool)
	var order []*value
	blocks := a.f.inOrder(a.l)
	for _, b := range blocks {
		for _, v := range b.insts {
			for i, x := range v.args {
				if (addressOperand(v, i) || v.op == opSetp) && x.class == r64 && x.op != opPhi &&
					!nexts[x] && !chosen[x] && !a.l.invariantValue(x) && a.advances(x) {
					chosen[x] = true
					order = append(order, x)
				}
			}
		}
	}
	if len(order) == 0 || len(order) > mostAdvanced {
		return false
	}
	before, after := a.f.needed(nil), a.f.needed(chosen)
	saved := 0
	for _, b := range blocks {
		for _, v := range b.insts {
			if before[v.id] && !after[v.id] {
				saved++
			}
		}
	}
	if saved < 2*len(order) {
		return false
	}
	by := make(map[*value]*value)
	tail := a.l.head.preds[a.back]
	for _, v := range order {
		phi := a.f.newValue(opPhi, tB64, r64, a.start(v), nil)
		phi.block = a.l.head
		next := a.f.newValue(opAdd, tS64, r64, phi, a.step(v))
		next.loc = v.loc
		if phi.args[1] = next; a.back == 0 {
			phi.args[0], phi.args[1] = next, phi.args[0]
		}
		a.l.head.phis = append(a.l.head.phis, phi)
		tail.append(next)
		by[v] = phi
	}
	a.f.replaceAll(by)
	return true
}

// advances reports whether a loop adds the same to v in each iteration.
func (a *advancer) advances(v *value) bool {
	if a.l.invariantValue(v) {
		return true
	}
	yes, ok := a.known[v]
	if !ok {
		a.known[v] = false // while it is looked at: a number that depends on itself in other ways
		yes = a.looked(v)
		a.known[v] = yes
	}
	return yes
}

func (a *advancer) looked(v *value) bool {
	switch {
	case v.op == opPhi:
		return a.stepOf(v) != nil
	case v.op == opCvt && v.class == r64 && (v.from == tS32 || v.from == tU32):
		p := v.args[0]
		_, counted := a.l.most(p)
		return counted
	case v.class != r64 || v.typ.isFloat():
		return false
	case isSum(v) || v.op == opSub:
		return a.advances(v.args[0]) && a.advances(v.args[1])
	case v.op == opShl:
		return v.args[1].isConst() && a.advances(v.args[0])
	case v.op == opMul:
		return a.l.invariantValue(v.args[0]) && a.advances(v.args[1]) || a.advances(v.args[0]) && a.l.invariantValue(v.args[1])
	}
	return false
}

// stepOf is what the loop adds to a phi of its head in each iteration, or nil.
func (a *advancer) stepOf(p *value) *value {
	if p.block != a.l.head || p.class != r64 {
		return nil
	}
	n := p.args[a.back]
	if n.op != opAdd || n.typ.isFloat() {
		return nil
	}
	for i, x := range n.args {
		if x == p && a.l.invariantValue(n.args[1-i]) {
			return n.args[1-i]
		}
	}
	return nil
}

// emit computes a number before the loop.
func (a *advancer) emit(like *value, o op, t typ, args ...*value) *value {
	v := a.f.newValue(o, t, r64, args...)
	v.loc, v.from = like.loc, like.from
	if s := a.f.simplify(v); s != nil {
		return s
	}
	return a.l.preheader().append(v)
}

// start is what v is in the first iteration.
func (a *advancer) start(v *value) *value {
	switch {
	case a.l.invariantValue(v):
		return v
	case v.op == opPhi:
		return v.args[1-a.back]
	case v.op == opCvt:
		return a.emit(v, opCvt, v.typ, v.args[0].args[1-a.back])
	case v.op == opShl:
		return a.emit(v, opShl, v.typ, a.start(v.args[0]), v.args[1])
	}
	o, t := v.op, v.typ
	if isSum(v) { // an or is one where it is executed, which the loop's beginning is not
		o, t = opAdd, tS64
	}
	return a.emit(v, o, t, a.start(v.args[0]), a.start(v.args[1]))
}

// step is what the loop adds to v in each iteration.
func (a *advancer) step(v *value) *value {
	switch {
	case a.l.invariantValue(v):
		return a.f.constant(r64, 0)
	case v.op == opPhi:
		return a.stepOf(v)
	case v.op == opCvt:
		return a.f.constant(r64, v.args[0].args[a.back].args[1].imm)
	case v.op == opShl:
		return a.emit(v, opShl, tB64, a.step(v.args[0]), v.args[1])
	case v.op == opSub:
		return a.emit(v, opSub, tS64, a.step(v.args[0]), a.step(v.args[1]))
	case v.op == opMul && a.l.invariantValue(v.args[0]):
		return a.emit(v, opMul, v.typ, v.args[0], a.step(v.args[1]))
	case v.op == opMul:
		return a.emit(v, opMul, v.typ, a.step(v.args[0]), v.args[1])
	}
	return a.emit(v, opAdd, tS64, a.step(v.args[0]), a.step(v.args[1]))
}
