// Package math is the table of the math dialect: elementary functions on
// floating point scalars and, element by element, on tensors.
package math

//go:generate go run github.com/tritonc/tritonc/internal/opviews math

import (
	"math"

	"github.com/tritonc/tritonc/core/ir"
)

func unary(name, doc string, c ir.Constraint) *ir.OpDef {
	return &ir.OpDef{
		Name: "math." + name, Doc: doc,
		Operands: []ir.Operand{{Name: "operand", Type: c}},
		Results:  []ir.Result{{Name: "result", Type: c}},
		Traits:   ir.SameOperandsAndResultType | ir.Elementwise,
		Asm:      "$operand attr-dict `:` type($result)", Infer: ir.InferSameAsFirst,
	}
}

func float(name, doc string) *ir.OpDef { return unary(name, doc, ir.FloatLike) }

// folded is an operation on floats that folds on constants.
func folded(d *ir.OpDef, fold func(*ir.Operation, []ir.Attribute) []ir.FoldResult) *ir.OpDef {
	d.Fold = fold
	return d
}

func integer(name, doc string) *ir.OpDef {
	return unary(name, doc, ir.IntLike)
}

func binary(name, doc string) *ir.OpDef {
	d := float(name, doc)
	d.Operands = []ir.Operand{{Name: "lhs", Type: ir.FloatLike}, {Name: "rhs", Type: ir.FloatLike}}
	d.Asm = "$lhs `,` $rhs attr-dict `:` type($result)"
	return d
}

// The operations.
var (
	AbsF      = folded(float("absf", "absolute value"), rounded(math.Abs))
	AbsI      = integer("absi", "absolute value of a signed integer")
	Exp       = folded(float("exp", "e to the power"), elementary(math.Exp))
	Exp2      = folded(float("exp2", "2 to the power"), elementary(math.Exp2))
	ExpM1     = folded(float("expm1", "e to the power, minus 1"), elementary(math.Expm1))
	Log       = folded(float("log", "natural logarithm"), elementary(math.Log))
	Log2      = folded(float("log2", "logarithm to base 2"), elementary(math.Log2))
	Log10     = folded(float("log10", "logarithm to base 10"), elementary(math.Log10))
	Log1P     = folded(float("log1p", "natural logarithm of 1 plus the operand"), elementary(math.Log1p))
	Sin       = folded(float("sin", "sine of radians"), elementary(math.Sin))
	Cos       = folded(float("cos", "cosine of radians"), elementary(math.Cos))
	Tan       = folded(float("tan", "tangent of radians"), elementary(math.Tan))
	Tanh      = folded(float("tanh", "hyperbolic tangent"), elementary(math.Tanh))
	Erf       = folded(float("erf", "error function"), elementary(math.Erf))
	Sqrt      = folded(float("sqrt", "square root"), rounded(math.Sqrt))
	Rsqrt     = float("rsqrt", "reciprocal square root")
	Floor     = folded(float("floor", "round down"), rounded(math.Floor))
	Ceil      = folded(float("ceil", "round up"), rounded(math.Ceil))
	Trunc     = folded(float("trunc", "round toward zero"), rounded(math.Trunc))
	Round     = folded(float("round", "round to nearest, ties away from zero"), rounded(math.Round))
	RoundEven = folded(float("roundeven", "round to nearest, ties to even"), rounded(math.RoundToEven))
	Acos      = float("acos", "arcus cosine")
	Acosh     = float("acosh", "inverse hyperbolic cosine")
	Asin      = float("asin", "arcus sine")
	Asinh     = float("asinh", "inverse hyperbolic sine")
	Atan      = float("atan", "arcus tangent")
	Atanh     = float("atanh", "inverse hyperbolic tangent")
	Cbrt      = float("cbrt", "cube root")
	Cosh      = float("cosh", "hyperbolic cosine")
	Sinh      = float("sinh", "hyperbolic sine")
	Erfc      = float("erfc", "1 minus the error function")
	Atan2     = binary("atan2", "angle of the point whose ordinate is the first operand and abscissa the second")
	PowF      = binary("powf", "power")
	CopySign  = binary("copysign", "magnitude of the first with the sign of the second")
	CtPop     = integer("ctpop", "number of one bits")
	CtLZ      = integer("ctlz", "number of leading zero bits")
	CtTZ      = integer("cttz", "number of trailing zero bits")
	FMA       = &ir.OpDef{
		Name: "math.fma", Doc: "a·b + c, rounded once",
		Operands: []ir.Operand{{Name: "a", Type: ir.FloatLike}, {Name: "b", Type: ir.FloatLike}, {Name: "c", Type: ir.FloatLike}},
		Results:  []ir.Result{{Name: "result", Type: ir.FloatLike}},
		Traits:   ir.SameOperandsAndResultType | ir.Elementwise,
		Asm:      "$a `,` $b `,` $c attr-dict `:` type($result)", Infer: ir.InferSameAsFirst,
	}
)

// Dialect is the math dialect.
var Dialect = &ir.Dialect{
	Name: "math", Doc: "elementary functions",
	Ops: []*ir.OpDef{
		AbsF, AbsI, Exp, Exp2, ExpM1, Log, Log2, Log10, Log1P, Sin, Cos, Tan, Tanh, Erf, Sqrt, Rsqrt,
		Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Cosh, Sinh, Erfc, Atan2,
		Floor, Ceil, Trunc, Round, RoundEven, PowF, CopySign, CtPop, CtLZ, CtTZ, FMA,
	},
	Families: []ir.Family{{Name: "Unary", Doc: "a function of one operand", Like: AbsF}},
}

// Unary makes one of the one-operand functions.
func Unary(b *ir.Builder, def *ir.OpDef, x *ir.Value) *ir.Value {
	return b.Op(def, []*ir.Value{x}).OneResult()
}

// NewFMA makes a·b + c.
func NewFMA(bld *ir.Builder, a, b, c *ir.Value) *ir.Value {
	return bld.Op(FMA, []*ir.Value{a, b, c}).OneResult()
}
