package partition

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// A group is a partition of a loop while it is being scheduled.
type group struct {
	id    int64
	stage int64
	ops   []*ir.Operation
}

// groupsOf are the partitions of a loop, in the order of their numbers.
type groupsOf struct {
	loop *ir.Operation
	list []*group
}

func (g *groupsOf) add(stage int64) *group {
	p := &group{id: int64(len(g.list)), stage: stage}
	g.list = append(g.list, p)
	return p
}

// at are the partitions with these numbers.
func (g *groupsOf) at(ids []int64) (list []*group) {
	for _, id := range ids {
		list = append(list, g.list[id])
	}
	return list
}

// set gives op to p alone.
func (g *groupsOf) set(op *ir.Operation, p *group) {
	mark(op, []int64{p.id})
	p.ops = append(p.ops, op)
}

// trySet gives op to p unless it has a partition.
func (g *groupsOf) trySet(op *ir.Operation, p *group) bool {
	if isMarked(op) {
		return false
	}
	g.set(op, p)
	return true
}

// isMarked reports whether op says its partitions.
func isMarked(op *ir.Operation) bool { return op != nil && op.HasAttr(idsAttr) }

// mark gives op its partitions, and the ends of its regions with it.
func mark(op *ir.Operation, ids []int64) {
	setIDs(op, ids)
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			if t := b.Terminator(); t != nil {
				setIDs(t, ids)
			}
		}
	}
}

// contains reports whether op runs in the partition.
func (p *group) contains(op *ir.Operation) bool {
	ids, _ := idsOf(op)
	return slices.Contains(ids, p.id)
}

// nestedOperands are the uses by op, and by what its regions have, of values from outside
// of op.
func nestedOperands(op *ir.Operation) (uses []*ir.Use) {
	ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		for i, v := range o.OperandValues() {
			if b := v.Block(); o == op || b != nil && b.Parent() != op && !op.IsAncestorOf(b.Parent()) {
				uses = append(uses, o.OperandUse(i))
			}
		}
		return ir.Advance
	})
	return uses
}

// resultUses are the uses of all results of op.
func resultUses(op *ir.Operation) (uses []*ir.Use) {
	for _, v := range op.Results() {
		for u := range v.Uses() {
			uses = append(uses, u)
		}
	}
	return uses
}

// definition is the operation in loop's body that computes v, or what an earlier
// iteration hands on as v; nil if there is none.
func definition(loop *ir.Operation, v *ir.Value) *ir.Operation {
	seen := make(map[*ir.Value]bool)
	for v.Def() == nil {
		next := forloop.Next(loop, v)
		if next == nil || seen[next] {
			return nil
		}
		seen[next] = true
		v = next
	}
	if v.Def().Block() != loop.Body() {
		return nil
	}
	return v.Def()
}

// definitionsOf are the operations in the body that compute what op needs of the body, in
// this iteration or an earlier one.
func (g *groupsOf) definitionsOf(op *ir.Operation) (defs []*ir.Operation) {
	for _, u := range nestedOperands(op) {
		if u.Value().Block() != g.loop.Body() {
			continue
		}
		if def := definition(g.loop, u.Value()); def != nil {
			defs = append(defs, def)
		}
	}
	return defs
}

// usersOf are the operations of the body that need results of op, in this iteration or a
// later one.
func (g *groupsOf) usersOf(op *ir.Operation) (users []*ir.Operation) {
	g.eachUser(op, func(_ *ir.Use, user *ir.Operation) bool {
		users = append(users, user)
		return false
	})
	return users
}

// eachUser calls f for each use of op's results in the body, with the operation of the
// body that has it; values that go to the next iteration are followed. Where f says so,
// the uses of that operation's results come next.
func (g *groupsOf) eachUser(op *ir.Operation, f func(*ir.Use, *ir.Operation) bool) {
	g.follow(resultUses(op), f)
}

func (g *groupsOf) follow(uses []*ir.Use, f func(*ir.Use, *ir.Operation) bool) {
	carried := make(map[int]bool)
	for len(uses) > 0 {
		u := uses[len(uses)-1]
		uses = uses[:len(uses)-1]
		user := forloop.AncestorIn(g.loop.Body(), u.Owner())
		switch {
		case user == nil:
		case user != forloop.Yield(g.loop):
			if f(u, user) {
				uses = append(uses, resultUses(user)...)
			}
		case !carried[u.Index()]:
			carried[u.Index()] = true
			for next := range scf.IterArg(g.loop, u.Index()).Uses() {
				uses = append(uses, next)
			}
		}
	}
}

// inputs are the operations of the body that compute what p needs from other partitions or
// from earlier iterations.
func (g *groupsOf) inputs(p *group) (defs []*ir.Operation) {
	for _, op := range p.ops {
		for _, u := range nestedOperands(op) {
			v := u.Value()
			if v.Block() != g.loop.Body() || v.Def() != nil && p.contains(v.Def()) {
				continue
			}
			if def := definition(g.loop, v); def != nil {
				defs = append(defs, def)
			}
		}
	}
	return defs
}

// outputs are the uses of what p computes in other partitions, and those by the end of the
// body.
func (g *groupsOf) outputs(p *group) (uses []*ir.Use) {
	for _, op := range p.ops {
		for _, u := range resultUses(op) {
			user := forloop.AncestorIn(g.loop.Body(), u.Owner())
			if user != nil && (user == forloop.Yield(g.loop) || !p.contains(user)) {
				uses = append(uses, u)
			}
		}
	}
	return uses
}
