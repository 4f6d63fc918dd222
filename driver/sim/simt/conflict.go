package simt

import (
	"math/bits"
	"sync/atomic"
)

// Conflicts between blocks: every 4-byte word of a buffer remembers the block
// that accessed it last in this launch, and whether anyone wrote. Words are
// coarse: blocks that write neighbouring bytes of one word are reported only
// when their accesses are of whole words.
//
// An owner word is block+1 in the low bits; ownerWrote marks a write, ownerMany
// reads of several blocks.
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
	if size < 4 {
		return
	}
	if v.dense {
		w.conflictRun(v, w.offs[0], size*w.n, 0, size, write)
		return
	}
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		w.conflictRun(v, w.offs[l], size, l, size, write)
	}
}

// conflictRun is conflict for the n bytes at off, of which lane accesses the first
// size, the next lane those after them, and so on.
func (w *warp) conflictRun(v *view, off, n, lane, size int, write bool) {
	me := uint32(w.cta.index+1) & ownerBlock
	words := v.buf.owner[off>>2 : (off+n)>>2]
	for i := range words {
		// What this block accessed so before, or many read, stays as it is.
		old := atomic.LoadUint32(&words[i])
		same := old == me|ownerWrote
		if !write {
			same = old&^ownerWrote == me || old&(ownerWrote|ownerMany) == ownerMany
		}
		if !same {
			w.own(v, off>>2+i, lane+4*i/size, me, write)
		}
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
