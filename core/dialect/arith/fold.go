package arith

import (
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/core/ir"
)

// Folding. A fold function sees the operation and, for each operand, the
// attribute of the constant that defines it or nil.

type foldFunc = func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult

func value(v *ir.Value) []ir.FoldResult { return []ir.FoldResult{{Value: v}} }

func attr(a ir.Attribute) []ir.FoldResult {
	if a == nil {
		return nil
	}
	return []ir.FoldResult{{Attr: a}}
}

// maxFolded bounds the elements of a dense constant that is folded element by
// element.
const maxFolded = 1 << 12

// bitsOf gives the elements of a constant as bits, masked to their width.
func bitsOf(a ir.Attribute) (vals []uint64, splat bool) {
	switch a := a.(type) {
	case *ir.IntegerAttr:
		w := ir.BitWidth(a.Type)
		if w == 0 {
			w = 64 // index
		}
		if w > 64 {
			return nil, false
		}
		return []uint64{uint64(a.Value) & widthMask(w)}, true
	case *ir.FloatAttr:
		return []uint64{a.Bits}, true
	case *ir.DenseElementsAttr:
		if a.IsSplat() {
			return a.Values, true
		}
		if len(a.Values) <= maxFolded {
			return a.Values, false
		}
	}
	return nil, false
}

// ofBits is the constant of type t with these elements.
func ofBits(c *ir.Context, t ir.Type, vals []uint64) ir.Attribute {
	if tt, ok := t.(*ir.TensorType); ok {
		return c.DenseElements(tt, vals)
	}
	if ft, ok := t.(*ir.FloatType); ok {
		return c.FloatBits(ft, vals[0])
	}
	return c.IntAttr(t, int64(vals[0])<<(64-intWidth(t))>>(64-intWidth(t)))
}

func intWidth(t ir.Type) int {
	if w := ir.BitWidth(ir.ElemOf(t)); w > 0 && w <= 64 {
		return w
	}
	return 64
}

// apply computes a constant of type t element by element; f may refuse.
func apply(c *ir.Context, t ir.Type, consts []ir.Attribute, f func(x []uint64) (uint64, bool)) ir.Attribute {
	var lists [3][]uint64
	n := 1
	for i, a := range consts {
		vals, splat := bitsOf(a)
		if vals == nil {
			return nil
		}
		if !splat {
			n = len(vals)
		}
		lists[i] = vals
	}
	out := make([]uint64, n)
	var args [3]uint64
	for k := range out {
		for i := range consts {
			args[i] = lists[i][min(k, len(lists[i])-1)]
		}
		v, ok := f(args[:len(consts)])
		if !ok {
			return nil
		}
		out[k] = v
	}
	return ofBits(c, t, out)
}

func signed(x uint64, w int) int64 { return int64(x) << (64 - w) >> (64 - w) }

// intOp folds two constants by f, which sees them zero-extended with their width.
func intOp(f func(x, y uint64, w int) (uint64, bool)) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		t := op.OneResult().Type()
		w := intWidth(t)
		return attr(apply(op.Context(), t, consts, func(a []uint64) (uint64, bool) {
			v, ok := f(a[0], a[1], w)
			return v & widthMask(w), ok
		}))
	}
}

func total(f func(x, y uint64, w int) uint64) func(x, y uint64, w int) (uint64, bool) {
	return func(x, y uint64, w int) (uint64, bool) { return f(x, y, w), true }
}

// isInt reports whether a is the integer v, or a splat of it.
func isInt(a ir.Attribute, v int64) bool {
	x, ok := AttrInt(a)
	if !ok {
		return false
	}
	if w := intWidth(TypeOf(a)); w == 1 {
		return x&1 == v&1
	}
	return x == v
}

func zero(op *ir.Operation) []ir.FoldResult {
	return attr(IntValue(op.Context(), op.OneResult().Type(), 0))
}

// first tries rules in turn.
func first(rules ...foldFunc) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		for _, r := range rules {
			if res := r(op, consts); res != nil {
				return res
			}
		}
		return nil
	}
}

