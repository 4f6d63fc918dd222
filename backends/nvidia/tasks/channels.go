package tasks

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// channel is what hands tensors of one task to others, through buffers: one in each
// iteration of the loop that makes them.
type channel struct {
	kind     int
	values   []*ir.Value // in the order of the program
	from     int64
	to       []int64
	block    *ir.Block // of what makes the values and, with what is in it, of all that uses them
	encs     []*encoding.Attr
	buffers  []*ir.Value
	barriers *ir.Value           // of loads through descriptors, else nil
	tokens   map[int64]*ir.Value // of tasks that take the tensors
	// index and phase say which buffer it is in an iteration, and how often it was
	// before; of two.
	index, phase, parity *ir.Value
}

// How a tensor gets to its buffer: the cases of enum tokenLoadType.
const (
	byAsyncCopy = 1
	byTMA       = 2
	byStore     = 3
)

// program is a function whose operations are marked with tasks.
type program struct {
	fn       *ir.Operation
	entry    *ir.Block
	all      []int64
	tasks    map[*ir.Operation][]int64 // also of loops, those of what is in them
	channels []*channel
	of       map[*ir.Value]*channel
}

// newProgram reads the marks of a function; nil if it has none, or operations in it belong
// to no task though they are not pure.
func newProgram(fn *ir.Operation) *program {
	p := &program{fn: fn, tasks: make(map[*ir.Operation][]int64), of: make(map[*ir.Value]*channel)}
	p.entry = tt.AsFunc(fn).Body().First()
	if p.entry == nil || p.entry.Next() != nil {
		return nil
	}
	ir.WalkPost(fn, func(op *ir.Operation) { p.all = both(p.all, idsOf(op)) })
	ok := len(p.all) > 1
	ir.WalkPost(fn, func(op *ir.Operation) {
		ids := idsOf(op)
		switch {
		case op == fn, op.IsTerminator():
			return
		case op.Is(scf.If), op.Is(scf.While), op.Is(ttg.WarpSpecialize), op.Is(nvws.Def("warp_group")):
			ok = false
		case op.Is(scf.For):
			for o := range op.Body().Ops() {
				ids = both(ids, p.tasks[o])
			}
		case len(ids) == 0:
			ids = p.all
			ok = ok && (ir.IsPure(op) || p.isInside(op))
		}
		p.tasks[op] = ids
	})
	if !ok {
		return nil
	}
	return p
}

// isInside reports whether op is in a region of an operation other than a loop, which runs
// as a whole.
func (p *program) isInside(op *ir.Operation) bool {
	parent := op.Parent()
	return parent != nil && parent != p.fn && !parent.Is(scf.For)
}

// has reports whether a task runs op, or op is what prepare made for all.
func (p *program) has(op *ir.Operation, task int64) bool {
	ids, ok := p.tasks[op]
	return !ok || slices.Contains(ids, task)
}

// maker is the operation that makes v, that of the last iteration where a loop gives it.
func maker(v *ir.Value) *ir.Operation {
	op := v.Def()
	for op != nil && op.Is(scf.For) {
		v = forloop.Yield(op).Operand(v.Index())
		op = v.Def()
	}
	return op
}

// findChannels finds the tensors that one task makes and others use.
func (p *program) findChannels() {
	ir.Walk(p.fn, func(op *ir.Operation) ir.WalkResult {
		if op == p.fn || p.isInside(op) {
			return ir.Advance
		}
		for _, v := range op.Results() {
			if tensors.Type(v) == nil {
				continue
			}
			made := maker(v)
			if made == nil || len(p.tasks[made]) != 1 {
				continue
			}
			from := p.tasks[made][0]
			var to []int64
			for u := range v.Users() {
				// A loop starts with it in the tasks that make it; see isComplete.
				if forloop.AncestorIn(op.Block(), u) != nil && !u.IsTerminator() && !u.Is(scf.For) {
					to = both(to, p.tasks[u])
				}
			}
			to = slices.DeleteFunc(to, func(t int64) bool { return t == from })
			if len(to) > 0 {
				p.add(v, from, to)
			}
		}
		return ir.Advance
	})
}

// add adds a channel for v, or v to the one before, where loads for the same operations of
// the same tasks are.
func (p *program) add(v *ir.Value, from int64, to []int64) {
	c := &channel{kind: byStore, values: []*ir.Value{v}, from: from, to: to, block: v.Def().Block()}
	switch op := v.Def(); {
	case p.uses(from, v): // in registers
	case op.Is(tt.DescriptorLoad):
		if bytesOf(c.values) <= barrierBytes {
			c.kind = byTMA
		}
	case op.Is(tt.Load):
		if load := tt.AsLoad(op); tensors.Type(load.Ptr()) != nil && (load.Other() == nil || arith.IsZero(load.Other())) {
			c.kind = byAsyncCopy
		}
	}
	if n := len(p.channels); n > 0 && c.kind != byStore {
		last := p.channels[n-1]
		together := append(slices.Clone(last.values), v)
		if last.kind == c.kind && last.block == c.block && slices.Equal(last.to, to) &&
			slices.Equal(readers(last.values[0]), readers(v)) && bytesOf(together) <= barrierBytes {
			last.values = together
			p.of[v] = last
			return
		}
	}
	p.channels = append(p.channels, c)
	p.of[v] = c
}

