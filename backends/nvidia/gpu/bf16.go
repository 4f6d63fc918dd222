package gpu

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// A bf16 is the upper half of an f32. ptxas takes one that shares its word with another
// out of it before it moves it up, and converts single ones in the unit of transcendental
// functions, a quarter as fast as pairs.

// widenBF16 converts a bf16 that is half of a word to f32; nil where it is none.
func widenBF16(b *llir.Builder, x llir.Value) llir.Value {
	pair, half, ok := llir.ElementOf(x)
	if !ok || pair.Type() != b.M.Vec(2, llir.BF16) {
		return nil
	}
	word := b.BitCast(pair, llir.I32)
	if half == 0 {
		return b.BitCast(b.Shl(word, 16), llir.F32)
	}
	return b.BitCast(b.And(word, b.M.I32(-1<<16)), llir.F32)
}

// roundsBF16 reports whether a conversion rounds to bf16 what is widened again: LLVM
// finds pairs only in what is stored or multiplied as such.
func (t *Target) roundsBF16(op *ir.Operation, x [][]llir.Value) bool {
	if !op.Is(arith.TruncF) || t.CC < 80 || len(x[0]) < 2 || x[0][0].Type() != llir.F32 {
		return false
	}
	if to, ok := ir.ElemOf(op.OneResult().Type()).(*ir.FloatType); !ok || to.Kind != ir.BF16 {
		return false
	}
	for user := range op.OneResult().Users() {
		if !user.Is(arith.ExtF) {
			return false
		}
	}
	return true
}

// roundBF16 converts numbers to bf16 in pairs.
func roundBF16(b *llir.Builder, x []llir.Value) []llir.Value {
	out := make([]llir.Value, 0, len(x)+1)
	for i := 0; i < len(x); i += 2 {
		pair := b.Asm("cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f", false, b.M.Vec(2, llir.BF16), x[min(i+1, len(x)-1)], x[i])
		out = append(out, b.ExtractElement(pair, 0), b.ExtractElement(pair, 1))
	}
	return out[:len(x)]
}