// rhs makes the rule x ∘ v = x.
func rhsIdentity(v int64) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		if isInt(consts[1], v) {
			return value(AsBinary(op).Lhs())
		}
		return nil
	}
}

// absorb makes the rule x ∘ v = v.
func absorb(v int64) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		if isInt(consts[1], v) {
			return value(AsBinary(op).Rhs())
		}
		return nil
	}
}

// idempotent is x ∘ x = x.
func idempotent(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	if v := AsBinary(op); v.Lhs() == v.Rhs() {
		return value(v.Lhs())
	}
	return nil
}

// selfIsZero is x ∘ x = 0.
func selfIsZero(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	if v := AsBinary(op); v.Lhs() == v.Rhs() {
		return zero(op)
	}
	return nil
}

var (
	foldAddI = first(rhsIdentity(0), addSub, intOp(total(func(x, y uint64, _ int) uint64 { return x + y })))
	foldSubI = first(rhsIdentity(0), selfIsZero, subAdd, intOp(total(func(x, y uint64, _ int) uint64 { return x - y })))
	foldMulI = first(rhsIdentity(1), absorb(0), intOp(total(func(x, y uint64, _ int) uint64 { return x * y })))
	foldAndI = first(rhsIdentity(-1), absorb(0), idempotent, andAgain, andNot, intOp(total(func(x, y uint64, _ int) uint64 { return x & y })))
	foldOrI  = first(rhsIdentity(0), absorb(-1), idempotent, orNot, intOp(total(func(x, y uint64, _ int) uint64 { return x | y })))
	foldXorI = first(rhsIdentity(0), selfIsZero, xorTwice, intOp(total(func(x, y uint64, _ int) uint64 { return x ^ y })))

	foldDivSI = first(rhsIdentity(1), intOp(func(x, y uint64, w int) (uint64, bool) {
		a, b := signed(x, w), signed(y, w)
		if b == 0 || b == -1 && a == math.MinInt64>>(64-w) {
			return 0, false
		}
		return uint64(a / b), true
	}))
	foldDivUI = first(rhsIdentity(1), intOp(func(x, y uint64, _ int) (uint64, bool) {
		if y == 0 {
			return 0, false
		}
		return x / y, true
	}))
	foldRemSI = first(remOne, intOp(func(x, y uint64, w int) (uint64, bool) {
		a, b := signed(x, w), signed(y, w)
		if b == 0 || b == -1 {
			return 0, b == -1
		}
		return uint64(a % b), true
	}))
	foldRemUI = first(remOne, intOp(func(x, y uint64, _ int) (uint64, bool) {
		if y == 0 {
			return 0, false
		}
		return x % y, true
	}))
	foldCeilDivSI = first(rhsIdentity(1), intOp(func(x, y uint64, w int) (uint64, bool) {
		a, b := signed(x, w), signed(y, w)
		if b == 0 || b == -1 {
			return 0, false
		}
		q := a / b
		if a%b != 0 && (a < 0) == (b < 0) {
			q++
		}
		return uint64(q), true
	}))
	foldFloorDivSI = first(rhsIdentity(1), intOp(func(x, y uint64, w int) (uint64, bool) {
		a, b := signed(x, w), signed(y, w)
		if b == 0 || b == -1 {
			return 0, false
		}
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return uint64(q), true
	}))
	foldShLI  = first(rhsIdentity(0), shift(func(x, y uint64, _ int) uint64 { return x << y }))
	foldShRUI = first(rhsIdentity(0), shift(func(x, y uint64, _ int) uint64 { return x >> y }))
	foldShRSI = first(rhsIdentity(0), shift(func(x, y uint64, w int) uint64 { return uint64(signed(x, w) >> y) }))

	foldMinSI = first(idempotent, extreme(true, math.MaxInt64, math.MinInt64), intOp(total(func(x, y uint64, w int) uint64 {
		if signed(x, w) < signed(y, w) {
			return x
		}
		return y
	})))
	foldMaxSI = first(idempotent, extreme(true, math.MinInt64, math.MaxInt64), intOp(total(func(x, y uint64, w int) uint64 {
		if signed(x, w) > signed(y, w) {
			return x
		}
		return y
	})))
	foldMinUI = first(idempotent, extreme(false, -1, 0), intOp(total(func(x, y uint64, _ int) uint64 { return min(x, y) })))
	foldMaxUI = first(idempotent, extreme(false, 0, -1), intOp(total(func(x, y uint64, _ int) uint64 { return max(x, y) })))
)

