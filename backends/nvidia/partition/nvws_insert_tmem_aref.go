package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// InsertTmemAref has buffers in tensor memory that several partitions use pass between
// these as asynchronous references:
//
//	%m, %t = ttng.tmem_alloc
//	for … iter_args(%u = %t) {
//	  %v = ttng.tc_gen5_mma %a, %b, %m[%u]   {ttg.partition = array<i32: 1>}
//	  %x, %w = ttng.tmem_load %m[%v]         {ttg.partition = array<i32: 0>}
//	  yield %w }
//
// becomes
//
//	%r = nvws.aref.create …
//	%t = nvws.aref.put.enter %r
//	for … iter_args(%u = %t) {
//	  ttng.tc_gen5_mma %a, %b, (nvws.aref.buffer %r, %u)
//	  nvws.aref.put.exit %r, %u
//	  %v = nvws.aref.get.enter %r
//	  %x = ttng.tmem_load (nvws.aref.buffer %r, %v)
//	  nvws.aref.get.exit %r, %v
//	  %w = nvws.aref.put.enter %r
//	  yield %w }
//
// with the marks of each. There are two buffers if the loop begins sums anew, does not
// change them itself and does not forbid it. The order is that of the
// chain of tokens, which must be one.
var InsertTmemAref = &pass.Pass{
	Name:    "nvws-insert-tmem-aref",
	Doc:     "pass buffers in tensor memory between partitions by asynchronous references",
	Example: insertTmemArefExample,
	Run: func(r *pass.Run) error {
		var allocs []ttng.TmemAllocOp
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if ttng.IsTmemAlloc(op) {
				allocs = append(allocs, ttng.AsTmemAlloc(op))
			}
			return ir.Advance
		})
		b := ir.NewBuilder(r.Module.Context())
		var chains []*access
		for _, alloc := range allocs {
			chain, err := chainOf(alloc)
			if err != nil {
				return err
			}
			owners, outside := chain.owners()
			n := len(owners)
			if outside {
				n++
			}
			switch {
			case n <= 1:
				continue
			case len(owners) > 2:
				return unfit(alloc.Op, "%d partitions use the buffer, the most is two", len(owners))
			}
			if err := chain.covers(alloc); err != nil {
				return err
			}
			chains = append(chains, chain)
		}
		if len(chains) > 0 {
			r.Module.Context().Load(nvws.Dialect())
		}
		for _, chain := range chains {
			if err := passOn(b, chain); err != nil {
				return err
			}
			r.Count("references", 1)
		}
		splitConditions(b, r.Module)
		return nil
	},
}

// covers refuses uses of the buffer outside of the chain.
func (a *access) covers(alloc ttng.TmemAllocOp) error {
	known := make(map[*ir.Operation]bool)
	a.each(func(x *access) { known[x.op] = true })
	for u := range alloc.Result().Users() {
		if !known[u] {
			return unfit(u, "%s uses a buffer in tensor memory that partitions share, without its token", u.Name())
		}
	}
	return nil
}

// A handover is the state of a reference: which partition has the buffer.
type handover struct {
	b             *ir.Builder
	ref, original *ir.Value
	poison        *ir.Value // for the tokens that are no more
	reads         bool      // the one who has it took it by get.enter
	owner         *owner
	token, buffer *ir.Value
	kind          string // of the last access, for the exit
}

