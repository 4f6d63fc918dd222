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
// of warpgroups that read it, which see memory through another proxy. What a
// ttg.local_alloc or ttg.local_store writes is fenced before the dot, outside of the
// loops that write nothing of it:
//
//	%m = ttg.local_alloc %x
//	ttng.fence_async_shared
//	for … { ttng.warp_group_dot %m, … }
//
// What ttg.async_copy_global_to_local writes is fenced after the wait for it, where
// one barrier serves for the wait and the fence:
//
//	ttg.async_wait
//	ttng.fence_async_shared
//	ttng.warp_group_dot …
//
// Copies by TMA need none. The lowering puts fences where this pass does not, right
// before the access and with a barrier of their own: this pass is for speed.
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
			case op.Is(ops().dot):
				dots = append(dots, op)
			case op.Is(ttg.LocalAlloc):
				if ttg.AsLocalAlloc(op).Src() != nil {
					f.writers[op] = append(f.writers[op], op)
				}
			case op.Is(ttg.LocalStore), op.Is(ttg.AsyncCopy):
				into, _ := written(op)
				for _, buffer := range alias.Of(into).Buffers {
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

// fence makes the fences that dot needs and that are not there.
func (f *fences) fence(dot *ir.Operation) {
	var stores []*ir.Operation
	copies, anywhere := false, false
	for _, v := range buffers(dot) {
		set := alias.Of(v)
		if set.Any {
			anywhere = true
		}
		for _, buffer := range set.Buffers {
			for _, w := range f.writers[buffer] {
				if w.Is(ttg.AsyncCopy) {
					copies = true
				} else {
					stores = append(stores, w)
				}
			}
		}
	}
	if copies {
		if w := waitBefore(dot); w != nil {
			if next := w.Next(); !next.Is(ops().fence) {
				f.b.After(w)
				f.insert()
			}
		} else {
			anywhere = true
		}
	}
	if len(stores) > 0 || anywhere {
		at := dot
		if !anywhere {
			at = outermost(dot, stores)
		}
		if anywhere || !fenced(at, stores) {
			f.b.SetBefore(at)
			f.b.Loc = dot.Loc()
			f.insert()
		}
	}
}

// fenced reports whether there is a fence before op that none of stores follows.
func fenced(op *ir.Operation, stores []*ir.Operation) bool {
	for o := op.Prev(); o != nil && o.NumRegions() == 0 && !slices.Contains(stores, o); o = o.Prev() {
		if o.Is(ops().fence) {
			return true
		}
	}
	return false
}

// insert makes a fence.
func (f *fences) insert() {
	ttng.AsFenceAsyncShared(f.b.Create(ops().fence, ir.State{})).SetBCluster(false)
	f.made++
}

// waitBefore is the last wait for copies that is surely executed before op and in
// the same iteration; nil if there is none.
func waitBefore(op *ir.Operation) *ir.Operation {
	for at := op; at != nil && !isLoop(at); at = at.Parent() {
		for o := at.Prev(); o != nil; o = o.Prev() {
			if o.Is(ttg.AsyncWait) {
				return o
			}
		}
	}
	return nil
}

// outermost is op or the outermost loop around it that contains none of others.
func outermost(op *ir.Operation, others []*ir.Operation) *ir.Operation {
	at := op
	for p := op.Parent(); p != nil; p = p.Parent() {
		if slices.ContainsFunc(others, p.IsAncestorOf) {
			break
		}
		if isLoop(p) {
			at = p
		}
	}
	return at
}

func isLoop(op *ir.Operation) bool { return op.Is(scf.For) || op.Is(scf.While) }
