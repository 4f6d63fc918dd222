package axisinfo

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
)

// A rule computes the info of an operation's one result from its operands'.
type rule func(op *ir.Operation, in []Info) Info

// rules has the operations of which anything is known. Casts pass through:
// alignment and runs survive them.
var rules = map[*ir.OpDef]rule{
	arith.ExtSI:       cast(signExtend),
	arith.ExtUI:       cast(zeroExtend),
	arith.TruncI:      cast(signExtend),
	arith.Bitcast:     cast(signExtend),
	arith.IndexCast:   cast(signExtend),
	arith.IndexCastUI: cast(zeroExtend),
	tt.PtrToInt:       passThrough,
	tt.IntToPtr:       passThrough,
	tt.Bitcast:        passThrough,
	ttg.ConvertLayout: passThrough,

	tt.MakeRange:   makeRange,
	arith.Constant: constantOp,
	ub.Poison:      poison,
	tt.Splat:       splat,
	tt.ExpandDims:  expandDims,
	tt.Broadcast:   broadcast,
	tt.Trans:       trans,

	tt.GetProgramID:   programNumber,
	tt.GetNumPrograms: programNumber,

	arith.AddI:   binary{fold: add, axis: addAxis, sign: bothWide}.rule,
	tt.AddPtr:    addPtr,
	arith.SubI:   binary{fold: sub, axis: subAxis}.rule,
	arith.MulI:   mulRule,
	arith.DivSI:  binary{fold: quo, axis: signedDivAxis, sign: dividend}.rule,
	arith.DivUI:  binary{fold: quoUnsigned, axis: divAxis}.rule,
	arith.RemSI:  remRule(rem, signedRemAxis),
	arith.RemUI:  remRule(remUnsigned, remAxis),
	arith.ShLI:   binary{fold: shl, axis: shlAxis}.rule,
	arith.ShRSI:  binary{fold: shr, axis: shrAxis, sign: dividend}.rule,
	arith.ShRUI:  binary{fold: shrUnsigned, axis: shrAxis}.rule,
	arith.AndI:   binary{fold: func(a, b int64) (int64, bool) { return a & b, true }, axis: bitsAxis, sign: either}.rule,
	arith.OrI:    binary{fold: func(a, b int64) (int64, bool) { return a | b, true }, axis: bitsAxis}.rule,
	arith.XorI:   binary{fold: func(a, b int64) (int64, bool) { return a ^ b, true }, axis: bitsAxis}.rule,
	arith.MaxSI:  binary{fold: func(a, b int64) (int64, bool) { return max(a, b), true }, axis: chooseAxis, sign: either}.rule,
	arith.MinSI:  binary{fold: func(a, b int64) (int64, bool) { return min(a, b), true }, axis: chooseAxis, sign: both}.rule,
	arith.MaxUI:  binary{fold: nonNegative(func(a, b int64) int64 { return max(a, b) }), axis: chooseAxis}.rule,
	arith.MinUI:  binary{fold: nonNegative(func(a, b int64) int64 { return min(a, b) }), axis: chooseAxis}.rule,
	arith.CmpI:   compare,
	arith.Select: selectRule,
	tt.Load:      load,
}

// shaped is what does not depend on a dimension, for so many of them.
func (i Info) shaped(rank int) Info {
	i.Axes = make([]Axis, rank)
	return i
}

func passThrough(_ *ir.Operation, in []Info) Info { return in[0] }

// cast keeps the axes and converts a constant, given the width of the operand in
// bits (0: an index).
func cast(convert func(v int64, from int) int64) rule {
	return func(op *ir.Operation, in []Info) Info {
		if !in[0].IsConst {
			r := in[0]
			switch op.Def() {
			case arith.ExtUI:
				r.NonNegative = true
			case arith.TruncI, arith.Bitcast, arith.IndexCast, arith.IndexCastUI:
				r.NonNegative = false
			case arith.ExtSI:
				r.NonNegative = r.NonNegative && ir.BitWidth(ir.ElemOf(arith.AsCast(op).In().Type())) > 1
			}
			return r
		}
		t := op.OneResult().Type()
		v := convert(in[0].Const, ir.BitWidth(ir.ElemOf(arith.AsCast(op).In().Type())))
		return constant(shapeOf(t), wrap(t, v))
	}
}

