package simt

import "math/bits"

// How undefined bits spread. An instruction that moves bits, or combines those of
// one weight, moves undefined ones likewise; what arithmetic makes of one undefined
// bit is undefined from its weight on, where that is all it can reach, or else
// altogether.

// spread returns the undefined bits of what s computes in a lane, some of whose
// operands have such bits. For OpUnpack they are those of A, and for setp bits 0 and
// 1 are those of its two results.
func (w *warp) spread(s *step, lane int) uint64 {
	in, c := s.in, w.check
	a, b, x := c.undefined(s.pa, lane), c.undefined(s.pb, lane), c.undefined(s.pc, lane)
	switch in.Op {
	case OpMov, OpUnpack, OpNot:
		return a
	case OpPack:
		n := in.Type.Bits() / len(s.prs)
		u := uint64(0)
		for k, r := range s.prs {
			u |= c.undefined(r, lane) & (1<<n - 1) << (k * n)
		}
		return u
	case OpSelp, OpSlct:
		switch {
		case x != 0:
			return a | b | (w.value(in.A, s.a, lane) ^ w.value(in.B, s.b, lane))
		case in.Op == OpSlct:
			return a | b
		case w.p[s.c]>>lane&1 != 0:
			return a
		}
		return b
	case OpAnd, OpOr, OpXor:
		return spreadBitwise(in.Op, w.value(in.A, s.a, lane), w.value(in.B, s.b, lane), a, b)
	case OpLop3:
		return uint64(spreadLop3(w.r32[int(s.a)+lane], w.r32[int(s.b)+lane], w.r32[int(s.c)+lane],
			uint32(a), uint32(b), uint32(x), uint8(in.Imm)))
	case OpShl, OpShr, OpShf, OpPrmt, OpBfe, OpBfi, OpBrev:
		return w.spreadMove(s, lane, a, b, x)
	case OpAdd, OpSub, OpMul, OpMad, OpNeg:
		if carries(in) {
			whole := allBits >> (64 - in.Type.Bits())
			u := (a | b) & whole
			if in.Flags&FlagWide != 0 {
				u |= x
			} else {
				u |= x & whole
			}
			return allBits << bits.TrailingZeros64(u) // zero where there is none
		}
	case OpCvt, OpCvtPack:
		return spreadConversion(in, a, b, x)
	case OpSetp, OpSet:
		return spreadSet(in, a, b, x)
	}
	u := a | b | x
	for _, r := range s.prs {
		u |= c.undefined(r, lane)
	}
	if isPair(in.Type) {
		return halves(u)
	}
	return wholly(u, in.Type)
}

// wholly is all bits if a value of type t has undefined ones among u. A register of 16
// bits has nothing above them.
func wholly(u uint64, t Type) uint64 {
	if n := t.Bits(); n == 8 || n == 16 {
		u &= 1<<n - 1
	}
	if u == 0 {
		return 0
	}
	return allBits
}

// isPair reports whether t is two elements of 16 bits.
func isPair(t Type) bool { return t == F16x2 || t == BF16x2 || t == U16x2 || t == S16x2 }

// halves are the halves of a pair that have undefined bits.
func halves(u uint64) (r uint64) {
	if u&0xffff != 0 {
		r = 0xffff
	}
	if u>>16&0xffff != 0 {
		r |= 0xffff0000
	}
	return r
}

// carries reports whether in is integer arithmetic whose result's bits depend on no
// higher bits of its operands.
func carries(in *Inst) bool {
	return !in.Type.Float() && !isPair(in.Type) && in.Flags&(FlagHi|FlagSat|FlagCarry|FlagCarryIn) == 0
}

// value is an operand as a number.
func (w *warp) value(r Reg, off int32, lane int) uint64 {
	switch r.Class() {
	case ClassP:
		return w.p[off] >> lane & 1
	case Class32:
		return uint64(w.r32[int(off)+lane])
	case Class64:
		return w.r64[int(off)+lane]
	}
	return 0
}

// spreadBitwise is for and, or and xor of x and y, of which bits a and b are
// undefined: a zero makes an and defined, a one an or.
func spreadBitwise(op Op, x, y, a, b uint64) uint64 {
	switch op {
	case OpAnd:
		return (a | b) & (x | a) & (y | b)
	case OpOr:
		return (a | b) & (^x | a) & (^y | b)
	}
	return a | b
}

