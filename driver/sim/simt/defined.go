package simt

import "math/bits"

// warpCheck knows which bits of every register hold a defined value. An undefined
// value may be moved and computed with, as speculated and masked code does, and as
// code does that puts narrow elements together; it is reported where it decides
// something: a branch, an address, a guard, or bytes that go to global memory.
//
// Nearly all registers are wholly defined in nearly all lanes. So a register has a
// set of such lanes, which is all that most instructions look at; bits are kept
// only for lanes where some are defined and some are not.
type warpCheck struct {
	regs  []regLanes
	lanes int
	// base32 and base64 are where the registers of 32 and 64 bits begin in regs.
	base32, base64 int
	// some32 and some64 are the undefined bits in lanes of regLanes.some, in the
	// order of the warp's registers; made when first needed.
	some32 []uint32
	some64 []uint64
	// bits are the undefined bits of the result in hand, by lane, part those of one
	// of several.
	bits, part [MaxLanes]uint64
	// from are the lanes that a shuffle reads.
	from [MaxLanes]uint8
}

// regLanes are the lanes in which a register is wholly defined, and those in which
// a part of it is. It is undefined in the others.
type regLanes struct{ def, some uint64 }

// allBits are the undefined bits of what is wholly undefined.
const allBits = ^uint64(0)

// Places of regs that are not registers: an absent operand is defined, and an absent
// destination forgets.
const (
	placeAbsent = iota
	placeSink
	firstPlace
)

func newWarpCheck(p *Program, lanes int) *warpCheck {
	c := &warpCheck{lanes: lanes, base32: firstPlace + p.NumP + 1}
	c.base64 = c.base32 + p.Num32 + 1
	c.regs = make([]regLanes, c.base64+p.Num64+1)
	c.regs[placeAbsent].def = allBits
	return c
}

func (c *warpCheck) reset(w *warp) {
	clear(c.regs[placeSink:])
	for i := range w.cta.prog.Inits {
		c.regs[place(w.cta.prog, w.cta.prog.Inits[i].Reg)].def = w.full
	}
}

// place is where a source register is in warpCheck.regs.
func place(p *Program, r Reg) int32 {
	switch r.Class() {
	case ClassP:
		return int32(firstPlace + r.Index())
	case Class32:
		return int32(firstPlace + p.NumP + 1 + r.Index())
	case Class64:
		return int32(firstPlace + p.NumP + 1 + p.Num32 + 1 + r.Index())
	}
	return placeAbsent
}

// placeOfResult is place for a destination.
func placeOfResult(p *Program, r Reg) int32 {
	if r.Class() == ClassNone {
		return placeSink
	}
	return place(p, r)
}

// get returns the lanes in which r is wholly defined.
func (w *warp) get(r Reg) uint64 { return w.check.regs[place(w.cta.prog, r)].def }

// set records that the lanes of mask were written, those of def with a defined
// value and the others with an undefined one.
func (k *regLanes) set(mask, def uint64) {
	k.def = k.def&^mask | def&mask
	k.some &^= mask
}

// setReg is set for a register by name.
func (w *warp) setReg(r Reg, mask, def uint64) {
	w.check.regs[placeOfResult(w.cta.prog, r)].set(mask, def)
}

// defined marks a register written.
func (w *warp) defined(r Reg, mask uint64) {
	if w.check != nil {
		w.setReg(r, mask, mask)
	}
}

// undefined returns the undefined bits of a register in a lane: all of them, 64
// whatever its width, where it is wholly undefined.
func (c *warpCheck) undefined(at int32, lane int) uint64 {
	k := &c.regs[at]
	switch {
	case k.def>>lane&1 != 0:
		return 0
	case k.some>>lane&1 == 0:
		return allBits
	case int(at) >= c.base64:
		return c.some64[(int(at)-c.base64)*c.lanes+lane]
	}
	return uint64(c.some32[(int(at)-c.base32)*c.lanes+lane])
}

// setBits records that the lanes of mask were written, those of lost with values of
// which bits by lane are undefined.
func (c *warpCheck) setBits(at int32, mask, lost uint64, undef *[MaxLanes]uint64) {
	k := &c.regs[at]
	k.set(mask, mask&^lost)
	if at < firstPlace {
		return
	}
	for m := mask & lost; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		u := undef[l]
		whole := allBits
		switch {
		case int(at) < c.base32:
			whole = 1
		case int(at) < c.base64:
			whole = 1<<32 - 1
		}
		switch u &= whole; u {
		case 0:
			k.def |= 1 << l
		case whole:
		default:
			k.some |= 1 << l
			if int(at) >= c.base64 {
				if c.some64 == nil {
					c.some64 = make([]uint64, (len(c.regs)-c.base64)*c.lanes)
				}
				c.some64[(int(at)-c.base64)*c.lanes+l] = u
			} else {
				if c.some32 == nil {
					c.some32 = make([]uint32, (c.base64-c.base32)*c.lanes)
				}
				c.some32[(int(at)-c.base32)*c.lanes+l] = uint32(u)
			}
		}
	}
}

// undefinedBytes is which bytes of [0, n) have undefined bits among u.
func undefinedBytes(u uint64, n int) (b uint64) {
	for i := range n {
		if u>>(8*i)&0xff != 0 {
			b |= 1 << i
		}
	}
	return b
}

// name shows a register in a report.
func (w *warp) name(r Reg) string {
	if n, ok := w.cta.prog.RegNames[r]; ok {
		return n
	}
	return "a value"
}

// use reports the lanes of mask in which bits of r that used selects are undefined,
// and takes them for defined from there on, so that one mistake is one report.
func (w *warp) use(r Reg, mask, used uint64, what string) {
	c := w.check
	at := place(w.cta.prog, r)
	bad := mask &^ c.regs[at].def
	if bad == 0 {
		return
	}
	whole := bad &^ c.regs[at].some
	part := uint64(0)
	for m := bad &^ whole; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		if u := c.undefined(at, l) & used; u != 0 {
			part |= u
		} else {
			bad &^= 1 << l
		}
	}
	if bad == 0 {
		return
	}
	lane := bits.TrailingZeros64(bad)
	if whole != 0 {
		w.note(FindUndefined, lane, 0, "%s depends on %s, which is not defined in lanes 0x%x%s", what, w.name(r), bad, w.lateLoad())
	} else {
		w.note(FindUndefined, lane, 0, "%s depends on bits 0x%x of %s, which are not defined in lanes 0x%x%s", what, part, w.name(r), bad, w.lateLoad())
	}
	c.regs[at].set(bad, bad)
}
