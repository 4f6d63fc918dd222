package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
)

// LowerAref makes mbarriers of asynchronous references: for each buffer of one, a
// barrier that says that it is empty and one that it is full.
//
//	%m, %t = nvws.aref.put.enter %a[%s, %p]
//	ttg.local_store %x, %m
//	nvws.aref.put.exit %a[%s], %t [#nvws.async_op<none>]
//
// becomes
//
//	ttng.wait_barrier %empty[%s], %p
//	ttg.local_store %x, %buffers[%s]
//	ttng.arrive_barrier %full[%s], 1
//
// and what reads the buffer waits for full and arrives at empty. Before that,
// references that one partition fills by TMA and one operation reads become one, those
// that TMA fills have num-stages buffers, and nvws-assign-stage-phase numbers all.
// Copies by TMA arrive by themselves; dots do by a commit.
var LowerAref = &pass.Pass{
	Name:    "nvws-lower-aref",
	Doc:     "make barriers of asynchronous references",
	Example: lowerArefExample,
	Options: []pass.Option{{Name: "num-stages", Doc: "buffers of references that TMA fills", Default: 3}},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		combineRefs(b, r.Module)
		for _, a := range references(r.Module) {
			if filledByTMA(a) {
				multiply(b, nvws.AsArefCreate(a), int64(r.Int("num-stages")))
			}
		}
		assignStages(b, r.Module)
		refs := references(r.Module)
		for _, a := range refs {
			if err := lowerRef(b, a); err != nil {
				return err
			}
		}
		r.Count("references", len(refs))
		return nil
	},
}

// filledByTMA reports whether a load by a descriptor fills a buffer of the reference.
func filledByTMA(op *ir.Operation) bool {
	for u := range nvws.AsArefCreate(op).Result().Users() {
		if u.Is(nvws.Def("aref.put.enter")) && len(loadsOf(u)) > 0 {
			return true
		}
	}
	return false
}

// loadsOf lists the loads by descriptors into the buffers that op, an enter, gives.
func loadsOf(op *ir.Operation) (loads []*ir.Operation) {
	for _, v := range asEnter(op).Buffers() {
		for u := range v.Users() {
			if u.Is(nvws.Def("descriptor_load")) || u.Is(nvws.Def("descriptor_gather")) {
				loads = append(loads, u)
			}
		}
	}
	slices.SortStableFunc(loads, func(x, y *ir.Operation) int {
		switch {
		case x == y || x.Block() != y.Block():
			return 0
		case x.IsBeforeInBlock(y):
			return -1
		}
		return 1
	})
	return loads
}

// multiply gives a reference n buffers where it has one, if it alone decides.
func multiply(b *ir.Builder, ref nvws.ArefCreateOp, n int64) {
	for _, v := range ref.Buffers() {
		if !v.DefIs(ttg.LocalAlloc) || ttg.AsLocalAlloc(v.Def()).Src() != nil {
			return
		}
	}
	for _, v := range ref.Buffers() {
		t := *v.Type().(*ttg.MemDescType)
		t.Shape = slices.Clone(t.Shape)
		t.Shape[0] = n
		t.AllocShape = nil
		old := v.Def()
		b.At(old)
		v.ReplaceAllUsesWith(b.Op(ttg.LocalAlloc, nil, ttg.MemDesc(b.Context(), t)).OneResult())
		old.Erase()
	}
}

// barriers are those of one reference, and its buffers.
type barriers struct {
	b           *ir.Builder
	ref         nvws.ArefCreateOp
	empty, full *ir.Value
}

// arrivalsOf lists what an exit arrives after, as attributes.
func arrivalsOf(op *ir.Operation) []ir.Attribute {
	var list ir.Attribute
	switch {
	case op.Is(nvws.Def("aref.put.exit")):
		list = nvws.AsArefPutExit(op).AsyncOps()
	case op.Is(nvws.Def("aref.get.exit")):
		list = nvws.AsArefGetExit(op).AsyncOps()
	}
	a, ok := list.(*ir.ArrayAttr)
	if !ok {
		return nil
	}
	return a.Elems
}

