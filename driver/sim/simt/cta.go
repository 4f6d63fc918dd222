package simt

import (
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// numBarriers is how many barriers a CTA has.
const numBarriers = 16

// barrier is one hardware barrier of a CTA.
type barrier struct {
	lanes   int    // live lanes that arrived
	threads int    // arrived lanes counted in whole warps
	count   int    // threads expected; 0 for all of the CTA
	pred    int    // lanes whose predicate held
	votes   int    // lanes that voted
	at      uint64 // when the last of them arrived, by the clocks
}

// pcCount counts the executions of one instruction.
type pcCount struct{ warps, lanes uint64 }

// ctaStats are counters that no instruction count tells.
type ctaStats struct {
	divergent   uint64
	sectors     [numAccesses]uint64
	sectorsNeed uint64
	wavefronts  [numAccesses]uint64
	wavesNeed   uint64
	bytes       [7][2]uint64 // by space: read, written
	atomics     uint64
	barriers    uint64
	flops       uint64
	touched     []touched
}

// touched is a buffer of global memory with the bytes that were read and written.
type touched struct {
	buf   *Buffer
	bytes [2]uint64
}

// touch counts bytes of a buffer. A kernel has few of them, and mostly uses one several
// times in a row.
func (a *ctaStats) touch(buf *Buffer, direction int, n uint64) {
	last := len(a.touched) - 1
	for i := last; i >= 0; i-- {
		if t := &a.touched[i]; t.buf == buf {
			t.bytes[direction] += n
			a.touched[i], a.touched[last] = a.touched[last], a.touched[i]
			return
		}
	}
	t := touched{buf: buf}
	t.bytes[direction] = n
	a.touched = append(a.touched, t)
}

func (a *ctaStats) add(b *ctaStats) {
	a.divergent += b.divergent
	a.sectorsNeed += b.sectorsNeed
	a.wavesNeed += b.wavesNeed
	a.atomics += b.atomics
	a.barriers += b.barriers
	a.flops += b.flops
	for _, t := range b.touched {
		a.touch(t.buf, 0, t.bytes[0])
		a.touch(t.buf, 1, t.bytes[1])
	}
	for i := range a.sectors {
		a.sectors[i] += b.sectors[i]
		a.wavefronts[i] += b.wavefronts[i]
	}
	for i := range a.bytes {
		a.bytes[i][0] += b.bytes[i][0]
		a.bytes[i][1] += b.bytes[i][1]
	}
}

// cta is the state of one thread block. It is reused for block after block.
type cta struct {
	run       *launch
	prog      *Program
	code      []step
	count     []pcCount
	costs     []pcCost
	stats     ctaStats
	warps     []*warp
	shared    []byte
	sharedChk *sharedCheck // nil with checks off
	bars      [numBarriers]barrier
	mbars     map[int]*mbarClock     // of mbarrier objects, by address
	mbarTimes map[int]*mbarTime      // likewise, where clocks are kept
	maps      map[uint64]*writtenMap // tensor maps that the block wrote, by address
	// cluster is the block's, rank its number there, inCluster the same by axis,
	// clusterAt the cluster's place in the grid of clusters and first the number of its
	// first block.
	cluster              *cluster
	rank, first          int
	inCluster, clusterAt [3]int
	// stuck says that no warp could move in the block's last turn.
	stuck     bool
	block     [3]int
	index     int
	wave      *wave // nil where waves are not counted
	mma       *mmaState
	liveLanes int
	fault     *Finding
	// halt ends the running warp's turn: the block has a fault, or the warp polls.
	halt bool
	// polls counts the accesses of a turn that look for what others write; waits
	// says that some warp of the block had too many.
	polls int
	waits bool
	// changes counts what waits at mbarriers and for registers may see; waited says that
	// all warps did nothing but wait in the last round.
	changes uint64
	waited  bool
	// regSets are the numbers of registers that warpgroups were given, in order.
	regSets map[int][]int
	turns   uint64   // so far, for random schedules
	left    uint64   // instructions that the block may still execute
	known   blockSet // the blocks whose releases this one acquired
	met     uint32   // likewise, the ranks of those of its own cluster
}

// newCTA makes the state for blocks of the launch.
func newCTA(r *launch) *cta {
	c := &cta{run: r, prog: r.prog, code: r.code, count: make([]pcCount, len(r.code)), costs: make([]pcCost, len(r.code))}
	c.shared = make([]byte, r.sharedBytes)
	n := r.lanes
	warps := (r.threads + n - 1) / n
	for id := range warps {
		w := &warp{
			n: n, full: fullMask(n), cta: c, id: id, lane0: id * n,
			p:     make([]uint64, r.prog.NumP+1),
			r32:   make([]uint32, (r.prog.Num32+1)*n),
			r64:   make([]uint64, (r.prog.Num64+1)*n),
			t32:   make([]uint32, n),
			t64:   make([]uint64, n),
			offs:  make([]int, n),
			words: make([]uint64, n),
			local: make([]byte, n*r.prog.LocalBytes),
			frame: make([]byte, n*r.prog.FrameBytes),
		}
		if r.cfg.Check.Undefined {
			w.check = newWarpCheck(r.prog, n)
			w.dots = newDotState(r.prog)
		}
		if r.timing != nil {
			w.clock = newClock(r.prog)
		}
		if r.prog.Wavefront != nil {
			w.wavefront = newWavefront(w, r.prog.Wavefront)
		}
		w.fill(r.constants)
		c.warps = append(c.warps, w)
	}
	if r.cfg.Check.Shared {
		c.sharedChk = newSharedCheck(len(c.shared), warps)
	}
	return c
}

func fullMask(n int) uint64 {
	if n == 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// start prepares the state for the k-th block to run.
func (c *cta) start(k int) {
	r := c.run
	r.place(c, k)
	if r.waves != nil {
		c.wave = r.waves.of(k*r.clusterSize + c.rank)
	}
	c.bars = [numBarriers]barrier{}
	clear(c.mbars)
	clear(c.mbarTimes)
	clear(c.maps)
	clear(c.regSets)
	c.changes, c.waited = 0, false
	c.liveLanes = r.threads
	c.turns = 0
	if c.left = r.cfg.MaxInstructions; c.left == 0 {
		c.left = math.MaxUint64
	}
	c.known, c.met = nil, 0
	c.halt = false
	if c.sharedChk != nil {
		c.sharedChk.reset()
		for i := range c.shared {
			c.shared[i] = poison
		}
	}
	for _, sym := range r.sharedInit {
		copy(c.shared[sym.Offset:], sym.Data)
	}
	for _, w := range c.warps {
		w.start()
	}
}

// poison fills memory whose contents a kernel must not rely on.
const poison = 0xa5

// start prepares a warp for its block.
func (w *warp) start() {
	r := w.cta.run
	live := min(r.threads-w.lane0, w.n)
	w.live = fullMask(live)
	w.groups = append(w.groups[:0], group{pc: r.entry, mask: w.live})
	w.cur = 0
	w.spare = append(w.spare, w.joins...)
	w.joins = w.joins[:0]
	w.parked, w.parkedAt = 0, 0
	w.steps = 0
	w.carry = 0
	w.regs, w.regSet, w.spin = r.kernel.MaxRegs, 0, spin{}
	w.atCluster = 0
	if w.clock != nil {
		w.clock.reset()
	}
	w.async.reset()
	w.bulkReads.reset()
	w.fill(r.specials)
	w.trace = r.cfg.Trace != nil && w.cta.index == r.cfg.TraceBlock && w.id == r.cfg.TraceWarp
	if w.dots != nil {
		w.dots.reset()
	}
	if w.check != nil {
		w.check.reset(w)
		for i := range w.local {
			w.local[i] = poison
		}
	}
	if w.wavefront != nil {
		w.wavefront.start()
	}
}

// fill sets registers to their initial values.
func (w *warp) fill(inits []initReg) {
	for i := range inits {
		in := &inits[i]
		switch in.class {
		case ClassP:
			w.p[in.off] = 0
			if in.value+w.special(in.special, 0) != 0 {
				w.p[in.off] = w.full
			}
		case Class32:
			d := w.u32(in.off)
			for l := range d {
				d[l] = uint32(in.value + w.special(in.special, l))
			}
		case Class64:
			d := w.u64(in.off)
			for l := range d {
				d[l] = in.value + w.special(in.special, l)
			}
		}
	}
}

// special returns a value known when the warp starts.
func (w *warp) special(s Special, lane int) uint64 {
	if s == SpecNone {
		return 0
	}
	r := w.cta.run
	t := w.lane0 + lane
	var v int
	switch s {
	case SpecTidX:
		v = t % r.block[0]
	case SpecTidY:
		v = t / r.block[0] % r.block[1]
	case SpecTidZ:
		v = t / r.block[0] / r.block[1]
	case SpecNTidX, SpecNTidY, SpecNTidZ:
		v = r.block[s-SpecNTidX]
	case SpecCtaX, SpecCtaY, SpecCtaZ:
		v = w.cta.block[s-SpecCtaX]
	case SpecNCtaX, SpecNCtaY, SpecNCtaZ:
		v = r.grid[s-SpecNCtaX]
	case SpecLane:
		v = lane
	case SpecWarp:
		v = w.id
	case SpecNWarp:
		v = len(w.cta.warps)
	case SpecSM:
		v = w.cta.index % r.cfg.SMs
	case SpecNSM:
		v = r.cfg.SMs
	case SpecGrid:
		v = 0
	case SpecLaneEQ:
		v = 1 << lane
	case SpecLaneLT:
		v = 1<<lane - 1
	case SpecLaneLE:
		v = 2<<lane - 1
	case SpecLaneGT:
		return w.full &^ (2<<lane - 1)
	case SpecLaneGE:
		return w.full &^ (1<<lane - 1)
	case SpecClusterX, SpecClusterY, SpecClusterZ:
		v = w.cta.clusterAt[s-SpecClusterX]
	case SpecNClusterX, SpecNClusterY, SpecNClusterZ:
		v = r.grid[s-SpecNClusterX] / r.cluster[s-SpecNClusterX]
	case SpecClusterCtaX, SpecClusterCtaY, SpecClusterCtaZ:
		v = w.cta.inCluster[s-SpecClusterCtaX]
	case SpecClusterNCtaX, SpecClusterNCtaY, SpecClusterNCtaZ:
		v = r.cluster[s-SpecClusterNCtaX]
	case SpecClusterRank:
		v = w.cta.rank
	case SpecExplicitCluster:
		v = min(r.kernel.Cluster[0], 1)
	case SpecClusterSize:
		v = r.clusterSize
	case SpecSharedSize:
		v = r.sharedBytes
	case SpecDynShared:
		v = r.dynShared
	default:
		panic("BUG: unknown special value")
	}
	return uint64(v)
}

// advance runs every warp of the block once, each for at most quantum
// instructions. It returns false when the block is finished or has stopped.
func (c *cta) advance(quantum int) bool {
	moved := false
	waiting := true
	c.stuck, c.waited = false, false
	order := c.run.warpOrder(c)
	for i := range c.warps {
		w := c.warps[order(i)]
		if len(w.groups) == 0 && w.parked == 0 {
			continue
		}
		if c.left == 0 {
			w.endless()
			return false
		}
		w.budget = int(min(uint64(quantum), c.left))
		w.moved = false
		c.polls = 0
		before := w.steps
		w.spin.fails = 0
		w.run()
		c.left -= w.steps - before
		waiting = waiting && w.waits(w.steps-before)
		if w.parked != 0 && w.steps-w.parkedAt > patience {
			w.releaseAll()
		}
		moved = moved || w.moved
		if c.fault != nil || c.cluster.stopped() {
			return false
		}
		if c.halt {
			c.halt, c.waits = false, true
		}
	}
	if c.liveLanes == 0 {
		return false
	}
	c.waited = waiting
	if !moved && !c.waitsAligned() {
		for _, w := range c.warps {
			moved = w.releaseAll() || moved
		}
	}
	if !moved {
		if len(c.cluster.ctas) > 1 {
			c.stuck = true // but another block may let it go
			return true
		}
		c.deadlock()
		return false
	}
	return true
}

// endless ends a block that has executed all that it may.
func (w *warp) endless() {
	lanes := w.parked
	if len(w.groups) > 0 {
		g := &w.groups[w.cur]
		w.pc, lanes = g.pc, g.mask
	}
	w.faultAt(FindEndless, bits.TrailingZeros64(lanes), 0,
		"the block executed more than %d instructions", w.cta.run.cfg.MaxInstructions)
}

// waitsAligned reports whether lanes wait at an instruction that their whole warp
// must execute together: lanes past it, at a join, cannot help.
func (c *cta) waitsAligned() bool {
	for _, w := range c.warps {
		for k := range w.groups {
			g := &w.groups[k]
			if g.state == groupSync && c.code[g.pc].in.Flags&FlagAligned != 0 && g.syncMask == w.full {
				return true
			}
		}
	}
	return false
}

// patiencePolls is how many times in a turn a warp may look for what another one
// writes before that one gets its turn.
const patiencePolls = 64

// poll counts an access that may wait for another warp or block.
func (c *cta) poll() {
	if c.polls++; c.polls > patiencePolls {
		c.halt = true
	}
}

// patience is how many instructions lanes wait at a join for others of their
// warp before they go on alone.
const patience = 1 << 16

// barrier executes bar and barrier instructions.
func (w *warp) barrier(s *step, g *group, m uint64) (int, bool) {
	if m == 0 {
		return g.pc + 1, true
	}
	if s.in.Flags&FlagAligned != 0 && m != g.mask {
		w.guarded(s, g, m)
		return 0, false
	}
	if s.in.Flags&FlagAligned != 0 && m != w.live {
		w.wait(g, m, w.full)
		return 0, false
	}
	if m != g.mask {
		w.hold(m, g.pc+1)
	}
	pc := g.pc
	w.arriveBarrier(s, []int{w.cur})
	return pc + 1, s.in.Imm == BarArrive && w.cta.fault == nil
}

// guarded reports an aligned instruction whose guard holds back lanes of its
// group.
func (w *warp) guarded(s *step, g *group, m uint64) {
	kind := FindSync
	if s.kind == stepBarrier {
		kind = FindDivergentBarrier
	}
	w.faultAt(kind, bits.TrailingZeros64(m), 0, "the guard of %s holds in lanes 0x%x of 0x%x: all must execute it together", s.in.Text, m, g.mask)
}

// arriveBarrier lets the groups with the indices gs, which are at barrier
// instruction s, arrive together.
func (w *warp) arriveBarrier(s *step, gs []int) {
	in := s.in
	c := w.cta
	var m uint64
	for _, k := range gs {
		m |= w.groups[k].mask
	}
	lane := bits.TrailingZeros64(m)
	id := int(w.u32(s.a)[lane])
	if id >= numBarriers {
		w.faultAt(FindBarrier, lane, 0, "barrier %d does not exist: a block has %d", id, numBarriers)
		return
	}
	count := 0
	if s.b >= 0 {
		count = int(w.u32(s.b)[lane])
		if count == 0 || count%w.n != 0 {
			w.faultAt(FindBarrier, lane, 0, "barrier thread count %d is not a positive multiple of the warp's %s", count, diag.Count(w.n, "lane"))
			return
		}
	}
	b := &c.bars[id]
	if b.threads > 0 && b.count != count {
		w.faultAt(FindBarrier, lane, 0, "barrier %d is waited for with %s and with %d", id, diag.Count(b.count, "thread"), count)
		return
	}
	c.stats.barriers++
	if w.clock != nil {
		b.at = max(b.at, w.clock.now)
	}
	b.count = count
	b.lanes += bits.OnesCount64(m)
	if in.Flags&FlagAligned != 0 {
		b.threads += w.n
	} else {
		b.threads += bits.OnesCount64(m)
	}
	if in.Imm >= BarRedPopc {
		p := w.p[s.target]
		if in.Flags&FlagNot != 0 {
			p = ^p
		}
		b.pred += bits.OnesCount64(p & m)
		b.votes += bits.OnesCount64(m)
	}
	if c.sharedChk != nil {
		c.sharedChk.arrive(w.id, id)
	}
	w.moved = true
	for _, k := range gs {
		g := &w.groups[k]
		if in.Imm == BarArrive {
			g.pc++
			continue
		}
		g.state = groupBarrier
		g.barrier = id
	}
	c.settleBarriers()
}

// settleBarriers opens the barriers at which all have arrived.
func (c *cta) settleBarriers() {
	for id := range c.bars {
		b := &c.bars[id]
		if b.threads == 0 {
			continue
		}
		if b.count == 0 && b.lanes < c.liveLanes || b.count > 0 && b.threads < b.count {
			continue
		}
		c.open(id)
	}
}

// open lets the groups that wait at barrier id go on.
func (c *cta) open(id int) {
	b := c.bars[id]
	c.bars[id] = barrier{}
	if c.sharedChk != nil {
		c.sharedChk.open(id)
	}
	for _, w := range c.warps {
		for k := range w.groups {
			g := &w.groups[k]
			if g.state != groupBarrier || g.barrier != id {
				continue
			}
			if c.sharedChk != nil {
				c.sharedChk.leave(w.id, id)
			}
			s := &c.code[g.pc]
			w.mask = g.mask
			if w.clock != nil {
				w.clock.now = max(w.clock.now, b.at) + c.run.cfg.Rates.Barrier
			}
			switch s.in.Imm {
			case BarRedPopc:
				d := w.u32(s.d)
				for m := g.mask; m != 0; m &= m - 1 {
					d[bits.TrailingZeros64(m)] = uint32(b.pred)
				}
				w.defined(s.in.D, g.mask)
			case BarRedAnd:
				w.setP(s.d, allIf(b.pred == b.votes))
				w.defined(s.in.D, g.mask)
			case BarRedOr:
				w.setP(s.d, allIf(b.pred > 0))
				w.defined(s.in.D, g.mask)
			}
			g.state = groupReady
			g.pc++
			w.moved = true
		}
		w.merge()
	}
}

func allIf(b bool) uint64 {
	if b {
		return ^uint64(0)
	}
	return 0
}
