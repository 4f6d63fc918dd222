package std

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

// Sums and products of scalars only are joined: those of tensors are in Triton's
// ttir as the kernel has them, and LLVM joins them element by element.

func sumPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "sum-sum", Root: arith.AddI, Apply: reassociate},
		{Name: "sum-sum", Root: arith.SubI, Apply: reassociate},
		{Name: "add-negative", Root: arith.AddI, Apply: addNegative},
		{Name: "sub-minuend", Root: arith.SubI, Apply: subMinuend},
		{Name: "mul-mul", Root: arith.MulI, Apply: mulMul},
	}
}

// affine is a sum of a constant and a value that is added or subtracted.
type affine struct {
	x        *ir.Value
	c        int64
	negative bool // c − x
}

// affineOf reads v as x + c, x − c or c − x; plus says that an addition made it.
func affineOf(v *ir.Value) (a affine, plus, ok bool) {
	op := v.Def()
	if op == nil || !op.Is(arith.AddI) && !op.Is(arith.SubI) || !isScalar(v) {
		return affine{}, false, false
	}
	plus = op.Is(arith.AddI)
	sum := arith.AsBinary(op)
	if c, isConst := arith.ConstantInt(sum.Rhs()); isConst {
		if !plus {
			c = -c
		}
		return affine{x: sum.Lhs(), c: c}, plus, true
	}
	if c, isConst := arith.ConstantInt(sum.Lhs()); isConst && !plus {
		return affine{x: sum.Rhs(), c: c, negative: true}, false, true
	}
	return affine{}, false, false
}

func isScalar(v *ir.Value) bool {
	_, ok := v.Type().(*ir.IntegerType)
	return ok
}

// reassociate joins the constants of two nested sums or differences. The
// outcome is x + c, or c − x; or x − c where two constants were subtracted, as
// the user may have written it.
func reassociate(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer, outerPlus, ok := affineOf(op.OneResult())
	if !ok {
		return false
	}
	inner, innerPlus, ok := affineOf(outer.x)
	if !ok {
		return false
	}
	a := affine{x: inner.x, c: outer.c + inner.c, negative: inner.negative}
	if outer.negative {
		a.c, a.negative = outer.c-inner.c, !inner.negative
	}
	t := op.OneResult().Type()
	constant := func(c int64) *ir.Value { return rw.Constant(op, arith.IntValue(op.Context(), t, c), t) }
	switch {
	case a.negative:
		rw.Replace(op, arith.Binary(rw.Builder, arith.SubI, constant(a.c), a.x))
	case !outerPlus && !innerPlus && !outer.negative:
		rw.Replace(op, arith.Binary(rw.Builder, arith.SubI, a.x, constant(-a.c)))
	default:
		rw.Replace(op, arith.Binary(rw.Builder, arith.AddI, a.x, constant(a.c)))
	}
	return true
}

// addNegative is x + y·(−1) = x − y.
func addNegative(rw *rewrite.Rewriter, op *ir.Operation) bool {
	sum := arith.AsAddI(op)
	negated := func(v *ir.Value) *ir.Value { // y, where v is y·(−1)
		if v.DefIs(arith.MulI) {
			m := arith.AsMulI(v.Def())
			if c, ok := arith.ConstantInt(m.Rhs()); ok && c == -1 {
				return m.Lhs()
			}
		}
		return nil
	}
	x, y := sum.Lhs(), negated(sum.Rhs())
	if y == nil {
		x, y = sum.Rhs(), negated(sum.Lhs())
	}
	if y == nil {
		return false
	}
	rw.Replace(op, arith.Binary(rw.Builder, arith.SubI, x, y))
	return true
}

// subMinuend is (a − b) − a = 0 − b.
func subMinuend(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := arith.AsSubI(op)
	if !outer.Lhs().DefIs(arith.SubI) {
		return false
	}
	inner := arith.AsSubI(outer.Lhs().Def())
	if inner.Lhs() != outer.Rhs() {
		return false
	}
	t := outer.Result().Type()
	zero := rw.Constant(op, arith.IntValue(op.Context(), t, 0), t)
	rw.Replace(op, arith.Binary(rw.Builder, arith.SubI, zero, inner.Rhs()))
	return true
}

// mulMul is (x · a) · b = x · (a·b).
func mulMul(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := arith.AsMulI(op)
	b, ok := arith.ConstantInt(outer.Rhs())
	if !ok || !isScalar(outer.Result()) || !outer.Lhs().DefIs(arith.MulI) {
		return false
	}
	inner := arith.AsMulI(outer.Lhs().Def())
	a, ok := arith.ConstantInt(inner.Rhs())
	if !ok {
		return false
	}
	t := op.OneResult().Type()
	product := rw.Constant(op, arith.IntValue(op.Context(), t, a*b), t)
	rw.Replace(op, arith.Binary(rw.Builder, arith.MulI, inner.Lhs(), product))
	return true
}
