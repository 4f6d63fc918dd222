package tasks

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
)

// specializer copies what one task runs to where its builder inserts.
type specializer struct {
	*program
	b     *ir.Builder
	task  int64
	m     *ir.Mapping
	takes map[*ir.Operation][]*channel // before which operation tensors come
	frees map[*ir.Operation][]*channel // after which their buffers are free
	// barrier counts the bytes of a channel's copies in this iteration.
	barrier map[*channel]*ir.Value
}

func newSpecializer(p *program, b *ir.Builder, task int64) *specializer {
	s := &specializer{
		program: p, b: b, task: task, m: ir.NewMapping(), takes: make(map[*ir.Operation][]*channel),
		frees: make(map[*ir.Operation][]*channel), barrier: make(map[*channel]*ir.Value),
	}
	for _, c := range p.channels {
		if !slices.Contains(c.to, task) {
			continue
		}
		var first, last *ir.Operation
		for _, u := range s.uses(c) {
			if first == nil || u.IsBeforeInBlock(first) {
				first = u
			}
			if last == nil || last.IsBeforeInBlock(u) {
				last = u
			}
		}
		if first == nil {
			continue
		}
		s.takes[first] = append(s.takes[first], c)
		s.frees[last] = append(s.frees[last], c)
	}
	return s
}

// uses are the operations of the task in the channel's block that use its tensors, or
// buffers that are filled with them, or hold such operations.
func (s *specializer) uses(c *channel) (list []*ir.Operation) {
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		for u := range v.Users() {
			top := forloop.AncestorIn(c.block, u)
			if top == nil || top.IsTerminator() || u.Is(scf.For) || !s.has(top, s.task) {
				continue
			}
			list = append(list, top)
			if isBuffer(u) {
				for _, r := range u.Results() {
					visit(r)
				}
			}
		}
	}
	for _, v := range c.values {
		visit(v)
	}
	return list
}

// block copies the operations of a block but for its terminator.
func (s *specializer) block(from *ir.Block) {
	for op := range from.Ops() {
		if op.IsTerminator() || !s.has(op, s.task) {
			continue
		}
		if _, ok := s.tasks[op]; !ok {
			continue
		}
		s.b.Loc = op.Loc()
		for _, c := range s.takes[op] {
			s.take(c)
		}
		s.operation(op)
		for _, v := range op.Results() {
			if c := s.of[v]; c != nil && c.kind == byStore && c.from == s.task {
				s.store(c, v)
			}
		}
		for _, c := range s.frees[op] {
			s.b.Op(nvws.Def("consumer_release"), []*ir.Value{c.tokens[s.task], s.m.Lookup(c.index)})
		}
	}
}

// operation copies op, or what a load has become.
func (s *specializer) operation(op *ir.Operation) {
	switch {
	case op.Is(scf.For):
		s.loop(op)
		return
	case s.folded(op):
		return
	case op.NumResults() == 1:
		c := s.of[op.OneResult()]
		if c != nil && c.from == s.task && c.kind != byStore {
			s.fill(c, op)
			return
		}
	}
	n := op.Clone(s.m)
	ir.Walk(n, func(o *ir.Operation) ir.WalkResult {
		o.SetAttr(idsAttr, nil)
		return ir.Advance
	})
	s.b.Insert(n)
	for i, r := range op.Results() {
		s.m.Map(r, n.Result(i))
	}
	if sharedmem.IsView(n) {
		t := *n.OneResult().Type().(*ttg.MemDescType)
		t.Mutable = ttg.Viewed(n).Type().(*ttg.MemDescType).Mutable
		n.OneResult().SetType(ttg.MemDesc(s.b.Context(), t))
	}
}

// folded reports whether op fills a buffer of the layout of a channel's, which take has put
// in its place.
func (s *specializer) folded(op *ir.Operation) bool {
	return op.Is(ttg.LocalAlloc) && s.m.Lookup(ttg.AsLocalAlloc(op).Result()) != ttg.AsLocalAlloc(op).Result()
}