// asyncOps are the kinds of operations after which an exit arrives.
func asyncOps(op *ir.Operation) (kinds []string) {
	for _, e := range arrivalsOf(op) {
		if v, ok := e.(*decl.AttrValue); ok && v.Name() == "async_op" {
			kinds = append(kinds, v.Word("value"))
		}
	}
	return kinds
}

// arrivals is how many arrivals fill a barrier: for exits of that kind, one for each
// operation that each partition waits for, and at least one.
func arrivals(ref *ir.Value, exit *ir.OpDef) int64 {
	var seen []int64
	var n int64
	for u := range ref.Users() {
		ids, ok := idsOf(u)
		if !u.Is(exit) || !ok || len(ids) == 0 || slices.Contains(seen, ids[0]) {
			continue
		}
		seen = append(seen, ids[0])
		n += int64(len(asyncOps(u)))
	}
	return max(n, 1)
}

func lowerRef(b *ir.Builder, op *ir.Operation) error {
	ref := nvws.AsArefCreate(op)
	var users []*ir.Operation
	last := op
	for u := range ref.Result().Users() {
		users = append(users, u)
		at := u
		for at != nil && at.Block() != op.Block() {
			at = at.Parent()
		}
		if at == nil {
			return mistake(u, "%s is not in the block of its reference or inside of it", u.Name()).
				WithHelp("make the reference in the block of the loop that uses it")
		}
		if last.IsBeforeInBlock(at) {
			last = at
		}
	}
	for _, u := range users {
		for _, kind := range asyncOps(u) {
			if kind == "cp_async" {
				return mistake(u, "arriving after cp.async is not supported").WithHelp("wait for the copies, and say none")
			}
		}
	}
	for _, u := range users {
		if stage, ok := stageOf(u); ok && stage == nil {
			return mistake(u, "%s has no stage, since it is not known which enter its token comes from", u.Name()).
				WithHelp("give it the token of an enter, also where a loop carries that")
		}
	}
	for _, v := range ref.Buffers() {
		if !v.Type().(*ttg.MemDescType).Mutable {
			return mistake(op, "buffers of an asynchronous reference are filled, and one of these is not mutable").
				WithHelp("give the buffers a type that ends in mutable")
		}
	}
	stages := ref.BuffersAt(0).Type().(*ttg.MemDescType).Shape[0]
	l := &barriers{b: b, ref: ref}
	l.empty = l.create(op, last, stages, arrivals(ref.Result(), nvws.Def("aref.get.exit")))
	l.full = l.create(op, last, stages, arrivals(ref.Result(), nvws.Def("aref.put.exit")))
	// The last calls of create come first after the references' last use.
	var token *ir.Value
	fn := op.ParentOf(tt.Func)
	dots := l.asyncDots(users)
	for _, u := range users {
		e := asEnter(u)
		switch {
		case u.Is(nvws.Def("aref.put.enter")):
			l.wait(u, l.empty)
			l.fill(u, dots)
			l.giveViews(u, e.Stage(), e.Buffers())
		case e != nil:
			l.wait(u, l.full)
			l.giveViews(u, e.Stage(), e.Buffers())
		case u.Is(nvws.Def("aref.buffer")):
			v := nvws.AsArefBuffer(u)
			l.giveViews(u, v.Stage(), v.Buffers())
		case u.Is(nvws.Def("aref.put.exit")):
			l.arrive(u, l.full, nvws.AsArefPutExit(u).Stage(), l.fenceAfterPut(u, users))
		case u.Is(nvws.Def("aref.get.exit")):
			l.arrive(u, l.empty, nvws.AsArefGetExit(u).Stage(), l.fenceAfterGet(u, users))
		default:
			return mistake(u, "%s uses an asynchronous reference", u.Name()).
				WithHelp("operations of nvws alone do")
		}
	}
	for _, u := range users {
		if e := asEnter(u); e != nil && e.Token().HasUses() {
			if token == nil {
				token = poisonAt(b, fn)
			}
			e.Token().ReplaceAllUsesWith(token)
		}
	}
	for _, u := range users {
		u.Erase()
	}
	op.Erase()
	return nil
}

