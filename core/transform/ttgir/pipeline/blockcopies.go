package pipeline

import (
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// BlockCopies is how a target copies blocks of tensors that descriptors describe
// into shared memory while the program goes on; the pipeliner asks it what to make
// of a tt.descriptor_load. The bytes of a copy are counted by a barrier, of which
// there is one for each buffer: a phase of a barrier ends when as many bytes have
// come as it was told to expect, and its phases have parity 0, 1, 0, …
//
// All methods make operations at the builder's point. Expect, Start and Wait make
// operations of which Predicate knows each that touches memory.
type BlockCopies interface {
	// Buffer is the layout in shared memory of what load loads.
	Buffer(load *ir.Operation) *encoding.Attr
	// NewBarriers makes n barriers, as one array.
	NewBarriers(b *ir.Builder, n int) *ir.Value
	// EndBarriers ends their life.
	EndBarriers(b *ir.Builder, barriers *ir.Value, n int)
	// Expect has the current phase of barrier number index await so many bytes. It
	// returns the barrier for Start.
	Expect(b *ir.Builder, barriers, index *ir.Value, bytes int64) *ir.Value
	// Start starts copying what load loads into buffer; barrier counts the bytes.
	Start(b *ir.Builder, load *ir.Operation, buffer, barrier *ir.Value)
	// Wait waits until the phase of that parity of barrier number index has ended.
	Wait(b *ir.Builder, barriers, index, phase *ir.Value)
	// NewDescriptors makes memory for n descriptors.
	NewDescriptors(b *ir.Builder, n int) *ir.Value
	// Describe makes the descriptor that made, a tt.make_tensor_descriptor, makes, at place
	// index of such memory. Loads through the one that was there are over.
	Describe(b *ir.Builder, made *ir.Operation, memory, index *ir.Value) *ir.Value
	// Predicate lets op, which Expect, Start or Wait made, do nothing where pred
	// is false. It is false for all other operations.
	Predicate(op *ir.Operation, pred *ir.Value) bool
}

// blockGroup is a group of loads through descriptors that start at one place of a
// iteration and are used at one place, so that they share barriers:
//
//	%a = tt.descriptor_load %d[%i]   {stage 0}
//	%b = tt.descriptor_load %e[%i]   {stage 0}
//	use %a, %b                       {stage 2}
//
// becomes, in the words of BlockCopies,
//
//	expect barriers[insert], the bytes of %a and %b   {stage 0}
//	start %d[%i] into %buffer_a[insert]               {stage 0}
//	start %e[%i] into %buffer_b[insert]               {stage 0}
//	wait barriers[extract], phase                     {stage 2}
//	%a = ttg.local_load %buffer_a[extract]            {stage 2}
//	%b = ttg.local_load %buffer_b[extract]            {stage 2}
//
// There are as many buffers as iterations that a copy is ahead of its use: the copy
// that starts in an iteration overwrites what that iteration has read. Stages that use come
// before those that start (see ScheduleLoops), and between the reads of all
// threads and the copy the lowering puts a barrier of the threads, as between any
// read and write of the same bytes.
type blockGroup struct {
	buffers    int
	start, use slot
	bytes      int64
	last       *ir.Operation // of the loads before the first use
	used       bool          // while the loads are grouped: that use was seen
	barriers   *ir.Value
	barrier    *ir.Value     // that counts the copies of this iteration
	ready      *ir.Operation // waits until they have come
}

// groupBlocks finds the groups and makes their barriers before the loop. A load that comes
// after a use of others shares their barrier unless literal holds, and is then waited for
// with them, too.
func (l *loadLowering) groupBlocks() {
	loads := make(map[*ir.Operation]*asyncLoad)
	for i := range l.loads {
		if a := &l.loads[i]; loadsThroughDescriptor(a.op) {
			loads[a.op] = a
		}
	}
	uses := make(map[*ir.Operation][]*blockGroup) // by what uses one of their loads
	for op := range l.s.loop.Body().Ops() {
		for _, g := range uses[op] {
			g.used = true
		}
		a := loads[op]
		if a == nil {
			continue
		}
		a.group = l.groupOf(a)
		if !a.group.used {
			a.group.last = op
		}
		t := tensors.Type(op.OneResult())
		a.group.bytes += tensors.Elements(t) * axisinfo.ElemBytes(t)
		for _, u := range l.uses(a) {
			uses[u] = append(uses[u], a.group)
		}
	}
	for _, g := range l.groups {
		l.b.At(l.s.loop)
		g.barriers = l.blocks.NewBarriers(l.b, g.buffers)
	}
}

// groupOf is the group that a belongs to, a new one if there is none.
func (l *loadLowering) groupOf(a *asyncLoad) *blockGroup {
	start, use := l.s.slots[a.op], l.s.slots[l.firstUse(a.op)]
	for _, g := range l.groups {
		if !(g.used && l.literal) && g.buffers == a.buffers && g.start == start && g.use == use {
			return g
		}
	}
	g := &blockGroup{buffers: a.buffers, start: start, use: use}
	l.groups = append(l.groups, g)
	return g
}

// uses lists the operations of the loop's body that use what a loads: of a buffer that
// becomes that of the copy, those that use it.
func (l *loadLowering) uses(a *asyncLoad) []*ir.Operation {
	stage := l.s.slots[l.firstUse(a.op)].stage
	var uses []*ir.Operation
	for u := range a.op.OneResult().Users() {
		if !l.isBuffer(u, a.enc, stage) {
			uses = append(uses, forloop.AncestorIn(l.s.loop.Body(), u))
			continue
		}
		for v := range u.OneResult().Users() {
			uses = append(uses, forloop.AncestorIn(l.s.loop.Body(), v))
		}
	}
	return uses
}

// copyBlock replaces one load through a descriptor.
func (l *loadLowering) copyBlock(a asyncLoad, at counters) {
	b, g, op := l.b, a.group, a.op
	b.At(op)
	here := g.start
	l.placeAt(&here)
	if g.barrier == nil {
		b.Loc = l.s.loop.Loc()
		g.barrier = l.blocks.Expect(b, g.barriers, at.insert, g.bytes)
		l.awaitGroup(g, at)
		b.At(op)
		l.placeAt(&here)
	}
	l.blocks.Start(b, op, l.bufferAt(a, at.insert), g.barrier)
	b.SetAfter(g.ready)
	here = g.use
	l.readFrom(op.OneResult(), l.bufferAt(a, at.extract), nil, a.enc, g.use.stage)
	b.OnInsert = nil
	delete(l.s.slots, op)
	op.Erase()
}

// awaitGroup waits for the copies of g once.
func (l *loadLowering) awaitGroup(g *blockGroup, at counters) {
	here := g.use
	next := g.last.Next()
	l.b.SetBefore(next)
	l.placeAt(&here)
	l.blocks.Wait(l.b, g.barriers, at.extract, at.phase)
	g.ready = next.Prev()
}
