package simt

import (
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// cluster is a set of blocks that run together and may access one another's shared
// memory. Every launch has them; mostly of one block each.
type cluster struct {
	run    *launch
	number int // among the clusters that are executed, in the order in which they start
	ctas   []*cta
	live   []*cta // that have not ended
	found  *findings
	// arrived is how many live lanes are at the cluster's barrier, of which some may be
	// relaxed, and phase how often it opened. ordered is phase as of the latest opening
	// at which all released what they wrote.
	arrived        int
	relaxed        bool
	phase, ordered uint32
	waits          bool // some warp polls, see cta.waits
	// still is how many rounds all warps of all blocks have waited without a change.
	still int
	// global finds conflicts between the blocks in global memory; nil where there is one
	// block, or nobody looks for them.
	global *globalCheck
}

// An address in the shared memory of the block with some rank is that in one's own
// plus rank + 1 of these.
const (
	clusterShift = 24
	clusterMask  = 1<<clusterShift - 1
)

// newCluster makes the state for clusters of the launch.
func newCluster(r *launch) *cluster {
	cl := &cluster{run: r, found: &findings{}}
	if r.prog.Ordered {
		cl.found = r.found // all run on one core
	}
	if r.clusterSize > 1 && r.cfg.Check.Conflicts {
		cl.global = &globalCheck{pages: make(map[uint64]*globalPage), released: make(map[uint64]uint32)}
	}
	for rank := range r.clusterSize {
		c := newCTA(r)
		c.cluster, c.rank = cl, rank
		if c.sharedChk != nil && r.clusterSize > 1 {
			c.sharedChk.remote = newRemoteCheck(len(c.warps))
		}
		cl.ctas = append(cl.ctas, c)
	}
	return cl
}

// start prepares the state for the k-th cluster that is executed to run.
func (cl *cluster) start(k int) {
	cl.number = k
	cl.arrived, cl.relaxed, cl.phase, cl.ordered, cl.still = 0, false, 0, 0, 0
	cl.live = append(cl.live[:0], cl.ctas...)
	if cl.global != nil {
		cl.global.reset()
	}
	for _, c := range cl.ctas {
		c.start(cl.run.chosen(k))
	}
}

// advance runs every block once. It returns false when all are finished or one has
// stopped.
func (cl *cluster) advance(quantum int) bool {
	r := cl.run
	kept, stuck := cl.live[:0], 0
	blocks, changes, waited := len(cl.live), cl.changes(), true
	for _, c := range cl.live {
		if !c.advance(quantum) {
			r.finished(c)
			continue
		}
		if c.stuck {
			stuck++
		}
		cl.waits = cl.waits || c.waits
		c.waits = false
		waited = waited && c.waited
		kept = append(kept, c)
	}
	cl.live = kept
	if cl.still++; !waited || len(kept) < blocks || cl.changes() != changes {
		cl.still = 0
	}
	if len(kept) > 0 && (stuck == len(kept) || cl.still > mostStill) && !cl.stopped() {
		kept[0].deadlock()
		r.finished(kept[0])
		cl.live = nil
	}
	return len(cl.live) > 0
}

// stopped reports whether the cluster has to end: the launch does, or a block of the
// cluster or of one before it cannot go on.
func (cl *cluster) stopped() bool {
	r := cl.run
	return r.stopped() || int64(cl.number) >= r.first.Load()
}

// changes counts what waits of any of the blocks may see.
func (cl *cluster) changes() uint64 {
	n := uint64(0)
	for _, c := range cl.ctas {
		n += c.changes
	}
	return n
}

// place puts the block with rank of the k-th cluster into the grid.
func (r *launch) place(c *cta, k int) {
	n := k
	if r.order != nil {
		n = r.order[k]
	}
	rank, at := c.rank, [3]int{}
	for i := range 3 {
		clusters := r.grid[i] / r.cluster[i]
		at[i] = n % clusters * r.cluster[i]
		c.clusterAt[i] = n % clusters
		c.inCluster[i] = rank % r.cluster[i]
		c.block[i] = at[i] + c.inCluster[i]
		n /= clusters
		rank /= r.cluster[i]
	}
	number := func(at [3]int) int { return at[0] + r.grid[0]*(at[1]+r.grid[1]*at[2]) }
	c.index, c.first = number(c.block), number(at)
}

// Forms of OpClusterBar.
const (
	ClusterArrive = iota
	ClusterArriveRelaxed
	ClusterWait
)

// clusterBarrier executes barrier.cluster instructions.
func (w *warp) clusterBarrier(s *step, g *group, m uint64) (int, bool) {
	if m == 0 {
		return g.pc + 1, true
	}
	if s.in.Flags&FlagAligned != 0 {
		if m != g.mask {
			w.guarded(s, g, m)
			return 0, false
		}
		if m != w.live {
			w.wait(g, m, w.full)
			return 0, false
		}
	}
	if m != g.mask {
		w.hold(m, g.pc+1)
	}
	w.meetCluster(s, []int{w.cur})
	return 0, false
}

// meetCluster lets the groups with the indices gs, which are at one barrier.cluster
// instruction, arrive or wait together.
func (w *warp) meetCluster(s *step, gs []int) {
	cl := w.cta.cluster
	var m uint64
	for _, k := range gs {
		m |= w.groups[k].mask
	}
	lane := bits.TrailingZeros64(m)
	w.moved = true
	if s.in.Imm != ClusterWait {
		if w.atCluster&m != 0 {
			w.faultAt(FindBarrier, lane, 0, "arrives at the barrier of the cluster for the second time without having waited for it")
			return
		}
		w.atCluster |= m
		w.clusterPhase = cl.phase
		w.cta.stats.barriers++
		if c := w.cta.sharedChk; c != nil && c.remote != nil && s.in.Imm == ClusterArrive {
			c.join(c.remote.gather, w.id)
		}
		for _, k := range gs {
			w.groups[k].pc++
		}
		cl.arrived += bits.OnesCount64(m)
		cl.relaxed = cl.relaxed || s.in.Imm == ClusterArriveRelaxed
		cl.settle()
		return
	}
	if w.atCluster&m != m {
		w.faultAt(FindBarrier, lane, 0, "waits for the barrier of the cluster without having arrived there")
		return
	}
	for _, k := range gs {
		if g := &w.groups[k]; w.clusterPhase != cl.phase {
			w.leaveCluster(g)
		} else {
			g.state = groupCluster
		}
	}
}

// leaveCluster lets a group go on after the barrier of the cluster.
func (w *warp) leaveCluster(g *group) {
	w.atCluster &^= g.mask
	if c := w.cta.sharedChk; c != nil && c.remote != nil {
		c.learn(w.id, c.remote.opened)
	}
	g.state = groupReady
	g.pc++
	w.moved = true
}

// settle opens the barrier if all live lanes of the cluster have arrived.
func (cl *cluster) settle() {
	live := 0
	for _, c := range cl.ctas {
		live += c.liveLanes
	}
	if cl.arrived == 0 || cl.arrived < live {
		return
	}
	cl.arrived = 0
	cl.phase++
	if !cl.relaxed {
		cl.ordered = cl.phase
	}
	cl.relaxed = false
	var known blockSet // what one block acquired from others of the grid all know then
	for _, c := range cl.ctas {
		known = known.with(c.known, -1)
	}
	for _, c := range cl.ctas {
		c.known = append(c.known[:0], known...)
	}
	for _, c := range cl.ctas {
		if c.sharedChk != nil && c.sharedChk.remote != nil {
			c.sharedChk.openCluster()
		}
		for _, w := range c.warps {
			for k := range w.groups {
				if g := &w.groups[k]; g.state == groupCluster {
					w.leaveCluster(g)
				}
			}
			w.merge()
		}
	}
}

// exitCluster takes lanes that end out of the cluster's barrier.
func (w *warp) exitCluster(m uint64) {
	cl := w.cta.cluster
	if gone := w.atCluster & m; gone != 0 && w.clusterPhase == cl.phase {
		cl.arrived -= bits.OnesCount64(gone)
	}
	w.atCluster &^= m
	cl.settle()
}

// accessCluster is for addresses of shared memory that may be another block's; base is
// the generic address of the beginning of one's own where the addresses are generic.
func (w *warp) accessCluster(s *step, mask, base uint64, size, align int, f func(v *view)) {
	cl := w.cta.cluster
	for mask != 0 && w.cta.fault == nil {
		first := bits.TrailingZeros64(mask)
		window := (w.words[first] - base) >> clusterShift
		var same uint64
		for m := mask; m != 0; m &= m - 1 {
			if l := bits.TrailingZeros64(m); (w.words[l]-base)>>clusterShift == window {
				same |= 1 << l
			}
		}
		mask &^= same
		to := w.cta
		if window != 0 {
			if window > uint64(len(cl.ctas)) {
				w.faultAt(FindBounds, first, w.words[first], "shared address 0x%x is of no block of the cluster, which has %s", w.words[first], diag.Count(len(cl.ctas), "block"))
				return
			}
			to = cl.ctas[window-1]
		}
		if to == w.cta {
			for m := same; m != 0; m &= m - 1 {
				l := bits.TrailingZeros64(m)
				w.words[l] -= window << clusterShift
			}
			w.accessFlat(s, SpaceShared, same, base, size, align, f)
			continue
		}
		if to.liveLanes == 0 {
			w.faultAt(FindBounds, first, w.words[first], "accesses shared memory of block %d of the cluster, whose threads have all ended: no cluster barrier keeps it", to.rank)
			return
		}
		for m := same; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			off := w.words[l] - base - window<<clusterShift
			if off+uint64(size) > uint64(len(to.shared)) {
				w.outOfBounds(s, l, SpaceShared, size)
				return
			}
			if off&uint64(align-1) != 0 {
				w.misaligned(s, l, SpaceShared, align)
				return
			}
			w.offs[l] = int(off)
		}
		w.view = view{SpaceShared, to.shared, nil, base, same, false, to}
		f(&w.view)
	}
}