func signExtend(v int64, from int) int64 {
	if from == 1 {
		return -v // true is all ones
	}
	return v
}

func zeroExtend(v int64, from int) int64 {
	if from > 0 && from < 64 {
		return v & (1<<from - 1)
	}
	return v
}

// shapeOf counts a scalar as one element.
func shapeOf(t ir.Type) []int64 {
	if s := ir.ShapeOf(t); s != nil {
		return s
	}
	return []int64{1}
}

func makeRange(op *ir.Operation, _ []Info) Info {
	r := tt.AsMakeRange(op)
	run := Axis{Contiguity: r.End() - r.Start(), Divisibility: min(pow2Divisor(r.Start()), 1<<30), Constancy: 1} // of 32 bits
	return Info{Axes: []Axis{run}, NonNegative: r.Start() >= 0}
}

// programNumber is the number of a program, or of programs.
func programNumber(*ir.Operation, []Info) Info {
	r := unknown(1)
	r.NonNegative = true
	return r
}

func constantOp(op *ir.Operation, _ []Info) Info {
	shape := shapeOf(op.OneResult().Type())
	if v, ok := arith.AttrInt(arith.AsConstant(op).Value()); ok {
		return constant(shape, v)
	}
	return unknown(len(shape))
}

// poison of integers is zero, as it is lowered to. Of pointers it only begins
// what a loop carries, and fits whatever replaces it.
func poison(op *ir.Operation, _ []Info) Info {
	shape := shapeOf(op.OneResult().Type())
	if ir.IsInt(ir.ElemOf(op.OneResult().Type()), 0) {
		return constant(shape, 0)
	}
	i := unknown(len(shape))
	for d := range i.Axes {
		i.Axes[d] = Axis{Contiguity: maxDivisor, Divisibility: maxDivisor, Constancy: maxDivisor}
	}
	return i
}

func splat(op *ir.Operation, in []Info) Info {
	shape := shapeOf(op.OneResult().Type())
	r := in[0].shaped(len(shape))
	for d, n := range shape {
		r.Axes[d] = Axis{Contiguity: 1, Divisibility: in[0].Axes[0].Divisibility, Constancy: n}
	}
	return r
}

// expandDims: along the new dimension of size 1 every element starts a run, so
// only what divides all elements divides there.
func expandDims(op *ir.Operation, in []Info) Info {
	axis := tt.AsExpandDims(op).Axis()
	one := Axis{Contiguity: 1, Constancy: 1}
	for _, a := range in[0].Axes {
		one.Divisibility = gcd(one.Divisibility, startDivisor(a, 1))
		one.Presumed = one.Presumed || a.Presumed
	}
	one.Divisibility = max(one.Divisibility, 1)
	r := in[0].shaped(len(in[0].Axes) + 1)
	copy(r.Axes, in[0].Axes[:axis])
	r.Axes[axis] = one
	copy(r.Axes[axis+1:], in[0].Axes[axis:])
	return r
}

func broadcast(op *ir.Operation, in []Info) Info {
	spread := tt.AsBroadcast(op)
	from, to := shapeOf(spread.Src().Type()), shapeOf(spread.Result().Type())
	r := in[0].shaped(len(to))
	for d, a := range in[0].Axes {
		if from[d] == 1 {
			a.Contiguity, a.Constancy, a.Presumed = 1, to[d], false
		}
		r.Axes[d] = a
	}
	return r
}

func trans(op *ir.Operation, in []Info) Info {
	order := tt.AsTrans(op).Order()
	r := in[0].shaped(len(order))
	for d, from := range order {
		r.Axes[d] = in[0].Axes[from]
	}
	return r
}

// binary is an arithmetic operation on two operands: constants fold, and the
// axes are computed one by one.
type binary struct {
	fold func(a, b int64) (int64, bool)
	axis func(c binaryCase) Axis
	// sign reports whether the result is not negative; nil: nothing is known.
	sign func(op *ir.Operation, lhs, rhs *Info) bool
}

func both(_ *ir.Operation, lhs, rhs *Info) bool   { return lhs.NonNegative && rhs.NonNegative }
func either(_ *ir.Operation, lhs, rhs *Info) bool { return lhs.NonNegative || rhs.NonNegative }

