package ptx

import "math/bits"

// editor rewrites the instructions of a function.
type editor struct {
	*fn
	b   *block
	loc *value // what is rewritten
	out []*value
}

// edit calls rewrite for each instruction; what it returns takes the place of the
// instruction, and what it emits goes before it. Nil keeps the instruction.
func edit(f *fn, rewrite func(e *editor, v *value) *value) {
	e := &editor{fn: f}
	by := make(map[*value]*value)
	for _, b := range f.blocks {
		e.b, e.out = b, make([]*value, 0, len(b.insts))
		for _, v := range b.insts {
			e.loc = v
			f.mod.meter.Visit()
			if r := rewrite(e, v); r != nil && r != v {
				by[v] = r
				continue
			}
			v.block = b
			e.out = append(e.out, v)
		}
		b.insts = e.out
	}
	f.replaceAll(by)
}

func (e *editor) emit(o op, t typ, c class, args ...*value) *value {
	return e.put(e.newValue(o, t, c, args...))
}

// put puts a new instruction before what is rewritten, unless another value is its result.
func (e *editor) put(v *value) *value {
	if s := e.simplify(v); s != nil {
		return s
	}
	v.loc, v.block = e.loc.loc, e.b
	e.out = append(e.out, v)
	return v
}

// shift shifts right by a constant.
func (e *editor) shift(t typ, v *value, n int) *value {
	return e.emit(opShr, t, v.class, v, e.constant(r32, int64(n)))
}

// expandDivisions replaces divisions by constants, which ptxas takes for any others,
// and remainders of numbers whose quotient is computed, too.
func expandDivisions(f *fn) {
	type pair struct {
		x, y *value
		t    typ
	}
	quotients, remainders := make(map[pair]bool), make(map[pair]bool)
	widened := make(map[*value]bool)
	for _, b := range f.blocks {
		for _, v := range b.insts {
			if v.op == opDiv && !v.typ.isFloat() {
				quotients[pair{v.args[0], v.args[1], v.typ}] = true
			}
			if v.op == opRem && !v.typ.isFloat() {
				remainders[pair{v.args[0], v.args[1], v.typ}] = true
			}
			if v.op == opCvt && v.from == tS32 && v.class == r64 {
				widened[v.args[0]] = true
			}
		}
	}
	deferQuotients(f)
	edit(f, func(e *editor, v *value) *value {
		if v.op != opDiv && v.op != opRem || v.typ.isFloat() {
			return nil
		}
		x, y := v.args[0], v.args[1]
		var q *value
		switch {
		case y.isConst() && y.imm != 0 && v.class != r16:
			if v.op == opDiv && v.typ.signed() && y.imm == 2 && widened[v] && remainders[pair{x, y, v.typ}] && mayRound(x) {
				return e.half(x)
			}
			q = e.quotient(v.typ, x, y)
		case v.op == opRem && quotients[pair{x, y, v.typ}]:
			q = e.emit(opDiv, v.typ, v.class, x, y)
		}
		if q == nil || v.op == opDiv {
			return q
		}
		switch n := unsigned(y); {
		case !y.isConst() || n&(n-1) != 0:
		case n == 1:
			return e.constant(v.class, 0)
		case !v.typ.signed():
			return e.emit(opAnd, bitsOf(v.class), v.class, x, e.constant(v.class, int64(n)-1))
		case y.imm > 0 && q.op == opShr && q.args[1].isConst():
			// The quotient's shift and the multiplication leave what the mask does.
			return e.emit(opSub, signedOf(v.class), v.class, x, e.emit(opAnd, bitsOf(v.class), v.class, q.args[0], e.constant(v.class, -int64(n))))
		}
		return e.emit(opSub, signedOf(v.class), v.class, x, e.emit(opMul, signedOf(v.class), v.class, q, y))
	})
}

// deferQuotients moves divisions by constants to the remainders of the same numbers, where
// nobody needs them before: what both are computed of then comes after comparisons that
// loads wait for.
func deferQuotients(f *fn) {
	for _, b := range f.blocks {
		for i := 0; i < len(b.insts); i++ {
			v := b.insts[i]
			if v.op != opDiv || v.typ.isFloat() || !v.args[1].isConst() {
				continue
			}
			use := firstUse(b.insts[i+1:], v)
			for k, r := range b.insts[i+1:] {
				if k == use {
					break
				}
				if r.op == opRem && r.typ == v.typ && r.args[0] == v.args[0] && r.args[1] == v.args[1] {
					if k > 0 {
						b.moveDown(i, i+k)
						i--
					}
					break
				}
			}
		}
	}
}

// quotient is x divided by a constant.
func (e *editor) quotient(t typ, x, y *value) *value {
	w := x.class.bits()
	if t.signed() {
		if y.imm > 0 && zeroAbove(x, w-1, 6) {
			return e.quotient(unsignedOf(x.class), x, y)
		}
		return e.signedQuotient(x, y.imm)
	}
	d := unsigned(y)
	if d&(d-1) == 0 {
		return e.shift(t, x, bits.TrailingZeros64(d))
	}
	if d>>(w-1) != 0 { // at most one
		ge := e.emit(opSetp, t, pred, x, y)
		ge.cmp = cmpGE
		return e.emit(opSelp, bitsOf(x.class), x.class, e.constant(x.class, 1), e.constant(x.class, 0), ge)
	}
	m, s, add := unsignedMagic(d, w)
	hi := e.emit(opMulHi, t, x.class, x, e.constant(x.class, int64(m)))
	if !add {
		return e.shift(t, hi, s)
	}
	half := e.shift(t, e.emit(opSub, signedOf(x.class), x.class, x, hi), 1)
	return e.shift(t, e.emit(opAdd, signedOf(x.class), x.class, half, hi), s-1)
}

