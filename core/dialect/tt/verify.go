package tt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// tensorOf is the type of what the table says is a tensor.
func tensorOf(v *ir.Value) *ir.TensorType { return v.Type().(*ir.TensorType) }

func sameElem(src, result *ir.Value) error {
	if ir.ElemOf(src.Type()) != ir.ElemOf(result.Type()) {
		return fmt.Errorf("source and result must have the same element type")
	}
	return nil
}

func verifyBitcast(op *ir.Operation) error {
	v := AsBitcast(op)
	src, dst := ir.ElemOf(v.Src().Type()), ir.ElemOf(v.Result().Type())
	_, srcPtr := src.(*PtrType)
	_, dstPtr := dst.(*PtrType)
	if srcPtr != dstPtr {
		return message(msgBitcastPointer)
	}
	if a, b := ir.BitWidth(src), ir.BitWidth(dst); a != b {
		return message(msgBitcastSize, a, b)
	}
	return nil
}

func verifyFpToFp(op *ir.Operation) error {
	v := AsFpToFp(op)
	src, dst := ir.ElemOf(v.Src().Type()), ir.ElemOf(v.Result().Type())
	if _, has := v.Rounding(); !has && ir.BitWidth(src) > ir.BitWidth(dst) {
		return message(msgRoundingRequired)
	}
	return nil // a wider result needs no rounding, and it may be there
}

func sameShapeAndEncoding(a, b ir.Type) bool {
	at, aTensor := a.(*ir.TensorType)
	bt, bTensor := b.(*ir.TensorType)
	if !aTensor || !bTensor {
		return aTensor == bTensor
	}
	return ir.KeyOf(at.Shape) == ir.KeyOf(bt.Shape) && at.Encoding == bt.Encoding
}

func verifyLoad(op *ir.Operation) error {
	v := AsLoad(op)
	ptr, mask, other := v.Ptr(), v.Mask(), v.Other()
	want := ValueTypeOf(op.Context(), ptr.Type())
	if IsBlockPtr(ptr.Type()) {
		switch {
		case mask != nil || other != nil:
			return fmt.Errorf("mask and other are not allowed with a block pointer")
		case v.Result().Type() != want:
			return fmt.Errorf("result must have the type of what the pointer points to")
		}
		return verifyBoundaryCheck(v.BoundaryCheck(), ptr)
	}
	if err := verifyAccess(v.BoundaryCheck(), ptr, mask); err != nil {
		return err
	}
	if other != nil && mask == nil {
		return fmt.Errorf("other needs a mask")
	}
	if other != nil && other.Type() != want {
		return fmt.Errorf("other must have the type of what the pointer points to")
	}
	if v.Result().Type() != want {
		return fmt.Errorf("result must have the type of what the pointer points to")
	}
	return nil
}

func verifyStore(op *ir.Operation) error {
	if p := op.Parent(); p != nil && p.Name() == "tt.map_elementwise" {
		return message(msgMapStore)
	}
	v := AsStore(op)
	ptr, value, mask := v.Ptr(), v.Value(), v.Mask()
	if value.Type() != ValueTypeOf(op.Context(), ptr.Type()) {
		return fmt.Errorf("value must have the type of what the pointer points to")
	}
	if IsBlockPtr(ptr.Type()) {
		if mask != nil {
			return fmt.Errorf("mask is not allowed with a block pointer")
		}
		return verifyBoundaryCheck(v.BoundaryCheck(), ptr)
	}
	return verifyAccess(v.BoundaryCheck(), ptr, mask)
}

func verifyAccess(boundaryCheck []int64, ptr, mask *ir.Value) error {
	if len(boundaryCheck) > 0 {
		return fmt.Errorf("boundaryCheck is allowed with a block pointer only")
	}
	if mask != nil && !sameShapeAndEncoding(ptr.Type(), mask.Type()) {
		return fmt.Errorf("mask must have the shape and encoding of the pointer")
	}
	return nil
}

// verifyAtomic checks an atomic access through ptr: what it takes and gives.
func verifyAtomic(ptr, result *ir.Value, takes ...*ir.Value) error {
	want := ValueTypeOf(result.Def().Context(), ptr.Type())
	for i, v := range takes {
		if v.Type() == want {
			continue
		}
		if i < len(takes)-1 {
			return message(msgAtomicCmp)
		}
		return message(msgAtomicValue)
	}
	if result.Type() != want {
		return fmt.Errorf("result must have the type of what the pointer points to")
	}
	return nil
}

