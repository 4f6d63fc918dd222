package allocation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// Scratch tells how many bytes of shared memory an operation needs while it
// runs, 0 for none, and their alignment, 0 for that of any area. Unless package
// membar is told otherwise, an operation that needs some writes it, waits for
// all threads, and reads it.
type Scratch func(op *ir.Operation) (bytes, align int, err error)

// Area is a range of bytes of a function's frame.
type Area struct {
	Offset, Size int
	// Scratch marks the area of an operation with scratch memory; others are
	// buffers and frames of called functions.
	Scratch bool
	// First and Last are the first and last operation during which the area is
	// alive, as numbers of operations of the function in program order; the
	// function itself is 0.
	First, Last int
}

// Result says where everything is.
type Result struct {
	areas  map[*ir.Operation]Area
	frames map[string]int
	aligns map[string]int
	size   int
	align  int
}

// Area is the memory of op (a local_alloc, an operation with scratch memory, or
// a call of a function that has a frame), and whether it has any.
func (r *Result) Area(op *ir.Operation) (Area, bool) {
	a, ok := r.areas[op]
	return a, ok
}

// Offset is the offset of op's area in its function's frame.
func (r *Result) Offset(op *ir.Operation) int { return r.areas[op].Offset }

// CallOffset is the offset of the frame of the function that op calls.
func (r *Result) CallOffset(op *ir.Operation) int { return r.areas[op].Offset }

// Frame is the number of bytes of a function's own frame, callees' included.
func (r *Result) Frame(function string) int { return r.frames[function] }

// Size is the number of bytes that the whole module's kernel needs.
func (r *Result) Size() int { return r.size }

// Align is the alignment of the kernel's memory in bytes, a power of two.
func (r *Result) Align() int { return r.align }

// defaultAlign is the least alignment of an area in bytes: the widest access of
// a thread.
const defaultAlign = 16

// smallScratch bounds the scratch areas that are kept apart from their
// neighbours.
const smallScratch = 1024

// Tight is the room of a module whose memory is to be the least.
const Tight = -1

// Analyze places the memory of every function of a module. A function that needs no
// more than room bytes when areas of the same loop are kept apart has them apart: its
// threads then wait for one another less. With room 0 only small scratch areas are kept
// apart from their neighbours, and with Tight nothing is.
func Analyze(mod *ir.Operation, scratch Scratch, room int) (*Result, error) {
	r := &Result{areas: make(map[*ir.Operation]Area), frames: make(map[string]int), aligns: make(map[string]int), align: defaultAlign}
	funcs := make(map[string]*ir.Operation)
	var order []*ir.Operation
	for op := range mod.Body().Ops() {
		if op.Is(tt.Func) {
			funcs[tt.AsFunc(op).SymName()] = op
			order = append(order, op)
		}
	}
	p := &placer{r: r, scratch: scratch, room: room, funcs: funcs, state: make(map[*ir.Operation]int)}
	for _, f := range order {
		if err := p.function(f); err != nil {
			return nil, err
		}
		if v := tt.AsFunc(f); v.SymVisibility() != "private" {
			r.size = max(r.size, r.frames[v.SymName()])
			r.align = max(r.align, r.aligns[v.SymName()])
		}
	}
	return r, nil
}

// placer places callees before their callers, whose frames contain theirs.
type placer struct {
	r       *Result
	scratch Scratch
	room    int
	funcs   map[string]*ir.Operation
	state   map[*ir.Operation]int // 1: begun, 2: done
}

// buffer is an area to be placed.
type buffer struct {
	op          *ir.Operation
	size, align int
	first, last int // lifetime: operation numbers, both included
	scratch     bool
	group       *group // nil outside of partitions
	offset      int
}

