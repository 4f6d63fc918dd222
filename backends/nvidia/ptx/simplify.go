package ptx

import (
	"math"
	"math/bits"
)

// simplify returns what an instruction that is in no block yet amounts to, or nil.
// It changes the instruction to a simpler one where that is possible.
func (f *fn) simplify(v *value) *value {
	if opTable[v.op].commutes && len(v.args) >= 2 && v.args[0].isConst() && !v.args[1].isConst() {
		v.args[0], v.args[1] = v.args[1], v.args[0]
	}
	if v.op == opSetp && v.args[0].isConst() && !v.args[1].isConst() {
		v.args[0], v.args[1], v.cmp = v.args[1], v.args[0], v.cmp.swapped()
	}
	switch v.op {
	case opSelp:
		return f.simplifySelp(v)
	case opMin, opMax:
		return simplifyExtreme(v)
	}
	if v.typ.isFloat() {
		return f.simplifyFloat(v)
	}
	if c := f.evaluate(v); c != nil {
		return c
	}
	switch v.op {
	case opAdd, opSub:
		return f.simplifySum(v)
	case opMul:
		return f.simplifyProduct(v)
	case opAnd, opOr, opXor:
		return f.simplifyLogic(v)
	case opNot:
		return f.simplifyNot(v)
	case opShl, opShr:
		if v.args[1].isConst() && v.args[1].imm == 0 {
			return v.args[0]
		}
		if f.shiftsBack(v) {
			return f.simplify(v)
		}
		if f.clearsLow(v) {
			return f.simplifyLogic(v)
		}
		if f.dropsLow(v) {
			return f.simplify(v)
		}
		if n := v.args[1]; n.isConst() && n.imm >= int64(v.class.bits()) && !(v.op == opShr && v.typ.signed()) {
			return f.constant(v.class, 0)
		}
	case opCvt:
		return f.simplifyCvt(v)
	case opSetp:
		return f.simplifySetp(v)
	}
	return nil
}

