package simt

import "math/bits"

// warpCheck knows which lanes of every register hold a defined value. An
// undefined value may be moved and computed with, as speculated and masked code
// does; it is reported where it decides something: a branch, an address, a
// guard, or a value that goes to global memory.
type warpCheck struct {
	def32, def64, defP []uint64
}

func newWarpCheck(p *Program) *warpCheck {
	return &warpCheck{make([]uint64, p.Num32+1), make([]uint64, p.Num64+1), make([]uint64, p.NumP+1)}
}

func (c *warpCheck) reset(w *warp) {
	clear(c.def32)
	clear(c.def64)
	clear(c.defP)
	for i := range w.cta.prog.Inits {
		c.set(w.cta.prog.Inits[i].Reg, w.full, w.full)
	}
}

func (c *warpCheck) file(r Reg) *uint64 {
	switch r.Class() {
	case ClassP:
		return &c.defP[r.Index()]
	case Class32:
		return &c.def32[r.Index()]
	case Class64:
		return &c.def64[r.Index()]
	}
	return nil
}

// get returns the lanes in which r is defined.
func (c *warpCheck) get(r Reg) uint64 {
	if p := c.file(r); p != nil {
		return *p
	}
	return ^uint64(0)
}

// set records that the lanes of mask were written, those of def with a defined
// value.
func (c *warpCheck) set(r Reg, mask, def uint64) {
	if p := c.file(r); p != nil {
		*p = *p&^mask | def&mask
	}
}

// defined marks a register written.
func (w *warp) defined(r Reg, mask uint64) {
	if w.check != nil {
		w.check.set(r, mask, mask)
	}
}

// name shows a register in a report.
func (w *warp) name(r Reg) string {
	if n, ok := w.cta.prog.RegNames[r]; ok {
		return n
	}
	return "a value"
}

// use reports the lanes of mask in which r is undefined, and takes it for
// defined from there on, so that one mistake is one report.
func (w *warp) use(r Reg, mask uint64, what string) {
	bad := mask &^ w.check.get(r)
	if bad == 0 || r == 0 {
		return
	}
	w.note(FindUndefined, bits.TrailingZeros64(bad), 0, "%s depends on %s, which is not defined in lanes 0x%x", what, w.name(r), bad)
	w.check.set(r, bad, bad)
}

// doChecked executes a step and tracks what it defines.
func (w *warp) doChecked(s *step, m uint64) {
	in := s.in
	c := w.check
	switch in.Op {
	case OpCpAsync:
		w.use(in.D, m, "the address")
		fallthrough
	case OpLd, OpSt, OpAtom, OpRed, OpLdMatrix, OpStMatrix:
		w.use(in.A, m, "the address")
	}
	switch in.Op {
	case OpLd:
		for _, r := range in.Regs {
			c.set(r, m, m)
		}
		w.do(s, m)
	case OpSt:
		if in.Space == SpaceGlobal || in.Space == SpaceGeneric {
			for _, r := range in.Regs {
				w.use(r, m, "the value stored")
			}
		}
		w.do(s, m)
	case OpAtom, OpRed:
		for _, r := range in.Regs {
			w.use(r, m, "the operand of an atomic")
		}
		for _, r := range in.Dsts {
			c.set(r, m, m)
		}
		w.do(s, m)
	case OpShfl:
		w.do(s, m)
	case OpSelp:
		p := w.p[s.c]
		def := c.get(in.C) & (p&c.get(in.A) | ^p&c.get(in.B))
		w.do(s, m)
		c.set(in.D, m, def)
	case OpMma:
		def := uint64(1)
		for _, rs := range [...][]Reg{in.Mma.ARegs, in.Mma.BRegs, in.Mma.CRegs} {
			for _, r := range rs {
				if m&^c.get(r) != 0 {
					def = 0
				}
			}
		}
		w.do(s, m)
		for _, r := range in.Mma.DRegs {
			c.set(r, m, m*def)
		}
	case OpBulk:
		k := in.Bulk
		for _, r := range append([]Reg{k.Shared, k.Global, k.Barrier, k.Size}, k.Coords...) {
			w.use(r, m, "a bulk copy")
		}
		w.do(s, m)
	case OpMbarrier:
		w.use(in.A, m, "the address")
		w.use(in.B, m, "an mbarrier")
		w.do(s, m)
		c.set(in.D, m, m)
	case OpCopyMap:
		w.use(in.A, m, "the address")
		w.use(in.D, m, "the address")
		w.do(s, m)
	case OpWgmma:
		w.use(in.Wgmma.BDesc, m, "a matrix descriptor")
		if in.Wgmma.ADesc != 0 {
			w.use(in.Wgmma.ADesc, m, "a matrix descriptor")
		}
		w.do(s, m)
		for _, r := range in.Mma.DRegs {
			c.set(r, m, m)
		}
	case OpVote, OpMatch, OpRedux:
		def := m
		if m&^c.get(in.A) != 0 {
			def = 0
		}
		w.do(s, m)
		c.set(in.D, m, def)
		for _, r := range in.Dsts {
			c.set(r, m, def)
		}
	case OpLdMatrix:
		for _, r := range in.Regs {
			c.set(r, m, m)
		}
		w.do(s, m)
	default:
		def := c.get(in.A) & c.get(in.B) & c.get(in.C)
		for _, r := range in.Regs {
			def &= c.get(r)
		}
		w.do(s, m)
		if in.D != 0 && in.Op != OpCpAsync {
			c.set(in.D, m, def)
		}
		for _, r := range in.Dsts {
			c.set(r, m, def)
		}
	}
}