// spreadLop3 finds the bits that some choice of the undefined ones changes.
func spreadLop3(x, y, z, a, b, c uint32, table uint8) (u uint32) {
	r := lop3(x, y, z, table)
	for k := range 8 {
		p, q, t := x, y, z
		if k&4 != 0 {
			p ^= a
		}
		if k&2 != 0 {
			q ^= b
		}
		if k&1 != 0 {
			t ^= c
		}
		u |= r ^ lop3(p, q, t, table)
	}
	return u
}

// spreadMove is for shifts, permutations and fields: the undefined bits go where the
// bits go, if it is defined where that is.
func (w *warp) spreadMove(s *step, lane int, a, b, x uint64) uint64 {
	in := s.in
	n := in.Type.Bits()
	whole := allBits >> (64 - n)
	switch in.Op {
	case OpShl, OpShr:
		if b != 0 {
			return allBits
		}
		by := w.r32[int(s.b)+lane]
		switch {
		case in.Op == OpShl:
			return a << by & whole
		case in.Type.Signed():
			return uint64(int64(a<<(64-n))>>(64-n)>>by) & whole
		}
		return a & whole >> by
	case OpShf:
		if x != 0 {
			return allBits
		}
		by := w.r32[int(s.c)+lane]
		if in.Flags&FlagClamp != 0 {
			by = min(by, 32)
		} else {
			by &= 31
		}
		both := b<<32 | a&0xffffffff
		if in.Flags&FlagLeft != 0 {
			return both << by >> 32
		}
		return both >> by
	case OpPrmt:
		if x != 0 {
			return allBits
		}
		sel := w.r32[int(s.c)+lane]
		if in.Imm != PrmtIndex {
			sel = uint32(prmtModes[in.Imm][sel&3])
		}
		return uint64(prmt(uint32(a), uint32(b), sel))
	case OpBfe:
		if b|x != 0 {
			return allBits
		}
		return bfe(a&whole, w.r32[int(s.b)+lane]&0xff, w.r32[int(s.c)+lane]&0xff, uint32(n), in.Type.Signed())
	case OpBfi:
		if x|w.check.undefined(s.prs[0], lane) != 0 {
			return allBits
		}
		return bfi(a, b, w.r32[int(s.c)+lane]&0xff, w.r32[int(s.rs[0])+lane]&0xff, uint32(n))
	}
	return bits.Reverse64(a&whole) >> (64 - n)
}

// spreadConversion is for cvt and cvt.pack.
func spreadConversion(in *Inst, a, b, x uint64) uint64 {
	element := func(u uint64, n int) uint64 {
		if u&(1<<n-1) != 0 {
			return allBits
		}
		return 0
	}
	part := in.Type.Bits()
	switch {
	case in.Op == OpCvtPack:
		n := part
		return element(a, 32)&(1<<n-1)<<n | element(b, 32)&(1<<n-1) | x<<(2*n)
	case in.Type == F16x2 || in.Type == BF16x2 || in.Type == E4M3x2 || in.Type == E5M2x2:
		part /= 2
		lo, hi := b, a
		from := 32
		if in.B == 0 {
			from = in.From.Bits() / 2
			lo, hi = a, a>>from
		}
		return element(hi, from)&(1<<part-1)<<part | element(lo, from)&(1<<part-1)
	case !in.Type.Float() && !in.From.Float() && in.Flags&FlagSat == 0:
		return writeInt(in.Type, readInt(in.From, a), regBits(in))
	case in.From.Bits() < 64:
		return element(a, in.From.Bits())
	}
	return element(a, 63) | element(a>>1, 63)
}

// spreadSet is for comparisons.
func spreadSet(in *Inst, a, b, x uint64) uint64 {
	t := in.Type
	if in.Op == OpSet {
		t = in.From
	}
	u := wholly(a|b, t)
	if isPair(t) {
		u = halves(a | b)
		if in.Op == OpSetp {
			u = u&1 | u>>16&1<<1
		}
	}
	if x != 0 {
		return allBits
	}
	return u
}
