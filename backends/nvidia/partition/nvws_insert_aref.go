package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// InsertAref has values of a loop that pass between its partitions do so through
// asynchronous references:
//
//	%x = "a"() {ttg.partition = array<i32: 0>}
//	"b"(%x) {ttg.partition = array<i32: 1>}
//
// becomes
//
//	%x = "a"()
//	%m, %t = nvws.aref.put.enter %r
//	ttg.local_store %x, %m
//	nvws.aref.put.exit %r, %t
//	%n, %u = nvws.aref.get.enter %r
//	%y = ttg.local_load %n
//	nvws.aref.get.exit %r, %u
//	"b"(%y)
//
// with the marks of each. What a load by a descriptor gives is loaded into the buffer, and
// what is in shared memory is read there. Numbers go as tensors of one element. The
// loops are those that have tt.warp_specialize.
var InsertAref = &pass.Pass{
	Name:    "nvws-insert-aref",
	Doc:     "pass values between partitions through asynchronous references",
	Example: insertArefExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		var loops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(scf.For) && op.HasAttr(tt.WarpSpecializeAttr) && op.HasAttr(idsAttr) {
				loops = append(loops, op)
				return ir.Skip
			}
			return ir.Advance
		})
		if len(loops) > 0 {
			r.Module.Context().Load(nvws.Dialect())
		}
		for _, loop := range loops {
			i := &inserter{b: ir.NewBuilder(r.Module.Context()), module: r.Module, loop: loop}
			if err := i.insert(); err != nil {
				return err
			}
			r.Count("references", i.made)
		}
		return nil
	},
}

type inserter struct {
	b            *ir.Builder
	module, loop *ir.Operation
	made         int
}