func verifyAtomicCAS(op *ir.Operation) error {
	v := AsAtomicCAS(op)
	return verifyAtomic(v.Ptr(), v.Result(), v.Cmp(), v.Val())
}

// verifyAtomicRMW: floats may have any kind; which of them there are is the target's
// to say.
func verifyAtomicRMW(op *ir.Operation) error {
	v := AsAtomicRMW(op)
	if err := verifyAtomic(v.Ptr(), v.Result(), v.Val()); err != nil {
		return err
	}
	if _, float := ir.ElemOf(v.Val().Type()).(*ir.FloatType); v.AtomicRmwOp() == RMWFAdd && !float {
		return fmt.Errorf("fadd adds floats, not integers")
	}
	return nil
}

func verifyExpandDims(op *ir.Operation) error {
	v := AsExpandDims(op)
	src, dst, axis := tensorOf(v.Src()), tensorOf(v.Result()), v.Axis()
	for _, t := range []*ir.TensorType{src, dst} { // a layout of another rank goes with a wrong shape
		if why := encoding.WrongRank(encoding.Get(t), len(t.Shape)); why != "" {
			return errors.New(why)
		}
	}
	if axis < 0 || axis > int64(len(src.Shape)) {
		return fmt.Errorf("axis %d is outside 0 to %d", axis, len(src.Shape))
	}
	want := slices.Insert(slices.Clone(src.Shape), int(axis), 1)
	if !slices.Equal(want, dst.Shape) {
		if len(want) != len(dst.Shape) {
			return message(msgExpandRank, len(want), len(dst.Shape))
		}
		return fmt.Errorf("result must have the source's shape with a 1 at axis %d", axis)
	}
	if src.Encoding != nil || dst.Encoding != nil {
		if e := encoding.Slice(op.Context(), dst.Encoding, int(axis)); e == nil || !encoding.Same(src.Shape, e, src.Encoding) {
			return fmt.Errorf("source encoding must be the slice of the result's along axis %d", axis)
		}
	}
	return sameElem(v.Src(), v.Result())
}

func verifyBroadcast(op *ir.Operation) error {
	v := AsBroadcast(op)
	src, dst := tensorOf(v.Src()), tensorOf(v.Result())
	if len(src.Shape) != len(dst.Shape) {
		return message(msgBroadcastRank)
	}
	for i := range src.Shape {
		if src.Shape[i] != 1 && src.Shape[i] != dst.Shape[i] {
			return message(msgBroadcastDims, i)
		}
	}
	return sameElem(v.Src(), v.Result())
}

func verifyTrans(op *ir.Operation) error {
	v := AsTrans(op)
	src, dst, order := tensorOf(v.Src()), tensorOf(v.Result()), v.Order()
	seen := make([]bool, len(order))
	for _, d := range order {
		if len(order) != len(src.Shape) || d < 0 || d >= int64(len(order)) || seen[d] {
			return message(msgOrder)
		}
		seen[d] = true
	}
	if len(order) != len(dst.Shape) {
		return message(msgBroadcastRank)
	}
	for i, d := range order {
		if dst.Shape[i] != src.Shape[d] {
			return fmt.Errorf("result dimension %d must be source dimension %d", i, d)
		}
	}
	if err := sameElem(v.Src(), v.Result()); err != nil {
		return err
	}
	return verifyInferred(dst, src, func(e layout.Encoding) (layout.Encoding, error) {
		perm := make([]int, len(order))
		for i, d := range order {
			perm[i] = int(d)
		}
		return layout.Trans(e, src.Shape, perm)
	})
}

// verifyInferred checks that the layout of a result puts its elements where infer says
// that those of the source are. Where infer knows none, any layout will do.
func verifyInferred(result, src *ir.TensorType, infer func(layout.Encoding) (layout.Encoding, error)) error {
	have, from := encoding.AttrOf(result), encoding.AttrOf(src)
	if have == nil || from == nil {
		if have != from {
			return message(msgInferred)
		}
		return nil
	}
	want, err := infer(from.Layout)
	_, shared := want.(layout.Shared) // which is not a tensor's, as another check says
	if err == nil && !shared && !sameLayout(result.Shape, want, have.Layout) {
		return message(msgInferred)
	}
	return nil
}

