package simt

// A warp's clock tells how long the warp takes where no other one is in its way: it
// issues its instructions in order, each when its operands are there. That is the
// latency which a processor has to hide by running several warps; how much of the
// processor they all use is counted elsewhere (model.go). The clocks of a block's
// warps meet at barriers.
type clock struct {
	now uint64
	// ready is when a register has its value, by place.
	ready []uint64
	// matrix is when the matrix unit has done what the warp gave to it.
	matrix uint64
	// copies and dots are what runs on while the warp does: cp.async, and dots of
	// warpgroups.
	copies, dots pending
	// polled is when the warp began to ask an mbarrier that it still asks; polls says
	// that it does.
	polled uint64
	polls  bool
}

// pending are groups of operations that a warp may wait for, the oldest first.
type pending struct {
	open   uint64 // when those of the open group are done
	groups []uint64
}

func (p *pending) add(done uint64) { p.open = max(p.open, done) }

func (p *pending) commit() {
	p.groups = append(p.groups, p.open)
	p.open = 0
}

// wait returns when all but the latest keep groups are done; with a negative keep
// the open one, too.
func (p *pending) wait(keep int64) (done uint64) {
	if keep < 0 {
		done, keep = p.open, 0
	}
	n := max(len(p.groups)-int(keep), 0)
	for _, at := range p.groups[:n] {
		done = max(done, at)
	}
	p.groups = append(p.groups[:0], p.groups[n:]...)
	return done
}

// timing is what a clock has to know of an instruction.
type timing struct {
	reads, writes []int32 // places
	// issue is how long no other instruction of the warp follows, latency how long
	// the result takes, and matrix how long the matrix unit is taken.
	issue, latency, matrix uint64
}

// together is how much warps of a block do the same at a time, so that they wait for one
// another's units: 0 never, 1 always.
const together = 0.7

// timings are those of a program's instructions in blocks of so many warps, which share
// the quarters of the processor, and the port to memory.
func timings(p *Program, rates *Rates, lanes, warps int) []timing {
	share := 1 + together*(max(float64(warps)/4, 1)-1)
	port := 1 + together*float64(warps-1)
	list := make([]timing, len(p.Code))
	for i := range p.Code {
		in, t := &p.Code[i], &list[i]
		reads, writes := registersOf(in)
		for _, r := range reads {
			t.reads = append(t.reads, place(p, r))
		}
		for _, r := range writes {
			t.writes = append(t.writes, placeOfResult(p, r))
		}
		class := classOf(in)
		t.issue, t.latency = cycles(share), rates.ALU
		if pipe := rates.Pipes[class]; pipe > 0 {
			t.issue = cycles(share * max(4/pipe, 1))
		}
		switch class {
		case ClassMove:
			t.issue, t.latency = 0, 0 // ptxas renames registers
		case ClassSpecial, ClassDouble:
			t.latency = rates.Special
		case ClassWarpOp:
			t.latency = rates.Shared
		case ClassSharedMem:
			t.latency, t.issue = rates.Shared, cycles(port*portCycles(in, lanes))
		case ClassGlobalMem, ClassAtomicMem, ClassLocalMem:
			t.latency, t.issue = rates.Global, cycles(port*portCycles(in, lanes))
		case ClassControl:
			t.issue = rates.Branch
		case ClassMatrix:
			t.matrix = cycles(share * rates.matrixCycles(in))
			t.latency = rates.Matrix
		}
	}
	return list
}

func cycles(x float64) uint64 { return uint64(x + 0.5) }

// portCycles is how long an access of a whole warp takes at 128 bytes a cycle.
func portCycles(in *Inst, lanes int) float64 {
	size := in.Size
	switch in.Op {
	case OpLd, OpSt:
		size = len(in.Regs) * in.Type.Bits() / 8
	case OpLdMatrix, OpStMatrix:
		size = 4 * len(in.Regs)
	case OpCpCommit, OpCpWait, OpPrefetch:
		return 0
	}
	return max(float64(size*lanes)/(numBanks*bankBytes), 1)
}

// newClock makes the clock of a warp of the program.
func newClock(p *Program) *clock {
	return &clock{ready: make([]uint64, firstPlace+p.NumP+1+p.Num32+1+p.Num64+1)}
}

func (k *clock) reset() {
	clear(k.ready)
	k.now, k.matrix, k.polls = 0, 0, false
	k.copies.open, k.copies.groups = 0, k.copies.groups[:0]
	k.dots.open, k.dots.groups = 0, k.dots.groups[:0]
}

// tick issues an instruction.
func (k *clock) tick(in *Inst, t *timing, rates *Rates) {
	for _, r := range t.reads {
		k.now = max(k.now, k.ready[r])
	}
	done := k.now + t.latency
	switch in.Op {
	case OpMma:
		k.matrix = max(k.matrix, k.now) + t.matrix
		done = k.matrix + t.latency
	case OpWgmma:
		k.matrix = max(k.matrix, k.now) + t.matrix
		k.dots.add(k.matrix + t.latency)
	case OpDotCommit:
		k.dots.commit()
	case OpDotWait:
		k.now = max(k.now, k.dots.wait(in.Imm))
	case OpCpAsync:
		k.copies.add(k.now + rates.Global)
	case OpCpCommit:
		k.copies.commit()
	case OpCpWait:
		k.now = max(k.now, k.copies.wait(in.Imm))
	}
	k.now += t.issue
	if in.Op == OpWgmma {
		return // its sums are there when it has been waited for
	}
	for _, r := range t.writes {
		k.ready[r] = done
	}
}

// mbarClocks are when the arrivals of an mbarrier's present phase and of the one
// before it came.
type mbarTime struct{ gather, opened uint64 }

// mbarTime returns the times of the mbarrier at an address; nil where none are kept.
func (c *cta) mbarTime(at int) *mbarTime {
	if c.run.timing == nil {
		return nil
	}
	k := c.mbarTimes[at]
	if k == nil {
		k = &mbarTime{}
		if c.mbarTimes == nil {
			c.mbarTimes = map[int]*mbarTime{}
		}
		c.mbarTimes[at] = k
	}
	return k
}

// arrivedAt notes an arrival at an mbarrier, which may end its phase: now, or for
// bytes that come by a bulk copy when they are there.
func (w *warp) arrivedAt(at int, bytes, ends bool) {
	k := w.cta.mbarTime(at)
	if k == nil {
		return
	}
	done := w.clock.now
	if bytes {
		done += w.cta.run.cfg.Rates.Global
	}
	k.gather = max(k.gather, done)
	if ends {
		k.opened, k.gather = k.gather, 0
	}
}

// asked notes that the warp looked whether an mbarrier's phase is over. A warp that
// asks again and again in the simulator waits once.
func (w *warp) asked(at int, over bool) {
	k := w.cta.mbarTime(at)
	switch {
	case k == nil:
	case over:
		if w.clock.polls {
			w.clock.now, w.clock.polls = w.clock.polled, false
		}
		w.clock.now = max(w.clock.now, k.opened)
	case !w.clock.polls:
		w.clock.polls, w.clock.polled = true, w.clock.now
	}
}

// elapsed is how long the block took: as long as its last warp.
func (c *cta) elapsed() (n uint64) {
	for _, w := range c.warps {
		n = max(n, w.clock.now)
	}
	return n
}
