package std

import (
	"hash/maphash"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/ir"
)

// JoinEqualBlocks makes one block of those of r that do the same and go on to the
// same blocks: the early returns of a function, above all. Where they differ in
// values from outside, those become arguments.
//
//	^1: tt.store %p, %a; tt.return      ^1(%v): tt.store %p, %v; tt.return
//	^2: tt.store %p, %b; tt.return  →   with branches to ^1(%a) and ^1(%b)
//
// It reports whether there were any.
func JoinEqualBlocks(r *ir.Region) bool {
	changed := false
	for joinOnce(r) {
		changed = true
		dropArgs(r)
	}
	return changed
}

// cluster is a block and those that may join it.
type cluster struct {
	leader *ir.Block
	joined []*ir.Block
	// differ holds the operands that are not the same in all of them: by the
	// number of the operation in its block, and of the operand.
	differ [][2]int
}

func joinOnce(r *ir.Region) bool {
	if r.First() == r.Last() {
		return false
	}
	var clusters []*cluster
	like := make(map[uint64][]*cluster) // by what alike blocks have in common
	seed := maphash.MakeSeed()
	for b := range r.Blocks() {
		if b.IsEntry() || !joinable(b) {
			continue
		}
		k := shapeOf(seed, b)
		if !slices.ContainsFunc(like[k], func(c *cluster) bool { return c.add(b) }) {
			c := &cluster{leader: b}
			clusters, like[k] = append(clusters, c), append(like[k], c)
		}
	}
	// Branches to joined blocks get more operands: a cluster with such a branch in
	// it, which has numbered them as they were, waits for the next round.
	changed := false
	old := make(map[*ir.Block]bool)
	for _, c := range clusters {
		if len(c.joined) == 0 || old[c.leader] || slices.ContainsFunc(c.joined, func(b *ir.Block) bool { return old[b] }) {
			continue
		}
		for _, b := range append([]*ir.Block{c.leader}, c.joined...) {
			for t := range b.Predecessors() {
				old[t.Block()] = true
			}
		}
		c.join()
		changed = true
	}
	return changed
}

// shapeOf hashes what blocks of one cluster have in common.
func shapeOf(seed maphash.Seed, b *ir.Block) uint64 {
	type opShape struct {
		before                        uint64
		def                           *ir.OpDef
		operands, results, successors int
	}
	h := uint64(b.NumArgs())
	for op := range b.Ops() {
		h = maphash.Comparable(seed, opShape{h, op.Def(), op.NumOperands(), op.NumResults(), op.NumSuccessors()})
		for _, s := range op.Successors() {
			h = maphash.Comparable(seed, [2]any{h, s})
		}
		for _, a := range op.Attrs() {
			h = maphash.Comparable(seed, [2]any{h, a})
		}
	}
	return h
}

// joinable reports whether a block has no regions, is used by plain branches
// only, and defines nothing that is used elsewhere.
func joinable(b *ir.Block) bool {
	if b.Terminator() == nil {
		return false
	}
	local := func(v *ir.Value) bool {
		for u := range v.Users() {
			if u.Block() != b {
				return false
			}
		}
		return true
	}
	for _, a := range b.Args() {
		if !local(a) {
			return false
		}
	}
	for op := range b.Ops() {
		if op.NumRegions() > 0 || slices.ContainsFunc(op.Results(), func(v *ir.Value) bool { return !local(v) }) {
			return false
		}
	}
	for t := range b.Predecessors() {
		if !t.Is(cf.Br) && !t.Is(cf.CondBr) {
			return false
		}
	}
	return true
}

// add takes b into the cluster where it does what the leader does.
func (c *cluster) add(b *ir.Block) bool {
	if c.leader.NumArgs() != b.NumArgs() {
		return false
	}
	same := make(map[*ir.Value]*ir.Value) // of the leader, and of b
	for i, a := range c.leader.Args() {
		if a.Type() != b.Arg(i).Type() {
			return false
		}
		same[a] = b.Arg(i)
	}
	differ := slices.Clone(c.differ)
	n := 0
	x, y := c.leader.First(), b.First()
	for ; x != nil && y != nil; x, y, n = x.Next(), y.Next(), n+1 {
		if !alike(x, y) {
			return false
		}
		for i, v := range x.Operands() {
			w := y.Operand(i)
			switch at := [2]int{n, i}; {
			case v == w || same[v] == w:
			case v.Type() != w.Type() || v.Block() == c.leader || w.Block() == b:
				return false
			case !slices.Contains(differ, at):
				differ = append(differ, at)
			}
		}
		for i, v := range x.Results() {
			same[v] = y.Result(i)
		}
	}
	if x != nil || y != nil {
		return false
	}
	c.differ = differ
	c.joined = append(c.joined, b)
	return true
}

// alike reports whether two operations are the same but for their operands.
func alike(a, b *ir.Operation) bool {
	return a.Def() == b.Def() && a.NumOperands() == b.NumOperands() && a.NumResults() == b.NumResults() &&
		slices.Equal(a.Successors(), b.Successors()) && slices.Equal(a.Attrs(), b.Attrs()) && slices.Equal(a.Segments(), b.Segments()) &&
		slices.EqualFunc(a.Results(), b.Results(), func(x, y *ir.Value) bool { return x.Type() == y.Type() })
}

// join leads what went to the joined blocks to the leader.
func (c *cluster) join() {
	slices.SortFunc(c.differ, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	blocks := append([]*ir.Block{c.leader}, c.joined...)
	given := make([][]*ir.Value, len(blocks)) // the new arguments, by block
	for _, at := range c.differ {
		column := make([]*ir.Value, len(blocks))
		for i, b := range blocks {
			column[i] = nth(b, at[0]).Operand(at[1])
		}
		// An argument that always equals another is that one.
		arg := -1
		for k := range given[0] {
			equal := true
			for i, v := range column {
				equal = equal && given[i][k] == v
			}
			if equal {
				arg = c.leader.NumArgs() - len(given[0]) + k
			}
		}
		op := nth(c.leader, at[0])
		if arg < 0 {
			arg = c.leader.NumArgs()
			c.leader.AddArg(column[0].Type(), op.Loc())
			for i, v := range column {
				given[i] = append(given[i], v)
			}
		}
		op.SetOperand(at[1], c.leader.Arg(arg))
	}
	for i, b := range blocks {
		type edge struct {
			from *ir.Operation
			way  int
		}
		var in []edge
		for t, way := range b.Predecessors() {
			in = append(in, edge{t, way})
		}
		for _, e := range in {
			cf.AppendSuccessorArgs(e.from, e.way, given[i])
			e.from.SetSuccessor(e.way, c.leader)
		}
	}
	for _, b := range c.joined {
		b.Erase()
	}
}

func nth(b *ir.Block, n int) *ir.Operation {
	op := b.First()
	for range n {
		op = op.Next()
	}
	return op
}
