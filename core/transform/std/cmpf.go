package std

import (
	"math"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

// formats has, of the floats that integers are compared as, the bits of the
// significand and the greatest exponent.
var formats = map[ir.FloatKind]struct{ precision, maxExp int }{
	ir.F16: {11, 15}, ir.BF16: {8, 127}, ir.F32: {24, 127}, ir.F64: {53, 1023},
}

// compareConverted compares an integer, converted to a float, with a constant
// of floats, as what it is: an integer. It is exact: where the conversion may
// round, and the constant lies where that matters, nothing is done.
//
//	cmpf ogt (sitofp %n : i32 to f32), 1.5   →   cmpi sgt %n, 1
func compareConverted(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cmp := arith.AsCmpF(op)
	conv := cmp.Lhs().Def()
	attr, ok := arith.ConstantValue(cmp.Rhs()).(*ir.FloatAttr)
	if !ok || conv == nil || !conv.Is(arith.SIToFP) && !conv.Is(arith.UIToFP) {
		return false
	}
	kind := cmp.Rhs().Type().(*ir.FloatType).Kind
	format, known := formats[kind]
	n := arith.AsCast(conv).In()
	width := ir.BitWidth(n.Type())
	if !known || width == 0 || width > 64 {
		return false
	}
	signed := conv.Is(arith.SIToFP)
	bits := width
	if signed {
		bits--
	}
	c := ir.BitsToFloat(kind, attr.Bits)
	if bits > format.precision {
		switch {
		case math.IsInf(c, 0):
			if format.maxExp < bits {
				return false
			}
		case c != 0:
			if e := math.Ilogb(c); format.precision <= e && e <= bits {
				return false
			}
		}
	}
	pred := cmp.Predicate()
	verdict := func(holds bool) bool {
		v := int64(0)
		if holds {
			v = 1
		}
		rw.Replace(op, arith.Int(rw.Builder, cmp.Result().Type(), v))
		return true
	}
	rel, ok := relationOf(pred)
	if !ok {
		return pred == arith.ORD && verdict(true) || pred == arith.UNO && verdict(false)
	}
	low, high := 0.0, math.Ldexp(1, bits)-1 // rounded up where that makes no difference
	if signed {
		low = -math.Ldexp(1, bits)
	}
	switch {
	case c > high:
		return verdict(rel == differs || rel == less || rel == lessOrEqual)
	case c < low:
		return verdict(rel == differs || rel == greater || rel == greaterOrEqual)
	}
	whole := math.Trunc(c)
	if c != whole {
		switch rel {
		case equal:
			return verdict(false)
		case differs:
			return verdict(true)
		}
		// No integer lies between the constant and its whole part.
		if c > 0 {
			rel = map[relation]relation{less: lessOrEqual, lessOrEqual: lessOrEqual, greater: greater, greaterOrEqual: greater}[rel]
		} else {
			rel = map[relation]relation{less: less, lessOrEqual: less, greater: greaterOrEqual, greaterOrEqual: greaterOrEqual}[rel]
		}
	}
	var v int64
	if signed {
		v = int64(whole)
	} else {
		v = int64(uint64(whole))
	}
	rw.Replace(op, arith.Compare(rw.Builder, arith.CmpI, rel.predicate(signed), n, arith.Int(rw.Builder, n.Type(), v)))
	return true
}

// relation is what a comparison asks, apart from types and NaNs.
type relation int

const (
	equal relation = iota
	differs
	less
	lessOrEqual
	greater
	greaterOrEqual
)

// relationOf drops what a predicate says of NaNs, which no integer becomes.
func relationOf(pred int64) (relation, bool) {
	switch pred {
	case arith.OEQ, arith.UEQ:
		return equal, true
	case arith.ONE, arith.UNE:
		return differs, true
	case arith.OLT, arith.FULT:
		return less, true
	case arith.OLE, arith.FULE:
		return lessOrEqual, true
	case arith.OGT, arith.FUGT:
		return greater, true
	case arith.OGE, arith.FUGE:
		return greaterOrEqual, true
	}
	return 0, false
}

// predicate is the relation as one of cmpi's.
func (r relation) predicate(signed bool) int64 {
	if signed {
		return [...]int64{arith.EQ, arith.NE, arith.SLT, arith.SLE, arith.SGT, arith.SGE}[r]
	}
	return [...]int64{arith.EQ, arith.NE, arith.ULT, arith.ULE, arith.UGT, arith.UGE}[r]
}
