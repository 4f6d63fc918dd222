package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// storeStages is for how many iterations a loop keeps the descriptors that it makes: its
// stores go on while the next iteration begins.
const storeStages = 2

// BufferDescriptors gives the descriptors that a loop with stores by TMA makes places in
// memory that they take in turn, so that a new one is not written over one that is in use:
//
//	for … iter_args(%n) { %d = tt.make_tensor_descriptor %p … }
//
// becomes
//
//	%m = ttg.global_scratch_alloc
//	for … iter_args(%n, %k = 0) {
//	  %q = tt.addptr %m, %k * 128
//	  ttng.tensormap_create %q, %p …
//	  ttng.tensormap_fenceproxy_acquire %q
//	  %d = ttng.reinterpret_tensor_descriptor %q
//	  %l = %k + 1 or 0 }
//
// A loop with dots by wgmma has one place more. Where a partition of a warp-specialized loop
// copies through its descriptors into a ring of buffers, there are as many places as copies
// can be under way, and what makes descriptors comes after the wait for a free buffer, so that
// one place more is enough. Loops that use descriptors from outside alone keep theirs. A
// compile leaves this out: triton-nvidia-tma-lowering has one place, and waits before it is
// written again.
var BufferDescriptors = &pass.Pass{
	Name:    "triton-nvidia-tma-descriptor-pipelining",
	Doc:     "give descriptors that loops make for TMA several places in memory",
	Example: bufferDescriptorsExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range forloop.All(r.Module) {
			if n := max(placesForStores(loop), placesForCopies(loop)); n > 0 {
				r.Count("descriptors", pipeline.BufferDescriptors(b, loop, n, Copies{}))
			}
		}
		return nil
	},
}

// placesForStores is how many places the descriptors that loop makes need since it stores
// through them; 0 if it does not.
func placesForStores(loop *ir.Operation) int {
	if !storesThroughOwn(loop) {
		return 0
	}
	for op := range loop.Body().Ops() {
		if made, ok := (wgmma.Unit{}).Made(op); ok && made.RunsOn {
			return storeStages + 1
		}
	}
	return storeStages
}

// storesThroughOwn reports whether loop, but not a loop inside it, stores by TMA through a
// descriptor that the kernel makes.
func storesThroughOwn(loop *ir.Operation) bool {
	return ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		var desc *ir.Value
		switch op.Def() {
		case ttng.Def("async_tma_copy_local_to_global"):
			desc = ttng.AsAsyncTmaCopyLocalToGlobal(op).Desc()
		case ttng.Def("async_tma_reduce"):
			desc = ttng.AsAsyncTmaReduce(op).Desc()
		case ttng.Def("async_tma_scatter"):
			desc = ttng.AsAsyncTmaScatter(op).Desc()
		case scf.For, scf.While:
			if op != loop {
				return ir.Skip
			}
		}
		if desc != nil && (desc.Def() != nil || !desc.Block().Parent().Is(tt.Func)) {
			return ir.Stop
		}
		return ir.Advance
	})
}