// passOn makes a reference of the buffer of a chain.
func passOn(b *ir.Builder, root *access) error {
	alloc := ttng.AsTmemAlloc(root.op)
	c := b.Context()
	var loop *ir.Operation
	for l := alloc.Op.ParentOf(scf.For); l != nil; l = l.ParentOf(scf.For) {
		if loop = l; l.HasAttr(tt.WarpSpecializeAttr) {
			break
		}
		loop = nil
	}
	b.At(alloc.Op)
	if loop != nil {
		b.SetBefore(loop)
	}
	t := severalBuffers(alloc)
	array := ttng.NewTmemAlloc(b, t, nil, false).Result()
	ref := newRef(b, array, t)
	s := &handover{b: b, ref: ref.OneResult(), original: alloc.Result(), poison: ub.NewPoison(b, ttg.AsyncToken(c))}
	o := root.owner
	if alloc.Src() == nil && loop != nil {
		o = root.next.owner
	}
	b.At(alloc.Op)
	s.enter(o, alloc.Op)
	for a := root.next; a != nil && s.owner == nil; a = a.next {
		s.owner = a.owner // who gives it up
	}
	if src := alloc.Src(); src != nil {
		buffer := s.view(o, alloc.Op)
		s.kind = "none"
		yes := s.mark(arith.NewConstant(b, c.BoolAttr(true)).Def(), o, alloc.Op).OneResult()
		s.mark(ttng.NewTmemStore(b, src, buffer, nil, yes).Op, o, alloc.Op)
	}
	last, err := s.walk(root.next, o)
	if err != nil {
		return err
	}
	after := last.op
	if loop == nil {
		for after.Block() != ref.Block() {
			after = after.Parent()
		}
	}
	b.After(after)
	if err := s.exit(last.op); err != nil {
		return err
	}
	if s.reads {
		// An outer loop would put again before anyone has taken what this one put.
		owners, _ := root.owners()
		var other *owner
		for _, p := range owners {
			if !s.owner.same(&p) {
				other = &p
				break
			}
		}
		s.enter(other, nil)
		if err := s.exit(nil); err != nil {
			return err
		}
	}
	if token := alloc.Token(); token != nil {
		token.ReplaceAllUsesWith(s.poison)
	}
	if !alloc.Op.HasUses() {
		alloc.Op.Erase()
	}
	if !s.poison.HasUses() {
		s.poison.Def().Erase()
	}
	return nil
}

// severalBuffers is the type of an array of as many buffers as the loops with
// multiplications can use.
func severalBuffers(alloc ttng.TmemAllocOp) *ttg.MemDescType {
	n := int64(1)
	seen := false
	for u := range alloc.Result().Users() {
		if ttng.AsMMA(u) == nil || !u.Parent().Is(scf.For) {
			continue
		}
		loop := u.Parent()
		two := tmem.BeginsAnew(u, loop) && !tmem.Modifies(u, loop) && !loop.HasAttr(tt.OneAccumulatorAttr)
		switch {
		case !two:
			n = 1
		case !seen:
			n = 2
		}
		seen = true
	}
	t := *alloc.Result().Type().(*ttg.MemDescType)
	t.AllocShape, t.Mutable = nil, true
	if _, scales := ttng.ScalesOf(&t); !scales {
		t.Shape = append([]int64{n}, t.Shape...)
	}
	return ttg.MemDesc(alloc.Op.Context(), t)
}

// newRef makes the reference to an array of buffers.
func newRef(b *ir.Builder, array *ir.Value, t *ttg.MemDescType) *ir.Operation {
	c := b.Context()
	aref, err := text.ParseType(c, "!nvws.aref<["+text.TypeString(c, t)+"]>")
	if err != nil {
		panic("BUG: partition: " + err.Error())
	}
	return b.Create(nvws.Def("aref.create"), ir.State{Operands: []*ir.Value{array}, Types: []ir.Type{aref}})
}

// bufferType is that of one of the buffers.
func (s *handover) bufferType() ir.Type {
	t := *nvws.AsArefCreate(s.ref.Def()).BuffersAt(0).Type().(*ttg.MemDescType)
	t.AllocShape = t.Shape
	if _, scales := ttng.ScalesOf(&t); !scales {
		t.Shape = t.Shape[1:]
	}
	t.Mutable = true
	return ttg.MemDesc(s.b.Context(), t)
}

// mark gives op its partition and the place of like in the schedule, which may be nil.
func (s *handover) mark(op *ir.Operation, o *owner, like *ir.Operation) *ir.Operation {
	if o == nil {
		return op
	}
	at(op, o.id, like)
	for l := op.ParentOf(scf.For); l != nil; l = l.ParentOf(scf.For) {
		if _, ok := tagOf(l); ok {
			return op
		}
	}
	op.SetAttr(tagAttr, op.Context().I32Attr(o.tag))
	return op
}

