//lint:file-ignore ST1005 these messages are Triton's, word for word

package ttg

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
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
	if _, ok := t.Space.(*SharedMemoryAttr); !ok {
		return fmt.Errorf("should create a buffer of shared memory")
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
	src, dst := buffer(v.Src()), buffer(v.Result())
	if err := verifyView(src, dst); err != nil {
		return err
	}
	has, wants := dense(src, src.AllocShape), dense(dst, dst.Shape)
	if has > 0 && wants > has {
		return fmt.Errorf("result has %.0f bytes, the source only %.0f", wants, has)
	}
	return nil
}

// dense is how many bytes the elements of a shape take in the shared memory of a
// buffer; 0 where they do not lie close together or have no size of their own. It is a
// float64, which holds the product of any shape.
func dense(t *MemDescType, shape []int64) float64 {
	a, ok := t.Encoding.(*encoding.Attr)
	if !ok || !isShared(t.Encoding) {
		return 0
	}
	switch l := a.Layout.(type) {
	case *layout.PaddedShared:
		return 0
	case *layout.NVMMAShared:
		if l.FP4Padded {
			return 0
		}
	}
	n := float64((ir.BitWidth(t.Elem) + 7) / 8)
	for _, d := range shape {
		n *= float64(d)
	}
	return n
}

