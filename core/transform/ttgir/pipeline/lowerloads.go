package pipeline

import (
	"slices"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// loadLowering converts the loads of one scheduled loop that are used in a later
// stage to asynchronous copies to shared memory:
//
//	%v = tt.load %p, %m, %o          {stage 0}
//	use %v                           {stage 2}
//
// becomes
//
//	%t = ttg.async_copy_global_to_local %p, %buffer[insert] mask %m other %o   {stage 0}
//	%g = ttg.async_commit_group tokens %t                                      {stage 0}
//	%w = ttg.async_wait %g                                                     {stage 2}
//	%v = ttg.local_load %buffer[extract] token %w                              {stage 2}
//
// with a buffer for each iteration that a copy is ahead of its use, and one more if
// the use goes on in the next iteration. Loads with equally
// many buffers share the two counters, which the loop carries. Loads through
// descriptors become what blocks makes of them; see blockcopies.go. The load of a number
// becomes that of a tensor of one element first.
type loadLowering struct {
	loopLowering
	s      *schedule
	loads  []asyncLoad
	groups []*blockGroup
}

// asyncLoad is a load that becomes a copy.
type asyncLoad struct {
	op      *ir.Operation
	buffers int
	enc     *encoding.Attr
	buffer  *ir.Value
	group   *blockGroup // of a load through a descriptor
}

// counters say which buffer a group of loads writes and reads in this iteration, and,
// where barriers go with the buffers, the parity of the barrier's phase, else nil.
type counters struct{ insert, extract, phase *ir.Value }

// lowerLoads lowers the loads of s's loop, which is made again when there are
// any; s then describes the new loop. It returns the number of copies.
func lowerLoads(with loopLowering, s *schedule) int {
	l, b := &loadLowering{loopLowering: with, s: s}, with.b
	for op := range s.loop.Body().Ops() {
		if isLoad(op) {
			l.consider(op)
		}
	}
	if len(l.loads) == 0 {
		return 0
	}
	for i := range l.loads {
		if a := &l.loads[i]; a.enc == nil {
			l.widen(a)
		}
	}
	b.Loc = s.loop.Loc()
	for i := range l.loads {
		l.allocate(&l.loads[i])
	}
	counts, order := l.count()
	threads := false // a copy that the program's threads make
	for _, a := range l.loads {
		if a.group != nil {
			l.copyBlock(a, counts[a.buffers])
			continue
		}
		l.copyAsync(a, counts[a.buffers])
		threads = true
	}
	for _, n := range order {
		forloop.Yield(s.loop).AppendOperand(counts[n].insert)
		forloop.Yield(s.loop).AppendOperand(counts[n].extract)
		if counts[n].phase != nil {
			forloop.Yield(s.loop).AppendOperand(counts[n].phase)
		}
	}
	s.addAllDeps()
	b.After(s.loop)
	if threads { // copies that run ahead of the last iteration may still be under way
		newWait(b, 0)
	}
	for _, g := range l.groups {
		l.blocks.EndBarriers(b, g.barriers, g.buffers)
	}
	return len(l.loads)
}

// newWait waits until at most n groups of copies are under way.
func newWait(b *ir.Builder, n int, tokens ...*ir.Value) *ir.Value {
	return b.Create(ttg.AsyncWait, ir.State{
		Operands: tokens, Attrs: []ir.NamedAttr{{Name: "num", Attr: b.Context().I32Attr(int64(n))}},
	}).OneResult()
}

// consider notes a load that is used in a later stage and can be copied.
func (l *loadLowering) consider(op *ir.Operation) {
	a, ok := l.copyOf(op)
	if !ok {
		return
	}
	ahead := l.useStage(op) - l.s.slots[op].stage
	if ahead <= 0 {
		return
	}
	a.buffers = ahead
	if a.enc != nil {
		a.buffers += l.readPastIteration(op, a.enc)
	}
	l.loads = append(l.loads, a)
}

// copyOf is the copy that a load can become, as yet without buffers.
func (l *loadLowering) copyOf(op *ir.Operation) (a asyncLoad, ok bool) {
	a.op = op
	t := tensors.Type(op.OneResult())
	switch {
	case !l.s.has(op) || l.firstUse(op) == nil:
		return a, false
	case t == nil:
		return a, isWideScalar(op)
	case loadsThroughDescriptor(op):
		if l.blocks == nil {
			return a, false
		}
		a.enc = l.blocks.Buffer(op)
		return a, true
	case tensors.Type(tt.AsLoad(op).Ptr()) == nil || l.elems[op]*axisinfo.ElemBytes(op.OneResult().Type()) < smallestCopy:
		return a, false
	}
	a.enc = l.bufferLayout(op)
	return a, copyBytes(t, a.enc) >= smallestCopy
}

// widen makes the load of a number one of a tensor of one element.
func (l *loadLowering) widen(a *asyncLoad) {
	b, c := l.b, l.b.Context()
	use := l.s.slots[l.firstUse(a.op)]
	m := machine.Of(l.s.loop.ParentOf(builtin.Module)).At(l.s.loop)
	enc := encoding.Of(c, layout.BlockedFor([]int64{1}, []int{1}, []int{0}, m.Warps, m.Lanes, m.CTAs))
	load := tt.AsLoad(a.op)
	b.At(a.op)
	here := l.s.slots[a.op]
	l.placeAt(&here)
	for i, v := range a.op.OperandValues() {
		a.op.OperandUse(i).Set(b.Op(tt.Splat, []*ir.Value{v}, c.Tensor([]int64{1}, v.Type(), enc)).OneResult())
	}
	here = use
	b.SetAfter(a.op)
	number := load.Result().Type()
	load.Result().SetType(c.Tensor([]int64{1}, number, enc))
	one := b.Op(tt.Unsplat, []*ir.Value{load.Result()}, number)
	load.Result().ReplaceUsesIf(one.OneResult(), func(u *ir.Use) bool { return u.Owner() != one })
	b.OnInsert = nil
	l.elems[a.op] = 1
	a.enc = l.bufferLayout(a.op)
}

// readPastIteration is the number of buffers, 0 or 1, that are needed since a dot may
// still read that of what op loads, which has the layout enc, when the next iteration
// begins.
func (l *loadLowering) readPastIteration(op *ir.Operation, enc *encoding.Attr) int {
	if addsOther(op) {
		return 0 // another buffer is filled from the threads' registers
	}
	for u := range op.OneResult().Users() {
		if u.Is(ttg.LocalAlloc) && u.OneResult().Type().(*ttg.MemDescType).Encoding == ir.Attribute(enc) && readByRunning(l.unit, ttg.AsLocalAlloc(u).Result()) {
			return 1
		}
	}
	return 0
}

// readByRunning reports whether a dot that runs on reads a buffer or a view of it.
func readByRunning(unit dots.MatrixUnit, buffer *ir.Value) bool {
	for u := range buffer.Users() {
		if made, ok := unit.Made(u); ok && made.RunsOn || sharedmem.IsView(u) && readByRunning(unit, u.OneResult()) {
			return true
		}
	}
	return false
}

// bufferLayout is the layout in shared memory from which op's users read best.
func (l *loadLowering) bufferLayout(op *ir.Operation) *encoding.Attr {
	if t, same := allocsOf(op); t != nil && same {
		if a, ok := t.Encoding.(*encoding.Attr); ok {
			return a
		}
	}
	if enc, ok := sharedForDots(l.unit, op.OneResult()); enc != nil && ok {
		return enc
	}
	t := tensors.Type(op.OneResult())
	return encoding.Of(op.Context(), sharedmem.For(dots.Plain(sharedmem.Order(t)), t))
}

// users are the operations of the loop's body that need what op loads. A buffer
// that is filled from it is a view of the buffer that replaces it.
func (l *loadLowering) users(op *ir.Operation) []*ir.Operation {
	users := topUsers(l.s.loop, op)
	for _, u := range slices.Clone(users) {
		if u.Is(ttg.LocalAlloc) {
			users = append(users, topUsers(l.s.loop, u)...)
		}
	}
	return users
}

// useStage is the first stage in which op's result is used. A use in a later
// cluster, such as a condition at the end of the iteration, counts as one of the next
// stage: when it reads the buffer, the copy of another iteration has begun, which
// needs a buffer of its own. A wait for a dot that reads the buffer until then is a use of
// its stage, if there is no later one.
func (l *loadLowering) useStage(op *ir.Operation) int {
	stage, waits := l.s.stages, 0
	for _, u := range l.users(op) {
		at := l.s.slots[u]
		if awaitsDot(l.unit, u) {
			waits = max(waits, at.stage)
			continue
		}
		if at.cluster.position > l.s.slots[op].cluster.position {
			at.stage++
		}
		stage = min(stage, at.stage)
	}
	return max(stage, waits)
}

// firstUse is the user of op that the pipelined loop executes first, nil when
// the loop does not use it.
func (l *loadLowering) firstUse(op *ir.Operation) *ir.Operation {
	var first *ir.Operation
	for _, u := range topUsers(l.s.loop, op) {
		switch {
		case first == nil:
			first = u
		case l.s.slots[u].before(l.s.slots[first]):
			first = u
		case !l.s.slots[first].before(l.s.slots[u]) && u.IsBeforeInBlock(first):
			first = u
		}
	}
	return first
}

// allocate makes the buffers of one load before the loop, and ends their life
// after it.
func (l *loadLowering) allocate(a *asyncLoad) {
	t := tensors.Type(a.op.OneResult())
	c := l.b.Context()
	mt := ttg.MemDesc(c, ttg.MemDescType{
		Shape: append([]int64{int64(a.buffers)}, t.Shape...), Elem: t.Elem, Encoding: a.enc, Space: ttg.SharedMemory(c), Mutable: true,
	})
	l.b.SetBefore(l.s.loop)
	a.buffer = l.b.Op(ttg.LocalAlloc, nil, mt).OneResult()
	l.b.SetAfter(l.s.loop)
	l.b.Op(ttg.LocalDealloc, []*ir.Value{a.buffer})
}

// count groups the loads through descriptors, and lets the loop carry two counters for
// each number of buffers, which run through the buffers one per iteration, and a parity
// where barriers do so, too. The counters start before the first, so that they are counted
// up where they are used.
func (l *loadLowering) count() (map[int]counters, []int) {
	b, s := l.b, l.s
	var order []int
	withBarriers := make(map[int]bool)
	for _, a := range l.loads {
		if !slices.Contains(order, a.buffers) {
			order = append(order, a.buffers)
		}
		withBarriers[a.buffers] = withBarriers[a.buffers] || loadsThroughDescriptor(a.op)
	}
	i32 := b.Context().I32()
	b.SetBefore(s.loop)
	start, zero, one := arith.Int(b, i32, -1), arith.Int(b, i32, 0), arith.Int(b, i32, 1)
	var inits []*ir.Value
	for _, n := range order {
		inits = append(inits, start, start)
		if withBarriers[n] {
			inits = append(inits, zero)
		}
	}
	var args []*ir.Value
	s.loop, args = forloop.AddCarried(b, s.loop, inits...)
	next := func(size *ir.Value) (v, past *ir.Value) {
		v = arith.Binary(b, arith.AddI, args[0], one)
		past = arith.Compare(b, arith.CmpI, arith.SGE, v, size)
		args = args[1:]
		return arith.NewSelect(b, past, zero, v), past
	}
	groups := make(map[int]counters)
	l.groupBlocks()
	for _, n := range order {
		b.SetToStart(s.loop.Body())
		size := arith.Int(b, i32, int64(n))
		var c counters
		var past *ir.Value
		c.insert, _ = next(size)
		c.extract, past = next(size)
		if withBarriers[n] {
			// A barrier's parity changes each time the counter returns to it.
			c.phase = arith.NewSelect(b, past, arith.Binary(b, arith.XorI, args[0], one), args[0])
			args = args[1:]
		}
		groups[n] = c
	}
	return groups, order
}

// bufferAt is one of the buffers of a.
func (l *loadLowering) bufferAt(a asyncLoad, index *ir.Value) *ir.Value {
	t := *a.buffer.Type().(*ttg.MemDescType)
	t.Shape = t.Shape[1:]
	t.AllocShape = nil
	return l.b.Op(ttg.MemDescIndex, []*ir.Value{a.buffer, index}, ttg.MemDesc(l.b.Context(), t)).OneResult()
}

// placeAt gives what is made from now on, until OnInsert is reset, the place that
// at tells.
func (l *loadLowering) placeAt(at *slot) {
	l.b.OnInsert = l.s.placing(at)
}

// copyAsync replaces one load.
func (l *loadLowering) copyAsync(a asyncLoad, at counters) {
	b, s, op := l.b, l.s, a.op
	start, use := s.slots[op], s.slots[l.firstUse(op)]
	b.At(op)
	here := start
	l.placeAt(&here)
	into := l.bufferAt(a, at.insert)
	load := tt.AsLoad(op)
	operands := []*ir.Value{load.Ptr(), into}
	segments := []int32{1, 1, 0, 0}
	mask, other := load.Mask(), load.Other()
	if mask != nil {
		operands, segments[2] = append(operands, mask), 1
	}
	if other != nil {
		operands, segments[3] = append(operands, other), 1
	}
	attrs := []ir.NamedAttr{{Name: "contiguity", Attr: b.Context().I32Attr(l.elems[op])}}
	for _, name := range []string{"cache", "evict", "isVolatile"} {
		if op.HasAttr(name) {
			attrs = append(attrs, ir.NamedAttr{Name: name, Attr: op.Attr(name)})
		}
	}
	token := b.Create(ttg.AsyncCopy, ir.State{Operands: operands, Segments: segments, Attrs: attrs}).OneResult()
	group := b.Op(ttg.AsyncCommitGroup, []*ir.Value{token}, ttg.AsyncToken(b.Context())).OneResult()

	here = use
	done := newWait(b, 0, group)
	from := l.bufferAt(a, at.extract)
	if !addsOther(op) {
		l.readFrom(op.OneResult(), from, done, a.enc, use.stage)
	} else {
		v := b.Op(ttg.LocalLoad, []*ir.Value{from, done}, op.OneResult().Type()).OneResult()
		op.OneResult().ReplaceAllUsesWith(arith.NewSelect(b, mask, v, other))
	}
	b.OnInsert = nil
	delete(s.slots, op)
	op.Erase()
}

// addsOther reports whether values of a load come from somewhere else than memory: a copy
// puts zeros where the mask is false, and threads replace these in registers.
func addsOther(op *ir.Operation) bool {
	if !op.Is(tt.Load) {
		return false
	}
	v := tt.AsLoad(op)
	return v.Mask() != nil && v.Other() != nil && !arith.IsZero(v.Other())
}

// readFrom lets the users of a loaded value read the buffer in the given stage,
// after the wait that gives token, if one does:
// those that fill a buffer of that layout use it itself, unless it is read in a
// later stage, when other data are in it.
func (l *loadLowering) readFrom(loaded, buffer, token *ir.Value, enc *encoding.Attr, stage int) {
	for u := range loaded.Users() {
		if l.isBuffer(u, enc, stage) {
			u.OneResult().ReplaceAllUsesWith(buffer)
			makeMutable(buffer)
			delete(l.s.slots, u)
			u.Erase()
		}
	}
	if !loaded.HasUses() {
		return
	}
	operands := []*ir.Value{buffer}
	if token != nil {
		operands = append(operands, token)
	}
	loaded.ReplaceAllUsesWith(l.b.Op(ttg.LocalLoad, operands, loaded.Type()).OneResult())
}

// isBuffer reports whether what alloc makes can be a buffer of that layout, which is read
// in the given stage.
func (l *loadLowering) isBuffer(alloc *ir.Operation, enc *encoding.Attr, stage int) bool {
	return alloc.Is(ttg.LocalAlloc) && alloc.OneResult().Type().(*ttg.MemDescType).Encoding == ir.Attribute(enc) && l.readBy(alloc, stage)
}

// readBy reports whether what is filled by alloc is read in the given stage or
// before it only, or before a wait for a dot that reads it.
func (l *loadLowering) readBy(alloc *ir.Operation, stage int) bool {
	users := topUsers(l.s.loop, alloc)
	for _, u := range users {
		if holdsBuffers(l.unit, u) {
			stage = max(stage, l.s.slots[u].stage)
		}
	}
	return !slices.ContainsFunc(users, func(u *ir.Operation) bool { return l.s.slots[u].stage > stage })
}

// makeMutable gives the views of a mutable buffer types that say so.
func makeMutable(buffer *ir.Value) {
	for u := range buffer.Users() {
		if !sharedmem.IsView(u) {
			continue
		}
		t := *u.OneResult().Type().(*ttg.MemDescType)
		t.Mutable = true
		u.OneResult().SetType(ttg.MemDesc(u.Context(), t))
		makeMutable(u.OneResult())
	}
}