// extreme makes the rules of a minimum or maximum with the end of the type's
// range: identity gives the other operand, absorbing itself. Both are for 64 bits.
func extreme(isSigned bool, identity, absorbing int64) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		c, ok := AttrInt(consts[1])
		if !ok {
			return nil
		}
		w := intWidth(op.OneResult().Type())
		end := func(v int64) bool {
			if isSigned {
				return c == v>>(64-w)
			}
			return uint64(c)&widthMask(w) == uint64(v)&widthMask(w)
		}
		switch {
		case end(identity):
			return value(AsBinary(op).Lhs())
		case end(absorbing):
			return value(AsBinary(op).Rhs())
		}
		return nil
	}
}

// shift folds constants; an amount not below the width is poison and stays.
func shift(f func(x, y uint64, w int) uint64) foldFunc {
	return intOp(func(x, y uint64, w int) (uint64, bool) {
		if y >= uint64(w) {
			return 0, false
		}
		return f(x, y, w), true
	})
}

func remOne(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	if isInt(consts[1], 1) {
		return zero(op)
	}
	return nil
}

// eitherWay are the operands of op in both orders.
func eitherWay(op *ir.Operation) [2][2]*ir.Value {
	v := AsBinary(op)
	return [2][2]*ir.Value{{v.Lhs(), v.Rhs()}, {v.Rhs(), v.Lhs()}}
}

// madeBy returns the operation of that name that defines v, if it is one on two
// operands. Folds know operations by name, since the table refers to folds.
func madeBy(v *ir.Value, name string) (BinaryOp, bool) {
	if d := v.Def(); d != nil && d.Name() == name {
		return AsBinary(d), true
	}
	return BinaryOp{}, false
}

// addSub is (a − b) + b = a, either way round.
func addSub(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	for _, way := range eitherWay(op) {
		if d, ok := madeBy(way[0], "arith.subi"); ok && d.Rhs() == way[1] {
			return value(d.Lhs())
		}
	}
	return nil
}

// subAdd is (a + b) − b = a and (a + b) − a = b.
func subAdd(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	v := AsBinary(op)
	sum, ok := madeBy(v.Lhs(), "arith.addi")
	if !ok {
		return nil
	}
	for _, way := range eitherWay(sum.Op) {
		if way[0] == v.Rhs() {
			return value(way[1])
		}
	}
	return nil
}

// andAgain is (x and y) and y = x and y, whichever way round.
func andAgain(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	for _, way := range eitherWay(op) {
		if d, ok := madeBy(way[0], "arith.andi"); ok && (d.Lhs() == way[1] || d.Rhs() == way[1]) {
			return value(way[0])
		}
	}
	return nil
}

// isNotOf reports whether v is x xor −1.
func isNotOf(v, x *ir.Value) bool {
	d, ok := madeBy(v, "arith.xori")
	return ok && d.Lhs() == x && isInt(ConstantValue(d.Rhs()), -1)
}

// andNot is x and (x xor −1) = 0.
func andNot(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	for _, way := range eitherWay(op) {
		if isNotOf(way[0], way[1]) {
			return zero(op)
		}
	}
	return nil
}

// orNot is x or (x xor −1) = −1.
func orNot(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	for _, way := range eitherWay(op) {
		if isNotOf(way[0], way[1]) {
			return attr(IntValue(op.Context(), op.OneResult().Type(), -1))
		}
	}
	return nil
}

// xorTwice is (x xor y) xor y = x, whichever way round.
func xorTwice(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	for _, way := range eitherWay(op) {
		d, ok := madeBy(way[0], "arith.xori")
		if !ok {
			continue
		}
		for _, inner := range eitherWay(d.Op) {
			if inner[0] == way[1] {
				return value(inner[1])
			}
		}
	}
	return nil
}