func (p *placer) function(f *ir.Operation) error {
	switch p.state[f] {
	case 1:
		d := diag.Errorf(diag.Pos{}, "function %q calls itself; its shared memory would have no bound", tt.AsFunc(f).SymName())
		if at := ir.FileLocOf(f.Loc()); at != nil {
			d.Pos = diag.Pos{File: at.File, Line: at.Line, Col: at.Col + 1}
		}
		return d.WithHelp("write it as a loop")
	case 2:
		return nil
	}
	p.state[f] = 1
	w := &walker{p: p, number: make(map[*ir.Operation]span)}
	if err := w.collect(f); err != nil {
		return err
	}
	size, align := w.place(), defaultAlign
	for _, b := range w.buffers {
		align = max(align, b.align)
		p.r.areas[b.op] = Area{Offset: b.offset, Size: b.size, Scratch: b.scratch, First: b.first, Last: b.last}
	}
	p.r.frames[tt.AsFunc(f).SymName()] = size
	p.r.aligns[tt.AsFunc(f).SymName()] = align
	p.state[f] = 2
	return nil
}

// span is the range of operation numbers of an operation and its regions.
type span struct{ first, last int }

type walker struct {
	p       *placer
	number  map[*ir.Operation]span
	next    int
	buffers []*buffer
}

func (w *walker) collect(f *ir.Operation) error {
	var ops []*ir.Operation
	groups := map[*ir.Operation]*group{}
	var visit func(op *ir.Operation, g *group)
	visit = func(op *ir.Operation, g *group) {
		if g != nil {
			groups[op] = g
		}
		s := span{first: w.next}
		w.next++
		ops = append(ops, op)
		for i, r := range op.Regions() {
			in := g
			switch {
			case op.Is(ttg.WarpSpecialize) && i == 0:
				in = &group{split: op, outer: g}
			case op.Is(ttg.WarpSpecializePartitions):
				in = &group{split: op.Parent(), index: 1 + i, outer: g}
			}
			for b := range r.Blocks() {
				for o := range b.Ops() {
					visit(o, in)
				}
			}
		}
		s.last = w.next - 1
		w.number[op] = s
	}
	visit(f, nil)
	for _, op := range ops {
		if err := w.op(f, op); err != nil {
			return err
		}
	}
	for _, b := range w.buffers {
		b.group = groups[b.op]
	}
	if w.p.room != Tight {
		w.keepApart()
	}
	return nil
}

func (w *walker) op(f, op *ir.Operation) error {
	n := w.number[op]
	switch {
	case op.Is(ttg.LocalAlloc):
		t := op.OneResult().Type().(*ttg.MemDescType)
		size, err := bufferBytes(t)
		if err != nil {
			return err
		}
		align := bufferAlign(t)
		if a, ok := ttg.AsLocalAlloc(op).Alignment(); ok {
			align = max(align, int(a))
		}
		life := w.life(f, op)
		w.buffers = append(w.buffers, &buffer{op: op, size: size, align: align, first: life.first, last: life.last})
	case op.Is(tt.Call):
		callee := w.p.funcs[tt.AsCall(op).Callee()]
		if callee == nil {
			return nil // the lowering reports it
		}
		if err := w.p.function(callee); err != nil {
			return err
		}
		if size := w.p.r.frames[tt.AsFunc(callee).SymName()]; size > 0 {
			w.buffers = append(w.buffers, &buffer{op: op, size: size, align: w.p.r.aligns[tt.AsFunc(callee).SymName()], first: n.first, last: n.last})
		}
	default:
		size, align, err := w.p.scratch(op)
		if err != nil {
			return err
		}
		if align == 0 {
			align = defaultAlign
		}
		if size > 0 {
			w.buffers = append(w.buffers, &buffer{
				op: op, size: size, align: align, first: n.first, last: n.last, scratch: true,
			})
		}
	}
	return nil
}

// keepApart lengthens the life of each small scratch area to the next scratch
// area of the same block.
func (w *walker) keepApart() {
	var prev *buffer
	for _, b := range w.buffers {
		if !b.scratch {
			continue
		}
		if prev != nil && prev.size <= smallScratch && prev.op.Block() == b.op.Block() {
			prev.last = max(prev.last, b.last)
		}
		prev = b
	}
}