// remoteCheck finds data races between the blocks of a cluster. Between two openings of
// the cluster's barrier others may read what was written before the first, and what
// they read must not be written, nor what they write be accessed, before the second.
type remoteCheck struct {
	gather, opened []uint32 // of the barrier, as sharedCheck's
	// snapshot is the clock of each warp when it arrived at the latest opening.
	snapshot []uint32
	// readers and writers are the words that others read and wrote since, with the
	// ranks of their blocks.
	readers, writers map[int]int
}

func newRemoteCheck(warps int) *remoteCheck {
	return &remoteCheck{
		gather: make([]uint32, 2*warps), opened: make([]uint32, 2*warps), snapshot: make([]uint32, warps),
		readers: make(map[int]int), writers: make(map[int]int),
	}
}

func (r *remoteCheck) reset() {
	clear(r.gather)
	clear(r.opened)
	clear(r.snapshot)
	clear(r.readers)
	clear(r.writers)
}

// openCluster starts a new time between openings.
func (c *sharedCheck) openCluster() {
	r := c.remote
	r.gather, r.opened = r.opened, r.gather
	clear(r.gather)
	copy(r.snapshot, r.opened)
	for k := range r.readers {
		c.words[k].engine &^= engineRemote
	}
	for k := range r.writers {
		c.words[k].engine &^= engineRemote
		c.words[k].clock = 0
	}
	clear(r.readers)
	clear(r.writers)
}

