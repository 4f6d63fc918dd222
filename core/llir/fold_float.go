package llir

import (
	"math"
	"slices"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// foldFloatBinary simplifies x op y on floating-point scalars, or returns nil.
// The default environment of LLVM is assumed: round to nearest even, no traps,
// and any NaN may stand for any other; a NaN result is left to the device.
func (b *Builder) foldFloatBinary(op Op, x, y Value, f Flags) Value {
	t := x.Type()
	if !IsFloat(t) {
		return nil
	}
	cx, xc := x.(*Float)
	cy, yc := y.(*Float)
	if xc && yc {
		r, ok := evalFloat(op, t, cx.Value(), cy.Value())
		if !ok {
			return nil
		}
		return b.M.FloatBits(t, r)
	}
	if xc && (op == FAdd || op == FMul) {
		x, cy, yc = y, cx, true
	}
	if !yc {
		return nil
	}
	v := cy.Value()
	switch op {
	case FAdd:
		// x + -0 is x; x + +0 is not where x is -0.
		if v == 0 && (math.Signbit(v) || f&NSZ != 0) {
			return x
		}
	case FSub:
		if v == 0 && (!math.Signbit(v) || f&NSZ != 0) {
			return x
		}
	case FMul, FDiv:
		switch v {
		case 1:
			return x
		case -1:
			return b.FNeg(x)
		}
	}
	return nil
}

// evalFloat computes x op y in the format t and returns its bits; ok is false
// for a NaN. All formats but double compute in double and round once more, which
// is exact: a double has more than twice their significand plus two bits.
func evalFloat(op Op, t Type, x, y float64) (uint64, bool) {
	var r float64
	switch op {
	case FAdd:
		r = x + y
	case FSub:
		r = x - y
	case FMul:
		r = x * y
	case FDiv:
		r = x / y
	case FRem:
		r = math.Mod(x, y)
	}
	if math.IsNaN(r) {
		return 0, false
	}
	return floatBits(t, r), true
}

func (b *Builder) foldFNeg(x Value) Value {
	switch v := x.(type) {
	case *Float:
		return b.M.FloatBits(v.Typ, v.Bits^1<<(Width(v.Typ)-1))
	case *ir.InstFNeg:
		return v.X
	}
	return nil
}

func (b *Builder) foldFCmp(pred enum.FPred, x, y Value) Value {
	switch pred {
	case enum.FPredTrue:
		return b.M.Bool(true)
	case enum.FPredFalse:
		return b.M.Bool(false)
	}
	cx, ok := x.(*Float)
	if !ok {
		return nil
	}
	cy, ok := y.(*Float)
	if !ok {
		return nil
	}
	return b.M.Bool(evalFCmp(pred, cx.Value(), cy.Value()))
}

func evalFCmp(pred enum.FPred, x, y float64) bool {
	unordered := math.IsNaN(x) || math.IsNaN(y)
	switch pred {
	case enum.FPredOEQ:
		return x == y
	case enum.FPredOGT:
		return x > y
	case enum.FPredOGE:
		return x >= y
	case enum.FPredOLT:
		return x < y
	case enum.FPredOLE:
		return x <= y
	case enum.FPredONE:
		return !unordered && x != y
	case enum.FPredORD:
		return !unordered
	case enum.FPredUEQ:
		return unordered || x == y
	case enum.FPredUGT:
		return unordered || x > y
	case enum.FPredUGE:
		return unordered || x >= y
	case enum.FPredULT:
		return unordered || x < y
	case enum.FPredULE:
		return unordered || x <= y
	case enum.FPredUNE:
		return x != y
	case enum.FPredUNO:
		return unordered
	}
	panic("BUG: llir: unknown floating-point predicate")
}

// fpreds are the predicates by what they hold for, bit by bit: less, equal, greater,
// unordered.
var fpreds = [16]enum.FPred{
	enum.FPredFalse, enum.FPredOLT, enum.FPredOEQ, enum.FPredOLE, enum.FPredOGT, enum.FPredONE, enum.FPredOGE, enum.FPredORD,
	enum.FPredUNO, enum.FPredULT, enum.FPredUEQ, enum.FPredULE, enum.FPredUGT, enum.FPredUNE, enum.FPredUGE, enum.FPredTrue,
}

// inverseFPred returns the predicate that holds where p does not.
func inverseFPred(p enum.FPred) enum.FPred { return fpreds[15^slices.Index(fpreds[:], p)] }

// swapFPred returns the predicate q with (x p y) == (y q x).
func swapFPred(p enum.FPred) enum.FPred {
	cases := slices.Index(fpreds[:], p)
	return fpreds[cases&0b1010|cases&1<<2|cases>>2&1]
}

// foldComparisons joins two comparisons of the same numbers by op, And or OrOp: x < y or
// x == y is x <= y.
func (b *Builder) foldComparisons(op Op, x, y Value) Value {
	join := func(x, y int) int {
		if op == And {
			return x & y
		}
		return x | y
	}
	switch i := x.(type) {
	case *ir.InstFCmp:
		j, ok := y.(*ir.InstFCmp)
		if !ok {
			return nil
		}
		pred := j.Pred
		switch {
		case i.X == j.X && i.Y == j.Y:
		case i.X == j.Y && i.Y == j.X:
			pred = swapFPred(pred)
		default:
			return nil
		}
		return b.FCmp(fpreds[join(slices.Index(fpreds[:], i.Pred), slices.Index(fpreds[:], pred))], i.X, i.Y)
	case *ir.InstICmp:
		j, ok := y.(*ir.InstICmp)
		if !ok {
			return nil
		}
		pred := j.Pred
		switch {
		case i.X == j.X && i.Y == j.Y:
		case i.X == j.Y && i.Y == j.X:
			pred = swapIPred(pred)
		default:
			return nil
		}
		for _, preds := range [...][8]enum.IPred{signedPreds, unsignedPreds} {
			p, q := slices.Index(preds[1:7], i.Pred)+1, slices.Index(preds[1:7], pred)+1
			if p == 0 || q == 0 {
				continue
			}
			switch cases := join(p, q); cases {
			case 0, 7:
				return b.M.Bool(cases == 7)
			default:
				return b.ICmp(preds[cases], i.X, i.Y)
			}
		}
	}
	return nil
}

// signedPreds and unsignedPreds are the predicates by what they hold for, bit by bit:
// less, equal, greater. The first and the last hold for nothing and for all.
var (
	signedPreds   = [8]enum.IPred{1: enum.IPredSLT, enum.IPredEQ, enum.IPredSLE, enum.IPredSGT, enum.IPredNE, enum.IPredSGE}
	unsignedPreds = [8]enum.IPred{1: enum.IPredULT, enum.IPredEQ, enum.IPredULE, enum.IPredUGT, enum.IPredNE, enum.IPredUGE}
)
