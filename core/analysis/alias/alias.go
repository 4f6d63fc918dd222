package alias

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Set is what a memory descriptor may be a view of.
type Set struct {
	// Buffers are operations ttg.local_alloc, each once.
	Buffers []*ir.Operation
	// Any: it may also be any memory, as a function's parameter may.
	Any bool
}

// Of is the set of the memory descriptor v.
func Of(v *ir.Value) Set {
	w := walker{seen: make(map[*ir.Value]bool)}
	w.visit(v)
	return w.set
}

// IsView reports whether op's result is a part of a buffer, or all of it under
// another type.
func IsView(op *ir.Operation) bool { return ttg.Viewed(op) != nil }

type walker struct {
	set  Set
	seen map[*ir.Value]bool
}

func (w *walker) visit(v *ir.Value) {
	if w.seen[v] {
		return
	}
	w.seen[v] = true
	op := v.Def()
	switch {
	case op == nil:
		w.argument(v)
	case op.Is(ttg.LocalAlloc):
		if !slices.Contains(w.set.Buffers, op) {
			w.set.Buffers = append(w.set.Buffers, op)
		}
	case IsView(op):
		w.visit(ttg.Viewed(op))
	case op.Is(scf.For):
		i := v.Index()
		w.visit(scf.AsFor(op).InitArgsAt(i))
		w.visit(last(scf.AsFor(op).Region()).Operand(i))
	case op.Is(scf.If):
		for _, r := range op.Regions() {
			w.visit(last(r).Operand(v.Index()))
		}
	case op.Is(ttg.WarpSpecialize):
		for b := range ttg.AsWarpSpecialize(op).DefaultRegion().Blocks() {
			if y := b.Terminator(); y != nil && y.Is(ttg.WarpYield) {
				w.visit(y.Operand(v.Index()))
			}
		}
	case op.Is(scf.While):
		w.visit(scf.AsCondition(last(scf.AsWhile(op).Before())).ArgsAt(v.Index()))
	default:
		w.set.Any = true // what a called function returns
	}
}

func last(r *ir.Region) *ir.Operation { return r.First().Terminator() }

// argument follows a block's argument to all values that it may be.
func (w *walker) argument(v *ir.Value) {
	b, i := v.Block(), v.Index()
	parent := b.Parent()
	switch {
	case !b.IsEntry():
		for branch := range b.Predecessors() {
			for _, x := range branch.OperandValues() {
				if x.Type() == v.Type() {
					w.visit(x)
				}
			}
		}
	case parent == nil || parent.Is(tt.Func):
		w.set.Any = true
	case parent.Is(scf.For):
		i := scf.CarriedIndex(v)
		w.visit(scf.AsFor(parent).InitArgsAt(i))
		w.visit(last(scf.AsFor(parent).Region()).Operand(i))
	case parent.Is(scf.While):
		loop := scf.AsWhile(parent)
		if b == loop.Before().First() {
			w.visit(loop.InitsAt(i))
			w.visit(last(loop.After()).Operand(i))
		} else {
			w.visit(scf.AsCondition(last(loop.Before())).ArgsAt(i))
		}
	case parent.Is(ttg.WarpSpecializePartitions) && parent.Parent() != nil:
		w.visit(ttg.AsWarpSpecialize(parent.Parent()).ExplicitCapturesAt(i))
	default:
		w.set.Any = true
	}
}
