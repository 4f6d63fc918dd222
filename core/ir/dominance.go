package ir

// DomTree is the dominator tree of a region's blocks, by the algorithm of
// Georgiadis ("Linear-Time Algorithms for Dominators and Related Problems",
// 2005, SEMI-NCA), whose time is near-linear in practice.
type DomTree struct {
	nodes map[*Block]domNode // absent: unreachable
	entry *Block
}

// domNode is a block's place in the tree: the block above it, and its numbers
// before and after those below it in a walk over the tree.
type domNode struct {
	idom      *Block
	pre, post int32
}

// Dominators computes the tree of r. A region of one block costs nothing.
func Dominators(r *Region) *DomTree {
	d := &DomTree{entry: r.first}
	if r.first == r.last {
		return d
	}
	// Blocks are known by their numbers in a depth-first search from the entry.
	var blocks []*Block
	var parent []int32
	number := make(map[*Block]int32)
	type edge struct {
		from int32
		to   *Block
	}
	for stack := []edge{{-1, r.first}}; len(stack) > 0; {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, seen := number[e.to]; seen {
			continue
		}
		n := int32(len(blocks))
		number[e.to] = n
		blocks, parent = append(blocks, e.to), append(parent, e.from)
		if e.to.last == nil {
			continue
		}
		e.to.last.ctx.meter.Visit()
		for i := len(e.to.last.succs) - 1; i >= 0; i-- {
			stack = append(stack, edge{n, e.to.last.succs[i]})
		}
	}
	n := len(blocks)
	preds := make([][]int32, n)
	for i, b := range blocks {
		if b.last != nil {
			for _, s := range b.last.succs {
				preds[number[s]] = append(preds[number[s]], int32(i))
			}
		}
	}
	// semi[v] is the least block from which a path leads to v through blocks of
	// greater numbers; best[v] the one of least semi between v and its ancestor.
	semi, best, ancestor := make([]int32, n), make([]int32, n), make([]int32, n)
	for v := range semi {
		semi[v], best[v], ancestor[v] = int32(v), int32(v), -1
	}
	var path []int32
	eval := func(v int32) int32 {
		path = path[:0]
		for u := v; ancestor[u] >= 0 && ancestor[ancestor[u]] >= 0; u = ancestor[u] {
			path = append(path, u)
		}
		for i := len(path) - 1; i >= 0; i-- { // from the top, so that each sees what is above it
			u := path[i]
			a := ancestor[u]
			if semi[best[a]] < semi[best[u]] {
				best[u] = best[a]
			}
			ancestor[u] = ancestor[a]
		}
		return best[v]
	}
	for v := int32(n - 1); v > 0; v-- {
		for _, p := range preds[v] {
			if s := semi[eval(p)]; s < semi[v] {
				semi[v] = s
			}
		}
		ancestor[v] = parent[v]
	}
	idom := make([]int32, n)
	below := make([][]int32, n)
	for v := int32(1); v < int32(n); v++ {
		idom[v] = parent[v]
		for idom[v] > semi[v] {
			idom[v] = idom[idom[v]]
		}
		below[idom[v]] = append(below[idom[v]], v)
	}
	d.nodes = make(map[*Block]domNode, n)
	type visit struct{ v, next, pre int32 }
	clock := int32(1)
	for stack := []visit{{}}; len(stack) > 0; {
		at := &stack[len(stack)-1]
		if int(at.next) < len(below[at.v]) {
			at.next++
			stack = append(stack, visit{v: below[at.v][at.next-1], pre: clock})
			clock++
			continue
		}
		d.nodes[blocks[at.v]] = domNode{blocks[idom[at.v]], at.pre, clock}
		clock++
		stack = stack[:len(stack)-1]
	}
	return d
}

// Dominates reports whether every path from the entry to b passes a. An
// unreachable block is dominated by all.
func (d *DomTree) Dominates(a, b *Block) bool {
	if a == b || a == d.entry || d.nodes == nil {
		return true
	}
	x, ok := d.nodes[b]
	if !ok {
		return true
	}
	y, ok := d.nodes[a]
	return ok && y.pre <= x.pre && x.post <= y.post
}

// Immediate is the closest strict dominator of b, nil for the entry and for
// unreachable blocks.
func (d *DomTree) Immediate(b *Block) *Block {
	if b == d.entry {
		return nil
	}
	return d.nodes[b].idom
}

// ReversePostorder lists the blocks reachable from the entry so that, loops
// apart, a block comes after its predecessors.
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
