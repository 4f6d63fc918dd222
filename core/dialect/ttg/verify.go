package ttg

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
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
	v := AsLocalAlloc(op)
	t := buffer(v.Result())
	if n, ok := v.Alignment(); ok && (n < 1 || n&(n-1) != 0) {
		return fmt.Errorf("alignment must be a power of two, not %d", n)
	}
	if !slices.Equal(t.Shape, t.AllocShape) {
		return fmt.Errorf("result shape and its alloc shape must match")
	}
	if v.Src() != nil {
		return sameContent(v.Src().Type(), t)
	}
	if !t.Mutable {
		return fmt.Errorf("uninitialized alloc must have a mutable memdesc type")
	}
	return nil
}

func verifyLocalLoad(op *ir.Operation) error {
	v := AsLocalLoad(op)
	return sameContent(v.Src().Type(), v.Result().Type())
}

func verifyLocalStore(op *ir.Operation) error {
	v := AsLocalStore(op)
	if err := writable(v.Dst()); err != nil {
		return err
	}
	return sameContent(v.Src().Type(), v.Dst().Type())
}

// verifyView checks what all views of a buffer have in common with it.
func verifyView(src, dst *MemDescType) error {
	switch {
	case src.Space != dst.Space:
		return fmt.Errorf("source and result must be in the same memory")
	case src.Mutable != dst.Mutable:
		return fmt.Errorf("source and result must both be mutable or neither")
	}
	return nil
}

// verifyPart is verifyView for views of the same elements.
func verifyPart(src, dst *MemDescType) error {
	if src.Elem != dst.Elem {
		return fmt.Errorf("source and result must have the same element type")
	}
	return verifyView(src, dst)
}

func verifyMemDescReinterpret(op *ir.Operation) error {
	v := AsMemDescReinterpret(op)
	return verifyView(buffer(v.Src()), buffer(v.Result()))
}

func verifyMemDescIndex(op *ir.Operation) error {
	v := AsMemDescIndex(op)
	src, dst := buffer(v.Src()), buffer(v.Result())
	if len(src.Shape) < 2 || !slices.Equal(src.Shape[1:], dst.Shape) {
		return fmt.Errorf("result shape %v must be that of the source %v without its first dimension", dst.Shape, src.Shape)
	}
	if src.Encoding != dst.Encoding && (!isShared(src.Encoding) || !isShared(dst.Encoding)) {
		return fmt.Errorf("source and result must have the same layout")
	}
	if i, ok := constantOf(v.Index()); ok && (i < 0 || i >= src.Shape[0]) {
		return fmt.Errorf("index %d is outside 0 to %d", i, src.Shape[0]-1)
	}
	return verifyPart(src, dst)
}

// constantOf is the value of a scalar integer constant.
func constantOf(v *ir.Value) (int64, bool) {
	if v.Def() == nil || v.Def().Name() != "arith.constant" {
		return 0, false
	}
	k, ok := v.Def().ConstantValue().(*ir.IntegerAttr)
	if !ok {
		return 0, false
	}
	return k.Value, true
}

func verifyMemDescSubslice(op *ir.Operation) error {
	v := AsMemDescSubslice(op)
	src, dst, offsets := buffer(v.Src()), buffer(v.Result()), v.Offsets()
	if len(offsets) != len(src.Shape) || len(dst.Shape) != len(src.Shape) {
		return fmt.Errorf("source, offsets and result must have the same rank")
	}
	for d, n := range dst.Shape {
		if at := offsets[d]; at < 0 || at+n > src.Shape[d] {
			return fmt.Errorf("dimension %d: %s from %d on are not part of %d", d, diag.Count(n, "element"), at, src.Shape[d])
		}
	}
	if src.Encoding != dst.Encoding {
		return fmt.Errorf("source and result must have the same layout")
	}
	return verifyPart(src, dst)
}

// isShared reports whether an encoding is one of shared memory.
func isShared(encoded ir.Attribute) bool {
	a, ok := encoded.(*encoding.Attr)
	if !ok {
		return false
	}
	_, ok = a.Layout.(layout.Shared)
	return ok
}

func verifyMemDescTrans(op *ir.Operation) error {
	v := AsMemDescTrans(op)
	src, dst, order := buffer(v.Src()), buffer(v.Result()), v.Order()
	if len(order) != len(src.Shape) || len(dst.Shape) != len(src.Shape) {
		return fmt.Errorf("source, order and result must have the same rank")
	}
	seen := make([]bool, len(src.Shape))
	for d, from := range order {
		if from < 0 || int(from) >= len(seen) || seen[from] {
			return fmt.Errorf("order must be a permutation of 0 to %d", len(seen)-1)
		}
		seen[from] = true
		if dst.Shape[d] != src.Shape[from] {
			return fmt.Errorf("result shape %v must be the source's %v in the given order", dst.Shape, src.Shape)
		}
	}
	return verifyPart(src, dst)
}

