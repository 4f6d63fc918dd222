package simt

import "math/bits"

// step is an Inst bound to a warp width and to the function that executes it.
type step struct {
	exec execFunc
	// kind sorts out the instructions that the run loop handles itself.
	kind stepKind
	// out is the class of D where exec writes all lanes and the run loop keeps
	// the inactive ones; ClassNone where exec heeds the mask itself.
	out      Class
	guardNot bool
	guard    int32 // index in P, or -1
	// d, a, b, c are positions in the register files: lane 0 of a 32- or 64-bit
	// register, or the index of a predicate.
	d, a, b, c int32
	rs, ds     []int32
	// pd, pa, pb, pc, prs and pds are the operands' places in warpCheck.regs, pg is
	// the guard's.
	pd, pa, pb, pc, pg int32
	prs, pds           []int32
	imm                int64
	// join is where the parts of a divergent branch meet, or -1 for the
	// function's end.
	join   int32
	target int32
	in     *Inst
}

type execFunc func(w *warp, s *step)

type stepKind uint8

const (
	stepPlain stepKind = iota
	stepBranch
	stepIndexed
	stepCall
	stepRet
	stepExit
	stepBarrier
	stepCluster // barrier of the cluster
	stepSetRegs
	stepFlow  // of a wavefront
	stepSync  // waits for the lanes of a mask, then exec
	stepFault // trap
	stepHost  // host function
)

// groupState says what a group waits for.
type groupState uint8

const (
	groupReady groupState = iota
	groupSync             // lanes of syncMask at this instruction
	groupBarrier
	groupCluster // the barrier of the cluster
	groupDone
)

// group is a set of lanes with one program counter and one call stack.
type group struct {
	pc    int
	mask  uint64
	state groupState
	// stack holds the return addresses; it is never changed in place.
	stack []int
	join  *join
	// syncMask is the set of lanes a groupSync waits for.
	syncMask uint64
	barrier  int
}

// join is a meeting point of diverged lanes.
type join struct {
	pc       int
	depth    int // of the call stack
	expected uint64
	arrived  uint64
	stack    []int
	parent   *join
}

// warp is the state of one warp.
type warp struct {
	n    int // lanes
	full uint64
	cta  *cta
	id   int

	p   []uint64
	r32 []uint32
	r64 []uint64

	// mask is the set of lanes that execute the current instruction; part says
	// that it is not all of them, so that plain instructions write to t32 or t64
	// first.
	mask uint64
	part bool
	t32  []uint32
	t64  []uint64

	groups []group
	cur    int
	live   uint64 // lanes that have not exited
	carry  uint64 // condition code of add.cc
	budget int
	moved  bool // some group advanced since the last look
	steps  uint64
	regs   int // registers of a thread
	regSet int // how often they changed
	spin   spin

	local []byte // n frames of LocalBytes
	frame []byte // n frames of FrameBytes

	offs      []int // per-lane offsets of the access in hand
	words     []uint64
	view      view
	waveCache waveCache

	async     asyncState
	bulkReads bulkReads
	check     *warpCheck // nil with checks off
	dots      *dotState  // nil with checks off, and without dots of warpgroups
	clock     *clock     // nil where no time is estimated
	wavefront *Wavefront // nil but in programs that have them
	trace     bool       // Config.Trace wants to see this warp
	lane0     int        // thread index of lane 0
	pc        int        // of the instruction being executed
	joins     []*join    // live joins
	spare     []*join    // for reuse
	parked    uint64     // lanes waiting at joins
	parkedAt  uint64     // steps when the latest one arrived
	// atCluster are the lanes that arrived at the barrier of the cluster and have not
	// waited, and clusterPhase how often it had opened before.
	atCluster    uint64
	clusterPhase uint32
}

func (w *warp) u32(off int32) []uint32 { return w.r32[off : int(off)+w.n : int(off)+w.n] }
func (w *warp) u64(off int32) []uint64 { return w.r64[off : int(off)+w.n : int(off)+w.n] }

// d32 is where a plain instruction writes its 32-bit result.
func (w *warp) d32(s *step) []uint32 {
	if w.part {
		return w.t32
	}
	return w.u32(s.d)
}

// d64 is where a plain instruction writes its 64-bit result.
func (w *warp) d64(s *step) []uint64 {
	if w.part {
		return w.t64
	}
	return w.u64(s.d)
}

