package simt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// globalCheck finds conflicts between the blocks of a cluster in global memory: two of
// them access one word, one writes, and neither a barrier of the cluster nor an atomic
// that acquires what another released lies between.
//
// A layout may have several blocks hold a value. As in shared memory, a store that
// changes nothing therefore conflicts with nothing. Where they all load it, and the one
// whose it is then stores another, what the others load is undefined, which matters where it
// is used.
//
// Each word has the time of its latest reads and writes, in openings of the cluster's
// barrier, and the ranks that made them. Only words that the running cluster accessed
// have a page.
type globalCheck struct {
	pages map[uint64]*globalPage // by address, in pages
	free  []*globalPage
	last  *globalPage // the page with address lastAt
	// lastAt and at are addresses in pages.
	lastAt uint64
	// pending are conflicts of the store in hand, until it is known whether it changes
	// what is there.
	pending []pendingConflict
	// lost are the lanes of the load in hand that may load what another block stores. The
	// last load with any loaded a word of a buffer at pc, which a block of some rank writes.
	lost uint64
	late struct {
		buf            *Buffer
		word, pc, rank int
	}
	// released are, by address, the ranks of blocks whose atomics released something
	// there, and of those that they had acquired from.
	released map[uint64]uint32
}

// globalPage is the state of globalWords words.
type globalPage [globalWords]globalWord

const (
	globalShift = 10 // of bytes
	globalWords = 1 << (globalShift - 2)
)

// globalWord is who accessed a word. loads is the instruction that made the latest reads,
// counted from 1, or 0 for several; before is what loads was when the latest writer wrote,
// if it was one of the readers.
type globalWord struct {
	reads, writes globalAccess
	loads, before uint32
}

// globalAccess is the ranks that made the latest accesses of a kind, and how many times
// they had arrived at the cluster's barrier.
type globalAccess struct {
	arrivals uint32
	ranks    uint32
}

// pendingConflict is a conflict that counts if the word changes.
type pendingConflict struct {
	lane, word int
	buf        *Buffer
	old        uint32
	rank       int
}

// reset prepares for another cluster.
func (g *globalCheck) reset() {
	for _, p := range g.pages {
		g.free = append(g.free, p)
	}
	clear(g.pages)
	clear(g.released)
	g.last, g.pending, g.late.buf = nil, g.pending[:0], nil
}

// page returns the page with an address in pages.
func (g *globalCheck) page(at uint64) *globalPage {
	if g.last != nil && g.lastAt == at {
		return g.last
	}
	p := g.pages[at]
	if p == nil {
		if n := len(g.free); n > 0 {
			p, g.free = g.free[n-1], g.free[:n-1]
			clear(p[:])
		} else {
			p = new(globalPage)
		}
		g.pages[at] = p
	}
	g.last, g.lastAt = p, at
	return p
}

// access records an access to the words [first, end) of a buffer and looks for
// conflicts; off, lane and size are conflictRun's.
func (g *globalCheck) access(w *warp, buf *Buffer, first, end, off, lane, size int, write bool) {
	arrived, waited := w.cta.cluster.phase, w.cta.cluster.ordered
	if w.atCluster != 0 { // arrived there, and has not waited
		arrived, waited = w.clusterPhase+1, min(waited, w.clusterPhase)
	}
	me := uint32(1) << w.cta.rank
	known := me | w.cta.met
	pc := uint32(w.pc) + 1
	for i := first; i < end; i++ {
		at := buf.addr + uint64(4*i)
		word := &g.page(at >> globalShift)[at>>2&(globalWords-1)]
		who := word.writes.unordered(waited, known)
		l := lane + (4*i-off)/size
		if write {
			late := word.reads.unordered(waited, known)
			word.before = 0
			if word.reads.arrivals >= waited && word.reads.ranks&me != 0 {
				word.before = word.loads
			}
			if who == 0 && word.before == 0 {
				who = late
			}
			if who != 0 {
				g.pending = append(g.pending, pendingConflict{l, i, buf, binary.LittleEndian.Uint32(buf.Data[4*i:]), bits.TrailingZeros32(who)})
			}
			word.writes.add(arrived, me)
			continue
		}
		switch {
		case who == 0:
		case word.before == pc && w.check != nil && w.cta.code[w.pc].in.Op == OpLd:
			g.lost |= 1 << l
			g.late.buf, g.late.word, g.late.pc, g.late.rank = buf, i, w.pc, bits.TrailingZeros32(who)
		default:
			w.noteInCluster(l, i, buf, bits.TrailingZeros32(who))
		}
		if word.reads.ranks == 0 || arrived > word.reads.arrivals {
			word.loads = pc
		} else if word.loads != pc {
			word.loads = 0
		}
		word.reads.add(arrived, me)
	}
}

// unordered is the ranks whose accesses are not before those of a block that waited for
// the barrier so often, and knows of some ranks.
func (a *globalAccess) unordered(waited, known uint32) uint32 {
	if a.arrivals < waited {
		return 0
	}
	return a.ranks &^ known
}

func (a *globalAccess) add(arrivals, rank uint32) {
	switch {
	case arrivals > a.arrivals:
		*a = globalAccess{arrivals, rank}
	case arrivals == a.arrivals:
		a.ranks |= rank
	}
}

// settle reports the pending conflicts of a store that changed memory.
func (g *globalCheck) settle(w *warp) {
	for _, p := range g.pending {
		if binary.LittleEndian.Uint32(p.buf.Data[4*p.word:]) != p.old {
			w.noteInCluster(p.lane, p.word, p.buf, p.rank)
		}
	}
	g.pending = g.pending[:0]
}

func (w *warp) noteInCluster(lane, word int, buf *Buffer, rank int) {
	w.note(FindConflict, lane, buf.addr+uint64(4*word),
		"byte %d of buffer %s is also accessed by block %d of the cluster: no cluster barrier lies between", 4*word, buf.Name, rank)
}

// lateLoad says of which load an undefined value may come, or nothing.
func (w *warp) lateLoad() string {
	g := w.cta.cluster.global
	if g == nil || g.late.buf == nil {
		return ""
	}
	return fmt.Sprintf("; byte %d of buffer %s, loaded%s, is written by block %d of the cluster: no cluster barrier lies between",
		4*g.late.word, g.late.buf.Name, strings.Replace(w.cta.source(g.late.pc), ":", " at", 1), g.late.rank)
}

// synchronize hands on what the blocks of the cluster know by an atomic at an address.
func (g *globalCheck) synchronize(c *cta, at uint64, acquires, releases bool) {
	if acquires {
		c.met |= g.released[at]
	}
	if releases {
		g.released[at] |= c.met | 1<<c.rank
	}
}