// bufferBytes is the size of a buffer: its elements, padding included.
func bufferBytes(t *ttg.MemDescType) (int, error) {
	n := 1
	for _, d := range t.AllocShape {
		n *= int(d)
	}
	parts, gaps := spread(t)
	n = n / parts * gaps
	bits := ir.BitWidth(t.Elem)
	if _, ptr := t.Elem.(*tt.PtrType); ptr {
		bits = 64
	}
	if bits == 0 {
		return 0, fmt.Errorf("a buffer of elements without a size")
	}
	if a, ok := t.Encoding.(*encoding.Attr); ok {
		switch l := a.Layout.(type) {
		case *layout.PaddedShared:
			n = l.Pad(n-1) + 1
		case layout.Shared:
			if count := int(t.AllocShape[0]); l.Rank() < len(t.AllocShape) {
				return (count-1)*Stride(l, n/count*max(bits, 8)/8) + n/count*max(bits, 8)/8, nil
			}
		}
	}
	return (n*max(bits, 8) + 7) / 8, nil
}

// Parts is into how many parts a buffer is divided among the CTAs of a cluster, each
// of which has memory for its part alone.
func Parts(t *ttg.MemDescType) int {
	parts, _ := spread(t)
	return parts
}

// spread is Parts, and how many times the memory of its elements a part takes: 2 where half
// of it is left empty.
func spread(t *ttg.MemDescType) (parts, gaps int) {
	a, ok := t.Encoding.(*encoding.Attr)
	if !ok {
		return 1, 1
	}
	l, ok := a.Layout.(layout.Shared)
	if !ok {
		return 1, 1
	}
	if _, padded := l.(*layout.PaddedShared); padded && layout.CTAs(l) == 1 {
		return 1, 1 // Pad counts its gaps
	}
	shape := t.AllocShape
	if r := l.Rank(); r > 0 && r < len(shape) {
		shape = shape[len(shape)-r:]
	}
	lin, err := l.Linear(shape)
	if err != nil {
		return 1, 1 // the lowering tells
	}
	whole, part := int64(1), 1<<lin.InBits(layout.Offset)
	for _, d := range shape {
		whole *= d
	}
	return max(int(whole)/part, 1), max(part/int(whole), 1)
}

// Stride is how many bytes after the start of a buffer of so many bytes the next
// one of an array of them begins: each is aligned as its arrangement asks for.
func Stride(l layout.Shared, bytes int) int { return roundUp(bytes, l.Align()) }

// bufferAlign is the alignment that a buffer's arrangement asks for.
func bufferAlign(t *ttg.MemDescType) int {
	if a, ok := t.Encoding.(*encoding.Attr); ok {
		if l, ok := a.Layout.(layout.Shared); ok {
			return max(l.Align(), defaultAlign)
		}
	}
	return defaultAlign
}

// life is the range of operations in which the buffer of an allocation may be in
// use, under whatever name. Uses inside a loop or a condition count as all of it.
func (w *walker) life(f, alloc *ir.Operation) span {
	l := lifetime{walker: w, home: alloc.Block(), span: w.number[alloc], seen: make(map[*ir.Value]bool)}
	l.last = l.first
	if !l.follow(alloc.OneResult()) {
		return w.number[f]
	}
	return l.span
}

// lifetime follows the names of one buffer.
type lifetime struct {
	*walker
	span
	home *ir.Block // at whose level uses count
	seen map[*ir.Value]bool
}

// cover makes op, or what is around it at home, part of the life; false when
// nothing does.
func (l *lifetime) cover(op *ir.Operation) bool {
	for op != nil && op.Block() != l.home {
		op = op.Parent()
	}
	if op == nil {
		return false
	}
	n := l.number[op]
	l.first, l.last = min(l.first, n.first), max(l.last, n.last)
	return true
}

