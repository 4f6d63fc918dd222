package instrument

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// prefix begins the names of all functions that the pass makes.
const prefix = "__triton_consan_"

// helper is a function that the pass adds to a module: what it is called, and its code
// for arguments x, which returns its result, a condition that must hold, or nil.
type helper struct {
	name string
	emit func(c code, x []table) *ir.Value
}

// An element of barrierStates: the phase, and the arrivals of a phase and those that it
// still lacks.
const (
	countBits    = 15
	maxCount     = 1<<countBits - 1
	initialShift = 1
	currentShift = initialShift + countBits
)

// An element of waiting has two bits for each thread: whether it waits, and for which
// phase.
const waitFlags = 0x55555555

// setWaiting: mbar, thread, phase, pred, barriers, waiting.
var setWaiting = helper{"set_waiting", func(c code, x []table) *ir.Value {
	mbar, thread, phase, pred, barriers, waiting := x[0].value, x[1].value, x[2].value, x[3].value, x[4].value, x[5]
	c.when(pred, func() {
		shift := c.by(arith.ShLI, thread, 1)
		entry := c.by(arith.OrI, c.by(arith.ShLI, c.by(arith.AndI, phase, 1), 1), 1)
		old := c.load(waiting)
		rest := c.and(old, c.all(c.not(c.shl(c.i32(3), shift)), waiting.typ))
		c.change(waiting, c.equal(barriers, mbar), c.or(rest, c.all(c.shl(entry, shift), waiting.typ)), old)
	})
	return nil
}}

// clearWaiting: mbar, thread, pred, barriers, waiting.
var clearWaiting = helper{"clear_waiting", func(c code, x []table) *ir.Value {
	mbar, thread, pred, barriers, waiting := x[0].value, x[1].value, x[2].value, x[3].value, x[4]
	c.when(pred, func() {
		old := c.load(waiting)
		keep := c.not(c.shl(c.i32(3), c.by(arith.ShLI, thread, 1)))
		c.change(waiting, c.equal(barriers, mbar), c.and(old, c.all(keep, waiting.typ)), old)
	})
	return nil
}}

// checkAllActiveWaiting: flags of the active threads, pred, waiting, barrierStates. A
// thread is stuck while the phase that it waits for is the barrier's current one; not all
// may be.
var checkAllActiveWaiting = helper{"check_all_active_waiting", func(c code, x []table) *ir.Value {
	active, pred, waiting, states := x[0].value, x[1].value, c.load(x[2]), c.load(x[3])
	phase := c.op(arith.SubI, c.num(states.Type(), 0), c.by(arith.AndI, states, 1)) // all bits alike
	differs := c.op(arith.XorI, c.by(arith.ShRUI, waiting, 1), phase)
	stuck := c.anyOf(c.and(c.by(arith.AndI, waiting, waitFlags), c.not(differs)), 0)
	return c.unless(pred, c.compare(arith.NE, c.and(stuck, active), active))
}}

// initBarrierState: mbar, count, barriers, barrierStates.
var initBarrierState = helper{"init_barrier_state", func(c code, x []table) *ir.Value {
	mbar, count, barriers, states := x[0].value, x[1].value, x[2].value, x[3]
	state := c.or(c.by(arith.ShLI, count, initialShift), c.by(arith.ShLI, count, currentShift))
	c.change(states, c.equal(barriers, mbar), c.all(state, states.typ), c.load(states))
	return nil
}}

// verifyBarrierArrive: mbar, count, pred, barriers, barrierStates. There may be no more
// arrivals in a phase than it waits for.
var verifyBarrierArrive = helper{"verify_barrier_arrive", func(c code, x []table) *ir.Value {
	mbar, count, pred, barriers, states := x[0].value, x[1].value, x[2].value, x[3].value, x[4]
	lacks := c.arrivals(c.load(states), currentShift)
	enough := c.compare(arith.SGE, lacks, c.all(count, states.typ))
	return c.unless(pred, c.or(enough, c.not(c.equal(barriers, mbar))))
}}

// updateBarrierState: mbar, count, pred, barriers, barrierStates. The last arrival of a
// phase begins the next one.
var updateBarrierState = helper{"update_barrier_state", func(c code, x []table) *ir.Value {
	mbar, count, pred, barriers, states := x[0].value, x[1].value, x[2].value, x[3].value, x[4]
	c.when(pred, func() {
		old := c.load(states)
		initial := c.arrivals(old, initialShift)
		lacks := c.op(arith.SubI, c.arrivals(old, currentShift), c.all(count, states.typ))
		last := c.is(arith.EQ, lacks, 0)
		phase := c.op(arith.XorI, c.by(arith.AndI, old, 1), arith.Cast(c.b, arith.ExtUI, last, states.typ))
		state := c.or(phase, c.by(arith.ShLI, initial, initialShift))
		state = c.or(state, c.by(arith.ShLI, c.choose(last, initial, lacks), currentShift))
		c.change(states, c.equal(barriers, mbar), state, old)
	})
	return nil
}}

