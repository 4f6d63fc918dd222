package npu

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// scalarFunc computes a value of up to three; those that an operation lacks are 0.
type scalarFunc func(a, b, c uint64) uint64

// scalarOp is an operation of arith or math.
type scalarOp struct {
	operands int
	kind     opKind
	// make returns the function for a type, that of the first operand, and of a cast the
	// result's type; nil where the type has none.
	make func(from, to Type, predicate int64) scalarFunc
}

// opKind says which types an operation takes and gives.
type opKind uint8

const (
	same    opKind = iota // all of one type
	compare               // two of one type, and a bit
	choose                // a bit and two of the result's type
	cast                  // any two types
)

// scalarFor returns what an operation does for operands and a result of these types.
func scalarFor(name string, operands []Type, result Type, predicate int64) (scalarFunc, error) {
	op, ok := scalarOps[name]
	if !ok {
		return nil, fmt.Errorf("there is no scalar operation %s", name)
	}
	if len(operands) != op.operands {
		return nil, fmt.Errorf("%s takes %s, not %d", name, diag.Count(op.operands, "operand"), len(operands))
	}
	fits := true
	switch op.kind {
	case same:
		for _, t := range operands {
			fits = fits && t == result
		}
	case compare:
		fits = operands[0] == operands[1] && result == I1
	case choose:
		fits = operands[0] == I1 && operands[1] == result && operands[2] == result
	}
	if fits {
		if f := op.make(operands[0], result, predicate); f != nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s does not make %s of %v", name, result, operands)
}

// integer is an operation on integers of one type, signed or not.
func integer(f func(t Type, a, b uint64) uint64) scalarOp {
	return scalarOp{2, same, func(t, _ Type, _ int64) scalarFunc {
		if t.float() {
			return nil
		}
		mask := t.mask()
		return func(a, b, _ uint64) uint64 { return f(t, a, b) & mask }
	}}
}

func integerOfOne(f func(t Type, a uint64) uint64) scalarOp {
	op := integer(func(t Type, a, _ uint64) uint64 { return f(t, a) })
	op.operands = 1
	return op
}

func signedOp(f func(a, b int64) int64) scalarOp {
	return integer(func(t Type, a, b uint64) uint64 { return uint64(f(t.signed(a), t.signed(b))) })
}

func unsignedOp(f func(a, b uint64) uint64) scalarOp {
	return integer(func(_ Type, a, b uint64) uint64 { return f(a, b) })
}

// real is an operation on floats of one type, whose float64 result is rounded to it. The
// results of the basic operations are then those of the type: float64 has more than twice
// the bits of the others.
func real(operands int, f func(a, b float64) float64) scalarOp {
	return scalarOp{operands, same, func(t, _ Type, _ int64) scalarFunc {
		if !t.float() {
			return nil
		}
		if t == F32 {
			return func(a, b, _ uint64) uint64 {
				return uint64(math.Float32bits(float32(f(float64(math.Float32frombits(uint32(a))), float64(math.Float32frombits(uint32(b)))))))
			}
		}
		return func(a, b, _ uint64) uint64 { return t.round(f(t.value(a), t.value(b))) }
	}}
}

func realOfOne(f func(a float64) float64) scalarOp {
	return real(1, func(a, _ float64) float64 { return f(a) })
}

// division of integers has results where it has none by rule, so that lanes that are
// masked off may divide by zero: 0, and the dividend as the remainder.
func quotient(f func(a, b int64) int64) scalarOp {
	return signedOp(func(a, b int64) int64 {
		switch b {
		case 0:
			return 0
		case -1:
			return -a
		}
		return f(a, b)
	})
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// extreme is math.Min or math.Max, which take an infinity for the result where the other
// operand is NaN, with NaN there.
func extreme(of func(x, y float64) float64) func(x, y float64) float64 {
	return func(x, y float64) float64 {
		if math.IsNaN(x) || math.IsNaN(y) {
			return math.NaN()
		}
		return of(x, y)
	}
}

// log2 is math.Log2, of which little is left near 1, where it adds an exponent to the
// logarithm of a number near 1/2.
func log2(x float64) float64 {
	if x > 0.5 && x < 2 {
		return math.Log1p(x-1) / math.Ln2
	}
	return math.Log2(x)
}

// scalarOps are the operations by name.
var scalarOps = map[string]scalarOp{
	"arith.addi":        unsignedOp(func(a, b uint64) uint64 { return a + b }),
	"arith.subi":        unsignedOp(func(a, b uint64) uint64 { return a - b }),
	"arith.muli":        unsignedOp(func(a, b uint64) uint64 { return a * b }),
	"arith.andi":        unsignedOp(func(a, b uint64) uint64 { return a & b }),
	"arith.ori":         unsignedOp(func(a, b uint64) uint64 { return a | b }),
	"arith.xori":        unsignedOp(func(a, b uint64) uint64 { return a ^ b }),
	"arith.shli":        unsignedOp(func(a, b uint64) uint64 { return a << min(b, 64) }),
	"arith.shrui":       unsignedOp(func(a, b uint64) uint64 { return a >> min(b, 64) }),
	"arith.shrsi":       integer(func(t Type, a, b uint64) uint64 { return uint64(t.signed(a) >> min(b, 63)) }),
	"arith.maxui":       unsignedOp(func(a, b uint64) uint64 { return max(a, b) }),
	"arith.minui":       unsignedOp(func(a, b uint64) uint64 { return min(a, b) }),
	"arith.maxsi":       signedOp(func(a, b int64) int64 { return max(a, b) }),
	"arith.minsi":       signedOp(func(a, b int64) int64 { return min(a, b) }),
	"arith.divsi":       quotient(func(a, b int64) int64 { return a / b }),
	"arith.floordivsi":  quotient(floorDiv),
	"arith.ceildivsi":   quotient(func(a, b int64) int64 { return -floorDiv(-a, b) }),
	"arith.remsi":       signedOp(func(a, b int64) int64 { return remainder(a, b) }),
	"arith.divui":       unsignedOp(func(a, b uint64) uint64 { return divide(a, b) }),
	"arith.ceildivui":   unsignedOp(func(a, b uint64) uint64 { return divide(a, b) + min(a-divide(a, b)*b, 1) }),
	"arith.remui":       unsignedOp(func(a, b uint64) uint64 { return a - divide(a, b)*b }),
	"arith.mulhsi":      integer(func(t Type, a, b uint64) uint64 { return highSigned(t, t.signed(a), t.signed(b)) }),
	"arith.mulhui":      integer(highUnsigned),
	"arith.addui_carry": {2, compare, carry},

	"arith.addf":     real(2, func(a, b float64) float64 { return a + b }),
	"arith.subf":     real(2, func(a, b float64) float64 { return a - b }),
	"arith.mulf":     real(2, func(a, b float64) float64 { return a * b }),
	"arith.divf":     real(2, func(a, b float64) float64 { return a / b }),
	"arith.remf":     real(2, math.Mod),
	"arith.negf":     realOfOne(func(a float64) float64 { return -a }),
	"arith.maximumf": real(2, extreme(math.Max)),
	"arith.minimumf": real(2, extreme(math.Min)),
	"arith.maxnumf":  real(2, number(math.Max)),
	"arith.minnumf":  real(2, number(math.Min)),

	"arith.cmpi":   {2, compare, compareIntegers},
	"arith.cmpf":   {2, compare, compareFloats},
	"arith.select": {3, choose, func(_, _ Type, _ int64) scalarFunc { return selectValue }},

	"arith.extsi":        {1, cast, integerCast(true, 1)},
	"arith.extui":        {1, cast, integerCast(false, 1)},
	"arith.trunci":       {1, cast, integerCast(false, -1)},
	"arith.index_cast":   {1, cast, integerCast(true, 0)},
	"arith.index_castui": {1, cast, integerCast(false, 0)},
	"arith.extf":         {1, cast, floatCast},
	"arith.truncf":       {1, cast, floatCast},
	"arith.sitofp":       {1, cast, fromInteger(true)},
	"arith.uitofp":       {1, cast, fromInteger(false)},
	"arith.fptosi":       {1, cast, toInteger(true)},
	"arith.fptoui":       {1, cast, toInteger(false)},
	"arith.bitcast":      {1, cast, bitCast},

	"math.absf":      realOfOne(math.Abs),
	"math.exp":       realOfOne(math.Exp),
	"math.exp2":      realOfOne(math.Exp2),
	"math.expm1":     realOfOne(math.Expm1),
	"math.log":       realOfOne(math.Log),
	"math.log2":      realOfOne(log2),
	"math.log10":     realOfOne(math.Log10),
	"math.log1p":     realOfOne(math.Log1p),
	"math.sin":       realOfOne(math.Sin),
	"math.cos":       realOfOne(math.Cos),
	"math.tan":       realOfOne(math.Tan),
	"math.tanh":      realOfOne(math.Tanh),
	"math.acos":      realOfOne(math.Acos),
	"math.acosh":     realOfOne(math.Acosh),
	"math.asin":      realOfOne(math.Asin),
	"math.asinh":     realOfOne(math.Asinh),
	"math.atan":      realOfOne(math.Atan),
	"math.atanh":     realOfOne(math.Atanh),
	"math.cosh":      realOfOne(math.Cosh),
	"math.sinh":      realOfOne(math.Sinh),
	"math.erfc":      realOfOne(math.Erfc),
	"math.cbrt":      realOfOne(math.Cbrt),
	"math.atan2":     real(2, math.Atan2),
	"math.erf":       realOfOne(math.Erf),
	"math.sqrt":      realOfOne(math.Sqrt),
	"math.rsqrt":     realOfOne(func(a float64) float64 { return 1 / math.Sqrt(a) }),
	"math.floor":     realOfOne(math.Floor),
	"math.ceil":      realOfOne(math.Ceil),
	"math.trunc":     realOfOne(math.Trunc),
	"math.round":     realOfOne(math.Round),
	"math.roundeven": realOfOne(math.RoundToEven),
	"math.powf":      real(2, math.Pow),
	"math.copysign":  real(2, math.Copysign),
	"math.fma":       {3, same, fma},
	"math.absi":      integerOfOne(func(t Type, a uint64) uint64 { s := t.signed(a); return uint64(max(s, -s)) }),
	"math.ctpop":     integerOfOne(func(_ Type, a uint64) uint64 { return uint64(bits.OnesCount64(a)) }),
	"math.ctlz":      integerOfOne(func(t Type, a uint64) uint64 { return uint64(bits.LeadingZeros64(a)) - uint64(64-typeBits[t]) }),
	"math.cttz":      integerOfOne(func(t Type, a uint64) uint64 { return uint64(min(bits.TrailingZeros64(a), int(typeBits[t]))) }),
}

func remainder(a, b int64) int64 {
	switch b {
	case 0:
		return a
	case -1:
		return 0
	}
	return a % b
}

func divide(a, b uint64) uint64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// highSigned is the high half of a product.
func highSigned(t Type, a, b int64) uint64 {
	if typeBits[t] < 64 {
		return uint64(a * b >> typeBits[t])
	}
	hi, _ := bits.Mul64(uint64(a), uint64(b))
	return hi - uint64(a>>63)&uint64(b) - uint64(b>>63)&uint64(a)
}

func highUnsigned(t Type, a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if typeBits[t] < 64 {
		return lo >> typeBits[t]
	}
	return hi
}

func carry(t, _ Type, _ int64) scalarFunc {
	if t.float() {
		return nil
	}
	mask := t.mask()
	return func(a, b, _ uint64) uint64 { return truth((a+b)&mask < a) }
}

// number is f of what is a number, where one operand is.
func number(f func(a, b float64) float64) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		switch {
		case a != a:
			return b
		case b != b:
			return a
		}
		return f(a, b)
	}
}

