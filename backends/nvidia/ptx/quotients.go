package ptx

import "math"

// most is the largest value of a counter of l at the loop's beginning, where it counts up from
// a constant for as long as it is below a bound.
func (l *loop) most(p *value) (int64, bool) {
	back, ok := l.back()
	if !ok || p.op != opPhi || p.block != l.head || p.class != r32 {
		return 0, false
	}
	n, first, t := p.args[back], p.args[1-back], &l.head.preds[back].term
	if n.op != opAdd || n.typ.isFloat() || n.args[0] != p || !n.args[1].isConst() || n.args[1].imm <= 0 || !first.isConst() || first.imm < 0 {
		return 0, false
	}
	c := t.cond
	if c == nil || c.op != opSetp || c.cmp != cmpLT || c.typ != tS32 || c.args[0] != n || len(t.to) != 2 || (t.to[0] == l.head) == t.not {
		return 0, false
	}
	step, top := n.args[1].imm, atMost(c.args[1], 4)-1
	if top > math.MaxInt32-step {
		return 0, false
	}
	return max(first.imm, top), true
}

// atMost is a number that v, as one with a sign, does not exceed.
func atMost(v *value, depth int) int64 {
	switch {
	case v.isConst():
		return int64(int32(v.imm))
	case depth == 0:
	case v.op == opShr && v.args[1].isConst() && v.args[1].imm > 0 && v.args[1].imm < 32:
		n := v.args[1].imm
		if v.typ.signed() {
			return math.MaxInt32 >> n
		}
		return math.MaxUint32 >> n
	case v.op == opAnd && v.args[1].isConst() && int32(v.args[1].imm) >= 0:
		return v.args[1].imm
	case v.op == opMin && v.typ == tS32:
		return min(atMost(v.args[0], depth-1), atMost(v.args[1], depth-1))
	}
	return math.MaxInt32
}

// divideCounters takes the quotient of a counter's multiple, by a power of two that divides
// the multiple, from the counter itself.
func divideCounters(f *fn) {
	f.analyze()
	edit(f, func(e *editor, v *value) *value {
		if v.op != opShr || v.class != r32 || !v.args[1].isConst() || v.args[1].imm <= 0 || v.args[1].imm > 30 {
			return nil
		}
		s := sumOf(v.args[0], 6)
		s.constant = int64(int32(s.constant))
		if len(s.terms) != 1 || s.terms[0].value.op != opPhi || s.terms[0].value == v.args[0] {
			return nil
		}
		t := s.terms[0]
		l := t.value.block.loop
		if l == nil || l.head != t.value.block || len(l.head.preds) != 2 {
			return nil
		}
		most, ok := l.most(t.value)
		unit := int64(1) << v.args[1].imm
		if !ok || t.by <= 0 || t.by%unit != 0 || s.constant < 0 || s.constant%unit != 0 || most*t.by+s.constant > math.MaxInt32 {
			return nil
		}
		x := e.emit(opMul, tS32, r32, t.value, e.constant(r32, t.by/unit))
		return e.emit(opAdd, tS32, r32, x, e.constant(r32, s.constant/unit))
	})
	sweep(f)
}
