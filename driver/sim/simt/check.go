package simt

import "math/bits"

// doChecked executes a step and tracks what it defines.
func (w *warp) doChecked(s *step, m uint64) {
	in := s.in
	c := w.check
	if w.dots != nil && in.Op != OpWgmma {
		w.dotRegisters(s)
	}
	switch in.Op {
	case OpLd, OpSt, OpAtom, OpRed, OpLdMatrix, OpStMatrix, OpCpAsync:
		w.doMemory(s, m)
	case OpWavefront:
		w.do(s, m)
	case OpShfl, OpActive, OpElect, OpClock:
		w.do(s, m)
		if in.Op != OpShfl {
			w.writeAll(s, m, m)
		}
	case OpMma:
		def := m
		for _, rs := range [...][]Reg{in.Mma.ARegs, in.Mma.BRegs, in.Mma.CRegs} {
			for _, r := range rs {
				if m&^w.get(r) != 0 {
					def = 0
				}
			}
		}
		w.do(s, m)
		for _, r := range in.Mma.DRegs {
			w.setReg(r, m, def)
		}
	case OpBulk:
		k := in.Bulk
		for _, r := range [...]Reg{k.Shared, k.Global, k.Barrier, k.Size} {
			w.use(r, m, allBits, "a bulk copy")
		}
		for _, r := range k.Coords {
			w.use(r, m, allBits, "a bulk copy")
		}
		w.do(s, m)
	case OpMbarrier:
		w.use(in.A, m, allBits, "the address")
		w.use(in.B, m, allBits, "an mbarrier")
		w.do(s, m)
		c.regs[s.pd].set(m, m)
	case OpMapFence:
		w.use(in.A, m, allBits, "the address")
		w.do(s, m)
	case OpCopyMap:
		w.use(in.A, m, allBits, "the address")
		w.use(in.D, m, allBits, "the address")
		w.do(s, m)
	case OpWgmma:
		w.use(in.Wgmma.BDesc, m, allBits, "a matrix descriptor")
		w.use(in.Wgmma.ADesc, m, allBits, "a matrix descriptor")
		w.dotStarts(s)
		w.do(s, m)
		for _, r := range in.Mma.DRegs {
			w.setReg(r, m, m)
		}
	case OpVote, OpMatch, OpRedux:
		def := m
		if m&^c.regs[s.pa].def != 0 {
			def = 0
		}
		w.do(s, m)
		w.writeAll(s, m, def)
	default:
		def := c.regs[s.pa].def & c.regs[s.pb].def & c.regs[s.pc].def
		for _, r := range s.prs {
			def &= c.regs[r].def
		}
		if m&^def != 0 {
			w.doUndefined(s, m, m&^def)
			return
		}
		w.do(s, m)
		w.writeAll(s, m, m)
	}
}

// writeAll records that a step wrote its results, defined ones in the lanes of def.
func (w *warp) writeAll(s *step, m, def uint64) {
	w.check.regs[s.pd].set(m, def)
	for _, r := range s.pds {
		w.check.regs[r].set(m, def)
	}
}

// doUndefined executes a step whose operands are not wholly defined in the lanes of
// lost.
func (w *warp) doUndefined(s *step, m, lost uint64) {
	c := w.check
	for r := lost; r != 0; r &= r - 1 {
		l := bits.TrailingZeros64(r)
		c.bits[l] = w.spread(s, l)
	}
	w.do(s, m)
	c.setBits(s.pd, m, lost, &c.bits)
	for k, at := range s.pds {
		shift, width := k+1, 1
		if s.in.Op == OpUnpack {
			width = s.in.Type.Bits() / len(s.pds)
			shift = k * width
		}
		for r := lost; r != 0; r &= r - 1 {
			l := bits.TrailingZeros64(r)
			c.part[l] = c.bits[l] >> shift & (1<<width - 1)
		}
		c.setBits(at, m, lost, &c.part)
	}
}

// doMemory is doChecked for loads and stores. What a load takes from shared memory
// may turn out to be undefined on the way (see readUnknown).
func (w *warp) doMemory(s *step, m uint64) {
	in := s.in
	c := w.check
	if in.Op == OpCpAsync && m&^c.regs[s.pd].def != 0 {
		w.use(in.D, m, allBits, "the address")
	}
	if m&^c.regs[s.pa].def != 0 {
		w.use(in.A, m, allBits, "the address")
	}
	switch in.Op {
	case OpLd, OpLdMatrix:
		for _, r := range s.prs {
			c.regs[r].set(m, m)
		}
	case OpSt:
		if in.Space == SpaceGlobal || in.Space == SpaceGeneric {
			w.useAll(s, m, "the value stored")
		}
	case OpAtom, OpRed:
		w.useAll(s, m, "the operand of an atomic")
		for _, r := range s.pds {
			c.regs[r].set(m, m)
		}
	}
	w.do(s, m)
}

