package simt

import (
	"math/bits"
	"sync/atomic"
)

// Conflicts between blocks: every 4-byte word of a buffer remembers the block
// that accessed it last in this launch, and whether anyone wrote. Words are
// coarse: of accesses to parts of words, such as bytes, those count that lanes side by
// side make to whole ones.
//
// Accesses are ordered where a block acquired what the other released, itself or by
// way of others: locks and flags in one word, by atomics of one lane. A block that
// goes on with the memory after its release is not found out.
//
// An owner word is block+1 in the low bits; ownerWrote marks a write, ownerMany
// reads of several blocks. The blocks of a cluster count as the first of them; what they
// do to one another is in clusterconflict.go.
const (
	ownerWrote = 1 << 31
	ownerMany  = 1 << 30
	ownerBlock = ownerMany - 1
)

// startConflicts forgets the owners of former launches.
func (m *Memory) startConflicts() {
	for _, b := range m.buffers {
		if b.freed {
			continue
		}
		if b.owner == nil {
			b.owner = make([]uint32, (len(b.Data)+3)/4)
		}
		clear(b.owner)
	}
}

// conflict records an access and reports one that meets another block's.
func (w *warp) conflict(v *view, size int, write bool) {
	if v.dense {
		w.conflictRun(v, w.offs[0], size*w.n, 0, size, write)
		return
	}
	if size < 4 {
		return
	}
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		w.conflictRun(v, w.offs[l], size, l, size, write)
	}
}

// conflictRun is conflict for the whole words among the n bytes at off, of which lane
// accesses the first size, the next lane those after them, and so on.
func (w *warp) conflictRun(v *view, off, n, lane, size int, write bool) {
	me := uint32(w.cta.first+1) & ownerBlock
	first, end := (off+3)>>2, (off+n)>>2
	if first >= end {
		return
	}
	words := v.buf.owner[first:end]
	for i := range words {
		// What this block accessed so before, or many read, stays as it is.
		old := atomic.LoadUint32(&words[i])
		same := old == me|ownerWrote
		if !write {
			same = old&^ownerWrote == me || old&(ownerWrote|ownerMany) == ownerMany
		}
		if !same {
			w.own(v, first+i, lane+(4*(first+i)-off)/size, me, write)
		}
	}
	if g := w.cta.cluster.global; g != nil {
		g.access(w, v.buf, first, end, off, lane, size, write)
	}
}

// own is conflict for one word.
func (w *warp) own(v *view, i, lane int, me uint32, write bool) {
	p := &v.buf.owner[i]
	for {
		old := atomic.LoadUint32(p)
		now := me | old&ownerWrote
		if write {
			now = me | ownerWrote
		}
		other := old != 0 && old&ownerBlock != me
		if other && old&ownerMany == 0 && w.cta.known.has(int(old&ownerBlock)-1) {
			other = false
			if !write && old&ownerWrote != 0 {
				now = old // others who know the writer may read, too
			}
		}
		if other && !write {
			now |= ownerMany
		}
		if old != now && !atomic.CompareAndSwapUint32(p, old, now) {
			continue
		}
		if other && (write || old&ownerWrote != 0) || write && old&ownerMany != 0 {
			w.note(FindConflict, lane, v.base+uint64(i*4),
				"byte %d of buffer %s is also accessed by block number %d: their order is not defined",
				i*4, v.buf.Name, old&ownerBlock-1)
		}
		return
	}
}

// blockSet is a set of blocks, a bit for each.
type blockSet []uint64

func (s blockSet) has(block int) bool {
	return block>>6 < len(s) && s[block>>6]>>(block&63)&1 != 0
}

// with returns s with the blocks of others and one more, or none where that is
// negative, in s's own memory where it is large enough.
func (s blockSet) with(others blockSet, block int) blockSet {
	n := max(len(others), (block+64)>>6)
	for len(s) < n {
		s = append(s, 0)
	}
	for i, x := range others {
		s[i] |= x
	}
	if block >= 0 {
		s[block>>6] |= 1 << (block & 63)
	}
	return s
}

// synchronizes reports whether an atomic orders what blocks do around it: those of
// many lanes hardly mean to, and would cost a set for each of their words.
func (w *warp) synchronizes(s *step, v *view, size int) bool {
	return s.in.Flags&(FlagAcquire|FlagRelease) != 0 && v.buf != nil && v.mask&(v.mask-1) == 0 && size <= 8 &&
		w.cta.run.cfg.Check.Conflicts
}

// synchronize does an atomic of one lane and hands on what its block knows. Blocks
// of a program with atomics take turns, so that the launch's map needs no lock.
func (w *warp) synchronize(s *step, v *view, size int, do func(lane int)) {
	c := w.cta
	lane := bits.TrailingZeros64(v.mask)
	at, p := v.base+uint64(w.offs[lane]), v.data[w.offs[lane]:]
	old := loadBytes(p, 8*size)
	do(lane)
	v.buf.wrote(w.offs[lane], size)
	// A cas that finds another value releases nothing.
	acquires := s.in.Flags&FlagAcquire != 0
	releases := s.in.Flags&FlagRelease != 0 && (s.in.Atomic != AtomCas || loadBytes(p, 8*size) != old)
	if g := c.cluster.global; g != nil {
		g.synchronize(c, at, acquires, releases)
	}
	if acquires {
		c.known = c.known.with(c.run.released[at], -1)
	}
	if releases {
		if c.run.released == nil {
			c.run.released = make(map[uint64]blockSet)
		}
		c.run.released[at] = c.run.released[at].with(c.known, c.first)
	}
}
