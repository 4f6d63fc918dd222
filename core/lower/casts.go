package lower

import (
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func castHandlers(h map[*ir.OpDef]handler) {
	h[tt.FpToFp] = on(tt.AsFpToFp, (*emitter).fpToFp)
}

// fpToFp lowers tt.fp_to_fp between the formats that LLVM knows; the 8-bit ones
// are the target's.
func (e *emitter) fpToFp(op tt.FpToFpOp) error {
	from, to := floatKind(op.Src().Type()), floatKind(op.Result().Type())
	if !known(from) || !known(to) {
		return e.foreignFloat(op, from, to)
	}
	if mode, ok := op.Rounding(); ok && mode == tt.RoundTowardZero && to.Width() < from.Width() {
		return pointwise(truncateToward)(e, op.Op)
	}
	cast := llir.FPExt
	if to.Width() < from.Width() {
		cast = llir.FPTrunc
	}
	return pointwise(func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		switch {
		case x[0].Type() == t:
			return x[0]
		case to.Width() == from.Width(): // f16 and bf16 meet in f32
			return e.b.Cast(llir.FPTrunc, e.b.Cast(llir.FPExt, x[0], llir.F32, 0), t, 0)
		}
		return e.b.Cast(cast, x[0], t, 0)
	})(e, op.Op)
}

// foreignFloat has the target convert formats that LLVM does not know.
func (e *emitter) foreignFloat(op tt.FpToFpOp, from, to ir.FloatKind) error {
	mode, ok := op.Rounding()
	if !ok {
		mode = tt.RoundNearestEven
	}
	in := e.value(op.Src())
	if from == to {
		e.set(op.Result(), in)
		return nil
	}
	out := e.m.caps.NarrowFloats.ConvertFloats(e.b, from, to, mode, in)
	if out == nil {
		return fmt.Errorf("this target cannot convert %s to %s", from, to)
	}
	e.set(op.Result(), out)
	return nil
}

// truncateToward rounds toward zero: LLVM's conversion, one step back where it
// went away from zero.
func truncateToward(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
	b := e.b
	w := llir.IntN(llir.Width(t))
	wide := x[0].Type()
	y := b.Cast(llir.FPTrunc, x[0], t, 0)
	grew := b.FCmp(fpredOGT,
		e.intrinsic("fabs", wide, b.Cast(llir.FPExt, y, wide, 0)), e.intrinsic("fabs", wide, x[0]))
	back := b.Sub(b.BitCast(y, w), b.ZExt(grew, w))
	return b.BitCast(back, t)
}

func floatKind(t ir.Type) ir.FloatKind { return ir.ElemOf(t).(*ir.FloatType).Kind }

func known(k ir.FloatKind) bool { return k == ir.F16 || k == ir.BF16 || k == ir.F32 || k == ir.F64 }
