package gpu

import (
	"fmt"
	"maps"
	"sync"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// The operations of the dialect ttng are done by few threads: those of the first
// warp, or the one that it elects, always the same. These are the leaders of
// package membar.

// firstCC is the compute capability that brought what ttng describes.
const firstCC = 90

// Operations are those of the dialect ttng that sm_90 has, and those of tti.
func (t *Target) Operations() map[string]*lower.VendorOp {
	if t.CC < firstCC {
		return operationsBefore()
	}
	return operations()
}

var (
	operations       = sync.OnceValue(func() map[string]*lower.VendorOp { return withTTI(ttngOps()) })
	operationsBefore = sync.OnceValue(func() map[string]*lower.VendorOp { return withTTI(refusedOps()) })
)

// withTTI adds the operations of tti to a table.
func withTTI(ttng map[string]*lower.VendorOp) map[string]*lower.VendorOp {
	all := maps.Clone(ttng)
	maps.Copy(all, ttiOps())
	return all
}

// FenceAsync is fence.proxy.async.
func (*Target) FenceAsync(b *llir.Builder) {
	b.Asm("fence.proxy.async.shared::cta;", "", true, llir.Void)
}

// on makes the lowering of an operation of one that takes a view of it.
func on[V any](view func(*ir.Operation) V, lowering func(*lower.Site, V) error) func(*lower.Site, *ir.Operation) error {
	return func(s *lower.Site, op *ir.Operation) error { return lowering(s, view(op)) }
}

type ttngRow struct {
	name    string
	lower   func(*lower.Site, *ir.Operation) error
	effects func(*ir.Operation) membar.Effects
	scratch func(*ir.Operation) (bytes, align int)
}

var ttngRows = []ttngRow{
	{name: "tensormap_create", lower: on(ttng.AsTensormapCreate, createMap), scratch: mapScratch, effects: mapEffects},
	{name: "tensormap_fenceproxy_acquire", lower: on(ttng.AsTensormapFenceproxyAcquire, acquireMap)},
	{name: "reinterpret_tensor_descriptor", lower: on(ttng.AsReinterpretTensorDescriptor, mapOfPointer)},

	{name: "init_barrier", lower: on(ttng.AsInitBarrier, initBarrier), effects: onFirst(membar.Writes | membar.Leader)},
	{name: "inval_barrier", lower: on(ttng.AsInvalBarrier, invalBarrier), effects: onFirst(membar.Writes | membar.Leader)},
	{name: "barrier_expect", lower: on(ttng.AsBarrierExpect, expectBytes), effects: onFirst(membar.Writes | membar.Leader | membar.Sync)},
	{name: "arrive_barrier", lower: on(ttng.AsArriveBarrier, arrive), effects: onFirst(membar.Reads | membar.Sync)},
	{name: "async_copy_mbarrier_arrive", lower: on(ttng.AsAsyncCopyMbarrierArrive, arriveWithCopies), effects: onFirst(membar.Reads | membar.Sync)},
	{name: "wait_barrier", lower: on(ttng.AsWaitBarrier, waitBarrier), effects: onFirst(membar.Reads | membar.Sync)},

	{name: "warp_group_dot", lower: on(ttng.AsWarpGroupDot, warpGroupDot), effects: dotEffects},
	{name: "warp_group_dot_wait", lower: on(ttng.AsWarpGroupDotWait, warpGroupWait), effects: dotWaitEffects},

	{name: "fence_async_shared", lower: on(ttng.AsFenceAsyncShared, fenceAsync), effects: always(membar.Effects{Fences: true})},
	{name: "async_tma_copy_global_to_local", lower: on(ttng.AsAsyncTmaCopyGlobalToLocal, copyIn), effects: copyInEffects},
	{name: "async_tma_copy_local_to_global", lower: on(ttng.AsAsyncTmaCopyLocalToGlobal, copyOut), effects: copyOutEffects},
	{name: "async_tma_reduce", lower: on(ttng.AsAsyncTmaReduce, reduceOut), effects: reduceOutEffects},
	{name: "async_tma_store_wait", lower: on(ttng.AsAsyncTmaStoreWait, waitStores), effects: always(membar.Effects{Drains: true})},
}

// ttngOps is the table of the operations that are lowered.
var ttngOps = sync.OnceValue(func() map[string]*lower.VendorOp {
	ops := make(map[string]*lower.VendorOp, len(ttngRows))
	for _, r := range ttngRows {
		ops[ttng.Name+"."+r.name] = &lower.VendorOp{Lower: r.lower, Effects: r.effects, Scratch: r.scratch}
	}
	return ops
})

// refusedOps is the table of targets that have none of them.
var refusedOps = sync.OnceValue(func() map[string]*lower.VendorOp {
	refuse := &lower.VendorOp{Lower: func(*lower.Site, *ir.Operation) error {
		return fmt.Errorf("the target has no such instruction: compute capability %d.%d brought it", firstCC/10, firstCC%10)
	}}
	ops := make(map[string]*lower.VendorOp, len(ttngRows))
	for _, r := range ttngRows {
		ops[ttng.Name+"."+r.name] = refuse
	}
	return ops
})

// laterEffects is what the operations of ttng that are not lowered do to shared memory.
// What no thread waits for is an engine's, as of copies.
var laterEffects = map[string]func(*ir.Operation) membar.Effects{
	"ttng.async_tma_gather": func(op *ir.Operation) membar.Effects {
		gather := ttng.AsAsyncTmaGather(op)
		return fillEffects(op, gather.BarrierUse(), gather.ResultUse())
	},
	"ttng.async_tma_scatter": func(op *ir.Operation) membar.Effects {
		return readByEngine(ttng.AsAsyncTmaScatter(op).SrcUse())
	},
	"ttng.tc_gen5_mma":        gen5Effects,
	"ttng.tc_gen5_mma_scaled": gen5Effects,
	"ttng.tc_gen5_commit":     onFirst(toldByEngine),
	"ttng.tmem_copy": func(op *ir.Operation) membar.Effects {
		e := membar.Effects{Operands: make([]membar.Effect, op.NumOperands())}
		e.Operands[0] = membar.Reads | membar.Leader | membar.Async
		for i := 2; i < len(e.Operands); i++ {
			e.Operands[i] = toldByEngine
		}
		return e
	},
	"ttng.tmem_alloc":    nil,
	"ttng.tmem_load":     nil,
	"ttng.tmem_store":    nil,
	"ttng.tmem_subslice": nil,
}

// toldByEngine is the effect of an engine on the barrier at which it arrives.
const toldByEngine = membar.Writes | membar.Leader | membar.Sync | membar.Async

// gen5Effects: a leader has the engine read the operands that are in shared memory, and
// arrive at barriers.
func gen5Effects(op *ir.Operation) membar.Effects {
	e := membar.Effects{Operands: make([]membar.Effect, op.NumOperands())}
	mma := ttng.AsMMA(op)
	for i, v := range op.OperandValues() {
		switch m, ok := v.Type().(*ttg.MemDescType); {
		case !ok || ttng.InTensorMemory(v):
		case v == mma.A() || v == mma.B():
			e.Operands[i] = membar.Reads | membar.Leader | membar.Async
		case len(m.Shape) == 1:
			e.Operands[i] = toldByEngine
		default:
			e.Operands[i] = membar.Reads | membar.Leader | membar.Async // scales
		}
	}
	return e
}

// Effects is what an operation of ttng does to shared memory.
func Effects(op *ir.Operation) (membar.Effects, bool) {
	effects, ok := laterEffects[op.Name()]
	if o := ttngOps()[op.Name()]; o != nil {
		effects, ok = o.Effects, true
	}
	if effects == nil {
		return membar.Effects{}, ok
	}
	return effects(op), true
}

func always(e membar.Effects) func(*ir.Operation) membar.Effects {
	return func(*ir.Operation) membar.Effects { return e }
}

func onFirst(e membar.Effect) func(*ir.Operation) membar.Effects {
	return always(membar.Effects{Operands: []membar.Effect{e}})
}

// isFirstWarp is an i1 that holds in the first warp.
func isFirstWarp(s *lower.Site) llir.Value {
	return s.B.ICmp(enum.IPredULT, s.Thread, s.B.M.I32(lanes))
}

const (
	lanes    = 32
	laneBits = 5
)

// isLeader is an i1 that holds in the thread that the first warp elects. All
// threads must come here.
func isLeader(s *lower.Site) llir.Value {
	return s.B.And(isFirstWarp(s), isElected(s))
}

// isElected is an i1 that holds in the thread that its warp elects.
func isElected(s *lower.Site) llir.Value {
	b := s.B
	f := b.M.Declare("llvm.nvvm.elect.sync", llir.HasEffects, b.M.Struct(llir.I32, llir.I1), llir.I32)
	return b.ExtractValue(b.Call(f, b.M.I32(allLanes)), 1)
}
