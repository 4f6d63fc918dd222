package ir

// DomTree is the dominator tree of a region's blocks, by the algorithm of
// Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
type DomTree struct {
	idom  map[*Block]*Block // absent: unreachable; the entry maps to itself
	order map[*Block]int    // reverse postorder number
	entry *Block
}

// Dominators computes the tree of r. A region of one block costs nothing.
func Dominators(r *Region) *DomTree {
	d := &DomTree{entry: r.first}
	if r.first == r.last {
		return d
	}
	d.order = make(map[*Block]int)
	rpo := ReversePostorder(r)
	preds := make(map[*Block][]*Block)
	for i, b := range rpo {
		d.order[b] = i
		if b.last != nil {
			for _, s := range b.last.succs {
				preds[s] = append(preds[s], b)
			}
		}
	}
	d.idom = map[*Block]*Block{r.first: r.first}
	for changed := true; changed; {
		changed = false
		for _, b := range rpo[1:] {
			var idom *Block
			for _, p := range preds[b] {
				if d.idom[p] == nil {
					continue
				}
				if idom == nil {
					idom = p
				} else {
					idom = d.meet(p, idom)
				}
			}
			if d.idom[b] != idom {
				d.idom[b] = idom
				changed = true
			}
		}
	}
	return d
}

func (d *DomTree) meet(a, b *Block) *Block {
	for a != b {
		for d.order[a] > d.order[b] {
			a = d.idom[a]
		}
		for d.order[b] > d.order[a] {
			b = d.idom[b]
		}
	}
	return a
}

// Dominates reports whether every path from the entry to b passes a. An
// unreachable block is dominated by all.
func (d *DomTree) Dominates(a, b *Block) bool {
	if a == b || a == d.entry || d.idom == nil {
		return true
	}
	if d.idom[b] == nil {
		return true
	}
	for b != d.entry {
		if b = d.idom[b]; b == a {
			return true
		}
	}
	return false
}

// Immediate is the closest strict dominator of b, nil for the entry and for
// unreachable blocks.
func (d *DomTree) Immediate(b *Block) *Block {
	if b == d.entry {
		return nil
	}
	return d.idom[b]
}

// ReversePostorder lists the blocks reachable from the entry so that, loops
// apart, a block stands after its predecessors.
func ReversePostorder(r *Region) []*Block {
	if r.first == nil {
		return nil
	}
	type frame struct {
		b *Block
		i int
	}
	seen := map[*Block]bool{r.first: true}
	stack := []frame{{b: r.first}}
	var post []*Block
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		var succs []*Block
		if f.b.last != nil {
			succs = f.b.last.succs
		}
		if f.i < len(succs) {
			s := succs[f.i]
			f.i++
			if !seen[s] {
				seen[s] = true
				stack = append(stack, frame{b: s})
			}
			continue
		}
		post = append(post, f.b)
		stack = stack[:len(stack)-1]
	}
	for i, j := 0, len(post)-1; i < j; i, j = i+1, j-1 {
		post[i], post[j] = post[j], post[i]
	}
	return post
}