// remoteAccess checks an access to another block's shared memory.
func (w *warp) remoteAccess(v *view, size int, write bool) {
	c := v.cta.sharedChk
	if c == nil {
		return
	}
	r := c.remote
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		at := w.offs[l]
		for i := at &^ 3; i < at+size; i += 4 {
			k, b := i>>2, byteMask(i, at, size)
			word := &c.words[k]
			if other, ok := r.writers[k]; ok && other != w.cta.rank {
				w.note(FindRace, l, uint64(i), "accesses shared memory of block %d of the cluster at 0x%x, which block %d writes: no cluster barrier lies between", v.cta.rank, i, other)
			} else if word.clock > r.snapshot[word.warp] && !ok && word.bytes&b != 0 {
				w.note(FindRace, l, uint64(i), "accesses shared memory of block %d of the cluster at 0x%x while warp %d there writes it: no cluster barrier lies between",
					v.cta.rank, i, word.warp)
			}
			if !write {
				if b&^word.known != 0 {
					w.note(FindUndefined, l, uint64(i), "reads shared memory of block %d of the cluster at 0x%x, which was never written", v.cta.rank, i)
				}
				r.readers[k] = w.cta.rank
				word.engine |= engineRemote
				continue
			}
			if other, ok := r.readers[k]; ok && other != w.cta.rank {
				w.note(FindRace, l, uint64(i), "writes shared memory of block %d of the cluster at 0x%x, which block %d reads: no cluster barrier lies between", v.cta.rank, i, other)
			}
			for warp, read := range c.reads[k*c.warps:][:c.warps] {
				if read>>4 > r.snapshot[warp] && read&uint32(b) != 0 {
					w.note(FindRace, l, uint64(i), "writes shared memory of block %d of the cluster at 0x%x while warp %d there reads it: no cluster barrier lies between",
						v.cta.rank, i, warp)
				}
			}
			r.writers[k] = w.cta.rank
			word.known |= b
			word.engine |= engineRemote
		}
	}
}

