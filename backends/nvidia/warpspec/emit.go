package warpspec

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// computeRegisters is how many registers a thread of a partition that computes asks for.
const computeRegisters = 232

// threads is how many a warpgroup has.
const threads = 32 * warpgroup

// apply divides the function.
func (p *plan) apply() {
	c := p.f.Context()
	c.Load(ttng.Dialect())
	b := ir.NewBuilder(c)
	end := p.body.Terminator()
	var old []*ir.Operation
	for op := range p.body.Ops() {
		if op != end {
			old = append(old, op)
		}
	}
	b.At(end)
	b.Loc = p.groups[0].head().Loc()
	for _, g := range p.groups {
		p.makeRing(b, g)
	}
	b.Op(ttng.Def("fence_async_shared"), nil)
	ttng.AsFenceAsyncShared(end.Prev()).SetBCluster(false)
	b.Op(gpu.Barrier, nil)

	split := b.Create(ttg.WarpSpecialize, ir.State{Types: []ir.Type{}, Regions: 2, Attrs: []ir.NamedAttr{{Name: "partitionNumWarps", Attr: c.I32Array()}}})
	v := ttg.AsWarpSpecialize(split)
	holder := ir.NewOperation(ttg.WarpSpecializePartitions, &ir.State{Ctx: c, Loc: b.Loc, Types: []ir.Type{}})
	v.PartitionOpHolder().AddBlock().Append(holder)
	b.SetToEnd(v.DefaultRegion().AddBlock())
	newEmitter(p, b, p.producer, 0).body(p.body)
	b.Op(ttg.WarpYield, nil)
	var warps, registers []int64
	for half := range p.halves {
		b.SetToEnd(holder.AddRegion().AddBlock())
		newEmitter(p, b, p.consumer, half).body(p.body)
		b.Op(ttg.WarpReturn, nil)
		warps, registers = append(warps, warpgroup), append(registers, computeRegisters)
	}
	p.halveArguments()
	v.SetPartitionNumWarps(warps)
	v.SetRequestedRegisters(registers)
	capture(v, holder)
	for i := len(old) - 1; i >= 0; i-- {
		old[i].Erase()
	}
}

// halveArguments has the launch make descriptors of half the block.
func (p *plan) halveArguments() {
	c := p.f.Context()
	sig := tt.AsFunc(p.f).FunctionType().(*ir.FunctionType)
	in := slices.Clone(sig.In)
	for i, arg := range p.body.Args() {
		if d, ok := p.dims[arg]; ok {
			arg.SetType(ttg.Part(c, arg.Type(), d, 2))
			in[i] = arg.Type()
		}
	}
	tt.AsFunc(p.f).SetFunctionType(c.Func(in, sig.Out))
}

// capture hands partitions what they use of the function.
func capture(split ttg.WarpSpecializeOp, holder *ir.Operation) {
	var outside []*ir.Value
	seen := make(map[*ir.Value]bool)
	uses := make(map[*ir.Region]map[*ir.Value][]*ir.Use)
	for _, r := range holder.Regions() {
		uses[r] = make(map[*ir.Value][]*ir.Use)
		for op := range r.First().Ops() {
			ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
				for i, v := range o.Operands() {
					u := o.OperandUse(i)
					if b := v.Block(); b != nil && b.Parent() != nil && holder.IsAncestorOf(b.Parent()) {
						continue
					}
					if !seen[v] {
						seen[v] = true
						outside = append(outside, v)
					}
					uses[r][v] = append(uses[r][v], u)
				}
				return ir.Advance
			})
		}
	}
	split.SetExplicitCaptures(outside)
	for _, r := range holder.Regions() {
		for _, v := range outside {
			arg := r.First().AddArg(v.Type(), v.Loc())
			for _, u := range uses[r][v] {
				u.Set(arg)
			}
		}
	}
}

// barriersType is that of n mbarriers, or of one if n is 0.
func barriersType(c *ir.Context, n int) ir.Type {
	shape := []int64{1}
	if n > 0 {
		shape = []int64{int64(n), 1}
	}
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: shape, Elem: c.Int(64), Space: ttg.SharedMemory(c), Mutable: true,
		Encoding: encoding.Of(c, &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{0}}),
	})
}

