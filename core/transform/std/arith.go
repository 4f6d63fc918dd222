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
		{Name: "add-add", Root: arith.AddI, Apply: reassociate},
		{Name: "sub-add", Root: arith.SubI, Apply: reassociate},
		{Name: "mul-mul", Root: arith.MulI, Apply: mulMul},
		{Name: "ext-ext", Root: arith.ExtSI, Apply: extExt},
		{Name: "ext-ext", Root: arith.ExtUI, Apply: extExt},
		{Name: "trunc-ext", Root: arith.TruncI, Apply: truncExt},
		{Name: "bitcast-bitcast", Root: arith.Bitcast, Apply: bitcastBitcast},
		{Name: "not-compare", Root: arith.XorI, Apply: notCompare},
		{Name: "select-not", Root: arith.Select, Apply: selectNot},
		{Name: "select-select", Root: arith.Select, Apply: selectSelect},
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

// linear reads v as x + c for a constant c; ok only if v is such a sum.
func linear(v *ir.Value) (x *ir.Value, c int64, ok bool) {
	op := v.Def()
	if op == nil || !op.Is(arith.AddI) && !op.Is(arith.SubI) {
		return nil, 0, false
	}
	k, isConst := arith.ConstantInt(op.Operand(1))
	if !isConst {
		return nil, 0, false
	}
	if op.Is(arith.SubI) {
		k = -k
	}
	return op.Operand(0), k, true
}

// reassociate joins two constants of nested sums and differences:
// (x ± a) ± b becomes x + (±a ±b).
func reassociate(rw *rewrite.Rewriter, op *ir.Operation) bool {
	b, ok := arith.ConstantInt(op.Operand(1))
	if !ok {
		return false
	}
	x, a, ok := linear(op.Operand(0))
	if !ok {
		return false
	}
	if op.Is(arith.SubI) {
		b = -b
	}
	t := op.Result(0).Type()
	sum := rw.Constant(op, arith.IntValue(op.Context(), t, a+b), t)
	rw.Replace(op, arith.Binary(rw.Builder, arith.AddI, x, sum))
	return true
}

func mulMul(rw *rewrite.Rewriter, op *ir.Operation) bool {
	b, ok := arith.ConstantInt(op.Operand(1))
	inner := op.Operand(0).Def()
	if !ok || inner == nil || !inner.Is(arith.MulI) {
		return false
	}
	a, ok := arith.ConstantInt(inner.Operand(1))
	if !ok {
		return false
	}
	t := op.Result(0).Type()
	product := rw.Constant(op, arith.IntValue(op.Context(), t, a*b), t)
	rw.Replace(op, arith.Binary(rw.Builder, arith.MulI, inner.Operand(0), product))
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
