package simt

import "math/bits"

// A block that writes tensor maps to global memory, by tensormap.cp_fenceproxy, has to
// acquire each before it copies through it, and may overwrite one when the copies through
// it have been waited for. Of maps that were not written so nothing is known.

// moment is a time of a warp's own clock.
type moment struct {
	warp int
	at   uint32
}

// writtenMap is a tensor map that a warp of the block wrote.
type writtenMap struct {
	wrote    moment
	acquired []moment // by fences that came after
	uses     []*mapUse
}

// mapUse is the latest of the copies through a map that are waited for in order: those
// whose bytes one mbarrier counts, or the stores of one thread.
type mapUse struct {
	barrier *mbarClock
	parity  uint64 // of the barrier's phase
	warp    int    // of the thread, where barrier is nil
	lane    int
	ended   []moment // when warps knew that it had read the map
}

// knows reports whether warp w knows of moment m.
func (c *sharedCheck) knows(w int, m moment) bool { return m.at <= c.clock[w][m.warp] }

func (c *sharedCheck) knowsOne(w int, ms []moment) bool {
	for _, m := range ms {
		if c.knows(w, m) {
			return true
		}
	}
	return false
}

// now adds the time of warp w, once.
func (c *sharedCheck) now(ms []moment, w int) []moment {
	for i := range ms {
		if ms[i].warp == w {
			return ms
		}
	}
	return append(ms, moment{w, c.clock[w][w]})
}

// wroteMap notes that w wrote the map at an address, and finds copies that may still
// read the one before.
func (w *warp) wroteMap(lane int, addr uint64) {
	c := w.cta.sharedChk
	if c == nil {
		return
	}
	if old := w.cta.maps[addr]; old != nil {
		for _, u := range old.uses {
			if !c.knowsOne(w.id, u.ended) {
				w.note(FindAsync, lane, addr, "overwrites the tensor map at 0x%x, through which a bulk copy that was not waited for still copies", addr)
				break
			}
		}
	}
	if w.cta.maps == nil {
		w.cta.maps = map[uint64]*writtenMap{}
	}
	w.cta.maps[addr] = &writtenMap{wrote: moment{w.id, c.clock[w.id][w.id]}}
}

// execMapFence acquires the tensor map at A + Imm2 for the copies of those that learn of
// it.
func execMapFence(w *warp, s *step) {
	c := w.cta.sharedChk
	if c == nil {
		return
	}
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		if t := w.cta.maps[w.addressAt(s.in.A, s.in.Imm2, l)]; t != nil && c.knows(w.id, t.wrote) {
			t.acquired = c.now(t.acquired, w.id)
		}
	}
}

// copiesThrough notes a copy through the map at an address: a load whose bytes barrier
// counts, or, where that is nil, a store.
func (w *warp) copiesThrough(lane int, addr uint64, barrier *mbarClock, parity uint64) {
	c := w.cta.sharedChk
	t := w.cta.maps[addr]
	if c == nil || t == nil {
		return
	}
	if !c.knowsOne(w.id, t.acquired) {
		w.note(FindAsync, lane, addr, "a bulk copy reads the tensor map at 0x%x, which warp %d wrote: no fence.proxy.tensormap::generic.acquire lies between", addr, t.wrote.warp)
	}
	var use *mapUse
	for _, u := range t.uses {
		if u.barrier == barrier && (barrier != nil || u.warp == w.id && u.lane == lane) {
			use = u
			break
		}
	}
	if use == nil {
		use = &mapUse{barrier: barrier, warp: w.id, lane: lane}
		t.uses = append(t.uses, use)
		if barrier != nil {
			barrier.maps = append(barrier.maps, use)
		}
	}
	use.parity, use.ended = parity, use.ended[:0]
	if barrier == nil {
		w.bulkReads.open.maps = append(w.bulkReads.open.maps, use)
	}
}

// endUses notes that w saw the end of the phase of that parity of an mbarrier.
func (w *warp) endUses(k *mbarClock, parity uint64) {
	for _, u := range k.maps {
		if u.parity == parity {
			u.ended = w.cta.sharedChk.now(u.ended, w.id)
		}
	}
}
