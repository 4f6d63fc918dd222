package adapter

import (
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// Function is a function of the device library. Its symbol is the name of the operation
// that it becomes.
type Function struct {
	Name, Symbol string
	Args         int
}

// library are the operations that functions become, by the functions' names.
var library = []struct {
	names string
	op    *ir.OpDef
}{
	{"abs", math.AbsF},
	{"acos", math.Acos},
	{"acosh", math.Acosh},
	{"asin", math.Asin},
	{"asinh", math.Asinh},
	{"atan", math.Atan},
	{"atan2", math.Atan2},
	{"atanh", math.Atanh},
	{"cbrt", math.Cbrt},
	{"ceil", math.Ceil},
	{"copysign", math.CopySign},
	{"cos", math.Cos},
	{"cosh", math.Cosh},
	{"div_rn", arith.DivF},
	{"erf", math.Erf},
	{"erfc", math.Erfc},
	{"exp", math.Exp},
	{"exp2", math.Exp2},
	{"expm1", math.ExpM1},
	{"floor", math.Floor},
	{"fma", math.FMA},
	{"fmod", arith.RemF},
	{"log", math.Log},
	{"log10", math.Log10},
	{"log1p", math.Log1P},
	{"log2", math.Log2},
	{"pow", math.PowF},
	{"rint nearbyint", math.RoundEven},
	{"round", math.Round},
	{"rsqrt", math.Rsqrt},
	{"sin", math.Sin},
	{"sinh", math.Sinh},
	{"sqrt sqrt_rn", math.Sqrt},
	{"tan", math.Tan},
	{"tanh", math.Tanh},
	{"trunc", math.Trunc},
}

// Functions lists the functions that become one operation.
func Functions() []Function {
	var list []Function
	for _, row := range library {
		for _, name := range strings.Fields(row.names) {
			list = append(list, Function{Name: name, Symbol: row.op.Name, Args: len(row.op.Operands)})
		}
	}
	return list
}

// libraryCall converts a call of a function of the library.
func (c *converter) libraryCall(op *ir.Operation) {
	symbol := tt.AsExternElementwise(op).Symbol()
	for _, row := range library {
		if row.op.Name == symbol {
			in := make([]*ir.Value, op.NumOperands())
			for i, v := range op.Operands() {
				in[i] = c.value(v)
			}
			c.set(op, c.Op(row.op, in).OneResult())
			return
		}
	}
	c.refuse(op, "libdevice of triton.language.extra.cann has the functions that an NPU has", "%s is not a function for NPUs", symbol)
}