// stageOf is the stage of an operation that uses a reference, nil if it has none; false
// for operations that have no place for one.
func stageOf(u *ir.Operation) (*ir.Value, bool) {
	switch {
	case asEnter(u) != nil:
		return asEnter(u).Stage(), true
	case u.Is(nvws.Def("aref.buffer")):
		return nvws.AsArefBuffer(u).Stage(), true
	case u.Is(nvws.Def("aref.put.exit")):
		return nvws.AsArefPutExit(u).Stage(), true
	case u.Is(nvws.Def("aref.get.exit")):
		return nvws.AsArefGetExit(u).Stage(), true
	}
	return nil, false
}

// poisonAt makes a token that stands for none, at the start of a function.
func poisonAt(b *ir.Builder, fn *ir.Operation) *ir.Value {
	b.SetToStart(fn.Body())
	b.Loc = nil
	return b.Op(ub.Poison, nil, ttg.AsyncToken(b.Context())).OneResult()
}

// view makes the view of entry i of an array of buffers or barriers.
func view(b *ir.Builder, buffers, i *ir.Value) *ir.Value {
	t := *buffers.Type().(*ttg.MemDescType)
	t.Shape, t.AllocShape, t.Mutable = t.Shape[1:], nil, true
	return b.Op(ttg.MemDescIndex, []*ir.Value{buffers, i}, ttg.MemDesc(b.Context(), t)).OneResult()
}

// create makes n barriers before op, and their end after last.
func (l *barriers) create(op, last *ir.Operation, n, count int64) *ir.Value {
	b := l.b
	b.SetBefore(op)
	b.Loc = op.Loc()
	e := &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{0}}
	all := b.Op(ttg.LocalAlloc, nil, sharedmem.Type(b.Context(), []int64{n, 1}, b.Context().I64(), e, true)).OneResult()
	for i := range n {
		one := view(b, all, arith.Int(b, b.Context().I32(), i))
		ttng.AsInitBarrier(b.Create(ttng.Def("init_barrier"), ir.State{Operands: []*ir.Value{one}})).SetCount(count)
	}
	// After the ends of the barriers made before.
	for last.Next() != nil && l.ends(last.Next()) {
		last = last.Next()
	}
	b.SetAfter(last)
	b.Loc = op.Loc()
	for i := range n {
		one := view(b, all, arith.Int(b, b.Context().I32(), i))
		b.Op(ttng.Def("inval_barrier"), []*ir.Value{one})
	}
	b.Op(ttg.LocalDealloc, []*ir.Value{all})
	return all
}

// ends reports whether op is part of the end of l's first barriers.
func (l *barriers) ends(op *ir.Operation) bool {
	if l.empty == nil {
		return false
	}
	switch {
	case op.Is(arith.Constant):
		return op.OneResult().HasOneUse() && l.ends(op.OneResult().OnlyUser())
	case op.Is(ttg.MemDescIndex):
		return ttg.AsMemDescIndex(op).Src() == l.empty
	case ttng.Is(op, "inval_barrier"):
		alloc := ttng.AsInvalBarrier(op).Alloc()
		return alloc.DefIs(ttg.MemDescIndex) && ttg.AsMemDescIndex(alloc.Def()).Src() == l.empty
	case op.Is(ttg.LocalDealloc):
		return ttg.AsLocalDealloc(op).Src() == l.empty
	}
	return false
}

// marked gives what made v the marks of op.
func marked(v *ir.Value, op *ir.Operation) *ir.Value {
	like(v.Def(), op)
	return v
}