// bothWide is for sums and products: those of fewer than 32 bits may well wrap around.
func bothWide(op *ir.Operation, lhs, rhs *Info) bool {
	return both(op, lhs, rhs) && ir.BitWidth(ir.ElemOf(op.OneResult().Type())) >= 32
}

// dividend: of a divisor only a constant may be negative, or none is known.
func dividend(_ *ir.Operation, lhs, rhs *Info) bool {
	return lhs.NonNegative && (!rhs.IsConst || rhs.Const >= 0)
}

// binaryCase is one dimension of one operation.
type binaryCase struct {
	l, r       Axis
	lhs, rhs   *Info
	size       int64 // of the dimension
	pointeeLen int64 // bytes by which an offset is scaled; 1 for integers
	tensor     bool
}

func (b binary) rule(op *ir.Operation, in []Info) Info { return b.scaled(op, in, 1) }

func (b binary) scaled(op *ir.Operation, in []Info, pointee int64) Info {
	t := op.OneResult().Type()
	shape := shapeOf(t)
	if in[0].IsConst && in[1].IsConst {
		if v, ok := b.fold(in[0].Const, in[1].Const*pointee); ok {
			return constant(shape, wrap(t, v))
		}
	}
	r := Info{Axes: make([]Axis, len(shape))}
	_, tensor := t.(*ir.TensorType)
	for d, n := range shape {
		r.Axes[d] = b.axis(binaryCase{in[0].Axes[d], in[1].Axes[d], &in[0], &in[1], n, pointee, tensor})
		r.Axes[d].Presumed = r.Axes[d].Presumed || in[0].Axes[d].Presumed || in[1].Axes[d].Presumed
	}
	r.NonNegative = b.sign != nil && b.sign(op, &in[0], &in[1])
	return r
}

// wrap cuts v to the width of t's elements; i1 holds 0 or 1.
func wrap(t ir.Type, v int64) int64 {
	w := ir.BitWidth(ir.ElemOf(t))
	if w == 1 {
		return v & 1
	}
	if w > 1 && w < 64 {
		return v << (64 - w) >> (64 - w)
	}
	return v
}

func add(a, b int64) (int64, bool) { return a + b, true }
func sub(a, b int64) (int64, bool) { return a - b, true }
func mul(a, b int64) (int64, bool) { return a * b, true }

func quo(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	return a / b, true
}

func rem(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	return a % b, true
}

// Unsigned operations fold where signed and unsigned agree.
func quoUnsigned(a, b int64) (int64, bool) { return ifNonNegative(a, b, quo) }
func remUnsigned(a, b int64) (int64, bool) { return ifNonNegative(a, b, rem) }
func shrUnsigned(a, b int64) (int64, bool) { return ifNonNegative(a, b, shr) }

func ifNonNegative(a, b int64, f func(a, b int64) (int64, bool)) (int64, bool) {
	if a < 0 || b < 0 {
		return 0, false
	}
	return f(a, b)
}

func nonNegative(f func(a, b int64) int64) func(a, b int64) (int64, bool) {
	return func(a, b int64) (int64, bool) { return f(a, b), a >= 0 && b >= 0 }
}

func shl(a, b int64) (int64, bool) { return a << uint64(b), b >= 0 && b < 64 }
func shr(a, b int64) (int64, bool) { return a >> uint64(b), b >= 0 && b < 64 }

func addPtr(op *ir.Operation, in []Info) Info {
	pointee := max(1, int64(ir.BitWidth(tt.PointeeOf(tt.AsAddPtr(op).Ptr().Type())))/8)
	return binary{fold: add, axis: addAxis}.scaled(op, in, pointee)
}

func addAxis(c binaryCase) Axis {
	return sumAxis(c, max(gcd(c.l.Constancy, c.r.Contiguity), gcd(c.l.Contiguity, c.r.Constancy)))
}

// subAxis: taking away an increasing sequence gives none.
func subAxis(c binaryCase) Axis { return sumAxis(c, gcd(c.l.Contiguity, c.r.Constancy)) }

func sumAxis(c binaryCase, run int64) Axis {
	return Axis{
		Contiguity:   run,
		Divisibility: gcd(startDivisor(c.l, run), mulDivisors(startDivisor(c.r, run), c.pointeeLen)),
		Constancy:    gcd(c.l.Constancy, c.r.Constancy),
	}
}

