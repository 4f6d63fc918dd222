package pipeline

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
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
// it loaded.
func placeDescriptors(b *ir.Builder, s *schedule, blocks BlockCopies) {
	var made []*ir.Operation
	var sizes []int
	for op := range s.loop.Body().Ops() {
		if n := s.places(op); n > 1 {
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
	start, zero, one := arith.Int(b, i32, -1), arith.Int(b, i32, 0), arith.Int(b, i32, 1)
	var limits []*ir.Value
	for _, n := range sizes {
		limits = append(limits, arith.Int(b, i32, int64(n)))
	}
	var args []*ir.Value
	s.loop, args = forloop.AddCarried(b, s.loop, slices.Repeat([]*ir.Value{start}, len(sizes))...)
	b.SetToStart(s.loop.Body())
	index := make(map[int]*ir.Value)
	for i, n := range sizes {
		next := arith.Binary(b, arith.AddI, args[i], one)
		past := arith.Compare(b, arith.CmpI, arith.SGE, next, limits[i])
		index[n] = arith.NewSelect(b, past, zero, next)
		forloop.Yield(s.loop).AppendOperand(index[n])
	}
	for _, op := range made {
		b.At(op)
		here, n := s.slots[op], s.places(op)
		b.OnInsert = s.placing(&here)
		op.ReplaceAllUsesWith(blocks.Describe(b, op, memory[op], index[n]))
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
