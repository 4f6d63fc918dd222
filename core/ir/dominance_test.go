package ir

import (
	"math/rand/v2"
	"testing"
)

// randomBlocks is a region of n blocks, each with up to three successors, some of
// which are changed, inserted and erased after they were made.
func randomBlocks(r *rand.Rand, c *Context, n int) *Region {
	def := &OpDef{Name: "t.branch", Traits: Terminator, Successors: -1}
	top := NewOperation(&OpDef{Name: "t.top"}, &State{Ctx: c, Regions: 1})
	region := top.Region(0)
	blocks := make([]*Block, n)
	for i := range blocks {
		if i > 1 && r.IntN(3) == 0 {
			blocks[i] = region.AddBlockAfter(blocks[r.IntN(i-1)])
		} else {
			blocks[i] = region.AddBlock()
		}
	}
	for _, b := range blocks {
		var succs []*Block
		for range r.IntN(4) {
			succs = append(succs, blocks[r.IntN(n)])
		}
		op := NewOperation(def, &State{Ctx: c, Successors: succs})
		b.Append(op)
		switch {
		case len(succs) > 0 && r.IntN(4) == 0:
			op.SetSuccessor(r.IntN(len(succs)), blocks[r.IntN(n)])
		case r.IntN(6) == 0:
			b.Append(op.Clone(NewMapping()))
			op.Erase()
		}
	}
	return region
}

// reach returns the blocks that the entry leads to without passing without.
func reach(r *Region, without *Block) map[*Block]bool {
	seen := map[*Block]bool{}
	var visit func(b *Block)
	visit = func(b *Block) {
		if b == without || seen[b] {
			return
		}
		seen[b] = true
		if b.last != nil {
			for _, s := range b.last.succs {
				visit(s)
			}
		}
	}
	visit(r.first)
	return seen
}

// A block dominates another that cannot be reached without it.
func TestDominators(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		region := randomBlocks(r, NewContext(), 2+r.IntN(12))
		d := Dominators(region)
		live := reach(region, nil)
		for a := range region.Blocks() {
			left := reach(region, a)
			for b := range region.Blocks() {
				if want := a == b || !left[b] || !live[b]; d.Dominates(a, b) != want {
					t.Fatalf("seed %d: dominates is %v", seed, !want)
				}
			}
		}
		for b := range live {
			up := d.Immediate(b)
			if b == region.first {
				if up != nil {
					t.Fatalf("seed %d: the entry has a dominator", seed)
				}
				continue
			}
			for a := range live { // all others that dominate b dominate up
				if a != b && d.Dominates(a, b) && !d.Dominates(a, up) {
					t.Fatalf("seed %d: not the closest", seed)
				}
			}
		}
	}
}

// Predecessors are what a look at every block finds, in its order.
func TestPredecessors(t *testing.T) {
	type edge struct {
		op  *Operation
		way int
	}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		region := randomBlocks(r, NewContext(), 2+r.IntN(12))
		for b := range region.Blocks() {
			var got, want []edge
			for op, way := range b.Predecessors() {
				got = append(got, edge{op, way})
			}
			for p := range region.Blocks() {
				for i, s := range p.last.succs {
					if s == b {
						want = append(want, edge{p.last, i})
					}
				}
			}
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d predecessors, want %d", seed, len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("seed %d: predecessor %d is another", seed, i)
				}
			}
		}
	}
}

func TestLookUp(t *testing.T) {
	c := NewContext()
	def := &OpDef{Name: "t.sym"}
	table := NewOperation(&OpDef{Name: "t.table"}, &State{Ctx: c, Regions: 1})
	if LookUp(table, "a") != nil {
		t.Error("found in nothing")
	}
	b := table.Region(0).AddBlock()
	sym := func(name string) *Operation {
		op := NewOperation(def, &State{Ctx: c, Attrs: []NamedAttr{{"sym_name", c.StringAttr(name)}}})
		b.Append(op)
		return op
	}
	a, again := sym("a"), sym("a")
	if LookUp(table, "a") != a || LookUp(table, "b") != nil {
		t.Error("not the first")
	}
	late := sym("b")
	a.Erase()
	if LookUp(table, "a") != again || LookUp(table, "b") != late {
		t.Error("not what is there now")
	}
	again.SetAttr("sym_name", c.StringAttr("c"))
	if LookUp(table, "a") != nil || LookUp(table, "c") != again {
		t.Error("not by its new name")
	}
}
