package ttir

import (
	"math"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
)

// Combine joins neighbouring operations that Triton has a better single form
// for: a sum into the dot before it, a choice into the load's other value, two
// pointer offsets into one.
var Combine = &pass.Pass{
	Name:    "triton-combine",
	Doc:     "combine operations into cheaper ones",
	Example: combineExample,
	Before:  []*pass.Fact{facts.NoLayouts},
	Run: func(r *pass.Run) error {
		rewrite.Greedy(r.Module, combineSet, rewrite.Options{BottomUp: true, Count: func(name string) { r.Count(name, 1) }})
		for _, region := range std.Branching(r.Module) {
			if std.JoinEqualBlocks(region) {
				r.Count("equal blocks", 1)
			}
		}
		return nil
	},
}

var combineSet = rewrite.NewSet([]rewrite.Pattern{
	{Name: "add-of-dot", Root: arith.AddI, Apply: addOfDot},
	{Name: "add-of-dot", Root: arith.AddF, Apply: addOfDot},
	{Name: "addptr-addptr", Root: tt.AddPtr, Apply: addPtrAddPtr},
	{Name: "select-of-load", Root: arith.Select, Apply: selectOfLoad},
	{Name: "sum-of-products", Root: tt.Reduce, Apply: sumOfProducts},
	{Name: "reshape-any-order", Root: tt.Reshape, Apply: reshapeAnyOrder},
	{Name: "reshape-of-descriptor-load", Root: tt.Reshape, Apply: reshapeOfDescriptorLoad},
})

// addOfDot: c + dot(a, b, 0) is dot(a, b, c), where nobody else uses the dot. Of
// two dots the second takes the first.
func addOfDot(rw *rewrite.Rewriter, op *ir.Operation) bool {
	sum := arith.AsBinary(op)
	def, c := sum.Rhs().Def(), sum.Lhs()
	if !sum.Rhs().DefIs(tt.Dot) {
		def, c = sum.Lhs().Def(), sum.Rhs()
	}
	if def == nil || !def.Is(tt.Dot) || !def.OneResult().HasOneUse() {
		return false
	}
	dot := tt.AsDot(def)
	if !arith.IsZero(dot.C()) || dot.MaxNumImpreciseAcc() != 0 && op.Is(arith.AddF) {
		return false
	}
	d := rw.Create(tt.Dot, ir.State{
		Operands: []*ir.Value{dot.A(), dot.B(), c}, Types: []ir.Type{op.OneResult().Type()}, Attrs: def.Attrs(),
	})
	rw.Replace(op, d.OneResult())
	return true
}

// constantOffset is the value of an offset that is one constant everywhere.
func constantOffset(v *ir.Value) (int64, bool) {
	if v.DefIs(tt.Splat) {
		v = tt.AsSplat(v.Def()).Src()
	}
	return arith.ConstantInt(v)
}

// addPtrAddPtr: (p + i) + j is p + (i + j) where i + j cannot wrap. Triton joins the
// last pointer of a chain first, one step for each pointer before it; where many of
// these have uses of their own, they are joined first here, so that each takes one step.
func addPtrAddPtr(rw *rewrite.Rewriter, op *ir.Operation) bool {
	outer := tt.AsAddPtr(op)
	if !offsetsJoin(outer) {
		return false
	}
	inner := tt.AsAddPtr(outer.Ptr().Def())
	if manyShared(outer) {
		rw.First(op)
		rw.First(inner.Op)
		return false
	}
	i, j := inner.Offset(), outer.Offset()
	sum := arith.Binary(rw.Builder, arith.AddI, i, j)
	n := tt.NewAddPtr(rw.Builder, inner.Ptr(), sum)
	for _, name := range []string{"tt.divisibility", "tt.contiguity", "tt.constancy"} {
		if a := op.Attr(name); a != nil {
			n.Def().SetAttr(name, a)
		}
	}
	rw.Replace(op, n)
	return true
}

// offsetsJoin reports whether outer's pointer is a sum, too, and the sum of both offsets
// cannot wrap: they are of 64 bits, or constants whose sum fits.
func offsetsJoin(outer tt.AddPtrOp) bool {
	if !outer.Ptr().DefIs(tt.AddPtr) {
		return false
	}
	i, j := tt.AsAddPtr(outer.Ptr().Def()).Offset(), outer.Offset()
	if i.Type() != j.Type() {
		return false
	}
	w := ir.BitWidth(ir.ElemOf(i.Type()))
	if w >= 64 {
		return true
	}
	a, ok := constantOffset(i)
	b, ok2 := constantOffset(j)
	lim := int64(math.MaxInt64) >> (64 - w)
	return ok && ok2 && a+b <= lim && a+b >= -lim-1
}

// manyShared reports whether more than maxShared of the pointers that p would be joined
// with, of the nearest ones, have other uses.
func manyShared(p tt.AddPtrOp) bool {
	const maxShared, nearest = 8, 32
	shared := 0
	for range nearest {
		if !offsetsJoin(p) {
			return false
		}
		if !p.Ptr().HasOneUse() {
			shared++
		}
		if shared > maxShared {
			return true
		}
		p = tt.AsAddPtr(p.Ptr().Def())
	}
	return false
}

