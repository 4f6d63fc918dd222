package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// LiftCFToSCF makes conditions of the branches of functions, so that each is one block.
// Blocks that branches in a circle reach stay; Triton has no such.
var LiftCFToSCF = &pass.Pass{
	Name:    "lift-cf-to-scf",
	Doc:     "make conditions of the branches of functions",
	Example: liftCFToSCFExample,
	Run: func(r *pass.Run) error {
		r.Module.Context().Load(scf.Dialect)
		for f := range r.Module.Body().Ops() {
			if !f.Is(tt.Func) || f.Body() == nil {
				continue
			}
			region := tt.AsFunc(f).Body()
			simplifyCFG(region, r)
			if region.First() == region.Last() || circular(region) {
				continue
			}
			if err := lift(f, region); err != nil {
				return err
			}
			r.Count("lifted", 1)
		}
		return nil
	},
}

// circular reports whether branches lead from a block back to it.
func circular(r *ir.Region) bool {
	seen := make(map[*ir.Block]bool)
	for _, b := range ir.ReversePostorder(r) {
		seen[b] = true
		t := b.Terminator()
		if t == nil {
			return true
		}
		if slices.ContainsFunc(t.Successors(), func(s *ir.Block) bool { return seen[s] }) {
			return true
		}
	}
	return false
}

// lifter copies a function's blocks into one.
type lifter struct {
	*ir.Builder
	function *ir.Operation
	m        *ir.Mapping
	// joins are the blocks in which all ways from a block come together; none where
	// the function returns before.
	joins map[*ir.Block]*ir.Block
	made  int // operations
}

// lift replaces the blocks of a function by one. Both ways of a branch go on to where they
// join, or else each to its return; blocks that are on both ways then are copied.
func lift(f *ir.Operation, region *ir.Region) error {
	l := &lifter{Builder: ir.NewBuilder(f.Context()), function: f, m: ir.NewMapping(), joins: joins(region)}
	old := region.First()
	entry := region.AddBlock()
	for _, a := range old.Args() {
		l.m.Map(a, entry.AddArg(a.Type(), a.Loc()))
	}
	l.SetToEnd(entry)
	results, err := l.copy(old, nil)
	if err != nil {
		return err
	}
	l.Loc = lastReturn(region).Loc()
	l.Op(tt.Return, results)
	// What is left are the old blocks, which nothing uses but they themselves.
	for b := region.First(); b != entry; b = region.First() {
		b.Remove()
		region.AppendBlock(b)
	}
	eraseUnreachable(region)
	return nil
}

// lastReturn is the last return of a region's blocks.
func lastReturn(r *ir.Region) *ir.Operation {
	var last *ir.Operation
	for b := range r.Blocks() {
		if t := b.Terminator(); t != nil && t.Is(tt.Return) {
			last = t
		}
	}
	return last
}

// joins finds, for each block, the first block that all ways to a return have in common
// after it.
func joins(r *ir.Region) map[*ir.Block]*ir.Block {
	order := ir.ReversePostorder(r)
	after := make(map[*ir.Block][]*ir.Block) // what all ways from a block reach, nearest first
	first := make(map[*ir.Block]*ir.Block)
	for _, b := range slices.Backward(order) {
		var common []*ir.Block
		for i, s := range b.Terminator().Successors() {
			way := append([]*ir.Block{s}, after[s]...)
			if i == 0 {
				common = way
			} else {
				common = slices.DeleteFunc(slices.Clone(common), func(c *ir.Block) bool { return !slices.Contains(way, c) })
			}
		}
		after[b] = common
		if len(common) > 0 {
			first[b] = common[0]
		}
	}
	return first
}

// copy copies b and what follows it, up to stop, or to the returns where that is nil. It
// returns the new values of stop's arguments, or those that are returned.
func (l *lifter) copy(b, stop *ir.Block) ([]*ir.Value, error) {
	end := b.Terminator()
	for op := range b.Ops() {
		if op == end {
			break
		}
		n := op.Clone(l.m)
		if l.made += pass.CountOps(n); l.made > pass.MaxOps {
			return nil, pass.OverLimit(op.Loc(), "return once, at the end of the function", "the returns in conditions make the function longer than %d operations, the limit", pass.MaxOps)
		}
		l.Insert(n)
	}
	l.Loc = end.Loc()
	switch end.Def() {
	case tt.Return:
		return l.values(end.OperandValues()), nil
	case cf.Br:
		return l.enter(end, 0, stop)
	}
	join := l.joins[b]
	var types []ir.Type
	if join != nil {
		types = typesOf(join.Args())
	} else {
		types = typesOf(l.returned())
	}
	made := scf.NewIf(l.Builder, l.m.Lookup(cf.AsCondBr(end).Condition()), true, types...)
	at := l.Save()
	for i, r := range made.Regions() {
		l.SetToEnd(r.First())
		values, err := l.enter(end, i, join)
		if err != nil {
			return nil, err
		}
		scf.NewYield(l.Builder, values...)
	}
	l.Restore(at)
	if join == nil || join == stop {
		return made.Results(), nil
	}
	for i, a := range join.Args() {
		l.m.Map(a, made.Result(i))
	}
	return l.copy(join, stop)
}

// enter goes on to a successor of a branch.
func (l *lifter) enter(t *ir.Operation, way int, stop *ir.Block) ([]*ir.Value, error) {
	args := l.values(cf.SuccessorArgs(t, way))
	to := t.Successor(way)
	if to == stop {
		return args, nil
	}
	for i, a := range to.Args() {
		l.m.Map(a, args[i])
	}
	return l.copy(to, stop)
}

// returned are the operands of a return.
func (l *lifter) returned() []*ir.Value {
	return lastReturn(tt.AsFunc(l.function).Body()).OperandValues()
}

func (l *lifter) values(vs []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		out[i] = l.m.Lookup(v)
	}
	return out
}

func typesOf(vs []*ir.Value) []ir.Type {
	out := make([]ir.Type, len(vs))
	for i, v := range vs {
		out[i] = v.Type()
	}
	return out
}
