package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Copies makes the copies of pipelined loops by TMA, counted by mbarriers: it is a
// pipeline.BlockCopies.
type Copies struct{}

// Buffer is the layout in which TMA writes what load loads.
func (Copies) Buffer(load *ir.Operation) *encoding.Attr {
	return loadedThrough(descriptor(load), load.OneResult().Type().(*ir.TensorType))
}

// NewBarriers makes n mbarriers.
func (Copies) NewBarriers(b *ir.Builder, n int) *ir.Value {
	barriers := b.Op(ttg.LocalAlloc, nil, barriersType(b, n)).OneResult()
	for i := range n {
		newBarrier(b, at(b, barriers, i32(b, int64(i))))
	}
	return barriers
}

// EndBarriers invalidates n mbarriers and gives their memory back.
func (Copies) EndBarriers(b *ir.Builder, barriers *ir.Value, n int) {
	for i := range n {
		endBarrier(b, at(b, barriers, i32(b, int64(i))))
	}
	b.Op(ttg.LocalDealloc, []*ir.Value{barriers})
}

// Expect announces bytes to an mbarrier.
func (Copies) Expect(b *ir.Builder, barriers, index *ir.Value, bytes int64) *ir.Value {
	barrier := at(b, barriers, index)
	expect(b, barrier, bytes)
	return barrier
}

// Start starts a copy.
func (Copies) Start(b *ir.Builder, load *ir.Operation, buffer, barrier *ir.Value) {
	startLoad(b, load, buffer, barrier)
}

// Wait waits at an mbarrier.
func (Copies) Wait(b *ir.Builder, barriers, index, phase *ir.Value) {
	wait(b, at(b, barriers, index), phase)
}

// NewDescriptors makes memory for n tensor maps.
func (Copies) NewDescriptors(b *ir.Builder, n int) *ir.Value { return newMaps(b, n) }

// Describe writes a tensor map.
func (Copies) Describe(b *ir.Builder, made *ir.Operation, memory, index *ir.Value) *ir.Value {
	op := tt.AsMakeTensorDesc(made)
	waitForUses(b, op)
	at := tt.NewAddPtr(b, memory, arith.Binary(b, arith.MulI, index, i32(b, descriptorBytes)))
	return writeDescriptor(b, op, at)
}

// Predicate switches an operation of the above off where pred is false.
func (Copies) Predicate(op *ir.Operation, pred *ir.Value) bool {
	switch op.Def() {
	case ttng.Def("barrier_expect"):
		ttng.AsBarrierExpect(op).SetPred(pred)
	case ttng.Def("async_tma_copy_global_to_local"):
		ttng.AsAsyncTmaCopyGlobalToLocal(op).SetPred(pred)
	case ttng.Def("async_tma_gather"):
		ttng.AsAsyncTmaGather(op).SetPred(pred)
	case ttng.Def("wait_barrier"):
		ttng.AsWaitBarrier(op).SetPred(pred)
	default:
		return false
	}
	return true
}
