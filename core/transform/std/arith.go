package std

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

func arithPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "compare-constant-right", Root: arith.CmpI, Apply: compareConstantRight},
		{Name: "compare-ext", Root: arith.CmpI, Apply: compareExt},
		{Name: "compare-converted", Root: arith.CmpF, Apply: compareConverted},
		{Name: "bits-ext", Root: arith.AndI, Apply: bitsExt},
		{Name: "bits-ext", Root: arith.OrI, Apply: bitsExt},
		{Name: "bits-ext", Root: arith.XorI, Apply: bitsExt},
		{Name: "ext-ext", Root: arith.ExtSI, Apply: extExt},
		{Name: "ext-ext", Root: arith.ExtUI, Apply: extExt},
		{Name: "trunc-ext", Root: arith.TruncI, Apply: truncExt},
		{Name: "trunc-shift", Root: arith.TruncI, Apply: truncShift},
		{Name: "narrow-float", Root: arith.TruncF, Apply: narrowFloat},
		{Name: "negated-operands", Root: arith.MulF, Apply: negatedOperands},
		{Name: "negated-operands", Root: arith.DivF, Apply: negatedOperands},
		{Name: "bitcast-bitcast", Root: arith.Bitcast, Apply: bitcastBitcast},
		{Name: "not-compare", Root: arith.XorI, Apply: notCompare},
		{Name: "select-not", Root: arith.Select, Apply: selectNot},
		{Name: "select-select", Root: arith.Select, Apply: selectSelect},
		{Name: "select-bit", Root: arith.Select, Apply: selectBit},
	}
}

// swapped is the predicate p such that x pred y is y p x.
var swapped = map[int64]int64{
	arith.EQ: arith.EQ, arith.NE: arith.NE,
	arith.SLT: arith.SGT, arith.SLE: arith.SGE, arith.SGT: arith.SLT, arith.SGE: arith.SLE,
	arith.ULT: arith.UGT, arith.ULE: arith.UGE, arith.UGT: arith.ULT, arith.UGE: arith.ULE,
}

// inverse is the predicate that holds exactly when pred does not.
var inverse = map[int64]int64{
	arith.EQ: arith.NE, arith.NE: arith.EQ,
	arith.SLT: arith.SGE, arith.SLE: arith.SGT, arith.SGT: arith.SLE, arith.SGE: arith.SLT,
	arith.ULT: arith.UGE, arith.ULE: arith.UGT, arith.UGT: arith.ULE, arith.UGE: arith.ULT,
}

// Inverse is the predicate of arith.cmpi that holds where predicate does not.
func Inverse(predicate int64) int64 { return inverse[predicate] }

func compareConstantRight(_ *rewrite.Rewriter, op *ir.Operation) bool {
	cmp := arith.AsCmpI(op)
	if arith.ConstantValue(cmp.Lhs()) == nil || arith.ConstantValue(cmp.Rhs()) != nil {
		return false
	}
	op.SwapPair()
	cmp.SetPredicate(swapped[cmp.Predicate()])
	return true
}

// extExt joins two extensions of one kind, or a signed one of an unsigned one,
// whose sign bit is 0.
func extExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := arith.AsCast(op)
	inner := outer.In().Def()
	if inner == nil || !inner.Is(arith.ExtUI) && !(inner.Is(arith.ExtSI) && op.Is(arith.ExtSI)) {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, inner.Def(), arith.AsCast(inner).In(), outer.Out().Type()))
	return true
}

// truncExt takes the low bits of an extension from what was extended.
func truncExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	trunc := arith.AsTruncI(op)
	inner := trunc.In().Def()
	if inner == nil {
		return false
	}
	to := trunc.Out().Type()
	if inner.Is(arith.TruncI) {
		rw.Replace(op, arith.Cast(rw.Builder, arith.TruncI, arith.AsTruncI(inner).In(), to))
		return true
	}
	if !inner.Is(arith.ExtSI) && !inner.Is(arith.ExtUI) {
		return false
	}
	src := arith.AsCast(inner).In()
	from, want := ir.BitWidth(ir.ElemOf(src.Type())), ir.BitWidth(ir.ElemOf(to))
	switch {
	case from == want:
		rw.Replace(op, src)
	case from > want:
		rw.Replace(op, arith.Cast(rw.Builder, arith.TruncI, src, to))
	default:
		rw.Replace(op, arith.Cast(rw.Builder, inner.Def(), src, to))
	}
	return true
}

// truncShift shifts in zeros where just the bits that were there are taken.
func truncShift(rw *rewrite.Rewriter, op *ir.Operation) bool {
	trunc := arith.AsTruncI(op)
	if !trunc.In().DefIs(arith.ShRSI) {
		return false
	}
	shift := arith.AsShRSI(trunc.In().Def())
	by, ok := arith.ConstantInt(shift.Rhs())
	from, to := ir.BitWidth(ir.ElemOf(trunc.In().Type())), ir.BitWidth(ir.ElemOf(trunc.Out().Type()))
	if !ok || by != int64(from-to) {
		return false
	}
	v := arith.Binary(rw.Builder, arith.ShRUI, shift.Lhs(), shift.Rhs())
	rw.Replace(op, arith.Cast(rw.Builder, arith.TruncI, v, trunc.Out().Type()))
	return true
}

