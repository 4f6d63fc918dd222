package std

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

func arithPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "constant-right", Apply: constantRight},
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

// constantRight puts the constant operand of a commutative operation second.
func constantRight(_ *rewrite.Rewriter, op *ir.Operation) bool {
	if !op.Def().Has(ir.Commutative) || op.NumOperands() != 2 {
		return false
	}
	l, r := op.Operand(0), op.Operand(1)
	if arith.ConstantValue(l) == nil || arith.ConstantValue(r) != nil {
		return false
	}
	op.SetOperand(0, r)
	op.SetOperand(1, l)
	return true
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

func compareConstantRight(_ *rewrite.Rewriter, op *ir.Operation) bool {
	l, r := op.Operand(0), op.Operand(1)
	if arith.ConstantValue(l) == nil || arith.ConstantValue(r) != nil {
		return false
	}
	pred, _ := op.IntAttr("predicate")
	op.SetOperand(0, r)
	op.SetOperand(1, l)
	op.SetAttr("predicate", op.Context().I64Attr(swapped[pred]))
	return true
}

// extExt joins two extensions of one kind, or a signed one of an unsigned one,
// whose sign bit is 0.
func extExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	inner := op.Operand(0).Def()
	if inner == nil || !inner.Is(arith.ExtUI) && !(inner.Is(arith.ExtSI) && op.Is(arith.ExtSI)) {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, inner.Def(), inner.Operand(0), op.Result(0).Type()))
	return true
}

// truncExt takes the low bits of an extension from what was extended.
func truncExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	inner := op.Operand(0).Def()
	if inner == nil {
		return false
	}
	to := op.Result(0).Type()
	if inner.Is(arith.TruncI) {
		rw.Replace(op, arith.Cast(rw.Builder, arith.TruncI, inner.Operand(0), to))
		return true
	}
	if !inner.Is(arith.ExtSI) && !inner.Is(arith.ExtUI) {
		return false
	}
	src := inner.Operand(0)
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
	shift := op.Operand(0).Def()
	if shift == nil || !shift.Is(arith.ShRSI) {
		return false
	}
	by, ok := arith.ConstantInt(shift.Operand(1))
	from, to := ir.BitWidth(ir.ElemOf(shift.Result(0).Type())), ir.BitWidth(ir.ElemOf(op.Result(0).Type()))
	if !ok || by != int64(from-to) {
		return false
	}
	v := arith.Binary(rw.Builder, arith.ShRUI, shift.Operand(0), shift.Operand(1))
	rw.Replace(op, arith.Cast(rw.Builder, arith.TruncI, v, op.Result(0).Type()))
	return true
}

// sameExt reports whether both operands of op are extensions of one kind from one
// type, and gives what they extend.
func sameExt(op *ir.Operation) (ext *ir.OpDef, x, y *ir.Value) {
	l, r := op.Operand(0).Def(), op.Operand(1).Def()
	if l == nil || r == nil || l.Def() != r.Def() || !l.Is(arith.ExtSI) && !l.Is(arith.ExtUI) ||
		l.Operand(0).Type() != r.Operand(0).Type() {
		return nil, nil, nil
	}
	return l.Def(), l.Operand(0), r.Operand(0)
}

// compareExt compares for equality before extending.
func compareExt(rw *rewrite.Rewriter, op *ir.Operation) bool {
	pred, _ := op.IntAttr("predicate")
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
	rw.Replace(op, arith.Cast(rw.Builder, ext, arith.Binary(rw.Builder, op.Def(), x, y), op.Result(0).Type()))
	return true
}

// narrowFloat converts an integer to the narrow float at once.
func narrowFloat(rw *rewrite.Rewriter, op *ir.Operation) bool {
	inner := op.Operand(0).Def()
	if inner == nil || !inner.Is(arith.SIToFP) && !inner.Is(arith.UIToFP) || op.Attr("roundingmode") != nil {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, inner.Def(), inner.Operand(0), op.Result(0).Type()))
	return true
}

// negatedOperands is (−x) · (−y) = x · y, and likewise the quotient.
func negatedOperands(rw *rewrite.Rewriter, op *ir.Operation) bool {
	l, r := op.Operand(0).Def(), op.Operand(1).Def()
	if l == nil || r == nil || !l.Is(arith.NegF) || !r.Is(arith.NegF) {
		return false
	}
	rw.Replace(op, arith.Binary(rw.Builder, op.Def(), l.Operand(0), r.Operand(0)))
	return true
}

func bitcastBitcast(rw *rewrite.Rewriter, op *ir.Operation) bool {
	inner := op.Operand(0).Def()
	if inner == nil || !inner.Is(arith.Bitcast) {
		return false
	}
	rw.Replace(op, arith.Cast(rw.Builder, arith.Bitcast, inner.Operand(0), op.Result(0).Type()))
	return true
}

// isNot reports whether v is x xor true, and gives x. Only scalars are looked
// at: a negated mask is often used beside the mask itself.
func isNot(v *ir.Value) (*ir.Value, bool) {
	op := v.Def()
	if op == nil || !op.Is(arith.XorI) || !ir.IsInt(v.Type(), 1) {
		return nil, false
	}
	k, ok := arith.ConstantInt(op.Operand(1))
	return op.Operand(0), ok && k&1 == 1
}

func notCompare(rw *rewrite.Rewriter, op *ir.Operation) bool {
	x, ok := isNot(op.Result(0))
	if !ok || !x.DefIs(arith.CmpI) {
		return false
	}
	cmp := x.Def()
	pred, _ := cmp.IntAttr("predicate")
	rw.Replace(op, arith.Compare(rw.Builder, arith.CmpI, inverse[pred], cmp.Operand(0), cmp.Operand(1)))
	return true
}

func selectNot(rw *rewrite.Rewriter, op *ir.Operation) bool {
	x, ok := isNot(op.Operand(0))
	if !ok {
		return false
	}
	rw.Replace(op, arith.NewSelect(rw.Builder, x, op.Operand(2), op.Operand(1)))
	return true
}

// selectSelect skips a choice that an outer choice by the same condition has
// made already.
func selectSelect(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cond := op.Operand(0)
	for side := 1; side <= 2; side++ {
		inner := op.Operand(side).Def()
		if inner != nil && inner.Is(arith.Select) && inner.Operand(0) == cond {
			op.SetOperand(side, inner.Operand(side))
			rw.Modified(op)
			return true
		}
	}
	return false
}

// selectBit makes a choice between the scalars 1 and 0 the condition's bit. Of
// tensors, masks often stand beside what they choose.
func selectBit(rw *rewrite.Rewriter, op *ir.Operation) bool {
	t, ok := op.Result(0).Type().(*ir.IntegerType)
	yes, yok := arith.ConstantInt(op.Operand(1))
	no, nok := arith.ConstantInt(op.Operand(2))
	if !ok || !yok || !nok {
		return false
	}
	cond := op.Operand(0)
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
