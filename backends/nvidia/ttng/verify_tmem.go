//lint:file-ignore ST1005 these messages are Triton's, word for word

package ttng

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// mmaKind is the kind of tcgen05.mma for operands of type t, and the types that
// its accumulator can have; "" if there is none.
func mmaKind(t ir.Type) (kind string, accumulators []ir.FloatKind) {
	f, ok := t.(*ir.FloatType)
	switch {
	case ir.IsInt(t, 8), isFP8(t):
		return "f8f6f4", []ir.FloatKind{ir.F16, ir.F32} // i8 holds pairs of 4-bit floats
	case !ok:
		return "", nil
	case f.Kind == ir.F32:
		return "tf32", []ir.FloatKind{ir.F32}
	case f.Kind == ir.F16:
		return "f16", []ir.FloatKind{ir.F16, ir.F32}
	case f.Kind == ir.BF16:
		return "f16", []ir.FloatKind{ir.F32}
	}
	return "", nil
}

// Multiplies reports whether tcgen05.mma multiplies elements of types a and b, and adds
// up elements of type d. Elements i8 are pairs of 4-bit floats.
func Multiplies(a, b, d ir.Type) bool { return verifyMMATypes(a, b, d) == nil }

func verifyMMATypes(a, b, d ir.Type) error {
	aKind, forA := mmaKind(a)
	bKind, forB := mmaKind(b)
	switch {
	case aKind == "":
		return fmt.Errorf("unsupported LHS operand dtype: %s", typeName(a))
	case bKind == "":
		return fmt.Errorf("unsupported RHS operand dtype: %s", typeName(b))
	case aKind != bKind:
		return fmt.Errorf("LHS and RHS operand dtypes kinds don't match: LHS kind is %s but RHS kind is %s", aKind, bKind)
	}
	f, ok := d.(*ir.FloatType)
	if !ok || !slices.Contains(forA, f.Kind) || !slices.Contains(forB, f.Kind) {
		return fmt.Errorf("unsupported accumulator dtype for operand types '%s' and '%s', accumulator dtype is '%s' but must be one of %s", typeName(a), typeName(b), typeName(d), quoted(forA))
	}
	return nil
}

// quoted lists types as Triton's messages do: ['f16', 'f32'].
func quoted(kinds []ir.FloatKind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, "'"+k.String()+"'")
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func verifyBarriers(barriers, preds []*ir.Value, async bool) error {
	if len(barriers) > 0 && !async {
		return fmt.Errorf("the op is synchronous but a barrier is present")
	}
	if len(barriers) != len(preds) {
		return fmt.Errorf("has %d barriers, but %d predicates of barriers", len(barriers), len(preds))
	}
	for _, b := range barriers {
		if err := verifyBarrier(b); err != nil {
			return err
		}
	}
	return nil
}

// split is how many CTAs share each dimension of a buffer.
func split(m *ttg.MemDescType) [2]int64 {
	if e := tensorMemory(m, matrixEncoding); e != nil {
		return [2]int64{e.Int("CTASplitM"), e.Int("CTASplitN")}
	}
	switch l := sharedLayout(m).(type) {
	case *layout.NVMMAShared:
		return ctaSplit(l.CGA)
	case *layout.SharedLinear:
		return ctaSplit(l.Block)
	}
	return [2]int64{1, 1}
}