// arrivals is a count in elements of barrierStates.
func (c code) arrivals(states *ir.Value, shift int64) *ir.Value {
	return c.by(arith.AndI, c.by(arith.ShRUI, states, shift), maxCount)
}

// unless is ok where pred holds, and true elsewhere.
func (c code) unless(pred, ok *ir.Value) *ir.Value {
	return c.choose(pred, ok, c.num(ok.Type(), 1))
}

// setWriteVisibility: buffer, pred, mask, buffers, writeVisibility. The threads of mask
// alone see the write.
var setWriteVisibility = helper{"set_write_visibility", func(c code, x []table) *ir.Value {
	buf, pred, mask, buffers, writes := x[0].value, x[1].value, x[2].value, x[3].value, x[4]
	c.when(pred, func() {
		c.change(writes, c.equal(buffers, buf), c.all(mask, writes.typ), c.load(writes))
	})
	return nil
}}

// setReadVisibility: buffer, pred, mask, buffers, readVisibility. The threads of mask
// read, and see that of one another.
var setReadVisibility = helper{"set_read_visibility", func(c code, x []table) *ir.Value {
	buf, pred, mask, buffers, reads := x[0].value, x[1].value, x[2].value, x[3].value, x[4]
	c.when(pred, func() {
		old := c.load(reads)
		which := c.and(c.rows(c.equal(buffers, buf), reads.typ), c.columnsOf(reads.typ, mask))
		c.change(reads, which, c.or(old, c.all(mask, reads.typ)), old)
	})
	return nil
}}

// clearRow: buffer, pred, buffers, and a table whose row for the buffer becomes 0.
func clearRow(name string) helper {
	return helper{name, func(c code, x []table) *ir.Value {
		buf, pred, buffers, t := x[0].value, x[1].value, x[2].value, x[3]
		c.when(pred, func() {
			c.change(t, c.rows(c.equal(buffers, buf), t.typ), c.num(t.typ, 0), c.load(t))
		})
		return nil
	}}
}

var (
	clearWriteTracking  = clearRow("clear_write_tracking")
	clearReadVisibility = clearRow("clear_read_visibility")
	clearReadTracking   = clearRow("clear_read_tracking")
)

// trackVisibleWrites: mbar, pred, thread, barriers, writeVisibility, writeTracking. The
// barrier passes on the writes that thread sees.
var trackVisibleWrites = helper{"track_visible_writes", func(c code, x []table) *ir.Value {
	mbar, pred, thread, barriers, writes, tracking := x[0].value, x[1].value, x[2].value, x[3].value, x[4], x[5]
	c.when(pred, func() {
		sees := c.rows(c.bit(c.load(writes), thread), tracking.typ)
		which := c.and(c.columns(c.equal(barriers, mbar), tracking.typ), sees)
		c.change(tracking, which, c.num(tracking.typ, 1), c.load(tracking))
	})
	return nil
}}

// trackVisibleReads: mbar, pred, thread, barriers, readVisibility, readTracking. The
// barrier passes on the reads that thread sees.
var trackVisibleReads = helper{"track_visible_reads", func(c code, x []table) *ir.Value {
	mbar, pred, thread, barriers, reads, tracking := x[0].value, x[1].value, x[2].value, x[3].value, x[4], x[5]
	c.when(pred, func() {
		old := c.load(tracking)
		sees := c.rows(c.columnAt(c.load(reads), thread), tracking.typ)
		c.change(tracking, c.columns(c.equal(barriers, mbar), tracking.typ), c.or(old, sees), old)
	})
	return nil
}}

// columnAt is the column of a tensor that the scalar n numbers.
func (c code) columnAt(x, n *ir.Value) *ir.Value {
	return c.anyOf(c.only(c.column(x.Type().(*ir.TensorType), n), x), 1)
}

// transferVisibleWrites: mbar, pred, mask, barriers, writeVisibility, writeTracking. The
// threads of mask see the writes that the barrier passes on.
var transferVisibleWrites = helper{"transfer_visible_writes", func(c code, x []table) *ir.Value {
	mbar, pred, mask, barriers, writes, tracking := x[0].value, x[1].value, x[2].value, x[3].value, x[4], x[5]
	c.when(pred, func() {
		passed := c.anyOf(c.only(c.columns(c.equal(barriers, mbar), tracking.typ), c.load(tracking)), 1)
		which := ttg.NewConvertLayout(c.b, c.is(arith.NE, passed, 0), writes.typ.Encoding)
		old := c.load(writes)
		c.change(writes, which, c.or(old, c.all(mask, writes.typ)), old)
	})
	return nil
}}

