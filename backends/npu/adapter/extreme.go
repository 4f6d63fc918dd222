package adapter

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// tl.atomic_max of floats, and atomic_min, is two operations on their bits: those of
// values that are not negative are ordered as signed integers, those of negative ones the
// other way round as unsigned integers. An NPU has the operation on floats.

// extreme is such a pair.
type extreme struct {
	first *ir.Operation // on what is not negative
	value *ir.Value     // the floats
	mask  *ir.Value     // of both; nil: everywhere
	kind  string
}

// extremes finds the pairs in a function, by both operations.
func extremes(f *ir.Operation) map[*ir.Operation]*extreme {
	pairs := map[*ir.Operation]*extreme{}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.AtomicRMW) && pairs[op] == nil {
			if second := secondOf(op); second != nil {
				if p := pairOf(op, second); p != nil {
					pairs[op], pairs[second] = p, p
				}
			}
		}
		return ir.Advance
	})
	return pairs
}

// secondOf is the atomic operation after op, with nothing between that accesses memory.
func secondOf(op *ir.Operation) *ir.Operation {
	for next := op.Next(); next != nil; next = next.Next() {
		if next.Is(tt.AtomicRMW) {
			return next
		}
		if !ir.IsPure(next) {
			return nil
		}
	}
	return nil
}

// pairOf recognizes a pair; nil if it is none. Of what is not a number, whose bits are
// beyond those of the infinities, a maximum is the result and a minimum is not.
func pairOf(first, second *ir.Operation) *extreme {
	a, b := tt.AsAtomicRMW(first), tt.AsAtomicRMW(second)
	p := &extreme{first: first}
	switch [2]int64{a.AtomicRmwOp(), b.AtomicRmwOp()} {
	case [2]int64{tt.RMWMax, tt.RMWUMin}:
		p.kind = "maximumf"
	case [2]int64{tt.RMWMin, tt.RMWUMax}:
		p.kind = "minnumf"
	default:
		return nil
	}
	if a.Ptr() != b.Ptr() || a.Val() != b.Val() || a.Mask() == nil || b.Mask() == nil || !a.Val().DefIs(tt.Bitcast) {
		return nil
	}
	p.value = a.Val().Def().OneOperand()
	if !ir.IsFloat(ir.ElemOf(p.value.Type())) {
		return nil
	}
	rest, negative, ok := signMask(a.Mask(), p.value)
	if !ok || negative {
		return nil
	}
	p.mask, negative, ok = signMask(b.Mask(), p.value)
	if !ok || !negative || p.mask != rest {
		return nil
	}
	return p
}

// signMask takes a mask apart: into what it asks of the sign of floats, and the rest.
func signMask(mask, floats *ir.Value) (rest *ir.Value, negative, ok bool) {
	if negative, ok = asksSign(mask, floats); ok {
		return nil, negative, true
	}
	if !mask.DefIs(arith.AndI) {
		return nil, false, false
	}
	v := arith.AsAndI(mask.Def())
	for _, side := range [][2]*ir.Value{{v.Lhs(), v.Rhs()}, {v.Rhs(), v.Lhs()}} {
		if negative, ok = asksSign(side[1], floats); ok {
			return side[0], negative, true
		}
	}
	return nil, false, false
}

// asksSign reports whether a condition is that floats are negative, or that they are not:
// a comparison of the highest of their bits with 0.
func asksSign(cond, floats *ir.Value) (negative, ok bool) {
	switch {
	case cond.DefIs(arith.XorI):
		v := arith.AsXorI(cond.Def())
		if n, constant := arith.ConstantInt(v.Rhs()); !constant || n == 0 {
			return false, false
		}
		negative, ok = asksSign(v.Lhs(), floats)
		return !negative, ok
	case cond.DefIs(arith.CmpI):
		v := arith.AsCmpI(cond.Def())
		if !isConstant(v.Rhs(), 0) || !v.Lhs().DefIs(arith.ShRUI) {
			return false, false
		}
		shift := arith.AsShRUI(v.Lhs().Def())
		bits := shift.Lhs()
		if !bits.DefIs(tt.Bitcast) || bits.Def().OneOperand() != floats || !isConstant(shift.Rhs(), int64(ir.BitWidth(ir.ElemOf(bits.Type()))-1)) {
			return false, false
		}
		return v.Predicate() == arith.NE, v.Predicate() == arith.NE || v.Predicate() == arith.EQ
	}
	return false, false
}

func isConstant(v *ir.Value, want int64) bool {
	n, ok := arith.ConstantInt(v)
	return ok && n == want
}