// floatOp folds constants by f in float64 and rounds once to the type. For
// formats up to f32 that is the correctly rounded result of one operation. A
// NaN on either side is left to the hardware.
func floatOp(f func(x []float64) float64) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		t := op.OneResult().Type()
		kind := ir.ElemOf(t).(*ir.FloatType).Kind
		if kind == ir.F80 || kind == ir.F128 {
			return nil
		}
		return attr(apply(op.Context(), t, consts, func(a []uint64) (uint64, bool) {
			var args [3]float64
			for i, b := range a {
				args[i] = ir.BitsToFloat(kind, b)
				if math.IsNaN(args[i]) {
					return 0, false
				}
			}
			v := f(args[:len(a)])
			return ir.FloatToBits(kind, v), !math.IsNaN(v)
		}))
	}
}

// isFloat reports whether a is the float with exactly these bits of v.
func isFloat(a ir.Attribute, v float64) bool {
	t, ok := ir.ElemOf(TypeOf(a)).(*ir.FloatType)
	if !ok {
		return false
	}
	vals, splat := bitsOf(a)
	return splat && vals[0] == ir.FloatToBits(t.Kind, v)
}

func floatIdentity(v float64) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		if isFloat(consts[1], v) {
			return value(AsBinary(op).Lhs())
		}
		return nil
	}
}

var (
	foldAddF    = first(floatIdentity(math.Copysign(0, -1)), floatOp(func(x []float64) float64 { return x[0] + x[1] }))
	foldSubF    = first(floatIdentity(0), floatOp(func(x []float64) float64 { return x[0] - x[1] }))
	foldMulF    = first(floatIdentity(1), floatOp(func(x []float64) float64 { return x[0] * x[1] }))
	foldDivF    = first(floatIdentity(1), floatOp(func(x []float64) float64 { return x[0] / x[1] }))
	foldRemF    = floatOp(func(x []float64) float64 { return math.Mod(x[0], x[1]) })
	foldMinimum = first(idempotent, floatOp(func(x []float64) float64 { return math.Min(x[0], x[1]) }))
	// of the kind that gives NaN for a NaN only
	foldMinimumF = first(floatIdentity(math.Inf(1)), foldMinimum)
	foldMaximumF = first(floatIdentity(math.Inf(-1)), foldMaximum)
	// A NaN gives way to the other operand.
	foldMinNumF = first(otherThanNaN, foldMinimum)
	foldMaxNumF = first(otherThanNaN, foldMaximum)
	foldMaximum = first(idempotent, floatOp(func(x []float64) float64 { return math.Max(x[0], x[1]) }))
	foldNegF    = first(negTwice, floatOp(func(x []float64) float64 { return -x[0] }))
)

func otherThanNaN(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	for i, way := range eitherWay(op) {
		if c := consts[i]; c != nil && isNaN(c) {
			return value(way[1])
		}
	}
	return nil
}

// castOp folds a conversion of a constant by f; a conversion to the same type
// is its operand.
func castOp(f func(x uint64, from, to ir.Type) (uint64, bool)) foldFunc {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		v := AsCast(op)
		from, to := v.In().Type(), v.Out().Type()
		if from == to {
			return value(v.In())
		}
		return attr(apply(op.Context(), to, consts, func(a []uint64) (uint64, bool) {
			v, ok := f(a[0], ir.ElemOf(from), ir.ElemOf(to))
			if _, isInt := ir.ElemOf(to).(*ir.IntegerType); isInt {
				v &= widthMask(intWidth(to))
			}
			return v, ok
		}))
	}
}

// negTwice is −(−x) = x.
func negTwice(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	if d := AsNegF(op).Operand().Def(); d != nil && d.Name() == "arith.negf" {
		return value(AsNegF(d).Operand())
	}
	return nil
}

// truncExt gives back what was extended.
func truncExt(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	v := AsTruncF(op)
	if d := v.In().Def(); d != nil && d.Name() == "arith.extf" && AsExtF(d).In().Type() == v.Out().Type() {
		return value(AsExtF(d).In())
	}
	return nil
}