func mulRule(op *ir.Operation, in []Info) Info {
	if in[0].is(0) || in[1].is(0) {
		return constant(shapeOf(op.OneResult().Type()), 0)
	}
	return binary{fold: mul, axis: mulAxis, sign: bothWide}.rule(op, in)
}

func mulAxis(c binaryCase) Axis {
	r := Axis{Contiguity: 1, Constancy: gcd(c.l.Constancy, c.r.Constancy)}
	switch {
	case c.rhs.is(1):
		r.Contiguity, r.Divisibility = c.l.Contiguity, c.l.Divisibility
	case c.lhs.is(1):
		r.Contiguity, r.Divisibility = c.r.Contiguity, c.r.Divisibility
	default:
		r.Divisibility = mulDivisors(startDivisor(c.l, 1), startDivisor(c.r, 1))
	}
	return r
}

// divAxis: consecutive numbers divided by one divisor stay equal for as long as
// neither their start nor the divisor lets a quotient change.
func divAxis(c binaryCase) Axis {
	r := Axis{Contiguity: 1, Divisibility: 1, Constancy: gcd(c.l.Constancy, c.r.Constancy)}
	if c.tensor {
		r.Constancy = max(r.Constancy, gcd(gcd(c.l.Contiguity, c.l.Divisibility), gcd(c.r.Divisibility, c.r.Constancy)))
	}
	switch by := c.rhs.Const; {
	case c.rhs.is(1):
		r.Contiguity, r.Divisibility = c.l.Contiguity, c.l.Divisibility
	case c.lhs.is(0):
		r.Divisibility = c.l.Divisibility
	case c.rhs.IsConst && by > 0 && by&(by-1) == 0 && c.l.Contiguity == 1:
		r.Divisibility = max(1, c.l.Divisibility/by)
	}
	return r
}

// signedDivAxis: towards zero, a negative multiple of the divisor has another
// quotient than those that follow it.
func signedDivAxis(c binaryCase) Axis {
	r := divAxis(c)
	r.Presumed = !c.lhs.NonNegative && r.Constancy > gcd(c.l.Constancy, c.r.Constancy)
	return r
}

func remRule(fold func(a, b int64) (int64, bool), axis func(c binaryCase) Axis) rule {
	return func(op *ir.Operation, in []Info) Info {
		if in[1].is(1) {
			return constant(shapeOf(op.OneResult().Type()), 0)
		}
		return binary{fold: fold, axis: axis, sign: dividend}.rule(op, in)
	}
}

// signedRemAxis: after a negative multiple of the divisor, whose remainder is zero,
// come negative ones.
func signedRemAxis(c binaryCase) Axis {
	r := remAxis(c)
	r.Presumed = !c.lhs.NonNegative && r.Contiguity > 1
	return r
}

// remAxis: consecutive numbers stay consecutive until the remainder wraps.
func remAxis(c binaryCase) Axis {
	r := Axis{Contiguity: 1, Constancy: gcd(c.l.Constancy, c.r.Constancy)}
	if c.tensor && c.l.Contiguity == c.size && c.r.Constancy == c.size {
		r.Contiguity = gcd(gcd(c.l.Contiguity, c.l.Divisibility), c.r.Divisibility)
	}
	r.Divisibility = gcd(startDivisor(c.l, r.Contiguity), startDivisor(c.r, 1))
	return r
}

func shlAxis(c binaryCase) Axis {
	r := Axis{Contiguity: 1, Divisibility: startDivisor(c.l, 1), Constancy: gcd(c.l.Constancy, c.r.Constancy)}
	switch by := c.rhs.Const; {
	case c.rhs.is(0):
		r.Contiguity, r.Divisibility = c.l.Contiguity, c.l.Divisibility
	case c.rhs.IsConst && by > 0 && by < 62:
		r.Divisibility = mulDivisors(r.Divisibility, 1<<by)
	}
	return r
}

func shrAxis(c binaryCase) Axis {
	r := Axis{Contiguity: 1, Divisibility: 1, Constancy: gcd(c.l.Constancy, c.r.Constancy)}
	switch by := c.rhs.Const; {
	case c.rhs.is(0):
		r.Contiguity, r.Divisibility = c.l.Contiguity, c.l.Divisibility
	case c.rhs.IsConst && by > 0 && by < 63:
		r.Divisibility = max(1, startDivisor(c.l, 1)>>by)
	}
	return r
}

