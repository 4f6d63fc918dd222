package ptx

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// Pointers that a loop computes of one counter are computed in the block that accesses them.
func TestSettledPointers(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		step := b.SExt(b.Load(llir.I32, p, 4, false), llir.I64)
		before := b.Block()
		head := b.F.NewBlock(before)
		sometimes := b.F.NewBlock(head)
		tail := b.F.NewBlock(sometimes)
		after := b.F.NewBlock(tail)
		starts := []llir.Value{b.GEP(llir.I32, p, b.SExt(x, llir.I64)), b.GEP(llir.I32, p, b.SExt(b.Mul(x, x), llir.I64))}
		b.Br(head)
		b.SetBlock(head)
		i := b.Phi(llir.I32)
		pointers := []llir.Value{b.Phi(p.Type()), b.Phi(p.Type())}
		b.CondBr(b.ICmp(enum.IPredEQ, b.And(i, x), b.M.I32(0)), sometimes, tail)
		b.SetBlock(sometimes)
		b.Store(i, p, 4, true)
		b.Br(tail)
		b.SetBlock(tail)
		next := b.Add(i, b.M.I32(1))
		llir.AddIncoming(i, b.M.I32(0), before)
		llir.AddIncoming(i, next, tail)
		for k, at := range pointers {
			b.Store(i, at, 4, false)
			llir.AddIncoming(at.(*ir.InstPhi), starts[k], before)
			llir.AddIncoming(at.(*ir.InstPhi), b.GEP(llir.I32, at, step), tail)
		}
		b.CondBr(b.ICmp(enum.IPredSLT, next, x), head, after)
		b.SetBlock(after)
		b.Ret(nil)
	})
	_, loop, _ := strings.Cut(text, "$L__BB0_1:")
	head, tail, ok := strings.Cut(loop, "$L__BB0_3:")
	if !ok || strings.Contains(head, "add.s64") || strings.Count(tail, "add.s64") != 3 {
		t.Errorf("a pointer is not computed where it is used:\n%s", text)
	}
}
