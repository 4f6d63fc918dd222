package llir

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"
)

// Later branches of a function of many blocks compute their conditions again, where
// these are comparisons.
func TestSinkConditions(t *testing.T) {
	for _, c := range []struct{ blocks, want, compares int }{{5, 1, 4}, {6, 0, 2}} {
		m := NewModule("test", "", "")
		fn := m.NewFunc("f", false, Void, PtrIn(1), I32, I1)
		b := NewBuilder(fn)
		b.SetBlock(fn.NewBlock(nil))
		i := fn.Param(1)
		cond := b.And(b.And(b.ICmp(enum.IPredSLT, i, m.I32(9)), b.ICmp(enum.IPredSGT, i, m.I32(3))), fn.Param(2))
		for n := range 2 {
			before := b.Block()
			do, join := fn.NewBlock(before), fn.NewBlock(before)
			b.CondBr(cond, do, join)
			b.SetBlock(do)
			b.Store(m.I32(n), fn.Param(0), 4, false)
			b.Br(join)
			b.SetBlock(join)
		}
		b.Ret(nil)
		if got := m.SinkConditions(c.blocks); got != c.want {
			t.Errorf("%d branches compute their conditions, want %d", got, c.want)
		}
		if text := string(m.Print()); strings.Count(text, "icmp") != c.compares {
			t.Errorf("want %d comparisons:\n%s", c.compares, text)
		}
	}
}
