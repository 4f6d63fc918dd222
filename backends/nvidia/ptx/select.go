package ptx

import "math/bits"

// A rule makes one instruction of v and what it is computed of, and reports whether
// it did. What it takes over has to have no other use, or stays.
type rule struct {
	op  op
	why string
	try func(*selector, *value) bool
}

// rules are tried in this order, for each instruction after its operands.
var rules = []rule{
	{opPack, "two conversions to a half and a mov of both are one conversion", (*selector).packedConversion},
	{opPack, "halves that were cut off two words are put together by one prmt", (*selector).lowHalves},
	{opShl, "a shift of what was shifted is one, of a product another product", (*selector).shiftedAgain},
	{opShl, "a number that is widened and multiplied is mul.wide", (*selector).wideProduct},
	{opMul, "the same with other factors than powers of two", (*selector).wideProduct},
	{opAdd, "an address is mad.wide of its base and an index", (*selector).multiplyAdd},
	{opDiv, "ptxas does not know that a division of one is a reciprocal", (*selector).reciprocal},
	{opCvt, "the halves of a product are mul.lo and mul.hi, of other words one mov", (*selector).halfOf},
	{opCvt, "a field of the lower half of a word, widened again, is one and of the word", (*selector).widenedField},
	{opAnd, "a field of the first byte of a word is one of the word", (*selector).firstByte},
	{opShl, "and what shifts all others out takes the word", (*selector).firstByte},
	{opCvt, "a byte of a word is taken out with its sign by one prmt", (*selector).signedByte},
	{opAnd, "a field of a word is bfe", (*selector).field},
	{opShr, "the same where the mask comes first", (*selector).fieldOfMask},
	{opShr, "a field at the top of a word, with its sign, is bfe", (*selector).fieldOfShifts},
	{opSt, "a byte is stored from any register", (*selector).storedByte},
}

// selector is the phase that selects instructions.
type selector struct {
	f       *fn
	users   map[*value][]*value // of products that sums may take over
	shifted map[*value]bool     // products that stay shifts
}

func selectInstructions(f *fn) {
	f.countUses()
	f.place()
	s := &selector{f: f, users: make(map[*value][]*value), shifted: f.shiftedProducts()}
	for _, b := range f.blocks {
		for _, v := range b.insts {
			for _, a := range v.args {
				if a.op == opMul && a.typ.isFloat() {
					s.users[a] = append(s.users[a], v)
				}
			}
		}
	}
	for _, b := range f.blocks {
		for _, v := range b.insts {
			for _, r := range rules {
				if r.op == v.op && r.try(s, v) {
					break
				}
			}
		}
	}
	sweep(f)
}

// take makes v an instruction of the given operands.
func (s *selector) take(v *value, o op, t typ, args ...*value) bool {
	for _, a := range args {
		a.uses++
	}
	for _, a := range v.args {
		s.drop(a)
	}
	v.op, v.typ, v.args, v.text = o, t, args, ""
	return true
}

// drop notes that one use of a is gone, and with the last one those of its operands.
func (s *selector) drop(a *value) {
	if a.uses--; a.uses == 0 && a.flags&pure != 0 {
		for _, x := range a.args {
			s.drop(x)
		}
	}
}

// packedConversion: {cvt.rn.f16.f32 a, cvt.rn.f16.f32 b} is cvt.rn.f16x2.f32 b, a.
func (s *selector) packedConversion(v *value) bool {
	lo, hi := v.args[0], v.args[1]
	if v.class != r32 || lo.op != opInst || lo.text != hi.text || lo.uses != 1 && lo != hi || hi.uses != 1 && lo != hi {
		return false
	}
	var text string
	switch lo.text {
	case "cvt.rn.f16.f32":
		text = "cvt.rn.f16x2.f32"
	case "cvt.rn.bf16.f32":
		text = "cvt.rn.bf16x2.f32"
	default:
		return false
	}
	s.take(v, opInst, tNone, hi.args[0], lo.args[0])
	v.text, v.flags = text, pure
	return true
}

// lowHalves: {(short)a, (short)b} is the lower two bytes of a and of b, or the upper ones where
// these are shifted down.
func (s *selector) lowHalves(v *value) bool {
	if v.class != r32 {
		return false
	}
	var words [2]*value
	selector := int64(0x5410)
	for i, h := range v.args {
		if h.op != opCvt || h.uses != 1 || h.args[0].class != r32 || h.from.signed() || h.typ != tU16 {
			return false
		}
		words[i] = h.args[0]
		if x := h.args[0]; x.op == opShr && x.args[1].isConst() && x.args[1].imm == 16 {
			words[i] = x.args[0]
			selector += 0x22 << (8 * i)
		}
	}
	return s.take(v, opPrmt, tB32, words[0], words[1], s.f.constant(r32, selector))
}