func verifyMMA(op *ir.Operation) error {
	v := AsTcGen5Mma(op)
	if err := verifyBarriers(v.Barriers(), v.BarrierPreds(), v.IsAsync()); err != nil {
		return err
	}
	a, b, d := buffer(v.A()), buffer(v.B()), buffer(v.D())
	if err := verifyMMATypes(a.Elem, b.Elem, d.Elem); err != nil {
		return err
	}
	left, result := tensorMemory(a, matrixEncoding), tensorMemory(d, matrixEncoding)
	if left == nil && !isWGMMAShared(sharedLayout(a)) {
		return fmt.Errorf("LHS operand must have a NVMMAShared or TensorMemory encoding")
	}
	if !isWGMMAShared(sharedLayout(b)) {
		return fmt.Errorf("RHS operand must have a NVMMAShared encoding")
	}
	if result == nil {
		return fmt.Errorf("return operand must have a TensorMemory encoding")
	}
	if left != nil && left.Int("colStride") != 1 {
		return fmt.Errorf("the col stride of the LHS operand must be 1, not %d", left.Int("colStride"))
	}
	if got, width := result.Int("colStride"), bits(d.Elem); got != int64(32/width) {
		return fmt.Errorf("the col stride of the return operand must be 32 / %d but got %d", width, got)
	}
	if err := verifyDotShapes(a.Shape, b.Shape, d.Shape); err != nil {
		return err
	}
	if !v.TwoCtas() {
		return nil
	}
	for _, c := range []struct {
		what      string
		have, one [2]int64
	}{
		{"LHS", split(a), [2]int64{2, 1}},
		{"RHS", split(b), [2]int64{1, 2}},
		{"returned value", split(d), [2]int64{2, 1}},
	} {
		if c.have != c.one {
			return fmt.Errorf("the op is two CTAs but the split num of the %s is not %v: got %v", c.what, c.one, c.have)
		}
	}
	if !result.Bool("twoCTAs") {
		return fmt.Errorf("the returned value's encoding must have twoCTAs = true to be used in a matmul of two CTAs")
	}
	if left != nil && !left.Bool("twoCTAs") {
		return fmt.Errorf("the LHS operand's encoding must have twoCTAs = true to be used in a matmul of two CTAs")
	}
	return nil
}

func verifyMMAScaled(op *ir.Operation) error {
	v := AsTcGen5MmaScaled(op)
	if err := verifyBarriers(v.Barriers(), v.BarrierPreds(), v.IsAsync()); err != nil {
		return err
	}
	a, b, d := buffer(v.A()), buffer(v.B()), buffer(v.D())
	if err := verifyMMATypes(a.Elem, b.Elem, d.Elem); err != nil {
		return err
	}
	if len(a.Shape) != 2 || len(b.Shape) != 2 || len(d.Shape) != 2 {
		return fmt.Errorf("operands and result must be 2D")
	}
	// Two 4-bit floats of a byte are neighbours along K, or along the other
	// dimension where that one is contiguous in shared memory.
	m, k, kOfB, n := a.Shape[0], a.Shape[1], b.Shape[0], b.Shape[1]
	if v.AType() == e2m1 {
		if transposed(a) {
			m *= 2
		} else {
			k *= 2
		}
	}
	if v.BType() == e2m1 {
		if tensor := sharedLayout(b); tensor != nil && !transposed(b) {
			n *= 2
		} else {
			kOfB *= 2
		}
	}
	if k != kOfB {
		return fmt.Errorf("operands have %d and %s along K", k, diag.Count(kOfB, "element"))
	}
	if m != d.Shape[0] || n != d.Shape[1] {
		return fmt.Errorf("result shape %v must be %v", d.Shape, []int64{m, n})
	}
	return nil
}

// maxColumns is how many columns of 32 bits tensor memory has.
const maxColumns = 512

// e2m1 is the case of enum scaleType for floats of 4 bits.
const e2m1 = 4

func transposed(m *ttg.MemDescType) bool {
	l, ok := sharedLayout(m).(*layout.NVMMAShared)
	return ok && l.Transposed
}

// verifyRegisters checks the tensor of a load or store of tensor memory.
func verifyRegisters(what string, t *ir.TensorType, m *ttg.MemDescType) error {
	if len(t.Shape) != 2 {
		return fmt.Errorf("%s must be a 2D tensor", what)
	}
	if t.Elem != m.Elem {
		return fmt.Errorf("source element type and destination element type must match: %s and %s", typeName(t.Elem), typeName(m.Elem))
	}
	if !slices.Equal(t.Shape, m.Shape) {
		return fmt.Errorf("shape %v of the tensor must match shape %v of the buffer", t.Shape, m.Shape)
	}
	return nil
}

// inTMem checks that a buffer has a layout of tensor memory, and is there.
func inTMem(m *ttg.MemDescType) error {
	if tensorMemory(m, matrixEncoding) == nil && tensorMemory(m, scalesEncoding) == nil {
		return fmt.Errorf("should use tensor memory encoding")
	}
	if !inTensorMemory(m) {
		return fmt.Errorf("the buffer must be in tensor memory")
	}
	return nil
}

func verifyTensorMemoryAlloc(op *ir.Operation) error {
	v := AsTmemAlloc(op)
	m := buffer(v.Result())
	if err := inTMem(m); err != nil {
		return err
	}
	if !slices.Equal(m.Shape, m.AllocShape) {
		return fmt.Errorf("result shape and its alloc shape must match")
	}
	if src := v.Src(); src != nil {
		return verifyRegisters("source", src.Type().(*ir.TensorType), m)
	}
	if !m.Mutable {
		return fmt.Errorf("uninitialized alloc must have a mutable memdesc type")
	}
	return nil
}