// sameExt reports whether both operands of op are extensions of one kind from one
// type, and gives what they extend.
func sameExt(op *ir.Operation) (ext *ir.OpDef, x, y *ir.Value) {
	v := arith.AsBinary(op)
	l, r := v.Lhs().Def(), v.Rhs().Def()
	if l == nil || r == nil || l.Def() != r.Def() || !l.Is(arith.ExtSI) && !l.Is(arith.ExtUI) {
		return nil, nil, nil
	}
	if x, y = arith.AsCast(l).In(), arith.AsCast(r).In(); x.Type() != y.Type() {
		return nil, nil, nil
	}
	return l.Def(), x, y
}

// compareExt compares for equality before extending.
func compareExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	pred := arith.AsCmpI(op).Predicate()
	ext, x, y := sameExt(op)
	if ext == nil || pred != arith.EQ && pred != arith.NE {
		return false
	}
	rw.Replace(op, arith.Compare(rw.Builder, arith.CmpI, pred, x, y))
	return true
}

// bitsExt combines bits before extending.
func bitsExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	ext, x, y := sameExt(op)
	if ext == nil {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, ext, arith.Binary(rw.Builder, op.Def(), x, y), op.OneResult().Type()))
	return true
}

// narrowFloat converts an integer to the narrow float at once.
func narrowFloat(rw *rewrite.Rewriter, op *ir.Operation) bool {
	trunc := arith.AsTruncF(op)
	inner := trunc.In().Def()
	if inner == nil || !inner.Is(arith.SIToFP) && !inner.Is(arith.UIToFP) || op.Attr(arith.RoundingModeAttr) != nil {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, inner.Def(), arith.AsCast(inner).In(), trunc.Out().Type()))
	return true
}

// negatedOperands is (−x) · (−y) = x · y, and likewise the quotient.
func negatedOperands(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := arith.AsBinary(op)
	if !v.Lhs().DefIs(arith.NegF) || !v.Rhs().DefIs(arith.NegF) {
		return false
	}
	x, y := arith.AsNegF(v.Lhs().Def()).Operand(), arith.AsNegF(v.Rhs().Def()).Operand()
	rw.Replace(op, arith.Binary(rw.Builder, op.Def(), x, y))
	return true
}

func bitcastBitcast(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := arith.AsBitcast(op)
	if !outer.In().DefIs(arith.Bitcast) {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, arith.Bitcast, arith.AsBitcast(outer.In().Def()).In(), outer.Out().Type()))
	return true
}

// isNot reports whether v is x xor true, and gives x. Only scalars are looked
// at: a negated mask is often used beside the mask itself.
func isNot(v *ir.Value) (*ir.Value, bool) {
	op := v.Def()
	if op == nil || !op.Is(arith.XorI) || !ir.IsInt(v.Type(), 1) {
		return nil, false
	}
	xor := arith.AsXorI(op)
	k, ok := arith.ConstantInt(xor.Rhs())
	return xor.Lhs(), ok && k&1 == 1
}

func notCompare(rw *rewrite.Rewriter, op *ir.Operation) bool {
	x, ok := isNot(op.OneResult())
	if !ok || !x.DefIs(arith.CmpI) {
		return false
	}
	cmp := arith.AsCmpI(x.Def())
	rw.Replace(op, arith.Compare(rw.Builder, arith.CmpI, inverse[cmp.Predicate()], cmp.Lhs(), cmp.Rhs()))
	return true
}

func selectNot(rw *rewrite.Rewriter, op *ir.Operation) bool {
	choice := arith.AsSelect(op)
	x, ok := isNot(choice.Condition())
	if !ok {
		return false
	}
	rw.Replace(op, arith.NewSelect(rw.Builder, x, choice.FalseValue(), choice.TrueValue()))
	return true
}

// selectSelect skips a choice that an outer choice by the same condition has
// made already.
func selectSelect(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := arith.AsSelect(op)
	same := func(v *ir.Value) bool {
		return v.DefIs(arith.Select) && arith.AsSelect(v.Def()).Condition() == outer.Condition()
	}
	switch yes, no := outer.TrueValue(), outer.FalseValue(); {
	case same(yes):
		outer.SetTrueValue(arith.AsSelect(yes.Def()).TrueValue())
	case same(no):
		outer.SetFalseValue(arith.AsSelect(no.Def()).FalseValue())
	default:
		return false
	}
	rw.Modified(op)
	return true
}

// selectBit makes a choice between the scalars 1 and 0 the condition's bit. Of
// tensors, masks are often beside what they choose.
func selectBit(rw *rewrite.Rewriter, op *ir.Operation) bool {
	choice := arith.AsSelect(op)
	t, ok := choice.Result().Type().(*ir.IntegerType)
	yes, yok := arith.ConstantInt(choice.TrueValue())
	no, nok := arith.ConstantInt(choice.FalseValue())
	if !ok || !yok || !nok {
		return false
	}
	cond := choice.Condition()
	if t.Width == 1 {
		if yes&1 == 1 || no&1 == 0 {
			return false
		}
		rw.Replace(op, not(rw, op, cond))
		return true
	}
	switch {
	case yes == 1 && no == 0:
	case yes == 0 && no == 1:
		cond = not(rw, op, cond)
	default:
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, arith.ExtUI, cond, t))
	return true
}

// not makes the opposite of the scalar v, before op.
func not(rw *rewrite.Rewriter, op *ir.Operation, v *ir.Value) *ir.Value {
	one := rw.Constant(op, arith.IntValue(op.Context(), v.Type(), 1), v.Type())
	return arith.Binary(rw.Builder, arith.XorI, v, one)
}