// shiftedAgain: (x << a) << b is x << (a + b), and (long)x * c << b a product with c << b.
func (s *selector) shiftedAgain(v *value) bool {
	x, n := v.args[0], v.args[1]
	if !n.isConst() || n.imm < 0 || n.imm > 30 || len(x.args) != 2 || !x.args[1].isConst() {
		return false
	}
	switch {
	case x.op == opShl && x.args[1].imm >= 0 && x.args[1].imm+n.imm < int64(v.class.bits()):
		s.take(v, opShl, v.typ, x.args[0], s.f.constant(r32, x.args[1].imm+n.imm))
		s.wideProduct(v)
		return true
	case x.op == opMulWide && x.uses == 1 && x.args[1].imm > 0 && x.args[1].imm < 1<<(31-n.imm):
		return s.take(v, opMulWide, x.typ, x.args[0], s.f.constant(r32, x.args[1].imm<<n.imm))
	}
	return false
}

// wideProduct: (long)x << 2 is mul.wide x, 4, but for those that stay shifts.
func (s *selector) wideProduct(v *value) bool {
	x, n := v.args[0], v.args[1]
	if v.class != r64 || v.typ.isFloat() || x.op != opCvt || x.args[0].class != r32 || x.from != tS32 && x.from != tU32 {
		return false
	}
	if s.shifted[v] {
		if v.op == opMul {
			s.take(v, opShl, tB64, x, s.f.constant(r32, int64(bits.TrailingZeros64(unsigned(n)))))
		}
		return true
	}
	if n.isConst() {
		factor := n.imm
		if v.op == opShl {
			if n.imm > 30 {
				return false
			}
			factor = 1 << n.imm
		}
		if x.from == tS32 && (factor < -1<<31 || factor >= 1<<31) || x.from == tU32 && (factor < 0 || factor >= 1<<32) {
			return false
		}
		return s.take(v, opMulWide, x.from, x.args[0], s.f.constant(r32, factor))
	}
	if v.op == opMul && n.op == opCvt && n.from == x.from && n.args[0].class == r32 {
		return s.take(v, opMulWide, x.from, x.args[0], n.args[0])
	}
	return false
}

// reciprocal: 1 / x is rcp.rn x, which rounds as the division does.
func (s *selector) reciprocal(v *value) bool {
	one := int64(0x3F800000)
	if v.typ == tF64 {
		one = 0x3FF0000000000000
	}
	if v.typ != tF32 && v.typ != tF64 || !v.args[0].isConst() || v.args[0].imm != one {
		return false
	}
	t := v.typ
	s.take(v, opInst, tNone, v.args[1])
	v.text, v.flags = "rcp.rn."+t.String(), pure
	return true
}

// halfOf: the low or the high word of a number of 64 bits.
func (s *selector) halfOf(v *value) bool {
	x := v.args[0]
	if v.class != r32 || x.class != r64 {
		return false
	}
	if x.op == opMulWide {
		return s.take(v, opMul, tS32, x.args[0], x.args[1])
	}
	if x.op != opShr || !x.args[1].isConst() || x.args[1].imm != 32 || x.args[0].op != opMulWide {
		return false
	}
	m := x.args[0]
	return s.take(v, opMulHi, m.typ, m.args[0], m.args[1])
}

// multiplyAdd fuses a sum with a product that it alone uses, or of numbers with a
// product that only sums use.
func (s *selector) multiplyAdd(v *value) bool {
	for i := range 2 {
		m, c := v.args[i], v.args[1-i]
		switch {
		case v.typ.isFloat():
			if m.op == opMul && m.typ == v.typ && s.f.mod.opts.Fusion && s.fuses(m) && !(m.args[0].isConst() && m.args[1].isConst()) {
				return s.take(v, opFma, v.typ, m.args[0], m.args[1], c)
			}
		case m.block != nil && m.block.loop != v.block.loop: // what left a loop stays outside
		case m.op == opMulWide && m.uses == 1:
			return s.take(v, opMadWide, m.typ, m.args[0], m.args[1], c)
		case m.op == opMul && m.uses == 1 && m.class == v.class && v.class != r16:
			return s.take(v, opMad, v.typ, m.args[0], m.args[1], c)
		}
	}
	return false
}

// fuses reports whether all uses of a product are sums, so that it need not be computed.
func (s *selector) fuses(m *value) bool {
	if int(m.uses) != len(s.users[m]) {
		return m.uses == 1
	}
	for _, u := range s.users[m] {
		if u.op != opAdd && u.op != opFma || u.op == opFma && (len(u.args) > 2 && u.args[2] == m) || u.op == opAdd && u.args[0] == u.args[1] {
			return false
		}
	}
	return true
}

