package membar

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// A ring says which part of a buffer of equal parts an access of a pipelined loop is to:
// the one that a counter of the loop names, which begins anew after the last part.
type ring struct {
	loop *ir.Operation // nil where the part is not known
	// In iteration i the counter is (first + i) modulo parts.
	first, parts int64
	// lag is how many iterations ago the access was.
	lag int64
}

// mostLag is how many iterations back the part of an access is known: a dot reads on
// while the next iteration copies.
const mostLag = 1

// apart reports whether x and y, one maybe an iteration before the other, are to parts
// that differ.
func (x ring) apart(y ring) bool {
	return x.loop != nil && x.loop == y.loop && x.parts == y.parts && (x.first-x.lag-y.first+y.lag)%x.parts != 0
}

// ringOf is the part of a buffer that v is a view of.
func ringOf(v *ir.Value) ring {
	for {
		op := v.Def()
		if op == nil {
			return ring{}
		}
		if op.Is(ttg.MemDescIndex) {
			part := ttg.AsMemDescIndex(op)
			if !part.Src().DefIs(ttg.LocalAlloc) {
				return ring{}
			}
			return counter(part.Index())
		}
		if v = ttg.Viewed(op); v == nil {
			return ring{}
		}
	}
}

// counter is the ring of a counter that the pipeliner made:
//
//	next = c + 1; v = next >= parts ? 0 : next
//
// where c is carried by the loop, and v is the next c.
func counter(v *ir.Value) ring {
	sel := v.Def()
	if sel == nil || !sel.Is(arith.Select) {
		return ring{}
	}
	s := arith.AsSelect(sel)
	test, next := s.Condition().Def(), s.FalseValue().Def()
	if zero, ok := arith.ConstantInt(s.TrueValue()); !ok || zero != 0 || test == nil || next == nil || !test.Is(arith.CmpI) || !next.Is(arith.AddI) {
		return ring{}
	}
	cmp, add := arith.AsCmpI(test), arith.AsBinary(next)
	parts, known := arith.ConstantInt(cmp.Rhs())
	one, ok := arith.ConstantInt(add.Rhs())
	if !known || !ok || one != 1 || cmp.Predicate() != arith.SGE || cmp.Lhs() != s.FalseValue() || add.Lhs().Def() != nil {
		return ring{}
	}
	carried := add.Lhs()
	loop := carried.Block().Parent()
	if loop == nil || !loop.Is(scf.For) || carried == scf.InductionVar(loop) {
		return ring{}
	}
	i := scf.CarriedIndex(carried)
	start, ok := arith.ConstantInt(scf.AsFor(loop).InitArgsAt(i))
	if !ok || start < -1 || start >= parts || loop.Body().Terminator().Operand(i) != v {
		return ring{}
	}
	return ring{loop: loop, first: start + 1, parts: parts}
}

// later is the state at the start of the next iteration of a loop.
func (s state) later(loop *ir.Operation) state {
	return s.inRing(loop, func(r ring) ring {
		if r.lag++; r.lag > mostLag {
			return ring{}
		}
		return r
	})
}

// left is the state after a loop.
func (s state) left(loop *ir.Operation) state {
	return s.inRing(loop, func(ring) ring { return ring{} })
}

// inRing changes the rings of a loop's accesses.
func (s state) inRing(loop *ir.Operation, f func(ring) ring) state {
	var out state
	for _, p := range s {
		if p.ring.loop == loop {
			p.ring = f(p.ring)
		}
		out = out.with(p)
	}
	return out
}
