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
	accessRows                    // ldmatrix
	accessWrite                   // stores
	accessCopy                    // writes of cp.async
	accessAtomic
	accessCas // compare and swap
	accessBulkRead
	accessBulkWrite
	numAccesses
)

// direction is 0 for what reads alone, 1 for what writes.
func (k accessKind) direction() int {
	switch k {
	case accessRead, accessRows, accessBulkRead:
		return 0
	}
	return 1
}

// countAccess adds an access of size bytes per lane to the counters.
func (w *warp) countAccess(v *view, size int, kind accessKind) {
	st, cost := &w.cta.stats, &w.cta.costs[w.pc]
	lanes := bits.OnesCount64(v.mask)
	st.bytes[v.space][kind.direction()] += uint64(lanes * size)
	switch v.space {
	case SpaceGlobal:
		asked, need := w.sectors(v, size)
		if kind == accessAtomic || kind == accessCas {
			asked = w.atomicSectors(v.mask)
		}
		st.sectors[kind] += asked
		st.sectorsNeed += need
		cost.sectors += asked
		cost.sectorsNeed += need
		if w.cta.wave != nil {
			w.touch(v, size)
		}
		if w.clock != nil {
			st.touch(v.buf, kind.direction(), asked<<sectorShift)
		}
	case SpaceShared:
		n, need := w.wavefronts(v, size, kind)
		st.wavefronts[kind] += n
		st.wavesNeed += need
		cost.wavefronts += n
		cost.wavesNeed += need
	}
}

func (w *warp) countAtomic(s *step, v *view, size int) {
	w.cta.stats.atomics += uint64(bits.OnesCount64(v.mask))
	kind := accessAtomic
	if s.in.Atomic == AtomCas {
		kind = accessCas
	}
	w.countAccess(v, size, kind)
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

// atomicSectors counts the sectors of an atomic: lanes that share a place act one
// after the other, and a sector is asked for once for the lanes of its most wanted
// place. No access crosses a sector.
func (w *warp) atomicSectors(m uint64) (asked uint64) {
	var list [MaxLanes]int
	n := 0
	for ; m != 0; m &= m - 1 {
		list[n] = w.offs[bits.TrailingZeros64(m)]
		n++
	}
	slices.Sort(list[:n])
	most, run := uint64(0), uint64(0) // of a place in the sector
	for i, off := range list[:n] {
		run++
		if i == 0 || off != list[i-1] {
			run = 1
		}
		if i > 0 && off>>sectorShift != list[i-1]>>sectorShift {
			asked += most
			most = 0
		}
		most = max(most, run)
	}
	return asked + most
}

// wavefronts counts the passes that the banks of shared memory need, and as many
// without conflicts, as an H200 was seen to do:
//
// Lanes that read or store one word share a pass. Accesses of 8 bytes go by half
// warps, of 16 by quarters; but loads go by twice as many lanes where every lane's
// neighbour, or else every lane's next but one, has the same address. Atomics and
// asynchronous copies share no pass, and compare and swap takes each twice.
func (w *warp) wavefronts(v *view, size int, kind accessKind) (n, need uint64) {
	parts := max(size/bankBytes, 1)
	words := (size + bankBytes - 1) / bankBytes
	if v.dense && w.n <= numBanks {
		n = uint64(min(parts, w.n)) // no group of lanes covers a bank twice
		need = n
	} else {
		if parts > 1 && kind == accessRead && (w.paired(v.mask, 1) || w.paired(v.mask, 2)) {
			parts /= 2
		}
		group := max(min(w.n, numBanks)/parts, 1)
		for lo := 0; lo < w.n; lo += group {
			m := v.mask >> lo & (1<<group - 1)
			if m == 0 {
				continue
			}
			need++
			switch kind {
			case accessCopy, accessAtomic, accessCas:
				n += w.lanePasses(m, lo, words)
			default:
				n += w.bankPasses(m, lo, words)
			}
		}
	}
	if kind == accessCas {
		n, need = 2*n, 2*need
	}
	return n, need
}

// paired reports whether each lane l of m has the address of lane l^d, or that one
// is not among them.
func (w *warp) paired(m uint64, d int) bool {
	for r := m; r != 0; r &= r - 1 {
		l := bits.TrailingZeros64(r)
		if m>>(l^d)&1 != 0 && w.offs[l^d] != w.offs[l] {
			return false
		}
	}
	return true
}

// lanePasses is the greatest number of lanes in one bank.
func (w *warp) lanePasses(m uint64, lo, words int) uint64 {
	shift, groups := bits.TrailingZeros64(uint64(bankBytes*words)), numBanks/words
	var count [numBanks]uint8
	passes := uint8(0)
	for ; m != 0; m &= m - 1 {
		g := w.offs[lo+bits.TrailingZeros64(m)] >> shift & (groups - 1)
		count[g]++
		passes = max(passes, count[g])
	}
	return uint64(passes)
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
