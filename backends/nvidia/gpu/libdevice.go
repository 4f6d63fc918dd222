package gpu

import (
	"math"
	"strings"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower/devmath"
)

// The functions of CUDA's libdevice that are lowered here, so that its bitcode
// is not needed: by an instruction, an intrinsic of LLVM or a function of
// package devmath. Symbols are __nv_X for f64 and integers and __nv_Xf for f32.

// Elements lowers what is better computed of all elements together: integral powers, by
// one loop for several, and roundings to bf16.
func (t *Target) Elements(b *llir.Builder, op *ir.Operation, x [][]llir.Value) []llir.Value {
	if t.roundsBF16(op, x) {
		return roundBF16(b, x[0])
	}
	if !op.Is(tt.ExternElementwise) || len(x) != 2 {
		return nil
	}
	float := map[string]llir.Type{"__nv_powi": llir.F64, "__nv_powif": llir.F32}[tt.AsExternElementwise(op).Symbol()]
	if float == nil || x[0][0].Type() != float || x[1][0].Type() != llir.I32 {
		return nil
	}
	return devmath.Powi(b, x[0], x[1])
}

// Library lowers a call of a function of the library for one element; nil if it
// is not here. Operands have the types of the library's signature.
func (t *Target) Library(b *llir.Builder, symbol string, result llir.Type, x []llir.Value) llir.Value {
	name, ok := strings.CutPrefix(symbol, "__nv_")
	if !ok || len(x) == 0 {
		return nil
	}
	if f, ok := exactly[name]; ok {
		return f(b, x)
	}
	if v := rounded(b, name, result, x); v != nil {
		return v
	}
	if len(x) == 2 {
		switch name {
		case "jn", "jnf":
			return devmath.Jn(b, x[0], x[1])
		case "yn", "ynf":
			return devmath.Yn(b, x[0], x[1])
		}
	}
	if !llir.IsFloat(x[0].Type()) {
		return nil
	}
	base := name
	if x[0].Type() == llir.F32 { // whose functions end in f
		if base, ok = strings.CutSuffix(name, "f"); !ok {
			return nil
		}
	}
	if to, ok := intrinsics[base]; ok {
		return overloaded(b, to, x...)
	}
	switch args := len(x); {
	case base == "powi" && args == 2:
		return devmath.Powi(b, x[:1], x[1:])[0]
	case (base == "ldexp" || base == "scalbn") && args == 2:
		return devmath.Ldexp(b, x[0], x[1])
	case base == "ilogb" && args == 1:
		return devmath.Ilogb(b, x[0])
	case base == "llrint" && args == 1:
		return toLong(b, x[0], "rn")
	case base == "llround" && args == 1:
		return toLong(b, overloaded(b, "round", x[0]), "rz")
	}
	if f := approximations.Find(base); f != nil && f.Args == len(x) {
		return f.Build(b, x...)
	}
	return nil
}

// approximations are PTX's instructions, with the errors that it documents.
var approximations = &devmath.Approx{
	Exp2:          one("llvm.nvvm.ex2.approx.ftz.f"),
	Inverse:       one("llvm.nvvm.rcp.approx.ftz.f"),
	InverseRoot:   one("llvm.nvvm.rsqrt.approx.ftz.f"),
	InverseDouble: inverseDouble,
}

func inverseDouble(b *llir.Builder, x llir.Value) llir.Value {
	return b.Call(b.M.Declare("llvm.nvvm.rcp.approx.ftz.d", llir.Pure, llir.F64, llir.F64), x)
}

func one(name string) func(*llir.Builder, llir.Value) llir.Value {
	return func(b *llir.Builder, x llir.Value) llir.Value { return f32(b, name, x) }
}

// intrinsics of LLVM with the function's own operands.
var intrinsics = map[string]string{
	"fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "nearbyint": "rint",
	"round": "round", "sqrt": "sqrt", "fma": "fma", "copysign": "copysign", "fmin": "minnum", "fmax": "maxnum",
}

// modes are PTX's names of the rounding modes: to nearest even, to zero, down, up.
var modes = map[string]string{"rn": "rn", "rz": "rz", "rd": "rm", "ru": "rp"}

// shortTypes are NVVM's names of the types that conversions name.
var shortTypes = map[string]string{
	"float": "f", "double": "d", "int": "i", "uint": "ui", "ll": "ll", "ull": "ull",
}

// rounded lowers what has a rounding mode at the end of its name: conversions,
// such as double2int_rz, and operations, such as fadd_ru and dsqrt_rn; each is one
// instruction. Nil for other names.
func rounded(b *llir.Builder, name string, result llir.Type, x []llir.Value) llir.Value {
	base, mode, ok := strings.Cut(name, "_")
	if !ok || modes[mode] == "" {
		return nil
	}
	mode = modes[mode]
	if from, to, ok := strings.Cut(base, "2"); ok {
		if to == "double" && from != "ll" && from != "ull" { // exact
			op := llir.SIToFP
			if from == "uint" {
				op = llir.UIToFP
			}
			return b.Cast(op, x[0], result, 0)
		}
		f := b.M.Declare("llvm.nvvm."+shortTypes[from]+"2"+shortTypes[to]+"."+mode, llir.Pure, result, x[0].Type())
		return b.Call(f, x[0])
	}
	suffix := "d"
	if result == llir.F32 {
		suffix = "f"
	}
	op := base[1:]
	switch {
	case strings.HasPrefix(base, "fma"):
		op = "fma"
	case op == "sub":
		op, x = "add", []llir.Value{x[0], b.FNeg(x[1])}
	case op == "rsqrt":
		return f32(b, "llvm.nvvm.rsqrt.approx.f", x...)
	}
	params := make([]llir.Type, len(x))
	for i, v := range x {
		params[i] = v.Type()
	}
	return b.Call(b.M.Declare("llvm.nvvm."+op+"."+mode+"."+suffix, llir.Pure, result, params...), x...)
}

