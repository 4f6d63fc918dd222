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

// knownBits are bits of a value that are zero, and bits that are one, of its class's width.
type knownBits struct{ zero, one uint64 }

// zeros finds bits that are known.
type zeros struct {
	// known are the zeros of phis; nil while phis have not got their operands.
	known map[*value]uint64
	// open are the phis whose zeros are assumed, until no operand refutes them.
	open []*value
}

// of returns the bits of v that are zero.
func (z *zeros) of(v *value, depth int) uint64 { return z.bits(v, depth).zero }

// bits returns the bits of v that are known.
func (z *zeros) bits(v *value, depth int) knownBits {
	all := ^uint64(0)
	if n := v.class.bits(); n < 64 {
		all = 1<<n - 1
	}
	if v.isConst() {
		return knownBits{^unsigned(v) & all, unsigned(v)}
	}
	if depth == 0 || v.class == pred || v.typ.isFloat() {
		return knownBits{}
	}
	arg := func(i int) knownBits { return z.bits(v.args[i], depth-1) }
	count := func() (uint, bool) {
		n := v.args[1]
		return uint(n.imm), n.isConst() && n.imm >= 0 && n.imm < int64(v.class.bits())
	}
	switch v.op {
	case opPhi:
		if z.known != nil {
			return knownBits{z.ofPhi(v) & all, 0}
		}
	case opAnd:
		x, y := arg(0), arg(1)
		return knownBits{x.zero | y.zero, x.one & y.one}
	case opOr:
		x, y := arg(0), arg(1)
		return knownBits{x.zero & y.zero, x.one | y.one}
	case opXor:
		x, y := arg(0), arg(1)
		return knownBits{x.zero&y.zero | x.one&y.one, x.zero&y.one | x.one&y.zero}
	case opSelp:
		x, y := arg(0), arg(1)
		return knownBits{x.zero & y.zero, x.one & y.one}
	case opNot:
		x := arg(0)
		return knownBits{x.one, x.zero}
	case opAdd:
		return sumBits(arg(0), arg(1), 0, all)
	case opSub:
		y := arg(1)
		return sumBits(arg(0), knownBits{y.one, y.zero}, 1, all)
	case opMul:
		low := bits.TrailingZeros64(^arg(0).zero) + bits.TrailingZeros64(^arg(1).zero)
		if low >= 64 {
			return knownBits{all, 0}
		}
		return knownBits{(1<<low - 1) & all, 0}
	case opRem:
		if n := v.args[1]; n.isConst() && bits.OnesCount64(unsigned(n)) == 1 { // what divides it keeps its low bits
			x, low := arg(0), unsigned(n)-1
			return knownBits{x.zero & low, x.one & low}
		}
	case opShl:
		if n, ok := count(); ok {
			x := arg(0)
			return knownBits{(x.zero<<n | (1<<n - 1)) & all, x.one << n & all}
		}
	case opShr:
		if n, ok := count(); ok {
			x, sign, in := arg(0), uint64(1)<<(v.class.bits()-1), all&^(all>>n)
			k := knownBits{x.zero >> n, x.one >> n}
			switch { // what comes in
			case !v.typ.signed() || x.zero&sign != 0:
				k.zero |= in
			case x.one&sign != 0:
				k.one |= in
			}
			return k
		}
	case opBfe:
		if n := v.args[2]; !v.typ.signed() && n.isConst() && n.imm >= 0 && n.imm < 32 {
			return knownBits{all &^ (1<<n.imm - 1), 0}
		}
	case opPrmt:
		if x, _ := loneByte(v); x != nil {
			return knownBits{all &^ 0xFF, 0}
		}
	case opCvt:
		if v.args[0].class == r32 && v.class == r64 && v.from == tU32 {
			x := arg(0)
			return knownBits{x.zero | all&^(1<<32-1), x.one}
		}
	case opInst:
		if s, ok := v.aux.(string); ok {
			return knownBits{all &^ (1<<registerBits(s) - 1), 0}
		}
	}
	return knownBits{}
}

// sumBits are the known bits of x + y + carry: those at which both are known, and what is
// carried there is the same for the least and the greatest values that they may have.
func sumBits(x, y knownBits, carry, all uint64) knownBits {
	most, least := ^x.zero+^y.zero+carry, x.one+y.one+carry
	carries := ^(most ^ x.zero ^ y.zero) | (least ^ x.one ^ y.one)
	known := (x.zero | x.one) & (y.zero | y.one) & carries & all
	return knownBits{^most & known, least & known}
}

// ofPhi assumes that a phi, and each other that it depends on, is zero, and keeps what no
// operand of any of them refutes.
func (z *zeros) ofPhi(p *value) uint64 {
	if k, ok := z.known[p]; ok {
		return k
	}
	first := len(z.open) == 0
	z.known[p] = ^uint64(0)
	z.open = append(z.open, p)
	if !first {
		return ^uint64(0)
	}
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(z.open); i++ { // there may come more
			q := z.open[i]
			all := z.known[q]
			for _, a := range q.args {
				if a != q {
					all &= z.of(a, 8)
				}
			}
			changed = changed || all != z.known[q]
			z.known[q] = all
		}
	}
	z.open = z.open[:0]
	return z.known[p]
}
