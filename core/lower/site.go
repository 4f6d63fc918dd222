package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// VendorOps lowers a vendor's own operations in the GPU dialects: engines that
// copy, barriers in memory.
type VendorOps interface {
	// Operations are those that the target lowers, by their names: a dialect that a kernel
	// does not use need not be loaded. Called once per module.
	Operations() map[string]*VendorOp
	// FenceAsync orders what the thread wrote to shared memory before what engines
	// do there after the next barrier.
	FenceAsync(b *llir.Builder)
}

// VendorOp is how one operation of a target's dialect is lowered.
type VendorOp struct {
	// Lower appends the code. An error is the user's mistake.
	Lower func(s *Site, op *ir.Operation) error
	// Effects is what the operation does to shared memory; nil is nothing.
	Effects func(op *ir.Operation) membar.Effects
	// Scratch is how many bytes of shared memory it works in, and their alignment, 0 for
	// that of any; nil is none.
	Scratch func(op *ir.Operation) (bytes, align int)
	// Atomic: it is lowered by Site.Atomic, which has scratch memory of its own. Scratch
	// and Effects are nil.
	Atomic bool
}

// Site is where an operation is lowered.
type Site struct {
	// B inserts the code at the operation.
	B *llir.Builder
	// Thread is the index of the thread among those that run the operation, an i32: the
	// program's, or a partition's.
	Thread llir.Value

	e  *emitter
	op *ir.Operation
}

// Value returns the registers of a value: one of a scalar, a pointer or a
// descriptor.
func (s *Site) Value(v *ir.Value) []llir.Value { return s.e.value(v) }

// Set gives a result its registers.
func (s *Site) Set(v *ir.Value, regs ...llir.Value) { s.e.set(v, regs) }

// Pass gives a result that is an operand the registers of it, or its place in shared
// memory.
func (s *Site) Pass(result, operand *ir.Value) error {
	if _, ok := operand.Type().(*ttg.MemDescType); ok {
		return s.e.show(result, s.e.buffer(operand))
	}
	s.e.set(result, s.e.value(operand))
	return nil
}

// Rearrange gives a result the elements of an operand that has the same shape and another
// layout. It fails where a thread would need an element that it does not hold.
func (s *Site) Rearrange(result, operand *ir.Value) error {
	from, ok := operand.Type().(*ir.TensorType)
	to, ok2 := result.Type().(*ir.TensorType)
	if !ok || !ok2 || !slices.Equal(from.Shape, to.Shape) || from.Elem != to.Elem {
		return fmt.Errorf("the result must have the operand's shape and elements")
	}
	p, err := s.e.m.planTypes(from, to)
	if err != nil {
		return err
	}
	if p.means > layout.Registers {
		return fmt.Errorf("the result's layout gives threads elements that they do not hold in the operand's")
	}
	s.e.set(result, s.e.viaRegisters(p, s.e.value(operand)))
	return nil
}

// Moved are the elements of an operand in the layout of a type of the same shape, which
// registers and shuffles bring there. It fails where a thread would need what another warp
// holds.
func (s *Site) Moved(operand *ir.Value, to *ir.TensorType) ([]llir.Value, error) {
	p, err := s.e.m.planTypes(operand.Type().(*ir.TensorType), to)
	if err != nil {
		return nil, err
	}
	if p.means > layout.Shuffles {
		return nil, fmt.Errorf("threads need elements that other warps hold")
	}
	return s.e.viaRegisters(p, s.e.value(operand)), nil
}

// Notes are what a target's own operations note of values of the function.
func (s *Site) Notes() map[llir.Value]any {
	if s.e.fn.notes == nil {
		s.e.fn.notes = make(map[llir.Value]any)
	}
	return s.e.fn.notes
}

// Warps is how many warps run the operation.
func (s *Site) Warps() int { return s.e.m.warps }

// Barrier waits for the threads of these warps.
func (s *Site) Barrier() { s.e.barrier() }

// Meet is one barrier of these warps, of an operation with the effect Meets or Apart.
func (s *Site) Meet() { s.e.meet() }

// Assert reports a message, with the operation's place, and stops the program unless the
// i1 ok holds.
func (s *Site) Assert(ok llir.Value, message string) {
	pos := position(s.op.Loc())
	s.e.m.caps.Reports.Assert(s.B, ok, Assertion{Message: message, File: pos.File, Line: pos.Line, Function: s.e.fn.name})
}

// Coords are the coordinates along dimension d of the elements of v that the thread
// holds, an i32 for each register.
func (s *Site) Coords(v *ir.Value, d int) ([]llir.Value, error) {
	l, err := s.e.layout(v)
	if err != nil {
		return nil, err
	}
	return s.e.coords(l, d), nil
}

// SharedAt is the address of a byte of the function's shared memory.
func (s *Site) SharedAt(off int64) llir.Value { return s.e.sharedAt(int(off)) }

// Allocs calls f for each allocation of shared memory in the function, with the byte where
// its buffer begins.
func (s *Site) Allocs(f func(alloc *ir.Operation, at int64)) {
	ir.Walk(s.e.fn.op, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.LocalAlloc) {
			f(op, int64(s.e.m.alloc.Offset(op)))
		}
		return ir.Advance
	})
}

// Scratch is the address of the operation's scratch memory.
func (s *Site) Scratch() llir.Value { return s.e.sharedAt(s.e.m.alloc.Offset(s.op)) }

// LoadBuffer reads what a value shows of shared memory, as a tensor of type t.
func (s *Site) LoadBuffer(v *ir.Value, t *ir.TensorType) ([]llir.Value, error) {
	return s.e.loadBuffer(v, t)
}

