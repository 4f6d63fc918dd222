package ttir

import (
	"math"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/std"
)

// Combine joins neighbouring operations that Triton has a better single form
// for: a sum into the dot before it, a choice into the load's other value, two
// pointer offsets into one.
var Combine = &pass.Pass{
	Name:    "triton-combine",
	Doc:     "join operations that have one better form",
	Example: combineExample,
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

// isZero reports whether v is the constant 0 (+0.0 for floats), or a splat of it.
func isZero(v *ir.Value) bool {
	switch a := arith.ConstantValue(v).(type) {
	case *ir.IntegerAttr:
		return a.Value == 0
	case *ir.FloatAttr:
		return a.Bits == 0
	case *ir.DenseElementsAttr:
		return a.IsSplat() && a.Values[0] == 0
	}
	return false
}

// addOfDot: c + dot(a, b, 0) is dot(a, b, c), where nobody else uses the dot. Of
// two dots the second takes the first.
func addOfDot(rw *rewrite.Rewriter, op *ir.Operation) bool {
	at := 1
	if !op.Operand(1).DefIs(tt.Dot) {
		at = 0
	}
	dot, c := op.Operand(at).Def(), op.Operand(1-at)
	if dot == nil || !dot.Is(tt.Dot) || !dot.Result(0).HasOneUse() || !isZero(dot.Operand(2)) {
		return false
	}
	if n, _ := dot.IntAttr("maxNumImpreciseAcc"); n != 0 && op.Is(arith.AddF) {
		return false
	}
	d := rw.Create(tt.Dot, ir.State{
		Operands: []*ir.Value{dot.Operand(0), dot.Operand(1), c}, Types: []ir.Type{op.Result(0).Type()}, Attrs: dot.Attrs(),
	})
	rw.Replace(op, d.Result(0))
	return true
}

// constantOffset is the value of an offset that is one constant everywhere.
func constantOffset(v *ir.Value) (int64, bool) {
	if v.DefIs(tt.Splat) {
		v = v.Def().Operand(0)
	}
	return arith.ConstantInt(v)
}

// addPtrAddPtr: (p + i) + j is p + (i + j) where i + j cannot wrap: both are
// 64-bit, or both are constants whose sum fits.
func addPtrAddPtr(rw *rewrite.Rewriter, op *ir.Operation) bool {
	inner := op.Operand(0).Def()
	if inner == nil || !inner.Is(tt.AddPtr) {
		return false
	}
	i, j := inner.Operand(1), op.Operand(1)
	if i.Type() != j.Type() {
		return false
	}
	if w := ir.BitWidth(ir.ElemOf(i.Type())); w < 64 {
		a, ok := constantOffset(i)
		b, ok2 := constantOffset(j)
		lim := int64(math.MaxInt64) >> (64 - w)
		if !ok || !ok2 || a+b > lim || a+b < -lim-1 {
			return false
		}
	}
	sum := arith.Binary(rw.Builder, arith.AddI, i, j)
	n := tt.NewAddPtr(rw.Builder, inner.Operand(0), sum)
	for _, name := range []string{"tt.divisibility", "tt.contiguity", "tt.constancy"} {
		if a := op.Attr(name); a != nil {
			n.Def().SetAttr(name, a)
		}
	}
	rw.Replace(op, n)
	return true
}

// selectOfLoad: select(c, load(p, splat c), o) is a load whose other value is o.
func selectOfLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	load := op.Operand(1).Def()
	if load == nil || !load.Is(tt.Load) || !load.Result(0).HasOneUse() {
		return false
	}
	mask := load.GroupOne(1)
	if mask == nil || !mask.DefIs(tt.Splat) || mask.Def().Operand(0) != op.Operand(0) {
		return false
	}
	n := rw.Create(tt.Load, ir.State{
		Operands: []*ir.Value{load.Operand(0), mask, op.Operand(2)}, Segments: []int32{1, 1, 1},
		Types: []ir.Type{op.Result(0).Type()}, Attrs: load.Attrs(),
	})
	rw.Replace(op, n.Result(0))
	return true
}

