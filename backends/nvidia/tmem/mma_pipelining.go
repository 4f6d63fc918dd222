package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

var _ pipeline.AsyncUnit = Unit{}

// RunsOn implements pipeline.AsyncUnit.
func (u Unit) RunsOn(op *ir.Operation) bool {
	if latencyOf(op) == 0 || !op.Parent().Is(scf.For) {
		return false
	}
	l := u.dotLowering(op)
	return l.prepare() && (l.ring == nil || !l.ring.isShared())
}

// dotLowering makes dot, which is in the body of a loop, asynchronous.
func (u Unit) dotLowering(dot *ir.Operation) *dotLowering {
	return &dotLowering{loop: dot.Parent(), dot: dot, mma: ttng.AsMMA(dot), places: places{dot.Block()}, asScheduled: u.AsScheduled}
}

// latencyOf is for how many stages a matrix multiplication runs on; 0 for all else.
func latencyOf(op *ir.Operation) int64 {
	if ttng.AsMMA(op) == nil {
		return 0
	}
	n, _ := op.IntAttr(tt.SelfLatencyAttr)
	return n
}

// LowerDots implements pipeline.AsyncUnit:
//
//	ttng.tc_gen5_mma %a, %b, %d, …                              {stage 1}
//
// becomes
//
//	ttng.tc_gen5_mma %a, %b, %d, …, barriers[index] {is_async}  {stage 1}
//	ttng.wait_barrier barriers[index], phase deps %a, %b        {stage 2}
//
// with index and phase that the loop carries. The wait comes before what first reads the
// accumulator, and before what overwrites an operand. Where the accumulator of an iteration
// is still read while the next one adds up, there are several, and each store to it, or
// multiplication that begins a sum, takes the next one.
func (u Unit) LowerDots(b *ir.Builder, loop *ir.Operation, filled func(*ir.Operation) pipeline.Filling) *ir.Operation {
	var dots []*ir.Operation
	for op := range loop.Body().Ops() {
		if latencyOf(op) > 0 {
			dots = append(dots, op)
		}
	}
	for _, dot := range dots {
		l := u.dotLowering(dot)
		l.b, l.filled = b, filled
		if l.prepare() {
			l.lower()
		}
		dot.SetAttr(tt.SelfLatencyAttr, nil)
		loop = l.loop
	}
	return loop
}

// dotLowering makes one matrix multiplication asynchronous.
type dotLowering struct {
	places
	b      *ir.Builder
	loop   *ir.Operation
	dot    *ir.Operation
	mma    ttng.MMA
	filled func(*ir.Operation) pipeline.Filling // see pipeline.AsyncUnit

	asScheduled bool // see Unit

	alloc        *ir.Operation
	accumulators int64 // how many, one after the other
	ring         *accumulatorRing
	wait         struct{ stage, cluster int64 }
}

// prepare looks at how the loop uses the accumulator; false if the multiplication cannot
// run on.
func (l *dotLowering) prepare() bool {
	l.alloc = l.mma.D().Def()
	if !ttng.IsTmemAlloc(l.alloc) {
		return false
	}
	if _, _, ok := l.at(l.dot); !ok {
		return false
	}
	var first, last *ir.Operation
	for u := range ttng.AsTmemAlloc(l.alloc).Result().Users() {
		top := forloop.AncestorIn(l.loop.Body(), u)
		if top == nil {
			continue
		}
		if _, _, ok := l.at(top); !ok {
			return false
		}
		if first == nil || l.before(top, first) {
			first = top
		}
		if last == nil || l.before(last, top) {
			last = top
		}
	}
	from, fromCluster, _ := l.at(first)
	to, toCluster, _ := l.at(last)
	l.accumulators = to - from
	// What is read later in the old iteration, and no earlier in the new one, needs another.
	if fromCluster < toCluster || fromCluster == toCluster && first.IsBeforeInBlock(last) {
		l.accumulators++
	}
	if l.accumulators > 1 {
		l.ring = newRing(l.alloc, l.loop, l.asScheduled)
		return l.ring != nil
	}
	return true
}

