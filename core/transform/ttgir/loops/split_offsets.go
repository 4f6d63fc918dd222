package loops

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
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
// the remainder does not change in it and can be moved out. Offsets are taken apart
// where the sum comes out the same whatever wraps around: in 64 bits.
var SplitOffsets = &pass.Pass{
	Name:    "tritongpu-split-offsets",
	Doc:     "move the uniform part of offsets to the base pointer",
	Example: splitOffsetsExample,
	Run: func(r *pass.Run) error {
		var sums []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.AddPtr) {
				sum := tt.AsAddPtr(op)
				if sum.Ptr().DefIs(tt.Splat) && ir.BitWidth(ir.ElemOf(sum.Offset().Type())) == 64 {
					sums = append(sums, op)
				}
			}
			return ir.Advance
		})
		b := ir.NewBuilder(r.Module.Context())
		for _, op := range sums {
			if splitOffset(b, op) {
				r.Count("split", 1)
			}
		}
		if len(sums) == 0 {
			return nil
		}
		return std.CSE.Run(r) // accesses of one block share what they were split into
	},
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
