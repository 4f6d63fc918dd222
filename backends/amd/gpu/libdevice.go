package gpu

import (
	stdmath "math"
	"strings"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower/devmath"
)

// The functions of ROCm's device libraries are lowered here, so that their bitcode is not
// needed: by an instruction, an intrinsic of LLVM or a function of package devmath. Symbols
// are __ocml_X_f32 and __ocml_X_f64, and for a few __triton_hip_X.

// Library lowers a call of a function of the library for one element; nil if it is not
// here. Operands have the types of the library's signature.
func Library(b *llir.Builder, symbol string, x []llir.Value) llir.Value {
	if len(x) == 0 {
		return nil
	}
	if f := bySymbol[symbol]; f != nil {
		return f(b, x)
	}
	name, typ, ok := strings.Cut(strings.TrimPrefix(symbol, "__ocml_"), "_f")
	if !ok || !strings.HasPrefix(symbol, "__ocml_") || x[0].Type() != floats[typ] {
		return nil
	}
	if f := predicates[name]; f != nil && len(x) == 1 {
		return f(b, x[0])
	}
	if to, ok := intrinsics[name]; ok {
		return overloaded(b, to, x...)
	}
	if renamed, ok := devmathNames[name]; ok {
		name = renamed
	}
	switch args := len(x); {
	case name == "div_rte" && args == 2:
		return b.Binary(llir.FDiv, x[0], x[1], 0)
	case name == "pown" && args == 2:
		return devmath.Powi(b, x[:1], x[1:])[0]
	case (name == "ldexp" || name == "scalbn") && args == 2:
		return devmath.Ldexp(b, x[0], x[1])
	case name == "ilogb" && args == 1:
		return devmath.Ilogb(b, x[0])
	}
	if f := approximations.Find(name); f != nil && f.Args == len(x) {
		return f.Build(b, x...)
	}
	return nil
}

// floats are the types at the end of symbols.
var floats = map[string]llir.Type{"32": llir.F32, "64": llir.F64}

// approximations are instructions: the errors of those of f32 are below one unit in the
// last place, and v_rcp_f64 gives 23 bits at least.
var approximations = &devmath.Approx{
	Exp2:        func(b *llir.Builder, x llir.Value) llir.Value { return f32(b, "llvm.amdgcn.exp2.f32", x) },
	Inverse:     func(b *llir.Builder, x llir.Value) llir.Value { return f32(b, "llvm.amdgcn.rcp.f32", x) },
	InverseRoot: func(b *llir.Builder, x llir.Value) llir.Value { return f32(b, "llvm.amdgcn.rsq.f32", x) },
	InverseDouble: func(b *llir.Builder, x llir.Value) llir.Value {
		return b.Call(b.M.Declare("llvm.amdgcn.rcp.f64", llir.Pure, llir.F64, llir.F64), x)
	},
}

// intrinsics of LLVM with the function's own operands.
var intrinsics = map[string]string{
	"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "nearbyint": "rint", "round": "round",
	"sqrt": "sqrt", "sqrt_rte": "sqrt", "fma": "fma", "fma_rte": "fma", "copysign": "copysign",
}

// devmathNames are functions that package devmath has by another name.
var devmathNames = map[string]string{
	"i0": "cyl_bessel_i0", "i1": "cyl_bessel_i1", "ncdf": "normcdf", "ncdfinv": "normcdfinv",
	"len3": "norm3d", "len4": "norm4d", "rlen3": "rnorm3d", "rlen4": "rnorm4d",
}

// predicates are i32s, zero or one.
var predicates = map[string]func(b *llir.Builder, x llir.Value) llir.Value{
	"isnan": func(b *llir.Builder, x llir.Value) llir.Value {
		return b.ZExt(b.FCmp(enum.FPredUNO, x, x), llir.I32)
	},
	"isinf": func(b *llir.Builder, x llir.Value) llir.Value {
		return b.ZExt(b.FCmp(enum.FPredOEQ, overloaded(b, "fabs", x), infinity(b, x)), llir.I32)
	},
	"isfinite": func(b *llir.Builder, x llir.Value) llir.Value {
		return b.ZExt(b.FCmp(enum.FPredOLT, overloaded(b, "fabs", x), infinity(b, x)), llir.I32)
	},
	"signbit": func(b *llir.Builder, x llir.Value) llir.Value {
		w := llir.Width(x.Type())
		return b.Resize(b.LShr(b.BitCast(x, llir.IntN(w)), w-1), llir.I32, false)
	},
}

func infinity(b *llir.Builder, x llir.Value) llir.Value {
	return b.M.Float(x.Type(), stdmath.Inf(1))
}

type lowering = func(b *llir.Builder, x []llir.Value) llir.Value

