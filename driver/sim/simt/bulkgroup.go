package simt

import (
	"math/bits"
	"slices"
)

// Bulk stores read shared memory when they are issued, which is the soonest that
// the manual allows. Until their thread has waited for them nobody may write
// there: they might read as late as then.

// bulkReads are the ranges that bulk stores of a warp's lanes read, in the open
// group and in those that were committed, the oldest first.
type bulkReads struct {
	open   bulkGroup
	groups []bulkGroup
}

type bulkGroup struct {
	lanes  uint64 // that committed it and have not waited for it
	ranges []laneRange
	maps   []*mapUse // of its stores
}

type laneRange struct {
	lane int
	byteRange
}

func (b *bulkReads) reset() { *b = bulkReads{} }

// add puts a range in the open group.
func (b *bulkReads) add(lane, at, size int) {
	r := &b.open.ranges
	if n := len(*r); n > 0 && (*r)[n-1].lane == lane && (*r)[n-1].at+(*r)[n-1].size == at {
		(*r)[n-1].size += size
		return
	}
	*r = append(*r, laneRange{lane, byteRange{at, size}})
}

func execBulkCommit(w *warp, s *step) {
	b := &w.bulkReads
	if len(b.open.ranges) == 0 && len(b.open.maps) == 0 && len(b.groups) == 0 {
		return // nothing that a wait could count from
	}
	g := bulkGroup{lanes: w.mask}
	var rest bulkGroup
	for _, r := range b.open.ranges {
		if w.mask>>r.lane&1 != 0 {
			g.ranges = append(g.ranges, r)
		} else {
			rest.ranges = append(rest.ranges, r)
		}
	}
	for _, u := range b.open.maps {
		if w.mask>>u.lane&1 != 0 {
			g.maps = append(g.maps, u)
		} else {
			rest.maps = append(rest.maps, u)
		}
	}
	b.groups, b.open = append(b.groups, g), rest
}

// execBulkWait ends all but the latest Imm groups of the active lanes.
func execBulkWait(w *warp, s *step) {
	b := &w.bulkReads
	for i := range b.groups {
		g := &b.groups[i]
		m := g.lanes & w.mask
		for r := m; r != 0; r &= r - 1 {
			l := bits.TrailingZeros64(r)
			later := int64(0)
			for _, h := range b.groups[i+1:] {
				later += int64(h.lanes >> l & 1)
			}
			if later < s.imm {
				m &^= 1 << l
			}
		}
		for _, r := range g.ranges {
			if m>>r.lane&1 != 0 {
				w.cta.sharedChk.hasRead(w.id, r.byteRange)
			}
		}
		for _, u := range g.maps {
			if m>>u.lane&1 != 0 && !b.laterUse(i, u) {
				u.ended = w.cta.sharedChk.now(u.ended, w.id)
			}
		}
		g.lanes &^= m
	}
	kept := b.groups[:0]
	for _, g := range b.groups {
		if g.lanes != 0 {
			kept = append(kept, g)
		}
	}
	b.groups = kept
}

// laterUse reports whether a store through the same map by the same thread comes after
// group i.
func (b *bulkReads) laterUse(i int, u *mapUse) bool {
	for _, g := range b.groups[i+1:] {
		if slices.Contains(g.maps, u) {
			return true
		}
	}
	return slices.Contains(b.open.maps, u)
}

// engineReads marks bytes that a bulk store of a lane reads.
func (w *warp) engineReads(lane, at, size int) {
	c := w.cta.sharedChk
	if c == nil {
		return
	}
	w.fenced(lane, at, size, "reads")
	w.bulkReads.add(lane, at, size)
	for k := at >> 2; k < (at+size+3)>>2; k++ {
		c.words[k].engine |= engineReading
	}
}

// hasRead ends a bulk store's reading for warp w, which only it knows.
func (c *sharedCheck) hasRead(w int, r byteRange) {
	for k := r.at >> 2; k < (r.at+r.size+3)>>2; k++ {
		c.words[k].engine &^= engineReading
		c.words[k].read = allBytes
		c.reads[k*c.warps+w] = c.clock[w][w]<<4 | allBytes
	}
}

// engineWrote marks bytes that a bulk load wrote.
func (c *sharedCheck) engineWrote(at, size int) {
	for k := at >> 2; k < (at+size+3)>>2; k++ {
		c.words[k].engine |= engineWritten
	}
}

// fenced finds bytes that threads wrote and that a bulk copy issued by w accesses
// with no fence.proxy.async between.
func (w *warp) fenced(lane, at, size int, verb string) {
	c := w.cta.sharedChk
	me := c.clock[w.id]
	for k := at >> 2; k < (at+size+3)>>2; k++ {
		x := &c.words[k]
		if x.engine&engineWritten == 0 && x.clock > me[c.warps+int(x.warp)] {
			w.note(FindAsync, lane, uint64(4*k), "a bulk copy %s shared memory at 0x%x, which warp %d lane %d wrote: no fence.proxy.async lies between",
				verb, 4*k, x.warp, x.lane)
			return
		}
	}
}

// fence makes all that warp w knows of visible to bulk copies of those that learn
// of it, and starts a new time for w.
func (c *sharedCheck) fence(w int) {
	row := c.clock[w]
	for v, k := range row[:c.warps] {
		row[c.warps+v] = max(row[c.warps+v], k)
	}
	row[w]++
}

// execFence executes fences between proxies; others have no effect that could be
// seen here.
func execFence(w *warp, s *step) {
	if s.in.Imm == FenceProxy && w.cta.sharedChk != nil {
		w.cta.sharedChk.fence(w.id)
	}
}