// Buffer is what a value shows of shared memory.
func (s *Site) Buffer(v *ir.Value) (*Buffer, error) {
	t := memDesc(v)
	enc, ok := t.Encoding.(*encoding.Attr)
	if !ok {
		return nil, fmt.Errorf("the buffer has no arrangement")
	}
	_, bits, err := memoryType(t.Elem)
	if err != nil {
		return nil, err
	}
	shared, err := enc.Layout.Linear(wholeShape(t))
	if err != nil {
		return nil, err
	}
	buf := s.e.buffer(v)
	part, err := layout.PartOf(enc.Layout, wholeShape(t))
	if err != nil {
		return nil, err
	}
	for d, n := range t.Shape { // of which the buffer shows no more
		part[d] = min(part[d], n)
	}
	return &Buffer{
		Type: t, Layout: enc.Layout, Bytes: bits / 8, Ptr: buf.ptr, Part: part,
		offset: buf.offset, linear: shared.Sub([]layout.Dim{layout.Offset}, outDims(shared)),
		blocks: shared.TransposeOuts(tensorDims(len(t.Shape))...),
	}, nil
}

// PartBegins is where the part of this CTA of a cluster begins along dimension d of a
// buffer, an i32.
func (s *Site) PartBegins(b *Buffer, d int) llir.Value {
	bases := b.blocks.BasesOf(layout.Block)
	cols := make([]uint32, len(bases))
	for i, v := range bases {
		cols[i] = uint32(v[d])
	}
	if len(cols) == 0 {
		return s.B.M.I32(0)
	}
	return s.e.linearSum(s.e.rank, cols)
}

// PartOwner is an i1 that holds in one of the CTAs that have the same part of a buffer;
// nil where no two have.
func (s *Site) PartOwner(b *Buffer) llir.Value {
	free := b.blocks.FreeMask(layout.Block)
	for i := bitLen(b.blocks.InSize(layout.Block)); i < s.e.m.rankBits(); i++ {
		free |= 1 << i
	}
	return s.e.zeroBitsOfRank(free)
}

func tensorDims(rank int) []layout.Dim {
	list := make([]layout.Dim, rank)
	for d := range list {
		list[d] = layout.TensorDim(d)
	}
	return list
}

// Buffer is a place in shared memory.
type Buffer struct {
	Type   *ttg.MemDescType
	Layout layout.Encoding
	// Bytes is the size of an element.
	Bytes int
	// Ptr is the address of the buffer of which Type is all or a part.
	Ptr llir.Value
	// Part is the shape of what one CTA of a cluster has of it: that of Type where a
	// cluster is one CTA.
	Part []int64

	offset []int64
	linear layout.Layout
	blocks layout.Layout
}

// Place is how many bytes after Ptr an element lies, by its coordinates.
func (b *Buffer) Place(at []int64) (int64, error) {
	point := make([]int, len(at))
	for d, x := range at {
		point[d] = int(b.offset[d] + x)
	}
	offs, ok := b.linear.InvertAndCompose(pointLayout(b.linear, point))
	if !ok {
		return 0, fmt.Errorf("the part of the buffer is outside of it")
	}
	if cols := offs.Columns(layout.Register); len(cols) > 0 {
		return int64(cols[0]) * int64(b.Bytes), nil
	}
	return 0, nil
}

// wholeShape is the shape that a buffer's arrangement is of: that of the whole
// allocation, of which leading dimensions may have been indexed away.
func wholeShape(t *ttg.MemDescType) []int64 { return t.AllocShape[len(t.AllocShape)-len(t.Shape):] }

// ownOps are the operations of the target's dialect.
func (m *module) ownOps() map[string]*VendorOp {
	if d := m.caps.VendorOps; d != nil {
		return d.Operations()
	}
	return nil
}

// effects tells the analysis of barriers what operations of the target's dialect
// do; nil where the module has none.
func (m *module) effects() membar.Foreign {
	if !m.usesOwn {
		return nil
	}
	return func(op *ir.Operation) (membar.Effects, bool) {
		o, ok := m.own[op.Name()]
		switch {
		case !ok, o.Atomic: // what scratch memory it has is used as core's operations use theirs
			return membar.Effects{}, false
		case o.Effects == nil:
			return membar.Effects{}, true
		}
		return o.Effects(op), true
	}
}

// lower is the handler of an operation of the target's dialect.
func (o *VendorOp) lower(e *emitter, op *ir.Operation) error {
	if err := o.Lower(&Site{B: e.b, Thread: e.tid, e: e, op: op}, op); err != nil {
		return err
	}
	if o.Effects == nil || !o.Effects(op).Apart {
		return nil
	}
	if !e.apart {
		if err := o.closed(op); err != nil {
			return err
		}
	}
	e.apart = !e.apart
	return nil
}

// closed fails unless the threads that op has go ahead wait for the others later in its
// block, and what is in between is the function's own code, whose barriers are known.
func (o *VendorOp) closed(op *ir.Operation) error {
	for next := op.Next(); next != nil; next = next.Next() {
		if next.Def() == op.Def() && o.Effects(next).Apart {
			return nil
		}
		foreign := ""
		ir.Walk(next, func(in *ir.Operation) ir.WalkResult {
			if in.Is(tt.Call) || in.Is(ttg.WarpSpecialize) {
				foreign = in.Name()
				return ir.Stop
			}
			return ir.Advance
		})
		if foreign != "" {
			return fmt.Errorf("half of the threads are a barrier late after it, and %s has barriers of its own", foreign)
		}
	}
	return fmt.Errorf("half of the threads are a barrier late after it, and no later one in its block has the others wait for them")
}
