package ranges

import (
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// A rule is the range of an operation's result. Numbers beyond the type's say that the
// result may wrap around.
type rule func(r *Result, op *ir.Operation) Range

// programs is how many programs there are at most along an axis, as Triton has it.
const programs = math.MaxInt32

// rules are for the operations of which anything is known.
func rules() map[*ir.OpDef]rule {
	return map[*ir.OpDef]rule{
		arith.Constant:    constant,
		tt.MakeRange:      makeRange,
		tt.GetProgramID:   func(*Result, *ir.Operation) Range { return Range{0, programs - 1} },
		tt.GetNumPrograms: func(*Result, *ir.Operation) Range { return Range{1, programs} },
		tt.Histogram:      func(*Result, *ir.Operation) Range { return Range{0, math.MaxInt32} },
		tt.Splat:          elements,
		tt.Unsplat:        elements,
		tt.ExpandDims:     elements,
		tt.Broadcast:      elements,
		tt.Trans:          elements,
		tt.Reshape:        elements,
		tt.Split:          elements,
		tt.Gather:         gather,
		ttg.ConvertLayout: elements,
		arith.ExtSI:       elements,
		arith.IndexCast:   elements,
		arith.TruncI:      elements, // or wraps around
		tt.Join:           elements,
		tt.Cat:            elements,
		arith.ExtUI:       extUI,
		arith.Select:      selection,
		arith.CmpI:        comparison,
		arith.AddI:        binary(sums),
		arith.SubI:        binary(func(x, y Range) Range { return sums(x, negative(y)) }),
		arith.MulI:        binary(product),
		arith.MinSI:       binary(func(x, y Range) Range { return Range{min(x.Low, y.Low), min(x.High, y.High)} }),
		arith.MaxSI:       binary(func(x, y Range) Range { return Range{max(x.Low, y.Low), max(x.High, y.High)} }),
		arith.MinUI:       binary(minUI),
		arith.MaxUI:       binary(maxUI),
		arith.AndI:        binary(and),
		arith.OrI:         binary(or),
		arith.XorI:        binary(or),
		arith.DivSI:       binary(quotient),
		arith.FloorDivI:   binary(quotient),
		arith.CeilDivSI:   binary(ceiling),
		arith.DivUI:       binary(unsigned(quotient)),
		arith.CeilDivUI:   binary(unsigned(ceiling)),
		arith.RemSI:       binary(remainder),
		arith.RemUI:       binary(remUI),
		arith.ShLI:        binary(shiftLeft),
		arith.ShRSI:       binary(shiftRight),
		arith.ShRUI:       binary(unsigned(shiftRight)),
	}
}

// anything is beyond every type.
var anything = Range{math.MinInt64, math.MaxInt64}

func constant(_ *Result, op *ir.Operation) Range {
	v := op.OneResult()
	w := ir.BitWidth(ir.ElemOf(v.Type()))
	if n, ok := arith.ConstantInt(v); ok {
		if w > 0 && w < 64 {
			n = n << (64 - w) >> (64 - w)
		}
		return Range{n, n}
	}
	dense, ok := arith.AsConstant(op).Value().(*ir.DenseElementsAttr)
	if !ok || w == 0 || len(dense.Values) == 0 {
		return anything
	}
	x := Range{math.MaxInt64, math.MinInt64}
	for _, bits := range dense.Values {
		n := int64(bits<<(64-w)) >> (64 - w)
		x = x.union(Range{n, n})
	}
	return x
}

func makeRange(_ *Result, op *ir.Operation) Range {
	v := tt.AsMakeRange(op)
	return Range{v.Start(), v.End() - 1}
}

// elements is for results whose elements are those of the operands, or some of them.
func elements(r *Result, op *ir.Operation) Range {
	x := Range{math.MaxInt64, math.MinInt64}
	for _, v := range op.OperandValues() {
		x = x.union(r.Of(v))
	}
	return x
}

func gather(r *Result, op *ir.Operation) Range { return r.Of(tt.AsGather(op).Src()) }

func extUI(r *Result, op *ir.Operation) Range {
	v := arith.AsCast(op).In()
	x := r.Of(v)
	if w := ir.BitWidth(ir.ElemOf(v.Type())); x.Low < 0 && w > 0 && w < 64 {
		return Range{0, 1<<w - 1}
	}
	return x
}

// What a bit is, taken as signed.
var (
	yes = Range{-1, -1}
	no  = Range{0, 0}
)

func comparison(r *Result, op *ir.Operation) Range {
	c := arith.AsCmpI(op)
	switch holds, known := r.Of(c.Lhs()).Compare(c.Predicate(), r.Of(c.Rhs())); {
	case !known:
		return full(c.Result().Type())
	case holds:
		return yes
	}
	return no
}

func selection(r *Result, op *ir.Operation) Range {
	v := arith.AsSelect(op)
	switch r.Of(v.Condition()) {
	case yes:
		return r.Of(v.TrueValue())
	case no:
		return r.Of(v.FalseValue())
	}
	return r.Of(v.TrueValue()).union(r.Of(v.FalseValue()))
}

// binary is a rule that looks at the operands' ranges alone.
func binary(f func(x, y Range) Range) rule {
	return func(r *Result, op *ir.Operation) Range {
		v := arith.AsBinary(op)
		return f(r.Of(v.Lhs()), r.Of(v.Rhs()))
	}
}

func sums(x, y Range) Range {
	if z, ok := sum(x, y); ok {
		return z
	}
	return anything
}

func negative(x Range) Range {
	if x.Low == math.MinInt64 {
		return anything
	}
	return Range{-x.High, -x.Low}
}

func product(x, y Range) Range {
	z := Range{math.MaxInt64, math.MinInt64}
	for _, a := range []int64{x.Low, x.High} {
		for _, b := range []int64{y.Low, y.High} {
			p, ok := times(a, b)
			if !ok {
				return anything
			}
			z = z.union(Range{p, p})
		}
	}
	return z
}

func minUI(x, y Range) Range {
	switch {
	case x.Low >= 0 && y.Low >= 0:
		return Range{min(x.Low, y.Low), min(x.High, y.High)}
	case x.Low >= 0:
		return Range{0, x.High}
	case y.Low >= 0:
		return Range{0, y.High}
	}
	return anything
}

func maxUI(x, y Range) Range {
	if x.Low >= 0 && y.Low >= 0 {
		return Range{max(x.Low, y.Low), max(x.High, y.High)}
	}
	return anything
}

func and(x, y Range) Range {
	switch {
	case x.Low >= 0 && y.Low >= 0:
		return Range{0, min(x.High, y.High)}
	case x.Low >= 0:
		return Range{0, x.High}
	case y.Low >= 0:
		return Range{0, y.High}
	}
	return anything
}

// or is for the bits of either, and for those of one alone.
func or(x, y Range) Range {
	if x.Low < 0 || y.Low < 0 {
		return anything
	}
	return Range{0, 1<<bits.Len64(uint64(x.High|y.High)) - 1}
}

// quotient is the bounds of a quotient rounded down or toward zero.
func quotient(x, y Range) Range {
	if y.Low <= 0 {
		return anything
	}
	down := func(a, b int64) int64 {
		q := a / b
		if a%b != 0 && a < 0 {
			q--
		}
		return q
	}
	return Range{min(down(x.Low, y.Low), down(x.Low, y.High)), max(x.High/y.Low, x.High/y.High)}
}

func ceiling(x, y Range) Range {
	z := quotient(x, y)
	if z == anything {
		return z
	}
	return sums(z, Range{0, 1})
}

// remainder has the dividend's sign, and is less than the divisor.
func remainder(x, y Range) Range {
	z := Range{min(x.Low, 0), max(x.High, 0)}
	if most := max(y.High, negative(y).High); y.Low > math.MinInt64 && most > 0 {
		z = Range{max(z.Low, 1-most), min(z.High, most-1)}
	}
	return z
}

// remUI is less than a divisor below the sign's bit, whatever the dividend is.
func remUI(x, y Range) Range {
	switch {
	case y.Low <= 0:
		return unsigned(remainder)(x, y)
	case x.Low < 0:
		return Range{0, y.High - 1}
	}
	return Range{0, min(x.High, y.High-1)}
}

func shiftLeft(x, y Range) Range {
	if y.Low < 0 || y.High > 62 {
		return anything
	}
	return product(x, Range{1 << y.Low, 1 << y.High})
}

func shiftRight(x, y Range) Range {
	if y.Low < 0 || y.High > 63 {
		return anything
	}
	return Range{min(x.Low>>y.Low, x.Low>>y.High), max(x.High>>y.Low, x.High>>y.High)}
}

// unsigned is a rule for operands that are not negative.
func unsigned(f func(x, y Range) Range) func(x, y Range) Range {
	return func(x, y Range) Range {
		if x.Low < 0 || y.Low < 0 {
			return anything
		}
		return f(x, y)
	}
}