// sameLayout reports whether two layouts put the elements of a tensor of that shape in
// the same places. Layouts that are for no such tensor are left to other checks.
func sameLayout(shape []int64, a, b layout.Encoding) bool {
	if layout.Equal(a, b) {
		return true
	}
	x, err := a.Linear(shape)
	if err != nil {
		return true
	}
	y, err := b.Linear(shape)
	return err != nil || x.Equal(y)
}

// verifyJoinLayout checks that each thread keeps the halves of what it had.
func verifyJoinLayout(half, whole *ir.TensorType) error {
	have, from := encoding.AttrOf(whole), encoding.AttrOf(half)
	switch {
	case from == nil && have == nil:
		return nil
	case from == nil:
		return message(msgInferred)
	case have == nil:
		return message(msgJoinEncoding)
	}
	// Several layouts of the whole keep the halves where they are, and each of them is
	// for one layout of the halves.
	want, err := layout.Split(have.Layout, whole.Shape)
	if err != nil || !sameLayout(half.Shape, want, from.Layout) {
		return message(msgJoinLayout)
	}
	return nil
}

// listed writes a shape as Triton's messages do: 32, 2.
func listed(shape []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
}

// typeName writes a tensor's type without its layout.
func typeName(t *ir.TensorType) string {
	return fmt.Sprintf("tensor<%sx%s>", strings.ReplaceAll(listed(t.Shape), ", ", "x"), elemName(t.Elem))
}

func verifyReshape(op *ir.Operation) error {
	v := AsReshape(op)
	src, dst := tensorOf(v.Src()), tensorOf(v.Result())
	if src.NumElements() != dst.NumElements() {
		return message(msgReshapeElements)
	}
	return sameElem(v.Src(), v.Result())
}

// verifyHalves checks the shapes of what is joined of halves, or split into them.
func verifyHalves(half, whole *ir.TensorType, split bool) error {
	n := len(half.Shape)
	if len(whole.Shape) != n+1 || whole.Shape[n] != 2 || !slices.Equal(whole.Shape[:n], half.Shape) || half.Elem != whole.Elem {
		if split {
			return message(msgSplit, typeName(half), typeName(whole))
		}
		return message(msgJoinShape, listed(append(slices.Clone(half.Shape), 2)), listed(whole.Shape))
	}
	return nil
}

func verifyMakeRange(op *ir.Operation) error {
	v := AsMakeRange(op)
	start, end, t := v.Start(), v.End(), tensorOf(v.Result())
	switch {
	case start >= end:
		return fmt.Errorf("start must be less than end")
	case op.CheckSize(t) != nil:
		return op.CheckSize(t)
	case len(t.Shape) != 1:
		return message(msgRange1D)
	case !ir.IsInt(t.Elem, 32):
		return message(msgRangeElements)
	case t.Shape[0] != end-start:
		return fmt.Errorf("number of elements in result %d must equal end - start, %d", t.Shape[0], end-start)
	}
	return nil
}

func verifyDot(op *ir.Operation) error {
	v := AsDot(op)
	a, b, d := tensorOf(v.A()), tensorOf(v.B()), tensorOf(v.Result())
	n := len(a.Shape)
	if v.C().Type() != v.Result().Type() {
		return fmt.Errorf("accumulator and result must have the same type")
	}
	if n < 2 || n > 3 || len(b.Shape) != n || len(d.Shape) != n {
		return fmt.Errorf("operands and result must all have rank 2 or all rank 3")
	}
	if ir.BitWidth(a.Elem) != ir.BitWidth(b.Elem) {
		return fmt.Errorf("element types of operands A and B must have same bit width")
	}
	if isInteger(a) != isInteger(b) || isInteger(a) && !isInteger(d) || !isInteger(a) && isInteger(d) {
		return fmt.Errorf("operands and result must all be integers or all floats")
	}
	if a.Shape[n-1] != b.Shape[n-2] {
		return message(msgDotK)
	}
	if a.Shape[n-1] != b.Shape[n-2] || a.Shape[n-2] != d.Shape[n-2] || b.Shape[n-1] != d.Shape[n-1] || n == 3 && (a.Shape[0] != b.Shape[0] || a.Shape[0] != d.Shape[0]) {
		return fmt.Errorf("shapes do not fit: expected [M, K] * [K, N] -> [M, N]")
	}
	switch {
	case (a.Encoding == nil) != (b.Encoding == nil):
		return message(msgDotEncodings)
	case a.Encoding != nil && d.Encoding == nil:
		return message(msgDotResult)
	}
	for i, t := range []*ir.TensorType{a, b} {
		if err := verifyDotOperand(t, i, d); err != nil {
			return err
		}
	}
	return verifyDotUnit(a, b, d, v.InputPrecision())
}

