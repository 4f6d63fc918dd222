package gpu

import (
	stdmath "math"

	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Elementwise gives the instructions of f32 that are as good as code of our own: one
// unit in the last place of the exponential, the root and its reciprocal, which take
// denormals for zero where Triton's do, and LLVM's logarithms on v_log_f32.
func (*Target) Elementwise(b *llir.Builder, op *ir.Operation, result llir.Type, x []llir.Value) llir.Value {
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

// Elements is nil: no function of a library is known here.
func (*Target) Elements(*llir.Builder, *ir.Operation, [][]llir.Value) []llir.Value { return nil }

// Packs holds for f16, and for f32 on CDNA: packed instructions for bf16 are gfx950's
// alone.
func (t *Target) Packs(typ llir.Type) bool { return typ == llir.Half || typ == llir.F32 && t.GFX9 }

func f32(b *llir.Builder, name string, x llir.Value) llir.Value {
	return b.Call(b.M.Declare(name, llir.Pure, llir.F32, llir.F32), x)
}
