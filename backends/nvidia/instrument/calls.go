package instrument

import (
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// caller emits the checks for one operation.
type caller struct {
	in *instrumenter
	code
	op *ir.Operation
	s  *state
	// thread is the one of the model that does the operation, and base the one that runs
	// it, whose peer that is.
	thread, base int64
}

// seenBy are the threads that see what thread does: a peer alone, or a base thread and
// its peers.
func seenBy(thread int64) int64 {
	mask := int64(1) << thread
	if thread < maxThreads {
		mask |= mask<<copyEngine | mask<<matrixUnit
	}
	return mask
}

// call calls the helper h. An argument with a type is a table.
func (c *caller) call(h helper, args ...table) *ir.Value {
	f := c.in.function(h, c.s.warps, args)
	values := make([]*ir.Value, len(args))
	for i, a := range args {
		values[i] = a.value
	}
	ctx := c.b.Context()
	op := c.b.Create(tt.Call, ir.State{
		Operands: values, Types: tt.Signature(f).Out,
		Attrs: []ir.NamedAttr{{Name: "callee", Attr: ctx.SymbolRef(tt.AsFunc(f).SymName())}},
	})
	c.in.run.Count("calls", 1)
	if op.NumResults() == 0 {
		return nil
	}
	return op.OneResult()
}

// check calls a helper whose result must hold.
func (c *caller) check(message string, h helper, args ...table) {
	ok := c.call(h, args...)
	ctx := c.b.Context()
	c.b.Create(tti.Def("experimental_assert_in_thread"), ir.State{
		Operands: []*ir.Value{ok},
		Attrs:    []ir.NamedAttr{{Name: "check_any", Attr: ctx.BoolAttr(false)}, {Name: "message", Attr: ctx.StringAttr(message)}},
	})
}

// scalar is an argument that is not a table.
func scalar(v *ir.Value) table { return table{value: v} }

// pred is a condition as an argument: true where there is none.
func (c *caller) pred(v *ir.Value) table {
	if v == nil {
		v = c.i1(1)
	}
	return scalar(v)
}

func (c *caller) number(n int64) table { return scalar(c.i32(n)) }
func (c *caller) mask(n int64) table   { return scalar(c.i64(n)) }

// address is that of the buffer that v is, or is a part of.
func (c *caller) address(v *ir.Value) table {
	return scalar(c.b.Op(tti.Def("experimental_memdesc_to_i64"), []*ir.Value{tracked(v)}, c.b.Context().I64()).OneResult())
}

// effects emits the checks of an operation's effects, and what these change.
func (c *caller) effects(e *effects) {
	for _, a := range e.accesses {
		c.access(e, a)
	}
	for _, a := range e.arrivals {
		c.arrive(e, a)
	}
	if t := c.s.commits[e.kind]; e.commits && t.there() {
		c.call(commitAccesses, c.number(c.base), c.pred(e.pred), t)
	}
}

func (c *caller) access(e *effects, a access) {
	m := spaceOf(a.buffer)
	s, buf := c.s, a.buffer
	if !s.buffers[m].there() {
		c.in.unchecked(c.op, "the kernel does not allocate the buffer: the access is not checked")
		return
	}
	c.checkWrites(e, a, m)
	if a.writes {
		c.checkReads(e, a, m)
	}
	switch {
	case e.done == byNumber:
		if t := s.commits[e.kind]; t.there() && m == sharedMemory {
			pred, thread := c.pred(e.pred), c.number(c.base)
			c.call(stageAccessForCommit, c.address(buf), pred, thread, s.buffers[m], t)
		}
	case !s.barriers.there():
	case a.writes:
		pred, mask := c.pred(e.pred), c.mask(seenBy(c.thread))
		c.call(setWriteVisibility, c.address(buf), pred, mask, s.buffers[m], s.writes[m])
		c.call(clearWriteTracking, c.address(buf), pred, s.buffers[m], s.trackedWrites[m])
		c.call(clearReadVisibility, c.address(buf), pred, s.buffers[m], s.reads[m])
		c.call(clearReadTracking, c.address(buf), pred, s.buffers[m], s.trackedReads[m])
	default:
		pred, mask := c.pred(e.pred), c.mask(seenBy(c.thread))
		c.call(setReadVisibility, c.address(buf), pred, mask, s.buffers[m], s.reads[m])
	}
}

// checkWrites checks that no write that the thread does not see is under way.
func (c *caller) checkWrites(e *effects, a access, m space) {
	pred, thread := c.pred(e.pred), c.number(c.thread)
	message := "Buffer being accessed has outstanding writes."
	if a.operand != "" {
		message += " Operand: " + a.operand
	}
	c.check(message, verifyWriteVisibility, c.address(a.buffer), pred, thread, c.s.buffers[m], c.s.writes[m])
	c.checkCommits(e, a, m, cpAsync, "async_copy_global_to_shared")
}

// checkReads checks that no read that the thread does not see is under way.
func (c *caller) checkReads(e *effects, a access, m space) {
	pred, thread := c.pred(e.pred), c.number(c.thread)
	message := "Buffer being accessed has outstanding reads"
	if a.operand != "" {
		message += ". Operand: " + a.operand
	}
	c.check(message, verifyReadVisibility, c.address(a.buffer), pred, thread, c.s.buffers[m], c.s.reads[m])
	c.checkCommits(e, a, m, wgmma, "warpgroup_mma operand read")
	c.checkCommits(e, a, m, tmaStore, "async_copy_shared_to_global")
}

// checkCommits checks that no operation of a kind, of any thread, accesses the buffer.
func (c *caller) checkCommits(e *effects, a access, m space, k commitKind, what string) {
	t := c.s.commits[k]
	if !t.there() || m != sharedMemory {
		return
	}
	buf := c.address(a.buffer)
	c.check("Accessing buffer with pending access. Pending access type: "+what,
		checkOutstandingCommits, buf, c.pred(e.pred), c.number(c.base), c.s.buffers[m], t)
}

// arrive has a barrier pass on what the thread sees.
func (c *caller) arrive(e *effects, a arrival) {
	s := c.s
	if !s.barriers.there() {
		return
	}
	both := a.pred
	switch {
	case both == nil:
		both = e.pred
	case e.pred != nil:
		both = c.and(a.pred, e.pred)
	}
	pred := c.pred(both)
	for m := range numSpaces {
		if !s.buffers[m].there() {
			continue
		}
		thread := c.number(c.thread)
		c.call(trackVisibleWrites, c.address(a.barrier), pred, thread, s.barriers, s.writes[m], s.trackedWrites[m])
		thread = c.number(c.thread)
		c.call(trackVisibleReads, c.address(a.barrier), pred, thread, s.barriers, s.reads[m], s.trackedReads[m])
	}
	if a.count == 0 {
		return
	}
	count := c.number(a.count)
	c.check("Barrier arrive underflow: current count would become negative",
		verifyBarrierArrive, c.address(a.barrier), count, pred, s.barriers, s.barrierStates)
	c.call(updateBarrierState, c.address(a.barrier), count, pred, s.barriers, s.barrierStates)
}

// initBarrier notes how many arrivals a phase of a barrier takes.
func (c *caller) initBarrier(barrier *ir.Value, count int64) {
	if s := c.s; s.barriers.there() {
		n := c.number(count)
		c.call(initBarrierState, c.address(barrier), n, s.barriers, s.barrierStates)
	}
}

// startWait notes that the thread waits for a phase, and checks that not all active
// threads wait for phases that no one can complete.
func (c *caller) startWait(barrier, phase, pred *ir.Value, active int64) {
	s := c.s
	if !s.barriers.there() {
		return
	}
	holds, thread := c.pred(pred), c.number(c.base)
	c.call(setWaiting, c.address(barrier), thread, scalar(phase), holds, s.barriers, s.waiting)
	c.check("Deadlock detected: all active threads are waiting on mbarriers",
		checkAllActiveWaiting, c.number(active), holds, s.waiting, s.barrierStates)
}

// endWait has the thread see what the barrier passes on.
func (c *caller) endWait(barrier, pred *ir.Value) {
	s := c.s
	if !s.barriers.there() {
		return
	}
	holds := c.pred(pred)
	for m := range numSpaces {
		if !s.buffers[m].there() {
			continue
		}
		mask := c.mask(seenBy(c.thread))
		c.call(transferVisibleWrites, c.address(barrier), holds, mask, s.barriers, s.writes[m], s.trackedWrites[m])
		c.call(transferVisibleReads, c.address(barrier), holds, mask, s.barriers, s.reads[m], s.trackedReads[m])
	}
	thread := c.number(c.base)
	c.call(clearWaiting, c.address(barrier), thread, holds, s.barriers, s.waiting)
}

// startPartitions has n partitions see what the thread that starts them does.
func (c *caller) startPartitions(n int) {
	var mask int64
	for i := range n {
		mask |= seenBy(int64(i) + 1)
	}
	for m := range numSpaces {
		if !c.s.buffers[m].there() || n == 0 {
			continue
		}
		c.call(copyWriteVisibility, c.number(c.thread), c.mask(mask), c.pred(nil), c.s.writes[m])
		c.call(copyReadVisibility, c.number(c.thread), c.mask(mask), c.pred(nil), c.s.reads[m])
	}
}

// endPartitions has the thread that started n partitions see what they did and have
// waited for: not what their peers still do.
func (c *caller) endPartitions(n int) {
	for m := range numSpaces {
		if !c.s.buffers[m].there() || n == 0 {
			continue
		}
		to, from := c.mask(seenBy(c.thread)), c.mask(1<<(n+1)-2)
		c.call(joinWriteVisibility, to, from, c.s.writes[m])
		c.call(joinReadVisibility, to, from, c.s.reads[m])
	}
}

// commit makes a group of what was staged.
func (c *caller) commit(k commitKind) {
	if t := c.s.commits[k]; t.there() {
		c.call(commitAccesses, c.number(c.base), c.pred(nil), t)
	}
}

// waitCommits waits for all but the last pending groups.
func (c *caller) waitCommits(k commitKind, pending int64) {
	t := c.s.commits[k]
	if !t.there() {
		return
	}
	h, seen := clearOutstandingCommitsTransferReads, c.s.reads[sharedMemory]
	if k == cpAsync {
		h, seen = clearOutstandingCommitsTransferWrites, c.s.writes[sharedMemory]
	}
	c.call(h, c.number(c.base), c.mask(seenBy(c.thread)), c.number(min(pending, maxGroup)), c.pred(nil), t, seen)
}
