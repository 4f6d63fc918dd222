package tma

import (
	"math"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// ProxyFences puts a fence before each copy by TMA into bytes of shared memory that
// threads may have read or written since the last fence, which is another proxy:
//
//	%x = ttg.local_load %a
//	ttng.fence_async_shared
//	ttng.async_tma_copy_global_to_local … %b      // %b has the bytes of %a
//
// Memory is placed as allocate-shared-memory places it. No pipeline runs the pass: the
// lowering puts the fences that it needs, which is none where threads only read.
var ProxyFences = &pass.Pass{
	Name:    "triton-nvidia-gpu-proxy-fence-insertion",
	Doc:     "fence what threads do to shared memory from the copies by TMA that overwrite it",
	Example: proxyFencesExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		for _, m := range builtin.Modules(r.Module) {
			placed, err := allocation.Analyze(m, allocation.Neutral(r.Place), allocation.Tight)
			if err != nil {
				return err
			}
			p := &proxies{placed: placed}
			var copies []*ir.Operation
			ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
				if op != m && op.Is(builtin.Module) {
					return ir.Skip
				}
				if written(op) != nil {
					copies = append(copies, op)
				}
				return ir.Advance
			})
			b := ir.NewBuilder(m.Context())
			for _, op := range copies {
				if !p.accessed(op, p.bytesOf(written(op))) {
					continue
				}
				b.At(op)
				ttng.AsFenceAsyncShared(b.Create(ttng.Def("fence_async_shared"), ir.State{})).SetBCluster(false)
				r.Count("fences", 1)
			}
		}
		return nil
	},
}

// written is the buffer that a copy by TMA writes; nil of other operations.
func written(op *ir.Operation) *ir.Value {
	switch op.Name() {
	case "ttng.async_tma_copy_global_to_local":
		return ttng.AsAsyncTmaCopyGlobalToLocal(op).Result()
	case "ttng.async_tma_gather":
		return ttng.AsAsyncTmaGather(op).Result()
	}
	return nil
}

// ofOtherProxy are operations by which threads do not access the buffers that they name:
// engines do, or they are barriers, which TMA does not overwrite.
var ofOtherProxy = map[string]bool{
	"ttng.async_tma_copy_global_to_local": true, "ttng.async_tma_gather": true, "ttng.async_tma_scatter": true,
	"ttng.async_tma_copy_local_to_global": true, "ttng.async_tma_reduce": true,
	"ttng.warp_group_dot": true, "ttng.warp_group_dot_wait": true,
	"ttng.tc_gen5_mma": true, "ttng.tc_gen5_mma_scaled": true, "ttng.tmem_copy": true,
	"ttng.init_barrier": true, "ttng.inval_barrier": true, "ttng.barrier_expect": true, "ttng.arrive_barrier": true, "ttng.wait_barrier": true,
}

// proxies asks what threads have done to bytes of shared memory.
type proxies struct{ placed *allocation.Result }

// A span is a range of bytes of a function's shared memory, end excluded.
type span struct{ lo, hi int }

func (s span) meets(others []span) bool {
	for _, o := range others {
		if s.lo < o.hi && o.lo < s.hi {
			return true
		}
	}
	return false
}

// bytesOf are the bytes that a view may be of; of unknown memory, all.
func (p *proxies) bytesOf(v *ir.Value) []span {
	set := alias.Of(v)
	if set.Any {
		return []span{{0, math.MaxInt}}
	}
	var list []span
	for _, buffer := range set.Buffers {
		a, _ := p.placed.Area(buffer)
		list = append(list, span{a.Offset, a.Offset + a.Size})
	}
	return list
}

// accessed reports whether threads may access bytes on a way to op that has no fence
// after the access.
func (p *proxies) accessed(op *ir.Operation, bytes []span) bool {
	for at := op; ; at = at.Parent() {
		touched, fenced := p.back(at.Prev(), nil, bytes)
		if touched || fenced {
			return touched
		}
		region, parent := at.Block().Region(), at.Parent()
		if region.First() != region.Last() { // any block may come before
			return p.touches(parent, bytes)
		}
		switch {
		case parent == nil || parent.Is(tt.Func):
			return false
		case parent.Is(scf.While):
			return p.touches(parent, bytes)
		case parent.Is(scf.For):
			// The iteration before: what comes after at, and at itself.
			if touched, fenced := p.back(region.First().Last(), at, bytes); touched || !fenced && p.touches(at, bytes) {
				return true
			}
		}
	}
}

// back looks from op back to stop, excluded, or to the block's start, for an access to
// bytes or a fence, whichever is nearer.
func (p *proxies) back(op, stop *ir.Operation, bytes []span) (touched, fenced bool) {
	for ; op != stop && op != nil; op = op.Prev() {
		if op.Name() == "ttng.fence_async_shared" {
			return false, true
		}
		if p.touches(op, bytes) {
			return true, false
		}
	}
	return false, false
}

// touches reports whether threads access bytes in op, or in what is inside it.
func (p *proxies) touches(op *ir.Operation, bytes []span) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		a, placed := p.placed.Area(o)
		empty := o.Is(ttg.LocalAlloc) && o.NumOperands() == 0 || o.Is(tt.Func)
		if placed && !empty && (span{a.Offset, a.Offset + a.Size}).meets(bytes) {
			return ir.Stop
		}
		if ofOtherProxy[o.Name()] || alias.IsView(o) || o.Is(ttg.LocalDealloc) || o.NumRegions() > 0 || o.IsTerminator() {
			return ir.Advance
		}
		for _, v := range o.OperandValues() {
			if _, ok := v.Type().(*ttg.MemDescType); !ok || ttng.InTensorMemory(v) {
				continue
			}
			for _, s := range p.bytesOf(v) {
				if s.meets(bytes) {
					return ir.Stop
				}
			}
		}
		return ir.Advance
	})
}