// toLong converts a float to i64, saturating.
func toLong(b *llir.Builder, x llir.Value, mode string) llir.Value {
	name := "llvm.nvvm.d2ll." + mode
	if x.Type() == llir.F32 {
		name = "llvm.nvvm.f2ll." + mode
	}
	return b.Call(b.M.Declare(name, llir.Pure, llir.I64, x.Type()), x)
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
		return permute(b, x[0], x[1], x[2])
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
	"fast_tanf": func(b *llir.Builder, x []llir.Value) llir.Value {
		sin, cos := f32(b, "llvm.nvvm.sin.approx.ftz.f", x...), f32(b, "llvm.nvvm.cos.approx.ftz.f", x...)
		return f32(b, "llvm.nvvm.div.approx.ftz.f", sin, cos)
	},
	"fast_exp10f": func(b *llir.Builder, x []llir.Value) llir.Value {
		scaled := b.Binary(llir.FMul, x[0], b.M.Float(llir.F32, math.Log2(10)), 0)
		return f32(b, "llvm.nvvm.ex2.approx.ftz.f", scaled)
	},
	"fast_log10f": func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Binary(llir.FMul, f32(b, "llvm.nvvm.lg2.approx.ftz.f", x...), b.M.Float(llir.F32, math.Log10(2)), 0)
	},
	"fast_powf": func(b *llir.Builder, x []llir.Value) llir.Value {
		p := b.Binary(llir.FMul, x[1], f32(b, "llvm.nvvm.lg2.approx.ftz.f", x[0]), 0)
		return f32(b, "llvm.nvvm.ex2.approx.ftz.f", p)
	},
	"roundf": func(b *llir.Builder, x []llir.Value) llir.Value {
		// Half more, not rounded up to a whole number, and cut off.
		half := overloaded(b, "copysign", b.M.Float(llir.F32, 0.5), x[0])
		return overloaded(b, "trunc", f32(b, "llvm.nvvm.add.rz.f", x[0], half))
	},
	"rsqrtf": approximate("llvm.nvvm.rsqrt.approx.f"),
	"exp2f":  approximate("llvm.nvvm.ex2.approx.f"),
	"rcp64h": func(b *llir.Builder, x []llir.Value) llir.Value { return inverseDouble(b, x[0]) },
	"ffs":    firstSet, "ffsll": firstSet,
	"sad": absDifference(true), "usad": absDifference(false),
	"hadd": halfSum(llir.AShr, false), "uhadd": halfSum(llir.LShr, false),
	"rhadd": halfSum(llir.AShr, true), "urhadd": halfSum(llir.LShr, true),
	"mul24": func(b *llir.Builder, x []llir.Value) llir.Value {
		low := func(v llir.Value) llir.Value { return b.Binary(llir.AShr, b.Shl(v, 8), b.M.I32(8), 0) }
		return b.Mul(low(x[0]), low(x[1]))
	},
	"umul24": func(b *llir.Builder, x []llir.Value) llir.Value {
		low := func(v llir.Value) llir.Value { return b.And(v, b.M.I32(1<<24-1)) }
		return b.Mul(low(x[0]), low(x[1]))
	},
	"int_as_float": reinterpret(llir.F32), "uint_as_float": reinterpret(llir.F32),
	"float_as_int": reinterpret(llir.I32), "float_as_uint": reinterpret(llir.I32),
	"longlong_as_double": reinterpret(llir.F64), "double_as_longlong": reinterpret(llir.I64),
	"double2loint": func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Trunc(b.BitCast(x[0], llir.I64), llir.I32)
	},
	"double2hiint": func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Trunc(b.LShr(b.BitCast(x[0], llir.I64), 32), llir.I32)
	},
	"hiloint2double": func(b *llir.Builder, x []llir.Value) llir.Value {
		hi, lo := b.ZExt(x[0], llir.I64), b.ZExt(x[1], llir.I64)
		return b.BitCast(b.Or(b.Shl(hi, 32), lo), llir.F64)
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
// is not a special case.
func flagged(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return overloaded(b, name, x[0], b.M.Bool(false)) }
}

func narrowed(f lowering) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return b.Trunc(f(b, x), llir.I32) }
}

func approximate(name string) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return f32(b, name, x...) }
}

func reinterpret(t llir.Type) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value { return b.BitCast(x[0], t) }
}

// firstSet is the number, from 1, of the lowest bit that is set; 0 for zero.
func firstSet(b *llir.Builder, x []llir.Value) llir.Value {
	n := b.Resize(overloaded(b, "cttz", x[0], b.M.Bool(false)), llir.I32, false)
	none := b.ICmp(enum.IPredEQ, x[0], b.M.Zero(x[0].Type()))
	return b.Select(none, b.M.I32(0), b.Add(n, b.M.I32(1)))
}

// absDifference is |x - y| + z.
func absDifference(signed bool) lowering {
	low, high := "umin", "umax"
	if signed {
		low, high = "smin", "smax"
	}
	return func(b *llir.Builder, x []llir.Value) llir.Value {
		return b.Add(b.Sub(overloaded(b, high, x[0], x[1]), overloaded(b, low, x[0], x[1])), x[2])
	}
}

// halfSum is (x + y)/2 without overflow, rounded down or up.
func halfSum(shift llir.Op, up bool) lowering {
	return func(b *llir.Builder, x []llir.Value) llir.Value {
		half := b.Binary(shift, b.Xor(x[0], x[1]), b.M.I32(1), 0)
		if up {
			return b.Sub(b.Or(x[0], x[1]), half)
		}
		return b.Add(b.And(x[0], x[1]), half)
	}
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
