package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

func ttPatterns() []rewrite.Pattern {
	return append(BroadcastPatterns(), []rewrite.Pattern{
		{Name: "load-known-mask", Root: tt.Load, Apply: loadKnownMask},
		{Name: "store-known-mask", Root: tt.Store, Apply: storeKnownMask},
		{Name: "reshape-of", Root: tt.Reshape, Apply: reshapeOf},
		{Name: "trans-trans", Root: tt.Trans, Apply: transTrans},
	}...)
}

// BroadcastPatterns bring splats, expansions and broadcasts of one another into
// canonical form.
func BroadcastPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "expand-splat", Root: tt.ExpandDims, Apply: expandDims},
		{Name: "broadcast-of", Root: tt.Broadcast, Apply: broadcastOf},
	}
}

// knownMask is the constant value of a mask of a block, if it is one. Triton's
// passes leave the mask of a scalar as it is.
func knownMask(mask *ir.Value) (value, known bool) {
	if mask == nil || ir.ElemOf(mask.Type()) == mask.Type() {
		return false, false
	}
	v, ok := arith.ConstantInt(mask)
	return v&1 == 1, ok
}

// loadKnownMask drops a mask that is true everywhere; a load whose mask is
// false everywhere is its other value, if it has one.
func loadKnownMask(rw *rewrite.Rewriter, op *ir.Operation) bool {
	on, known := knownMask(op.GroupOne(1))
	if !known {
		return false
	}
	if on {
		for op.NumOperands() > 1 {
			op.EraseOperand(op.NumOperands() - 1)
		}
		op.SetSegments([]int32{1, 0, 0})
		rw.Modified(op)
		return true
	}
	if other := op.GroupOne(2); other != nil {
		rw.Replace(op, other)
		return true
	}
	return false
}

func storeKnownMask(rw *rewrite.Rewriter, op *ir.Operation) bool {
	on, known := knownMask(op.GroupOne(2))
	switch {
	case !known:
		return false
	case on:
		op.EraseOperand(2)
		rw.Modified(op)
	default:
		rw.Erase(op)
	}
	return true
}

// expandDims: of a splat it is a splat; it moves below a broadcast.
func expandDims(rw *rewrite.Rewriter, op *ir.Operation) bool {
	src := op.Operand(0).Def()
	if src == nil {
		return false
	}
	axis, _ := op.IntAttr("axis")
	to := op.Result(0).Type().(*ir.TensorType)
	switch {
	case src.Is(tt.Splat):
		rw.Replace(op, tt.Unary(rw.Builder, tt.Splat, src.Operand(0), to))
		return true
	case src.Is(tt.Broadcast):
		narrow := src.Operand(0).Type().(*ir.TensorType)
		shape := slices.Insert(slices.Clone(narrow.Shape), int(axis), 1)
		x := rw.Create(tt.ExpandDims, ir.State{
			Operands: []*ir.Value{src.Operand(0)}, Attrs: op.Attrs(),
			Types: []ir.Type{rw.Context().Tensor(shape, narrow.Elem, to.Encoding)},
		}).Result(0)
		rw.Replace(op, tt.Unary(rw.Builder, tt.Broadcast, x, to))
		return true
	}
	return false
}

func broadcastOf(rw *rewrite.Rewriter, op *ir.Operation) bool {
	src := op.Operand(0).Def()
	if src == nil || !src.Is(tt.Splat) && !src.Is(tt.Broadcast) {
		return false
	}
	rw.Replace(op, tt.Unary(rw.Builder, src.Def(), src.Operand(0), op.Result(0).Type()))
	return true
}

func reshapeOf(rw *rewrite.Rewriter, op *ir.Operation) bool {
	src := op.Operand(0).Def()
	switch {
	case src == nil || op.HasAttr("efficient_layout"):
		return false
	case src.Is(tt.Splat):
		rw.Replace(op, tt.Unary(rw.Builder, tt.Splat, src.Operand(0), op.Result(0).Type()))
		return true
	case src.Is(tt.Reshape) && !src.HasAttr("efficient_layout"):
		attrs := op.Attrs()
		if src.HasAttr("allow_reorder") && !op.HasAttr("allow_reorder") {
			attrs = append(slices.Clone(attrs), ir.NamedAttr{Name: "allow_reorder", Attr: rw.Context().Unit()})
		}
		rw.Replace(op, rw.Create(tt.Reshape, ir.State{
			Operands: []*ir.Value{src.Operand(0)}, Types: []ir.Type{op.Result(0).Type()}, Attrs: attrs,
		}).Result(0))
		return true
	}
	return false
}

// transTrans composes two permutations.
func transTrans(rw *rewrite.Rewriter, op *ir.Operation) bool {
	src := op.Operand(0).Def()
	if src == nil || !src.Is(tt.Trans) {
		return false
	}
	outer, inner := op.Attr("order").(*ir.DenseArrayAttr).Values, src.Attr("order").(*ir.DenseArrayAttr).Values
	order := make([]int64, len(outer))
	for i, d := range outer {
		order[i] = inner[d]
	}
	rw.Replace(op, rw.Create(tt.Trans, ir.State{
		Operands: []*ir.Value{src.Operand(0)}, Types: []ir.Type{op.Result(0).Type()},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: rw.Context().I32Array(order...)}},
	}).Result(0))
	return true
}