// enter takes the buffer for a partition.
func (s *handover) enter(o *owner, like *ir.Operation) {
	def := nvws.Def("aref.put.enter")
	if s.reads {
		def = nvws.Def("aref.get.enter")
	}
	op := s.b.Create(def, ir.State{
		Operands: []*ir.Value{s.ref}, Segments: []int32{1, 0, 0}, Types: []ir.Type{s.bufferType(), ttg.AsyncToken(s.b.Context())},
	})
	s.token = asEnter(s.mark(op, o, like)).Token()
	s.owner, s.buffer = o, nil
}

// exit gives it up.
func (s *handover) exit(like *ir.Operation) error {
	if s.kind == "" {
		return unfit(s.ref.Def(), "a partition gives a buffer in tensor memory up that it has not used")
	}
	def := nvws.Def("aref.put.exit")
	if s.reads {
		def = nvws.Def("aref.get.exit")
	}
	s.mark(s.b.Create(def, ir.State{
		Operands: []*ir.Value{s.ref, s.token}, Attrs: []ir.NamedAttr{{Name: "async_ops", Attr: asyncOp(s.b.Context(), s.kind)}},
	}), s.owner, like)
	s.reads = !s.reads
	return nil
}

// view is the buffer, for op.
func (s *handover) view(o *owner, op *ir.Operation) *ir.Value {
	if s.buffer == nil {
		n := s.b.Create(nvws.Def("aref.buffer"), ir.State{Operands: []*ir.Value{s.ref, s.token}, Types: []ir.Type{s.bufferType()}})
		s.buffer = nvws.AsArefBuffer(s.mark(n, o, op)).Buffers()[0]
	}
	return s.buffer
}

// walk hands the buffer from access to access, from a on; have is who has the buffer, nil where
// a loop of partitions begins, since all threads meet there. It returns the last access.
func (s *handover) walk(a *access, have *owner) (*access, error) {
	for {
		if have != nil && !have.same(a.owner) {
			if err := s.change(a); err != nil {
				return nil, err
			}
		}
		for _, r := range a.regions {
			inside := *s
			if a.op.Is(scf.For) {
				inside.token, inside.buffer = scf.IterArg(a.op, a.result), nil
			}
			if _, err := inside.walk(r, a.owner); err != nil {
				return nil, err
			}
			s.kind, s.owner = inside.kind, inside.owner
		}
		s.replace(a)
		if a.next == nil {
			return a, nil
		}
		have, a = a.owner, a.next
	}
}

// change gives the buffer to the owner of a, after the access before.
func (s *handover) change(a *access) error {
	b := s.b
	var last *ir.Operation
	if a.prev != nil {
		last = a.prev.op
		b.After(last)
	} else {
		b.Loc = a.around.op.Loc()
		b.SetToStart(a.op.Block())
	}
	if a.owner == nil {
		last = nil
	}
	if err := s.exit(last); err != nil {
		return err
	}
	like := a.op
	if like.Is(scf.Yield) {
		like = a.around.op
	}
	b.Loc = like.Loc()
	b.SetBefore(a.op)
	s.enter(a.owner, like)
	return nil
}

// replace has an access use the buffer that it was given.
func (s *handover) replace(a *access) {
	s.b.At(a.op)
	switch op := a.op; {
	case ttng.IsTmemLoad(op):
		load := ttng.AsTmemLoad(op)
		load.SetSrc(s.view(a.owner, op))
		load.SetDep(nil)
		s.drop(load.Token())
		s.kind = "none"
	case ttng.IsTmemStore(op):
		store := ttng.AsTmemStore(op)
		store.SetDst(s.view(a.owner, op))
		store.SetDep(nil)
		s.drop(first(store.Token()))
		s.kind = "none"
	case ttng.AsMMA(op) != nil:
		m := ttng.AsMMA(op)
		if m.D() == s.original {
			m.SetAccDep(nil)
			s.drop(first(m.Token()))
		}
		for i, v := range op.OperandValues() {
			if v == s.original {
				op.SetOperand(i, s.view(a.owner, op))
			}
		}
		s.kind = "tc5mma"
	case op.Is(scf.Yield):
		a.token.Set(s.token)
	default: // scf.for, scf.if
		if op.Is(scf.For) {
			a.token.Set(s.token)
		}
		s.token, s.buffer = op.Result(a.result), nil
	}
}

// drop replaces a token that nobody needs.
func (s *handover) drop(token *ir.Value) {
	if token != nil {
		token.ReplaceAllUsesWith(s.poison)
	}
}