func verifyTensorMemoryLoad(op *ir.Operation) error {
	v := AsTmemLoad(op)
	m := buffer(v.Src())
	if !inTensorMemory(m) {
		return fmt.Errorf("source must be a tensor memory buffer")
	}
	if tensorMemory(m, matrixEncoding) == nil {
		return fmt.Errorf("should use tensor memory encoding")
	}
	return verifyRegisters("result", v.Result().Type().(*ir.TensorType), m)
}

func verifyTensorMemoryStore(op *ir.Operation) error {
	v := AsTmemStore(op)
	m := buffer(v.Dst())
	if err := inTMem(m); err != nil {
		return err
	}
	if !m.Mutable {
		return fmt.Errorf("Cannot store into an immutable alloc")
	}
	return verifyRegisters("source", v.Src().Type().(*ir.TensorType), m)
}

func verifyTensorMemorySubslice(op *ir.Operation) error {
	v := AsTmemSubslice(op)
	src, dst := buffer(v.Src()), buffer(v.Result())
	a, b := tensorMemory(src, matrixEncoding), tensorMemory(dst, matrixEncoding)
	switch {
	case a == nil:
		return fmt.Errorf("the source must be a tensor memory buffer")
	case b == nil:
		return fmt.Errorf("the destination must be a tensor memory buffer")
	case src.Elem != dst.Elem:
		return fmt.Errorf("source and result must have the same element type")
	case len(src.Shape) != 2 || len(dst.Shape) != 2 || src.Shape[0] != dst.Shape[0]:
		return fmt.Errorf("a part of a buffer has all its rows: %v is not part of %v", dst.Shape, src.Shape)
	case dst.Shape[1] > src.Shape[1]:
		return fmt.Errorf("%s are not part of %d", diag.Count(dst.Shape[1], "column"), src.Shape[1])
	case v.N() < 0 || (v.N()+dst.Shape[1])*int64(bits(src.Elem)) > maxColumns*32:
		// Beyond the buffer, which Triton allows, there may be others.
		return fmt.Errorf("%s from %d on are not in tensor memory", diag.Count(dst.Shape[1], "column"), v.N())
	}
	for _, name := range []string{"blockM", "CTASplitM", "CTASplitN", "colStride"} {
		if a.Int(name) != b.Int(name) {
			return fmt.Errorf("the destination must have the same block size and CTASplit size as the source: %s is %d, not %d", name, b.Int(name), a.Int(name))
		}
	}
	return nil
}

func verifyTensorMemoryCopy(op *ir.Operation) error {
	v := AsTmemCopy(op)
	src, dst := buffer(v.Src()), buffer(v.Dst())
	if !inShared(src) {
		return fmt.Errorf("the source must be a shared memory buffer")
	}
	if b := v.Barrier(); b != nil {
		if err := verifyBarrier(b); err != nil {
			return err
		}
	}
	if !dst.Mutable {
		return fmt.Errorf("Cannot copy into an immutable alloc")
	}
	if err := inTMem(dst); err != nil {
		return err
	}
	nvmma, _ := sharedLayout(src).(*layout.NVMMAShared)
	if nvmma != nil && (nvmma.Transposed || nvmma.FP4Padded) {
		return fmt.Errorf("the source should not be transposed or padded")
	}
	if tensorMemory(dst, scalesEncoding) != nil {
		if nvmma != nil && nvmma.SwizzlingByteWidth != 0 {
			return fmt.Errorf("the source should not be swizzled")
		}
		return nil // any shape of the blocks of scales
	}
	switch {
	case !slices.Equal(src.Shape, dst.Shape):
		return fmt.Errorf("source shape %v must match destination shape %v", src.Shape, dst.Shape)
	case tensorMemory(dst, matrixEncoding).Int("blockM") != 128:
		return fmt.Errorf("the layout in tensor memory should have blockM = 128")
	case nvmma != nil && nvmma.SwizzlingByteWidth == 0:
		return fmt.Errorf("source layout should be swizzled")
	case bits(src.Elem) != 32:
		return fmt.Errorf("source element type should be 32-bit")
	}
	return nil
}
