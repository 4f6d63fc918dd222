package partition

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// A cluster is a set of operations without a partition that are next to one another in
// the graph of uses.
type cluster struct {
	ops []*ir.Operation
	// from are the partitions that the operands come from, to those that results go to.
	from, to []*group
}

// clusters are those of a loop.
type clusters struct {
	of   map[*ir.Operation]*cluster
	seen []*ir.Operation // with a cluster, in the order in which they got one
	list []*cluster
}

// make is the cluster of op, a new one if it has none.
func (c *clusters) make(op *ir.Operation) *cluster {
	if c.of[op] == nil {
		n := &cluster{}
		c.list = append(c.list, n)
		c.put(op, n)
	}
	return c.of[op]
}

func (c *clusters) put(op *ir.Operation, into *cluster) {
	c.of[op] = into
	c.seen = append(c.seen, op)
	into.ops = append(into.ops, op)
}

// merge moves all of src to dst.
func (c *clusters) merge(dst, src *cluster) {
	for _, op := range src.ops {
		c.of[op] = dst
	}
	dst.ops = append(dst.ops, src.ops...)
	dst.from = addGroups(dst.from, src.from...)
	dst.to = addGroups(dst.to, src.to...)
	*src = cluster{}
}

func addGroups(list []*group, more ...*group) []*group {
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// propagate gives partitions to the operations that partitions lead to, or that lie
// between them.
func (g *groupsOf) propagate() {
	c := &clusters{of: make(map[*ir.Operation]*cluster)}
	for _, p := range g.list {
		for _, def := range g.inputs(p) {
			if !isMarked(def) && g.comesFromPartition(def) {
				n := c.make(def)
				n.to = addGroups(n.to, p)
			}
		}
		g.follow(g.outputs(p), func(_ *ir.Use, user *ir.Operation) bool {
			if !isMarked(user) {
				n := c.make(user)
				n.from = addGroups(n.from, p)
			}
			return false
		})
	}
	g.grow(c)
	for _, n := range c.list {
		if len(n.ops) > 0 && len(n.from) > 0 {
			g.place(n)
		}
	}
}

// grow takes operations without a partition into the clusters next to them.
func (g *groupsOf) grow(c *clusters) {
	work := slices.Clone(c.seen)
	for len(work) > 0 {
		op := work[len(work)-1]
		work = work[:len(work)-1]
		n := c.of[op]
		for _, def := range g.definitionsOf(op) {
			ids, marked := idsOf(def)
			switch other := c.of[def]; {
			case marked:
				n.from = addGroups(n.from, g.at(ids)...)
			case !g.comesFromPartition(def):
			case other == nil:
				c.put(def, n)
				work = append(work, def)
			case other != n:
				c.merge(n, other)
			}
		}
		for _, user := range g.usersOf(op) {
			if ids, marked := idsOf(user); marked {
				n.to = addGroups(n.to, g.at(ids)...)
			} else if c.of[user] == nil {
				c.put(user, n)
				work = append(work, user)
			}
		}
	}
}

// place gives a cluster to the first partition that its operands come from. What leads
// from there to the first partition that it goes to is made again in that one, where the
// cluster has more: values that feed back.
func (g *groupsOf) place(n *cluster) {
	from := n.from[0]
	defer func() {
		for _, op := range n.ops {
			g.set(op, from)
		}
	}()
	if len(n.to) == 0 {
		return
	}
	to := n.to[0]
	between := make(map[*ir.Operation]bool)
	var list []*ir.Operation
	add := func(defs []*ir.Operation) {
		for _, def := range defs {
			if slices.Contains(n.ops, def) && !between[def] {
				between[def] = true
				list = append(list, def)
			}
		}
	}
	add(g.inputs(to))
	for i := 0; i < len(list); i++ {
		add(g.definitionsOf(list[i]))
	}
	if len(list) == len(n.ops) {
		return
	}
	slices.SortFunc(list, func(x, y *ir.Operation) int {
		switch {
		case x == y:
			return 0
		case x.IsBeforeInBlock(y):
			return -1
		}
		return 1
	})
	mine := make(map[*ir.Operation]bool)
	for _, op := range to.ops {
		mine[op] = true
	}
	b := ir.NewBuilder(g.loop.Context())
	for _, op := range slices.Backward(list) {
		b.At(op)
		own := op.Clone(ir.NewMapping())
		b.Insert(own)
		for i, v := range op.Results() {
			for u := range v.Uses() {
				if mine[u.Owner()] {
					u.Set(own.Result(i))
				}
			}
		}
		mine[own] = true
		g.set(own, to)
	}
}
