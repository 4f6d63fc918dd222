package tasks

import (
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/partition"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
)

// consumerRegisters are those that the threads of a task may have that does not load.
const consumerRegisters = 232

// CodePartition gives each task warps of its own, and what its operations use that another
// task makes: through buffers, of which a token says whether they are full or free.
//
//	for … {
//	  %a = tt.load %p           {async_task_id = array<i32: 0>}
//	  %x = ttg.local_alloc %a   {async_task_id = array<i32: 1>}
//	  ttng.warp_group_dot %x, … {async_task_id = array<i32: 1>}
//	}
//
// becomes
//
//	ttg.warp_specialize(…)
//	default {
//	  for … {
//	    nvws.producer_acquire %token, %i, %phase
//	    ttg.async_copy_global_to_local %p, %buffers[%i]
//	    nvws.producer_commit %token, %i
//	  }
//	}
//	partition0(…) num_warps(4) {
//	  for … {
//	    nvws.consumer_wait %token, %i, %phase
//	    ttng.warp_group_dot %buffers[%i], …
//	    nvws.consumer_release %token, %i
//	  }
//	}
//
// Loads through descriptors are by TMA, which a barrier awaits. Functions with conditions,
// and such in which a task needs numbers that another one makes, stay as they are.
var CodePartition = &pass.Pass{
	Name:    "nvgpu-test-ws-code-partition",
	Doc:     "give each task its own warps, and buffers between tasks",
	Example: codePartitionExample,
	Options: []pass.Option{{Name: "num-buffers", Doc: "iterations for which a task may be ahead of another; with 0 nothing is done", Default: 0}},
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Breaks:  []*pass.Fact{facts.Layouts}, // tokens are tensors without one
	Run: func(r *pass.Run) error {
		n := r.Int("num-buffers")
		if n <= 0 {
			return nil
		}
		var divided []*ir.Operation
		for f := range r.Module.Body().Ops() {
			if f.Is(tt.Func) && divideCode(f, n) {
				divided = append(divided, f)
				r.Count("functions", 1)
			}
		}
		if len(divided) == 0 {
			return nil
		}
		if err := r.Also(partition.LowerWarpGroup); err != nil {
			return err
		}
		for _, f := range divided {
			for op := range tt.AsFunc(f).Body().First().Ops() {
				if op.Is(ttg.WarpSpecialize) {
					v := ttg.AsWarpSpecialize(op)
					v.SetRequestedRegisters(slices.Repeat([]int64{consumerRegisters}, len(v.PartitionNumWarps())))
				}
			}
		}
		return nil
	},
}

// divideCode makes a warp group of what is marked in a function; false if it cannot.
func divideCode(f *ir.Operation, n int) bool {
	p := newProgram(f)
	if p == nil {
		return false
	}
	p.findChannels()
	if len(p.channels) == 0 || !p.isComplete() {
		return false
	}
	c := f.Context()
	c.Load(nvws.Dialect())
	tokens, err := text.ParseType(c, "tensor<"+strconv.Itoa(n)+"x!nvws.token>")
	if err != nil {
		panic("BUG: tasks: " + err.Error())
	}
	b := ir.NewBuilder(c)
	p.prepare(b, n, tokens, nvws.Def("create_token"))
	// Loops were made again, and counters came beside them.
	var inside []*ir.Operation
	for op := range p.entry.Ops() {
		if _, ok := p.tasks[op]; ok && !op.IsTerminator() {
			inside = append(inside, op)
		}
	}
	b.At(p.entry.Terminator())
	warps := int64(machine.Of(f.ParentOf(builtin.Module)).At(f).Warps)
	group := nvws.AsWarpGroup(b.Create(nvws.Def("warp_group"), ir.State{Regions: len(p.all)}))
	group.SetNumWarps(slices.Repeat([]int64{warps}, len(p.all)))
	for i, r := range group.PartitionRegions() {
		b.SetToEnd(r.AddBlock())
		s := newSpecializer(p, b, p.all[i])
		s.block(p.entry)
		b.Op(nvws.Def("warp_group.return"), nil)
	}
	for _, op := range slices.Backward(inside) {
		op.Erase()
	}
	return true
}
