package wgmma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// LoadBeforeDots moves short loads from global memory that follow a dot of warpgroups in
// a loop before the first one, so that memory answers while the dot runs:
//
//	%d = ttng.warp_group_dot …            %s = tt.load …
//	%w = ttng.warp_group_dot_wait %d  →   %d = ttng.warp_group_dot …
//	%s = tt.load …                        %w = ttng.warp_group_dot_wait %d
//	%x = arith.mulf %w, %s                %x = arith.mulf %w, %s
//
// A matmul with a scale for each block waits for both in each iteration. No assembler
// does this: a load does not pass the wait for a dot. Loops that write global memory
// keep their order.
var LoadBeforeDots = &pass.Pass{
	Name:    "nvidia-wgmma-early-loads",
	Doc:     "load short tensors while dots of warpgroups run",
	Example: loadBeforeDotsExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(scf.For) && writesSharedAlone(op) {
				r.Count("moved", loadBeforeDots(op.Body()))
			}
			return ir.Advance
		})
		return nil
	},
}

// mostEarlyWords is how many registers of 32 bits the loads of a loop take at most that
// are worth them while its dots run.
const mostEarlyWords = 8

// writesSharedAlone reports whether a loop, apart from reading global memory, only uses
// shared memory.
func writesSharedAlone(loop *ir.Operation) bool {
	return !ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		switch op.Def() {
		case scf.For, ttg.LocalAlloc, ttg.LocalDealloc, ttg.LocalStore, ttg.AsyncCopy, ttg.AsyncCommitGroup, ttg.AsyncWait,
			ttng.Def("warp_group_dot"), ttng.Def("warp_group_dot_wait"), ttng.Def("fence_async_shared"), ttng.Def("async_tma_copy_global_to_local"), ttng.Def("barrier_expect"), ttng.Def("wait_barrier"):
			return ir.Advance
		}
		if ir.HasEffect(op, ir.Effects.Writes) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// loadBeforeDots moves the loads of a block, with what their addresses and masks are
// computed of, and returns their number.
func loadBeforeDots(block *ir.Block) int {
	var dot *ir.Operation
	room, n := mostEarlyWords, 0
	for op := range block.Ops() {
		switch {
		case dot == nil:
			if ttng.Is(op, "warp_group_dot") && ttng.AsWarpGroupDot(op).IsAsync() {
				dot = op
			}
		case op.Is(tt.Load) && !tt.AsLoad(op).IsVolatile():
			words := tensors.Words(op)
			if slice, ok := tensors.MovableBefore(dot, op); ok && words <= room {
				for _, o := range slice {
					o.MoveBefore(dot)
				}
				room -= words
				n++
			}
		}
	}
	return n
}
