package wgmma

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// InsertFences puts a fence between what threads write to shared memory and the dots
// of warpgroups, or in tensor memory, that read it, which see memory through another proxy. What a
// ttg.local_alloc or ttg.local_store writes is fenced before the dot, outside of the
// loops that write nothing of it:
//
//	%m = ttg.local_alloc %x
//	ttng.fence_async_shared
//	for … { ttng.warp_group_dot %m, … }
//
// Copies need none: by TMA, since that is the same proxy; by
// ttg.async_copy_global_to_local, since their data are in place after the wait for them
// and a barrier. For these PTX asks for a fence, but CUTLASS and Triton have none, and
// matmuls on an H200 are 1 to 2 % faster without.
//
// The lowering puts fences where this pass does not, right before the access and with
// a barrier of their own: this pass is for speed.
var InsertFences = &pass.Pass{
	Name:    "triton-nvidia-gpu-fence-insertion",
	Doc:     "fence what threads write to shared memory from the dots that read it",
	Example: insertFencesExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		f := &fences{b: ir.NewBuilder(r.Module.Context()), writers: make(map[*ir.Operation][]*ir.Operation)}
		var dots []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			switch {
			case len(readByDot(op)) > 0:
				dots = append(dots, op)
			case op.Is(ttg.LocalAlloc):
				if ttg.AsLocalAlloc(op).Src() != nil {
					f.writers[op] = append(f.writers[op], op)
				}
			case op.Is(ttg.LocalStore):
				for _, buffer := range alias.Of(ttg.AsLocalStore(op).Dst()).Buffers {
					f.writers[buffer] = append(f.writers[buffer], op)
				}
			}
			return ir.Advance
		})
		for _, d := range dots {
			f.fence(d)
		}
		r.Count("fences", f.made)
		return nil
	},
}

type fences struct {
	b *ir.Builder
	// writers are the operations by which threads write a buffer.
	writers map[*ir.Operation][]*ir.Operation
	made    int
}

// fence makes the fence that dot needs, unless it is there.
func (f *fences) fence(dot *ir.Operation) {
	var stores []*ir.Operation
	for _, v := range readByDot(dot) {
		set := alias.Of(v)
		if set.Any {
			f.insert(dot, dot) // whoever writes it
			return
		}
		for _, buffer := range set.Buffers {
			stores = append(stores, f.writers[buffer]...)
		}
	}
	if len(stores) == 0 {
		return
	}
	if at := outermost(dot, stores); !fenced(at, stores) {
		f.insert(at, dot)
	}
}

// readByDot are the operands in shared memory that op reads through the other proxy, if
// it is a dot: of a warpgroup, or in tensor memory.
func readByDot(op *ir.Operation) []*ir.Value {
	if ttng.Is(op, "warp_group_dot") {
		return buffers(op)
	}
	mma := ttng.AsMMA(op)
	if mma == nil {
		return nil
	}
	var list []*ir.Value
	for _, v := range []*ir.Value{mma.A(), mma.B()} {
		if !ttng.InTensorMemory(v) {
			list = append(list, v)
		}
	}
	return list
}

// insert makes a fence before op for dot.
func (f *fences) insert(op, dot *ir.Operation) {
	f.b.SetBefore(op)
	f.b.Loc = dot.Loc()
	ttng.AsFenceAsyncShared(f.b.Create(ttng.Def("fence_async_shared"), ir.State{})).SetBCluster(false)
	f.made++
}

// fenced reports whether there is a fence before op that none of stores follows.
func fenced(op *ir.Operation, stores []*ir.Operation) bool {
	for o := op.Prev(); o != nil && o.NumRegions() == 0 && !slices.Contains(stores, o); o = o.Prev() {
		if ttng.Is(o, "fence_async_shared") {
			return true
		}
	}
	return false
}

// outermost is op or the outermost loop around it that contains none of others.
func outermost(op *ir.Operation, others []*ir.Operation) *ir.Operation {
	at := op
	for p := op.Parent(); p != nil; p = p.Parent() {
		if slices.ContainsFunc(others, p.IsAncestorOf) {
			break
		}
		if p.Is(scf.For) || p.Is(scf.While) {
			at = p
		}
	}
	return at
}
