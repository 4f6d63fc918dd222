package gpu

import (
	stdmath "math"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower/devmath"
)

// Elementwise gives the instructions of f32 that are as good as code of our own: one
// unit in the last place of the exponential, the root and its reciprocal, which take
// denormals for zero where Triton's do, and LLVM's logarithms on v_log_f32; the functions of
// ROCm's device libraries; and quotients that llc would err in. A product of bf16 that has
// no more digits than that is the upper half of that of f32.
func (*Target) Elementwise(b *llir.Builder, op *ir.Operation, result llir.Type, x []llir.Value) llir.Value {
	if op.Is(tt.ExternElementwise) {
		return Library(b, tt.AsExternElementwise(op).Symbol(), x)
	}
	if op.Is(arith.DivSI) {
		return signedDivision(b, x[0], x[1])
	}
	if result == llir.BF16 && op.Is(arith.MulF) && scalesFloat4(op) {
		return exactly(b, b.Binary(llir.FMul, toF32(b, x[0]), toF32(b, x[1]), 0), ir.BF16)
	}
	if result != llir.F32 {
		return nil
	}
	switch op.Def() {
	case math.Exp:
		scaled := b.Binary(llir.FMul, x[0], b.M.Float(llir.F32, stdmath.Log2E), 0)
		return f32(b, "llvm.exp2.f32", scaled)
	case math.Exp2:
		return f32(b, "llvm.amdgcn.exp2.f32", x[0])
	case math.Log:
		return f32(b, "llvm.log.f32", x[0])
	case math.Log2:
		return f32(b, "llvm.log2.f32", x[0])
	case math.Sqrt:
		return f32(b, "llvm.amdgcn.sqrt.f32", x[0])
	case math.Rsqrt:
		return f32(b, "llvm.amdgcn.rsq.f32", x[0])
	}
	return nil
}

// Elements computes integral powers by one loop for several elements.
func (*Target) Elements(b *llir.Builder, op *ir.Operation, x [][]llir.Value) []llir.Value {
	if !op.Is(tt.ExternElementwise) || len(x) != 2 {
		return nil
	}
	float := map[string]llir.Type{"__ocml_pown_f32": llir.F32, "__ocml_pown_f64": llir.F64}[tt.AsExternElementwise(op).Symbol()]
	if float == nil || x[0][0].Type() != float || x[1][0].Type() != llir.I32 {
		return nil
	}
	return devmath.Powi(b, x[0], x[1])
}

// Packs holds for f16, and for f32 on CDNA: packed instructions for bf16 are gfx950's
// alone.
func (t *Target) Packs(typ llir.Type) bool { return typ == llir.Half || typ == llir.F32 && t.GFX9 }

func f32(b *llir.Builder, name string, x llir.Value) llir.Value {
	return b.Call(b.M.Declare(name, llir.Pure, llir.F32, llir.F32), x)
}