// touchedByOthers reports an access to a word of one's own shared memory that another
// block of the cluster accesses, too.
func (c *sharedCheck) touchedByOthers(w *warp, k, lane int, write bool) {
	if rank, ok := c.remote.writers[k]; ok {
		w.note(FindRace, lane, uint64(4*k), "accesses shared memory at 0x%x, which block %d of the cluster writes: no cluster barrier lies between", 4*k, rank)
	} else if rank, ok := c.remote.readers[k]; ok && write {
		w.note(FindRace, lane, uint64(4*k), "writes shared memory at 0x%x, which block %d of the cluster reads: no cluster barrier lies between", 4*k, rank)
	}
}

// execMapa gives the address that the block of rank B has for what A is in one's own.
func execMapa(w *warp, s *step) {
	rank := w.u32(s.b)
	size := uint32(w.cta.run.clusterSize)
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		if rank[l] >= size {
			w.faultAt(FindBounds, l, 0, "block %d of a cluster that has %s", rank[l], diag.Count(int(size), "block"))
			return
		}
	}
	if s.out == Class64 {
		a, d := w.u64(s.a), w.d64(s)
		for i := range d {
			d[i] = a[i]&^(windowMask&^clusterMask) + uint64(rank[i]+1)<<clusterShift
		}
		return
	}
	a, d := w.u32(s.a), w.d32(s)
	for i := range d {
		d[i] = a[i]&clusterMask + (rank[i]+1)<<clusterShift
	}
}

// execCtaRank gives the rank of the block whose shared memory the address A is in.
func execCtaRank(w *warp, s *step) {
	rank := func(a uint64) uint32 {
		if n := a & windowMask >> clusterShift; n > 0 {
			return uint32(n - 1)
		}
		return uint32(w.cta.rank)
	}
	d := w.d32(s)
	if s.in.A.Class() == Class64 {
		for i, a := range w.u64(s.a) {
			d[i] = rank(a)
		}
		return
	}
	for i, a := range w.u32(s.a) {
		d[i] = rank(uint64(a))
	}
}
