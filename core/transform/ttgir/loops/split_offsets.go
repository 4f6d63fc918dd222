package loops

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// SplitOffsets parts the offsets of an access into what is the same for all
// elements and the rest, and adds the former to the base pointer, one addition
// for the whole block:
//
//	%row = arith.addi %range, splat(%start)
//	%off = arith.muli %row, splat(%stride)
//	%ptrs = tt.addptr splat(%base), %off
//
// becomes
//
//	%first = tt.addptr %base, %start * %stride
//	%ptrs = tt.addptr splat(%first), arith.muli %range, splat(%stride)
//
// Where a loop moves from block to block, as descriptors and block pointers do,
// the remainder does not change in it and can be moved out. Of what is left in a loop, the
// terms that do not change there are added to the pointers first:
//
//	%ptrs = tt.addptr splat(%base), %rows + %columns
//
// becomes, where the loop computes the columns alone and has no dots, whose tiles need the
// registers that the pointers would take,
//
//	%rowptrs = tt.addptr splat(%base), %rows
//	%ptrs = tt.addptr %rowptrs, %columns
//
// Offsets are taken apart where the sum comes out the same whatever wraps around: in 64
// bits.
var SplitOffsets = &pass.Pass{
	Name:    "tritongpu-split-offsets",
	Doc:     "move the uniform part of offsets to the base pointer",
	Example: splitOffsetsExample,
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		sums := blockSums(r.Module)
		if len(sums) == 0 {
			return nil
		}
		for _, op := range sums {
			if splitOffset(b, op) {
				r.Count("split", 1)
			}
		}
		dots := loopsWithDots(r.Module)
		for _, op := range blockSums(r.Module) {
			if splitInvariant(b, op, dots) {
				r.Count("invariant", 1)
			}
		}
		return std.CSE.Run(r) // accesses of one block share what they were split into
	},
}

// blockSums are the additions of offsets of 64 bits to one pointer.
func blockSums(m *ir.Operation) []*ir.Operation {
	var sums []*ir.Operation
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.AddPtr) {
			sum := tt.AsAddPtr(op)
			if sum.Ptr().DefIs(tt.Splat) && ir.BitWidth(ir.ElemOf(sum.Offset().Type())) == 64 {
				sums = append(sums, op)
			}
		}
		return ir.Advance
	})
	return sums
}

// splitOffset adds the uniform part of op's offset to its base.
func splitOffset(b *ir.Builder, op *ir.Operation) bool {
	sum := tt.AsAddPtr(op)
	offset := sum.Offset()
	s := offsetSplitter{b: b, known: make(map[*ir.Value]offsetParts)}
	if !s.splits(offset) {
		return false
	}
	b.At(op)
	p := s.parts(offset)
	base := tt.NewAddPtr(b, tt.AsSplat(sum.Ptr().Def()).Src(), p.uniform)
	ptrs := tt.Unary(b, tt.Splat, base, sum.Result().Type())
	if p.rest != nil {
		ptrs = tt.NewAddPtr(b, ptrs, p.rest)
	}
	sum.Result().ReplaceAllUsesWith(ptrs)
	op.Erase()
	return true
}

// splitInvariant adds the terms of op's offset that the innermost loop around op does
// not change to the pointers, and then the others, so that the first sum can move out.
func splitInvariant(b *ir.Builder, op *ir.Operation, dots map[*ir.Operation]bool) bool {
	sum := tt.AsAddPtr(op)
	loop := op.Parent()
	for loop != nil && !loop.Is(scf.For) && !loop.Is(scf.While) {
		loop = loop.Parent()
	}
	same := make(map[*ir.Value]bool)
	if loop == nil || dots[loop] || !unchanged(sum.Ptr(), loop, same) {
		return false
	}
	var inside, outside []*ir.Value
	for _, term := range terms(sum.Offset(), nil) {
		if unchanged(term, loop, same) {
			outside = append(outside, term)
		} else {
			inside = append(inside, term)
		}
	}
	if len(inside) == 0 || len(outside) == 0 {
		return false
	}
	total := func(terms []*ir.Value) *ir.Value {
		x := terms[0]
		for _, y := range terms[1:] {
			x = arith.Binary(b, arith.AddI, x, y)
		}
		return x
	}
	b.At(op)
	ptrs := tt.NewAddPtr(b, sum.Ptr(), total(outside))
	sum.Result().ReplaceAllUsesWith(tt.NewAddPtr(b, ptrs, total(inside)))
	op.Erase()
	return true
}