// wait has an enter wait for its barrier, after op.
func (l *barriers) wait(op *ir.Operation, all *ir.Value) {
	e := asEnter(op)
	l.b.SetBefore(op)
	l.b.Loc = op.Loc()
	bar := marked(view(l.b, all, e.Stage()), op)
	w := l.b.Create(ttng.Def("wait_barrier"), ir.State{Operands: []*ir.Value{bar, e.Phase()}, Segments: []int32{1, 1, 0, 0}})
	like(w, op)
}

// giveViews has what uses buffers, results of op, use views of the reference's.
func (l *barriers) giveViews(op *ir.Operation, stage *ir.Value, buffers []*ir.Value) {
	l.b.SetBefore(op)
	l.b.Loc = op.Loc()
	for i, old := range buffers {
		if !old.HasUses() {
			continue
		}
		all := l.ref.BuffersAt(i)
		v := all
		if !ttng.IsScales(all.Type().(*ttg.MemDescType).Encoding) {
			v = marked(view(l.b, all, stage), op)
		}
		old.ReplaceAllUsesWith(v)
		makeMutable(v)
	}
}

// makeMutable has the views of v be mutable, as v is.
func makeMutable(v *ir.Value) {
	for u := range v.Users() {
		if ttg.Viewed(u) != v {
			continue
		}
		for _, r := range u.Results() {
			t := *r.Type().(*ttg.MemDescType)
			t.Mutable = true
			r.SetType(ttg.MemDesc(u.Context(), t))
			makeMutable(r)
		}
	}
}

// fill makes copies by TMA of the loads into the buffers of an enter, which arrive at
// the barrier full.
func (l *barriers) fill(op *ir.Operation, dots []*ir.Operation) {
	loads := loadsOf(op)
	if len(loads) == 0 {
		return
	}
	for _, d := range dots {
		if !readsOwnBuffer(d) {
			ttng.AsMMA(d).SetIsAsync(true)
		}
	}
	e := nvws.AsArefPutEnter(op)
	// The views come first.
	l.giveViews(op, e.Stage(), e.Buffers())
	b := l.b
	bar := marked(view(b, l.full, e.Stage()), op)
	yes := marked(arith.Int(b, b.Context().I1(), 1), op)
	var bytes int64
	for _, load := range loads {
		if load.Is(nvws.Def("descriptor_load")) {
			bytes += nvws.AsDescriptorLoad(load).TxCount()
		} else {
			bytes += nvws.AsDescriptorGather(load).TxCount()
		}
	}
	expect := b.Create(ttng.Def("barrier_expect"), ir.State{Operands: []*ir.Value{bar, yes}})
	ttng.AsBarrierExpect(expect).SetSize(bytes)
	like(expect, op)
	for _, load := range loads {
		l.copy(load, bar, yes)
	}
}

// copy makes a copy by TMA of a load, which arrives at bar.
func (l *barriers) copy(load *ir.Operation, bar, yes *ir.Value) {
	b := l.b
	b.At(load)
	var n *ir.Operation
	if load.Is(nvws.Def("descriptor_gather")) {
		g := nvws.AsDescriptorGather(load)
		n = b.Create(ttng.Def("async_tma_gather"), ir.State{Operands: []*ir.Value{g.Desc(), g.XOffsets(), g.YOffset(), bar, g.Result(), yes}})
	} else {
		d := nvws.AsDescriptorLoad(load)
		coords := slices.Clone(d.Indices())
		if t, ok := d.Desc().Type().(*tt.TensorDescType); ok && len(coords) > 0 {
			if a, ok := t.Block.Encoding.(*encoding.Attr); ok {
				if s, ok := a.Layout.(*layout.NVMMAShared); ok && s.FP4Padded {
					// A byte of the tensor is two in the buffer.
					two := marked(arith.Int(b, b.Context().I32(), 2), load)
					i := len(coords) - 1
					coords[i] = marked(arith.Binary(b, arith.MulI, coords[i], two), load)
				}
			}
		}
		operands := append(append([]*ir.Value{d.Desc()}, coords...), bar, d.Result(), yes)
		n = b.Create(ttng.Def("async_tma_copy_global_to_local"), ir.State{Operands: operands})
		c := ttng.AsAsyncTmaCopyGlobalToLocal(n)
		c.SetCache(d.Cache())
		c.SetEvict(d.Evict())
	}
	like(n, load)
	load.Erase()
}

