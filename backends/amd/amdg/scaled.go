//lint:file-ignore ST1005 these messages are Triton's, word for word

package amdg

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// scaleGroup is how many numbers have one scale.
const scaleGroup = 32

// Numbers of upcast_mxfp's formats.
const (
	formatE4M3 = 0
	formatE5M2 = 1
	formatE2M1 = 4
)

func verifyUpcastMXFP(op *ir.Operation) error {
	v := AsUpcastMxfp(op)
	x, scale := v.Src().Type().(*ir.TensorType), v.Scale().Type().(*ir.TensorType)
	rank := len(x.Shape)
	switch {
	case !ir.IsInt(x.Elem, 8) && !isFloat(x.Elem, ir.BF16, ir.F16, ir.F8E4M3FN, ir.F8E5M2):
		return fmt.Errorf("element type of the first operand must be bf16/fp16, OCP fp8/bf8 or i8")
	case !ir.IsInt(scale.Elem, 8):
		return fmt.Errorf("element type of the second operand must be uint8")
	case rank != len(scale.Shape) || rank < 2:
		return fmt.Errorf("operands must have the same number of dimensions, at least 2")
	case (x.Encoding == nil) != (scale.Encoding == nil):
		return fmt.Errorf("Expected either both or neither operands to have an encoding")
	}
	packed := int64(1)
	switch v.FpType() {
	case formatE2M1:
		packed = 2
	case formatE4M3, formatE5M2:
	default:
		return fmt.Errorf("NYI: fpType must be E2M1, E4M3, or E5M2")
	}
	if x.Encoding == nil {
		return nil
	}
	dot, ok := encoding.Get(x).(*layout.DotOp)
	if !ok {
		return fmt.Errorf("Expected a DotOperandEncodingAttr for values")
	}
	switch encoding.Get(scale).(type) {
	case *layout.Blocked, *layout.Linear:
	default:
		return fmt.Errorf("Expected a BlockOperandEncoding or LinearOperandEncoding for scales")
	}
	k, mn := rank-1, rank-2
	if dot.OpIdx == 1 {
		k, mn = mn, k
	}
	switch {
	case x.Shape[k] != scaleGroup/packed*scale.Shape[rank-1]:
		return fmt.Errorf("K dimension of first operand must be 16 times larger than last/K dimension of the second operand")
	case rank == 3 && x.Shape[0] != scale.Shape[0]:
		return fmt.Errorf("batch dimension must match between operands")
	case x.Shape[mn] != scale.Shape[rank-2]:
		return fmt.Errorf("M/N dimension must match between operands")
	}
	return nil
}

func isFloat(t ir.Type, kinds ...ir.FloatKind) bool {
	f, ok := t.(*ir.FloatType)
	return ok && slices.Contains(kinds, f.Kind)
}

// verifyScaled checks the types of a scaled upcast's scales and of its result.
func verifyScaled(scale, output *ir.TensorType) error {
	switch {
	case !isFloat(scale.Elem, ir.BF16):
		return fmt.Errorf("scales must be bf16")
	case !isFloat(output.Elem, ir.F16, ir.BF16, ir.F32):
		return fmt.Errorf("the result must be f16, bf16 or f32")
	case !slices.Equal(scale.Shape, output.Shape):
		return fmt.Errorf("scale and output should have the same shape")
	}
	return nil
}

func verifyScaledUpcastFP8(op *ir.Operation) error {
	v := AsScaledUpcastFp8(op)
	if !isFloat(v.Input().Type().(*ir.TensorType).Elem, ir.F8E4M3FN, ir.F8E5M2) {
		return fmt.Errorf("input must be f8E4M3FN or f8E5M2")
	}
	return verifyScaled(v.Scale().Type().(*ir.TensorType), v.Output().Type().(*ir.TensorType))
}

func verifyScaledUpcastFP4(op *ir.Operation) error {
	v := AsScaledUpcastFp4(op)
	input, output := v.Input().Type().(*ir.TensorType), v.Output().Type().(*ir.TensorType)
	if !ir.IsInt(input.Elem, 8) {
		return fmt.Errorf("input must be i8")
	}
	if err := verifyScaled(v.Scale().Type().(*ir.TensorType), output); err != nil {
		return err
	}
	axis := int(v.Axis())
	switch {
	case len(input.Shape) != len(output.Shape):
		return fmt.Errorf("source rank %d != result rank %d", len(input.Shape), len(output.Shape))
	case axis < 0 || axis >= len(input.Shape):
		return fmt.Errorf("axis %d out of range for rank %d", axis, len(input.Shape))
	}
	for i, n := range input.Shape {
		switch m := output.Shape[i]; {
		case i == axis && m != 2*n:
			return fmt.Errorf("axis %d dimension must be 2x source dimension (src=%d, dst=%d)", axis, n, m)
		case i != axis && m != n:
			return fmt.Errorf("dimension %d mismatch (src=%d, dst=%d, axis=%d)", i, n, m, axis)
		}
	}
	return nil
}

func verifyLocalLoadPackedTransposed(op *ir.Operation) error {
	v := AsLocalLoadPackedTranposed(op)
	src, dst := v.Src().Type().(*ttg.MemDescType), v.Result().Type().(*ir.TensorType)
	dot, ok := encoding.Get(dst).(*layout.DotOp)
	if !ok {
		return fmt.Errorf("only works with DotOperandEncodingAttr dst encoding")
	}
	var shared *layout.SwizzledShared
	if a, ok := src.Encoding.(*encoding.Attr); ok {
		shared, _ = a.Layout.(*layout.SwizzledShared)
	}
	if shared == nil {
		return fmt.Errorf("only works with SwizzledSharedEncodingAttr src encoding")
	}
	rank := len(dst.Shape)
	if rank != len(src.Shape) || rank < 2 || rank > 3 {
		return fmt.Errorf("src and result must have the same rank, 2 or 3")
	}
	// The packed dimension is the one that LDS has first: K of neither operand.
	first, second := rank-2, rank-1
	if dot.OpIdx == 1 {
		first, second = second, first
	}
	order := []int{first, second}
	if rank == 3 {
		order = append(order, 0)
	}
	if !slices.Equal(shared.Order, order) {
		return fmt.Errorf("Order of dimensions don't match expected")
	}
	want := slices.Clone(dst.Shape)
	want[first] /= 2
	want[second] *= 2
	if dot.OpIdx == 1 {
		want = slices.Clone(dst.Shape)
		want[rank-2] *= 2
		want[rank-1] /= 2
	}
	if !slices.Equal(src.Shape, want) {
		return fmt.Errorf("Input and output dimensions don't match after packing changes")
	}
	return nil
}