// lower adds the barriers, the wait, and what the loop carries for them.
func (l *dotLowering) lower() {
	b := l.b
	l.placeWait()
	stage, _, _ := l.at(l.dot)
	n := l.wait.stage - stage + 1
	b.At(l.loop)
	i32 := b.Context().I32()
	zero, one := arith.Int(b, i32, 0), arith.Int(b, i32, 1)
	inits := []*ir.Value{zero}
	if n > 1 {
		inits = append(inits, zero)
	}
	if l.ring != nil {
		inits = append(inits, l.ring.start(b))
	}
	barriers := tma.Copies{}.NewBarriers(b, int(n))
	var args []*ir.Value
	l.loop, args = forloop.AddCarried(b, l.loop, inits...)
	l.body = l.loop.Body()
	b.After(l.loop)
	tma.Copies{}.EndBarriers(b, barriers, int(n))

	phase, index := args[0], zero
	if n > 1 {
		index = args[1]
	}
	barrier := l.arrive(barriers, index)
	l.await(barrier, phase)
	l.advance(phase, index, zero, one, n)
	if l.ring != nil {
		l.ring.multiply(b, l.places, l.loop, args[len(args)-1], zero, one, l.accumulators)
	}
}

// arrive has the multiplication arrive at a barrier, and returns that.
func (l *dotLowering) arrive(barriers, index *ir.Value) *ir.Value {
	b := l.b
	b.At(l.dot)
	b.OnInsert = l.like(l.dot)
	defer func() { b.OnInsert = nil }()
	barrier := tma.Barrier(b, barriers, index)
	ttng.AddCompletionBarrier(l.mma, barrier, entryTrue(b))
	l.mma.SetIsAsync(true)
	return barrier
}

// await waits for the multiplication after it, and before loads under conditions that come
// before that.
func (l *dotLowering) await(barrier, phase *ir.Value) {
	b := l.b
	operands := []*ir.Value{barrier, phase, l.mma.A(), l.mma.B()}
	if s, ok := l.mma.(ttng.TcGen5MmaScaledOp); ok {
		operands = append(operands, s.AScale(), s.BScale())
	}
	state := ir.State{Operands: operands, Segments: []int32{1, 1, 0, int32(len(operands) - 2)}}
	def := ttng.Def("wait_barrier")
	b.After(l.dot)
	l.put(b.Create(def, state), l.wait.stage, l.wait.cluster)
	for u := range ttng.AsTmemAlloc(l.alloc).Result().Users() {
		top := forloop.AncestorIn(l.body, u)
		if !ttng.IsTmemLoad(u) || top == nil || top == u {
			continue
		}
		if stage, _, _ := l.at(top); stage < l.wait.stage {
			b.At(u)
			b.Create(def, state)
		}
	}
}

// advance counts barriers, and phases each time the first comes again, for the next
// iteration.
func (l *dotLowering) advance(phase, index, zero, one *ir.Value, n int64) {
	b, yield := l.b, forloop.Yield(l.loop)
	b.At(l.dot)
	var count *ir.Value
	if index != zero {
		count = arith.Int(b, b.Context().I32(), n)
	}
	b.SetBefore(yield)
	b.OnInsert = l.like(l.dot)
	defer func() { b.OnInsert = nil }()
	next := arith.Binary(b, arith.XorI, phase, one)
	if index == zero {
		yield.AppendOperand(next)
		return
	}
	nextIndex, past := increment(b, index, zero, one, count)
	yield.AppendOperand(arith.NewSelect(b, past, next, phase))
	yield.AppendOperand(nextIndex)
}

// increment is counter plus one, or zero where that is count, which past says.
func increment(b *ir.Builder, counter, zero, one, count *ir.Value) (next, past *ir.Value) {
	sum := arith.Binary(b, arith.AddI, counter, one)
	past = arith.Compare(b, arith.CmpI, arith.SGE, sum, count)
	return arith.NewSelect(b, past, zero, sum), past
}

// placeWait chooses the place of the wait: self-latency later, or right before what needs
// the result or overwrites an operand first.
func (l *dotLowering) placeWait() {
	stage, cluster, _ := l.at(l.dot)
	l.wait.stage, l.wait.cluster = stage+latencyOf(l.dot), cluster
	var first *ir.Operation
	note := func(op *ir.Operation) {
		if _, _, ok := l.at(op); ok && (first == nil || l.before(op, first)) {
			first = op
		}
	}
	for u := range ttng.AsTmemAlloc(l.alloc).Result().Users() {
		if ttng.IsTmemLoad(u) && u.Block() == l.dot.Block() {
			note(u)
		}
	}
	o := operandsOf(l.dot, l.loop, func(alloc *ir.Operation) bool { return l.filled(alloc) == pipeline.Ahead })
	for _, alloc := range o.late {
		load := loadFor(alloc)
		if l.filled(alloc) == pipeline.ByCopy {
			note(load)
			continue
		}
		store := l.hoistBuffer(alloc)
		if load != nil && l.loop.IsAncestorOf(load) && l.isRightBefore(load, store) {
			store = load
		}
		note(store)
	}
	if first == nil || !o.known {
		return
	}
	if l.before(first, l.dot) {
		l.wait.stage = stage + 1
	} else {
		l.wait.stage, _, _ = l.at(first)
	}
	l.wait.cluster = l.clusterBefore(first)
}

