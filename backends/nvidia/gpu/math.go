package gpu

import (
	stdmath "math"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Elementwise gives the approximate instructions of f32: as Triton does,
// division by div.full (2 units in the last place), the exponential by ex2.
func (t *Target) Elementwise(b *llir.Builder, op *ir.Operation, result llir.Type, x []llir.Value) llir.Value {
	if op.Is(tt.ExternElementwise) {
		return t.Library(b, tt.AsExternElementwise(op).Symbol(), result, x)
	}
	if result == llir.F64 {
		if name := ofDoubles[op.Def()]; name != "" {
			return approximations.Find(name).Build(b, x...)
		}
	}
	if result != llir.F32 {
		return nil
	}
	switch op.Def() {
	case arith.ExtF:
		return widenBF16(b, x[0])
	case arith.DivF:
		return f32(b, "llvm.nvvm.div.full", x...)
	case math.Exp:
		scaled := b.Binary(llir.FMul, x[0], b.M.Float(llir.F32, stdmath.Log2E), 0)
		return f32(b, "llvm.nvvm.ex2.approx.f", scaled)
	case math.Exp2:
		return f32(b, "llvm.nvvm.ex2.approx.ftz.f", x...)
	case math.Sqrt:
		return f32(b, "llvm.nvvm.sqrt.approx.ftz.f", x...)
	case math.Rsqrt:
		return f32(b, "llvm.nvvm.rsqrt.approx.ftz.f", x...)
	}
	return nil
}

// KeepDenormals is the intrinsic that does the same as the one of this name, but
// does not take denormals of f32 for zero; the name itself for all others.
func KeepDenormals(name string) string {
	if short, ok := strings.CutSuffix(name, ".approx.ftz.f"); ok && strings.HasPrefix(name, "llvm.nvvm.") {
		return short + ".approx.f"
	}
	return name
}

// ofDoubles are operations on f64 that are shorter with approximations.
var ofDoubles = map[*ir.OpDef]string{math.Log: "log", math.Log2: "log2", math.Erf: "erf"}

// Packs holds for f16 everywhere and for bf16 from compute capability 9.0 on.
func (t *Target) Packs(typ llir.Type) bool { return typ == llir.Half || typ == llir.BF16 && t.CC >= 90 }

func f32(b *llir.Builder, name string, x ...llir.Value) llir.Value {
	params := make([]llir.Type, len(x))
	for i := range params {
		params[i] = llir.F32
	}
	return b.Call(b.M.Declare(name, llir.Pure, llir.F32, params...), x...)
}