func i32(b *ir.Builder, n int64) *ir.Value { return arith.Int(b, b.Context().I32(), n) }

func count(b *ir.Builder, name string, n int64) []ir.NamedAttr {
	return []ir.NamedAttr{{Name: name, Attr: b.Context().I32Attr(n)}}
}

// bufferType is that of one buffer of a load's ring.
func bufferType(load *ir.Operation) *ttg.MemDescType {
	c := load.Context()
	t := load.OneResult().Type().(*ir.TensorType)
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: t.Shape, Elem: t.Elem, Encoding: tma.Copies{}.Buffer(load), Space: ttg.SharedMemory(c), Mutable: true,
	})
}

// makeRing allocates the buffers and barriers of a group. A buffer is full when the
// bytes that one arrival announces have come, and empty when all threads that compute
// have arrived.
func (p *plan) makeRing(b *ir.Builder, g *group) {
	c := b.Context()
	for _, l := range g.loads {
		t := *bufferType(l)
		t.Shape, t.AllocShape = append([]int64{int64(g.buffers)}, t.Shape...), nil
		g.rings[l] = b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(c, t)).OneResult()
	}
	barriers := func(arrivals int64) *ir.Value {
		all := b.Op(ttg.LocalAlloc, nil, barriersType(c, g.buffers)).OneResult()
		for i := range g.buffers {
			b.Create(ttng.Def("init_barrier"), ir.State{Operands: []*ir.Value{barrierAt(b, all, i32(b, int64(i)))}, Attrs: count(b, "count", arrivals)})
		}
		return all
	}
	g.full, g.empty = barriers(1), barriers(int64(threads*p.halves))
}

// barrierAt is one of an array of barriers.
func barrierAt(b *ir.Builder, all, slot *ir.Value) *ir.Value {
	return b.Op(ttg.MemDescIndex, []*ir.Value{all, slot}, barriersType(b.Context(), 0)).OneResult()
}

func wait(b *ir.Builder, barrier, phase *ir.Value) {
	b.Create(ttng.Def("wait_barrier"), ir.State{Operands: []*ir.Value{barrier, phase}, Segments: []int32{1, 1, 0, 0}})
}

// place is where in a ring a task is.
type place struct{ slot, phase *ir.Value }

// emitter makes the region of a task.
type emitter struct {
	p     *plan
	b     *ir.Builder
	t     *task
	m     *ir.Mapping
	half  int
	at    map[*group]place
	views map[*ir.Operation]*ir.Value // of a load's buffer that is full
}

func newEmitter(p *plan, b *ir.Builder, t *task, half int) *emitter {
	return &emitter{p: p, b: b, t: t, m: ir.NewMapping(), half: half, at: make(map[*group]place), views: make(map[*ir.Operation]*ir.Value)}
}

// dim is the dimension along which v is halved in this region, and whether it is.
func (e *emitter) dim(v *ir.Value) (int, bool) {
	if !e.t.consumes {
		return 0, false
	}
	d, ok := e.p.dims[v]
	return d, ok
}

// body makes what the function does, beginning with the places in all rings.
func (e *emitter) body(body *ir.Block) {
	for _, g := range e.p.groups {
		e.at[g] = place{i32(e.b, 0), i32(e.b, 0)}
	}
	e.block(body)
}

// block makes what the task needs of a block.
func (e *emitter) block(src *ir.Block) {
	for op := range src.Ops() {
		if op.IsTerminator() {
			break
		}
		e.b.Loc = op.Loc()
		switch g := e.p.groupOf[op]; {
		case g != nil && e.t.consumes:
			if op == g.head() {
				e.fill(g)
			}
			if e.needsTensor(op) {
				e.m.Map(op.OneResult(), e.b.Op(ttg.LocalLoad, []*ir.Value{e.views[op]}, e.typ(op.OneResult())).OneResult())
			}
		case g != nil:
			e.copy(g, op)
		case !e.t.needed[op]:
		case op.Is(scf.For):
			e.loop(op)
		case op.Is(scf.If):
			e.condition(op)
		default:
			e.operation(op)
		}
		if e.t.consumes {
			for _, g := range e.p.groups {
				if g.last == op && g.flies == nil {
					e.release(g, e.at[g].slot, nil)
				}
			}
		}
	}
	for _, g := range e.p.groups {
		if g.block == src && src != e.p.body {
			e.advance(g)
		}
	}
}

