package tasks

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// idsAttr lists the tasks that run an operation.
const idsAttr = "async_task_id"

// warpGroups is the option of the passes.
var warpGroups = pass.Option{Name: "num-warp-groups", Doc: "groups of warps, the first of which loads; with 0 or 1 there are no tasks", Default: 0}

// TaskPartition marks the loads whose results go to dots of warpgroups, and nothing else
// that is in a kernel with loops, for task 0, and the dots and all stores for the
// others:
//
//	%a = tt.descriptor_load … {async_task_id = array<i32: 0>}
//	ttng.warp_group_dot … {async_task_id = array<i32: 1, 2>}
//	tt.descriptor_store … {async_task_id = array<i32: 1, 2>}
//
// Functions with marks keep theirs.
var TaskPartition = &pass.Pass{
	Name:    "nvgpu-test-ws-task-partition",
	Doc:     "mark loads of operands, dots and stores with tasks",
	Example: taskPartitionExample,
	Options: []pass.Option{warpGroups},
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		if r.Int("num-warp-groups") <= 1 {
			return nil
		}
		for f := range r.Module.Body().Ops() {
			if f.Is(tt.Func) {
				r.Count("loads", markTasks(f, r.Int("num-warp-groups")))
			}
		}
		return nil
	},
}

func markTasks(f *ir.Operation, groups int) int {
	var loops, dots, stores []*ir.Operation
	marked := ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.HasAttr(idsAttr):
			return ir.Stop
		case op.Is(scf.For):
			loops = append(loops, op)
		case ttng.Is(op, "warp_group_dot"):
			dots = append(dots, op)
		case op.Is(tt.Store), op.Is(tt.DescriptorStore):
			stores = append(stores, op)
		}
		return ir.Advance
	})
	if marked || len(loops) == 0 || len(dots) == 0 {
		return 0
	}
	seen := make(map[*ir.Operation]bool)
	var loads []*ir.Operation
	var find func(*ir.Value)
	find = func(v *ir.Value) {
		op := v.Def()
		if op == nil || seen[op] {
			return
		}
		seen[op] = true
		if op.Is(tt.DescriptorLoad) || op.Is(tt.Load) && isLarge(op) {
			loads = append(loads, op)
		}
		for _, o := range op.Operands() {
			find(o)
		}
	}
	for _, d := range dots {
		find(ttng.AsWarpGroupDot(d).A())
		find(ttng.AsWarpGroupDot(d).B())
	}
	if len(loads) == 0 {
		return 0
	}
	var consumers []int64
	for i := 1; i < groups; i++ {
		consumers = append(consumers, int64(i))
	}
	for _, op := range loads {
		op.SetAttr(idsAttr, op.Context().I32Array(0))
	}
	for _, op := range slices.Concat(dots, stores) {
		op.SetAttr(idsAttr, op.Context().I32Array(consumers...))
	}
	return len(loads)
}

// isLarge reports whether a load has elements for all threads.
func isLarge(load *ir.Operation) bool {
	t := tensors.Type(tt.AsLoad(load).Ptr())
	if t == nil {
		return tensors.Type(tt.AsLoad(load).Result()) != nil // through a block pointer
	}
	module := load
	for module.Parent() != nil {
		module = module.Parent()
	}
	warps, _ := module.IntAttr(ttg.NumWarpsAttr)
	return t.NumElements() > 1 && t.NumElements() >= warps*ttg.ThreadsPerWarp(module)
}
