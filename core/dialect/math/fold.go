package math

import (
	"math"

	"github.com/tritonc/tritonc/core/ir"
)

// rounded folds a function of a constant whose result in float64 is exact or
// correctly rounded, so that rounding it again to f32 changes nothing.
func rounded(f func(float64) float64) func(*ir.Operation, []ir.Attribute) []ir.FoldResult {
	return folder(f, ir.F32, ir.F64)
}

// elementary folds a function of f32 constants, which it computes with enough
// bits to spare on every machine.
func elementary(f func(float64) float64) func(*ir.Operation, []ir.Attribute) []ir.FoldResult {
	return folder(f, ir.F32)
}

// folder folds constants and splats of the given formats. What is not a number
// stays for the device.
func folder(f func(float64) float64, kinds ...ir.FloatKind) func(*ir.Operation, []ir.Attribute) []ir.FoldResult {
	return func(op *ir.Operation, consts []ir.Attribute) []ir.FoldResult {
		t := op.OneResult().Type()
		ft, ok := ir.ElemOf(t).(*ir.FloatType)
		if !ok {
			return nil
		}
		known := false
		for _, k := range kinds {
			known = known || k == ft.Kind
		}
		if !known {
			return nil
		}
		value := func(bits uint64) (uint64, bool) {
			v := f(ir.BitsToFloat(ft.Kind, bits))
			return ir.FloatToBits(ft.Kind, v), !math.IsNaN(v)
		}
		c := op.Context()
		switch a := consts[0].(type) {
		case *ir.FloatAttr:
			if v, ok := value(a.Bits); ok {
				return []ir.FoldResult{{Attr: c.FloatBits(ft, v)}}
			}
		case *ir.DenseElementsAttr:
			tensor, ok := t.(*ir.TensorType)
			if !ok || !a.IsSplat() {
				return nil
			}
			if v, ok := value(a.Values[0]); ok {
				return []ir.FoldResult{{Attr: c.DenseSplat(tensor, v)}}
			}
		}
		return nil
	}
}