// splitConditions makes three conditions of one that gives a buffer up at its start and
// takes it back at its end: the scheduler places each for itself.
func splitConditions(b *ir.Builder, module *ir.Operation) {
	var list []*ir.Operation
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(scf.If) {
			block := scf.AsIf(op).ThenRegion().First()
			end := block.Terminator()
			if block.First().Is(nvws.Def("aref.put.exit")) && isOwnEnter(end.Prev(), end) {
				list = append(list, op)
			}
		}
		return ir.Advance
	})
	for _, op := range list {
		splitCondition(b, op)
	}
}

// isOwnEnter reports whether op is an enter that this pass has made before the end of a
// branch, with no stage yet and its token for the end alone.
func isOwnEnter(op, end *ir.Operation) bool {
	if op == nil || !op.Is(nvws.Def("aref.put.enter")) {
		return false
	}
	enter := nvws.AsArefPutEnter(op)
	return enter.Stage() == nil && enter.Token().HasOneUse() && onlyUse(enter.Token()).Owner() == end &&
		!slices.ContainsFunc(enter.Buffers(), (*ir.Value).HasUses)
}

func splitCondition(b *ir.Builder, op *ir.Operation) {
	v := scf.AsIf(op)
	yes, no := v.ThenRegion().First().Terminator(), v.ElseRegion().First().Terminator()
	exit, enter := yes.Block().First(), yes.Prev()
	token := nvws.AsArefPutEnter(enter).Token()
	var result int
	for i, x := range yes.OperandValues() {
		if x == token {
			result = i
		}
	}
	ids, _ := idsOf(exit)
	var others []int64
	for o := range yes.Block().Ops() {
		if more, ok := idsOf(o); ok && o != exit && o != enter && o != yes {
			others = union(others, more)
		}
	}

	b.At(op)
	gives := scf.NewIf(b, v.Condition(), false)
	b.SetToEnd(scf.AsIf(gives).ThenRegion().First())
	exit.MoveBefore(scf.NewYield(b))
	b.At(op)
	poison := poisonAt(b, op.ParentOf(tt.Func)) // outside of loops nothing has marks

	b.After(op)
	takes := scf.NewIf(b, v.Condition(), true, token.Type())
	op.Result(result).ReplaceAllUsesWith(takes.OneResult())
	b.SetToEnd(scf.AsIf(takes).ThenRegion().First())
	end := scf.NewYield(b, token)
	enter.MoveBefore(end)
	b.SetToEnd(scf.AsIf(takes).ElseRegion().First())
	scf.NewYield(b, no.Operand(result))
	yes.SetOperand(result, poison)
	no.SetOperand(result, poison)

	for _, n := range []*ir.Operation{gives, takes} {
		for _, a := range op.Attrs() {
			n.SetAttr(a.Name, a.Attr)
		}
		placeEnds(n, op, nvws.AsArefPutExit(exit).Token())
		n.SetAttr(outputsAttr, nil)
		mark(n, ids)
	}
	setOutputs(takes, [][]int64{ids})
	if len(others) > 0 {
		mark(op, others)
		outputs := make([][]int64, op.NumResults())
		for i := range outputs {
			outputs[i] = others
		}
		setOutputs(op, outputs)
	}
}

// placeEnds gives n, a part of the condition op that gives a buffer up or takes it, the
// stage of what accesses the buffer before op by token, and a cluster that is not before it.
// The scheduler then moves what the condition depends on.
func placeEnds(n, op *ir.Operation, token *ir.Value) {
	if !op.HasAttr(stageAttr) {
		return
	}
	stage, cluster := int64(-1), int64(0)
	for u := range token.Users() {
		at, ok := u.IntAttr(stageAttr)
		if !ok || u.Block() != op.Block() || !u.IsBeforeInBlock(op) || at < stage {
			continue
		}
		c, _ := u.IntAttr(clusterAttr)
		if at > stage {
			cluster = 0
		}
		stage, cluster = at, max(cluster, c)
	}
	if stage < 0 {
		return
	}
	own, _ := op.IntAttr(clusterAttr)
	n.SetAttr(stageAttr, n.Context().I32Attr(stage))
	n.SetAttr(clusterAttr, n.Context().I32Attr(max(cluster, own)))
}
