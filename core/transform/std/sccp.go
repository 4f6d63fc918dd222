package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
)

// SCCP replaces values that are the same constant on every path that can be
// executed. Unlike folding, it assumes that nothing is executed and nothing changes
// until shown otherwise, so it finds constants that loops carry and that only
// branches never taken would change. Dead operations are erased; branches whose
// condition became constant are left to canonicalize.
//
// Wegman and Zadeck, "Constant propagation with conditional branches", 1991.
var SCCP = &pass.Pass{
	Name:    "sccp",
	Doc:     "propagate constants along the paths that can be executed",
	Example: sccpExample,
	Run: func(r *pass.Run) error {
		for f := range r.Module.Body().Ops() {
			if !f.Is(tt.Func) || f.Body() == nil {
				continue
			}
			s := &sccp{known: make(map[*ir.Value]fact), reached: make(map[*ir.Block]bool)}
			for s.changed = true; s.changed; {
				s.changed = false
				s.anyArgs(f.Body())
				s.blocks(tt.AsFunc(f).Body())
			}
			r.Count("constants", s.replace(f))
		}
		return nil
	},
}

// fact is what is known of a value: nothing was found to compute it yet, it is
// one constant, or it may be anything.
type fact struct {
	state state
	attr  ir.Attribute // of a constant
}

type state uint8

const (
	unreached state = iota
	constant
	anything
)

type sccp struct {
	known   map[*ir.Value]fact
	reached map[*ir.Block]bool
	changed bool
}

func (s *sccp) of(v *ir.Value) fact {
	if a := arith.ConstantValue(v); a != nil {
		return fact{constant, a}
	}
	return s.known[v]
}

// join adds to what v may be.
func (s *sccp) join(v *ir.Value, k fact) {
	have := s.known[v]
	switch {
	case k.state == unreached || have.state == anything || have == k:
		return
	case have.state == constant && k.state == constant, k.state == anything:
		k = fact{state: anything}
	case arith.TypeOf(k.attr) != v.Type():
		k = fact{state: anything}
	}
	s.known[v] = k
	s.changed = true
}

func (s *sccp) any(vs []*ir.Value) {
	for _, v := range vs {
		s.join(v, fact{state: anything})
	}
}

func (s *sccp) anyArgs(b *ir.Block) { s.any(b.Args()) }

// flow joins each of from into the value of that number in to.
func (s *sccp) flow(from, to []*ir.Value) {
	for i, v := range from {
		s.join(to[i], s.of(v))
	}
}

// blocks goes through the blocks of r that are reached.
func (s *sccp) blocks(r *ir.Region) {
	if r.Empty() {
		return
	}
	s.reach(r.First())
	for b := range r.Blocks() {
		if s.reached[b] {
			for op := range b.Ops() {
				s.operation(op)
			}
		}
	}
}

func (s *sccp) reach(b *ir.Block) {
	if !s.reached[b] {
		s.reached[b] = true
		s.changed = true
	}
}

func (s *sccp) operation(op *ir.Operation) {
	switch op.Def() {
	case cf.Br:
		s.reach(op.Successor(0))
		s.flow(op.OperandValues(), op.Successor(0).Args())
	case cf.CondBr:
		s.condBranch(op)
	case scf.If:
		s.conditional(op)
	case scf.For:
		args := scf.IterArgs(op)
		s.join(scf.InductionVar(op), fact{state: anything})
		s.flow(scf.Inits(op), args)
		s.blocks(scf.AsFor(op).Region())
		s.flow(op.Body().Terminator().OperandValues(), args)
		s.flow(args, op.Results())
	case scf.While:
		loop := scf.AsWhile(op)
		before, after := loop.Before().First(), loop.After().First()
		s.flow(loop.Inits(), before.Args())
		s.blocks(loop.Before())
		passed := condition(op).Args()
		s.flow(passed, after.Args())
		s.flow(passed, op.Results())
		s.blocks(loop.After())
		s.flow(after.Terminator().OperandValues(), before.Args())
	default:
		s.compute(op)
	}
}