// setP writes the active lanes of a predicate.
func (w *warp) setP(idx int32, v uint64) {
	w.p[idx] = w.p[idx]&^w.mask | v&w.mask
}

// blend copies the active lanes of a partial result into the register.
func (w *warp) blend(s *step) {
	if s.out == Class32 {
		d := w.u32(s.d)
		for m := w.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			d[l] = w.t32[l]
		}
		return
	}
	d := w.u64(s.d)
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		d[l] = w.t64[l]
	}
}

// do executes a step for the lanes of m.
func (w *warp) do(s *step, m uint64) {
	w.mask = m
	if m == w.full {
		w.part = false
		s.exec(w, s)
		return
	}
	w.part = true
	s.exec(w, s)
	if s.out != ClassNone {
		w.blend(s)
	}
}

// active returns the lanes of g whose guard holds.
func (w *warp) active(s *step, m uint64) uint64 {
	if s.guard < 0 {
		return m
	}
	p := w.p[s.guard]
	if s.guardNot {
		p = ^p
	}
	return m & p
}

// run executes groups until every one waits or is done, or the budget of
// instructions is spent.
func (w *warp) run() {
	for w.budget > 0 {
		if !w.pick() {
			return
		}
		w.runGroup()
		if w.cta.halt || w.cta.run.stopped() {
			return
		}
	}
}

// pick chooses the next ready group, the current one first.
func (w *warp) pick() bool {
	for i := range w.groups {
		k := w.cur + i
		if k >= len(w.groups) {
			k -= len(w.groups)
		}
		if w.groups[k].state == groupReady {
			w.cur = k
			return true
		}
	}
	return false
}

// slice is how many instructions a group runs before another one of its warp
// gets its turn: enough for the short arms of a branch to meet again.
const slice = 2048

// runGroup runs the current group until it waits, ends, splits or has had its
// slice.
func (w *warp) runGroup() {
	g := &w.groups[w.cur]
	code := w.cta.code
	count := w.cta.count
	checked := w.check != nil
	left := min(slice, w.budget)
	start := left
	pc := g.pc
	mask := g.mask
	joinPC := -1
	if g.join != nil {
		joinPC = g.join.pc
	}
	for left > 0 {
		if pc == joinPC && len(g.stack) == g.join.depth {
			g.pc = pc
			w.spend(start - left)
			w.arrive()
			return
		}
		s := &code[pc]
		m := mask
		if s.guard >= 0 {
			m = w.active(s, mask)
			if checked && mask&^w.check.regs[s.pg].def != 0 {
				w.pc = pc
				w.use(s.in.Guard, mask, allBits, "whether it executes")
			}
		}
		if w.trace {
			w.traceStep(s, m)
		}
		left--
		c := &count[pc]
		c.warps++
		c.lanes += uint64(bits.OnesCount64(m))
		if w.clock != nil {
			w.clock.tick(s.in, &w.cta.run.timing[pc], w.cta.run.cfg.Rates)
		}
		if s.kind == stepPlain {
			if m != 0 {
				w.pc = pc
				if checked {
					w.doChecked(s, m)
				} else {
					w.do(s, m)
				}
			}
			pc++
			if w.cta.halt {
				g.pc = pc
				w.spend(start - left)
				w.rotate()
				return
			}
			continue
		}
		w.pc = pc
		g.pc = pc
		next, again := w.control(s, g, m)
		if !again {
			w.spend(start - left)
			return
		}
		pc = next
	}
	g.pc = pc
	w.spend(start - left)
	w.rotate()
}

// traceStep shows an instruction before it is executed.
func (w *warp) traceStep(s *step, m uint64) {
	t := TraceStep{Line: s.in.Line, Text: s.in.Text, Mask: m}
	if s.in.Loc != 0 {
		t.Loc = w.cta.prog.Locs[s.in.Loc-1]
	}
	w.cta.run.cfg.Trace(t)
}

// rotate gives the next group its turn.
func (w *warp) rotate() {
	if len(w.groups) > 1 {
		w.cur = (w.cur + 1) % len(w.groups)
	}
}

func (w *warp) spend(n int) {
	w.budget -= n
	w.steps += uint64(n)
	if n > 0 {
		w.moved = true
	}
}