// verifyDotUnit checks what the instructions of the result's layout need: operands packed alike,
// and f32 only as tf32.
func verifyDotUnit(a, b, d *ir.TensorType, precision int64) error {
	if _, ok := encoding.Get(d).(*layout.NvidiaMMA); !ok {
		return nil
	}
	x, ok := encoding.Get(a).(*layout.DotOp)
	y, ok2 := encoding.Get(b).(*layout.DotOp)
	if ok && ok2 && x.KWidth != y.KWidth {
		return message(msgDotKWidth)
	}
	if t, ok := a.Elem.(*ir.FloatType); ok && t.Kind == ir.F32 && precision != PrecisionTF32 {
		return message(msgDotVersion)
	}
	return nil
}

// verifyDotOperand checks that operand i of a dot is laid out for its result.
func verifyDotOperand(t *ir.TensorType, i int, result *ir.TensorType) error {
	want := encoding.AttrOf(result)
	have := encoding.AttrOf(t)
	if want == nil && have == nil {
		return nil
	}
	if have != nil {
		if l, ok := have.Layout.(*layout.DotOp); ok && l.OpIdx == i && have.Parent == want {
			return nil
		}
	}
	return fmt.Errorf("operand %c must have the layout of operand %d of a dot (dot_op) whose parent is the result's layout", 'A'+rune(i), i)
}

// verifyDotScaled checks that operands have the elements that their formats say,
// those of e2m1 two in a byte, and that the shapes fit.
func verifyDotScaled(op *ir.Operation) error {
	v := AsDotScaled(op)
	out := tensorOf(v.Result())
	if len(out.Shape) < 2 {
		return fmt.Errorf("operands and result must have at least rank 2")
	}
	if isInteger(out) {
		return fmt.Errorf("result must have floating-point elements")
	}
	var inner, outer [2]int64
	for i, side := range []struct {
		name    string
		operand *ir.Value
		kind    int64
		alongK  bool // two numbers of a byte follow one another along K
	}{{"a", v.A(), v.AElemType(), v.LhsKPack()}, {"b", v.B(), v.BElemType(), v.RhsKPack()}} {
		t, kind := tensorOf(side.operand), side.kind
		if !holdsScaled(t.Elem, kind) {
			return fmt.Errorf("operand %s has no elements of the format that it is said to have", side.name)
		}
		rank := len(t.Shape)
		if rank != len(out.Shape) {
			return fmt.Errorf("operands and result must have the same rank")
		}
		inner[i], outer[i] = t.Shape[rank-1-i], t.Shape[rank-2+i]
		if kind == ScaleE2M1 {
			if side.alongK {
				inner[i] *= 2
			} else {
				outer[i] *= 2
			}
		}
	}
	if err := verifyScales(v, inner); err != nil {
		return err
	}
	if inner[0] != inner[1] {
		return message(msgDotK)
	}
	if n := len(out.Shape); outer[0] != out.Shape[n-2] || outer[1] != out.Shape[n-1] {
		return fmt.Errorf("shapes do not fit: expected [M, K] * [K, N] -> [M, N]")
	}
	return nil
}

// verifyScales checks that each scale is for 16 elements along K if it is of e4m3, else
// for 32.
func verifyScales(v DotScaledOp, k [2]int64) error {
	for i, scale := range []*ir.Value{v.AScale(), v.BScale()} {
		if scale == nil {
			continue
		}
		t := tensorOf(scale)
		block := int64(32)
		if f, ok := t.Elem.(*ir.FloatType); ok && f.Kind == ir.F8E4M3FN {
			block = 16
		}
		if n := len(t.Shape); n == 0 || k[i] != t.Shape[n-1]*block {
			return message(msgScales)
		}
	}
	return nil
}

