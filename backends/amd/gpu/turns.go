package gpu

import (
	"errors"
	"fmt"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Schedules in which warps take turns at matrix cores and memory. s_barrier counts the
// arrivals of a program's waves, wherever these are in its code, so a barrier that some of
// them meet at before a loop, and the others after it, has the first be a barrier late
// in between (membar.Effects).

// condBarrier is a barrier for the waves whose condition holds. A wave takes a scalar branch:
// EXEC says nothing to s_barrier.
func (t *Target) condBarrier(s *lower.Site, op *ir.Operation) error {
	pred := amdg.AsCondBarrier(op).Pred()
	if apart(op).Apart {
		if err := matched(op); err != nil {
			return err
		}
	}
	b := s.B
	first := b.M.Declare("llvm.amdgcn.readfirstlane.i32", llir.Pure, llir.I32, llir.I32)
	holds := b.Call(first, b.ZExt(s.Value(pred)[0], llir.I32))
	before := b.Block()
	wait, next := b.F.NewBlock(before), b.F.NewBlock(before)
	b.CondBr(b.ICmp(enum.IPredNE, holds, b.M.I32(0)), wait, next)
	b.SetBlock(wait)
	s.Meet()
	b.Br(next)
	b.SetBlock(next)
	return nil
}

// matched fails unless a condition and that of the other barrier that belongs to it, the one
// before or after it in its block, are a comparison and its opposite.
func matched(op *ir.Operation) error {
	var all []*ir.Operation
	at := 0
	for o := range op.Block().Ops() {
		if o == op {
			at = len(all)
		}
		if o.Def() == op.Def() {
			all = append(all, o)
		}
	}
	if other := at ^ 1; other < len(all) && !opposite(amdg.AsCondBarrier(op).Pred(), amdg.AsCondBarrier(all[other]).Pred()) {
		return errors.New("its condition must be the opposite of that of the other amdg.cond_barrier, at which the rest of the warps wait")
	}
	return nil
}

// opposite reports whether one condition is that two integers are equal, and the other that
// the same two are not.
func opposite(x, y *ir.Value) bool {
	if !x.DefIs(arith.CmpI) || !y.DefIs(arith.CmpI) {
		return false
	}
	c, d := arith.AsCompare(x.Def()), arith.AsCompare(y.Def())
	if !equal(c.Lhs(), d.Lhs()) || !equal(c.Rhs(), d.Rhs()) {
		return false
	}
	eq, ne := c.Predicate(), d.Predicate()
	return eq == arith.EQ && ne == arith.NE || eq == arith.NE && ne == arith.EQ
}

// equal reports whether two values are one, or the same constant.
func equal(x, y *ir.Value) bool {
	n, ok := arith.ConstantInt(x)
	m, ok2 := arith.ConstantInt(y)
	return x == y || ok && ok2 && n == m
}

// apart is the effect of a conditional barrier, which has none where all warps of the
// program take the same way.
func apart(op *ir.Operation) membar.Effects {
	per, ok := perGroup(amdg.AsCondBarrier(op).Pred())
	return membar.Effects{Apart: !ok || threads(op) > per}
}

// perGroup is by how many the number of a thread is divided that a condition compares with 0.
func perGroup(pred *ir.Value) (int64, bool) {
	if !pred.DefIs(arith.CmpI) {
		return 0, false
	}
	c := arith.AsCompare(pred.Def())
	if zero, ok := arith.ConstantInt(c.Rhs()); !ok || zero != 0 || !c.Lhs().DefIs(arith.DivSI) {
		return 0, false
	}
	d := arith.AsBinary(c.Lhs().Def())
	n, ok := arith.ConstantInt(d.Rhs())
	return n, ok && d.Lhs().DefIs(amdg.ROCDL().Op("rocdl.workitem.id.x"))
}

// threads is how many threads a program has.
func threads(op *ir.Operation) int64 {
	for op.Parent() != nil {
		op = op.Parent()
	}
	warps, _ := op.IntAttr(ttg.NumWarpsAttr)
	return warps * ttg.ThreadsPerWarp(op)
}

// meets is the effect of rocdl.s.barrier. Here it orders memory as gpu.barrier does: who is
// a barrier ahead may overwrite what a read is still on its way from.
func meets(*ir.Operation) membar.Effects { return membar.Effects{Meets: true} }

func meet(s *lower.Site, _ *ir.Operation) error {
	s.Meet()
	return nil
}

// threadNumber is the number of the thread in its program.
func threadNumber(s *lower.Site, op *ir.Operation) error {
	s.Set(op.OneResult(), s.Thread)
	return nil
}

// groupHint says how many instructions of a kind LLVM is to place next.
func groupHint(s *lower.Site, op *ir.Operation) error {
	b := s.B
	var args []llir.Value
	for _, name := range []string{"mask", "size", "groupId"} {
		n, _ := op.IntAttr(name)
		args = append(args, b.M.I32(int(n)))
	}
	b.Call(b.M.Declare("llvm.amdgcn.sched.group.barrier", llir.HasEffects, llir.Void, llir.I32, llir.I32, llir.I32), args...)
	return nil
}

// The greatest counts of accesses on their way that instructions of a generation can name.
const (
	gfx9MostLDS     = 15
	gfx11MostLoads  = 63
	gfx11MostStores = 63
	gfx11MostLDS    = 63
	gfx12Most       = 63
)

// counterWait waits until at most so many loads, stores and accesses to LDS have not ended.
func (t *Target) counterWait(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsMemoryCounterWait(op)
	loads, ok := v.Load()
	stores, ok2 := v.Store()
	lds, ok3 := v.Ds()
	if ok && loads < 0 || ok2 && stores < 0 || ok3 && lds < 0 {
		return errors.New("a number of accesses is not negative")
	}
	b := s.B
	wait := func(n int) {
		b.Call(b.M.Declare("llvm.amdgcn.s.waitcnt", llir.HasEffects, llir.Void, llir.I32), b.M.I32(n))
	}
	switch {
	case t.GFX9: // stores are counted with loads
		memory, few := int64(mostInFlight), int64(gfx9MostLDS)
		if ok {
			memory = min(memory, loads)
		}
		if ok2 {
			memory = min(memory, stores)
		}
		if ok3 {
			few = min(few, lds)
		}
		wait(int(memory&15 | memory>>4<<14 | 7<<4 | few<<8))
	case t.GFX12:
		for _, c := range []struct {
			of string
			n  int64
			ok bool
		}{{"load", loads, ok}, {"store", stores, ok2}, {"ds", lds, ok3}} {
			if c.ok {
				b.Call(b.M.Declare("llvm.amdgcn.s.wait."+c.of+"cnt", llir.HasEffects, llir.Void, llir.I16), b.M.Int(llir.I16, min(c.n, gfx12Most)))
			}
		}
	default:
		memory, few := int64(gfx11MostLoads), int64(gfx11MostLDS)
		if ok {
			memory = min(memory, loads)
		}
		if ok3 {
			few = min(few, lds)
		}
		if ok || ok3 {
			wait(int(memory<<10 | few<<4 | 7))
		}
		if ok2 {
			b.Asm(fmt.Sprintf("s_waitcnt_vscnt null, 0x%x", min(stores, gfx11MostStores)), "~{memory}", true, llir.Void)
		}
	}
	return nil
}
