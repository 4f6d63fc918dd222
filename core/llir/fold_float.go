package llir

import (
	"math"

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

// inverseFPred returns the predicate that holds where p does not.
func inverseFPred(p enum.FPred) enum.FPred {
	switch p {
	case enum.FPredOEQ:
		return enum.FPredUNE
	case enum.FPredOGT:
		return enum.FPredULE
	case enum.FPredOGE:
		return enum.FPredULT
	case enum.FPredOLT:
		return enum.FPredUGE
	case enum.FPredOLE:
		return enum.FPredUGT
	case enum.FPredONE:
		return enum.FPredUEQ
	case enum.FPredORD:
		return enum.FPredUNO
	case enum.FPredUEQ:
		return enum.FPredONE
	case enum.FPredUGT:
		return enum.FPredOLE
	case enum.FPredUGE:
		return enum.FPredOLT
	case enum.FPredULT:
		return enum.FPredOGE
	case enum.FPredULE:
		return enum.FPredOGT
	case enum.FPredUNE:
		return enum.FPredOEQ
	case enum.FPredUNO:
		return enum.FPredORD
	case enum.FPredTrue:
		return enum.FPredFalse
	default:
		return enum.FPredTrue
	}
}
