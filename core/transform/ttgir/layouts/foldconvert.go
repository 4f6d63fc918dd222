package layouts

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// ConvertPatterns are the canonical forms of ttg.convert_layout, for use with
// std.NewCanonicalize too: no conversions to what the operand has already, of
// conversions, of what can be made in any layout for nothing, and for
// operations that take their operand in any layout.
func ConvertPatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "convert-of-any-layout", Root: ttg.ConvertLayout, Apply: foldConvert},
		{Name: "reorder-of-convert", Root: tt.Reshape, Apply: reshapeOfConvert},
		{Name: "histogram-of-convert", Root: tt.Histogram, Apply: histogramOfConvert},
		{Name: "gather-of-convert", Root: tt.Gather, Apply: gatherOfConvert},
		{Name: "alloc-of-convert", Root: ttg.LocalAlloc, Apply: allocOfConvert},
		{Name: "store-of-convert", Root: ttg.LocalStore, Apply: storeOfConvert},
		{Name: "alloc-of-load", Root: ttg.LocalAlloc, Apply: allocOfLoad},
		{Name: "trans-of-convert", Root: tt.Trans, Apply: transOfConvert},
		{Name: "trans-in-place", Root: tt.Trans, Apply: transInPlace},
	}
}

// allocOfLoad: what is loaded from a buffer that never changes is in that buffer.
func allocOfLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	src := ttg.AsLocalAlloc(op).Src()
	if src == nil || !src.DefIs(ttg.LocalLoad) {
		return false
	}
	buffer := ttg.AsLocalLoad(src.Def()).Src()
	if buffer.Type() != op.OneResult().Type() || sharedmem.IsMutable(buffer) {
		return false
	}
	rw.Replace(op, buffer)
	return true
}

// transOfConvert: a conversion to another name of the same layout does nothing.
func transOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := tt.AsTrans(op)
	if !v.Src().DefIs(ttg.ConvertLayout) {
		return false
	}
	from, to := tensors.Type(ttg.AsConvertLayout(v.Src().Def()).Src()), tensors.Type(v.Src())
	return encoding.Same(to.Shape, from.Encoding, to.Encoding) && dropConvert(rw, v.SrcUse())
}

// transInPlace: without a change of order only the layout changes.
func transInPlace(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := tt.AsTrans(op)
	from, to := tensors.Type(v.Src()), tensors.Type(v.Result())
	if !slices.IsSorted(v.Order()) || from.Encoding == nil || to.Encoding == nil || from == to {
		return false
	}
	rw.Replace(op, rw.Op(ttg.ConvertLayout, []*ir.Value{v.Src()}, to).OneResult())
	return true
}

// allocOfConvert: shared memory is filled from any layout in which CTAs have the same
// parts.
func allocOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	src := ttg.AsLocalAlloc(op).Src()
	if src == nil || !convertsWithin(src) {
		return false
	}
	ttg.AsLocalAlloc(op).SetSrc(ttg.AsConvertLayout(src.Def()).Src())
	rw.Modified(op)
	if rewrite.IsDead(src.Def()) {
		rw.Erase(src.Def())
	}
	return true
}

func storeOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	return convertsWithin(ttg.AsLocalStore(op).Src()) && dropConvert(rw, ttg.AsLocalStore(op).SrcUse())
}

// convertsWithin reports whether v is converted from a layout in which the CTAs of a
// cluster have the same parts.
func convertsWithin(v *ir.Value) bool {
	return v.DefIs(ttg.ConvertLayout) && tensors.SameParts(tensors.Type(ttg.AsConvertLayout(v.Def()).Src()), tensors.Type(v))
}

// reshapeOfConvert: a reshape that may reorder takes any layout with as many
// values a thread as its result has, and the same replicas. Its own may be
// efficient, but converting to it costs more than it saves: the result's layout stays.
func reshapeOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := tt.AsReshape(op)
	if !v.AllowReorder() {
		return false
	}
	src := v.Src().Def()
	if src == nil || !src.Is(ttg.ConvertLayout) {
		return false
	}
	t := tensors.Type(ttg.AsConvertLayout(src).Src())
	enc := encoding.AttrOf(v.Result().Type())
	if enc == nil || !renames(t, resultShape(op), enc) {
		return false
	}
	return dropConvert(rw, v.SrcUse())
}

// histogramOfConvert: counting does not depend on where a value is. A mask has the layout
// of the values.
func histogramOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := tt.AsHistogram(op)
	if !v.Src().DefIs(ttg.ConvertLayout) {
		return false
	}
	if mask := v.Mask(); mask != nil {
		t := tensors.Type(ttg.AsConvertLayout(v.Src().Def()).Src())
		v.SetMask(rw.Op(ttg.ConvertLayout, []*ir.Value{mask}, rw.Context().Tensor(t.Shape, tensors.Type(mask).Elem, t.Encoding)).OneResult())
	}
	return dropConvert(rw, v.SrcUse())
}

// gatherOfConvert: the source of a gather is read from shared memory, unless its
// layout was chosen to make that unnecessary.
func gatherOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := tt.AsGather(op)
	return !v.EfficientLayout() && dropConvert(rw, v.SrcUse())
}