func bitsAxis(c binaryCase) Axis {
	return Axis{Contiguity: 1, Divisibility: 1, Constancy: gcd(c.l.Constancy, c.r.Constancy)}
}

// chooseAxis: within runs that both have, one of the two is chosen throughout.
func chooseAxis(c binaryCase) Axis {
	run := gcd(c.l.Contiguity, c.r.Contiguity)
	return Axis{
		Contiguity:   run,
		Divisibility: gcd(startDivisor(c.l, run), startDivisor(c.r, run)),
		Constancy:    gcd(c.l.Constancy, c.r.Constancy),
	}
}

// compare: against one number, consecutive ones answer alike for as long as
// both start at multiples of the same power of two; the predicates for which
// that holds depend on the side.
func compare(op *ir.Operation, in []Info) Info {
	shape := shapeOf(op.OneResult().Type())
	pred := arith.AsCmpI(op).Predicate()
	if in[0].IsConst && in[1].IsConst {
		if v, ok := comparison(pred, in[0].Const, in[1].Const); ok {
			return constant(shape, v)
		}
	}
	lhsFixed := pred == arith.SGT || pred == arith.UGT || pred == arith.SLE || pred == arith.ULE
	rhsFixed := pred == arith.SLT || pred == arith.ULT || pred == arith.SGE || pred == arith.UGE
	r := unknown(len(shape))
	for d, n := range shape {
		a, b := in[0].Axes[d], in[1].Axes[d]
		c := gcd(a.Constancy, b.Constancy)
		div := gcd(a.Divisibility, b.Divisibility)
		if lhsFixed && a.Constancy == n {
			c = max(c, gcd(b.Contiguity, div))
		}
		if rhsFixed && b.Constancy == n {
			c = max(c, gcd(a.Contiguity, div))
		}
		r.Axes[d].Constancy, r.Axes[d].Presumed = c, a.Presumed || b.Presumed
	}
	return r
}

func comparison(pred, a, b int64) (int64, bool) {
	var v bool
	switch pred {
	case arith.EQ:
		v = a == b
	case arith.NE:
		v = a != b
	case arith.SLT:
		v = a < b
	case arith.SLE:
		v = a <= b
	case arith.SGT:
		v = a > b
	case arith.SGE:
		v = a >= b
	case arith.ULT:
		v = uint64(a) < uint64(b)
	case arith.ULE:
		v = uint64(a) <= uint64(b)
	case arith.UGT:
		v = uint64(a) > uint64(b)
	case arith.UGE:
		v = uint64(a) >= uint64(b)
	default:
		return 0, false
	}
	if v {
		return 1, true
	}
	return 0, true
}

func selectRule(op *ir.Operation, in []Info) Info {
	cond, yes, no := in[0], in[1], in[2]
	if cond.IsConst {
		if cond.Const != 0 {
			return yes
		}
		return no
	}
	r := join(yes, no)
	if r.IsConst {
		return constant(shapeOf(op.OneResult().Type()), r.Const)
	}
	if _, ok := arith.AsSelect(op).Condition().Type().(*ir.TensorType); !ok {
		return r
	}
	for d, a := range r.Axes {
		run := gcd(a.Contiguity, cond.Axes[d].Constancy)
		r.Axes[d] = Axis{
			Contiguity:   run,
			Divisibility: startDivisor(a, run),
			Constancy:    gcd(a.Constancy, cond.Axes[d].Constancy),
			Presumed:     a.Presumed || cond.Axes[d].Presumed,
		}
	}
	return r
}

// load: equal addresses under an equal mask give equal values.
func load(op *ir.Operation, in []Info) Info {
	r := unknown(len(shapeOf(op.OneResult().Type())))
	if len(in[0].Axes) != len(r.Axes) || tt.AsLoad(op).IsVolatile() {
		return r // through a block pointer, or not the same twice
	}
	for d := range r.Axes {
		a := in[0].Axes[d]
		r.Axes[d].Constancy, r.Axes[d].Presumed = a.Constancy, a.Presumed
		for _, other := range in[1:] {
			r.Axes[d].Constancy = gcd(r.Axes[d].Constancy, other.Axes[d].Constancy)
			r.Axes[d].Presumed = r.Axes[d].Presumed || other.Axes[d].Presumed
		}
	}
	return r
}
