package layouts

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// An access is related to those that it depends on or that depend on it, and so
// on, through any number of steps both ways; from an operation with regions also
// to what uses the arguments of their blocks, but not back.
//
// So operations fall into groups, within which each is related to each, and some
// groups lead to others. What coalescing asks of all the accesses that one is
// related to is kept for its group: one walk over the module answers for all.

// accessKind is what accesses have in common that agree on a vector: the shape and
// the order of the dimensions.
type accessKind struct{ shape, order ir.ShapeKey }

// related holds the widest vectors of related accesses.
type related struct {
	meter interface{ Visit() }
	// parent is the next operation on the way to the one that stands for a group;
	// absent for that one.
	parent map[*ir.Operation]*ir.Operation
	width  map[*ir.Operation]map[accessKind]int64
	// from are the groups that lead to a group.
	from map[*ir.Operation][]*ir.Operation
}

// relate groups the operations of a module.
func (c *coalescer) relate(module *ir.Operation) *related {
	r := &related{
		meter:  module.Context().Meter(),
		parent: map[*ir.Operation]*ir.Operation{}, width: map[*ir.Operation]map[accessKind]int64{},
		from: map[*ir.Operation][]*ir.Operation{},
	}
	var accesses, nested []*ir.Operation
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		for _, v := range op.Operands() {
			if d := v.Def(); d != nil {
				r.join(op, d)
			}
		}
		if op.NumRegions() > 0 {
			nested = append(nested, op)
		}
		if accessPointer(op) != nil {
			accesses = append(accesses, op)
		}
		return ir.Advance
	})
	for _, op := range accesses {
		ptr := accessPointer(op)
		order := c.order(ptr)
		r.widen(r.group(op), c.kind(ptr, order), c.vector(ptr, order[0]))
	}
	for _, op := range nested {
		for _, reg := range op.Regions() {
			for b := range reg.Blocks() {
				for _, a := range b.Args() {
					for u := range a.Users() {
						if g, to := r.group(op), r.group(u); g != to {
							r.from[to] = append(r.from[to], g)
						}
					}
				}
			}
		}
	}
	r.flow(accesses)
	return r
}

// kind is the kind of an access through ptr, whose dimensions have that order.
func (c *coalescer) kind(ptr *ir.Value, order []int) accessKind {
	dims := make([]int64, len(order))
	for i, d := range order {
		dims[i] = int64(d)
	}
	return accessKind{ir.KeyOf(tensors.Type(ptr).Shape), ir.KeyOf(dims)}
}

// widest is the widest vector, in elements, of an access of that kind among those
// that op is related to, op included; 0 when there is none.
func (r *related) widest(op *ir.Operation, k accessKind) int64 { return r.width[r.group(op)][k] }

// group is the operation that stands for op's group.
func (r *related) group(op *ir.Operation) *ir.Operation {
	for {
		r.meter.Visit()
		next := r.parent[op]
		if next == nil {
			return op
		}
		if over := r.parent[next]; over != nil {
			r.parent[op] = over
		}
		op = next
	}
}

// join makes one group of those of two operations.
func (r *related) join(a, b *ir.Operation) {
	if a, b = r.group(a), r.group(b); a != b {
		r.parent[a] = b
	}
}

// widen records an access of a group and reports whether it is the widest of its
// kind so far.
func (r *related) widen(group *ir.Operation, k accessKind, n int64) bool {
	m := r.width[group]
	if m == nil {
		m = map[accessKind]int64{}
		r.width[group] = m
	}
	if m[k] >= n {
		return false
	}
	m[k] = n
	return true
}

// flow gives each group what the groups know that it leads to.
func (r *related) flow(accesses []*ir.Operation) {
	var work []*ir.Operation
	queued := map[*ir.Operation]bool{}
	push := func(g *ir.Operation) {
		if !queued[g] {
			queued[g] = true
			work = append(work, g)
		}
	}
	for _, op := range accesses {
		push(r.group(op))
	}
	for len(work) > 0 {
		g := work[len(work)-1]
		work = work[:len(work)-1]
		queued[g] = false
		for _, before := range r.from[g] {
			r.meter.Visit()
			wider := false
			for k, n := range r.width[g] {
				wider = r.widen(before, k, n) || wider
			}
			if wider {
				push(before)
			}
		}
	}
}