// isRightBefore reports whether a is executed before b in the same iteration of the pipelined
// loop: what comes before a comes before b.
func (l *dotLowering) isRightBefore(a, b *ir.Operation) bool {
	sa, _, ok := l.at(a)
	sb, _, _ := l.at(b)
	return ok && sa == sb && l.before(a, b)
}

// hoistBuffer has a buffer that the loop makes of a tensor be made before the loop and
// written there, since the multiplication still reads it when the next iteration begins.
// It returns what writes it.
func (l *dotLowering) hoistBuffer(def *ir.Operation) *ir.Operation {
	inTensorMemory := ttng.IsTmemAlloc(def)
	if !inTensorMemory && !def.Is(ttg.LocalAlloc) || def.NumOperands() == 0 || !l.loop.IsAncestorOf(def) {
		return def
	}
	b := l.b
	var old, src *ir.Value
	if inTensorMemory {
		old, src = ttng.AsTmemAlloc(def).Result(), ttng.AsTmemAlloc(def).Src()
	} else {
		old, src = ttg.AsLocalAlloc(def).Result(), ttg.AsLocalAlloc(def).Src()
	}
	t := *old.Type().(*ttg.MemDescType)
	t.Mutable = true
	b.At(l.loop)
	b.Loc = def.Loc()
	var buffer *ir.Value
	if inTensorMemory {
		buffer = ttng.NewTmemAlloc(b, ttg.MemDesc(b.Context(), t), nil, false).Result()
	} else {
		buffer = b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(b.Context(), t)).OneResult()
	}
	b.At(def)
	b.OnInsert = l.like(def)
	defer func() { b.OnInsert = nil }()
	var store *ir.Operation
	if inTensorMemory {
		store = ttng.NewTmemStore(b, src, buffer, nil, entryTrue(b)).Op
	} else {
		store = b.Op(ttg.LocalStore, []*ir.Value{src, buffer})
	}
	old.ReplaceAllUsesWith(buffer)
	makeMutable(buffer)
	def.Erase()
	return store
}

// makeMutable has the views of a buffer be mutable, as it is.
func makeMutable(buffer *ir.Value) {
	for u := range buffer.Users() {
		if ttg.Viewed(u) != buffer {
			continue
		}
		t := *u.OneResult().Type().(*ttg.MemDescType)
		t.Mutable = true
		u.OneResult().SetType(ttg.MemDesc(u.Context(), t))
		makeMutable(u.OneResult())
	}
}

// Awaits implements pipeline.AsyncUnit: such a wait names the buffers of the dot.
func (Unit) Awaits(op *ir.Operation) bool {
	return ttng.Is(op, "wait_barrier") && len(ttng.AsWaitBarrier(op).Deps()) > 0
}

// CanPredicate implements pipeline.AsyncUnit. What accesses tensor memory takes part if
// tokens say in which order, or barriers or a ring of accumulators do; loads read what is
// there.
func (Unit) CanPredicate(op *ir.Operation) bool {
	switch m := ttng.AsMMA(op); {
	case m != nil:
		return m.IsAsync() || m.D().DefIs(ttg.MemDescIndex)
	case ttng.IsTmemLoad(op):
		v := ttng.AsTmemLoad(op)
		return v.Dep() != nil || v.Src().DefIs(ttg.MemDescIndex)
	case ttng.IsTmemStore(op):
		v := ttng.AsTmemStore(op)
		return v.Dep() != nil || v.Dst().DefIs(ttg.MemDescIndex)
	}
	return ttng.AsPredicated(op) != nil || ttng.Is(op, "fence_async_shared")
}

// Predicate implements pipeline.AsyncUnit.
func (Unit) Predicate(b *ir.Builder, op *ir.Operation, pred *ir.Value) bool {
	v := ttng.AsPredicated(op)
	if v == nil {
		return false
	}
	b.SetBefore(op)
	if have := v.Pred(); have != nil {
		if n, ok := arith.ConstantInt(have); !ok || n&1 == 0 {
			pred = arith.Binary(b, arith.AndI, have, pred)
		}
	}
	v.SetPred(pred)
	return true
}