// transferVisibleReads: mbar, pred, mask, barriers, readVisibility, readTracking. The
// threads of mask see the reads that the barrier passes on.
var transferVisibleReads = helper{"transfer_visible_reads", func(c code, x []table) *ir.Value {
	mbar, pred, mask, barriers, reads, tracking := x[0].value, x[1].value, x[2].value, x[3].value, x[4], x[5]
	c.when(pred, func() {
		passed := c.anyOf(c.only(c.columns(c.equal(barriers, mbar), tracking.typ), c.load(tracking)), 1)
		old := c.load(reads)
		c.change(reads, c.columnsOf(reads.typ, mask), c.or(old, c.rows(passed, reads.typ)), old)
	})
	return nil
}}

// verifyWriteVisibility: buffer, pred, thread, buffers, writeVisibility. Either nothing
// writes the buffer, or thread sees it.
var verifyWriteVisibility = helper{"verify_write_visibility", func(c code, x []table) *ir.Value {
	buf, pred, thread, buffers, writes := x[0].value, x[1].value, x[2].value, x[3].value, c.load(x[4])
	sees := c.or(c.is(arith.EQ, writes, 0), c.bit(writes, thread))
	return c.unless(pred, c.or(sees, c.not(c.equal(buffers, buf))))
}}

// verifyReadVisibility: buffer, pred, thread, buffers, readVisibility. Thread sees all
// reads of the buffer that any thread does.
var verifyReadVisibility = helper{"verify_read_visibility", func(c code, x []table) *ir.Value {
	buf, pred, thread, buffers, reads := x[0].value, x[1].value, x[2].value, x[3], c.load(x[4])
	whole := c.anyOf(reads, 1)
	own := c.columnAt(reads, thread)
	sees := ttg.NewConvertLayout(c.b, c.compare(arith.EQ, c.and(own, whole), whole), buffers.typ.Encoding)
	return c.unless(pred, c.or(sees, c.not(c.equal(buffers.value, buf))))
}}

// copyWriteVisibility: thread, mask, pred, writeVisibility. The threads of mask see the
// writes that thread does, and no others.
var copyWriteVisibility = helper{"copy_write_visibility", func(c code, x []table) *ir.Value {
	thread, mask, pred, writes := x[0].value, x[1].value, x[2].value, x[3]
	c.when(pred, func() {
		old, to := c.load(writes), c.all(mask, writes.typ)
		c.replace(writes, c.choose(c.bit(old, thread), c.or(old, to), c.and(old, c.not(to))))
	})
	return nil
}}

// copyReadVisibility: thread, mask, pred, readVisibility. The threads of mask see the
// reads that thread does, and no others.
var copyReadVisibility = helper{"copy_read_visibility", func(c code, x []table) *ir.Value {
	thread, mask, pred, reads := x[0].value, x[1].value, x[2].value, x[3]
	c.when(pred, func() {
		old := c.load(reads)
		c.change(reads, c.columnsOf(reads.typ, mask), c.rows(c.columnAt(old, thread), reads.typ), old)
	})
	return nil
}}

// joinWriteVisibility: mask, from, writeVisibility. The threads of mask see the writes
// that any of from does, too.
var joinWriteVisibility = helper{"join_write_visibility", func(c code, x []table) *ir.Value {
	mask, from, writes := x[0].value, x[1].value, x[2]
	old := c.load(writes)
	sees := c.is(arith.NE, c.and(old, c.all(from, writes.typ)), 0)
	c.change(writes, sees, c.or(old, c.all(mask, writes.typ)), old)
	return nil
}}

// joinReadVisibility: mask, from, readVisibility. The threads of mask see the reads that
// any of from does, too.
var joinReadVisibility = helper{"join_read_visibility", func(c code, x []table) *ir.Value {
	mask, from, reads := x[0].value, x[1].value, x[2]
	old := c.load(reads)
	sees := c.rows(c.anyOf(c.only(c.columnsOf(reads.typ, from), old), 1), reads.typ)
	c.change(reads, c.columnsOf(reads.typ, mask), c.or(old, sees), old)
	return nil
}}

// Elements of commits: 0 for nothing, staged until the next commit, and then the number of
// the group, the last one being 1. Groups from maxGroup on are not told apart.
const (
	staged   = -1
	maxGroup = 127
)

// stageAccessForCommit: buffer, pred, thread, buffers, commits.
var stageAccessForCommit = helper{"stage_access_for_commit", func(c code, x []table) *ir.Value {
	buf, pred, thread, buffers, commits := x[0].value, x[1].value, x[2].value, x[3].value, x[4]
	c.when(pred, func() {
		which := c.and(c.rows(c.equal(buffers, buf), commits.typ), c.column(commits.typ, thread))
		c.change(commits, which, c.num(commits.typ, staged), c.load(commits))
	})
	return nil
}}

