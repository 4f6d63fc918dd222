package npu

import "github.com/tritonc/tritonc/backends/npu/chip"

// work is what an instruction asks for, whatever that costs: units of a kind on its pipe,
// then bytes between global memory and the core. Before it begins, the event before after
// must have ended, if after is not 0.
type work struct {
	kind    costKind
	units   float64
	bytes   float64
	outward bool
	after   int32
	// far is how many of the bytes are between HBM and L2, too. Until all cores have run,
	// at is the place in global memory, where it is one block.
	far float64
	at  *view
}

// costKind says what the cycles of an instruction are: those of its start, and of each unit.
type costKind uint8

const (
	free       costKind = iota
	scalars             // instructions of the scalar unit
	syncs               // all cores go on
	programs            // that start
	transfers           // units are bytes between buffers, if there are any
	toL0A               // bytes
	toL0B               // bytes
	vectors             // bytes of the largest operand
	reductions          // bytes of the operand
	products8           // multiply-adds
	products16
	products32
)

// cycles are what work takes on its pipe before its bytes are moved.
func (w *work) cycles(k *chip.Costs) float64 {
	switch w.kind {
	case scalars:
		return w.units * k.Scalar
	case syncs:
		return k.Sync
	case programs:
		return k.BlockStart
	case transfers:
		return k.DMAStart
	case toL0A:
		return k.DMAStart + w.units/k.L1ToL0A
	case toL0B:
		return k.DMAStart + w.units/k.L1ToL0B
	case vectors:
		return k.VectorStart + w.units/k.Vector
	case reductions:
		return k.VectorStart + k.Reduce*w.units/k.Vector
	case products8:
		return k.CubeStart + w.units/k.Cube8
	case products16:
		return k.CubeStart + w.units/k.Cube16
	case products32:
		return k.CubeStart + w.units/k.Cube32
	}
	return 0
}

// event is an instruction that was executed, or several of the scalar unit, as the model of
// time has it.
type event struct {
	work
	inst int32
	pipe Pipe
	// issued is the event of the scalar unit after which it was issued, plus 1.
	issued int32
	// fresh events begin when all before have ended: a program that starts, and cores that
	// wait for one another. Of these, those of one number begin when all can; others have 0.
	fresh bool
	sync  int32
}

// trace is what a core has executed.
type trace struct {
	events []event
	last   [numPipes]int32 // of a pipe, plus 1
	// scalars are instructions since the last event that took the scalar unit a cycle each.
	scalars int
}

// start begins a program on the core.
func (t *trace) start() {
	t.add(event{work: work{kind: programs}, inst: -1, pipe: PipeS, fresh: true})
}

func (t *trace) add(e event) int32 {
	e.issued = t.last[PipeS]
	t.events = append(t.events, e)
	t.last[e.pipe] = int32(len(t.events))
	return int32(len(t.events)) - 1
}

// flush makes an event of scalar instructions.
func (t *trace) flush() {
	if t.scalars > 0 {
		t.add(event{work: work{kind: scalars, units: float64(t.scalars)}, inst: -1, pipe: PipeS})
		t.scalars = 0
	}
}

// record notes what an instruction asks for, and returns its event.
func (c *core) record(in *inst, w work) int32 {
	c.trace.flush()
	return c.trace.add(event{work: w, inst: int32(in.index), pipe: in.pipe})
}

// burst is what transfers are made of: a block of so many bytes is moved whole.
const burst = 32

// moved is how many bytes a transfer of a view moves.
func (v *view) moved() float64 {
	run, rows := int64(1), int64(1)
	d := len(v.sizes) - 1
	for ; d >= 0 && (v.sizes[d] == 1 || v.strides[d] == run); d-- {
		run *= v.sizes[d]
	}
	for ; d >= 0; d-- {
		rows *= v.sizes[d]
	}
	bytes := run * int64(v.elem.Size())
	return float64(rows) * float64((bytes+burst-1)/burst*burst)
}

// transferWork is what a copy asks for.
func transferWork(in *inst, from, to *view) work {
	w := work{kind: transfers}
	switch {
	case in.pipe == PipeV:
		return vectorWork(from, to)
	case from.count() <= 0:
	case to.space == L0A:
		w.kind, w.units = toL0A, from.moved()
	case to.space == L0B:
		w.kind, w.units = toL0B, from.moved()
	case from.space == GM:
		w.bytes, w.at = from.moved(), from.copy()
	default:
		w.bytes, w.at, w.outward = to.moved(), to.copy(), true
	}
	return w
}

// vectorWork is what an instruction of the vector unit asks for, which takes its operands
// at the same rate. Other units that fill a buffer are taken to be as fast.
func vectorWork(views ...*view) work {
	most := int64(0)
	for _, v := range views {
		most = max(most, v.count()*int64(v.elem.Size()))
	}
	return work{kind: vectors, units: float64(most)}
}

// reduceWork is what a reduction along a dimension asks for. Along the last one it combines
// what lies next to one another; along others it combines rows, as any operation does.
func reduceWork(from *view, dim int) work {
	w := vectorWork(from)
	if dim == len(from.sizes)-1 {
		w.kind = reductions
	}
	return w
}

// gatherWork is what moving elements one by one asks for: a block each.
func gatherWork(list *view, moved int) work {
	bytes := float64(moved) * burst
	if list.space == GM {
		return work{kind: transfers, bytes: bytes}
	}
	return work{kind: vectors, units: bytes}
}

// cubeBlock is the side of the matrices that the cube unit multiplies at once, along rows
// and columns; along the inner dimension they have cubeBytes.
const (
	cubeBlock = 16
	cubeBytes = 32
)

// cubeWork is what a matmul asks for.
func cubeWork(t Type, m, n, k int64) work {
	up := func(x, unit int64) float64 { return float64((x + unit - 1) / unit * unit) }
	w := work{kind: products16, units: up(m, cubeBlock) * up(n, cubeBlock) * up(k, int64(cubeBytes/t.Size()))}
	switch t.Size() {
	case 1:
		w.kind = products8
	case 4:
		w.kind = products32
	}
	return w
}
