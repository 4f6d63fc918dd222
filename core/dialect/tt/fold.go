package tt

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

func value(v *ir.Value) []ir.FoldResult { return []ir.FoldResult{{Value: v}} }

// resplat is the splat constant a as a splat of op's result type; nil when a is
// not a splat.
func resplat(op *ir.Operation, a ir.Attribute) []ir.FoldResult {
	t, isTensor := op.OneResult().Type().(*ir.TensorType)
	if !isTensor {
		return nil
	}
	var bits uint64
	switch a := a.(type) {
	case *ir.DenseElementsAttr:
		if !a.IsSplat() {
			return nil
		}
		bits = a.Values[0]
	case *ir.IntegerAttr:
		bits = uint64(a.Value)
		if w := ir.BitWidth(a.Type); w > 0 && w < 64 {
			bits &= 1<<w - 1
		}
	case *ir.FloatAttr:
		bits = a.Bits
	default:
		return nil
	}
	return []ir.FoldResult{{Attr: op.Context().DenseSplat(t, bits)}}
}

// foldSameType is for operations that change nothing when source and result
// have one type.
func foldSameType(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	if v := AsUnary(op); v.Src().Type() == v.Result().Type() {
		return value(v.Src())
	}
	return nil
}

// foldShape is for operations that only move elements: without a change of type nothing
// changes, and a splat constant stays one.
func foldShape(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	if r := foldSameType(op, consts); r != nil {
		return r
	}
	return resplat(op, consts[0])
}

func foldSplat(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	return resplat(op, consts[0])
}

func foldTrans(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	if slices.IsSorted(AsTrans(op).Order()) {
		if r := foldSameType(op, consts); r != nil {
			return r
		}
	}
	return resplat(op, consts[0])
}

func foldReshape(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	if !AsReshape(op).AllowReorder() {
		if r := foldSameType(op, consts); r != nil {
			return r
		}
	}
	return resplat(op, consts[0])
}

func foldUnsplat(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	a, ok := consts[0].(*ir.DenseElementsAttr)
	if !ok || !a.IsSplat() {
		return nil
	}
	c := op.Context()
	switch t := AsUnsplat(op).Result().Type().(type) {
	case *ir.IntegerType:
		return []ir.FoldResult{{Attr: c.IntAttr(t, int64(a.Values[0]))}}
	case *ir.FloatType:
		return []ir.FoldResult{{Attr: c.FloatBits(t, a.Values[0])}}
	}
	return nil
}

// foldMakeRange: a range of one number is a constant.
func foldMakeRange(op *ir.Operation, _ []ir.Attribute) []ir.FoldResult {
	v := AsMakeRange(op)
	if v.End() != v.Start()+1 {
		return nil
	}
	return []ir.FoldResult{{Attr: op.Context().DenseSplat(v.Result().Type(), uint64(uint32(v.Start())))}}
}

// isZero reports whether a is the integer 0 or a splat of it.
func isZero(a ir.Attribute) bool {
	switch a := a.(type) {
	case *ir.IntegerAttr:
		return a.Value == 0
	case *ir.DenseElementsAttr:
		return a.IsSplat() && a.Values[0] == 0
	}
	return false
}

func foldAddPtr(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	if isZero(consts[1]) {
		return value(AsAddPtr(op).Ptr())
	}
	return nil
}

func foldAdvance(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	for _, a := range consts[1:] {
		if a == nil || !isZero(a) {
			return nil
		}
	}
	return value(AsAdvance(op).Ptr())
}

// foldFpToFp: only zeros, which every format has, fold.
func foldFpToFp(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
	if r := foldSameType(op, consts); r != nil {
		return r
	}
	cast := AsFpToFp(op)
	from := ir.ElemOf(cast.Src().Type()).(*ir.FloatType)
	to := ir.ElemOf(cast.Result().Type()).(*ir.FloatType)
	var bits uint64
	switch a := consts[0].(type) {
	case *ir.FloatAttr:
		bits = a.Bits
	case *ir.DenseElementsAttr:
		if !a.IsSplat() {
			return nil
		}
		bits = a.Values[0]
	default:
		return nil
	}
	if v := ir.BitsToFloat(from.Kind, bits); v == 0 {
		out := ir.FloatToBits(to.Kind, v)
		if t, ok := cast.Result().Type().(*ir.TensorType); ok {
			return []ir.FoldResult{{Attr: op.Context().DenseSplat(t, out)}}
		}
		return []ir.FoldResult{{Attr: op.Context().FloatBits(to, out)}}
	}
	return nil
}
