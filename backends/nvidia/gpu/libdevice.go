package gpu

import (
	"math"
	"strings"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower/devmath"
)

// The functions of CUDA's libdevice that are lowered here, so that its bitcode
// is not needed: by an instruction, an intrinsic of LLVM or a function of
// package devmath. Symbols are __nv_X for f64 and integers and __nv_Xf for f32.

// libdevice lowers a call of a function of the library; nil if it is not here.
func (t *Target) libdevice(b *llir.Builder, symbol string, result llir.Type, x []llir.Value) llir.Value {
	name, ok := strings.CutPrefix(symbol, "__nv_")
	if !ok || len(x) == 0 {
		return nil
	}
	if f, ok := exactly[name]; ok {
		return f(b, x)
	}
	base := name
	if x[0].Type() == llir.F32 {
		base = strings.TrimSuffix(name, "f")
	}
	if !llir.IsFloat(x[0].Type()) {
		return nil
	}
	if to, ok := intrinsics[base]; ok {
		return overloaded(b, to, x...)
	}
	if f, ok := functions[base]; ok && len(x) == 1 {
		return f(b, x[0])
	}
	switch base {
	case "pow":
		return devmath.Pow(b, x[0], x[1])
	case "fmod":
		return b.Binary(llir.FRem, x[0], x[1], 0)
	}
	return nil
}

// intrinsics of LLVM with the function's own operands.
var intrinsics = map[string]string{
	"fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "nearbyint": "rint",
	"round": "round", "sqrt": "sqrt", "fma": "fma", "copysign": "copysign", "fmin": "minnum", "fmax": "maxnum",
}

// functions of one operand in package devmath.
var functions = map[string]func(*llir.Builder, llir.Value) llir.Value{
	"exp": devmath.Exp, "exp2": devmath.Exp2, "exp10": devmath.Exp10, "expm1": devmath.Expm1,
	"log": devmath.Log, "log2": devmath.Log2, "log10": devmath.Log10, "log1p": devmath.Log1p,
	"sin": devmath.Sin, "cos": devmath.Cos, "tan": devmath.Tan, "asin": devmath.Asin, "acos": devmath.Acos,
	"atan": devmath.Atan, "tanh": devmath.Tanh, "erf": devmath.Erf, "rsqrt": devmath.Rsqrt,
}

// exactly are functions by their full name.
var exactly = map[string]func(b *llir.Builder, x []llir.Value) llir.Value{
	"isnanf": isNaN, "isnand": isNaN,
	"isinff": isInf, "isinfd": isInf,
	"finitef": isFinite, "isfinited": isFinite,
	"signbitf": signBit, "signbitd": signBit,
	"abs":   flagged("abs"),
	"llabs": flagged("abs"),
	"clz":   flagged("ctlz"),
	"clzll": narrowed(flagged("ctlz")),
	"popc":  same("ctpop"), "popcll": narrowed(same("ctpop")),
	"brev": same("bitreverse"), "brevll": same("bitreverse"),
	"umulhi": mulHigh(false), "mulhi": mulHigh(true), "umul64hi": mulHigh(false), "mul64hi": mulHigh(true),
	"byte_perm": func(b *llir.Builder, x []llir.Value) llir.Value {
		f := b.M.Declare("llvm.nvvm.prmt", llir.Pure, llir.I32, llir.I32, llir.I32, llir.I32)
		return b.Call(f, x...)
	},
	"fast_sinf":     approximate("llvm.nvvm.sin.approx.ftz.f"),
	"fast_cosf":     approximate("llvm.nvvm.cos.approx.ftz.f"),
	"fast_log2f":    approximate("llvm.nvvm.lg2.approx.ftz.f"),
	"fast_fdividef": approximate("llvm.nvvm.div.approx.ftz.f"),
	"fast_expf": func(b *llir.Builder, x []llir.Value) llir.Value {
		scaled := b.Binary(llir.FMul, x[0], b.M.Float(llir.F32, math.Log2E), 0)
		return f32(b, "llvm.nvvm.ex2.approx.ftz.f", scaled)
	},
	"fast_logf": func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Binary(llir.FMul, f32(b, "llvm.nvvm.lg2.approx.ftz.f", x...), b.M.Float(llir.F32, math.Ln2), 0)
	},
	"saturatef": func(b *llir.Builder, x []llir.Value) llir.Value { return f32(b, "llvm.nvvm.saturate.f", x...) },
}

// overloaded calls LLVM's intrinsic of that name for the type of the operands.
func overloaded(b *llir.Builder, name string, x ...llir.Value) llir.Value {
	t := x[0].Type()
	params := make([]llir.Type, len(x))
	for i, v := range x {
		params[i] = v.Type()
	}
	suffix := map[llir.Type]string{llir.F32: "f32", llir.F64: "f64", llir.Half: "f16"}[t]
	if suffix == "" {
		suffix = t.String()
	}
	return b.Call(b.M.Declare("llvm."+name+"."+suffix, llir.Pure, t, params...), x...)
}

type lowering = func(b *llir.Builder, x []llir.Value) llir.Value

func same(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return overloaded(b, name, x...) }
}

// flagged are intrinsics with a flag that says that zero, or the least number,
// is no special case.
func flagged(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return overloaded(b, name, x[0], b.M.Bool(false)) }
}

func narrowed(f lowering) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return b.Trunc(f(b, x), llir.I32) }
}

func approximate(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return f32(b, name, x...) }
}

func mulHigh(signed bool) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value {
		w := llir.Width(x[0].Type())
		wide := llir.IntN(2 * w)
		p := b.Mul(b.Resize(x[0], wide, signed), b.Resize(x[1], wide, signed))
		return b.Trunc(b.LShr(p, w), x[0].Type())
	}
}

// Predicates are i32s, zero or one.

func isNaN(b *llir.Builder, x []llir.Value) llir.Value {
	return b.ZExt(b.FCmp(enum.FPredUNO, x[0], x[0]), llir.I32)
}

func isInf(b *llir.Builder, x []llir.Value) llir.Value {
	inf := b.M.Float(x[0].Type(), math.Inf(1))
	return b.ZExt(b.FCmp(enum.FPredOEQ, overloaded(b, "fabs", x[0]), inf), llir.I32)
}

func isFinite(b *llir.Builder, x []llir.Value) llir.Value {
	inf := b.M.Float(x[0].Type(), math.Inf(1))
	return b.ZExt(b.FCmp(enum.FPredOLT, overloaded(b, "fabs", x[0]), inf), llir.I32)
}

func signBit(b *llir.Builder, x []llir.Value) llir.Value {
	w := llir.Width(x[0].Type())
	return b.Resize(b.LShr(b.BitCast(x[0], llir.IntN(w)), w-1), llir.I32, false)
}
