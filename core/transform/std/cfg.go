package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// simplifyCFG resolves branches on constants, erases blocks that cannot be
// reached, joins a block with its only predecessor, drops block arguments that
// always have one value, and skips blocks that only branch on. It reports
// whether it changed anything.
func simplifyCFG(r *ir.Region, run *pass.Run) bool {
	changed := false
	for again := true; again && r.First() != r.Last(); {
		again = false
		for b := range r.Blocks() {
			if knownBranch(b) || skipEmpty(b) {
				run.Count("branches", 1)
				again = true
			}
		}
		for _, step := range []func(*ir.Region) int{eraseUnreachable, mergeBlocks, dropArgs} {
			if n := step(r); n > 0 {
				run.Count("blocks", n)
				again = true
			}
		}
		changed = changed || again
	}
	return changed
}

// knownBranch makes a conditional branch plain where it can go one way only.
func knownBranch(b *ir.Block) bool {
	t := b.Terminator()
	if t == nil || !t.Is(cf.CondBr) {
		return false
	}
	way := -1
	if v, ok := arith.ConstantInt(cf.AsCondBr(t).Condition()); ok {
		way = 1 - int(v&1)
	} else if t.Successor(0) == t.Successor(1) && slices.Equal(cf.SuccessorArgs(t, 0), cf.SuccessorArgs(t, 1)) {
		way = 0
	}
	if way < 0 {
		return false
	}
	args := cf.SuccessorArgs(t, way)
	bld := ir.NewBuilder(t.Context())
	bld.At(t)
	cf.NewBr(bld, t.Successor(way), args...)
	t.Erase()
	return true
}

// skipEmpty lets branches to a block that only branches on go there directly.
func skipEmpty(b *ir.Block) bool {
	t := b.Terminator()
	if t == nil || t.NumSuccessors() == 0 {
		return false
	}
	changed := false
	for i, s := range t.Successors() {
		next := s.First()
		if s == b || next == nil || !next.Is(cf.Br) || s.NumArgs() > 0 || next.Successor(0) == s || s.IsEntry() {
			continue
		}
		args := next.OperandValues()
		if t.Is(cf.CondBr) && t.Successor(1-i) == next.Successor(0) && len(args) > 0 {
			continue // the two ways would differ in arguments only
		}
		cf.AppendSuccessorArgs(t, i, args)
		t.SetSuccessor(i, next.Successor(0))
		changed = true
	}
	return changed
}

func eraseUnreachable(r *ir.Region) int {
	reached := make(map[*ir.Block]bool)
	for _, b := range ir.ReversePostorder(r) {
		reached[b] = true
	}
	var dead []*ir.Block
	for b := range r.Blocks() {
		if !reached[b] {
			dead = append(dead, b)
		}
	}
	// Unreachable blocks may use one another's values: unlink all, then erase.
	for _, b := range dead {
		for op := range b.Ops() {
			op.SetOperands(nil)
			for _, inner := range op.Regions() {
				for ib := range inner.Blocks() {
					ib.Erase()
				}
			}
		}
	}
	for _, b := range dead {
		b.Erase()
	}
	return len(dead)
}

// mergeBlocks joins a block with its successor when neither has another neighbour there.
func mergeBlocks(r *ir.Region) int {
	n := 0
	for b := r.First(); b != nil; {
		t := b.Terminator()
		if t == nil || !t.Is(cf.Br) {
			b = b.Next()
			continue
		}
		s := t.Successor(0)
		preds := 0
		for range s.Predecessors() {
			preds++
		}
		if preds != 1 || s == b || s.IsEntry() {
			b = b.Next()
			continue
		}
		for i, v := range t.OperandValues() {
			s.Arg(i).ReplaceAllUsesWith(v)
		}
		t.Erase()
		b.TakeOps(s.First())
		s.Erase()
		n++
	}
	return n
}

// dropArgs removes block arguments that every predecessor gives the same value.
func dropArgs(r *ir.Region) int {
	n := 0
	for b := range r.Blocks() {
		if b.IsEntry() {
			continue
		}
		for i := b.NumArgs() - 1; i >= 0; i-- {
			var only *ir.Value
			one := true
			for t, way := range b.Predecessors() {
				v := cf.SuccessorArgs(t, way)[i]
				if v == b.Arg(i) {
					continue
				}
				one = one && (only == nil || only == v)
				only = v
			}
			if b.Arg(i).HasUses() && (!one || only == nil) {
				continue
			}
			if only != nil {
				b.Arg(i).ReplaceAllUsesWith(only)
			}
			for t, way := range b.Predecessors() {
				cf.EraseSuccessorArg(t, way, i)
			}
			b.EraseArg(i)
			n++
		}
	}
	return n
}