// bySymbol are functions by their full symbol.
var bySymbol = map[string]lowering{
	"__triton_hip_iabs": func(b *llir.Builder, x []llir.Value) llir.Value {
		return overloaded(b, "abs", x[0], b.M.Bool(false))
	},
	"__triton_hip_fabs": func(b *llir.Builder, x []llir.Value) llir.Value { return overloaded(b, "fabs", x[0]) },
	"__triton_hip_llrint": func(b *llir.Builder, x []llir.Value) llir.Value {
		return saturated(b, overloaded(b, "rint", x[0]))
	},
	"__triton_hip_fast_fdividef": func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Binary(llir.FMul, x[0], f32(b, "llvm.amdgcn.rcp.f32", x[1]), 0)
	},
	"__triton_hip_fast_expf":  scaledExp(stdmath.Log2E),
	"__triton_hip_fast_tanhf": fastTanh,
	"__ocml_native_exp10_f32": scaledExp(3.32192809488736234787), // log2(10)
	"__ocml_native_log_f32":   scaledLog(stdmath.Ln2),
	"__ocml_native_log2_f32":  scaledLog(1),
	"__ocml_native_log10_f32": scaledLog(stdmath.Ln2 / stdmath.Ln10),
	"__ocml_native_sin_f32":   revolving("llvm.amdgcn.sin.f32"),
	"__ocml_native_cos_f32":   revolving("llvm.amdgcn.cos.f32"),
	"__ocml_exp2_f32":         same("llvm.exp2.f32"),
	"__ocml_log_f32":          same("llvm.log.f32"),
	"__ocml_log2_f32":         same("llvm.log2.f32"),
	"__ocml_log10_f32":        same("llvm.log10.f32"),
	"__ocml_rsqrt_f32":        inverseRoot,
}

func same(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return f32(b, name, x[0]) }
}

// scaledExp is 2 to the power x·scale, denormals taken for zero.
func scaledExp(scale float64) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value {
		return f32(b, "llvm.amdgcn.exp2.f32", b.Binary(llir.FMul, x[0], b.M.Float(llir.F32, scale), 0))
	}
}

// scaledLog is the logarithm of x to base 2 times scale, denormals taken for zero.
func scaledLog(scale float64) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Binary(llir.FMul, f32(b, "llvm.amdgcn.log.f32", x[0]), b.M.Float(llir.F32, scale), 0)
	}
}

// revolving is a function of the angle x by an instruction that takes revolutions, reduced
// to one before, for which some chips need it.
func revolving(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value {
		turns := b.Binary(llir.FMul, x[0], b.M.Float(llir.F32, 0.5/stdmath.Pi), 0)
		return f32(b, name, f32(b, "llvm.amdgcn.fract.f32", turns))
	}
}

// fastTanh is 1 - 2/(e^2|x| + 1) with the sign of x: off by 2^-22 of one.
func fastTanh(b *llir.Builder, x []llir.Value) llir.Value {
	one := b.M.Float(llir.F32, 1)
	grown := scaledExp(2*stdmath.Log2E)(b, []llir.Value{overloaded(b, "fabs", x[0])})
	inverse := f32(b, "llvm.amdgcn.rcp.f32", b.Binary(llir.FAdd, grown, one, 0))
	y := overloaded(b, "fma", inverse, b.M.Float(llir.F32, -2), one)
	return overloaded(b, "copysign", y, x[0])
}

// inverseRoot is 1/√x. v_rsq_f32 takes denormals for zero, so they are scaled before.
func inverseRoot(b *llir.Builder, x []llir.Value) llir.Value {
	num := func(v float64) llir.Value { return b.M.Float(llir.F32, v) }
	tiny := b.FCmp(enum.FPredOLT, x[0], num(0x1p-126))
	y := f32(b, "llvm.amdgcn.rsq.f32", b.Binary(llir.FMul, x[0], b.Select(tiny, num(0x1p24), num(1)), 0))
	return b.Binary(llir.FMul, y, b.Select(tiny, num(0x1p12), num(1)), 0)
}

// saturated converts a whole number to i64; what is beyond becomes the nearest that there
// is, and NaN zero.
func saturated(b *llir.Builder, x llir.Value) llir.Value {
	name := "llvm.fptosi.sat.i64.f64"
	if x.Type() == llir.F32 {
		name = "llvm.fptosi.sat.i64.f32"
	}
	return b.Call(b.M.Declare(name, llir.Pure, llir.I64, x.Type()), x)
}

// overloaded calls LLVM's intrinsic of that name for the type of the first operand.
func overloaded(b *llir.Builder, name string, x ...llir.Value) llir.Value {
	t := x[0].Type()
	params := make([]llir.Type, len(x))
	for i, v := range x {
		params[i] = v.Type()
	}
	suffix := map[llir.Type]string{llir.F32: "f32", llir.F64: "f64"}[t]
	if suffix == "" {
		suffix = t.String()
	}
	return b.Call(b.M.Declare("llvm."+name+"."+suffix, llir.Pure, t, params...), x...)
}
