package ptx

import "math/bits"

// joinShifts shifts the operands of a logical operation in the place of its result, where
// one of them is shifted already, and a field of what is shifted in the place of the field.
func joinShifts(f *fn) {
	f.countUses()
	abroad := f.takenAbroad()
	edit(f, func(e *editor, v *value) *value {
		if v.op != opShl || !v.args[1].isConst() {
			return nil
		}
		x, n := v.args[0], v.args[1].imm
		if e.shiftField(v) || v.class != r32 && v.class != r64 {
			return nil
		}
		if x.op != opAnd && x.op != opOr && x.op != opXor || x.uses != 1 {
			return nil
		}
		for i := range 2 {
			s, other := x.args[i], x.args[1-i]
			if s.uses != 1 || !shiftsTogether(s, n) || v.class == r64 && !(s.op == opShl && !abroad[v] && !abroad[x] && widens(other)) {
				continue
			}
			y := e.emit(opShl, v.typ, v.class, other, v.args[1])
			args := []*value{nil, y}
			if s.op == opShl {
				args[0] = e.emit(opShl, v.typ, v.class, s.args[0], e.constant(r32, s.args[1].imm+n))
			} else {
				args[0] = e.emit(opShl, v.typ, v.class, s, v.args[1])
			}
			if i == 1 {
				args[0], args[1] = args[1], args[0]
			}
			v.op, v.typ, v.flags, v.args = x.op, x.typ, x.flags, args
			if v.class == r64 { // which may be shifted again
				args[0].uses++
				args[1].uses++
			}
			return nil
		}
		return nil
	})
	sweep(f)
}

// takenAbroad returns the values that blocks take which others compute: llc looks at one block at a
// time, and leaves a number alone that others need.
func (f *fn) takenAbroad() map[*value]bool {
	f.place()
	abroad := make(map[*value]bool)
	for _, b := range f.blocks {
		for _, v := range append(b.phis[:len(b.phis):len(b.phis)], b.insts...) {
			for _, a := range v.args {
				if a.block != b || v.op == opPhi {
					abroad[a] = true
				}
			}
		}
	}
	return abroad
}

// widens reports whether v is a number of 32 bits, or a shift of one: its shift is a product of these.
func widens(v *value) bool {
	if v.op == opShl && v.args[1].isConst() {
		v = v.args[0]
	}
	return v.op == opCvt && (v.from == tS32 || v.from == tU32)
}

// shiftField makes ((x >> a) & mask) << b, of a field that nothing else needs, one shift and an
// and with the mask where it comes to lie: the mask clears what the shifts lose. What is shifted
// there and back without one is a field, too.
func (e *editor) shiftField(v *value) bool {
	m, b := v.args[0], v.args[1].imm
	if m.uses != 1 || b < 0 || b >= int64(v.class.bits()) {
		return false
	}
	s, mask := m, int64(-1)
	if m.op == opAnd && m.args[1].isConst() {
		s, mask = m.args[0], m.args[1].imm
	}
	if s.op != opShr || s.typ.signed() || !s.args[1].isConst() || s.args[1].imm < 0 || s.args[1].imm >= int64(v.class.bits()) {
		return false
	}
	x, a := s.args[0], s.args[1].imm
	if s == m && x.op == opAnd {
		return false // the first shift and what it shifts are a field
	}
	mask &= int64((uint64(1)<<v.class.bits() - 1) >> a)
	switch n := b - a; {
	case n > 0:
		x = e.emit(opShl, bitsOf(v.class), v.class, x, e.constant(r32, n))
	case n < 0:
		x = e.emit(opShr, s.typ, v.class, x, e.constant(r32, -n))
	}
	v.op, v.typ, v.flags = opAnd, bitsOf(v.class), opTable[opAnd].flags
	v.args = []*value{x, e.constant(v.class, mask<<b)}
	return true
}

// shiftsTogether reports whether a shift and one to the left by n after it are one.
func shiftsTogether(s *value, n int64) bool {
	if s.op != opShl && s.op != opShr || !s.args[1].isConst() || s.args[1].imm < 0 || n < 0 {
		return false
	}
	if s.op == opShl {
		return s.args[1].imm+n < int64(s.class.bits())
	}
	return !s.typ.signed() && s.args[1].imm < int64(s.class.bits()) &&
		bits.TrailingZeros64(^(&zeros{}).of(s.args[0], 4)) >= int(s.args[1].imm)
}