// typ is the type of v in this region.
func (e *emitter) typ(v *ir.Value) ir.Type {
	if d, ok := e.dim(v); ok {
		return ttg.Part(e.b.Context(), v.Type(), d, 2)
	}
	return v.Type()
}

// advance moves on in a ring.
func (e *emitter) advance(g *group) {
	b, at := e.b, e.at[g]
	next := arith.Binary(b, arith.AddI, at.slot, i32(b, 1))
	around := arith.Compare(b, arith.CmpI, arith.EQ, next, i32(b, int64(g.buffers)))
	turned := arith.Binary(b, arith.XorI, at.phase, i32(b, 1))
	e.at[g] = place{arith.NewSelect(b, around, i32(b, 0), next), arith.NewSelect(b, around, turned, at.phase)}
}

// copy starts the copy of a load, the first of its group when the buffers are empty.
func (e *emitter) copy(g *group, load *ir.Operation) {
	b, at := e.b, e.at[g]
	if load == g.head() {
		wait(b, barrierAt(b, g.empty, at.slot), arith.Binary(b, arith.XorI, at.phase, i32(b, 1)))
		// One warp copies: without this the others could be so late at a wait that the
		// phase after the next has begun, which looks the same.
		b.Op(gpu.Barrier, nil)
		bytes := int64(0)
		for _, l := range g.loads {
			t := l.OneResult().Type().(*ir.TensorType)
			bytes += t.NumElements() * int64(ir.BitWidth(t.Elem)) / 8
		}
		tma.Copies{}.Expect(b, g.full, at.slot, bytes)
	}
	made := load.Clone(e.m)
	b.Insert(made)
	tma.Copies{}.Start(b, made, e.buffer(g, load, at.slot), barrierAt(b, g.full, at.slot))
	made.Erase()
}

// buffer is the buffer of a load in a slot of its ring.
func (e *emitter) buffer(g *group, load *ir.Operation, slot *ir.Value) *ir.Value {
	return e.b.Op(ttg.MemDescIndex, []*ir.Value{g.rings[load], slot}, bufferType(load)).OneResult()
}

// fill waits until the buffers of a group are full.
func (e *emitter) fill(g *group) {
	b, at := e.b, e.at[g]
	wait(b, barrierAt(b, g.full, at.slot), at.phase)
	for _, l := range g.loads {
		view := e.buffer(g, l, at.slot)
		if d, ok := e.dim(l.OneResult()); ok {
			t := *bufferType(l)
			whole := t.Shape
			part := ttg.Part(b.Context(), &t, d, 2).(*ttg.MemDescType)
			t.Shape, t.AllocShape = part.Shape, whole
			offsets := make([]int64, len(whole))
			offsets[d] = int64(e.half) * part.Shape[d]
			view = b.Create(ttg.MemDescSubslice, ir.State{
				Operands: []*ir.Value{view}, Types: []ir.Type{ttg.MemDesc(b.Context(), t)},
				Attrs: []ir.NamedAttr{{Name: "offsets", Attr: b.Context().I32Array(offsets...)}},
			}).OneResult()
		}
		e.views[l] = view
	}
}

// release says that the threads of this region have read a slot of a ring; pred, which
// may be nil, says whether they have.
func (e *emitter) release(g *group, slot, pred *ir.Value) {
	operands := []*ir.Value{barrierAt(e.b, g.empty, slot)}
	if pred != nil {
		operands = append(operands, pred)
	}
	e.b.Create(ttng.Def("arrive_barrier"), ir.State{Operands: operands, Attrs: count(e.b, "count", threads)})
}

// needsTensor reports whether what is loaded is needed in registers.
func (e *emitter) needsTensor(load *ir.Operation) bool {
	for u := range load.OneResult().Users() {
		if e.t.needed[u] && !(u.Is(ttg.LocalAlloc) && sameBuffer(u, load)) {
			return true
		}
	}
	return false
}