// uses reports whether a task has operations that use v.
func (p *program) uses(task int64, v *ir.Value) bool {
	for u := range v.Users() {
		if u.IsTerminator() || p.has(u, task) {
			return true
		}
	}
	return false
}

// barrierBytes is how many bytes a phase of an mbarrier counts at most.
const barrierBytes = 1<<20 - 1

// bytesOf is how many bytes a CTA has of tensors.
func bytesOf(values []*ir.Value) (n int64) {
	for _, v := range values {
		t := tensors.Type(v)
		n += tensors.Elements(t) * axisinfo.ElemBytes(t)
	}
	return n
}

// readers are the operations that use v, seen through buffers that it fills, their views,
// and other layouts; in the order of the program.
func readers(v *ir.Value) (list []*ir.Operation) {
	for u := range v.Users() {
		if u.Is(ttg.ConvertLayout) || isBuffer(u) {
			for _, r := range u.Results() {
				list = append(list, readers(r)...)
			}
		} else if !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b *ir.Operation) int {
		switch {
		case a == b:
			return 0
		case a.Block() == b.Block() && a.IsBeforeInBlock(b):
			return -1
		}
		return 1
	})
	return list
}

func isBuffer(op *ir.Operation) bool { return op.Is(ttg.LocalAlloc) || sharedmem.IsView(op) }

// isComplete reports whether each task has all that its operations use, apart from what
// channels bring.
func (p *program) isComplete() bool {
	ok := true
	ir.Walk(p.fn, func(op *ir.Operation) ir.WalkResult {
		if op == p.fn || op.IsTerminator() || p.isInside(op) {
			return ir.Advance
		}
		for _, t := range p.tasks[op] {
			for _, v := range op.Operands() {
				if op.Is(scf.For) && slices.Contains(scf.Inits(op), v) {
					continue // what needs it is in the loop
				}
				ok = ok && p.available(v, t, op)
			}
		}
		return ir.Advance
	})
	return ok
}

// available reports whether a task has v, where op uses it.
func (p *program) available(v *ir.Value, task int64, op *ir.Operation) bool {
	if c := p.of[v]; c != nil && slices.Contains(c.to, task) {
		return forloop.AncestorIn(c.block, op) != nil
	}
	return p.made(v, task, make(map[*ir.Value]bool))
}

// carries reports whether the loop of a task carries value number i: the task has what it
// starts with and what the iterations make of it.
func (p *program) carries(loop *ir.Operation, i int, task int64) bool {
	return p.carried(scf.IterArgs(loop)[i], task, make(map[*ir.Value]bool))
}

// carried is carries for the argument of a loop's body, when a task is taken to have those
// that were seen.
func (p *program) carried(arg *ir.Value, task int64, seen map[*ir.Value]bool) bool {
	if seen[arg] {
		return true
	}
	seen[arg] = true
	loop, i := arg.Block().Parent(), scf.CarriedIndex(arg)
	return p.made(forloop.Yield(loop).Operand(i), task, seen) && p.made(scf.Inits(loop)[i], task, seen)
}

// made reports whether a task makes v itself.
func (p *program) made(v *ir.Value, task int64, seen map[*ir.Value]bool) bool {
	def := v.Def()
	switch {
	case p.of[v] != nil && p.of[v].from != task:
		return false
	case def == nil:
		loop := v.Block().Parent()
		return !loop.Is(scf.For) || scf.CarriedIndex(v) < 0 || p.carried(v, task, seen)
	case def.Is(scf.For):
		return p.has(def, task) && p.carried(scf.IterArgs(def)[v.Index()], task, seen)
	}
	return p.has(def, task)
}

