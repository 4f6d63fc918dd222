package simt

import (
	"math/bits"
	"slices"
)

const (
	sectorShift = 5 // bytes of a sector of the global memory's cache
	numBanks    = 32
	bankBytes   = 4
)

// An accessKind is who accesses memory. Units of the hardware other than that of
// loads and stores count for themselves.
type accessKind uint8

const (
	accessRead  accessKind = iota // loads, and reads of cp.async
	accessWrite                   // stores
	accessCopy                    // writes of cp.async
	accessAtomic
	accessBulkRead // bulk copies
	accessBulkWrite
	numAccesses
)

// direction is 0 for what reads alone, 1 for what writes.
func (k accessKind) direction() int {
	if k == accessRead || k == accessBulkRead {
		return 0
	}
	return 1
}

// countAccess adds an access of size bytes a lane to the counters.
func (w *warp) countAccess(v *view, size int, kind accessKind) {
	st := &w.cta.stats
	lanes := bits.OnesCount64(v.mask)
	st.bytes[v.space][kind.direction()] += uint64(lanes * size)
	switch v.space {
	case SpaceGlobal:
		asked, need := w.sectors(v, size)
		st.sectors[kind] += asked
		st.sectorsNeed += need
		if w.cta.wave != nil {
			w.touch(v, size)
		}
	case SpaceShared:
		n, need := w.wavefronts(v, size)
		st.wavefronts[kind] += n
		st.wavesNeed += need
	}
}

func (w *warp) countAtomic(v *view, size int) {
	w.cta.stats.atomics += uint64(bits.OnesCount64(v.mask))
	w.countAccess(v, size, accessAtomic)
}

// sectors counts the distinct sectors that the lanes touch, and as many as their
// distinct bytes would fill.
func (w *warp) sectors(v *view, size int) (asked, need uint64) {
	if v.dense {
		from, n := w.offs[0], size*w.n
		return uint64((from+n-1)>>sectorShift - from>>sectorShift + 1), uint64(n+1<<sectorShift-1) >> sectorShift
	}
	var list [MaxLanes]int
	n := 0
	sorted := true
	prev := -1
	for m := v.mask; m != 0; m &= m - 1 {
		off := w.offs[bits.TrailingZeros64(m)]
		if off < prev {
			sorted = false
		}
		prev = off
		list[n] = off
		n++
	}
	if !sorted {
		slices.Sort(list[:n])
	}
	last, end, bytes := -1, -1, 0
	for _, off := range list[:n] {
		first, lastOf := off>>sectorShift, (off+size-1)>>sectorShift
		if first <= last {
			first = last + 1
		}
		if lastOf >= first {
			asked += uint64(lastOf - first + 1)
			last = lastOf
		}
		if from := max(off, end); off+size > from {
			bytes += off + size - from
			end = off + size
		}
	}
	return asked, uint64(bytes+1<<sectorShift-1) >> sectorShift
}

// wavefronts counts the passes that the banks of shared memory need. Accesses of
// 8 bytes go by half warps, of 16 by quarters; lanes that read one word share it.
func (w *warp) wavefronts(v *view, size int) (n, need uint64) {
	parts := max(size/bankBytes, 1)
	group := max(w.n/parts, 1)
	words := (size + bankBytes - 1) / bankBytes
	if v.dense && w.n <= numBanks {
		// A group covers no bank twice.
		n = uint64(w.n / group)
		return n, n
	}
	for lo := 0; lo < w.n; lo += group {
		m := v.mask >> lo & (1<<group - 1)
		if m == 0 {
			continue
		}
		n += w.bankPasses(m, lo, words)
		need++
	}
	return n, need
}

// bankPasses is the greatest number of distinct words in one bank. Accesses are
// aligned to their size, so units of words take the place of words and groups of
// banks that of banks.
func (w *warp) bankPasses(m uint64, lo, words int) uint64 {
	size, groups := bankBytes*words, numBanks/words
	shift := uint(bits.TrailingZeros64(uint64(size)))
	// The common case first: no group has two units.
	var first [numBanks]int
	var used uint32
	clash := false
	prev := -1
	for r := m; r != 0; r &= r - 1 {
		unit := w.offs[lo+bits.TrailingZeros64(r)] >> shift
		if unit == prev {
			continue
		}
		prev = unit
		g := unit & (groups - 1)
		if used>>g&1 == 0 {
			used |= 1 << g
			first[g] = unit
		} else if first[g] != unit {
			clash = true
		}
	}
	if !clash {
		return 1
	}
	var list [MaxLanes]int
	n := 0
	for r := m; r != 0; r &= r - 1 {
		list[n] = w.offs[lo+bits.TrailingZeros64(r)] >> shift
		n++
	}
	slices.Sort(list[:n])
	var count [numBanks]uint8
	passes := uint8(0)
	prev = -1
	for _, unit := range list[:n] {
		if unit == prev {
			continue
		}
		prev = unit
		g := unit & (groups - 1)
		count[g]++
		passes = max(passes, count[g])
	}
	return uint64(passes)
}
