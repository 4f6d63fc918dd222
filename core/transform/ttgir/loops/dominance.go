package loops

import "github.com/tritonc/tritonc/core/ir"

// dominance answers which operation is executed before which; it keeps the
// dominator trees of the regions that it was asked about, so it is good until
// blocks change.
type dominance struct {
	trees map[*ir.Region]*ir.DomTree
}

func newDominance() *dominance { return &dominance{make(map[*ir.Region]*ir.DomTree)} }

// beforeUsers reports whether a comes before all users of op's results.
func (d *dominance) beforeUsers(a, op *ir.Operation) bool {
	for _, r := range op.Results() {
		for u := range r.Users() {
			if !d.before(a, u) {
				return false
			}
		}
	}
	return true
}

// before reports whether a is executed on every way to b and comes before it,
// or around it.
func (d *dominance) before(a, b *ir.Operation) bool {
	region := a.Block().Region()
	for b.Block().Region() != region {
		if b = b.Parent(); b == nil || b.Block() == nil {
			return false
		}
	}
	if a == b {
		return true
	}
	if a.Block() == b.Block() {
		return a.IsBeforeInBlock(b)
	}
	t := d.trees[region]
	if t == nil {
		t = ir.Dominators(region)
		d.trees[region] = t
	}
	return t.Dominates(a.Block(), b.Block())
}
