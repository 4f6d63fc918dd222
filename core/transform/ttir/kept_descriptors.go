package ttir

import (
	"slices"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// keptDescriptors are the descriptors of module's kernels that need not become
// pointers:
//
//   - a kernel makes them itself, outside of loops, so that they are written to
//     memory once and before the first copy;
//   - they are used for loads, stores and reductions of blocks only, and not handed
//     on by loops, conditions and calls: each use knows its descriptor;
//   - nothing in the kernel writes the memory that they describe while something reads it:
//     copies through descriptors are not ordered with other accesses, not even with
//     those of the same thread;
//   - takes holds: the hardware copies such blocks from such memory.
//
// With dots these are none in a kernel where they serve no dots.
func keptDescriptors(module *ir.Operation, takes func(*ir.Operation, *axisinfo.Result) bool, products bool) map[*ir.Value]bool {
	kept := make(map[*ir.Value]bool)
	var info *axisinfo.Result
	for f := range module.Body().Ops() {
		if !f.Is(tt.Func) || f.Body() == nil || !isPublic(f) {
			continue
		}
		var made []*ir.Operation
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.MakeTensorDesc) && !inLoop(op) && onlyCopies(op.Result(0)) {
				made = append(made, op)
			}
			return ir.Advance
		})
		if len(made) == 0 {
			continue
		}
		if info == nil {
			info = axisinfo.Analyze(module)
		}
		used := useOfMemory(f)
		made = slices.DeleteFunc(made, func(op *ir.Operation) bool {
			u := used[root(tt.AsMakeTensorDesc(op).Base())]
			return u.read && u.written || !takes(op, info)
		})
		if products && !slices.ContainsFunc(made, servesProducts) {
			continue
		}
		for _, op := range made {
			kept[op.Result(0)] = true
		}
	}
	return kept
}

// servesProducts reports whether a loop with a dot, at any depth, copies through the
// descriptor that made makes. In a kernel without such, writing descriptors, by each
// program, and waiting for copies takes longer than loads and stores of registers.
func servesProducts(made *ir.Operation) bool {
	for u := range made.Result(0).Users() {
		for p := u.Parent(); p != nil; p = p.Parent() {
			if (p.Is(scf.For) || p.Is(scf.While)) && hasDot(p) {
				return true
			}
		}
	}
	return false
}

func hasDot(op *ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if o.Is(tt.Dot) || o.Is(tt.DotScaled) {
			return ir.Stop
		}
		return ir.Advance
	})
}

func isPublic(f *ir.Operation) bool {
	v := tt.AsFunc(f).SymVisibility()
	return v == "" || v == "public"
}

func inLoop(op *ir.Operation) bool {
	for p := op.Parent(); p != nil; p = p.Parent() {
		if p.Is(scf.For) || p.Is(scf.While) {
			return true
		}
	}
	// Blocks that branch to one another may be a loop.
	return op.Block().Region().First() != op.Block().Region().Last()
}

func onlyCopies(desc *ir.Value) bool {
	for u := range desc.Uses() {
		switch u.Owner().Def() {
		case tt.DescriptorLoad, tt.DescriptorStore, tt.DescriptorReduce:
		default:
			return false
		}
	}
	return true
}

// memoryUse is what a function does with the memory that one pointer points to.
type memoryUse struct{ read, written bool }

// useOfMemory says it for the roots of all pointers that f uses.
func useOfMemory(f *ir.Operation) map[*ir.Value]memoryUse {
	uses := make(map[*ir.Value]memoryUse)
	add := func(v *ir.Value, read, written bool) {
		r := root(v)
		u := uses[r]
		uses[r] = memoryUse{u.read || read, u.written || written}
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		switch op.Def() {
		case tt.Load, tt.DescriptorLoad, tt.DescriptorGather:
			add(op.Operand(0), true, false)
		case tt.Store, tt.DescriptorStore, tt.DescriptorReduce, tt.DescriptorScatter:
			add(op.Operand(0), false, true)
		default:
			if followed(op) || op.Is(scf.For) {
				break
			}
			for i, v := range op.Operands() {
				if tt.PtrLike.Test(v.Type()) && !carriedAlong(op, i) {
					add(v, true, true) // a call, an atomic operation, a choice among pointers
				}
			}
		}
		return ir.Advance
	})
	return uses
}

// followed reports whether the pointer that op makes points into the memory that
// its first operand does.
func followed(op *ir.Operation) bool {
	switch op.Def() {
	case tt.AddPtr, tt.Splat, tt.Broadcast, tt.ExpandDims, tt.Reshape, tt.Trans, tt.Bitcast, tt.MakeTensorDesc:
		return true
	}
	return false
}

// carriedAlong reports whether operand i of op hands a loop's pointer to its next
// iteration, still in the same memory.
func carriedAlong(op *ir.Operation, i int) bool {
	if !op.Is(scf.Yield) {
		return false
	}
	loop := op.Parent()
	return loop.Is(scf.For) && root(op.Operand(i)) == root(scf.Inits(loop)[i])
}

// root is the pointer that v was computed from. Different ones are taken to point
// to different memory.
func root(v *ir.Value) *ir.Value {
	for {
		op := v.Def()
		switch {
		case op == nil:
			loop := v.Block().Parent()
			if loop == nil || !loop.Is(scf.For) || v.Index() == 0 {
				return v
			}
			v = scf.Inits(loop)[v.Index()-1]
		case op.Is(scf.For):
			v = scf.Inits(op)[v.Index()]
		case followed(op):
			v = op.Operand(0)
		default:
			return v
		}
	}
}