// dropConvert lets an operation use what its operand is converted from, if it is.
func dropConvert(rw *rewrite.Rewriter, u *ir.Use) bool {
	src := u.Value().Def()
	if src == nil || !src.Is(ttg.ConvertLayout) {
		return false
	}
	u.Set(ttg.AsConvertLayout(src).Src())
	rw.Modified(u.Owner())
	if rewrite.IsDead(src) {
		rw.Erase(src)
	}
	return true
}

func foldConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	cvt := ttg.AsConvertLayout(op)
	src, dst := cvt.Src(), tensors.Type(cvt.Result())
	if src.Type() == ir.Type(dst) {
		rw.Replace(op, src)
		return true
	}
	d := src.Def()
	if d == nil {
		return false
	}
	if d.Is(ttg.ConvertLayout) {
		return dropConvert(rw, cvt.SrcUse())
	}
	if !madeInAnyLayout(d, dst.Encoding) {
		return false
	}
	rw.SetBefore(op)
	if d.Is(ttg.LocalLoad) {
		// What the buffer holds may change between the load and the conversion.
		rw.SetBefore(d)
	}
	rw.Loc = d.Loc()
	rw.Replace(op, remade(rw.Builder, d, dst).OneResult())
	return true
}

// madeInAnyLayout reports whether op can make its result with the encoding enc
// as cheaply as with its own, whatever the encodings of its operands.
func madeInAnyLayout(op *ir.Operation, enc ir.Attribute) bool {
	switch op.Def() {
	case arith.Constant:
		v, ok := arith.AsConstant(op).Value().(*ir.DenseElementsAttr)
		return ok && v.IsSplat()
	case tt.Splat, tt.MakeRange, tt.Histogram:
		return true
	case ttg.LocalLoad: // a CTA reads its own shared memory alone
		t := tensors.Type(op.OneResult())
		return tensors.SameParts(t, tensors.WithEncoding(op.Context(), t, enc))
	case tt.Reshape:
		v := tt.AsReshape(op)
		return v.AllowReorder() && !v.EfficientLayout() && renamesOperand(v, enc)
	case tt.Cat:
		return keepsHolders(op, enc)
	}
	return false
}

// keepsHolders reports whether a thread may take what it holds of the operands for its part
// of the result in enc, in an operation that may reorder elements: these are as many
// values, and the same lanes, warps and CTAs hold replicas.
func keepsHolders(op *ir.Operation, enc ir.Attribute) bool {
	a, ok := enc.(*encoding.Attr)
	if !ok {
		return false
	}
	to := linear(resultShape(op), a)
	in := 0
	for _, v := range op.Operands() {
		from := linear(tensors.Type(v).Shape, encoding.AttrOf(v.Type()))
		if !sameReplicas(from, to, layout.Lane, layout.Warp, layout.Block) {
			return false
		}
		in += from.Registers()
	}
	return to.Registers() == in
}

// linear is the layout of a tensor.
func linear(shape []int64, a *encoding.Attr) layout.Layout {
	l, err := a.Layout.Linear(shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return l
}

// sameReplicas reports whether the same bits of inputs hold replicas in both layouts.
func sameReplicas(a, b layout.Layout, inputs ...layout.Dim) bool {
	for _, d := range inputs {
		if a.FreeMask(d) != b.FreeMask(d) {
			return false
		}
	}
	return true
}

// renamesOperand is renames for what a reshape takes and gives.
func renamesOperand(v tt.ReshapeOp, enc ir.Attribute) bool {
	a, ok := enc.(*encoding.Attr)
	return ok && renames(tensors.Type(v.Src()), resultShape(v.Op), a)
}

// renames reports whether the registers of src hold, thread by thread, a tensor
// of another shape and encoding: the numbers of values are the same, and so are
// the registers, lanes and warps that hold replicas. Of an encoding that is not a layout
// nothing is known.
func renames(src *ir.TensorType, shape []int64, enc *encoding.Attr) bool {
	if encoding.AttrOf(src) == nil {
		return false
	}
	from, to := linear(src.Shape, encoding.AttrOf(src)), linear(shape, enc)
	return sameReplicas(from, to, layout.Register, layout.Lane, layout.Warp, layout.Block) && from.Registers() == to.Registers()
}

// remade makes op again, before the builder's point, with the result type t.
func remade(b *ir.Builder, op *ir.Operation, t *ir.TensorType) *ir.Operation {
	n := op.Clone(ir.NewMapping())
	if n.Is(arith.Constant) {
		k := arith.AsConstant(n)
		k.SetValue(retyped(b.Context(), k.Value(), t))
	}
	n.OneResult().SetType(t)
	b.Insert(n)
	return n
}

var convertSet = rewrite.NewSet(ConvertPatterns())

// foldConverts applies ConvertPatterns to everything inside root and erases
// what is dead.
func foldConverts(root *ir.Operation) {
	rewrite.Greedy(root, convertSet, rewrite.Options{NoFold: true})
}