// verifyMapElementwise checks that the region takes pack elements of each operand, and
// writes no memory.
func verifyMapElementwise(op *ir.Operation) error {
	v := AsMapElementwise(op)
	entry := v.ScalarOp().First()
	pack := int(v.Pack())
	if entry == nil || pack < 1 || entry.NumArgs() != pack*op.NumOperands() {
		return message(msgMapArguments)
	}
	for i, a := range entry.Args() {
		if a.Type() != ir.ElemOf(op.Operand(i/pack).Type()) {
			return message(msgMapTypes)
		}
	}
	return nil
}

// verifyMapReturn checks that the values are elements of the results.
func verifyMapReturn(op *ir.Operation) error {
	parent := op.Parent()
	if parent == nil || parent.Name() != "tt.map_elementwise" {
		return fmt.Errorf("expects parent op 'tt.map_elementwise'")
	}
	pack := int(AsMapElementwise(parent).Pack())
	if pack < 1 || op.NumOperands() != pack*parent.NumResults() {
		return message(msgMapReturn)
	}
	for i, v := range op.OperandValues() {
		if v.Type() != ir.ElemOf(parent.Result(i/pack).Type()) {
			return message(msgMapReturn)
		}
	}
	return nil
}

// holdsScaled reports whether elements of type t can hold a number of ScaleTypes.
func holdsScaled(t ir.Type, kind int64) bool {
	if i, ok := t.(*ir.IntegerType); ok {
		return (kind == ScaleE2M1 || kind == ScaleE4M3 || kind == ScaleE5M2) && i.Width == 8
	}
	f, ok := t.(*ir.FloatType)
	if !ok {
		return false
	}
	switch kind {
	case ScaleE4M3:
		return f.Kind == ir.F8E4M3FN
	case ScaleE5M2:
		return f.Kind == ir.F8E5M2
	case ScaleBF16:
		return f.Kind == ir.BF16
	case ScaleFP16:
		return f.Kind == ir.F16
	}
	return false
}

func verifyCat(op *ir.Operation) error {
	v := AsCat(op)
	src, dst := tensorOf(v.Lhs()), tensorOf(v.Result())
	if dst.NumElements() != 2*src.NumElements() {
		return fmt.Errorf("result must have twice the elements of an operand, %d, not %d", 2*src.NumElements(), dst.NumElements())
	}
	return sameElem(v.Lhs(), v.Result())
}

func isInteger(t ir.Type) bool {
	_, ok := ir.ElemOf(t).(*ir.IntegerType)
	return ok
}

func verifyHistogram(op *ir.Operation) error {
	v := AsHistogram(op)
	src, dst := tensorOf(v.Src()), tensorOf(v.Result())
	if !isInteger(src) || !isInteger(dst) || len(dst.Shape) != 1 {
		return fmt.Errorf("source must have integer elements, and the result must be a 1-dimensional tensor of integers")
	}
	if v.Mask() != nil {
		mask := v.Mask().Type()
		if !ir.BoolLike.Test(mask) || !sameShapeAndEncoding(src, mask) {
			return fmt.Errorf("mask must have elements of i1 and the source's shape and encoding")
		}
	}
	return nil
}

func verifyGather(op *ir.Operation) error {
	v := AsGather(op)
	src, at, dst, axis := tensorOf(v.Src()), tensorOf(v.Indices()), tensorOf(v.Result()), v.Axis()
	switch {
	case !isInteger(at):
		return fmt.Errorf("indices must be integers")
	case src.Elem != dst.Elem:
		return fmt.Errorf("input and output element types must match")
	case !slices.Equal(at.Shape, dst.Shape):
		return message(msgGatherShapes)
	case at.Encoding != dst.Encoding:
		return message(msgGatherEncodings)
	case len(src.Shape) != len(at.Shape):
		return fmt.Errorf("input and indices ranks must match")
	case axis < 0 || int(axis) >= len(src.Shape):
		return fmt.Errorf("gather dimension must be less than the input rank")
	}
	for d, n := range at.Shape {
		if int64(d) != axis && n != src.Shape[d] {
			return fmt.Errorf("indices dimension %d must match the corresponding input dimension", d)
		}
	}
	return nil
}