// selectOfLoad: select(c, load(p, splat c), o) is a load whose other value is o.
func selectOfLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	choice := arith.AsSelect(op)
	loaded := choice.TrueValue()
	if !loaded.DefIs(tt.Load) || !loaded.HasOneUse() {
		return false
	}
	load := tt.AsLoad(loaded.Def())
	mask := load.Mask()
	if mask == nil || !mask.DefIs(tt.Splat) || tt.AsSplat(mask.Def()).Src() != choice.Condition() {
		return false
	}
	n := rw.Create(tt.Load, ir.State{
		Operands: []*ir.Value{load.Ptr(), mask, choice.FalseValue()}, Segments: []int32{1, 1, 1},
		Types: []ir.Type{choice.Result().Type()}, Attrs: load.Op.Attrs(),
	})
	rw.Replace(op, n.OneResult())
	return true
}

// minDot is the smallest dimension at which a sum of products becomes a dot.
const minDot = 16

// sumOfProducts: sum over k of a[m, k, 1] · b[1, k, n] is dot(a, b).
func sumOfProducts(rw *rewrite.Rewriter, op *ir.Operation) bool {
	sum := tt.AsReduce(op)
	if len(sum.Srcs()) != 1 || sum.Axis() != 1 || !isFloatSum(op) {
		return false
	}
	product := sum.Srcs()[0]
	if !product.DefIs(arith.MulF) || !product.HasOneUse() {
		return false
	}
	mul := arith.AsMulF(product.Def())
	a, b := expanded(mul.Lhs(), 2), expanded(mul.Rhs(), 0)
	if a == nil || b == nil {
		return false
	}
	as, bs := ir.ShapeOf(a.Type()), ir.ShapeOf(b.Type())
	if len(as) != 2 || len(bs) != 2 || as[0] < minDot || as[1] < minDot || bs[1] < minDot {
		return false
	}
	t := op.OneResult().Type()
	zero := rw.Constant(op, arith.FloatValue(rw.Context(), t, 0), t)
	d := rw.Create(tt.Dot, ir.State{
		Operands: []*ir.Value{a, b, zero}, Types: []ir.Type{t},
		Attrs: []ir.NamedAttr{{Name: "inputPrecision", Attr: rw.Context().I32Attr(tt.PrecisionTF32)}},
	})
	rw.Replace(op, d.OneResult())
	return true
}

// expanded gives x where v is broadcast(expand_dims(x, axis)) of rank 3.
func expanded(v *ir.Value, axis int64) *ir.Value {
	if !v.DefIs(tt.Broadcast) || len(ir.ShapeOf(v.Type())) != 3 {
		return nil
	}
	src := tt.AsBroadcast(v.Def()).Src()
	if !src.DefIs(tt.ExpandDims) {
		return nil
	}
	e := tt.AsExpandDims(src.Def())
	if e.Axis() != axis {
		return nil
	}
	return e.Src()
}

// isFloatSum reports whether a reduction's region is arith.addf of its two arguments.
func isFloatSum(op *ir.Operation) bool {
	body := op.Body()
	add := body.First()
	if !add.Is(arith.AddF) || add.Next() != body.Terminator() || tt.AsReduceReturn(body.Terminator()).ResultAt(0) != add.OneResult() {
		return false
	}
	x, y := arith.AsAddF(add).Lhs(), arith.AsAddF(add).Rhs()
	return x != y && x.IsArgument() && y.IsArgument() && x.Block() == body && y.Block() == body
}

// reshapeAnyOrder: the order of elements does not matter to a reduction or
// histogram over all of them, unless it has something else for each element, such
// as its index or whether it counts. (Triton 3.6 overlooks that: there the index
// that a reduction of a reshaped block finds may be another element's.)
func reshapeAnyOrder(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if tt.AsReshape(op).AllowReorder() || len(ir.ShapeOf(op.OneResult().Type())) != 1 || !op.HasUses() {
		return false
	}
	for u := range op.OneResult().Users() {
		if !u.Is(tt.Reduce) && !u.Is(tt.Histogram) || u.NumOperands() > 1 {
			return false
		}
	}
	tt.AsReshape(op).SetAllowReorder(true)
	rw.Modified(op)
	return true
}

// reshapeOfDescriptorLoad lets a descriptor load give the lower rank itself
// when the reshape only drops leading dimensions of size 1.
func reshapeOfDescriptorLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	load := tt.AsReshape(op).Src().Def()
	if load == nil || !load.Is(tt.DescriptorLoad) || !load.OneResult().HasOneUse() {
		return false
	}
	from, to := ir.ShapeOf(load.OneResult().Type()), ir.ShapeOf(op.OneResult().Type())
	lead := len(from) - len(to)
	if lead <= 0 {
		return false
	}
	for i, d := range from {
		if i < lead && d != 1 || i >= lead && d != to[i-lead] {
			return false
		}
	}
	n := rw.Create(tt.DescriptorLoad, ir.State{
		Operands: load.OperandValues(), Types: []ir.Type{op.OneResult().Type()}, Attrs: load.Attrs(),
	})
	rw.Replace(op, n.OneResult())
	return true
}