func floatKind(t ir.Type) ir.FloatKind { return t.(*ir.FloatType).Kind }

func floatCast(x uint64, from, to ir.Type) (uint64, bool) {
	v := ir.BitsToFloat(floatKind(from), x)
	if math.IsNaN(v) { // quiet, of the same sign
		v = math.Float64frombits(math.Float64bits(v)>>63<<63 | 0x7ff8<<48)
	}
	return ir.FloatToBits(floatKind(to), v), true
}

var (
	foldExtSI  = castOp(func(x uint64, from, _ ir.Type) (uint64, bool) { return uint64(signed(x, intWidth(from))), true })
	foldExtUI  = castOp(func(x uint64, _, _ ir.Type) (uint64, bool) { return x, true })
	foldTrunc  = castOp(func(x uint64, _, _ ir.Type) (uint64, bool) { return x, true })
	foldExtF   = castOp(floatCast)
	foldTruncF = first(truncExt, castOp(func(x uint64, from, to ir.Type) (uint64, bool) {
		y, ok := floatCast(x, from, to)
		// What is too great or too small for the type is left to the hardware.
		a, b := ir.BitsToFloat(floatKind(from), x), ir.BitsToFloat(floatKind(to), y)
		lost := a != b && (math.IsInf(b, 0) || math.Abs(b) < smallestNormal[floatKind(to)])
		return y, ok && !lost
	}))
	foldSIToFP = castOp(func(x uint64, from, to ir.Type) (uint64, bool) {
		v := signed(x, intWidth(from))
		if v < 0 {
			return ir.FloatToBits(floatKind(to), -toFloat(uint64(-v), floatKind(to))), true
		}
		return ir.FloatToBits(floatKind(to), toFloat(uint64(v), floatKind(to))), true
	})
	foldUIToFP = castOp(func(x uint64, _, to ir.Type) (uint64, bool) {
		return ir.FloatToBits(floatKind(to), toFloat(x, floatKind(to))), true
	})
	foldFPToSI = castOp(func(x uint64, from, to ir.Type) (uint64, bool) {
		v := math.Trunc(ir.BitsToFloat(floatKind(from), x))
		lim := math.Ldexp(1, intWidth(to)-1)
		if !(v >= -lim && v < lim) {
			return 0, false
		}
		return uint64(int64(v)), true
	})
	foldFPToUI = castOp(func(x uint64, from, to ir.Type) (uint64, bool) {
		v := math.Trunc(ir.BitsToFloat(floatKind(from), x))
		if !(v >= 0 && v < math.Ldexp(1, intWidth(to))) {
			return 0, false
		}
		return uint64(v), true
	})
	foldBitcast = castOp(func(x uint64, _, _ ir.Type) (uint64, bool) { return x, true })
)

// smallestNormal has the formats that floats are truncated to.
var smallestNormal = map[ir.FloatKind]float64{ir.F32: 0x1p-126, ir.BF16: 0x1p-126, ir.F16: 0x1p-14}

// toFloat is x in float64, rounded to nearest for that format and, for smaller
// ones, to odd, so that rounding once more gives what rounding x would.
func toFloat(x uint64, kind ir.FloatKind) float64 {
	if n := bits.Len64(x) - 53; n > 0 && kind != ir.F64 && x&(1<<n-1) != 0 {
		x = x>>n<<n | 1<<n
	}
	return float64(x)
}

func boolType(op *ir.Operation) ir.Type { return op.OneResult().Type() }

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func foldCmpI(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	cmp := AsCmpI(op)
	pred := cmp.Predicate()
	if cmp.Lhs() == cmp.Rhs() {
		holds := pred == EQ || pred == SLE || pred == SGE || pred == ULE || pred == UGE
		return attr(IntValue(op.Context(), boolType(op), int64(b2u(holds))))
	}
	if x := foldBitTest(cmp.Lhs(), pred, consts[1]); x != nil {
		return value(x)
	}
	w := intWidth(cmp.Lhs().Type())
	return attr(apply(op.Context(), boolType(op), consts, func(a []uint64) (uint64, bool) {
		return b2u(CompareInts(pred, a[0], a[1], w)), true
	}))
}