// evaluate computes what depends on constants alone.
func (f *fn) evaluate(v *value) *value {
	for _, a := range v.args {
		if !a.isConst() {
			return nil
		}
	}
	if len(v.args) != 2 {
		return nil
	}
	x, y := v.args[0].imm, v.args[1].imm
	switch v.op {
	case opAdd:
		return f.constant(v.class, x+y)
	case opSub:
		return f.constant(v.class, x-y)
	case opMul:
		return f.constant(v.class, x*y)
	case opAnd:
		return f.constant(v.class, x&y)
	case opOr:
		return f.constant(v.class, x|y)
	case opXor:
		return f.constant(v.class, x^y)
	case opShl:
		if y >= 0 && y < 64 {
			return f.constant(v.class, x<<y)
		}
	case opShr:
		if y >= 0 && y < 64 && v.typ.signed() {
			return f.constant(v.class, x>>y)
		}
		if y >= 0 && y < 64 {
			return f.constant(v.class, int64(unsigned(v.args[0])>>y))
		}
	case opSetp:
		if v.class == pred && v.args[0].class != pred {
			return f.constant(pred, truth(compare(v.cmp, v.typ, v.args[0], v.args[1])))
		}
	}
	return nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unsigned is the bits of a constant.
func unsigned(v *value) uint64 {
	if n := v.class.bits(); n < 64 {
		return uint64(v.imm) & (1<<n - 1)
	}
	return uint64(v.imm)
}

func compare(k cmp, t typ, a, b *value) bool {
	less, greater := a.imm < b.imm, a.imm > b.imm
	if !t.signed() {
		less, greater = unsigned(a) < unsigned(b), unsigned(a) > unsigned(b)
	}
	switch k {
	case cmpEQ:
		return !less && !greater
	case cmpNE:
		return less || greater
	case cmpLT:
		return less
	case cmpLE:
		return !greater
	case cmpGT:
		return greater
	}
	return !less
}

// simplifySum keeps a constant outermost.
func (f *fn) simplifySum(v *value) *value {
	x, y := v.args[0], v.args[1]
	if v.op == opSub {
		if x == y {
			return f.constant(v.class, 0)
		}
		if !y.isConst() {
			return nil
		}
		v.op, y = opAdd, f.constant(v.class, -y.imm)
		v.args[1] = y
	}
	if !y.isConst() {
		return nil
	}
	if x.op == opAdd && !x.typ.isFloat() && x.args[1].isConst() {
		y = f.constant(v.class, x.args[1].imm+y.imm)
		x = x.args[0]
		v.args[0], v.args[1], v.flags = x, y, v.flags&^disjoint
	}
	if y.imm == 0 {
		return x
	}
	return nil
}

func (f *fn) simplifyProduct(v *value) *value {
	y := v.args[1]
	if !y.isConst() {
		return nil
	}
	switch n := unsigned(y); {
	case n == 0:
		return y
	case n == 1:
		return v.args[0]
	case bits.OnesCount64(n) == 1:
		v.op, v.typ = opShl, bitsOf(v.class)
		v.args[1] = f.constant(r32, int64(bits.TrailingZeros64(n)))
	}
	return nil
}

func (f *fn) simplifyLogic(v *value) *value {
	x, y := v.args[0], v.args[1]
	if x == y {
		if v.op == opXor {
			return f.constant(v.class, 0)
		}
		return x
	}
	if !y.isConst() {
		if v.class == pred && v.op != opXor {
			switch {
			case implies(x, y):
				return [...]*value{x, y}[truth(v.op == opOr)]
			case implies(y, x):
				return [...]*value{y, x}[truth(v.op == opOr)]
			}
		}
		return f.joinFields(v)
	}
	zero, all := y.imm == 0, y.imm == -1
	switch {
	case v.op == opAnd && zero, v.op == opOr && all:
		return y
	case v.op == opAnd && all, v.op != opAnd && zero:
		return x
	case v.op == opXor && all:
		v.op, v.args = opNot, v.args[:1]
		return f.simplifyNot(v)
	}
	if x.op == v.op && x.args[1].isConst() {
		if x.flags&disjoint == 0 {
			v.flags &^= disjoint
		}
		c := f.newValue(v.op, v.typ, v.class, x.args[1], y)
		v.args[0], v.args[1] = x.args[0], f.evaluate(c)
		return f.simplifyLogic(v)
	}
	if v.op == opAnd && v.class != pred && (x.op == opOr || x.op == opXor) {
		z := &zeros{}
		for i := range 2 { // the bits of one of the two
			if unsigned(y)&^z.of(x.args[1-i], 4) == 0 {
				v.args[0] = x.args[i]
				return f.simplifyLogic(v)
			}
		}
	}
	if v.op == opAnd && v.class != pred && zeroAbove(x, bits.Len64(unsigned(y)), 4) && unsigned(y)&(unsigned(y)+1) == 0 {
		return x
	}
	return nil
}

// shiftsBack makes (x >> a) << b one shift, where x has zeros in the a bits that it loses.
func (f *fn) shiftsBack(v *value) bool {
	x, b := v.args[0], v.args[1]
	if v.op != opShl || x.op != opShr || !b.isConst() || !x.args[1].isConst() {
		return false
	}
	w := int64(v.class.bits())
	y, a := x.args[0], x.args[1]
	if a.imm < 0 || a.imm >= w || b.imm < 0 || b.imm >= w || bits.TrailingZeros64(^(&zeros{}).of(y, 4)) < int(a.imm) {
		return false
	}
	if n := b.imm - a.imm; n >= 0 {
		v.args = []*value{y, f.constant(r32, n)}
	} else {
		v.op, v.typ, v.flags, v.args = opShr, x.typ, x.flags, []*value{y, f.constant(r32, -n)}
	}
	return true
}

// clearsLow makes (x >> c) << c an and.
func (f *fn) clearsLow(v *value) bool {
	x, c := v.args[0], v.args[1]
	if v.op != opShl || x.op != opShr || !c.isConst() || x.args[1] != c || c.imm < 0 || c.imm >= int64(v.class.bits()) {
		return false
	}
	v.op, v.typ, v.flags = opAnd, bitsOf(v.class), opTable[opAnd].flags
	v.args = []*value{x.args[0], f.constant(v.class, -1<<c.imm)}
	return true
}

// dropsLow takes the bits of a constant from what is shifted to the right by more than their
// number, such as to its sign.
func (f *fn) dropsLow(v *value) bool {
	x, n := v.args[0], v.args[1]
	if v.op != opShr || !n.isConst() || n.imm <= 0 || n.imm >= int64(v.class.bits()) || len(x.args) != 2 || !x.args[1].isConst() {
		return false
	}
	noCarry := x.op == opOr || x.op == opXor || x.op == opAdd && x.flags&disjoint != 0
	if !noCarry || unsigned(x.args[1])>>n.imm != 0 {
		return false
	}
	v.args = []*value{x.args[0], n}
	return true
}

// simplifyExtreme finds the maximum of a number and a constant, or the minimum, in that of the
// number and the same constant.
func simplifyExtreme(v *value) *value {
	x, y := v.args[0], v.args[1]
	switch {
	case !y.isConst():
	case x == y, x.op == v.op && x.typ == v.typ && x.args[1] == y:
		return x
	}
	return nil
}

// joinFields makes (x & a) | (x & b), of bits that a word was taken apart into, x & (a | b).
func (f *fn) joinFields(v *value) *value {
	x, y := v.args[0], v.args[1]
	if v.op != opOr || x.op != opAnd || y.op != opAnd || x.args[0] != y.args[0] || !x.args[1].isConst() || !y.args[1].isConst() {
		return nil
	}
	v.op, v.flags = opAnd, opTable[opAnd].flags
	v.args = []*value{x.args[0], f.constant(v.class, x.args[1].imm|y.args[1].imm)}
	return f.simplifyLogic(v)
}

func (f *fn) simplifyNot(v *value) *value {
	x := v.args[0]
	switch {
	case x.op == opNot:
		return x.args[0]
	case x.isConst():
		return f.constant(v.class, ^x.imm)
	case x.op == opSetp && x.args[0].class != pred:
		v.op, v.typ, v.cmp = opSetp, x.typ, x.cmp.inverse(x.typ.isFloat())
		v.args = append([]*value(nil), x.args...)
	}
	return nil
}

// widths of the integers of a type.
var widths = map[typ]int{tS8: 8, tU8: 8, tS16: 16, tU16: 16, tS32: 32, tU32: 32, tS64: 64, tU64: 64}

func (f *fn) simplifyCvt(v *value) *value {
	x := v.args[0]
	from, to := widths[v.from], widths[v.typ]
	if x.isConst() {
		n := x.imm
		if v.from.signed() {
			n = signExtend(n, from)
		} else if from < 64 {
			n &= 1<<from - 1
		}
		return f.constant(v.class, n)
	}
	if x.class == v.class && from == x.class.bits() {
		return x
	}
	if to == 32 && x.class == r64 && x.op == opAnd && x.args[1].isConst() && uint32(x.args[1].imm) == math.MaxUint32 {
		v.args[0] = x.args[0] // of the low word all is kept
		return f.simplifyCvt(v)
	}
	if v.from == tS32 && v.class == r64 && zeroAbove(x, 31, 4) { // not negative
		v.from, v.typ = tU32, tU64
	}
	if x.op != opCvt {
		return nil
	}
	y := x.args[0]
	inner, mid := widths[x.from], widths[x.typ]
	switch {
	case to < from && to <= inner && y.class == v.class && mid >= to:
		return y // cut back to what it was, or less
	case to < from && mid >= to: // cut twice, or widened and cut
		if to <= inner && inner == y.class.bits() {
			v.args[0], v.from = y, unsignedOf(y.class)
			return f.simplifyCvt(v)
		}
	case to > from && inner > mid && !v.from.signed() && from == mid && zeroAbove(y, mid, 4):
		if y.class == v.class {
			return y
		}
		v.args[0], v.from = y, unsignedOf(y.class)
		return f.simplifyCvt(v)
	case to > from && from == mid && inner < mid && x.from.signed() == v.from.signed():
		v.args[0], v.from = y, x.from // widened twice
	}
	return nil
}

func (f *fn) simplifySelp(v *value) *value {
	x, y, p := v.args[0], v.args[1], v.args[2]
	switch {
	case x == y:
		return x
	case choosesAgain(x, y, p):
		return p.args[0]
	case p.isConst() && p.imm != 0:
		return x
	case p.isConst():
		return y
	case p.op == opNot:
		v.args = []*value{y, x, p.args[0]}
	case isBit(p) && x.isConst() && x.imm == 1 && y.isConst() && y.imm == 0:
		return f.bitAs(v, p.args[0])
	}
	return nil
}

// isBit reports whether p is that the lowest bit of a number is set.
func isBit(p *value) bool {
	return p.op == opSetp && p.cmp == cmpNE && p.args[0].class != pred && isLowBit(p)
}

// bitAs makes v a number that is another one, a bit, in a register of any class.
func (f *fn) bitAs(v, bit *value) *value {
	if bit.class == v.class {
		return bit
	}
	v.op, v.from, v.typ, v.args = opCvt, unsignedOf(bit.class), unsignedOf(v.class), []*value{bit}
	return f.simplifyCvt(v)
}

// choosesAgain reports whether x if p, else y, is the number that p compares: k if it is k, else
// y, where it has been chosen of k and y already.
func choosesAgain(x, y, p *value) bool {
	if p.op != opSetp || len(p.args) != 2 || p.typ.isFloat() || p.args[0].op != opSelp {
		return false
	}
	if p.cmp == cmpNE {
		x, y = y, x
	} else if p.cmp != cmpEQ {
		return false
	}
	c := p.args[0]
	return p.args[1] == x && (c.args[0] == x && c.args[1] == y || c.args[0] == y && c.args[1] == x)
}

func (f *fn) simplifySetp(v *value) *value {
	x, y := v.args[0], v.args[1]
	if holds, known := decidedByExtreme(v); known {
		return f.constant(pred, truth(holds))
	}
	if y.op == opSelp && y.args[0].isConst() && y.args[1].isConst() {
		return f.decidedByChoice(v)
	}
	if !y.isConst() {
		return nil
	}
	if holds, known := decided(v); known {
		return f.constant(pred, truth(holds))
	}
	if v.cmp != cmpEQ && v.cmp != cmpNE {
		f.makeStrict(v)
		return f.simplifyTruth(v)
	}
	if x.op == opXor && x.args[1].isConst() { // x ^ c == y where x == y ^ c
		y = f.constant(y.class, x.args[1].imm^y.imm)
		x = x.args[0]
		v.args = []*value{x, y}
	}
	if x.op == opCvt && x.from == tU16 && x.class == r32 && x.args[0].class == r16 && y.imm == int64(uint16(y.imm)) {
		x, y = x.args[0], f.constant(r16, y.imm) // as the number that was widened
		v.typ, v.args = tB16, []*value{x, y}
	}
	if y.imm == 1 && x.class != pred && zeroAbove(x, 1, 4) { // a bit is one where it is not zero
		v.args, v.cmp = []*value{x, f.constant(y.class, 0)}, v.cmp.inverse(false)
	}
	return f.simplifyTruth(v)
}

// decided reports whether the known bits of what a constant is compared with decide the
// comparison, and how.
func decided(v *value) (holds, known bool) {
	x, y := v.args[0], v.args[1]
	if x.class == pred {
		return false, false
	}
	k := (&zeros{}).bits(x, 6)
	least, most := x.constantOf(k.one), x.constantOf(^k.zero)
	sign := uint64(1) << (x.class.bits() - 1)
	switch c := unsigned(y); {
	case v.cmp == cmpEQ || v.cmp == cmpNE:
		return v.cmp == cmpNE, c&k.zero|^c&k.one != 0
	case v.typ.signed() && (k.zero|k.one)&sign == 0: // a negative number is less
		least, most = x.constantOf(k.one|sign), x.constantOf(^k.zero&^sign)
	}
	holds = compare(v.cmp, v.typ, least, y)
	return holds, holds == compare(v.cmp, v.typ, most, y)
}

// decidedByChoice is what a comparison with one of two constants amounts to where both decide
// it: that a column of 64 is below 64 or below 0, say, is the truth value that chooses.
func (f *fn) decidedByChoice(v *value) *value {
	c := v.args[1]
	var holds [2]bool
	for i := range holds {
		known := false
		if holds[i], known = decided(&value{op: opSetp, typ: v.typ, class: pred, cmp: v.cmp, args: []*value{v.args[0], c.args[i]}}); !known {
			return nil
		}
	}
	switch {
	case holds[0] == holds[1]:
		return f.constant(pred, truth(holds[0]))
	case holds[0]:
		return c.args[2]
	}
	return nil
}

// constantOf is a constant of v's class, of no function.
func (v *value) constantOf(bits uint64) *value {
	return &value{op: opConst, class: v.class, imm: signExtend(int64(bits), v.class.bits())}
}

// makeStrict makes x >= c the comparison x > c-1, and x <= c that x < c+1, so that equal
// comparisons are shared. Of the least and the greatest number there is none.
func (f *fn) makeStrict(v *value) {
	k, by := cmpGT, int64(-1)
	switch v.cmp {
	case cmpGE:
	case cmpLE:
		k, by = cmpLT, 1
	default:
		return
	}
	y := v.args[1]
	if strict := f.constant(y.class, y.imm+by); compare(k, v.typ, y, strict) {
		v.args, v.cmp = []*value{v.args[0], strict}, k
	}
}

// simplifyTruth finds the comparison of a truth value that was made a number.
func (f *fn) simplifyTruth(v *value) *value {
	x, y := v.args[0], v.args[1]
	if x.op == opSelp && x.args[0].isConst() && x.args[1].isConst() && x.args[0].class != pred {
		yes, no := compare(v.cmp, v.typ, x.args[0], y), compare(v.cmp, v.typ, x.args[1], y)
		switch {
		case yes && no:
			return f.constant(pred, 1)
		case yes:
			return x.args[2]
		case !no:
			return f.constant(pred, 0)
		}
	}
	return nil
}

// zeroAbove reports whether the bits of v from bit w on are known to be zero.
func zeroAbove(v *value, w, depth int) bool {
	if w >= v.class.bits() {
		return true
	}
	if v.isConst() {
		return unsigned(v)>>w == 0
	}
	if depth == 0 || v.class == pred || v.typ.isFloat() {
		return false
	}
	depth--
	switch v.op {
	case opAnd:
		return zeroAbove(v.args[0], w, depth) || zeroAbove(v.args[1], w, depth)
	case opOr, opXor:
		return zeroAbove(v.args[0], w, depth) && zeroAbove(v.args[1], w, depth)
	case opSelp:
		return zeroAbove(v.args[0], w, depth) && zeroAbove(v.args[1], w, depth)
	case opCvt:
		if v.from.signed() {
			return false
		}
		return w >= widths[v.from] || zeroAbove(v.args[0], w, depth)
	case opShr:
		if n := v.args[1]; n.isConst() && !v.typ.signed() && n.imm >= 0 && n.imm < 64 {
			return zeroAbove(v.args[0], w+int(n.imm), depth)
		}
	case opShl:
		if n := v.args[1]; n.isConst() && n.imm >= 0 && n.imm <= int64(w) && n.imm < 64 {
			return zeroAbove(v.args[0], w-int(n.imm), depth)
		}
	case opBfe:
		return !v.typ.signed() && v.args[2].isConst() && v.args[2].imm <= int64(w)
	case opPrmt:
		x, _ := loneByte(v)
		return x != nil && w >= 8
	case opLd:
		return v.typ == tB8 && w >= 8
	case opRem:
		return !v.typ.signed() && zeroAbove(v.args[1], w, depth)
	case opDiv:
		return !v.typ.signed() && zeroAbove(v.args[0], w, depth)
	case opInst:
		if s, ok := v.aux.(string); ok {
			return w >= registerBits(s)
		}
	}
	return false
}

// registerBits is how many bits the number in a special register has at most, where that is known.
func registerBits(name string) int {
	switch name {
	case "%tid.x":
		return 10 // a block has up to 1,024 threads
	case "%ctaid.x":
		return 31
	case "%ctaid.y", "%ctaid.z":
		return 16
	}
	return 64
}
