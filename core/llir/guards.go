package llir

import (
	"slices"

	"github.com/llir/llvm/ir"
)

// A masked access is a block that only some threads enter, between two that all do. Two of
// them under the same condition are two branches, which a target whose threads share their
// control flow pays for twice.

// MergeGuards has accesses under the same condition share a branch, where nothing between
// them has an effect and the later ones do not need what the first gives:
//
//	before: br c, do, join               before: br c, do, join
//	do:     x = load p; br join          do:     x = load p; y = load q; br join
//	join:   phi x; br c, do2, join2      join:   phi x; phi y
//	do2:    y = load q; br join2
//	join2:  phi y
//
// What the later ones are computed of, such as q, moves to the end of before. The functions
// must be complete. The result is how many branches are gone.
func (m *Module) MergeGuards() int {
	n := 0
	for _, f := range m.IR.Funcs {
		n += mergeGuards(f)
	}
	return n
}

func mergeGuards(f *ir.Func) int {
	g := &guards{entries: map[*ir.Block]int{}, home: map[Value]*ir.Block{}, gone: map[*ir.Block]bool{}}
	for _, b := range f.Blocks {
		for _, s := range successors(b) {
			g.entries[s]++
		}
		for _, inst := range b.Insts {
			if v, ok := inst.(Value); ok {
				g.home[v] = b
			}
		}
	}
	for _, b := range f.Blocks {
		for !g.gone[b] && g.merge(b) {
		}
	}
	f.Blocks = slices.DeleteFunc(f.Blocks, func(b *ir.Block) bool { return g.gone[b] })
	return len(g.gone) / 2
}

// guards merges those of a function.
type guards struct {
	entries map[*ir.Block]int // the edges to a block
	home    map[Value]*ir.Block
	gone    map[*ir.Block]bool
}

// guarded finds the block that some threads enter at the end of b, and the one where all
// meet again.
func (g *guards) guarded(b *ir.Block) (cond Value, do, join *ir.Block) {
	t, ok := b.Term.(*ir.TermCondBr)
	if !ok {
		return nil, nil, nil
	}
	do, join = t.TargetTrue.(*ir.Block), t.TargetFalse.(*ir.Block)
	back, ok := do.Term.(*ir.TermBr)
	if !ok || back.Target != Value(join) || do == b || join == b || g.entries[do] != 1 || g.entries[join] != 2 {
		return nil, nil, nil
	}
	return t.Cond, do, join
}

// merge merges the guard at the end of before with the next one.
func (g *guards) merge(before *ir.Block) bool {
	cond, do, join := g.guarded(before)
	if join == nil {
		return false
	}
	again, do2, join2 := g.guarded(join)
	if join2 == nil || again != cond {
		return false
	}
	phis := leadingPhis(join)
	between := join.Insts[len(phis):]
	loads := func(list []ir.Instruction) bool {
		return slices.ContainsFunc(list, func(inst ir.Instruction) bool { _, ok := inst.(*ir.InstLoad); return ok })
	}
	effect := func(inst ir.Instruction) bool { return !removable(inst) }
	if slices.ContainsFunc(between, effect) || slices.ContainsFunc(do2.Insts, effect) && loads(between) {
		return false
	}
	needed := map[Value]bool{}
	need := func(v Value) {
		if g.home[v] == join {
			needed[v] = true
		}
	}
	for _, inst := range do2.Insts {
		operands(inst, need)
	}
	for _, p := range leadingPhis(join2) {
		for _, in := range p.Incs {
			if in.Pred == Value(join) {
				need(in.X)
			}
		}
	}
	for _, inst := range slices.Backward(between) {
		if v, ok := inst.(Value); ok && needed[v] {
			operands(inst, need)
		}
	}
	for _, p := range phis {
		if needed[p] {
			return false
		}
	}
	g.join(before, do, join, do2, join2, needed)
	return true
}

// join puts do2 into do and join2 into join, and what is needed of join into before.
func (g *guards) join(before, do, join, do2, join2 *ir.Block, needed map[Value]bool) {
	move := func(insts []ir.Instruction, to *ir.Block) {
		to.Insts = append(to.Insts, insts...)
		for _, inst := range insts {
			if v, ok := inst.(Value); ok {
				g.home[v] = to
			}
		}
	}
	var early, phis, rest []ir.Instruction
	for _, inst := range slices.Concat(join.Insts, join2.Insts) {
		p, isPhi := inst.(*ir.InstPhi)
		switch v, ok := inst.(Value); {
		case ok && needed[v]:
			early = append(early, inst)
		case isPhi:
			for _, in := range p.Incs {
				switch in.Pred {
				case Value(do2):
					in.Pred = do
				case Value(join):
					in.Pred = before
				}
			}
			phis = append(phis, inst)
		default:
			rest = append(rest, inst)
		}
	}
	move(early, before)
	move(do2.Insts, do)
	join.Insts = nil
	move(phis, join)
	move(rest, join)
	join.Term = join2.Term
	for _, s := range successors(join) {
		for _, p := range leadingPhis(s) {
			for _, in := range p.Incs {
				if in.Pred == Value(join2) {
					in.Pred = join
				}
			}
		}
	}
	g.gone[do2], g.gone[join2] = true, true
}

// leadingPhis are the phis of a block.
func leadingPhis(b *ir.Block) []*ir.InstPhi {
	var out []*ir.InstPhi
	for _, inst := range b.Insts {
		p, ok := inst.(*ir.InstPhi)
		if !ok {
			break
		}
		out = append(out, p)
	}
	return out
}

// successors are the blocks to which a block branches.
func successors(b *ir.Block) []*ir.Block {
	if b.Term == nil {
		return nil
	}
	return b.Term.Succs()
}