func selectValue(c, a, b uint64) uint64 {
	if c != 0 {
		return a
	}
	return b
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// intPredicates and floatPredicates are in the order of arith's enumerations. An unordered
// predicate, the second half but for the last, also holds of a NaN.
var (
	intPredicates = [...]func(a, b int64, x, y uint64) bool{
		func(_, _ int64, x, y uint64) bool { return x == y },
		func(_, _ int64, x, y uint64) bool { return x != y },
		func(a, b int64, _, _ uint64) bool { return a < b },
		func(a, b int64, _, _ uint64) bool { return a <= b },
		func(a, b int64, _, _ uint64) bool { return a > b },
		func(a, b int64, _, _ uint64) bool { return a >= b },
		func(_, _ int64, x, y uint64) bool { return x < y },
		func(_, _ int64, x, y uint64) bool { return x <= y },
		func(_, _ int64, x, y uint64) bool { return x > y },
		func(_, _ int64, x, y uint64) bool { return x >= y },
	}
	floatPredicates = [...]func(a, b float64) bool{
		func(_, _ float64) bool { return false },
		func(a, b float64) bool { return a == b },
		func(a, b float64) bool { return a > b },
		func(a, b float64) bool { return a >= b },
		func(a, b float64) bool { return a < b },
		func(a, b float64) bool { return a <= b },
		func(a, b float64) bool { return a < b || a > b },
		func(a, b float64) bool { return a == a && b == b },
		func(a, b float64) bool { return !(a < b || a > b) },
		func(a, b float64) bool { return !(a <= b) },
		func(a, b float64) bool { return !(a < b) },
		func(a, b float64) bool { return !(a >= b) },
		func(a, b float64) bool { return !(a > b) },
		func(a, b float64) bool { return a != b },
		func(a, b float64) bool { return a != a || b != b },
		func(_, _ float64) bool { return true },
	}
)

func compareIntegers(t, _ Type, predicate int64) scalarFunc {
	if t.float() || predicate < 0 || predicate >= int64(len(intPredicates)) {
		return nil
	}
	f := intPredicates[predicate]
	return func(a, b, _ uint64) uint64 { return truth(f(t.signed(a), t.signed(b), a, b)) }
}

func compareFloats(t, _ Type, predicate int64) scalarFunc {
	if !t.float() || predicate < 0 || predicate >= int64(len(floatPredicates)) {
		return nil
	}
	f := floatPredicates[predicate]
	return func(a, b, _ uint64) uint64 { return truth(f(t.value(a), t.value(b))) }
}

// integerCast keeps a value or extends it; longer is 1 for results with more bits, -1 for
// fewer, and 0 for any.
func integerCast(signed bool, longer int) func(from, to Type, _ int64) scalarFunc {
	return func(from, to Type, _ int64) scalarFunc {
		a, b := typeBits[from], typeBits[to]
		if from.float() || to.float() || longer > 0 && b <= a || longer < 0 && b >= a {
			return nil
		}
		mask := to.mask()
		if signed {
			return func(v, _, _ uint64) uint64 { return uint64(from.signed(v)) & mask }
		}
		return func(v, _, _ uint64) uint64 { return v & mask }
	}
}

func floatCast(from, to Type, _ int64) scalarFunc {
	if !from.float() || !to.float() {
		return nil
	}
	return func(v, _, _ uint64) uint64 { return to.round(from.value(v)) }
}

func fromInteger(signed bool) func(from, to Type, _ int64) scalarFunc {
	return func(from, to Type, _ int64) scalarFunc {
		if from.float() || !to.float() {
			return nil
		}
		return func(v, _, _ uint64) uint64 {
			neg := signed && from.signed(v) < 0
			if neg {
				v = -uint64(from.signed(v))
			}
			x := toOdd(v)
			if to == F64 {
				x = float64(v)
			}
			if neg {
				x = -x
			}
			return to.round(x)
		}
	}
}

// toOdd is a number as a float64, rounded to odd where it has more bits, so that rounding
// it once more, to a type with fewer bits, gives what rounding once would.
func toOdd(v uint64) float64 {
	if extra := bits.Len64(v) - 53; extra > 0 {
		low := v & (1<<extra - 1)
		v &^= 1<<extra - 1
		if low != 0 {
			v |= 1 << extra
		}
	}
	return float64(v)
}

// toInteger rounds toward zero; what the type cannot hold becomes its nearest value, and a
// NaN 0.
func toInteger(signed bool) func(from, to Type, _ int64) scalarFunc {
	return func(from, to Type, _ int64) scalarFunc {
		if !from.float() || to.float() {
			return nil
		}
		mask := to.mask()
		least, most := 0.0, math.Ldexp(1, int(typeBits[to]))
		if signed {
			most /= 2
			least = -most
		}
		return func(v, _, _ uint64) uint64 {
			x := math.Trunc(from.value(v))
			switch {
			case x != x:
				return 0
			case x >= most && signed:
				return mask >> 1
			case x >= most:
				return mask
			case x <= least && signed:
				return mask &^ (mask >> 1)
			case x <= least:
				return 0
			case signed:
				return uint64(int64(x)) & mask
			}
			return uint64(x)
		}
	}
}

func bitCast(from, to Type, _ int64) scalarFunc {
	if typeBits[from] != typeBits[to] {
		return nil
	}
	return func(v, _, _ uint64) uint64 { return v }
}

// fma rounds once: the product of two floats of up to 32 bits is exact in a float64, and
// the sum is rounded to odd before it is rounded to the type.
func fma(t, _ Type, _ int64) scalarFunc {
	switch {
	case !t.float():
		return nil
	case t == F64:
		return func(a, b, c uint64) uint64 { return t.round(math.FMA(t.value(a), t.value(b), t.value(c))) }
	}
	return func(a, b, c uint64) uint64 { return t.round(simt.AddOdd(t.value(a)*t.value(b), t.value(c))) }
}