// sameBuffer reports whether alloc makes just such a buffer as the load's ring has.
func sameBuffer(alloc, load *ir.Operation) bool {
	return alloc.OneResult().Type().(*ttg.MemDescType).Encoding == ir.Attribute(tma.Copies{}.Buffer(load))
}

// previous is the slot before one of a ring.
func (e *emitter) previous(g *group, slot *ir.Value) *ir.Value {
	b := e.b
	first := arith.Compare(b, arith.CmpI, arith.EQ, slot, i32(b, 0))
	return arith.NewSelect(b, first, i32(b, int64(g.buffers-1)), arith.Binary(b, arith.SubI, slot, i32(b, 1)))
}

// operation makes op in this region.
func (e *emitter) operation(op *ir.Operation) {
	b := e.b
	if op.Is(ttg.LocalAlloc) {
		if src := ttg.AsLocalAlloc(op).Src(); src != nil && src.Def() != nil && e.p.groupOf[src.Def()] != nil && sameBuffer(op, src.Def()) {
			e.m.Map(op.OneResult(), e.views[src.Def()])
			return
		}
	}
	if e.half > 0 && ir.HasEffect(op, ir.Effects.Writes) && !e.touched(op) {
		return // the first half does it
	}
	made := op.Clone(e.m)
	for i, r := range op.Results() {
		made.Result(i).SetType(e.typ(r))
	}
	e.halve(op, made)
	b.Insert(made)
	switch {
	case made.Is(ttg.MemDescTrans):
		retype(made)
	case ttng.Is(made, "warp_group_dot"):
		e.dot(op, made)
	}
}

// touched reports whether an operand of op is halved.
func (e *emitter) touched(op *ir.Operation) bool {
	s := splitter{dims: e.p.dims}
	return s.touches(op)
}

// retype gives a view of a ring's buffer its type.
func retype(view *ir.Operation) {
	src := ttg.AsMemDescTrans(view).Src().Type().(*ttg.MemDescType)
	t := *view.OneResult().Type().(*ttg.MemDescType)
	t.Mutable = src.Mutable
	t.AllocShape = nil
	if order := ttg.AsMemDescTrans(view).Order(); len(src.AllocShape) == len(order) {
		for _, d := range order {
			t.AllocShape = append(t.AllocShape, src.AllocShape[d])
		}
	}
	view.OneResult().SetType(ttg.MemDesc(view.Context(), t))
}

// halve changes what of an operation beside its types depends on the half.
func (e *emitter) halve(op, made *ir.Operation) {
	b := e.b
	switch {
	case op.NumResults() == 1 && op.Is(arith.Constant):
		if _, ok := e.dim(op.OneResult()); ok {
			dense := arith.ConstantValue(op.OneResult()).(*ir.DenseElementsAttr)
			arith.AsConstant(made).SetValue(b.Context().DenseSplat(made.OneResult().Type(), dense.Values[0]))
		}
	case op.Is(tt.MakeRange):
		if _, ok := e.dim(op.OneResult()); ok {
			v := tt.AsMakeRange(made)
			half := (v.End() - v.Start()) / 2
			v.SetStart(v.Start() + int64(e.half)*half)
			v.SetEnd(v.Start() + half)
		}
	case op.Is(tt.DescriptorStore):
		v := tt.AsDescriptorStore(op)
		if d, ok := e.dim(v.Src()); ok {
			half := ttg.ShapeOf(v.Src().Type())[d] / 2
			if e.half > 0 {
				to := tt.AsDescriptorStore(made)
				to.SetIndicesAt(d, arith.Binary(b, arith.AddI, to.IndicesAt(d), i32(b, half)))
			}
		}
	}
}

// dot has a dot that reads a ring wait for itself, or for the one before.
func (e *emitter) dot(op, made *ir.Operation) {
	b := e.b
	var flying []*group
	reads := false
	for _, g := range e.p.groups {
		for _, u := range g.users {
			reads = reads || u == op
		}
		if g.flies == op {
			flying = append(flying, g)
		}
	}
	if !reads {
		return
	}
	ttng.AsWarpGroupDot(made).SetIsAsync(true)
	pending := int64(0)
	if len(flying) > 0 {
		pending = 1
	}
	e.m.Map(op.OneResult(), dotWait(b, made.OneResult(), pending))
	if len(flying) == 0 {
		return
	}
	// The dot of the iteration before has read.
	loop := b.Block().Parent()
	later := arith.Compare(b, arith.CmpI, arith.SGT, scf.InductionVar(loop), scf.LowerBound(loop))
	for _, g := range flying {
		e.release(g, e.previous(g, e.at[g].slot), later)
	}
}

