package lower

import (
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower/devmath"
)

// inF32 computes narrower formats in f32 and rounds the result.
func inF32(f scalarFunc) scalarFunc {
	return func(e *emitter, op *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		if t != llir.Half && t != llir.BF16 {
			return f(e, op, t, x)
		}
		var wide [4]llir.Value
		for i, v := range x {
			wide[i] = e.b.Cast(llir.FPExt, v, llir.F32, 0)
		}
		y := e.m.caps.Math.Elementwise(e.b, op, llir.F32, wide[:len(x)])
		if y == nil {
			y = f(e, op, llir.F32, wide[:len(x)])
		}
		if y == nil {
			return nil
		}
		return e.b.Cast(llir.FPTrunc, y, t, 0)
	}
}

// device is a scalarFunc of a function of package devmath.
func device(f func(*llir.Builder, llir.Value) llir.Value) scalarFunc {
	return func(e *emitter, _ *ir.Operation, _ llir.Type, x []llir.Value) llir.Value {
		return f(e.b, x[0])
	}
}

func mathHandlers(h map[*ir.OpDef]handler) {
	for def, name := range map[*ir.OpDef]string{
		math.AbsF: "fabs", math.FMA: "fma", math.CopySign: "copysign",
	} {
		h[def] = packable(intrinsic(name))
	}
	for def, name := range map[*ir.OpDef]string{
		math.Floor: "floor", math.Ceil: "ceil", math.Trunc: "trunc", math.Round: "round",
		math.RoundEven: "roundeven", math.Sqrt: "sqrt",
	} {
		h[def] = pointwise(inF32(intrinsic(name)))
	}
	for def, f := range map[*ir.OpDef]func(*llir.Builder, llir.Value) llir.Value{
		math.Exp: devmath.Exp, math.Exp2: devmath.Exp2, math.Log: devmath.Log, math.Log2: devmath.Log2,
		math.Rsqrt: devmath.Rsqrt, math.Sin: devmath.Sin, math.Cos: devmath.Cos,
		math.Tan: devmath.Tan, math.Erf: devmath.Erf, math.Tanh: devmath.Tanh,
		math.ExpM1: devmath.Expm1, math.Log1P: devmath.Log1p, math.Log10: devmath.Log10,
	} {
		h[def] = pointwise(inF32(device(f)))
	}
	h[math.PowF] = pointwise(inF32(func(e *emitter, _ *ir.Operation, _ llir.Type, x []llir.Value) llir.Value {
		return devmath.Pow(e.b, x[0], x[1])
	}))
	h[math.CtPop] = pointwise(intrinsic("ctpop"))
	flagged := func(name string) handler {
		return pointwise(func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
			return e.intrinsic(name, t, x[0], e.m.llvm.Bool(false))
		})
	}
	h[math.AbsI] = flagged("abs")
	h[math.CtLZ] = flagged("ctlz")
	h[math.CtTZ] = flagged("cttz")

	h[tt.PreciseSqrt] = pointwise(inF32(intrinsic("sqrt")))
	h[tt.PreciseDivf] = pointwise(binary(llir.FDiv))
	h[tt.Mulhiui] = pointwise(func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		return e.mulHigh(t, x[0], x[1], false)
	})
	h[tt.Clampf] = pointwise(clamp)
}

// clamp is min(max(x, low), high); NaNs of x pass only when the operation says
// so.
func clamp(e *emitter, op *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
	lo, hi := "maxnum", "minnum"
	if tt.AsClampf(op).PropagateNan() == tt.PropagateAll {
		lo, hi = "maximum", "minimum"
	}
	return e.intrinsic(hi, t, e.intrinsic(lo, t, x[0], x[1]), x[2])
}
