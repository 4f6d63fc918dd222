package simt

import "math/bits"

// asyncCopy is one lane's cp.async that has not completed: the bytes were read
// at the instruction and are written when the lane waits for them, which is the
// latest moment that the manual allows.
type asyncCopy struct {
	dst  int
	size int
	data [16]byte
}

// asyncGroup is a committed group of copies, by lane.
type asyncGroup struct {
	lanes  uint64 // that committed it
	copies [][]asyncCopy
}

// asyncState holds a warp's copies: the open group and the committed ones, the
// oldest first.
type asyncState struct {
	open   *asyncGroup
	groups []*asyncGroup
	spare  []*asyncGroup
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
	for l := range g.copies {
		g.copies[l] = g.copies[l][:0]
	}
	g.lanes = 0
	a.spare = append(a.spare, g)
}

func (a *asyncState) current(lanes int) *asyncGroup {
	if a.open == nil {
		if n := len(a.spare); n > 0 {
			a.open, a.spare = a.spare[n-1], a.spare[:n-1]
		} else {
			a.open = &asyncGroup{copies: make([][]asyncCopy, lanes)}
		}
	}
	return a.open
}

// execCpAsync starts a copy of Size bytes from global memory at A + Imm2 to
// shared memory at D + Imm, of which only as many as B says are read; the rest
// become zeros.
func execCpAsync(w *warp, s *step) {
	size := s.in.Size
	var dst [MaxLanes]int
	w.access(s, s.in.D.Class(), s.d, s.imm, SpaceShared, size, size, func(v *view) {
		w.countAccess(v, size, true)
		w.checkAsyncWrite(v, size)
		copy(dst[:], w.offs)
	})
	if w.cta.fault != nil {
		return
	}
	g := w.async.current(w.n)
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
				w.faultAt(FindBounds, l, 0, "%s reads %d bytes for a copy of %d", s.in.Text, n[l], size)
				return
			}
		}
	}
	for m := all; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		g.copies[l] = append(g.copies[l], asyncCopy{dst: dst[l], size: size})
	}
	if read == 0 {
		return
	}
	w.mask = read
	w.access(s, s.in.A.Class(), s.a, s.in.Imm2, SpaceGlobal, size, size, func(v *view) {
		w.countAccess(v, size, false)
		w.checkRead(s, v, size)
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			n := size
			if s.b >= 0 {
				n = int(w.u32(s.b)[l])
			}
			c := &g.copies[l][len(g.copies[l])-1]
			copy(c.data[:n], v.data[w.offs[l]:])
		}
	})
	w.mask = all
}

func execCpCommit(w *warp, s *step) {
	a := &w.async
	g := a.current(w.n)
	g.lanes = w.mask
	a.groups = append(a.groups, g)
	a.open = nil
	// Copies of lanes that did not commit stay open.
	for l := range g.copies {
		if w.mask>>l&1 == 0 && len(g.copies[l]) > 0 {
			o := a.current(w.n)
			o.copies[l] = append(o.copies[l], g.copies[l]...)
			g.copies[l] = g.copies[l][:0]
		}
	}
}

// execCpWait completes all but the latest Imm groups of the active lanes; with a
// negative Imm all copies, committed or not.
func execCpWait(w *warp, s *step) {
	a := &w.async
	if s.imm < 0 && a.open != nil {
		for m := w.mask; m != 0; m &= m - 1 {
			w.complete(a.open, bits.TrailingZeros64(m))
		}
	}
	keep := max(s.imm, 0)
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		n := int64(0)
		for _, g := range a.groups {
			n += int64(g.lanes >> l & 1)
		}
		for _, g := range a.groups {
			if g.lanes>>l&1 == 0 {
				continue
			}
			if n <= keep {
				break
			}
			n--
			w.complete(g, l)
			g.lanes &^= 1 << l
		}
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

// complete writes a lane's copies to shared memory.
func (w *warp) complete(g *asyncGroup, l int) {
	for i := range g.copies[l] {
		c := &g.copies[l][i]
		copy(w.cta.shared[c.dst:c.dst+c.size], c.data[:c.size])
		if k := w.cta.sharedChk; k != nil {
			k.landed(w.id, c.dst, c.size)
		}
	}
	g.copies[l] = g.copies[l][:0]
}