func verifyInlineAsm(op *ir.Operation) error {
	v := AsInlineAsm(op)
	pack := v.PackedElement()
	if pack < 1 {
		return fmt.Errorf("packed_element must be positive, not %d", pack)
	}
	if op.NumOperands() > 0 {
		if t, ok := v.ArgsAt(0).Type().(*ir.TensorType); ok {
			if n := t.NumElements(); n%pack != 0 {
				return fmt.Errorf("number of input elements %d must be a multiple of the op's packed_element attribute, %d", n, pack)
			}
		}
	}
	var first *ir.TensorType
	for _, x := range append(op.OperandValues(), op.Results()...) {
		t, ok := x.Type().(*ir.TensorType)
		switch {
		case ok && first == nil:
			first = t
		case ok && !slices.Equal(t.Shape, first.Shape):
			return message(msgSameShape)
		}
	}
	return nil
}

func verifyReduce(op *ir.Operation) error {
	if op.NumOperands() == 0 || op.NumResults() != op.NumOperands() {
		return fmt.Errorf("must have the same number of inputs as outputs, at least one")
	}
	axis, first := AsReduce(op).Axis(), tensorOf(AsReduce(op).SrcsAt(0))
	if axis < 0 || axis >= int64(len(first.Shape)) {
		return fmt.Errorf("axis %d is outside the operand's %s", axis, diag.Count(len(first.Shape), "dimension"))
	}
	shape := slices.Delete(slices.Clone(first.Shape), int(axis), int(axis)+1)
	for i, v := range op.Operands() {
		t := v.Type().(*ir.TensorType)
		if !slices.Equal(t.Shape, first.Shape) {
			return message(msgSameOperands)
		}
		if t.Encoding != first.Encoding {
			return fmt.Errorf("all operands must have the same encoding")
		}
		r := op.Result(i).Type()
		if ir.ElemOf(r) != t.Elem || !slices.Equal(ir.ShapeOf(r), shape) {
			return message(msgCombined+": result #%d must be operand #%d without dimension %d", i, i, axis)
		}
	}
	return verifyCombine(op, AsReduce(op).CombineOp(), ReduceReturn, 2)
}

func verifyScan(op *ir.Operation) error {
	if op.NumOperands() == 0 || op.NumResults() != op.NumOperands() {
		return fmt.Errorf("must have the same number of inputs as outputs, at least one")
	}
	axis := AsScan(op).Axis()
	for i, v := range op.Operands() {
		t := v.Type().(*ir.TensorType)
		if axis < 0 || axis >= int64(len(t.Shape)) {
			return fmt.Errorf("axis %d is outside the operand's %s", axis, diag.Count(len(t.Shape), "dimension"))
		}
		if !slices.Equal(ir.ShapeOf(op.Result(i).Type()), t.Shape) {
			return message(msgSameShape)
		}
		if op.Result(i).Type() != v.Type() {
			return message(msgCombined+": result #%d must have the type of operand #%d", i, i)
		}
	}
	return verifyCombine(op, AsScan(op).CombineOp(), ScanReturn, 2)
}

// verifyCombine checks a combine region: times arguments an operand, and a
// return of one value an operand, all of the operands' element types.
func verifyCombine(op *ir.Operation, combine *ir.Region, ret *ir.OpDef, times int) error {
	body := combine.First()
	if body == nil {
		return fmt.Errorf("must have a combine region")
	}
	n := op.NumOperands()
	if body.NumArgs() != times*n {
		return fmt.Errorf("combine region must take %s, but has %d", diag.Count(times*n, "argument"), body.NumArgs())
	}
	for i, a := range body.Args() {
		if a.Type() != ir.ElemOf(op.Operand(i%n).Type()) {
			return fmt.Errorf("argument #%d of the combine region must have the element type of operand #%d", i, i%n)
		}
	}
	for b := range combine.Blocks() {
		t := b.Terminator()
		if t == nil || !t.Is(ret) {
			continue
		}
		if t.NumOperands() != n {
			return fmt.Errorf("combine region must return %s, but returns %d", diag.Count(n, "value"), t.NumOperands())
		}
		for i, v := range t.Operands() {
			if v.Type() != ir.ElemOf(op.Operand(i).Type()) {
				return fmt.Errorf("value #%d returned by the combine region must have the element type of operand #%d", i, i)
			}
		}
	}
	return nil
}

