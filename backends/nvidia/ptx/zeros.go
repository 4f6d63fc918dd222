package ptx

import (
	"math/bits"
	"slices"
)

// markSums notes which sums of a value and a constant have no carry, because the value has
// no bit of the constant: such as 8 and the number of a row that a loop counts by 32. They
// may be widened term by term.
func markSums(f *fn) {
	f.analyze()
	z := &zeros{known: make(map[*value]uint64)}
	for _, b := range f.blocks {
		for _, v := range slices.Clone(b.insts) {
			if v.op != opAdd || v.class != r32 || v.typ.isFloat() || !v.args[1].isConst() || v.args[1].imm <= 0 {
				continue
			}
			zero := z.of(v.args[0], 8)
			if unsigned(v.args[1])&^zero == 0 {
				v.flags |= disjoint
			} else {
				f.splitSum(b, v, zero)
			}
		}
	}
}

// splitSum makes (x + 64) + 8 of x + 72, where x + 64 has no bit of 8: the rows of a tile that a
// loop is ahead by then have what is widened in common.
func (f *fn) splitSum(b *block, v *value, zero uint64) {
	high := v.args[1].imm
	for bit := high & -high; high != 0 && uint64(bit)&^zero == 0; bit = high & -high {
		high -= bit
	}
	low := v.args[1].imm - high
	if high == 0 || low == 0 {
		return
	}
	s := f.newValue(opAdd, tS32, r32, v.args[0], f.constant(r32, high))
	s.loc = v.loc
	b.insertBefore(b.indexOf(v), s)
	v.args, v.flags = []*value{s, f.constant(r32, low)}, v.flags|disjoint
}

// zeros finds bits that are known to be zero.
type zeros struct {
	// known are the bits of phis, while they are looked at, too; nil while phis have not got
	// their operands.
	known map[*value]uint64
}

// of returns the bits of v that are zero, of its class's width.
func (z *zeros) of(v *value, depth int) uint64 {
	all := ^uint64(0)
	if n := v.class.bits(); n < 64 {
		all = 1<<n - 1
	}
	if v.isConst() {
		return ^unsigned(v) & all
	}
	if depth == 0 || v.class == pred || v.typ.isFloat() {
		return 0
	}
	arg := func(i int) uint64 { return z.of(v.args[i], depth-1) }
	count := func() (uint, bool) {
		n := v.args[1]
		return uint(n.imm), n.isConst() && n.imm >= 0 && n.imm < int64(v.class.bits())
	}
	switch v.op {
	case opPhi:
		if z.known == nil {
			return 0
		}
		return z.ofPhi(v, depth) & all
	case opAnd:
		return arg(0) | arg(1)
	case opOr, opXor, opSelp:
		return arg(0) & arg(1)
	case opAdd:
		x, y := arg(0), arg(1)
		if x|y == all {
			return x & y
		}
		low := min(bits.TrailingZeros64(^x), bits.TrailingZeros64(^y))
		return 1<<low - 1
	case opMul:
		low := bits.TrailingZeros64(^arg(0)) + bits.TrailingZeros64(^arg(1))
		if low >= 64 {
			return all
		}
		return (1<<low - 1) & all
	case opShl:
		if n, ok := count(); ok {
			return (arg(0)<<n | (1<<n - 1)) & all
		}
	case opShr:
		if n, ok := count(); ok {
			x := arg(0)
			if v.typ.signed() && x>>(v.class.bits()-1) == 0 {
				return x >> n // the sign comes in
			}
			return x>>n | all&^(all>>n)
		}
	case opBfe:
		if n := v.args[2]; !v.typ.signed() && n.isConst() && n.imm >= 0 && n.imm < 32 {
			return all &^ (1<<n.imm - 1)
		}
	case opPrmt:
		if x, _ := loneByte(v); x != nil {
			return all &^ 0xFF
		}
	case opCvt:
		if v.args[0].class == r32 && v.class == r64 && v.from == tU32 {
			return arg(0) | all&^(1<<32-1)
		}
	case opInst:
		if s, ok := v.aux.(string); ok {
			return all &^ (1<<registerBits(s) - 1)
		}
	}
	return 0
}

// ofPhi assumes that a phi has the zeros of its first value at the lower end, and keeps
// what its other values do not refute.
func (z *zeros) ofPhi(p *value, depth int) uint64 {
	if k, ok := z.known[p]; ok {
		return k
	}
	z.known[p] = ^uint64(0)
	for changed := true; changed; {
		all := z.known[p]
		for _, a := range p.args {
			if a != p {
				all &= z.of(a, depth-1)
			}
		}
		changed = all != z.known[p]
		z.known[p] = all
	}
	return z.known[p]
}
