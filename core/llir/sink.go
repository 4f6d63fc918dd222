package llir

import (
	"slices"

	"github.com/llir/llvm/ir"
)

// A thread that holds a large tile has more values than registers when every operation
// of the tile runs on all of it before the next begins: a load of 256 rows, then their
// sum. SinkLoads lets each part of such a tile go through all operations before the next.

// SinkLoads moves, in blocks where more than limit registers are live at once, what
// is loaded, and what is computed of it, down to where it is first needed, if that makes
// fewer live at once; with a limit of 0 it moves nothing. It estimates the registers of what
// is then there, and reports whether it moved anything; ok is false for a function that is too
// large to tell. The order of all other instructions stays, and nothing that reads memory
// passes an instruction that has an effect.
func (f *Func) SinkLoads(limit int) (r Registers, sunk, ok bool) {
	s := f.liveness()
	if !s.solve() {
		return Registers{}, false, false
	}
	var k *sinking
	for i, b := range f.IR.Blocks {
		now := s.block(b)
		if limit > 0 && now.Peak > limit {
			if k == nil {
				k = newSinking(s)
			}
			insts, uses := b.Insts, s.uses[i]
			if k.sink(b) {
				if after := s.block(b); after.Peak < now.Peak {
					now, sunk = after, true
				} else {
					b.Insts, s.uses[i] = insts, uses
				}
			}
		}
		r.most(now)
	}
	return r, sunk, true
}

// sinking moves instructions of one block after the other.
type sinking struct {
	*liveness
	leave    []bool // leaving
	combined []bool // by numbers of results: it stays
	b        *ir.Block
	place    []int   // of the instruction of each result of the block
	users    [][]int // the places of the instructions of the block that use each
}

func newSinking(s *liveness) *sinking {
	k := &sinking{liveness: s, leave: s.leaving(), combined: make([]bool, len(s.root)), place: make([]int, len(s.root))}
	for _, id := range s.f.combined {
		k.combined[id] = true
	}
	return k
}

// sink moves instructions of one block; it reports whether any moved.
func (k *sinking) sink(b *ir.Block) bool {
	n := len(b.Insts)
	k.b, k.users = b, make([][]int, n)
	for i, inst := range b.Insts {
		if l, ok := inst.(localID); ok && inst.(Value).Type() != Void {
			k.place[l.ID()] = i
		}
	}
	for i, inst := range b.Insts {
		if _, phi := inst.(*ir.InstPhi); !phi {
			k.eachDef(inst, func(d int) {
				if us := k.users[d]; len(us) == 0 || us[len(us)-1] != i {
					k.users[d] = append(us, i)
				}
			})
		}
	}
	movable := k.movable()
	// Each goes to the first of its users that stays, or of those that its users go to.
	at := make([]int, n)
	effect := n // the next instruction that has an effect
	moved := false
	for i := n - 1; i >= 0; i-- {
		k.f.Mod.meter.Visit()
		inst := b.Insts[i]
		at[i] = i
		if !movable[i] {
			if !removable(inst) {
				effect = i
			}
			continue
		}
		to := n
		for _, u := range k.users[i] {
			to = min(to, at[u])
		}
		if k.readsMemory(inst) {
			to = min(to, effect)
		}
		at[i] = to
		moved = moved || to != i+1
	}
	if !moved {
		return false
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		if at[x] != at[y] {
			return at[x] - at[y]
		}
		// What goes to an instruction comes before it, in the old order.
		return x - y
	})
	place := k.index[b]
	insts, uses := make([]ir.Instruction, n), make([]use, n, n+1)
	for i, o := range order {
		insts[i], uses[i] = b.Insts[o], k.uses[place][o]
	}
	b.Insts, k.uses[place] = insts, append(uses, k.uses[place][n])
	return true
}

// eachDef calls f with the places of the block's results that inst takes.
func (k *sinking) eachDef(inst any, f func(d int)) {
	operands(inst, func(v Value) {
		l, ok := v.(localID)
		if !ok || l.ID() >= int64(len(k.place)) || k.f.home[l.ID()] != k.b {
			return
		}
		if d := k.place[l.ID()]; k.is(d, v) {
			f(d)
		}
	})
}

// movable tells which instructions shall go to their users: what is loaded, and what
// is computed of it without needing registers for longer than its result would. What
// combines parts of a tile stays.
func (k *sinking) movable() []bool {
	out := make([]bool, len(k.b.Insts))
	freed := make([]int, len(out)) // the registers that a movable result's computation frees
	for i, inst := range k.b.Insts {
		l, ok := inst.(localID)
		if !ok || inst.(Value).Type() == Void || k.leave[l.ID()] || k.combined[l.ID()] || !k.mayMove(inst, l) {
			continue
		}
		words := 0
		k.eachDef(inst, func(d int) {
			switch {
			case len(k.users[d]) > 1 || k.leave[k.b.Insts[d].(localID).ID()]:
			case out[d]:
				words += freed[d]
			default:
				words += k.wordsOf(k.b.Insts[d].(Value))
			}
		})
		out[i], freed[i] = words <= k.wordsOf(inst.(Value)), words
	}
	return out
}

// wordsOf is how many registers a result takes; a truth value counts as one, since
// there are few.
func (k *sinking) wordsOf(v Value) int {
	if v.Type() == I1 {
		return 1
	}
	return k.f.Mod.RegistersOf(v.Type())
}

// mayMove tells whether an instruction does the same elsewhere in its block.
func (k *sinking) mayMove(inst ir.Instruction, l localID) bool {
	switch inst.(type) {
	case *ir.InstPhi, *allocaInst:
		return false
	}
	return removable(inst) || k.isLoaded[k.root[l.ID()]]
}

// readsMemory tells whether what a movable instruction gives depends on memory.
func (k *sinking) readsMemory(inst ir.Instruction) bool {
	switch inst.(type) {
	case *ir.InstLoad:
		return true
	case *ir.InstCall:
		return !removable(inst)
	}
	return false
}

// leaving are the results, by their numbers, that are needed beyond their blocks, by
// their ends, or by a phi.
func (s *liveness) leaving() []bool {
	out := make([]bool, len(s.root))
	for _, b := range s.f.IR.Blocks {
		leaves := func(v Value) {
			if l, ok := v.(localID); ok && l.ID() < int64(len(out)) {
				out[l.ID()] = true
			}
		}
		for _, inst := range b.Insts {
			s.f.Mod.meter.Visit()
			if _, phi := inst.(*ir.InstPhi); phi {
				operands(inst, leaves)
				continue
			}
			operands(inst, func(v Value) {
				if l, ok := v.(localID); ok && l.ID() < int64(len(out)) && s.f.home[l.ID()] != b {
					out[l.ID()] = true
				}
			})
		}
		operands(b.Term, leaves)
	}
	return out
}

// is tells whether v is the result of the instruction at place d; a parameter may have
// its number.
func (k *sinking) is(d int, v Value) bool {
	inst, ok := v.(ir.Instruction)
	return ok && k.b.Insts[d] == inst
}
