package instrument

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// peer is which of the threads of the model does what an operation starts.
type peer int

// The peers of thread i are i + peer.
const (
	itself     peer = 0
	copyEngine peer = maxThreads
	matrixUnit peer = 2 * maxThreads
)

// waitedFor is how other threads learn that an access is done.
type waitedFor int

const (
	byBarrier waitedFor = iota
	byNumber            // of groups that were committed later
)

// access is one to a buffer; operand is its name where an operation has several.
type access struct {
	buffer  *ir.Value
	writes  bool
	operand string
}

// arrival is count arrivals at an mbarrier, where pred, if there is one, holds.
type arrival struct {
	barrier, pred *ir.Value
	count         int64
}

// effects are what an operation does to buffers and mbarriers where pred, if there is one,
// holds.
type effects struct {
	by       peer
	pred     *ir.Value
	accesses []access
	arrivals []arrival
	done     waitedFor
	kind     commitKind // for byNumber
	commits  bool       // is a group by itself
}

func read(v *ir.Value, operand string) access  { return access{v, false, operand} }
func write(v *ir.Value, operand string) access { return access{v, true, operand} }

// effectsOf are the effects of op, nil if it has none.
func (in *instrumenter) effectsOf(op *ir.Operation) *effects {
	if op.Def().Dialect() == ttng.Name {
		return in.effectsOfTTNG(op)
	}
	switch {
	case op.Is(ttg.LocalAlloc) && ttg.AsLocalAlloc(op).Src() != nil:
		return &effects{accesses: []access{write(allocated(op), "")}}
	case op.Is(ttg.LocalLoad):
		return &effects{accesses: []access{read(ttg.AsLocalLoad(op).Src(), "")}}
	case op.Is(ttg.LocalStore):
		return &effects{accesses: []access{write(ttg.AsLocalStore(op).Dst(), "")}}
	case op.Is(ttg.AsyncCopy):
		return &effects{accesses: []access{write(ttg.AsAsyncCopy(op).Result(), "")}, done: byNumber, kind: cpAsync}
	}
	return nil
}

func (in *instrumenter) effectsOfTTNG(op *ir.Operation) *effects {
	if m := ttng.AsMMA(op); m != nil {
		return mmaEffects(op, m)
	}
	switch op.Name() {
	case "ttng.async_tma_copy_global_to_local":
		v := ttng.AsAsyncTmaCopyGlobalToLocal(op)
		return in.copyEffects(v.Result(), v.Barrier(), v.Pred())
	case "ttng.async_tma_gather":
		v := ttng.AsAsyncTmaGather(op)
		return in.copyEffects(v.Result(), v.Barrier(), v.Pred())
	case "ttng.async_tma_copy_local_to_global":
		return storeEffects(ttng.AsAsyncTmaCopyLocalToGlobal(op).Src())
	case "ttng.async_tma_reduce":
		return storeEffects(ttng.AsAsyncTmaReduce(op).Src())
	case "ttng.async_tma_scatter":
		return storeEffects(ttng.AsAsyncTmaScatter(op).Src())
	case "ttng.warp_group_dot":
		return dotEffects(ttng.AsWarpGroupDot(op))
	case "ttng.tc_gen5_commit":
		v := ttng.AsTcGen5Commit(op)
		return &effects{by: matrixUnit, pred: v.Pred(), arrivals: []arrival{{v.Barrier(), nil, 1}}}
	case "ttng.arrive_barrier":
		v := ttng.AsArriveBarrier(op)
		return &effects{pred: v.Pred(), arrivals: []arrival{{v.Alloc(), nil, v.Count()}}}
	case "ttng.barrier_expect":
		v := ttng.AsBarrierExpect(op)
		return &effects{pred: v.Pred(), arrivals: []arrival{{v.Alloc(), nil, 1}}}
	case "ttng.tmem_load":
		return &effects{accesses: []access{read(ttng.AsTmemLoad(op).Src(), "")}}
	case "ttng.tmem_store":
		v := ttng.AsTmemStore(op)
		return &effects{pred: v.Pred(), accesses: []access{write(v.Dst(), "")}}
	case "ttng.tmem_alloc":
		if ttng.AsTmemAlloc(op).Src() != nil {
			return &effects{accesses: []access{write(allocated(op), "")}}
		}
	case "ttng.tmem_copy":
		v := ttng.AsTmemCopy(op)
		e := &effects{by: matrixUnit, accesses: []access{read(v.Src(), "Src"), write(v.Dst(), "Dst")}}
		if v.Barrier() != nil {
			e.arrivals = []arrival{{v.Barrier(), nil, 1}}
		}
		return e
	}
	return nil
}

// copyEffects are those of a copy by TMA to a buffer. Its bytes complete the phase that
// ttng.barrier_expect arrived in; where a kernel has no such operation, the copy arrives.
func (in *instrumenter) copyEffects(to, barrier, pred *ir.Value) *effects {
	a := arrival{barrier: barrier, count: 1}
	if in.expects {
		a.count = 0
	}
	return &effects{by: copyEngine, pred: pred, accesses: []access{write(to, "")}, arrivals: []arrival{a}}
}

// storeEffects are those of a store by TMA, which is a group by itself.
func storeEffects(from *ir.Value) *effects {
	return &effects{by: copyEngine, accesses: []access{read(from, "")}, done: byNumber, kind: tmaStore, commits: true}
}

func dotEffects(v ttng.WarpGroupDotOp) *effects {
	e := new(effects)
	if v.IsAsync() {
		e.done, e.kind, e.commits = byNumber, wgmma, true
	}
	for _, x := range []access{read(v.A(), "A"), read(v.B(), "B")} {
		if _, ok := x.buffer.Type().(*ttg.MemDescType); ok {
			e.accesses = append(e.accesses, x)
		}
	}
	return e
}

func mmaEffects(op *ir.Operation, m ttng.MMA) *effects {
	e := &effects{by: matrixUnit, pred: m.Pred(), accesses: []access{read(m.A(), "A"), read(m.B(), "B")}}
	if ttng.Is(op, "tc_gen5_mma_scaled") {
		v := ttng.AsTcGen5MmaScaled(op)
		e.accesses = append(e.accesses, read(v.AScale(), "AScale"), read(v.BScale(), "BScale"))
	}
	e.accesses = append(e.accesses, write(m.D(), "Acc"))
	for i, b := range m.Barriers() {
		e.arrivals = append(e.arrivals, arrival{b, m.BarrierPreds()[i], 1})
	}
	return e
}

// commitsOf is the kind of the groups that op makes, commits or waits for; ok is false for
// other operations. A dot that threads wait for at once needs no table, but has one in
// Triton.
func commitsOf(op *ir.Operation) (k commitKind, ok bool) {
	switch {
	case op.Is(ttg.AsyncCommitGroup), op.Is(ttg.AsyncWait):
		return cpAsync, true
	case ttng.Is(op, "warp_group_dot"), ttng.Is(op, "warp_group_dot_wait"):
		return wgmma, true
	case ttng.Is(op, "async_tma_store_wait"):
		return tmaStore, true
	}
	return 0, false
}