// loopsWithDots are the loops that have dots in them, however deep: of multiply-adds, or
// with results in a matrix unit's layout.
func loopsWithDots(m *ir.Operation) map[*ir.Operation]bool {
	loops := make(map[*ir.Operation]bool)
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		isDot := tt.IsDot(op)
		for _, v := range op.Results() {
			isDot = isDot || tensors.IsMatrix(encoding.Get(v.Type()))
		}
		if isDot {
			for p := op.Parent(); p != nil && !loops[p]; p = p.Parent() {
				loops[p] = true
			}
		}
		return ir.Advance
	})
	return loops
}

// unchanged reports whether v is the same in all iterations of loop, and can be computed
// before it; known has the answers so far.
func unchanged(v *ir.Value, loop *ir.Operation, known map[*ir.Value]bool) bool {
	if !forloop.DefinedInside(v, loop) {
		return true
	}
	if same, ok := known[v]; ok {
		return same
	}
	op := v.Def()
	same := op != nil && op.Parent() == loop && speculatable(op) && len(op.Regions()) == 0
	if same {
		for _, x := range op.Operands() {
			same = same && unchanged(x, loop, known)
		}
	}
	known[v] = same
	return same
}

// mostTerms bounds how far terms takes a sum of equal sums apart.
const mostTerms = 8

// terms appends the terms whose sum v is to list.
func terms(v *ir.Value, list []*ir.Value) []*ir.Value {
	if !v.DefIs(arith.AddI) || len(list) >= mostTerms {
		return append(list, v)
	}
	sum := arith.AsAddI(v.Def())
	return terms(sum.Rhs(), terms(sum.Lhs(), list))
}

// offsetParts are a tensor's value as the sum of a scalar and a tensor; either
// may be missing.
type offsetParts struct{ uniform, rest *ir.Value }

// offsetSplitter takes tensors of 64-bit integers apart at its builder's place.
type offsetSplitter struct {
	b     *ir.Builder
	known map[*ir.Value]offsetParts
}

// splits reports whether v has both parts, each after arithmetic: a sum that is
// uniform as a whole, or not at all, stays as it is.
func (s *offsetSplitter) splits(v *ir.Value) bool {
	op := v.Def()
	switch {
	case op == nil:
		return false
	case op.Is(arith.AddI):
		x, y := arith.AsAddI(op).Lhs(), arith.AsAddI(op).Rhs()
		return isSplat(x) != isSplat(y) || s.splits(x) || s.splits(y)
	case op.Is(arith.MulI):
		product := arith.AsMulI(op)
		return isSplat(product.Rhs()) && s.splits(product.Lhs())
	case op.Is(tt.Broadcast), op.Is(tt.ExpandDims), op.Is(ttg.ConvertLayout):
		return s.splits(tt.AsUnary(op).Src())
	}
	return false
}

func isSplat(v *ir.Value) bool {
	_, constant := arith.ConstantInt(v)
	return constant || v.DefIs(tt.Splat)
}

func (s *offsetSplitter) parts(v *ir.Value) offsetParts {
	if p, ok := s.known[v]; ok {
		return p
	}
	p := s.taken(v)
	s.known[v] = p
	return p
}

func (s *offsetSplitter) taken(v *ir.Value) offsetParts {
	b, t := s.b, v.Type().(*ir.TensorType)
	if n, ok := arith.ConstantInt(v); ok {
		return offsetParts{uniform: arith.Int(b, t.Elem, n)}
	}
	op := v.Def()
	switch {
	case op == nil:
	case op.Is(tt.Splat):
		return offsetParts{uniform: tt.AsSplat(op).Src()}
	case op.Is(arith.AddI):
		x, y := s.parts(arith.AsAddI(op).Lhs()), s.parts(arith.AsAddI(op).Rhs())
		return offsetParts{s.sum(x.uniform, y.uniform), s.sum(x.rest, y.rest)}
	case op.Is(arith.MulI) && isSplat(arith.AsMulI(op).Rhs()):
		product := arith.AsMulI(op)
		x, by := s.parts(product.Lhs()), s.parts(product.Rhs()).uniform
		if x.uniform != nil {
			x.uniform = arith.Binary(b, arith.MulI, x.uniform, by)
		}
		if x.rest != nil {
			x.rest = arith.Binary(b, arith.MulI, x.rest, product.Rhs())
		}
		return x
	case op.Is(tt.Broadcast), op.Is(tt.ExpandDims), op.Is(ttg.ConvertLayout):
		x := s.parts(tt.AsUnary(op).Src())
		if x.rest != nil {
			x.rest = b.Create(op.Def(), ir.State{Operands: []*ir.Value{x.rest}, Types: []ir.Type{t}, Attrs: op.Attrs()}).OneResult()
		}
		return x
	}
	return offsetParts{rest: v}
}

func (s *offsetSplitter) sum(x, y *ir.Value) *ir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return arith.Binary(s.b, arith.AddI, x, y)
}