// mayRound reports whether a signed division of x by 2 may have to round.
func mayRound(x *value) bool {
	z := &zeros{known: make(map[*value]uint64)}
	return !zeroAbove(x, x.class.bits()-1, 6) && z.of(x, 8)&1 == 0
}

// half is a signed x divided by 2, as the average of x and its sign bit: the bits that both
// have, and half of the others. Their sum is then needed for the remainder alone; where there is
// none, the sum takes one instruction less.
func (e *editor) half(x *value) *value {
	s, sign := signedOf(x.class), e.signBit(x)
	both := e.emit(opAnd, bitsOf(x.class), x.class, x, sign)
	one := e.emit(opXor, bitsOf(x.class), x.class, x, sign)
	return e.emit(opAdd, s, x.class, both, e.shift(s, one, 1))
}

// signBit is one for a negative number, else zero. Of a number that was shifted to the left
// it is a bit of what was shifted: ptxas need not have the shift before a division's loads.
func (e *editor) signBit(x *value) *value {
	w := x.class.bits()
	u, y := unsignedOf(x.class), x
	for y.op == opOr {
		switch top := w - 1; {
		case zeroAbove(y.args[1], top, 4):
			y = y.args[0]
		case zeroAbove(y.args[0], top, 4):
			y = y.args[1]
		default:
			return e.shift(u, x, w-1)
		}
	}
	if y.op != opShl || !y.args[1].isConst() || y.args[1].imm <= 0 || y.args[1].imm >= int64(w) {
		return e.shift(u, x, w-1)
	}
	bit := e.shift(u, y.args[0], w-1-int(y.args[1].imm))
	return e.emit(opAnd, bitsOf(x.class), x.class, bit, e.constant(x.class, 1))
}

func (e *editor) signedQuotient(x *value, d int64) *value {
	w := x.class.bits()
	s, u := signedOf(x.class), unsignedOf(x.class)
	neg := d < 0
	abs := uint64(d)
	if neg {
		abs = -abs
	}
	if w < 64 {
		abs &= 1<<w - 1
	}
	var q *value
	if abs&(abs-1) == 0 {
		k := bits.TrailingZeros64(abs)
		z := &zeros{known: make(map[*value]uint64)}
		switch {
		case k > 0 && (abs-1)&^z.of(x, 8) == 0: // nothing is lost
			x = e.shift(s, x, k)
		case k > 0:
			// Round towards zero: add what the shift would lose of a negative number.
			var lost *value
			if k == 1 {
				lost = e.signBit(x)
			} else {
				lost = e.shift(u, e.shift(s, x, w-1), w-k)
			}
			x = e.shift(s, e.emit(opAdd, s, x.class, x, lost), k)
		}
		if q = x; neg {
			q = e.emit(opNeg, s, x.class, x)
		}
		return q
	}
	m, n := signedMagic(d, w)
	q = e.emit(opMulHi, s, x.class, x, e.constant(x.class, m))
	switch {
	case d > 0 && m < 0:
		q = e.emit(opAdd, s, x.class, q, x)
	case d < 0 && m > 0:
		q = e.emit(opSub, s, x.class, q, x)
	}
	sign := e.shift(u, q, w-1)
	return e.emit(opAdd, s, x.class, e.shift(s, q, n), sign)
}

// unsignedMagic is the multiplier and the shift for a division by d, below 2^(w-1) and
// not a power of two, of numbers of w bits (Warren, Hacker's Delight, 10-9); with add, the multiplier has one bit more.
func unsignedMagic(d uint64, w int) (m uint64, s int, add bool) {
	for s = 0; s <= bits.Len64(d); s++ {
		// m = ceil(2^(w+s) / d) will do where m*d - 2^(w+s) <= 2^s.
		q, r := divPower(w+s, d)
		if d-r <= 1<<s {
			full := q.add1()
			if full.hi == 0 && (w == 64 || full.lo < 1<<w) {
				return full.lo, s, false
			}
			if w == 64 {
				return full.lo, s, true
			}
			return full.lo & (1<<w - 1), s, true
		}
	}
	panic("BUG: ptx: no multiplier")
}

// wide128 is a number of 128 bits.
type wide128 struct{ hi, lo uint64 }

func (q wide128) add1() wide128 {
	lo, carry := bits.Add64(q.lo, 1, 0)
	return wide128{q.hi + carry, lo}
}

// divPower divides 2^n, n up to 127, by d.
func divPower(n int, d uint64) (q wide128, r uint64) {
	var hi, lo uint64
	if n >= 64 {
		hi = 1 << (n - 64)
	} else {
		lo = 1 << n
	}
	q.hi, r = hi/d, hi%d
	q.lo, r = bits.Div64(r, lo, d)
	return q, r
}

// signedMagic is the multiplier and the shift for a division of signed numbers of w
// bits by d, which is not a power of two (Warren, 10-1).
func signedMagic(d int64, w int) (m int64, s int) {
	abs := uint64(d)
	if d < 0 {
		abs = -abs
	}
	for s = 0; ; s++ {
		q, r := divPower(w+s, abs)
		// m = floor(2^(w+s)/|d|) + 1 will do where |d| - r < 2^s·2 for numbers of w-1 bits.
		if abs-r <= 1<<(s+1) {
			v := int64(q.lo) + 1
			if d < 0 {
				v = -v
			}
			return signExtend(v, w), s
		}
	}
}
