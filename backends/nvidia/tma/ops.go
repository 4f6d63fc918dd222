package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
)

// truth is the constant true.
func truth(b *ir.Builder) *ir.Value { return arith.NewConstant(b, b.Context().BoolAttr(true)) }

func i32(b *ir.Builder, n int64) *ir.Value { return arith.Int(b, b.Context().I32(), n) }

func int32Attr(b *ir.Builder, name string, n int64) ir.NamedAttr {
	return ir.NamedAttr{Name: name, Attr: b.Context().I32Attr(n)}
}

// barriersType is that of n mbarriers, or of one if n is 0, in the program that b builds.
// Each CTA of a cluster has its own.
func barriersType(b *ir.Builder, n int) ir.Type {
	c := b.Context()
	var cga layout.Bases
	for ctas := machine.CTAsAround(b.Block()); ctas > 1; ctas /= 2 {
		cga = append(cga, []int32{0})
	}
	shape := []int64{1}
	if n > 0 {
		shape = []int64{int64(n), 1}
	}
	return ttg.MemDesc(c, ttg.MemDescType{
		Shape: shape, Elem: c.Int(64), Space: ttg.SharedMemory(c), Mutable: true,
		Encoding: encoding.Of(c, &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{0}, CGA: cga}),
	})
}

// at is one of an array of barriers.
func at(b *ir.Builder, barriers, index *ir.Value) *ir.Value {
	return b.Op(ttg.MemDescIndex, []*ir.Value{barriers, index}, barriersType(b, 0)).OneResult()
}

// Barrier is the mbarrier at index of several.
func Barrier(b *ir.Builder, barriers, index *ir.Value) *ir.Value { return at(b, barriers, index) }

// newBarrier gives memory its life as a barrier that one arrival and the bytes it
// expects complete.
func newBarrier(b *ir.Builder, barrier *ir.Value) {
	b.Create(ttng.Def("init_barrier"), ir.State{Operands: []*ir.Value{barrier}, Attrs: []ir.NamedAttr{int32Attr(b, "count", 1)}})
}

func endBarrier(b *ir.Builder, barrier *ir.Value) {
	b.Op(ttng.Def("inval_barrier"), []*ir.Value{barrier})
}

func expect(b *ir.Builder, barrier *ir.Value, bytes int64) {
	b.Create(ttng.Def("barrier_expect"), ir.State{
		Operands: []*ir.Value{barrier, truth(b)}, Attrs: []ir.NamedAttr{int32Attr(b, "size", bytes)},
	})
}

// wait makes a wait for the phase of the barrier that has this parity.
func wait(b *ir.Builder, barrier, phase *ir.Value) {
	b.Create(ttng.Def("wait_barrier"), ir.State{Operands: []*ir.Value{barrier, phase}, Segments: []int32{1, 1, 0, 0}})
}

// startLoad makes the copy of what load loads into buffer.
func startLoad(b *ir.Builder, load *ir.Operation, buffer, barrier *ir.Value) {
	operands := append(load.OperandValues(), barrier, buffer, truth(b)) // descriptor, coordinates, …
	if load.Is(tt.DescriptorGather) {
		b.Op(ttng.Def("async_tma_gather"), operands)
		return
	}
	var attrs []ir.NamedAttr
	for _, name := range []string{"cache", "evict"} {
		if load.HasAttr(name) {
			attrs = append(attrs, ir.NamedAttr{Name: name, Attr: load.Attr(name)})
		}
	}
	b.Create(ttng.Def("async_tma_copy_global_to_local"), ir.State{Operands: operands, Attrs: attrs})
}

// waitForStores makes a wait until no store still reads shared
// memory.
func waitForStores(b *ir.Builder) {
	b.Create(ttng.Def("async_tma_store_wait"), ir.State{Attrs: []ir.NamedAttr{int32Attr(b, "pendings", 0)}})
}
