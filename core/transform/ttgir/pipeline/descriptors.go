package pipeline

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// placeDescriptors gives each descriptor that the loop makes in a stage before the last as
// many places in memory as there are stages from that one on:
//
//	%d = tt.make_tensor_descriptor …   {stage 0}
//	%v = tt.descriptor_load %d[%i]     {stage 0}
//	use %v                             {stage 2}
//
// becomes, in the words of BlockCopies,
//
//	%d = describe memory[index], …     {stage 0}
//	%v = tt.descriptor_load %d[%i]     {stage 0}
//	use %v                             {stage 2}
//
// where index, which the loop carries, counts to 3. When a place is written again, the
// iteration that wrote it before has been through its last stage, and so waited for what
// it loaded. A descriptor that is made in the last stage needs one place, and stays unless
// literal says otherwise.
func placeDescriptors(b *ir.Builder, s *schedule, blocks BlockCopies, literal bool) {
	least := 2
	if literal {
		least = 1
	}
	var made []*ir.Operation
	var sizes []int
	for op := range s.loop.Body().Ops() {
		if n := s.places(op); n >= least {
			made = append(made, op)
			if !slices.Contains(sizes, n) {
				sizes = append(sizes, n)
			}
		}
	}
	if len(made) == 0 {
		return
	}
	b.At(s.loop)
	i32 := b.Context().I32()
	memory := make(map[*ir.Operation]*ir.Value)
	for _, op := range made {
		b.Loc = op.Loc()
		memory[op] = blocks.NewDescriptors(b, s.places(op))
	}
	b.Loc = s.loop.Loc()
	zero, one := arith.Int(b, i32, 0), arith.Int(b, i32, 1)
	limits, index := make(map[int]*ir.Value), make(map[int]*ir.Value)
	for _, n := range sizes {
		limits[n] = arith.Int(b, i32, int64(n))
	}
	var args []*ir.Value
	s.loop, args = forloop.AddCarried(b, s.loop, slices.Repeat([]*ir.Value{zero}, len(sizes))...)
	for i, n := range sizes {
		index[n] = args[i]
	}
	for _, op := range made {
		b.At(op)
		here, n := s.slots[op], s.places(op)
		b.OnInsert = s.placing(&here)
		op.ReplaceAllUsesWith(blocks.Describe(b, op, memory[op], index[n]))
		if limit := limits[n]; limit != nil { // the first of so many places
			next := arith.Binary(b, arith.AddI, index[n], one)
			past := arith.Compare(b, arith.CmpI, arith.SGE, next, limit)
			forloop.Yield(s.loop).AppendOperand(arith.NewSelect(b, past, zero, next))
			delete(limits, n)
		}
		b.OnInsert = nil
		delete(s.slots, op)
		op.Erase()
	}
	s.addAllDeps()
}

// places is how many places a descriptor needs that op makes, 0 where op makes none.
func (s *schedule) places(op *ir.Operation) int {
	if !op.Is(tt.MakeTensorDesc) || !s.has(op) {
		return 0
	}
	return s.stages - s.slots[op].stage
}

// bufferConditional gives descriptors that the loop makes under conditions places for as
// many iterations as are under way at once. In a partition of a warp-specialized loop that is
// for other passes to say.
func bufferConditional(b *ir.Builder, s *schedule, unit dots.MatrixUnit, blocks BlockCopies) {
	if s.loop.ParentOf(ttg.WarpSpecialize) != nil {
		return
	}
	n := max(1, s.stages-1)
	for op := range s.loop.Body().Ops() {
		if made, ok := unit.Made(op); ok && made.RunsOn {
			n++
			break
		}
	}
	made := slices.DeleteFunc(descriptorsOf(s.loop), func(op *ir.Operation) bool { return op.Block() == s.loop.Body() })
	s.loop = bufferDescriptors(b, s.loop, made, n, blocks)
}

// BufferDescriptors gives each descriptor that loop makes, under conditions or not, n places
// in memory, which it takes in turn: the loop carries a counter for each, which every branch
// that leads to it gives out. It returns how many descriptors there are.
func BufferDescriptors(b *ir.Builder, loop *ir.Operation, n int, blocks BlockCopies) int {
	made := descriptorsOf(loop)
	bufferDescriptors(b, loop, made, n, blocks)
	return len(made)
}

// descriptorsOf lists what makes descriptors in loop, but not in loops inside it.
func descriptorsOf(loop *ir.Operation) []*ir.Operation {
	var made []*ir.Operation
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(tt.MakeTensorDesc) && leadsTo(loop, op):
			made = append(made, op)
		case op != loop && op.Is(scf.For):
			return ir.Skip
		}
		return ir.Advance
	})
	return made
}

func bufferDescriptors(b *ir.Builder, loop *ir.Operation, made []*ir.Operation, n int, blocks BlockCopies) *ir.Operation {
	if len(made) == 0 {
		return loop
	}
	b.At(loop)
	i32 := b.Context().I32()
	var memory []*ir.Value
	for _, op := range made {
		b.Loc = op.Loc()
		memory = append(memory, blocks.NewDescriptors(b, n))
	}
	b.Loc = loop.Loc()
	zero, one := arith.Int(b, i32, 0), arith.Int(b, i32, 1)
	loop, counters := forloop.AddCarried(b, loop, slices.Repeat([]*ir.Value{zero}, len(made))...)
	b.SetBefore(loop)
	places := arith.Int(b, i32, int64(n))
	for i, op := range made {
		b.At(op)
		op.ReplaceAllUsesWith(blocks.Describe(b, op, memory[i], counters[i]))
		next := arith.Binary(b, arith.AddI, counters[i], one)
		past := arith.Compare(b, arith.CmpI, arith.SGE, next, places)
		next = giveOut(b, arith.NewSelect(b, past, zero, next), counters[i], op.Block(), loop.Body())
		forloop.Yield(loop).AppendOperand(next)
		op.Erase()
	}
	return loop
}

// leadsTo reports whether there are only conditions between loop and op.
func leadsTo(loop, op *ir.Operation) bool {
	for op = op.Parent(); op != loop; op = op.Parent() {
		if !op.Is(scf.If) {
			return false
		}
	}
	return true
}

// giveOut is v, which is computed in the block at, as a value of the block to around it:
// conditions between them give it, and otherwise, which is known in all of them, from their
// other branch.
func giveOut(b *ir.Builder, v, otherwise *ir.Value, at, to *ir.Block) *ir.Value {
	for at != to {
		branch := at.Parent()
		i := scf.AsIf(branch)
		if i.ElseRegion().Empty() {
			b.SetToEnd(i.ElseRegion().AddBlock())
			scf.NewYield(b)
		}
		out := branch.AddResult(v.Type())
		for _, r := range []*ir.Region{i.ThenRegion(), i.ElseRegion()} {
			if r.First() == at {
				r.First().Terminator().AppendOperand(v)
			} else {
				r.First().Terminator().AppendOperand(otherwise)
			}
		}
		v, at = out, branch.Block()
	}
	return v
}