// foldBitTest is the bit that a comparison tests: x == 1 and x != 0 of one bit, and
// extended scalars that are not 0.
func foldBitTest(x *ir.Value, pred int64, c ir.Attribute) *ir.Value {
	switch {
	case ir.IsInt(ir.ElemOf(x.Type()), 1):
		if pred == EQ && isInt(c, 1) || pred == NE && isInt(c, 0) {
			return x
		}
	case pred == NE && isInt(c, 0):
		d := x.Def()
		if d != nil && (d.Name() == "arith.extui" || d.Name() == "arith.extsi") && ir.IsInt(AsCast(d).In().Type(), 1) {
			return AsCast(d).In()
		}
	}
	return nil
}

// CompareInts evaluates an integer predicate on values of w bits.
func CompareInts(pred int64, x, y uint64, w int) bool {
	sx, sy := signed(x, w), signed(y, w)
	switch pred {
	case EQ:
		return x == y
	case NE:
		return x != y
	case SLT:
		return sx < sy
	case SLE:
		return sx <= sy
	case SGT:
		return sx > sy
	case SGE:
		return sx >= sy
	case ULT:
		return x < y
	case ULE:
		return x <= y
	case UGT:
		return x > y
	case UGE:
		return x >= y
	}
	panic("BUG: arith: no such integer predicate")
}

// isNaN reports whether a is a NaN, or a splat of it.
func isNaN(a ir.Attribute) bool {
	t, ok := ir.ElemOf(TypeOf(a)).(*ir.FloatType)
	vals, splat := bitsOf(a)
	return ok && splat && math.IsNaN(ir.BitsToFloat(t.Kind, vals[0]))
}

func foldCmpF(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	cmp := AsCmpF(op)
	pred, kind := cmp.Predicate(), floatKind(ir.ElemOf(cmp.Lhs().Type()))
	if pred == False || pred == True {
		return attr(IntValue(op.Context(), boolType(op), int64(b2u(pred == True))))
	}
	// Whatever is compared with a NaN, the outcome is known.
	for i, c := range consts {
		if c != nil && consts[1-i] == nil && isNaN(c) {
			return attr(IntValue(op.Context(), boolType(op), int64(b2u(pred >= UEQ))))
		}
	}
	return attr(apply(op.Context(), boolType(op), consts, func(a []uint64) (uint64, bool) {
		x, y := ir.BitsToFloat(kind, a[0]), ir.BitsToFloat(kind, a[1])
		if math.IsNaN(x) || math.IsNaN(y) {
			return b2u(pred >= UEQ), true
		}
		switch pred {
		case OEQ, UEQ:
			return b2u(x == y), true
		case OGT, FUGT:
			return b2u(x > y), true
		case OGE, FUGE:
			return b2u(x >= y), true
		case OLT, FULT:
			return b2u(x < y), true
		case OLE, FULE:
			return b2u(x <= y), true
		case ONE, UNE:
			return b2u(x != y), true
		case ORD:
			return 1, true
		default:
			return 0, true
		}
	}))
}

func foldSelect(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	choice := AsSelect(op)
	cond, yes, no := choice.Condition(), choice.TrueValue(), choice.FalseValue()
	if yes == no {
		return value(yes)
	}
	if c, ok := AttrInt(consts[0]); ok {
		if c != 0 {
			return value(yes)
		}
		return value(no)
	}
	// Of scalars alone, as in MLIR: kernels of flex attention keep such a choice of
	// masks.
	if ir.IsInt(yes.Type(), 1) && isInt(consts[1], 1) && isInt(consts[2], 0) {
		return value(cond)
	}
	// x == y ? x : y is y, and x != y ? x : y is x
	if d := cond.Def(); d != nil && d.Name() == "arith.cmpi" {
		switch cmp := AsCmpI(d); {
		case cmp.Lhs() != yes || cmp.Rhs() != no:
		case cmp.Predicate() == EQ:
			return value(no)
		case cmp.Predicate() == NE:
			return value(yes)
		}
	}
	return nil
}