// useAll reports undefined bits of the values that a step stores.
func (w *warp) useAll(s *step, m uint64, what string) {
	for k, r := range s.prs {
		if m&^w.check.regs[r].def != 0 {
			w.use(s.in.Regs[k], m, allBits>>(64-s.in.Type.Bits()), what)
		}
	}
}

// loadsUndefined marks what some lanes load as undefined.
func (w *warp) loadsUndefined(s *step, lanes uint64) {
	c := w.check
	for m := lanes; m != 0; m &= m - 1 {
		c.bits[bits.TrailingZeros64(m)] = allBits
	}
	for _, at := range s.prs {
		c.setBits(at, lanes, lanes, &c.bits)
	}
}

// readUnknown marks what the lanes of bad load from bytes of shared memory that
// nobody wrote, or wrote with undefined values.
func (w *warp) readUnknown(s *step, bad uint64) {
	c, shared := w.check, w.cta.sharedChk
	in := s.in
	switch in.Op {
	case OpLd:
		n := in.Type.Bits() / 8
		for k, at := range s.prs {
			for m := bad; m != 0; m &= m - 1 {
				l := bits.TrailingZeros64(m)
				u := shared.unknownBits(w.offs[l]+k*n, n)
				if in.Type.Signed() {
					u = readInt(in.Type, u) // the sign spreads
				}
				c.bits[l] = u
			}
			c.setBits(at, bad, bad, &c.bits)
		}
	case OpLdMatrix:
		trans := in.Flags&FlagTrans != 0
		for k, at := range s.prs {
			lost := uint64(0)
			for l := range mmaLanes {
				if !trans {
					c.bits[l] = shared.unknownBits(w.offs[8*k+l/4]+l%4*4, 4)
				} else {
					row := w.offs[8*k+l%4*2:]
					c.bits[l] = shared.unknownBits(row[0]+l/4*2, 2) | shared.unknownBits(row[1]+l/4*2, 2)<<16
				}
				if c.bits[l] != 0 {
					lost |= 1 << l
				}
			}
			c.setBits(at, lost, lost, &c.bits)
		}
	}
}

// definedStore returns the lanes of mask whose access stores nothing undefined.
func (w *warp) definedStore(s *step, mask uint64) uint64 {
	if w.check == nil {
		return mask
	}
	def := allBits
	for _, r := range s.prs {
		def &= w.check.regs[r].def
	}
	if s.in.Op == OpStMatrix && def&w.full != w.full {
		return 0 // the lanes that store are others than those that have the addresses
	}
	return mask & def
}

// storedBytes is which bytes of a lane's access a step stores defined.
func (w *warp) storedBytes(s *step, lane int) (def uint64) {
	if w.wavefront != nil {
		return w.wavefront.stored[lane]
	}
	c := w.check
	if s.in.Op == OpStMatrix {
		r := s.prs[lane/8]
		row := lane % 8
		for i := range 8 {
			from, half := 4*row+i/2, i%2
			if s.in.Flags&FlagTrans != 0 {
				from, half = 4*i+row/2, row%2
			}
			def |= (3 &^ undefinedBytes(c.undefined(r, from)>>(16*half), 2)) << (2 * i)
		}
		return def
	}
	n := s.in.Type.Bits() / 8
	for k, r := range s.prs {
		def |= (1<<n - 1) &^ undefinedBytes(c.undefined(r, lane), n) << (k * n)
	}
	return def
}

// shuffled records what a shuffle made of A's undefined bits: lane l of m read
// c.from[l]. What is read from a lane that takes no part is not defined.
func (w *warp) shuffled(s *step, m, def uint64) {
	c := w.check
	for r := m &^ def; r != 0; r &= r - 1 {
		l := bits.TrailingZeros64(r)
		c.bits[l] = allBits
		if from := int(c.from[l]); m>>from&1 != 0 {
			c.bits[l] = c.undefined(s.pa, from)
		}
	}
	c.setBits(s.pd, m, m&^def, &c.bits)
}