// signedByte: a byte of a word of 32 bits, cut out and then widened with its sign, is prmt,
// whose selectors have a bit that repeats the sign.
func (s *selector) signedByte(v *value) bool {
	cut := v.args[0]
	if v.from != tS8 || v.typ != tS16 && v.typ != tS32 || cut.op != opCvt || cut.class != r16 || cut.uses != 1 || cut.args[0].class != r32 {
		return false
	}
	if cut.from != tU32 || cut.typ != tU16 && cut.typ != tU8 {
		return false
	}
	x, at := cut.args[0], int64(0)
	if w, n := loneByte(x); w != nil && x.uses == 1 {
		x, at = w, n
	} else if x.op == opBfe && x.uses == 1 && x.args[0].class == r32 && x.args[1].isConst() && x.args[1].imm%8 == 0 && x.args[2].isConst() && x.args[2].imm >= 8 {
		x, at = x.args[0], x.args[1].imm/8
	} else if x.op == opShr && x.uses == 1 && x.args[1].isConst() && x.args[1].imm%8 == 0 {
		x, at = x.args[0], x.args[1].imm/8
	}
	if at < 0 || at > 3 {
		return false
	}
	byRow := at | (at|8)*0x1110
	if v.class == r32 {
		return s.take(v, opPrmt, tB32, x, s.f.constant(r32, 0), s.f.constant(r32, byRow))
	}
	s.take(cut, opPrmt, tB32, x, s.f.constant(r32, 0), s.f.constant(r32, byRow))
	cut.class, cut.from = r32, tNone
	v.typ, v.from = tU16, tU32
	return true
}

// widenedField: (int)((short)x & c) is x & c.
func (s *selector) widenedField(v *value) bool {
	m := v.args[0]
	if v.from != tU16 || v.class != r32 || m.op != opAnd || !m.args[1].isConst() {
		return false
	}
	cut := m.args[0]
	if cut.op != opCvt || cut.from != tU32 || cut.typ != tU16 || cut.args[0].class != r32 {
		return false
	}
	return s.take(v, opAnd, tB32, cut.args[0], s.f.constant(r32, int64(unsigned(m.args[1]))))
}

// firstByte: the first byte of a word need not be alone for what looks at no other one.
func (s *selector) firstByte(v *value) bool {
	cut, n := v.args[0], v.args[1]
	if v.class != r16 || !n.isConst() || cut.op != opCvt || cut.uses != 1 || cut.args[0].uses != 1 {
		return false
	}
	if v.op == opAnd && unsigned(n) > 0xFF || v.op == opShl && n.imm < 8 {
		return false
	}
	x, at := loneByte(cut.args[0])
	return x != nil && at == 0 && s.take(cut, opCvt, cut.typ, x)
}

// field: (x >> c) & mask is bfe, of a mask that is as long as it is.
func (s *selector) field(v *value) bool {
	x, n := v.args[0], v.args[1]
	if v.class != r32 && v.class != r64 || !n.isConst() || x.op != opShr || x.typ.signed() || !x.args[1].isConst() {
		return false
	}
	mask := unsigned(n)
	if mask == 0 || mask&(mask+1) != 0 {
		return false
	}
	return s.take(v, opBfe, unsignedOf(v.class), x.args[0], x.args[1], s.f.constant(r32, int64(bits.Len64(mask))))
}

// fieldOfMask: (x & mask) >> c is bfe.
func (s *selector) fieldOfMask(v *value) bool {
	x, n := v.args[0], v.args[1]
	if v.class != r32 && v.class != r64 || v.typ.signed() || !n.isConst() || x.op != opAnd || !x.args[1].isConst() || n.imm < 0 || n.imm >= int64(v.class.bits()) {
		return false
	}
	mask := unsigned(x.args[1]) >> n.imm
	if mask == 0 || mask&(mask+1) != 0 {
		return false
	}
	return s.take(v, opBfe, unsignedOf(v.class), x.args[0], n, s.f.constant(r32, int64(bits.Len64(mask))))
}

// fieldOfShifts: (x << a) >> b is bfe, where b is at least a.
func (s *selector) fieldOfShifts(v *value) bool {
	x, n := v.args[0], v.args[1]
	if v.class != r32 && v.class != r64 || !n.isConst() || x.op != opShl || x.uses != 1 || !x.args[1].isConst() {
		return false
	}
	a, b, w := x.args[1].imm, n.imm, int64(v.class.bits())
	if a < 0 || b < a || b >= w {
		return false
	}
	t := unsignedOf(v.class)
	if v.typ.signed() {
		t = signedOf(v.class)
	}
	return s.take(v, opBfe, t, x.args[0], s.f.constant(r32, b-a), s.f.constant(r32, w-b))
}

// storedByte: the cut of a word to a byte that is stored is the store's.
func (s *selector) storedByte(v *value) bool {
	if v.typ != tB8 || len(v.args) != 2 {
		return false
	}
	x := v.args[1]
	if x.op != opCvt || x.typ != tU16 || x.from != tU32 && x.from != tU16 || x.args[0].class != r32 {
		return false
	}
	s.drop(x)
	v.args[1] = x.args[0]
	x.args[0].uses++
	return true
}
