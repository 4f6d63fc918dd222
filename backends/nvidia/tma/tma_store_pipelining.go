package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// PipelineStores lets the stores through descriptors of a loop go on while the
// loop does: each goes through a buffer that is made before the loop, and waits
// before it fills the buffer, no later, until the store before has read it.
//
//	for … { tt.descriptor_store %d[%i], %x }
//
// becomes
//
//	%m = ttg.local_alloc
//	for … { ttng.async_tma_store_wait {pendings = 0}
//	        ttg.local_store %x, %m
//	        ttng.fence_async_shared
//	        ttng.async_tma_copy_local_to_global %d[%i] %m }
//	ttng.async_tma_store_wait {pendings = 0}
//	ttg.local_dealloc %m
//
// Stores of equal shapes and types share a buffer, which waiting for all stores
// makes right. Loops of one stage keep theirs.
var PipelineStores = &pass.Pass{
	Name:    "triton-nvidia-tma-store-pipelining",
	Doc:     "let stores through descriptors overlap with their loop",
	Example: pipelineStoresExample,
	Options: []pass.Option{
		{Name: "num-stages", Doc: "iterations of a loop in flight, unless the loop says", Default: 3},
	},
	Before: []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var loops []*ir.Operation
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			if op.Is(scf.For) {
				loops = append(loops, op)
			}
		})
		for _, loop := range loops {
			if overlapsStores(loop, r.Int("num-stages")) {
				r.Count("stores", pipelineStores(b, loop))
			}
		}
		return nil
	},
}

// overlapsStores reports whether the stores of loop go on while it does.
func overlapsStores(loop *ir.Operation, numStages int) bool {
	if own, ok := loop.IntAttr(tt.NumStagesAttr); ok {
		return own > 1
	}
	return numStages > 1
}

// overlappedLoop is the loop that goes on while the store op does, or nil.
func overlappedLoop(op *ir.Operation, numStages int) *ir.Operation {
	for p := op.Parent(); p != nil; p = p.Parent() {
		switch {
		case p.Is(scf.While):
			return nil
		case p.Is(scf.For):
			if overlapsStores(p, numStages) {
				return p
			}
			return nil
		}
	}
	return nil
}

// pipelineStores does so for the stores of loop that are in no loop inside it.
func pipelineStores(b *ir.Builder, loop *ir.Operation) int {
	var stores []*ir.Operation
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op != loop && (op.Is(scf.For) || op.Is(scf.While)):
			return ir.Skip
		case isStore(op):
			stores = append(stores, op)
		}
		return ir.Advance
	})
	if len(stores) == 0 {
		return 0
	}
	buffers := make(map[ir.Type]*ir.Value)
	var made []*ir.Value
	b.SetBefore(loop)
	for _, s := range stores {
		t := bufferType(s, true)
		if buffers[t] == nil {
			b.Loc = s.Loc()
			buffers[t] = b.Op(ttg.LocalAlloc, nil, t).OneResult()
			made = append(made, buffers[t])
		}
	}
	for _, s := range stores {
		b.At(s)
		waitForStores(b)
		buffer := buffers[bufferType(s, true)]
		b.Op(ttg.LocalStore, []*ir.Value{stored(s), buffer})
		startStore(b, s, buffer)
		s.Erase()
	}
	b.After(loop)
	waitForStores(b)
	for _, m := range made {
		b.Op(ttg.LocalDealloc, []*ir.Value{m})
	}
	return len(stores)
}

// isStore reports whether op writes a block through a descriptor.
func isStore(op *ir.Operation) bool {
	return op.Is(tt.DescriptorStore) || op.Is(tt.DescriptorReduce) || op.Is(tt.DescriptorScatter)
}

// stored is what op writes, in whatever layout it is there: a buffer takes any in which
// CTAs have the same parts.
func stored(op *ir.Operation) *ir.Value {
	return dots.Unconverted(source(op))
}

// source is the block that op writes.
func source(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case tt.DescriptorStore:
		return tt.AsDescriptorStore(op).Src()
	case tt.DescriptorScatter:
		return tt.AsDescriptorScatter(op).Src()
	}
	return tt.AsDescriptorReduce(op).Src()
}

// bufferType is that of a buffer for what the store op writes.
func bufferType(op *ir.Operation, mutable bool) ir.Type {
	c := op.Context()
	t := source(op).Type().(*ir.TensorType)
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: t.Shape, Elem: t.Elem, Encoding: throughDescriptor(descriptor(op), t), Space: ttg.SharedMemory(c), Mutable: mutable,
	})
}

// descriptor is that through which op reads or writes.
func descriptor(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case tt.DescriptorLoad:
		return tt.AsDescriptorLoad(op).Desc()
	case tt.DescriptorGather:
		return tt.AsDescriptorGather(op).Desc()
	case tt.DescriptorStore:
		return tt.AsDescriptorStore(op).Desc()
	case tt.DescriptorScatter:
		return tt.AsDescriptorScatter(op).Desc()
	}
	return tt.AsDescriptorReduce(op).Desc()
}

// startStore makes the copy from buffer that op is, after the fence that lets TMA
// see what threads wrote.
func startStore(b *ir.Builder, op *ir.Operation, buffer *ir.Value) {
	b.Create(ttng.Def("fence_async_shared"), ir.State{Attrs: []ir.NamedAttr{{Name: "bCluster", Attr: b.Context().BoolAttr(false)}}})
	s, def := ir.State{}, ttng.Def("async_tma_copy_local_to_global")
	switch op.Def() {
	case tt.DescriptorReduce:
		def = ttng.Def("async_tma_reduce")
		s.Attrs = []ir.NamedAttr{{Name: "kind", Attr: b.Context().I32Attr(tt.AsDescriptorReduce(op).Kind())}}
	case tt.DescriptorScatter:
		rows := tt.AsDescriptorScatter(op)
		b.Op(ttng.Def("async_tma_scatter"), []*ir.Value{rows.Desc(), rows.XOffsets(), rows.YOffset(), buffer})
		return
	}
	s.Operands = append([]*ir.Value{descriptor(op)}, indices(op)...)
	s.Operands = append(s.Operands, buffer)
	b.Create(def, s)
}