// CheckFuncName says what is wrong with the name of a function. A kernel's, which
// a driver looks up and files are named after, is an identifier of ASCII
// characters and "$"; a private function's, which holds the values of constants
// too, is any printable text.
func CheckFuncName(name string, private bool) error {
	switch {
	case name == "":
		return fmt.Errorf("needs a name")
	case '0' <= name[0] && name[0] <= '9':
		return fmt.Errorf("name %q begins with a digit", name)
	case strings.HasPrefix(name, "llvm."):
		return fmt.Errorf("name %q is reserved: LLVM's own begin with \"llvm.\"", name)
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '$':
		case !private:
			return fmt.Errorf("name %q is not valid for a kernel: %q is not an ASCII letter, a digit, _ or $", name, r)
		case !unicode.IsPrint(r):
			return fmt.Errorf("name %q has the character %q, which cannot be printed", name, r)
		}
	}
	return nil
}

func verifyFunc(op *ir.Operation) error {
	f := AsFunc(op)
	if err := CheckFuncName(f.SymName(), op.IsPrivate()); err != nil {
		return err
	}
	if f.FunctionType() == nil {
		return nil
	}
	sig, ok := f.FunctionType().(*ir.FunctionType)
	if !ok {
		return fmt.Errorf("function_type must be a function type")
	}
	body := op.Body()
	if body == nil {
		return nil
	}
	if body.NumArgs() != len(sig.In) {
		return fmt.Errorf("entry block must have %s, but has %d", diag.Count(len(sig.In), "argument"), body.NumArgs())
	}
	for i, a := range body.Args() {
		if a.Type() != sig.In[i] {
			return fmt.Errorf("entry block argument #%d must have the type of the function's argument", i)
		}
	}
	return nil
}

// verifyCall checks that the function that is called is in the module, and that
// the call gives and takes what the function takes and gives.
func verifyCall(op *ir.Operation) error {
	callee := AsCall(op).Callee()
	if callee == "" {
		return fmt.Errorf("callee must be the name of a function")
	}
	top := op
	for top.Parent() != nil && (top == op || !top.Def().Has(ir.SymbolTable)) {
		top = top.Parent()
	}
	if top.Is(Func) || top == op {
		return nil // there is no module yet
	}
	if f := ir.LookUp(top, callee); f != nil && f.Is(Func) {
		sig, ok := AsFunc(f).FunctionType().(*ir.FunctionType)
		switch {
		case !ok:
			return nil // which the function's own verifier says
		case len(sig.In) != op.NumOperands():
			return fmt.Errorf("incorrect number of operands for callee: %d, not %d", op.NumOperands(), len(sig.In))
		case len(sig.Out) != op.NumResults():
			return fmt.Errorf("incorrect number of results for callee: %d, not %d", op.NumResults(), len(sig.Out))
		}
		for i, t := range sig.In {
			if op.Operand(i).Type() != t {
				return fmt.Errorf("operand type mismatch: operand number %d is not of the type of the callee's argument", i)
			}
		}
		for i, t := range sig.Out {
			if op.Result(i).Type() != t {
				return fmt.Errorf("result type mismatch: result number %d is not of the type that the callee gives", i)
			}
		}
		return nil
	}
	return fmt.Errorf("'%s' does not reference a valid function", callee)
}

func verifyReturn(op *ir.Operation) error {
	p := op.Parent()
	if p == nil || !p.Is(Func) {
		return fmt.Errorf("expects parent op 'tt.func'")
	}
	f := AsFunc(p)
	sig, ok := f.FunctionType().(*ir.FunctionType)
	if !ok {
		return nil
	}
	if op.NumOperands() != len(sig.Out) {
		return fmt.Errorf("has %s, but enclosing function (@%s) returns %d", diag.Count(op.NumOperands(), "operand"), f.SymName(), len(sig.Out))
	}
	for i, v := range op.Operands() {
		if v.Type() != sig.Out[i] {
			return fmt.Errorf("operand #%d must have the type of the function's result", i)
		}
	}
	return nil
}
