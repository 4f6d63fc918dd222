package masks

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Taken reports whether op takes a mask.
func Taken(op *ir.Operation) bool {
	switch op.Def() {
	case tt.Load, tt.Store, tt.AtomicRMW, ttg.AsyncCopy:
		return true
	}
	return false
}

// Of is the mask of op; nil where it has none, or takes none.
func Of(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case tt.Load:
		return tt.AsLoad(op).Mask()
	case tt.Store:
		return tt.AsStore(op).Mask()
	case tt.AtomicRMW:
		return tt.AsAtomicRMW(op).Mask()
	case ttg.AsyncCopy:
		return ttg.AsAsyncCopy(op).Mask()
	}
	return nil
}

// Set gives op, which takes a mask, that one.
func Set(op *ir.Operation, mask *ir.Value) {
	switch op.Def() {
	case tt.Load:
		tt.AsLoad(op).SetMask(mask)
	case tt.Store:
		tt.AsStore(op).SetMask(mask)
	case tt.AtomicRMW:
		tt.AsAtomicRMW(op).SetMask(mask)
	case ttg.AsyncCopy:
		ttg.AsAsyncCopy(op).SetMask(mask)
	default:
		panic("BUG: ttgir: " + op.Name() + " takes no mask")
	}
}

// pointer is what op, which takes a mask, accesses memory through.
func pointer(op *ir.Operation) *ir.Value {
	if op.Is(ttg.AsyncCopy) {
		return ttg.AsAsyncCopy(op).Src()
	}
	return tt.Address(op)
}

// Restrict lets op, which takes a mask, happen only where pred, a scalar, is true
// as well.
func Restrict(b *ir.Builder, op *ir.Operation, pred *ir.Value) {
	b.SetBefore(op)
	all := maskOf(b, pointer(op).Type(), pred)
	if mask := Of(op); mask != nil {
		all = arith.Binary(b, arith.AndI, all, mask)
	}
	Set(op, all)
}

// maskOf is pred for every element of t, a tensor of pointers, or pred itself
// for a single pointer.
func maskOf(b *ir.Builder, t ir.Type, pred *ir.Value) *ir.Value {
	p, ok := t.(*ir.TensorType)
	if !ok {
		return pred
	}
	c := b.Context()
	return tt.Unary(b, tt.Splat, pred, c.Tensor(p.Shape, c.I1(), p.Encoding))
}
