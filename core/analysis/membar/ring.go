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
// while the next iteration copies, and what one iteration stores the next but one reads.
const mostLag = 1

// apart reports whether x and y, one maybe an iteration before the other, are to parts
// that differ.
func (x ring) apart(y ring) bool {
	return x.loop != nil && x.loop == y.loop && x.parts == y.parts && (x.first-x.lag-y.first+y.lag)%x.parts != 0
}

// ringOf is the part of a buffer that v is a view of.
func ringOf(v *ir.Value) ring {
	r, _ := partOf(v, make(map[*ir.Value]bool))
	return r
}

// partOf is the part that v is a view of, and the buffer. A view that a loop carries is of the
// part that the iteration before had, if the one that the loop begins with fits in.
func partOf(v *ir.Value, seen map[*ir.Value]bool) (r ring, buffer *ir.Value) {
	for {
		op := v.Def()
		switch {
		case op == nil:
			return carriedPart(v, seen)
		case op.Is(ttg.MemDescIndex):
			part := ttg.AsMemDescIndex(op)
			if !part.Src().DefIs(ttg.LocalAlloc) {
				return ring{}, nil
			}
			return counter(part.Index()), part.Src()
		}
		if v = ttg.Viewed(op); v == nil {
			return ring{}, nil
		}
	}
}

// carriedPart is partOf of an argument of a block.
func carriedPart(v *ir.Value, seen map[*ir.Value]bool) (ring, *ir.Value) {
	loop := v.Block().Parent()
	if seen[v] || loop == nil || !loop.Is(scf.For) {
		return ring{}, nil
	}
	seen[v] = true
	i := scf.CarriedIndex(v)
	next, buffer := partOf(loop.Body().Terminator().Operand(i), seen)
	init := scf.AsFor(loop).InitArgsAt(i).Def()
	if next.loop != loop || init == nil || !init.Is(ttg.MemDescIndex) {
		return ring{}, nil
	}
	first := ttg.AsMemDescIndex(init)
	n, ok := arith.ConstantInt(first.Index())
	next.first--
	if !ok || first.Src() != buffer || (n-next.first)%next.parts != 0 {
		return ring{}, nil
	}
	return next, buffer
}

// counter is the ring of a counter that a pipeliner made:
//
//	next = c + 1; v = next >= parts ? 0 : next
//	next = c + 1; v = next < parts ? next : 0
//
// where c is carried by the loop, and v is the next c.
func counter(v *ir.Value) ring {
	sel := v.Def()
	if sel == nil || !sel.Is(arith.Select) {
		return ring{}
	}
	s := arith.AsSelect(sel)
	test := s.Condition().Def()
	if test == nil || !test.Is(arith.CmpI) {
		return ring{}
	}
	cmp := arith.AsCmpI(test)
	next, again := s.FalseValue(), s.TrueValue()
	switch cmp.Predicate() {
	case arith.SGE:
	case arith.SLT:
		next, again = again, next
	default:
		return ring{}
	}
	if zero, ok := arith.ConstantInt(again); !ok || zero != 0 || !next.DefIs(arith.AddI) {
		return ring{}
	}
	add := arith.AsBinary(next.Def())
	parts, known := arith.ConstantInt(cmp.Rhs())
	one, ok := arith.ConstantInt(add.Rhs())
	if !known || !ok || one != 1 || cmp.Lhs() != next || add.Lhs().Def() != nil {
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