func verifyMemDescReshape(op *ir.Operation) error {
	size := func(shape []int64) int64 {
		n := int64(1)
		for _, s := range shape {
			n *= s
		}
		return n
	}
	v := AsMemDescReshape(op)
	src, dst := buffer(v.Src()), buffer(v.Result())
	if size(src.Shape) != size(dst.Shape) {
		return fmt.Errorf("source shape %v and result shape %v must have the same number of elements", src.Shape, dst.Shape)
	}
	return verifyPart(src, dst)
}

func verifyAsyncCopy(op *ir.Operation) error {
	copied := AsAsyncCopy(op)
	src, dst := copied.Src(), copied.Result()
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
	fits := func(v *ir.Value) bool {
		m, ok := v.Type().(*ir.TensorType)
		return ok && m.Encoding == t.Encoding && slices.Equal(m.Shape, t.Shape)
	}
	if v := copied.Mask(); v != nil && !fits(v) {
		return fmt.Errorf("mask must have the source's shape and layout")
	}
	if v := copied.Other(); v != nil && !fits(v) {
		return fmt.Errorf("other must have the source's shape and layout")
	}
	return nil
}

func verifyAsyncWait(op *ir.Operation) error {
	if AsAsyncWait(op).Num() < 0 {
		return fmt.Errorf("num must not be negative")
	}
	return nil
}

func verifyFp4ToFp(op *ir.Operation) error {
	v := AsFp4ToFp(op)
	src, dst, axis := v.Src().Type().(*ir.TensorType), v.Result().Type().(*ir.TensorType), v.Axis()
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
	size, alignment := AsGlobalScratchAlloc(op).Nbytes(), AsGlobalScratchAlloc(op).Alignment()
	if size < 0 || alignment < 1 || alignment&(alignment-1) != 0 {
		return fmt.Errorf("nbytes must not be negative and alignment must be a power of two, not %d and %d", size, alignment)
	}
	return nil
}

// verifyWarpSpecialize checks that the regions fit what is said of them.
func verifyWarpSpecialize(op *ir.Operation) error {
	v := AsWarpSpecialize(op)
	holder := v.PartitionOpHolder().First()
	if holder == nil || holder.First() == nil || !holder.First().Is(WarpSpecializePartitions) || holder.First() != holder.Last() {
		return fmt.Errorf("needs a region that holds the partitions alone")
	}
	parts, warps := Partitions(op), v.PartitionNumWarps()
	if len(warps) != len(parts) {
		return fmt.Errorf("has %s and the numbers of warps of %d", diag.Count(len(parts), "partition"), len(warps))
	}
	for _, n := range warps {
		if n < 1 || n&(n-1) != 0 {
			return fmt.Errorf("partitions have a power of two of warps, not %d", n)
		}
	}
	for _, a := range []struct {
		name string
		list []int64
		want int
		of   string
	}{
		{"warpGroupStartIds", v.WarpGroupStartIds(), len(parts), "one for each partition"},
		{"requestedRegisters", v.RequestedRegisters(), len(parts), "one for each partition"},
		{"actualRegisters", v.ActualRegisters(), len(parts) + 1, "one for the default region and one for each partition"},
	} {
		if a.list != nil && len(a.list) != a.want {
			return fmt.Errorf("%s has %s, and needs %d, %s", a.name, diag.Count(len(a.list), "number"), a.want, a.of)
		}
	}
	captures := v.ExplicitCaptures()
	for i, r := range parts {
		if r.Empty() {
			return fmt.Errorf("partition %d is empty", i)
		}
		args := r.First().Args()
		if len(args) != len(captures) {
			return fmt.Errorf("partition %d takes %s, and %d are captured", i, diag.Count(len(args), "value"), len(captures))
		}
		for k, a := range args {
			if a.Type() != captures[k].Type() {
				return fmt.Errorf("argument %d of partition %d has another type than what is captured", k, i)
			}
		}
		if err := verifyEnds(r, WarpReturn, nil); err != nil {
			return err
		}
	}
	return verifyEnds(v.DefaultRegion(), WarpYield, op.Results())
}

// verifyEnds checks that a region is left by operations of one kind alone, with values
// of the types of results.
func verifyEnds(r *ir.Region, def *ir.OpDef, results []*ir.Value) error {
	if r.Empty() {
		return fmt.Errorf("a region is empty, and ends in %s", def.Name)
	}
	for b := range r.Blocks() {
		end := b.Terminator()
		switch {
		case end == nil || len(end.Successors()) > 0:
			continue
		case !end.Is(def):
			return fmt.Errorf("a region ends in %s, and should in %s", end.Name(), def.Name)
		case end.NumOperands() != len(results):
			return fmt.Errorf("yields %s, and has %s", diag.Count(end.NumOperands(), "value"), diag.Count(len(results), "result"))
		}
		for i, v := range end.OperandValues() {
			if v.Type() != results[i].Type() {
				return fmt.Errorf("yields a value of another type than result %d", i)
			}
		}
	}
	return nil
}