// loop copies a loop with what the task carries.
func (s *specializer) loop(op *ir.Operation) {
	b := s.b
	var inits []*ir.Value
	var kept []int
	for i, v := range scf.Inits(op) {
		if s.carries(op, i, s.task) {
			inits, kept = append(inits, s.m.Lookup(v)), append(kept, i)
		}
	}
	n := scf.NewFor(b, s.m.Lookup(scf.LowerBound(op)), s.m.Lookup(scf.UpperBound(op)), s.m.Lookup(scf.Step(op)), inits...)
	for _, a := range op.Attrs() {
		if a.Name != idsAttr {
			n.SetAttr(a.Name, a.Attr)
		}
	}
	s.m.Map(scf.InductionVar(op), scf.InductionVar(n))
	for k, i := range kept {
		s.m.Map(scf.IterArgs(op)[i], scf.IterArgs(n)[k])
		s.m.Map(op.Result(i), n.Result(k))
	}
	at := b.Save()
	b.SetToEnd(n.Body())
	s.block(op.Body())
	var values []*ir.Value
	for _, i := range kept {
		values = append(values, s.m.Lookup(forloop.Yield(op).Operand(i)))
	}
	scf.NewYield(b, values...)
	b.Restore(at)
}

// view is the buffer of tensor number i of c in this iteration.
func (s *specializer) view(c *channel, i int) *ir.Value {
	t := *c.buffers[i].Type().(*ttg.MemDescType)
	t.Shape, t.AllocShape = t.Shape[1:], nil
	return s.b.Op(ttg.MemDescIndex, []*ir.Value{c.buffers[i], s.m.Lookup(c.index)}, ttg.MemDesc(s.b.Context(), t)).OneResult()
}

// acquire waits until all that take c's tensors have left the buffers.
func (s *specializer) acquire(c *channel) {
	for _, t := range c.to {
		s.b.Op(nvws.Def("producer_acquire"), []*ir.Value{c.tokens[t], s.m.Lookup(c.index), s.m.Lookup(c.phase)})
	}
}

// commit tells all that take c's tensors that they are there.
func (s *specializer) commit(c *channel) {
	for _, t := range c.to {
		s.b.Op(nvws.Def("producer_commit"), []*ir.Value{c.tokens[t], s.m.Lookup(c.index)})
	}
}

// store stores v, which was computed, to its buffer.
func (s *specializer) store(c *channel, v *ir.Value) {
	s.acquire(c)
	s.b.Op(ttg.LocalStore, []*ir.Value{s.m.Lookup(v), s.view(c, 0)})
	s.commit(c)
}

// fill copies what load loads to its buffer.
func (s *specializer) fill(c *channel, load *ir.Operation) {
	b, i := s.b, slices.Index(c.values, load.OneResult())
	if i == 0 {
		s.acquire(c)
	}
	if c.kind == byTMA {
		if i == 0 {
			s.barrier[c] = tma.Copies{}.Expect(b, c.barriers, s.m.Lookup(c.index), bytesOf(c.values))
		}
		n := load.Clone(s.m)
		b.Insert(n)
		tma.Copies{}.Start(b, n, s.view(c, i), s.barrier[c])
		n.Erase()
		return
	}
	v := tt.AsLoad(load)
	operands, segments := []*ir.Value{s.m.Lookup(v.Ptr()), s.view(c, i)}, []int32{1, 1, 0, 0}
	for k, o := range []*ir.Value{v.Mask(), v.Other()} {
		if o != nil {
			operands, segments[2+k] = append(operands, s.m.Lookup(o)), 1
		}
	}
	var attrs []ir.NamedAttr
	for _, name := range []string{"cache", "evict", "isVolatile"} {
		if load.HasAttr(name) {
			attrs = append(attrs, ir.NamedAttr{Name: name, Attr: load.Attr(name)})
		}
	}
	b.Create(ttg.AsyncCopy, ir.State{Operands: operands, Segments: segments, Types: []ir.Type{ttg.AsyncToken(b.Context())}, Attrs: attrs})
	if i == len(c.values)-1 {
		s.commit(c)
	}
}

// take waits for the tensors of c, and reads them. A buffer of the same layout that the task
// fills with one is the channel's; a read that only fills such is dead.
func (s *specializer) take(c *channel) {
	b := s.b
	if c.kind == byTMA {
		tma.Copies{}.Wait(b, c.barriers, s.m.Lookup(c.index), s.m.Lookup(c.parity))
	} else {
		b.Op(nvws.Def("consumer_wait"), []*ir.Value{c.tokens[s.task], s.m.Lookup(c.index), s.m.Lookup(c.phase)})
	}
	for i, v := range c.values {
		from := s.view(c, i)
		s.m.Map(v, b.Op(ttg.LocalLoad, []*ir.Value{from}, v.Type()).OneResult())
		for u := range v.Users() {
			if !u.Is(ttg.LocalAlloc) || !s.has(u, s.task) {
				continue
			}
			buffer := ttg.AsLocalAlloc(u).Result()
			if buffer.Type().(*ttg.MemDescType).Encoding == ir.Attribute(c.encs[i]) {
				s.m.Map(buffer, from)
			}
		}
	}
}