// minDot is the smallest dimension at which a sum of products becomes a dot.
const minDot = 16

// sumOfProducts: sum over k of a[m, k, 1] · b[1, k, n] is dot(a, b).
func sumOfProducts(rw *rewrite.Rewriter, op *ir.Operation) bool {
	axis, _ := op.IntAttr("axis")
	if op.NumOperands() != 1 || axis != 1 || !isFloatSum(op) {
		return false
	}
	mul := op.Operand(0).Def()
	if mul == nil || !mul.Is(arith.MulF) || !mul.Result(0).HasOneUse() {
		return false
	}
	a, b := expanded(mul.Operand(0), 2), expanded(mul.Operand(1), 0)
	if a == nil || b == nil {
		return false
	}
	as, bs := ir.ShapeOf(a.Type()), ir.ShapeOf(b.Type())
	if len(as) != 2 || len(bs) != 2 || as[0] < minDot || as[1] < minDot || bs[1] < minDot {
		return false
	}
	t := op.Result(0).Type()
	zero := rw.Constant(op, arith.FloatValue(rw.Context(), t, 0), t)
	d := rw.Create(tt.Dot, ir.State{
		Operands: []*ir.Value{a, b, zero}, Types: []ir.Type{t},
		Attrs: []ir.NamedAttr{{Name: "inputPrecision", Attr: rw.Context().I32Attr(tt.PrecisionTF32)}},
	})
	rw.Replace(op, d.Result(0))
	return true
}

// expanded gives x where v is broadcast(expand_dims(x, axis)) of rank 3.
func expanded(v *ir.Value, axis int64) *ir.Value {
	if !v.DefIs(tt.Broadcast) || len(ir.ShapeOf(v.Type())) != 3 {
		return nil
	}
	e := v.Def().Operand(0)
	if !e.DefIs(tt.ExpandDims) {
		return nil
	}
	if at, _ := e.Def().IntAttr("axis"); at != axis {
		return nil
	}
	return e.Def().Operand(0)
}

// isFloatSum reports whether a reduction's region is arith.addf of its two arguments.
func isFloatSum(op *ir.Operation) bool {
	body := op.Body()
	add := body.First()
	if !add.Is(arith.AddF) || add.Next() != body.Terminator() || body.Terminator().Operand(0) != add.Result(0) {
		return false
	}
	x, y := add.Operand(0), add.Operand(1)
	return x != y && x.IsArgument() && y.IsArgument() && x.Block() == body && y.Block() == body
}

// reshapeAnyOrder: the order of elements does not matter to a reduction or
// histogram over all of them, unless it has something else for each element, such
// as its index or whether it counts. (Triton 3.6 overlooks that: there the index
// that a reduction of a reshaped block finds may be another element's.)
func reshapeAnyOrder(rw *rewrite.Rewriter, op *ir.Operation) bool {
	if op.HasAttr("allow_reorder") || len(ir.ShapeOf(op.Result(0).Type())) != 1 || !op.HasUses() {
		return false
	}
	for u := range op.Result(0).Users() {
		if !u.Is(tt.Reduce) && !u.Is(tt.Histogram) || u.NumOperands() > 1 {
			return false
		}
	}
	op.SetAttr("allow_reorder", rw.Context().Unit())
	rw.Modified(op)
	return true
}

// reshapeOfDescriptorLoad lets a descriptor load give the lower rank itself
// when the reshape only drops leading dimensions of size 1.
func reshapeOfDescriptorLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	load := op.Operand(0).Def()
	if load == nil || !load.Is(tt.DescriptorLoad) || !load.Result(0).HasOneUse() {
		return false
	}
	from, to := ir.ShapeOf(load.Result(0).Type()), ir.ShapeOf(op.Result(0).Type())
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
		Operands: load.OperandValues(), Types: []ir.Type{op.Result(0).Type()}, Attrs: load.Attrs(),
	})
	rw.Replace(op, n.Result(0))
	return true
}
