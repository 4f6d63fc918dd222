package simt

import (
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// asyncBytes is the most that a lane copies by one cp.async.
const asyncBytes = 16

// asyncCopy is one cp.async of the lanes of mask that has not completed: the bytes
// were read at the instruction and are written when a lane waits for them, which
// is the latest moment that the manual allows.
type asyncCopy struct {
	mask uint64
	size int
	dst  [MaxLanes]int32
	data [MaxLanes][asyncBytes]byte
}

// asyncGroup is a committed group of copies.
type asyncGroup struct {
	lanes  uint64 // that committed it and have not waited for it
	copies []*asyncCopy
}

// asyncState holds a warp's copies: the open group and the committed ones, the
// oldest first.
type asyncState struct {
	open        *asyncGroup
	groups      []*asyncGroup
	spare       []*asyncGroup
	spareCopies []*asyncCopy
}

func (a *asyncState) reset() {
	for _, g := range a.groups {
		a.recycle(g)
	}
	a.groups = a.groups[:0]
	if a.open != nil {
		a.recycle(a.open)
		a.open = nil
	}
}

func (a *asyncState) recycle(g *asyncGroup) {
	a.spareCopies = append(a.spareCopies, g.copies...)
	g.copies = g.copies[:0]
	g.lanes = 0
	a.spare = append(a.spare, g)
}

// current returns the open group.
func (a *asyncState) current() *asyncGroup {
	if a.open == nil {
		if n := len(a.spare); n > 0 {
			a.open, a.spare = a.spare[n-1], a.spare[:n-1]
		} else {
			a.open = new(asyncGroup)
		}
	}
	return a.open
}

// add puts a copy in the open group.
func (a *asyncState) add() *asyncCopy {
	var c *asyncCopy
	if n := len(a.spareCopies); n > 0 {
		c, a.spareCopies = a.spareCopies[n-1], a.spareCopies[:n-1]
	} else {
		c = new(asyncCopy)
	}
	g := a.current()
	g.copies = append(g.copies, c)
	return c
}

// execCpAsync starts a copy of Size bytes from global memory at A + Imm2 to
// shared memory at D + Imm, of which only as many as B says are read; the rest
// become zeros.
func execCpAsync(w *warp, s *step) {
	size := s.in.Size
	c := w.async.add()
	c.mask, c.size = 0, size
	w.access(s, s.in.D.Class(), s.d, s.imm, SpaceShared, size, size, func(v *view) {
		w.countAccess(v, size, accessCopy)
		w.checkAsyncWrite(v, size)
		for l, off := range w.offs {
			c.dst[l] = int32(off)
		}
		c.mask = w.mask
	})
	if w.cta.fault != nil {
		return
	}
	// Lanes that copy nothing do not touch their source.
	all := w.mask
	read := all
	if s.b >= 0 {
		n := w.u32(s.b)
		for m := all; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			if n[l] == 0 {
				read &^= 1 << l
			}
			if int(n[l]) > size {
				w.faultAt(FindBounds, l, 0, "%s reads %s for a copy of %d", s.in.Text, diag.Count(n[l], "byte"), size)
				return
			}
			c.data[l] = [asyncBytes]byte{}
		}
	}
	if read == 0 {
		return
	}
	w.mask = read
	w.access(s, s.in.A.Class(), s.a, s.in.Imm2, SpaceGlobal, size, size, func(v *view) {
		w.countAccess(v, size, accessRead)
		w.checkRead(s, v, size)
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			from := v.data[w.offs[l]:]
			switch {
			case s.b >= 0:
				copy(c.data[l][:w.u32(s.b)[l]], from)
			case size == asyncBytes:
				c.data[l] = [asyncBytes]byte(from)
			default:
				copy(c.data[l][:size], from)
			}
		}
	})
	w.mask = all
}

func execCpCommit(w *warp, s *step) {
	a := &w.async
	g := a.current()
	g.lanes = w.mask
	a.groups = append(a.groups, g)
	a.open = nil
	// Copies of lanes that did not commit stay open.
	for _, c := range g.copies {
		if rest := c.mask &^ w.mask; rest != 0 {
			o := a.add()
			*o = *c
			o.mask = rest
			c.mask &= w.mask
		}
	}
}

// execCpWait completes all but the latest Imm groups of the active lanes; with a
// negative Imm all copies, committed or not.
func execCpWait(w *warp, s *step) {
	a := &w.async
	if s.imm < 0 && a.open != nil {
		w.complete(a.open, w.mask)
	}
	keep := max(s.imm, 0)
	for i, g := range a.groups {
		// The lanes that committed more than keep groups, this one among them and
		// the later ones.
		m := g.lanes & w.mask
		for r := m; r != 0; r &= r - 1 {
			l := bits.TrailingZeros64(r)
			later := int64(0)
			for _, h := range a.groups[i+1:] {
				later += int64(h.lanes >> l & 1)
			}
			if later < keep {
				m &^= 1 << l
			}
		}
		w.complete(g, m)
		g.lanes &^= m
	}
	kept := a.groups[:0]
	for _, g := range a.groups {
		if g.lanes != 0 {
			kept = append(kept, g)
		} else {
			a.recycle(g)
		}
	}
	a.groups = kept
}

// complete writes the copies of the lanes of m to shared memory.
func (w *warp) complete(g *asyncGroup, m uint64) {
	shared, chk := w.cta.shared, w.cta.sharedChk
	for _, c := range g.copies {
		for r := c.mask & m; r != 0; r &= r - 1 {
			l := bits.TrailingZeros64(r)
			at := int(c.dst[l])
			if c.size == asyncBytes {
				*(*[asyncBytes]byte)(shared[at:]) = c.data[l]
			} else {
				copy(shared[at:at+c.size], c.data[l][:c.size])
			}
			if chk != nil {
				chk.landed(w.id, at, c.size)
			}
		}
		c.mask &^= m
	}
}