// dotWait waits until so many dots are in flight.
func dotWait(b *ir.Builder, v *ir.Value, pending int64) *ir.Value {
	return b.Create(ttng.Def("warp_group_dot_wait"), ir.State{Operands: []*ir.Value{v}, Types: []ir.Type{v.Type()}, Attrs: count(b, "pendings", pending)}).OneResult()
}

// within are the groups whose loads a loop does.
func (e *emitter) within(loop *ir.Operation) []*group {
	var out []*group
	for _, g := range e.p.groups {
		if loop.IsAncestorOf(g.head()) {
			out = append(out, g)
		}
	}
	return out
}

// loop makes a loop, which carries the places in rings, too.
func (e *emitter) loop(op *ir.Operation) {
	b := e.b
	var kept []int
	var inits []*ir.Value
	for i, v := range scf.Inits(op) {
		if e.t.carried[op][i] {
			kept, inits = append(kept, i), append(inits, e.m.Lookup(v))
		}
	}
	groups := e.within(op)
	for _, g := range groups {
		inits = append(inits, e.at[g].slot, e.at[g].phase)
	}
	made := scf.NewFor(b, e.m.Lookup(scf.LowerBound(op)), e.m.Lookup(scf.UpperBound(op)), e.m.Lookup(scf.Step(op)), inits...)
	for _, a := range op.Attrs() {
		if a.Name != tt.WarpSpecializeAttr {
			made.SetAttr(a.Name, a.Attr)
		}
	}
	made.SetAttr(tt.NumStagesAttr, b.Context().I32Attr(0)) // the loop is pipelined
	point := b.Save()
	b.SetToEnd(made.Body())
	e.m.Map(scf.InductionVar(op), scf.InductionVar(made))
	for k, i := range kept {
		e.m.Map(scf.IterArg(op, i), scf.IterArg(made, k))
	}
	e.take(groups, func(k int) *ir.Value { return scf.IterArg(made, len(kept)+k) })
	e.block(op.Body())
	var yields []*ir.Value
	for _, i := range kept {
		yields = append(yields, e.m.Lookup(op.Body().Terminator().Operand(i)))
	}
	for _, g := range groups {
		yields = append(yields, e.at[g].slot, e.at[g].phase)
	}
	scf.NewYield(b, yields...)
	b.Restore(point)
	for k, i := range kept {
		e.m.Map(op.Result(i), made.Result(k))
	}
	e.take(groups, func(k int) *ir.Value { return made.Result(len(kept) + k) })
	if e.t.consumes {
		e.land(op, made, groups)
	}
}

// take has the places in rings be given values.
func (e *emitter) take(groups []*group, value func(int) *ir.Value) {
	for k, g := range groups {
		e.at[g] = place{value(2 * k), value(2*k + 1)}
	}
}

// land waits after a loop for the dot that the last iteration left in flight.
func (e *emitter) land(op, made *ir.Operation, groups []*group) {
	b := e.b
	waited := false
	for _, g := range groups {
		if g.flies == nil || g.block != op.Body() {
			continue
		}
		if !waited {
			i := scf.CarriedIndex(ttng.AsWarpGroupDot(g.flies).C())
			e.m.Map(op.Result(i), dotWait(b, e.m.Lookup(op.Result(i)), 0))
			waited = true
		}
		ran := arith.Compare(b, arith.CmpI, arith.SLT, scf.LowerBound(made), scf.UpperBound(made))
		e.release(g, e.previous(g, e.at[g].slot), ran)
	}
}

// condition makes a condition without results.
func (e *emitter) condition(op *ir.Operation) {
	b := e.b
	made := scf.NewIf(b, e.m.Lookup(scf.AsIf(op).Condition()), false)
	point := b.Save()
	b.SetToEnd(scf.AsIf(made).ThenRegion().First())
	e.block(scf.AsIf(op).ThenRegion().First())
	scf.NewYield(b)
	b.Restore(point)
}