func verifyMemDescIndex(op *ir.Operation) error {
	v := AsMemDescIndex(op)
	src, dst := buffer(v.Src()), buffer(v.Result())
	if len(src.Shape) < 2 || len(dst.Shape) != len(src.Shape)-1 {
		return fmt.Errorf(msgIndexRank, len(src.Shape)-1, len(dst.Shape))
	}
	if !slices.Equal(src.Shape[1:], dst.Shape) {
		return fmt.Errorf("result shape %v must be that of the source %v without its first dimension", dst.Shape, src.Shape)
	}
	if src.Encoding != dst.Encoding && (!isShared(src.Encoding) || !isShared(dst.Encoding)) {
		return fmt.Errorf("source and result must have the same layout")
	}
	if !slices.Equal(dst.AllocShape, dst.Shape) {
		return errors.New(msgIndexAlloc)
	}
	if i, ok := constantOf(v.Index()); ok && (i < 0 || i >= src.Shape[0]) {
		return fmt.Errorf("index %d is outside 0 to %d", i, src.Shape[0]-1)
	}
	if src.Mutable && !dst.Mutable { // a part that is only read
		readable := *dst
		readable.Mutable = true
		dst = &readable
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
	if err := verifyPart(src, dst); err != nil {
		return err
	}
	return verifySplit(src, dst, offsets)
}

// verifySplit checks that a part of a buffer in shared memory has whole tiles of it,
// and is not cut through what the layout permutes.
func verifySplit(src, dst *MemDescType, offsets []int64) error {
	if !isShared(src.Encoding) || slices.Equal(src.Shape, dst.Shape) {
		return nil
	}
	for d, at := range offsets {
		switch n := dst.Shape[d]; {
		case n == src.Shape[d] && at != 0:
			return errors.New(msgSliceUnsplit)
		case n != src.Shape[d] && at&(n-1) != 0:
			return errors.New(msgSliceTile)
		}
	}
	enc := src.Encoding.(*encoding.Attr).Layout
	if p, ok := enc.(*layout.PaddedShared); ok && p.Rank() < len(src.Shape) {
		return errors.New(msgSlicePadded)
	}
	if enc.Rank() != len(src.Shape) {
		return nil
	}
	if l, err := enc.Linear(src.Shape); err == nil && l.IsSurjective() { // else others say why
		return verifyCut(l, enc, src, dst)
	}
	return nil
}

// SplitsInto reports whether a buffer of type t has parts with n elements of dimension d.
func SplitsInto(t *MemDescType, d int, n int64) bool {
	part := *t
	part.Shape = slices.Clone(t.Shape)
	part.Shape[d] = n
	return verifySplit(t, &part, make([]int64, len(t.Shape))) == nil
}

// verifyCut checks that the dimensions that a part has less of are not permuted by the
// layout l of the whole.
func verifyCut(l layout.Layout, enc layout.Encoding, src, dst *MemDescType) error {
	if l.InSize(layout.Block) != 1 || blocks(enc) > 0 {
		return errors.New(msgSliceBlock)
	}
	inverse := l.PseudoInvert()
	for d, n := range dst.Shape {
		for n = max(n, 1); n < src.Shape[d]; n *= 2 {
			at := make([]int, len(src.Shape))
			at[d] = int(n)
			if o := inverse.Apply(at...)[0]; o&(o-1) != 0 {
				return errors.New(msgSliceSwizzle)
			}
		}
	}
	return nil
}

// blocks is how many bits of the block's rank a layout of shared memory names.
func blocks(e layout.Encoding) int {
	switch e := e.(type) {
	case *layout.SwizzledShared:
		return len(e.CGA)
	case *layout.NVMMAShared:
		return len(e.CGA)
	case *layout.PaddedShared:
		return len(e.CGA) + len(e.Block)
	case *layout.SharedLinear:
		return len(e.Block)
	case *layout.AMDRotatingShared:
		return len(e.CGA)
	}
	return 0
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
	if v := copied.Other(); v != nil && ir.ElemOf(v.Type()) != ptr.Pointee {
		return fmt.Errorf("expects different type than prior uses: other must have the elements that the source points to")
	}
	if v := copied.Mask(); v != nil && !ir.IsInt(ir.ElemOf(v.Type()), 1) {
		return fmt.Errorf("expects different type than prior uses: mask must have elements of type i1")
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
	if AsAsyncWait(op).Num() < -1 {
		return fmt.Errorf("num must not be negative, but for -1")
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
		return errors.New(msgHolder)
	}
	parts, warps := Partitions(op), v.PartitionNumWarps()
	if len(warps) != len(parts) {
		return fmt.Errorf(msgPartitions, len(parts), len(warps))
	}
	for i, n := range warps {
		if n < 1 || n&(n-1) != 0 {
			return fmt.Errorf(msgPartitionWarps, i, n)
		}
	}
	for p := op.Parent(); p != nil; p = p.Parent() {
		if p.Def() == op.Def() {
			return errors.New(msgNested)
		}
	}
	if ids := v.WarpGroupStartIds(); ids != nil && len(ids) != len(parts) {
		return fmt.Errorf(msgStartIDs, len(ids), len(parts))
	}
	for _, a := range []struct {
		name string
		list []int64
		want int
		of   string
	}{
		{"requestedRegisters", v.RequestedRegisters(), len(parts), "one for each partition"},
		{"actualRegisters", v.ActualRegisters(), len(parts) + 1, "one for the default region and one for each partition"},
	} {
		if a.list != nil && len(a.list) != a.want {
			return fmt.Errorf("%s has %s, and needs %d, %s", a.name, diag.Count(len(a.list), "number"), a.want, a.of)
		}
	}
	captures := v.ExplicitCaptures()
	for i, r := range parts {
		args := r.First().Args()
		if len(args) != len(captures) {
			return fmt.Errorf(msgPartitionArgs, i, len(args), len(captures))
		}
		for k, a := range args {
			if a.Type() != captures[k].Type() {
				return fmt.Errorf(msgPartitionArg, i, k, text.TypeString(op.Context(), a.Type()), text.TypeString(op.Context(), captures[k].Type()))
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

// verifyPartitions checks that no partition is empty.
func verifyPartitions(op *ir.Operation) error {
	for i, r := range AsWarpSpecializePartitions(op).PartitionRegions() {
		if r.Empty() {
			return fmt.Errorf(msgEmptyPartition, i)
		}
	}
	return nil
}

// verifyWarpYield checks that the values are those that the operation gives.
func verifyWarpYield(op *ir.Operation) error {
	parent := op.Parent()
	if parent == nil || parent.Name() != "ttg.warp_specialize" { // by name: its table refers to this function
		return nil // which the parent's verifier says
	}
	values, results := AsWarpYield(op).Values(), AsWarpSpecialize(parent).DefaultPassthrough()
	if len(values) != len(results) {
		return fmt.Errorf(msgYieldCount, len(values), len(results))
	}
	for i, v := range values {
		if v.Type() != results[i].Type() {
			return fmt.Errorf(msgYieldType, i, text.TypeString(op.Context(), v.Type()), text.TypeString(op.Context(), results[i].Type()))
		}
	}
	return nil
}
