package tt

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
)

func sameElem(op *ir.Operation) error {
	if ir.ElemOf(op.Operand(0).Type()) != ir.ElemOf(op.Result(0).Type()) {
		return fmt.Errorf("source and result must have the same element type")
	}
	return nil
}

func verifyBitcast(op *ir.Operation) error {
	src, dst := ir.ElemOf(op.Operand(0).Type()), ir.ElemOf(op.Result(0).Type())
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
	src, dst := ir.ElemOf(op.Operand(0).Type()), ir.ElemOf(op.Result(0).Type())
	narrowing := ir.BitWidth(src) > ir.BitWidth(dst)
	switch has := op.HasAttr("rounding"); {
	case narrowing && !has:
		return message(msgRoundingRequired)
	case !narrowing && has:
		return message(msgRoundingOnly)
	}
	return nil
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
	ptr, mask, other := op.GroupOne(0), op.GroupOne(1), op.GroupOne(2)
	if IsBlockPtr(ptr.Type()) {
		if mask != nil || other != nil {
			return fmt.Errorf("mask and other are not allowed with a block pointer")
		}
		return nil
	}
	if err := verifyAccess(op, ptr, mask); err != nil {
		return err
	}
	if other != nil && mask == nil {
		return fmt.Errorf("other needs a mask")
	}
	want := ValueTypeOf(op.Context(), ptr.Type())
	if other != nil && other.Type() != want {
		return fmt.Errorf("other must have the type of what the pointer points to")
	}
	if op.Result(0).Type() != want {
		return fmt.Errorf("result must have the type of what the pointer points to")
	}
	return nil
}

func verifyStore(op *ir.Operation) error {
	ptr, value, mask := op.Operand(0), op.Operand(1), op.GroupOne(2)
	if IsBlockPtr(ptr.Type()) {
		if mask != nil {
			return fmt.Errorf("mask is not allowed with a block pointer")
		}
		return nil
	}
	if value.Type() != ValueTypeOf(op.Context(), ptr.Type()) {
		return fmt.Errorf("value must have the type of what the pointer points to")
	}
	return verifyAccess(op, ptr, mask)
}

func verifyAccess(op *ir.Operation, ptr, mask *ir.Value) error {
	if a, ok := op.Attr("boundaryCheck").(*ir.DenseArrayAttr); ok && len(a.Values) > 0 {
		return fmt.Errorf("boundaryCheck is allowed with a block pointer only")
	}
	if mask != nil && !sameShapeAndEncoding(ptr.Type(), mask.Type()) {
		return fmt.Errorf("mask must have the shape and encoding of the pointer")
	}
	return nil
}

func verifyAtomic(op *ir.Operation) error {
	want := ValueTypeOf(op.Context(), op.Operand(0).Type())
	n := op.NumOperands()
	if op.Def().Operands[n-1].Name == "mask" {
		n--
	}
	for i := 1; i < n; i++ {
		if op.Operand(i).Type() != want {
			return fmt.Errorf("operand #%d must have the type of what the pointer points to", i)
		}
	}
	if op.Result(0).Type() != want {
		return fmt.Errorf("result must have the type of what the pointer points to")
	}
	return nil
}

func verifyExpandDims(op *ir.Operation) error {
	src, dst := op.Operand(0).Type().(*ir.TensorType), op.Result(0).Type().(*ir.TensorType)
	axis, _ := op.IntAttr("axis")
	if axis < 0 || axis > int64(len(src.Shape)) {
		return fmt.Errorf("axis %d is outside 0 to %d", axis, len(src.Shape))
	}
	want := slices.Insert(slices.Clone(src.Shape), int(axis), 1)
	if !slices.Equal(want, dst.Shape) {
		return fmt.Errorf("result must have the source's shape with a 1 at axis %d", axis)
	}
	if src.Encoding != nil || dst.Encoding != nil {
		if e := encoding.Slice(op.Context(), dst.Encoding, int(axis)); e == nil || !encoding.Same(src.Shape, e, src.Encoding) {
			return fmt.Errorf("source encoding must be the slice of the result's along axis %d", axis)
		}
	}
	return sameElem(op)
}

