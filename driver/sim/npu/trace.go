package npu

// work is what an instruction costs: cycles on its pipe, then bytes between global memory
// and the core. Before it begins, the event before after must have ended, if after is not 0.
type work struct {
	cycles  float64
	bytes   float64
	outward bool
	after   int32
}

// event is an instruction that was executed, or several of the scalar unit, as the model of
// time has it.
type event struct {
	work
	inst int32
	pipe Pipe
	// issued is the event of the scalar unit after which it was issued, plus 1.
	issued int32
	// fresh events begin when all before have ended: a program that starts.
	fresh bool
}

// trace is what a core has executed.
type trace struct {
	events []event
	last   [numPipes]int32 // of a pipe, plus 1
	// scalars are instructions since the last event that took the scalar unit a cycle each.
	scalars int
}

// start begins a program on the core.
func (t *trace) start(cycles float64) {
	t.add(event{work: work{cycles: cycles}, inst: -1, pipe: PipeS, fresh: true})
}

func (t *trace) add(e event) int32 {
	e.issued = t.last[PipeS]
	t.events = append(t.events, e)
	t.last[e.pipe] = int32(len(t.events))
	return int32(len(t.events)) - 1
}

// flush makes an event of scalar instructions.
func (t *trace) flush(cost float64) {
	if t.scalars > 0 {
		t.add(event{work: work{cycles: cost * float64(t.scalars)}, inst: -1, pipe: PipeS})
		t.scalars = 0
	}
}

// record notes what an instruction costs, and returns its event.
func (c *core) record(in *inst, w work) int32 {
	c.trace.flush(c.run.costs.Scalar)
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

// transferWork is what a copy costs.
func (c *core) transferWork(in *inst, from, to *view) work {
	k := c.run.costs
	w := work{cycles: k.DMAStart}
	switch {
	case in.pipe == PipeV:
		return c.vectorWork(from, to)
	case from.count() <= 0:
	case to.space == L0A:
		w.cycles += from.moved() / k.L1ToL0A
	case to.space == L0B:
		w.cycles += from.moved() / k.L1ToL0B
	case from.space == GM:
		w.bytes = from.moved()
	default:
		w.bytes, w.outward = to.moved(), true
	}
	return w
}

// vectorWork is what an instruction of the vector unit costs, which takes its operands at
// the same rate. Other units that fill a buffer are taken to be as fast.
func (c *core) vectorWork(views ...*view) work {
	most := int64(0)
	for _, v := range views {
		most = max(most, v.count()*int64(v.elem.Size()))
	}
	return work{cycles: c.run.costs.VectorStart + float64(most)/c.run.costs.Vector}
}

// reduceWork is what a reduction along a dimension costs. Along the last one it combines
// what lies next to one another; along others it combines rows, as any operation does.
func (c *core) reduceWork(from *view, dim int) work {
	w := c.vectorWork(from)
	if dim == len(from.sizes)-1 {
		w.cycles += (c.run.costs.Reduce - 1) * (w.cycles - c.run.costs.VectorStart)
	}
	return w
}

// gatherWork is what moving elements one by one costs: a block each.
func (c *core) gatherWork(list *view, moved int) work {
	bytes := float64(moved) * burst
	if list.space == GM {
		return work{cycles: c.run.costs.DMAStart, bytes: bytes}
	}
	return work{cycles: c.run.costs.VectorStart + bytes/c.run.costs.Vector}
}

// cubeBlock is the side of the matrices that the cube unit multiplies at once, along rows
// and columns; along the inner dimension they have cubeBytes.
const (
	cubeBlock = 16
	cubeBytes = 32
)

// cubeWork is what a matmul costs.
func (c *core) cubeWork(t Type, m, n, k int64) work {
	rate := c.run.costs.Cube16
	switch t.Size() {
	case 1:
		rate = c.run.costs.Cube8
	case 4:
		rate = c.run.costs.Cube32
	}
	up := func(x, unit int64) float64 { return float64((x + unit - 1) / unit * unit) }
	return work{cycles: c.run.costs.CubeStart + up(m, cubeBlock)*up(n, cubeBlock)*up(k, int64(cubeBytes/t.Size()))/rate}
}