// commitAccesses: thread, pred, commits.
var commitAccesses = helper{"commit_accesses", func(c code, x []table) *ir.Value {
	thread, pred, commits := x[0].value, x[1].value, x[2]
	c.when(pred, func() {
		old := c.load(commits)
		older := c.by(arith.AddI, c.by(arith.MinSI, old, maxGroup-1), 1)
		aged := c.choose(c.is(arith.SGT, old, 0), older, old)
		aged = c.choose(c.is(arith.EQ, old, staged), c.num(commits.typ, 1), aged)
		c.change(commits, c.column(commits.typ, thread), aged, old)
	})
	return nil
}}

// clearOutstandingCommitsTransferWrites: thread, mask, number, pred, commits,
// writeVisibility. All but the last number groups of thread are done, and the threads of
// mask see what they wrote.
var clearOutstandingCommitsTransferWrites = helper{"clear_outstanding_commits_transfer_writes", func(c code, x []table) *ir.Value {
	mask, pred, writes := x[1].value, x[3].value, x[5]
	c.when(pred, func() {
		which := ttg.NewConvertLayout(c.b, c.clearCommits(x[0].value, x[2].value, x[4]), writes.typ.Encoding)
		old := c.load(writes)
		c.change(writes, which, c.or(old, c.all(mask, writes.typ)), old)
	})
	return nil
}}

// clearOutstandingCommitsTransferReads: thread, mask, number, pred, commits,
// readVisibility. All but the last number groups of thread are done, and the threads of
// mask see what they read.
var clearOutstandingCommitsTransferReads = helper{"clear_outstanding_commits_transfer_reads", func(c code, x []table) *ir.Value {
	mask, pred, reads := x[1].value, x[3].value, x[5]
	c.when(pred, func() {
		done := c.rows(c.clearCommits(x[0].value, x[2].value, x[4]), reads.typ)
		old := c.load(reads)
		c.change(reads, c.and(done, c.columnsOf(reads.typ, mask)), c.or(old, c.all(mask, reads.typ)), old)
	})
	return nil
}}

// clearCommits clears the groups of thread before the last number of them, and tells
// which buffers these were about.
func (c code) clearCommits(thread, number *ir.Value, commits table) *ir.Value {
	old := c.load(commits)
	done := c.and(c.compare(arith.SGT, old, c.all(number, commits.typ)), c.column(commits.typ, thread))
	c.change(commits, done, c.num(commits.typ, 0), old)
	return c.anyOf(done, 1)
}

// checkOutstandingCommits: buffer, pred, thread, buffers, commits. No thread has an access
// to the buffer under way, thread itself included.
var checkOutstandingCommits = helper{"check_outstanding_commits", func(c code, x []table) *ir.Value {
	buf, pred, buffers, commits := x[0].value, x[1].value, x[3].value, x[4]
	none := c.is(arith.EQ, c.load(commits), 0)
	other := c.rows(c.not(c.equal(buffers, buf)), commits.typ)
	return c.unless(pred, c.or(none, other))
}}

// function is the module's function of h for arguments of these types, made on first use.
func (in *instrumenter) function(h helper, warps int, args []table) *ir.Operation {
	name := fmt.Sprintf("%s%s_nw%d", prefix, h.name, warps)
	types := make([]ir.Type, len(args))
	locs := make([]ir.Location, len(args))
	c := in.module.Context()
	for i, a := range args {
		types[i], locs[i] = a.value.Type(), c.UnknownLoc()
		if a.typ != nil {
			name += "_" + typeName(a.typ)
		}
	}
	if f := in.functions[name]; f != nil {
		return f
	}
	b := ir.NewBuilder(c)
	b.SetToEnd(in.module.Body())
	f := tt.NewFunc(b, name, "private", c.Func(types, nil), nil, locs)
	f.SetAttr(ttg.NumWarpsAttr, c.I32Attr(int64(warps)))
	entry := tt.AsFunc(f).Body().First()
	x := make([]table, len(args))
	for i, a := range args {
		x[i] = table{entry.Arg(i), a.typ}
	}
	b.SetToEnd(entry)
	var results []*ir.Value
	if v := h.emit(code{b}, x); v != nil {
		results = []*ir.Value{v}
		tt.AsFunc(f).SetFunctionType(c.Func(types, []ir.Type{v.Type()}))
	}
	b.Op(tt.Return, results)
	in.functions[name] = f
	return f
}

// typeName is the part of a function's name for a table: "4x64xi64". Its layout follows
// from the number of warps.
func typeName(t *ir.TensorType) string {
	var s strings.Builder
	for _, n := range t.Shape {
		fmt.Fprintf(&s, "%dx", n)
	}
	fmt.Fprintf(&s, "i%d", ir.BitWidth(t.Elem))
	return s.String()
}