func verifyBroadcast(op *ir.Operation) error {
	src, dst := op.Operand(0).Type().(*ir.TensorType), op.Result(0).Type().(*ir.TensorType)
	if len(src.Shape) != len(dst.Shape) {
		return message(msgBroadcastRank)
	}
	for i := range src.Shape {
		if src.Shape[i] != 1 && src.Shape[i] != dst.Shape[i] {
			return message(msgBroadcastDims, i)
		}
	}
	return sameElem(op)
}

func verifyTrans(op *ir.Operation) error {
	src, dst := op.Operand(0).Type().(*ir.TensorType), op.Result(0).Type().(*ir.TensorType)
	order := op.Attr("order").(*ir.DenseArrayAttr).Values
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
	return sameElem(op)
}

func verifyReshape(op *ir.Operation) error {
	src, dst := op.Operand(0).Type().(*ir.TensorType), op.Result(0).Type().(*ir.TensorType)
	if src.NumElements() != dst.NumElements() {
		return message(msgReshapeElements)
	}
	return sameElem(op)
}

func verifyHalves(half, whole *ir.TensorType) error {
	n := len(half.Shape)
	if len(whole.Shape) != n+1 || whole.Shape[n] != 2 || !slices.Equal(whole.Shape[:n], half.Shape) || half.Elem != whole.Elem {
		return fmt.Errorf("the joined tensor must have the half's shape and a last dimension of size 2")
	}
	return nil
}

func verifyMakeRange(op *ir.Operation) error {
	start, _ := op.IntAttr("start")
	end, _ := op.IntAttr("end")
	t := op.Result(0).Type().(*ir.TensorType)
	switch {
	case start >= end:
		return fmt.Errorf("start must be less than end")
	case len(t.Shape) != 1 || !ir.IsInt(t.Elem, 32):
		return fmt.Errorf("result must be a 1-dimensional tensor of i32")
	case t.Shape[0] != end-start:
		return fmt.Errorf("number of elements in result %d must equal end - start, %d", t.Shape[0], end-start)
	}
	return nil
}

func verifyDot(op *ir.Operation) error {
	a, b := op.Operand(0).Type().(*ir.TensorType), op.Operand(1).Type().(*ir.TensorType)
	d := op.Result(0).Type().(*ir.TensorType)
	n := len(a.Shape)
	if op.Operand(2).Type() != op.Result(0).Type() {
		return fmt.Errorf("accumulator and result must have the same type")
	}
	if n < 2 || n > 3 || len(b.Shape) != n || len(d.Shape) != n {
		return fmt.Errorf("operands and result must all have rank 2 or all rank 3")
	}
	if a.Shape[n-1] != b.Shape[n-2] || a.Shape[n-2] != d.Shape[n-2] || b.Shape[n-1] != d.Shape[n-1] || n == 3 && (a.Shape[0] != b.Shape[0] || a.Shape[0] != d.Shape[0]) {
		return fmt.Errorf("shapes do not fit: expected [M, K] * [K, N] -> [M, N]")
	}
	return nil
}

func verifyInlineAsm(op *ir.Operation) error {
	pack, _ := op.IntAttr("packed_element")
	if pack < 1 {
		return fmt.Errorf("packed_element must be positive, not %d", pack)
	}
	if op.NumOperands() > 0 {
		if t, ok := op.Operand(0).Type().(*ir.TensorType); ok {
			if n := t.NumElements(); n%pack != 0 {
				return fmt.Errorf("number of input elements %d must be a multiple of the op's packed_element attribute, %d", n, pack)
			}
		}
	}
	return nil
}

