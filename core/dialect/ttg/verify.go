package ttg

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// sameContent checks that a tensor and a buffer, or two buffers, hold the same.
func sameContent(a, b ir.Type) error {
	if x, y := ir.ElemOf(elemType(a)), ir.ElemOf(elemType(b)); x != y {
		return fmt.Errorf("source and destination must have the same element type")
	}
	if x, y := shapeOf(a), shapeOf(b); !slices.Equal(x, y) {
		return fmt.Errorf("source shape %v must match destination shape %v", x, y)
	}
	return nil
}

func shapeOf(t ir.Type) []int64 {
	switch t := t.(type) {
	case *ir.TensorType:
		return t.Shape
	case *MemDescType:
		return t.Shape
	}
	return nil
}

func elemType(t ir.Type) ir.Type {
	if m, ok := t.(*MemDescType); ok {
		return m.Elem
	}
	return t
}

func buffer(v *ir.Value) *MemDescType { return v.Type().(*MemDescType) }

func writable(v *ir.Value) error {
	if !buffer(v).Mutable {
		return fmt.Errorf("cannot store into immutable memory")
	}
	return nil
}

func verifyLocalAlloc(op *ir.Operation) error {
	t := buffer(op.Result(0))
	if n, ok := op.IntAttr("alignment"); ok && (n < 1 || n&(n-1) != 0) {
		return fmt.Errorf("alignment must be a power of two, not %d", n)
	}
	if !slices.Equal(t.Shape, t.AllocShape) {
		return fmt.Errorf("result shape and its alloc shape must match")
	}
	if op.NumOperands() > 0 {
		return sameContent(op.Operand(0).Type(), t)
	}
	if !t.Mutable {
		return fmt.Errorf("uninitialized alloc must have a mutable memdesc type")
	}
	return nil
}

func verifyLocalLoad(op *ir.Operation) error {
	return sameContent(op.Operand(0).Type(), op.Result(0).Type())
}

func verifyLocalStore(op *ir.Operation) error {
	if err := writable(op.Operand(1)); err != nil {
		return err
	}
	return sameContent(op.Operand(0).Type(), op.Operand(1).Type())
}

// verifyView checks what all views of a buffer have in common with it.
func verifyView(op *ir.Operation) error {
	src, dst := buffer(op.Operand(0)), buffer(op.Result(0))
	switch {
	case src.Space != dst.Space:
		return fmt.Errorf("source and result must be in the same memory")
	case src.Mutable != dst.Mutable:
		return fmt.Errorf("source and result must both be mutable or neither")
	}
	return nil
}

// verifyPart is verifyView for views of the same elements.
func verifyPart(op *ir.Operation) error {
	if buffer(op.Operand(0)).Elem != buffer(op.Result(0)).Elem {
		return fmt.Errorf("source and result must have the same element type")
	}
	return verifyView(op)
}

func verifyMemDescIndex(op *ir.Operation) error {
	src, dst := buffer(op.Operand(0)), buffer(op.Result(0))
	if len(src.Shape) < 2 || !slices.Equal(src.Shape[1:], dst.Shape) {
		return fmt.Errorf("result shape %v must be that of the source %v without its first dimension", dst.Shape, src.Shape)
	}
	if src.Encoding != dst.Encoding {
		return fmt.Errorf("source and result must have the same layout")
	}
	if i, ok := constantOf(op.Operand(1)); ok && (i < 0 || i >= src.Shape[0]) {
		return fmt.Errorf("index %d is outside 0 to %d", i, src.Shape[0]-1)
	}
	return verifyPart(op)
}

// constantOf is the value of a scalar integer constant.
func constantOf(v *ir.Value) (int64, bool) {
	if v.Def() == nil || v.Def().Name() != "arith.constant" {
		return 0, false
	}
	return v.Def().IntAttr("value")
}

func verifyMemDescSubslice(op *ir.Operation) error {
	src, dst := buffer(op.Operand(0)), buffer(op.Result(0))
	offsets, _ := op.Attr("offsets").(*ir.DenseArrayAttr)
	if offsets == nil || len(offsets.Values) != len(src.Shape) || len(dst.Shape) != len(src.Shape) {
		return fmt.Errorf("source, offsets and result must have the same rank")
	}
	for d, n := range dst.Shape {
		if at := offsets.Values[d]; at < 0 || at+n > src.Shape[d] {
			return fmt.Errorf("dimension %d: %d elements from %d on are not part of %d", d, n, at, src.Shape[d])
		}
	}
	if src.Encoding != dst.Encoding || !slices.Equal(src.AllocShape, dst.AllocShape) {
		return fmt.Errorf("source and result must have the same layout and be parts of one allocation")
	}
	return verifyPart(op)
}