// prepare makes buffers, barriers and tokens for n iterations at the start of the function,
// and counts iterations. Types of tokens are made by tokens.
func (p *program) prepare(b *ir.Builder, n int, tokens ir.Type, create *ir.OpDef) {
	c := b.Context()
	b.SetToStart(p.entry)
	b.Loc = p.fn.Loc()
	i32 := c.I32()
	zero, one, count := arith.Int(b, i32, 0), arith.Int(b, i32, 1), arith.Int(b, i32, int64(n))
	for _, ch := range p.channels {
		for _, v := range ch.values {
			t, e := tensors.Type(v), p.layoutOf(ch, v)
			m := ttg.MemDesc(c, ttg.MemDescType{
				Shape: append([]int64{int64(n)}, t.Shape...), Elem: t.Elem, Encoding: e, Space: ttg.SharedMemory(c), Mutable: true,
			})
			ch.encs = append(ch.encs, e)
			ch.buffers = append(ch.buffers, b.Op(ttg.LocalAlloc, nil, m).OneResult())
		}
		if ch.kind == byTMA {
			ch.barriers = tma.Copies{}.NewBarriers(b, n)
		}
		ch.tokens = make(map[int64]*ir.Value)
		for _, t := range ch.to {
			ch.tokens[t] = b.Create(create, ir.State{Types: []ir.Type{tokens}, Attrs: []ir.NamedAttr{
				{Name: "numBuffers", Attr: c.I32Attr(int64(n))}, {Name: "loadType", Attr: c.I32Attr(int64(ch.kind))},
			}}).OneResult()
		}
	}
	counters := make(map[*ir.Block]*ir.Value)
	for _, ch := range p.channels {
		counter := p.counter(b, ch.block, counters, zero, one)
		p.marking(b)
		if counter == zero {
			b.At(ch.values[0].Def())
		} else {
			b.SetToStart(ch.block)
		}
		ch.index, ch.parity = zero, counter
		if n > 1 {
			ch.index = arith.Binary(b, arith.RemUI, counter, count)
			ch.parity = arith.Binary(b, arith.DivUI, counter, count)
		}
		ch.parity = arith.Binary(b, arith.AndI, ch.parity, one)
		ch.phase = arith.Cast(b, arith.TruncI, ch.parity, c.Int(1))
		b.OnInsert = nil
	}
}

// marking has all tasks run what is made until OnInsert is reset.
func (p *program) marking(b *ir.Builder) {
	b.OnInsert = func(op *ir.Operation) { p.tasks[op] = p.all }
}

// counter is the number of iterations so far of the loop with that body, and of those
// around it, of which zero is the first; zero itself where that is not a loop's.
func (p *program) counter(b *ir.Builder, body *ir.Block, known map[*ir.Block]*ir.Value, zero, one *ir.Value) *ir.Value {
	if have := known[body]; have != nil || !body.Parent().Is(scf.For) {
		if have == nil {
			return zero
		}
		return have
	}
	arg := p.carry(b, body, zero)
	loop := body.Parent()
	b.SetBefore(forloop.Yield(loop))
	p.marking(b)
	forloop.Yield(loop).AppendOperand(arith.Binary(b, arith.AddI, arg, one))
	b.OnInsert = nil
	p.handOn(loop)
	known[body] = arg
	return arg
}

// carry has the loop with that body carry one more number, that loops around it carry on,
// and returns it. What they yield for it is to be appended.
func (p *program) carry(b *ir.Builder, body *ir.Block, zero *ir.Value) *ir.Value {
	init, outer := zero, body.Parent().Block()
	if outer.Parent().Is(scf.For) {
		init = p.carry(b, outer, zero)
	}
	old := body.Parent()
	ids := p.tasks[old]
	results := old.Results()
	loop, args := forloop.AddCarried(b, old, init)
	for i, r := range results {
		if ch := p.of[r]; ch != nil {
			delete(p.of, r)
			p.of[loop.Result(i)] = ch
			ch.values[slices.Index(ch.values, r)] = loop.Result(i)
		}
	}
	delete(p.tasks, old)
	p.tasks[loop] = ids
	return args[0]
}

// handOn has the loops around loop yield its last result.
func (p *program) handOn(loop *ir.Operation) {
	for outer := loop.Block().Parent(); outer.Is(scf.For); outer = outer.Block().Parent() {
		forloop.Yield(outer).AppendOperand(loop.Result(loop.NumResults() - 1))
		loop = outer
	}
}

// layoutOf is the layout of v's buffer: what TMA writes, the one that its only user fills
// another with, or a plain one.
func (p *program) layoutOf(ch *channel, v *ir.Value) *encoding.Attr {
	if ch.kind == byTMA {
		block := tt.AsDescriptorLoad(v.Def()).Desc().Type().(*tt.TensorDescType).Block
		if e, ok := block.Encoding.(*encoding.Attr); ok && slices.Equal(block.Shape, tensors.Type(v).Shape) {
			return e
		}
		return tma.Copies{}.Buffer(v.Def())
	}
	if v.HasOneUse() && v.OnlyUser().Is(ttg.LocalAlloc) {
		if e, ok := ttg.AsLocalAlloc(v.OnlyUser()).Result().Type().(*ttg.MemDescType).Encoding.(*encoding.Attr); ok {
			return e
		}
	}
	t := tensors.Type(v)
	return encoding.Of(p.fn.Context(), sharedmem.For(dots.Plain(sharedmem.Order(t)), t))
}
