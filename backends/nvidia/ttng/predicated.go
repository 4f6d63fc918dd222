package ttng

import "github.com/tritonc/tritonc/core/ir"

// Predicated is an operation that does nothing where its operand pred is false; one without
// the operand does what it does always.
type Predicated interface {
	Pred() *ir.Value
	SetPred(*ir.Value)
}

// AsPredicated is the view of op; nil for operations that have no such operand.
func AsPredicated(op *ir.Operation) Predicated {
	switch {
	case Is(op, "tc_gen5_mma"):
		return AsTcGen5Mma(op)
	case Is(op, "tc_gen5_mma_scaled"):
		return AsTcGen5MmaScaled(op)
	case Is(op, "tc_gen5_commit"):
		return AsTcGen5Commit(op)
	case Is(op, "tmem_store"):
		return AsTmemStore(op)
	case Is(op, "wait_barrier"):
		return AsWaitBarrier(op)
	case Is(op, "arrive_barrier"):
		return AsArriveBarrier(op)
	case Is(op, "barrier_expect"):
		return AsBarrierExpect(op)
	case Is(op, "async_tma_copy_global_to_local"):
		return AsAsyncTmaCopyGlobalToLocal(op)
	case Is(op, "async_tma_gather"):
		return AsAsyncTmaGather(op)
	}
	return nil
}