func (i *inserter) insert() error {
	// What loops carry to other partitions.
	for _, l := range append(slices.DeleteFunc(forloop.All(i.loop), func(x *ir.Operation) bool { return x == i.loop }), i.loop) {
		for k, arg := range scf.IterArgs(l) {
			if !passable(arg.Type()) {
				continue
			}
			i.b.SetToStart(l.Body())
			if err := i.pass(l.Body(), arg, outputsOf(l, k)); err != nil {
				return err
			}
		}
	}
	// Buffers come before tensors: a load that fills one may also be used in registers.
	var buffers []*ir.Operation
	walk(scf.AsFor(i.loop).Region(), func(op *ir.Operation) {
		if op.Is(ttg.LocalAlloc) && ttg.AsLocalAlloc(op).Src() != nil {
			buffers = append(buffers, op)
		}
	})
	for _, op := range buffers {
		if ids, ok := idsOf(op); ok {
			i.b.SetBefore(op)
			if err := i.pass(op.Block(), op.OneResult(), ids); err != nil {
				return err
			}
		}
	}
	var ops []*ir.Operation
	walk(scf.AsFor(i.loop).Region(), func(op *ir.Operation) {
		if _, ok := idsOf(op); ok && ttng.AsMMA(op) == nil && !ttng.IsTmemAlloc(op) && !ttng.IsTmemStore(op) {
			ops = append(ops, op)
		}
	})
	for _, op := range ops {
		for k, v := range op.Results() {
			if !passable(v.Type()) {
				continue
			}
			ids, _ := idsOf(op)
			if op.NumRegions() > 0 {
				ids = outputsOf(op, k)
			}
			i.b.SetAfter(op)
			if err := i.pass(op.Block(), v, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// passable reports whether values of type t go through shared memory.
func passable(t ir.Type) bool {
	switch t := t.(type) {
	case *ir.TensorType:
		return t.Encoding != nil && ir.BitWidth(t.Elem) >= 8
	case *ir.IntegerType:
		return t.Width >= 8
	case *ir.FloatType:
		return true
	}
	return false
}

// use is one of a value in another partition.
type use struct {
	*ir.Use
	result *ir.Value
}

// idsAt are the partitions that a use is in: of what a loop or branch yields, those of
// the result.
func idsAt(u *ir.Use) []int64 {
	ids, ok := idsOf(u.Owner())
	if ok && u.Owner().Is(scf.Yield) {
		return outputsOf(u.Owner().Parent(), u.Index())
	}
	return ids
}

// load is the load by a descriptor that fills v, a buffer, in its partition, or gives v;
// nil if none does.
func load(v *ir.Value) *ir.Operation {
	if v.DefIs(ttg.LocalAlloc) {
		src := ttg.AsLocalAlloc(v.Def()).Src()
		if src == nil || src.Def() == nil {
			return nil
		}
		x, _ := idsOf(v.Def())
		y, _ := idsOf(src.Def())
		if !slices.Equal(x, y) {
			return nil
		}
		v = src
	}
	if v.DefIs(tt.DescriptorLoad) || v.DefIs(tt.DescriptorGather) {
		return v.Def()
	}
	return nil
}

// pass has the uses of v, a value of block that partitions from compute, in other
// partitions get it through a reference, which it fills where the builder is.
func (i *inserter) pass(block *ir.Block, v *ir.Value, from []int64) error {
	uses := make(map[int64][]use)
	var readers []int64
	collect := func(v *ir.Value) {
		for u := range v.Uses() {
			for _, p := range idsAt(u) {
				if !slices.Contains(from, p) {
					uses[p] = append(uses[p], use{u, v})
					readers = append(readers, p)
				}
			}
		}
	}
	collect(v)
	loaded := load(v)
	if v.DefIs(ttg.LocalAlloc) && loaded != nil {
		collect(ttg.AsLocalAlloc(v.Def()).Src())
	}
	if len(readers) == 0 || len(from) == 0 {
		return nil
	}
	slices.Sort(readers)
	t := i.bufferType(v)
	at := i.b.Save()
	i.b.SetBefore(i.loop)
	i.b.Loc = v.Loc()
	if n, ok := i.b.Loc.(*ir.NameLoc); ok {
		i.b.Loc = n.Child
	}
	buffer := i.b.Op(ttg.LocalAlloc, nil, t).OneResult()
	aref, err := text.ParseType(i.b.Context(), "!nvws.aref<["+text.TypeString(i.b.Context(), t)+"]>")
	if err != nil {
		panic("BUG: partition: " + err.Error())
	}
	ref := i.b.Create(nvws.Def("aref.create"), ir.State{Operands: []*ir.Value{buffer}, Types: []ir.Type{aref}})
	i.made++
	loc := i.b.Loc
	i.b.Restore(at)
	i.b.Loc = loc
	i.put(nvws.AsArefCreate(ref).Result(), v, loaded, from[0])
	for _, p := range slices.Compact(readers) {
		if err := i.get(nvws.AsArefCreate(ref).Result(), block, v, p, uses[p]); err != nil {
			return err
		}
	}
	if v.DefIs(ttg.LocalAlloc) && !v.HasUses() {
		v.Def().Erase()
	}
	if loaded != nil && !loaded.HasUses() {
		loaded.Erase()
	}
	return nil
}

// bufferType is that of an array of one buffer for v.
func (i *inserter) bufferType(v *ir.Value) *ttg.MemDescType {
	c := i.b.Context()
	if m, ok := v.Type().(*ttg.MemDescType); ok {
		t := *m
		t.Shape, t.AllocShape, t.Mutable = append([]int64{1}, t.Shape...), nil, true
		return ttg.MemDesc(c, t)
	}
	t := i.tensorFor(v)
	var e layout.Shared
	if l := load(v); l != nil {
		// As the descriptor says; what it does not say is as for other tensors.
		var desc *ir.Value
		if l.Is(tt.DescriptorLoad) {
			desc = tt.AsDescriptorLoad(l).Desc()
		} else {
			desc = tt.AsDescriptorGather(l).Desc()
		}
		if d, ok := desc.Type().(*tt.TensorDescType); ok {
			if a, ok := d.Block.Encoding.(*encoding.Attr); ok {
				e, _ = a.Layout.(layout.Shared)
			}
		}
	}
	if e == nil {
		e = sharedmem.For(&layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: sharedmem.Order(t)}, t)
	}
	return sharedmem.Type(c, append([]int64{1}, t.Shape...), t.Elem, e, true)
}

// tensorFor is the type of the tensor that v goes as.
func (i *inserter) tensorFor(v *ir.Value) *ir.TensorType {
	if t := tensors.Type(v); t != nil {
		return t
	}
	c := i.b.Context()
	e := layout.DefaultBlocked([]int64{1}, int(warpsAround(i.loop)), int(ttg.ThreadsPerWarp(i.module)), int(ttg.NumCTAs(i.module)))
	return c.Tensor([]int64{1}, v.Type(), encoding.Of(c, e))
}

// viewType is that of the one buffer of an array.
func viewType(c *ir.Context, ref *ir.Value, mutable bool) *ttg.MemDescType {
	t := *nvws.AsArefCreate(ref.Def()).BuffersAt(0).Type().(*ttg.MemDescType)
	t.AllocShape, t.Shape, t.Mutable = t.Shape, t.Shape[1:], mutable
	return ttg.MemDesc(c, t)
}

// at gives op the partition p, and the place in the schedule of like.
func at(op *ir.Operation, p int64, like *ir.Operation) *ir.Operation {
	setIDs(op, []int64{p})
	if like != nil {
		op.SetAttr(stageAttr, like.Attr(stageAttr))
		op.SetAttr(clusterAttr, like.Attr(clusterAttr))
	}
	return op
}

// asyncOp is the list of what an exit arrives after.
func asyncOp(c *ir.Context, kinds ...string) ir.Attribute {
	var list []ir.Attribute
	for _, k := range kinds {
		a, err := text.ParseAttr(c, "#nvws.async_op<"+k+">")
		if err != nil {
			panic("BUG: partition: " + err.Error())
		}
		list = append(list, a)
	}
	return c.ArrayAttr(list...)
}

// put fills the reference with v in partition p.
func (i *inserter) put(ref, v *ir.Value, loaded *ir.Operation, p int64) {
	b, c := i.b, i.b.Context()
	place := v.Def()
	if loaded != nil {
		place = loaded
	}
	e := nvws.AsArefPutEnter(at(b.Create(nvws.Def("aref.put.enter"), ir.State{
		Operands: []*ir.Value{ref}, Segments: []int32{1, 0, 0}, Types: []ir.Type{viewType(c, ref, true), ttg.AsyncToken(c)},
	}), p, place))
	buffer := e.Buffers()[0]
	kind := "none"
	src := v
	switch {
	case loaded != nil:
		kind = "tma_load"
		i.loadInto(loaded, buffer, p)
	case v.DefIs(ttg.LocalAlloc):
		src = ttg.AsLocalAlloc(v.Def()).Src()
		at(b.Op(ttg.LocalStore, []*ir.Value{src, buffer}), p, place)
	default:
		if tensors.Type(v) == nil {
			src = b.Op(tt.Splat, []*ir.Value{v}, i.tensorFor(v)).OneResult()
			at(src.Def(), p, place)
		}
		at(b.Op(ttg.LocalStore, []*ir.Value{src, buffer}), p, place)
	}
	at(b.Create(nvws.Def("aref.put.exit"), ir.State{
		Operands: []*ir.Value{ref, e.Token()}, Attrs: []ir.NamedAttr{{Name: "async_ops", Attr: asyncOp(c, kind)}},
	}), p, place)
}

// loadInto makes the load by a descriptor again, into buffer.
func (i *inserter) loadInto(op *ir.Operation, buffer *ir.Value, p int64) {
	m := buffer.Type().(*ttg.MemDescType)
	bytes := int64(ir.BitWidth(m.Elem))
	part := m.Shape
	if a, ok := m.Encoding.(*encoding.Attr); ok {
		if x, err := layout.PartOf(a.Layout, m.Shape); err == nil {
			part = x
		}
	}
	for _, n := range part {
		bytes *= n
	}
	bytes /= 8
	if op.Is(tt.DescriptorGather) {
		g := tt.AsDescriptorGather(op)
		n := i.b.Create(nvws.Def("descriptor_gather"), ir.State{Operands: []*ir.Value{g.Desc(), g.XOffsets(), g.YOffset(), buffer}})
		nvws.AsDescriptorGather(n).SetTxCount(bytes)
		at(n, p, op)
		return
	}
	l := tt.AsDescriptorLoad(op)
	operands := append(append([]*ir.Value{l.Desc()}, l.Indices()...), buffer)
	n := i.b.Create(nvws.Def("descriptor_load"), ir.State{Operands: operands})
	d := nvws.AsDescriptorLoad(n)
	d.SetTxCount(bytes)
	d.SetCache(l.Cache())
	d.SetEvict(l.Evict())
	at(n, p, op)
}

// get reads the reference for the uses in partition p.
func (i *inserter) get(ref *ir.Value, block *ir.Block, v *ir.Value, p int64, uses []use) error {
	b, c := i.b, i.b.Context()
	users := i.consumers(uses, p)
	first, last := users[0], users[0]
	for _, u := range users {
		if before(u, first) {
			first = u
		}
		if before(last, u) {
			last = u
		}
	}
	var earliest, latest *ir.Operation
	for _, u := range uses {
		if x := forloop.AncestorIn(block, u.Owner()); earliest == nil || x.IsBeforeInBlock(earliest) {
			earliest = x
		}
	}
	for _, u := range users {
		if x := forloop.AncestorIn(block, u); x != nil && (latest == nil || latest.IsBeforeInBlock(x)) {
			latest = x
		}
	}
	if v.IsArgument() {
		// As what the iteration before computed it with.
		if next := forloop.Next(v.Block().Parent(), v); next != nil && next.Def() != nil {
			first, last = next.Def(), next.Def()
		}
	}
	b.SetBefore(earliest)
	e := nvws.AsArefGetEnter(at(b.Create(nvws.Def("aref.get.enter"), ir.State{
		Operands: []*ir.Value{ref}, Segments: []int32{1, 0, 0}, Types: []ir.Type{viewType(c, ref, false), ttg.AsyncToken(c)},
	}), p, first))
	buffer := e.Buffers()[0]
	var kinds []string
	for _, u := range users {
		kind := "none"
		if ttng.AsMMA(u) != nil {
			kind = "tc5mma"
		} else if ttng.Is(u, "warp_group_dot") {
			kind = "wgmma"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	var register *ir.Value // the value in registers
	inPlace := false
	for _, u := range uses {
		if _, ok := u.result.Type().(*ttg.MemDescType); ok {
			u.Set(buffer)
			inPlace = true
			if err := retype(u.Owner(), buffer); err != nil {
				return err
			}
			continue
		}
		if register == nil {
			register = b.Op(ttg.LocalLoad, []*ir.Value{buffer}, i.tensorFor(u.result)).OneResult()
			at(register.Def(), p, first)
			loadedAt := register.Def()
			if tensors.Type(u.result) == nil {
				register = b.Op(tt.Unsplat, []*ir.Value{register}).OneResult()
				at(register.Def(), p, first)
			}
			if !inPlace && !slices.ContainsFunc(uses, func(u use) bool { _, ok := u.result.Type().(*ttg.MemDescType); return ok }) {
				latest = loadedAt
			}
		}
		u.Set(register)
	}
	b.SetAfter(latest)
	if latest.IsTerminator() {
		b.SetBefore(latest)
	}
	b.Loc = e.Token().Loc()
	at(b.Create(nvws.Def("aref.get.exit"), ir.State{
		Operands: []*ir.Value{ref, e.Token()}, Attrs: []ir.NamedAttr{{Name: "async_ops", Attr: asyncOp(c, kinds...)}},
	}), p, last)
	return nil
}

// before reports whether x comes before y in the schedule: by stage, then by cluster.
func before(x, y *ir.Operation) bool {
	for _, name := range []string{stageAttr, clusterAttr} {
		m, okM := x.IntAttr(name)
		n, okN := y.IntAttr(name)
		if !okM || !okN || m != n {
			return okM && okN && m < n
		}
	}
	return false
}

// consumers are the operations in partition p that uses go to, through views.
func (i *inserter) consumers(uses []use, p int64) (ops []*ir.Operation) {
	var visit func(u *ir.Use)
	visit = func(u *ir.Use) {
		op := u.Owner()
		if ttg.Viewed(op) != nil && ttg.Viewed(op) == u.Value() {
			for _, r := range op.Results() {
				for w := range r.Uses() {
					visit(w)
				}
			}
			return
		}
		if slices.Contains(idsAt(u), p) && !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	for _, u := range uses {
		visit(u.Use)
	}
	if len(ops) == 0 {
		ops = append(ops, uses[0].Owner())
	}
	return ops
}

// retype gives the views that op makes of buffer, which is a part of another one now,
// their types.
func retype(op *ir.Operation, buffer *ir.Value) error {
	if ttg.Viewed(op) != buffer {
		return nil
	}
	if !op.Is(ttg.MemDescTrans) {
		return mistake(op, "%s of a buffer that another partition fills", op.Name()).
			WithHelp("transpose it, or read it as it is")
	}
	v := ttg.AsMemDescTrans(op)
	from := buffer.Type().(*ttg.MemDescType)
	t := *v.Result().Type().(*ttg.MemDescType)
	extra := len(from.AllocShape) - len(from.Shape)
	t.AllocShape = slices.Clone(from.AllocShape[:extra])
	for _, d := range v.Order() {
		t.AllocShape = append(t.AllocShape, from.AllocShape[extra+int(d)])
	}
	t.Mutable = from.Mutable
	v.Result().SetType(ttg.MemDesc(op.Context(), t))
	for u := range v.Result().Users() {
		if err := retype(u, v.Result()); err != nil {
			return err
		}
	}
	return nil
}
