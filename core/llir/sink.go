package llir

import (
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
	begin    int32   // the number of its first instruction
	place    []int32 // of the instruction of each result of the block
	// users are the places of the instructions of the block that use each, in order: those
	// of place d from first[d] to first[d+1].
	users []int32
	first []int32
}

func newSinking(s *liveness) *sinking {
	k := &sinking{liveness: s, leave: s.leaving(), combined: make([]bool, len(s.root)), place: make([]int32, len(s.root))}
	for _, id := range s.f.combined {
		k.combined[id] = true
	}
	return k
}

// sink moves instructions of one block; it reports whether any moved.
func (k *sinking) sink(b *ir.Block) bool {
	n := len(b.Insts)
	k.b, k.begin = b, k.start[k.index[b]]
	for i, inst := range b.Insts {
		if l, ok := inst.(localID); ok && inst.(Value).Type() != Void {
			k.place[l.ID()] = int32(i)
		}
	}
	k.findUsers()
	movable := k.movable()
	// Each goes to the first of its users that stays, or of those that its users go to.
	at := make([]int32, n)
	effect := int32(n) // the next instruction that has an effect
	moved := false
	for i := n - 1; i >= 0; i-- {
		k.f.Mod.meter.Visit()
		inst := b.Insts[i]
		at[i] = int32(i)
		if !movable[i] {
			if !removable(inst) {
				effect = int32(i)
			}
			continue
		}
		to := int32(n)
		for _, u := range k.usersOf(int32(i)) {
			to = min(to, at[u])
		}
		if k.readsMemory(inst) {
			to = min(to, effect)
		}
		at[i] = to
		moved = moved || to != int32(i)+1
	}
	if !moved {
		return false
	}
	// What goes to an instruction comes before it, in the old order.
	next := make([]int32, n+2)
	for _, to := range at {
		next[to+1]++
	}
	for to := range n + 1 {
		next[to+1] += next[to]
	}
	place := k.index[b]
	insts, uses := make([]ir.Instruction, n), make([]use, n, n+1)
	for i, to := range at {
		insts[next[to]], uses[next[to]] = b.Insts[i], k.uses[place][i]
		next[to]++
	}
	b.Insts, k.uses[place] = insts, append(uses, k.uses[place][n])
	return true
}

// findUsers fills users, for the instructions that are not phis.
func (k *sinking) findUsers() {
	n := len(k.b.Insts)
	k.first = make([]int32, n+2)
	last := make([]int32, n) // the place, from 1, of the user of each that was seen last
	each := func(f func(d, i int32)) {
		clear(last)
		for i, inst := range k.b.Insts {
			if _, phi := inst.(*ir.InstPhi); phi {
				continue
			}
			for _, id := range k.takes(k.begin + int32(i)) {
				if d, ok := k.def(id); ok && last[d] != int32(i)+1 {
					last[d] = int32(i) + 1
					f(d, int32(i))
				}
			}
		}
	}
	// Counted two places further on, so that filling leaves each where it begins.
	each(func(d, _ int32) { k.first[d+2]++ })
	for d := range n {
		k.first[d+2] += k.first[d+1]
	}
	k.users = make([]int32, k.first[n+1])
	each(func(d, i int32) {
		k.users[k.first[d+1]] = i
		k.first[d+1]++
	})
}

// usersOf are the places of the users of the result at place d.
func (k *sinking) usersOf(d int32) []int32 { return k.users[k.first[d]:k.first[d+1]] }

// def is the place of a result of the block; ok is false for one of another.
func (k *sinking) def(id int32) (d int32, ok bool) {
	if k.f.home[id] != k.b {
		return 0, false
	}
	return k.place[id], true
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
		for _, id := range k.takes(k.begin + int32(i)) {
			d, ok := k.def(id)
			switch {
			case !ok || len(k.usersOf(d)) > 1 || k.leave[id]:
			case out[d]:
				words += freed[d]
			default:
				words += k.wordsOf(k.b.Insts[d].(Value))
			}
		}
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
	for i, b := range s.f.IR.Blocks {
		for k, inst := range b.Insts {
			s.f.Mod.meter.Visit()
			_, phi := inst.(*ir.InstPhi)
			for _, id := range s.takes(s.start[i] + int32(k)) {
				if phi || s.f.home[id] != b {
					out[id] = true
				}
			}
		}
		for _, id := range s.takes(s.start[i] + int32(len(b.Insts))) {
			out[id] = true
		}
	}
	return out
}
