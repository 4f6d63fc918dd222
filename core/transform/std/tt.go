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
	load := tt.AsLoad(op)
	on, known := knownMask(load.Mask())
	if !known {
		return false
	}
	if on {
		load.SetOther(nil)
		load.SetMask(nil)
		rw.Modified(op)
		return true
	}
	if other := load.Other(); other != nil {
		rw.Replace(op, other)
		return true
	}
	return false
}

func storeKnownMask(rw *rewrite.Rewriter, op *ir.Operation) bool {
	store := tt.AsStore(op)
	on, known := knownMask(store.Mask())
	switch {
	case !known:
		return false
	case on:
		store.SetMask(nil)
		rw.Modified(op)
	default:
		rw.Erase(op)
	}
	return true
}

// expandDims: of a splat it is a splat; it moves below a broadcast.
func expandDims(rw *rewrite.Rewriter, op *ir.Operation) bool {
	expand := tt.AsExpandDims(op)
	src := expand.Src().Def()
	if src == nil {
		return false
	}
	to := expand.Result().Type().(*ir.TensorType)
	switch {
	case src.Is(tt.Splat):
		rw.Replace(op, tt.Unary(rw.Builder, tt.Splat, tt.AsSplat(src).Src(), to))
		return true
	case src.Is(tt.Broadcast):
		x := tt.AsBroadcast(src).Src()
		narrow := x.Type().(*ir.TensorType)
		shape := slices.Insert(slices.Clone(narrow.Shape), int(expand.Axis()), 1)
		x = rw.Create(tt.ExpandDims, ir.State{
			Operands: []*ir.Value{x}, Attrs: op.Attrs(),
			Types: []ir.Type{rw.Context().Tensor(shape, narrow.Elem, to.Encoding)},
		}).OneResult()
		rw.Replace(op, tt.Unary(rw.Builder, tt.Broadcast, x, to))
		return true
	}
	return false
}

func broadcastOf(rw *rewrite.Rewriter, op *ir.Operation) bool {
	spread := tt.AsBroadcast(op)
	src := spread.Src().Def()
	if src == nil || !src.Is(tt.Splat) && !src.Is(tt.Broadcast) {
		return false
	}
	rw.Replace(op, tt.Unary(rw.Builder, src.Def(), tt.AsUnary(src).Src(), spread.Result().Type()))
	return true
}

func reshapeOf(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := tt.AsReshape(op)
	src := outer.Src().Def()
	switch {
	case src == nil || outer.EfficientLayout():
		return false
	case src.Is(tt.Splat):
		rw.Replace(op, tt.Unary(rw.Builder, tt.Splat, tt.AsSplat(src).Src(), outer.Result().Type()))
		return true
	case src.Is(tt.Reshape) && !tt.AsReshape(src).EfficientLayout():
		inner := tt.AsReshape(src)
		n := tt.AsReshape(rw.Create(tt.Reshape, ir.State{
			Operands: []*ir.Value{inner.Src()}, Types: []ir.Type{outer.Result().Type()}, Attrs: op.Attrs(),
		}))
		n.SetAllowReorder(inner.AllowReorder() || outer.AllowReorder())
		rw.Replace(op, n.Result())
		return true
	}
	return false
}

// transTrans composes two permutations.
func transTrans(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := tt.AsTrans(op)
	if !outer.Src().DefIs(tt.Trans) {
		return false
	}
	inner := tt.AsTrans(outer.Src().Def())
	order := make([]int64, len(outer.Order()))
	for i, d := range outer.Order() {
		order[i] = inner.Order()[d]
	}
	rw.Replace(op, rw.Create(tt.Trans, ir.State{
		Operands: []*ir.Value{inner.Src()}, Types: []ir.Type{outer.Result().Type()},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: rw.Context().I32Array(order...)}},
	}).OneResult())
	return true
}
