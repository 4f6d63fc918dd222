package ptx

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// Blocks that make a comparison again have its operands each for itself: a constant that goes
// to a register is placed before both.
func TestComparisonsAgain(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		h := b.Load(llir.Half, p, 2, false)
		low := b.FCmp(enum.FPredOLT, h, b.M.Float(llir.Half, 0.75))
		first := b.ICmp(enum.IPredSLT, x, b.M.I32(3))
		yes, no, after := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
		b.CondBr(first, yes, no)
		for n, way := range []*llir.Block{yes, no} {
			b.SetBlock(way)
			b.Store(b.Select(low, x, b.M.I32(n)), p, 4, false)
			b.Br(after)
		}
		b.SetBlock(after)
		b.Ret(nil)
	})
	before, ways, _ := strings.Cut(text, "bra")
	if strings.Contains(before, "setp.lt.f16") || strings.Count(ways, "setp.lt.f16") != 2 || strings.Count(before, "mov.b16") != 1 {
		t.Errorf("not one constant before two comparisons:\n%s", text)
	}
}