func verifyReduce(op *ir.Operation) error {
	if op.NumOperands() == 0 || op.NumResults() != op.NumOperands() {
		return fmt.Errorf("must have the same number of inputs as outputs, at least one")
	}
	axis, _ := op.IntAttr("axis")
	first := op.Operand(0).Type().(*ir.TensorType)
	if axis < 0 || axis >= int64(len(first.Shape)) {
		return fmt.Errorf("axis %d is outside the operand's %d dimensions", axis, len(first.Shape))
	}
	shape := slices.Delete(slices.Clone(first.Shape), int(axis), int(axis)+1)
	for i, v := range op.Operands() {
		t := v.Type().(*ir.TensorType)
		if !slices.Equal(t.Shape, first.Shape) || t.Encoding != first.Encoding {
			return fmt.Errorf("all operands must have the same shape and encoding")
		}
		r := op.Result(i).Type()
		if ir.ElemOf(r) != t.Elem || !slices.Equal(ir.ShapeOf(r), shape) {
			return fmt.Errorf("result #%d must be operand #%d without dimension %d", i, i, axis)
		}
	}
	return verifyCombine(op, ReduceReturn, 2)
}

func verifyScan(op *ir.Operation) error {
	if op.NumOperands() == 0 || op.NumResults() != op.NumOperands() {
		return fmt.Errorf("must have the same number of inputs as outputs, at least one")
	}
	axis, _ := op.IntAttr("axis")
	for i, v := range op.Operands() {
		t := v.Type().(*ir.TensorType)
		if axis < 0 || axis >= int64(len(t.Shape)) {
			return fmt.Errorf("axis %d is outside the operand's %d dimensions", axis, len(t.Shape))
		}
		if op.Result(i).Type() != v.Type() {
			return fmt.Errorf("result #%d must have the type of operand #%d", i, i)
		}
	}
	return verifyCombine(op, ScanReturn, 2)
}

// verifyCombine checks a combine region: times arguments an operand, and a
// return of one value an operand, all of the operands' element types.
func verifyCombine(op *ir.Operation, ret *ir.OpDef, times int) error {
	body := op.Body()
	if body == nil {
		return fmt.Errorf("must have a combine region")
	}
	n := op.NumOperands()
	if body.NumArgs() != times*n {
		return fmt.Errorf("combine region must take %d arguments, but has %d", times*n, body.NumArgs())
	}
	for i, a := range body.Args() {
		if a.Type() != ir.ElemOf(op.Operand(i%n).Type()) {
			return fmt.Errorf("argument #%d of the combine region must have the element type of operand #%d", i, i%n)
		}
	}
	for b := range op.Region(0).Blocks() {
		t := b.Terminator()
		if t == nil || !t.Is(ret) {
			continue
		}
		if t.NumOperands() != n {
			return fmt.Errorf("combine region must return %d values, but returns %d", n, t.NumOperands())
		}
		for i, v := range t.Operands() {
			if v.Type() != ir.ElemOf(op.Operand(i).Type()) {
				return fmt.Errorf("value #%d returned by the combine region must have the element type of operand #%d", i, i)
			}
		}
	}
	return nil
}

func verifyFunc(op *ir.Operation) error {
	ft, ok := op.Attr("function_type").(*ir.TypeAttr)
	if !ok {
		return nil
	}
	sig, ok := ft.Type.(*ir.FunctionType)
	if !ok {
		return fmt.Errorf("function_type must be a function type")
	}
	body := op.Body()
	if body == nil {
		return nil
	}
	if body.NumArgs() != len(sig.In) {
		return fmt.Errorf("entry block must have %d arguments, but has %d", len(sig.In), body.NumArgs())
	}
	for i, a := range body.Args() {
		if a.Type() != sig.In[i] {
			return fmt.Errorf("entry block argument #%d must have the type of the function's argument", i)
		}
	}
	return nil
}

func verifyReturn(op *ir.Operation) error {
	f := op.Parent()
	if f == nil || !f.Is(Func) {
		return fmt.Errorf("expects parent op 'tt.func'")
	}
	sig, ok := f.Attr("function_type").(*ir.TypeAttr).Type.(*ir.FunctionType)
	if !ok {
		return nil
	}
	if op.NumOperands() != len(sig.Out) {
		return fmt.Errorf("has %d operands, but enclosing function (@%s) returns %d", op.NumOperands(), f.StringAttr("sym_name"), len(sig.Out))
	}
	for i, v := range op.Operands() {
		if v.Type() != sig.Out[i] {
			return fmt.Errorf("operand #%d must have the type of the function's result", i)
		}
	}
	return nil
}
