package llir

import (
	"testing"

	"github.com/llir/llvm/ir/enum"
)

// Two masked accesses under one condition share a branch, unless something between them has
// an effect, or the second needs what the first gives.
func TestMergeGuards(t *testing.T) {
	for name, c := range map[string]struct {
		between func(b *Builder, first Value)
		address func(b *Builder, p, i, first Value) Value
		other   func(b *Builder, first Value) Value
		store   bool
		want    int
	}{
		"apart":              {want: 1},
		"an address between": {address: func(b *Builder, p, i, _ Value) Value { return b.GEP(I32, p, b.Mul(i, b.M.I32(3))) }, want: 1},
		"a barrier between":  {between: func(b *Builder, _ Value) { b.Fence(enum.AtomicOrderingRelease, "workgroup") }},
		"by the first":       {address: func(b *Builder, p, _, first Value) Value { return b.GEP(I32, p, first) }},
		"computed of the first": {address: func(b *Builder, p, _, first Value) Value {
			return b.GEP(I32, p, b.Add(first, b.M.I32(1)))
		}},
		"else the first": {other: func(_ *Builder, first Value) Value { return first }},
		"a store":        {store: true, want: 1},
		"a store after a load": {store: true, between: func(b *Builder, _ Value) {
			b.Load(I32, b.F.Param(0), 4, false)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewModule("test", "", "")
			fn := m.NewFunc("f", false, Void, PtrIn(1), I32, I32)
			b := NewBuilder(fn)
			p, i := fn.Param(0), fn.Param(1)
			b.SetBlock(fn.NewBlock(nil))
			cond := b.ICmp(enum.IPredSLT, i, fn.Param(2))
			guard := func(other Value, f func() Value) Value {
				before := b.Block()
				do, join := fn.NewBlock(before), fn.NewBlock(before)
				b.CondBr(cond, do, join)
				b.SetBlock(do)
				v := f()
				b.Br(join)
				b.SetBlock(join)
				if v == nil {
					return nil
				}
				phi := b.Phi(I32)
				AddIncoming(phi, v, do)
				AddIncoming(phi, other, before)
				return phi
			}
			first := guard(m.I32(0), func() Value { return b.Load(I32, p, 4, false) })
			if c.between != nil {
				c.between(b, first)
			}
			at := b.PtrAdd(p, 64)
			if c.address != nil {
				at = c.address(b, p, i, first)
			}
			other := Value(m.I32(7))
			if c.other != nil {
				other = c.other(b, first)
			}
			second := guard(other, func() Value {
				if c.store {
					b.Store(i, at, 4, false)
					return nil
				}
				return b.Load(I32, at, 4, false)
			})
			sum := first
			if second != nil {
				sum = b.Add(first, second)
			}
			b.Store(sum, b.PtrAdd(p, 128), 4, false)
			b.Ret(nil)
			blocks := len(fn.IR.Blocks)
			if got := m.MergeGuards(); got != c.want {
				t.Errorf("%d branches are gone, want %d", got, c.want)
			}
			if got := blocks - len(fn.IR.Blocks); got != 2*c.want {
				t.Errorf("%d blocks are gone, want %d", got, 2*c.want)
			}
			checkUses(t, fn)
		})
	}
}

// checkUses checks that values are computed before they are used, along every path, and
// that phis have the blocks that they come from.
func checkUses(t *testing.T, fn *Func) {
	t.Helper()
	known := map[Value]bool{}
	for i, blk := range fn.IR.Blocks {
		for _, inst := range blk.Insts {
			operands(inst, func(v Value) {
				if _, local := v.(localID); local && !IsConst(v) && v != fn.Param(0) && v != fn.Param(1) && v != fn.Param(2) && !known[v] {
					t.Errorf("block %d uses %v before it is computed", i, v)
				}
			})
			if v, ok := inst.(Value); ok {
				known[v] = true
			}
		}
	}
	for _, blk := range fn.IR.Blocks {
		for _, p := range leadingPhis(blk) {
			for _, in := range p.Incs {
				found := false
				for _, pred := range fn.IR.Blocks {
					for _, s := range successors(pred) {
						found = found || s == blk && in.Pred == Value(pred)
					}
				}
				if !found {
					t.Errorf("a phi names a block that does not lead to its own")
				}
			}
		}
	}
}
