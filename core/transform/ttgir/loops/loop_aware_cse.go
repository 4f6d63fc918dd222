package loops

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// LoopAwareCSE computes equal values once, and carries equal values through
// loops once: two carried values are equal when they start equal and, supposing
// that they are equal in one iteration, are so in the next. Passes that give a value
// a second layout and take it back leave such pairs.
//
//	%r:2 = scf.for … iter_args(%p = %x, %q = %x) {
//	  %p1 = tt.addptr %p, %d
//	  %q1 = tt.addptr %q, %d
//	  scf.yield %p1, %q1
//	}
//
// carries %p alone afterwards.
var LoopAwareCSE = &pass.Pass{
	Name:    "triton-loop-aware-cse",
	Doc:     "merge equal values, including those that loops carry",
	Example: loopAwareCSEExample,
	Run: func(r *pass.Run) error {
		if err := std.CSE.Run(r); err != nil {
			return err
		}
		b := ir.NewBuilder(r.Module.Context())
		merged := 0
		for _, loop := range forloop.All(r.Module) {
			merged += mergeCarried(b, loop)
		}
		if merged == 0 {
			return nil
		}
		r.Count("carried", merged)
		return std.CSE.Run(r)
	},
}

// mergeCarried lets one of several equal carried values of loop stand for all,
// and returns how many went.
func mergeCarried(b *ir.Builder, loop *ir.Operation) int {
	args, inits, yield := scf.IterArgs(loop), scf.Inits(loop), forloop.Yield(loop)
	drop, n := make([]bool, len(args)), 0
	for i := range args {
		for j := i + 1; j < len(args) && !drop[i]; j++ {
			if drop[j] || inits[i] != inits[j] || args[i].Type() != args[j].Type() {
				continue
			}
			e := loopEquality{loop: loop, same: map[[2]*ir.Value]bool{{args[i], args[j]}: true}}
			if !e.values(yield.Operand(i), yield.Operand(j)) {
				continue
			}
			args[j].ReplaceAllUsesWith(args[i])
			loop.Result(j).ReplaceAllUsesWith(loop.Result(i))
			drop[j] = true
			n++
		}
	}
	if n > 0 {
		forloop.DropCarried(b, loop, drop)
	}
	return n
}

// loopEquality decides whether two values of one iteration of a loop are equal, given
// what is supposed of its carried values.
type loopEquality struct {
	loop *ir.Operation
	same map[[2]*ir.Value]bool
}

func (e *loopEquality) values(x, y *ir.Value) bool {
	if x == y {
		return true
	}
	key := [2]*ir.Value{x, y}
	if known, ok := e.same[key]; ok {
		return known
	}
	e.same[key] = false // a cycle other than the supposed one proves nothing
	e.same[key] = e.computed(x, y)
	return e.same[key]
}

// computed compares two results of operations of the loop's own body.
func (e *loopEquality) computed(x, y *ir.Value) bool {
	a, b := x.Def(), y.Def()
	if a == nil || b == nil || x.Index() != y.Index() || a.Def() != b.Def() || a.NumRegions() > 0 ||
		a.Block() != e.loop.Body() || b.Block() != e.loop.Body() || !ir.IsPure(a) || rewrite.IsDead(a) ||
		a.NumOperands() != b.NumOperands() || x.Type() != y.Type() ||
		!slices.Equal(a.Attrs(), b.Attrs()) || !slices.Equal(a.Segments(), b.Segments()) {
		return false
	}
	for i, v := range a.Operands() {
		if !e.values(v, b.Operand(i)) {
			return false
		}
	}
	return true
}