func (s *sccp) condBranch(op *ir.Operation) {
	cond := s.of(cf.AsCondBr(op).Condition())
	if cond.state == unreached {
		return
	}
	for i := range 2 {
		if taken, ok := arith.AttrInt(cond.attr); cond.state == constant && ok && taken&1 == int64(i) {
			continue
		}
		s.reach(op.Successor(i))
		s.flow(cf.SuccessorArgs(op, i), op.Successor(i).Args())
	}
}

func (s *sccp) conditional(op *ir.Operation) {
	cond := s.of(scf.AsIf(op).Condition())
	if cond.state == unreached {
		return
	}
	for i, r := range op.Regions() {
		if taken, ok := arith.AttrInt(cond.attr); cond.state == constant && ok && taken&1 == int64(i) || r.Empty() {
			continue
		}
		s.blocks(r)
		s.flow(r.First().Terminator().OperandValues(), op.Results())
	}
}

// compute folds an operation on what is known of its operands.
func (s *sccp) compute(op *ir.Operation) {
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			s.anyArgs(b)
			s.reach(b)
		}
		s.blocks(r)
	}
	if op.NumResults() == 0 || op.Def().Has(ir.ConstantLike) {
		return
	}
	if op.Def().Fold == nil || op.NumRegions() > 0 || !ir.IsPure(op) {
		s.any(op.Results())
		return
	}
	consts := make([]ir.Attribute, op.NumOperands())
	for i, v := range op.Operands() {
		k := s.of(v)
		if k.state == unreached {
			return
		}
		consts[i] = k.attr
	}
	results := op.Def().Fold(op, consts)
	if len(results) != op.NumResults() {
		s.any(op.Results())
		return
	}
	for i, r := range results {
		switch {
		case r.Value != nil:
			s.join(op.Result(i), s.of(r.Value))
		case r.Attr != nil:
			s.join(op.Result(i), fact{constant, r.Attr})
		default:
			s.join(op.Result(i), fact{state: anything})
		}
	}
}

// isConstant reports whether v is one constant.
func (s *sccp) isConstant(v *ir.Value) bool { return s.known[v].state == constant }

// replace puts constants, made at the start of f or of the region in it that uses
// nothing from above, in the place of the values that were found to be constant, erases
// what is dead, and returns the number of values replaced.
func (s *sccp) replace(f *ir.Operation) int {
	b := ir.NewBuilder(f.Context())
	type place struct {
		home *ir.Block
		attr ir.Attribute
	}
	made := make(map[place]*ir.Value)
	n := 0
	put := func(v *ir.Value, loc ir.Location) {
		k := s.known[v]
		if k.state != constant || !v.HasUses() {
			return
		}
		at := place{home(v), k.attr}
		if made[at] == nil {
			b.SetToStart(at.home)
			b.Loc = loc
			made[at] = arith.NewConstant(b, k.attr)
		}
		v.ReplaceAllUsesWith(made[at])
		n++
	}
	var ops []*ir.Operation
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		for _, r := range op.Results() {
			put(r, op.Loc())
		}
		for _, r := range op.Regions() {
			for blk := range r.Blocks() {
				for _, a := range blk.Args() {
					put(a, op.Loc())
				}
			}
		}
		ops = append(ops, op)
		return ir.Advance
	})
	for i := len(ops) - 1; i >= 0; i-- {
		if op := ops[i]; slices.ContainsFunc(op.Results(), s.isConstant) && rewrite.IsDead(op) {
			op.Erase()
		}
	}
	return n
}

// home is the block at whose start constants are seen by all that sees v.
func home(v *ir.Value) *ir.Block {
	b := v.Block()
	for !b.Parent().Def().Has(ir.IsolatedFromAbove) {
		b = b.Parent().Block()
	}
	return b.Region().First()
}