// asyncDots lists the dots in tensor memory that read what the enters of a reference
// give, outside of the first partition, which is not divided from its work.
func (l *barriers) asyncDots(users []*ir.Operation) (dots []*ir.Operation) {
	var visit func(*ir.Value)
	visit = func(v *ir.Value) {
		for u := range v.Users() {
			switch {
			case ttng.Is(u, "tc_gen5_mma"):
				if !slices.Contains(dots, u) {
					dots = append(dots, u)
				}
			case ttg.Viewed(u) == v:
				for _, r := range u.Results() {
					visit(r)
				}
			}
		}
	}
	for _, u := range users {
		if ids, ok := idsOf(u); !u.Is(nvws.Def("aref.get.enter")) || ok && len(ids) > 0 && ids[0] == 0 {
			continue
		}
		for _, v := range asEnter(u).Buffers() {
			visit(v)
		}
	}
	return dots
}

// readsOwnBuffer reports whether dot reads a buffer that its loop fills again in each
// iteration, without a reference: the partition that does must wait for the dot.
func readsOwnBuffer(dot *ir.Operation) bool {
	m := ttng.AsMMA(dot)
	loop := dot.ParentOf(scf.For)
	return loop != nil && slices.ContainsFunc([]*ir.Value{m.A(), m.B()}, func(v *ir.Value) bool {
		for v.Def() != nil && ttg.Viewed(v.Def()) != nil {
			v = ttg.Viewed(v.Def())
		}
		return (v.DefIs(ttg.LocalAlloc) || ttng.IsTmemAlloc(v.Def())) && loop.IsAncestorOf(v.Def())
	})
}

// fenceAfterPut reports whether what threads wrote is read by dots, through another
// proxy.
func (l *barriers) fenceAfterPut(op *ir.Operation, users []*ir.Operation) bool {
	if !slices.Contains(asyncOps(op), "none") || ttng.InTensorMemory(l.ref.BuffersAt(0)) {
		return false
	}
	return slices.ContainsFunc(users, func(u *ir.Operation) bool {
		return u.Is(nvws.Def("aref.get.exit")) && slices.Contains(asyncOps(u), "tc5mma")
	})
}

// fenceAfterGet reports whether TMA writes next what threads have read.
func (l *barriers) fenceAfterGet(op *ir.Operation, users []*ir.Operation) bool {
	return slices.Contains(asyncOps(op), "none") && slices.ContainsFunc(users, func(u *ir.Operation) bool {
		return u.Is(nvws.Def("aref.put.exit")) && slices.Contains(asyncOps(u), "tma_load")
	})
}

// arrive has an exit arrive at its barrier after each kind of operation.
func (l *barriers) arrive(op *ir.Operation, all, stage *ir.Value, fence bool) {
	b := l.b
	b.SetBefore(op)
	b.Loc = op.Loc()
	if fence {
		f := b.Create(ttng.Def("fence_async_shared"), ir.State{})
		ttng.AsFenceAsyncShared(f).SetBCluster(false)
		like(f, op)
	}
	var bar *ir.Value
	for _, kind := range asyncOps(op) {
		if kind == "tma_load" {
			continue // the hardware arrives
		}
		if bar == nil {
			bar = marked(view(b, all, stage), op)
		}
		var n *ir.Operation
		if kind == "tc5mma" || kind == "tmem_copy" {
			n = b.Create(ttng.Def("tc_gen5_commit"), ir.State{Operands: []*ir.Value{bar}})
		} else {
			n = b.Create(ttng.Def("arrive_barrier"), ir.State{Operands: []*ir.Value{bar}})
			ttng.AsArriveBarrier(n).SetCount(1)
		}
		like(n, op)
	}
}