// follow covers all uses of v; false when they may be anywhere.
func (l *lifetime) follow(v *ir.Value) bool {
	if l.seen[v] {
		return true
	}
	l.seen[v] = true
	for u := range v.Uses() {
		op := u.Owner()
		if !l.cover(op) || !l.passed(u) {
			return false
		}
		for _, r := range op.Results() {
			if _, ok := r.Type().(*ttg.MemDescType); ok && op.NumRegions() == 0 && !l.follow(r) {
				return false
			}
		}
	}
	return true
}

// passed follows an operand to where control flow takes it.
func (l *lifetime) passed(u *ir.Use) bool {
	op, index := u.Owner(), u.Index()
	if op.Is(scf.For) {
		if i := scf.AsFor(op).InitArgsIndex(u); i >= 0 {
			return l.follow(scf.IterArg(op, i)) && l.follow(op.Result(i))
		}
	}
	switch parent := op.Parent(); {
	case op.Is(scf.Yield) && parent.Is(scf.For):
		return l.leave(parent) && l.follow(scf.IterArg(parent, index)) && l.follow(parent.Result(index))
	case op.Is(scf.Yield) && parent.Is(scf.If):
		return l.leave(parent) && l.follow(parent.Result(index))
	}
	return !op.IsTerminator() && op.NumRegions() == 0
}

// leave has uses count at the level of op, if the buffer is allocated in it: it is
// still in use when op's body runs again, or after op.
func (l *lifetime) leave(op *ir.Operation) bool {
	for b := l.home; ; {
		p := b.Parent()
		if p == nil {
			return true // op is deeper than home
		}
		if p == op {
			l.home = op.Block()
			return l.cover(op)
		}
		if b = p.Block(); b == nil {
			return true
		}
	}
}

// place finds the offsets of all buffers of f, and returns the end of the last. Areas
// that share bytes cost a barrier between the last use of one and the first of the
// other, in a loop one for each iteration: those of a loop share none if there is room.
func (w *walker) place() int {
	apart := make([]*buffer, len(w.buffers))
	for i, b := range w.buffers {
		c := *b
		if loop := innermostLoop(b.op); loop != nil {
			n := w.number[loop]
			c.first, c.last = min(c.first, n.first), max(c.last, n.last)
		}
		apart[i] = &c
	}
	if size := place(apart); size <= w.p.room {
		for i, b := range apart {
			w.buffers[i].offset = b.offset
		}
		return size
	}
	return place(w.buffers)
}

// innermostLoop is the innermost loop around op, or nil.
func innermostLoop(op *ir.Operation) *ir.Operation {
	for op = op.Parent(); op != nil; op = op.Parent() {
		if op.Is(scf.For) || op.Is(scf.While) {
			return op
		}
	}
	return nil
}

// place gives each buffer the lowest offset at which it meets no buffer that
// lives at the same time, the largest first, and returns the end of the last.
func place(buffers []*buffer) int {
	bySize := slices.Clone(buffers)
	slices.SortStableFunc(bySize, func(a, b *buffer) int { return cmp.Compare(b.size, a.size) })
	end := 0
	for i, b := range bySize {
		var taken []*buffer
		for _, o := range bySize[:i] {
			if o.first <= b.last && b.first <= o.last || atOnce(o.group, b.group) {
				taken = append(taken, o)
			}
		}
		slices.SortStableFunc(taken, func(x, y *buffer) int { return cmp.Compare(x.offset, y.offset) })
		for _, o := range taken {
			if b.offset+b.size <= o.offset {
				break
			}
			b.offset = max(b.offset, roundUp(o.offset+o.size, b.align))
		}
		end = max(end, b.offset+b.size)
	}
	return end
}

// group is a region of a ttg.warp_specialize, whose regions run at once, and the one
// around that.
type group struct {
	split *ir.Operation
	index int // 0 is the default region
	outer *group
}

// atOnce reports whether a and b, either of which may be nil, run at once.
func atOnce(a, b *group) bool {
	for ; a != nil; a = a.outer {
		for g := b; g != nil; g = g.outer {
			if g.split == a.split && g.index != a.index {
				return true
			}
		}
	}
	return false
}

func roundUp(n, align int) int { return (n + align - 1) / align * align }