func verifyMemDescTrans(op *ir.Operation) error {
	src, dst := buffer(op.Operand(0)), buffer(op.Result(0))
	order, _ := op.Attr("order").(*ir.DenseArrayAttr)
	if order == nil || len(order.Values) != len(src.Shape) || len(dst.Shape) != len(src.Shape) {
		return fmt.Errorf("source, order and result must have the same rank")
	}
	seen := make([]bool, len(src.Shape))
	for d, from := range order.Values {
		if from < 0 || int(from) >= len(seen) || seen[from] {
			return fmt.Errorf("order must be a permutation of 0 to %d", len(seen)-1)
		}
		seen[from] = true
		if dst.Shape[d] != src.Shape[from] {
			return fmt.Errorf("result shape %v must be the source's %v in the given order", dst.Shape, src.Shape)
		}
	}
	return verifyPart(op)
}

func verifyMemDescReshape(op *ir.Operation) error {
	size := func(shape []int64) int64 {
		n := int64(1)
		for _, s := range shape {
			n *= s
		}
		return n
	}
	if src, dst := buffer(op.Operand(0)), buffer(op.Result(0)); size(src.Shape) != size(dst.Shape) {
		return fmt.Errorf("source shape %v and result shape %v must have the same number of elements", src.Shape, dst.Shape)
	}
	return verifyPart(op)
}

func verifyAsyncCopy(op *ir.Operation) error {
	src, dst := op.GroupOne(0), op.GroupOne(1)
	if err := writable(dst); err != nil {
		return err
	}
	t, ok := src.Type().(*ir.TensorType)
	if !ok {
		return fmt.Errorf("source must be a tensor of pointers")
	}
	ptr, ok := t.Elem.(*tt.PtrType)
	if !ok || ptr.Pointee != buffer(dst).Elem {
		return fmt.Errorf("source must point to elements of the destination's type")
	}
	if !slices.Equal(t.Shape, buffer(dst).Shape) {
		return fmt.Errorf("source shape %v must match destination shape %v", t.Shape, buffer(dst).Shape)
	}
	for i, what := range []string{"mask", "other"} {
		v := op.GroupOne(2 + i)
		if v == nil {
			continue
		}
		if m, ok := v.Type().(*ir.TensorType); !ok || m.Encoding != t.Encoding || !slices.Equal(m.Shape, t.Shape) {
			return fmt.Errorf("%s must have the source's shape and layout", what)
		}
	}
	return nil
}

func verifyAsyncWait(op *ir.Operation) error {
	if n, _ := op.IntAttr("num"); n < 0 {
		return fmt.Errorf("num must not be negative")
	}
	return nil
}

func verifyFp4ToFp(op *ir.Operation) error {
	src, dst := op.Operand(0).Type().(*ir.TensorType), op.Result(0).Type().(*ir.TensorType)
	axis, _ := op.IntAttr("axis")
	if axis < 0 || int(axis) >= len(src.Shape) || len(dst.Shape) != len(src.Shape) {
		return fmt.Errorf("axis %d is not a dimension of both source and result", axis)
	}
	for d, n := range src.Shape {
		if int64(d) == axis {
			n *= 2
		}
		if dst.Shape[d] != n {
			return fmt.Errorf("result shape %v must be the source's %v with axis %d doubled", dst.Shape, src.Shape, axis)
		}
	}
	if i, ok := src.Elem.(*ir.IntegerType); !ok || i.Width != 8 {
		return fmt.Errorf("source must have elements of i8")
	}
	if f, ok := dst.Elem.(*ir.FloatType); !ok || f.Kind != ir.F16 && f.Kind != ir.BF16 {
		return fmt.Errorf("result must have elements of f16 or bf16")
	}
	return nil
}

func verifyGlobalScratchAlloc(op *ir.Operation) error {
	size, _ := op.IntAttr("nbytes")
	alignment, _ := op.IntAttr("alignment")
	if size < 0 || alignment < 1 || alignment&(alignment-1) != 0 {
		return fmt.Errorf("nbytes must not be negative and alignment must be a power of two, not %d and %d", size, alignment)
	}
	return nil
}
