package lower

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// widenNarrowFloats has arithmetic on floats of eight bits, which no hardware
// does, computed in f32: operands are converted, and the result is rounded to
// nearest. What only moves floats, and conversions between formats, stay.
func widenNarrowFloats(mod *ir.Operation) {
	var found []*ir.Operation
	ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		if computesNarrow(op) {
			found = append(found, op)
		}
		return ir.Advance
	})
	if len(found) == 0 {
		return
	}
	c := mod.Context()
	b := ir.NewBuilder(c)
	for _, op := range found {
		b.At(op)
		for i, v := range op.OperandValues() {
			if isNarrowFloat(v.Type()) {
				op.SetOperand(i, b.Op(tt.FpToFp, []*ir.Value{v}, withF32(c, v.Type())).OneResult())
			}
		}
		r := op.OneResult()
		narrow := r.Type()
		if !isNarrowFloat(narrow) {
			continue // a comparison, or a conversion to integers
		}
		r.SetType(withF32(c, narrow))
		b.SetAfter(op)
		back := b.Create(tt.FpToFp, ir.State{
			Operands: []*ir.Value{r}, Types: []ir.Type{narrow},
			Attrs: []ir.NamedAttr{{Name: "rounding", Attr: c.I32Attr(tt.RoundNearestEven)}},
		})
		r.ReplaceUsesIf(back.OneResult(), func(u *ir.Use) bool { return u.Owner() != back })
	}
}

// computesNarrow reports whether op is arithmetic on floats of eight bits.
func computesNarrow(op *ir.Operation) bool {
	switch op.Def() {
	case arith.Constant, arith.Select, arith.Bitcast, arith.ExtF, arith.TruncF:
		return false
	case tt.Clampf, tt.PreciseDivf, tt.PreciseSqrt:
	default:
		if d := op.Def().Dialect(); d != arith.Dialect.Name && d != math.Dialect.Name {
			return false
		}
	}
	if op.NumResults() != 1 {
		return false
	}
	if isNarrowFloat(op.OneResult().Type()) {
		return true
	}
	for _, v := range op.Operands() {
		if isNarrowFloat(v.Type()) {
			return true
		}
	}
	return false
}

func isNarrowFloat(t ir.Type) bool {
	f, ok := ir.ElemOf(t).(*ir.FloatType)
	return ok && f.Width() == 8
}

// withF32 is t with elements of f32.
func withF32(c *ir.Context, t ir.Type) ir.Type {
	if tensor, ok := t.(*ir.TensorType); ok {
		return c.Tensor(tensor.Shape, c.F32(), tensor.Encoding)
	}
	return c.F32()
}
