package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/wgmma"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// barrierBytes is the size of an mbarrier in an array of them.
const barrierBytes = 8

// SharedMemory implements ttir.CopyUnit. It adds up, where most is alive at once,
// what the passes will make of f:
//
//   - for a load that starts early, a buffer and a barrier for each iteration that it is
//     ahead, while its loop runs;
//   - for any other load through a descriptor, a buffer as long as the copy takes;
//   - for the stores of a loop that overlap with it, a buffer for each type, while the
//     loop runs; for others, a buffer as long as the copy takes;
//   - for operands of mma.sync that are wider than what threads read from shared memory
//     as it wants them, a buffer, unless the loop loads them;
//   - for operands that wgmma reads from shared memory, a buffer until the dot, unless it
//     reads that of a load, which then has one buffer more if it starts early.
//
// What operations take to exchange values between threads depends on layouts and is
// left out: copies by pointers need as much. TestSharedMemory of backends/nvidia
// compares the estimate with what is allocated.
func (u Unit) SharedMemory(f *ir.Operation, info *axisinfo.Result, kept map[*ir.Value]bool, numStages, numWarps int) int64 {
	e := &estimate{
		number: make(map[*ir.Operation]lifespan), early: make(map[*ir.Operation]int), stores: make(map[storeBuffer]bool),
		reads: make(map[*ir.Operation]*ir.Operation), byWGMMA: make(map[*ir.Operation]bool),
	}
	e.count(f)
	if u.WGMMA {
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Dot) && wgmma.Computes(tt.AsDot(op), tensors.Type(tt.AsDot(op).Result()).Shape, numWarps) {
				e.inShared(op, tt.AsDot(op).A(), 0)
				e.inShared(op, tt.AsDot(op).B(), 1)
			}
			return ir.Advance
		})
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(scf.For):
			for _, l := range pipeline.EarlyLoads(dots.MultiplyAdd{}, info, op, numStages) {
				e.early[l.Load] = l.Ahead
			}
		case op.Is(tt.DescriptorLoad) && kept[tt.AsDescriptorLoad(op).Desc()], op.Is(tt.Load):
			e.load(op)
		case isStore(op) && kept[descriptor(op)]:
			e.store(op, numStages)
		case op.Is(tt.Dot) && e.byWGMMA[op]:
		case op.Is(tt.Dot):
			e.operand(op, tt.AsDot(op).A())
			e.operand(op, tt.AsDot(op).B())
		}
		return ir.Advance
	})
	return e.most()
}

// lifespan is the range of operation numbers in which something is in use, both ends
// included.
type lifespan struct{ first, last int }

// A heldBuffer is shared memory that is in use for a while.
type heldBuffer struct {
	lifespan
	bytes int64
}

// storeBuffer names what the stores of a loop share.
type storeBuffer struct {
	loop *ir.Operation
	t    ir.Type
}

type estimate struct {
	next   int
	number map[*ir.Operation]lifespan
	early  map[*ir.Operation]int // iterations that loads are ahead
	stores map[storeBuffer]bool
	// reads has the last dot of warpgroups that reads the buffer of a load.
	reads   map[*ir.Operation]*ir.Operation
	byWGMMA map[*ir.Operation]bool
	held    []heldBuffer
}

// count numbers the operations in program order.
func (e *estimate) count(op *ir.Operation) {
	first := e.next
	e.next++
	for _, r := range op.Regions() {
		for b := range r.Blocks() {
			for o := range b.Ops() {
				e.count(o)
			}
		}
	}
	e.number[op] = lifespan{first, e.next - 1}
}

func (e *estimate) hold(l lifespan, bytes int64) { e.held = append(e.held, heldBuffer{l, bytes}) }

// load counts the buffers of a load.
func (e *estimate) load(op *ir.Operation) {
	t, ok := op.OneResult().Type().(*ir.TensorType)
	if !ok {
		return
	}
	bytes := t.NumElements() * axisinfo.ElemBytes(t)
	dot := e.reads[op]
	if n := int64(e.early[op]); n > 0 {
		if dot != nil {
			n++ // the dot may still read when the next iteration begins
		}
		e.hold(e.number[op.ParentOf(scf.For)], n*(bytes+barrierBytes))
		return
	}
	life := e.number[op]
	if dot != nil {
		life.last = max(life.last, e.number[dot].last)
	}
	if dot != nil || !op.Is(tt.Load) {
		e.hold(life, bytes+barrierBytes)
	}
}

// inShared notes where an operand of a dot of warpgroups lies: in the buffer of its load
// if that has it in the order that wgmma wants, in one of its own, or, of what A was
// computed from, in registers.
func (e *estimate) inShared(dot *ir.Operation, v *ir.Value, index int) {
	e.byWGMMA[dot] = true
	t := v.Type().(*ir.TensorType)
	source := wgmma.Source(v)
	loads := source != nil && (source.Is(tt.Load) || source.Is(tt.DescriptorLoad))
	switch {
	case loads && source.Block() == dot.Block() && (wgmma.KeepsOrder(t.Elem) || source.Is(tt.Load) || isTransposed(v) == (index == 1)):
		e.reads[source] = dot
	case loads || index == 1 || source == nil:
		e.hold(e.number[dot], t.NumElements()*axisinfo.ElemBytes(t))
	default:
		e.operand(dot, v)
	}
}

// isTransposed reports whether there is an odd number of transpositions between v and
// what it comes from.
func isTransposed(v *ir.Value) bool {
	odd := false
	for v.DefIs(tt.Trans) {
		v, odd = tt.AsTrans(v.Def()).Src(), !odd
	}
	return odd
}

// matrixBits is the widest element that threads read from shared memory as matrix
// instructions want it, transposed or not.
const matrixBits = 16

// operand counts the buffer through which an operand of a dot in a loop goes to the
// threads that multiply it, if they cannot read it from that of its load.
func (e *estimate) operand(dot *ir.Operation, v *ir.Value) {
	t := v.Type().(*ir.TensorType)
	if dot.ParentOf(scf.For) == nil || ir.BitWidth(t.Elem) <= matrixBits {
		return
	}
	if d := v.Def(); d == nil || !d.Is(tt.DescriptorLoad) && !d.Is(tt.Load) || d.Block() != dot.Block() {
		e.hold(e.number[dot], t.NumElements()*axisinfo.ElemBytes(t))
	}
}

// store counts the buffer of a store.
func (e *estimate) store(op *ir.Operation, numStages int) {
	t := source(op).Type().(*ir.TensorType)
	bytes := t.NumElements() * axisinfo.ElemBytes(t)
	loop := overlappedLoop(op, numStages)
	if loop == nil {
		life := e.number[op]
		if d := source(op).Def(); d != nil && d.Is(scf.For) {
			// The buffer is filled as soon as the loop ends, when those of the loop
			// are not given back yet.
			life.first = e.number[d].last
		}
		e.hold(life, bytes)
		return
	}
	if b := (storeBuffer{loop, t}); !e.stores[b] {
		e.stores[b] = true
		e.hold(e.number[loop], bytes)
	}
}

// most is what is held at once, at most.
func (e *estimate) most() int64 {
	change := make([]int64, e.next+1)
	for _, h := range e.held {
		change[h.first] += h.bytes
		change[h.last+1] -= h.bytes
	}
	var most, now int64
	for _, c := range change {
		now += c
		most = max(most, now)
	}
	return most
}
