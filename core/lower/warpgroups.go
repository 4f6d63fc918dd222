package lower

import (
	"errors"
	"fmt"

	llvmir "github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// A kernel with ttg.warp_specialize has more warps than its own: the workers. They
// wait from the start, each for the number of the partition that it is to run:
//
//	entry:   if warp < num-warps: the kernel's body, else wait
//	wait:    meet; read the number of this warp; switch
//	run k:   read the captures; meet; the partition; meet; wait
//	exit:    return
//
// At a ttg.warp_specialize the kernel's own warps write the numbers and the captures,
// meet the workers, meet them again when they have read, run the default region, and
// meet them at its end. Where the kernel returns they write the number of the exit. All
// of it is in one function, so that partitions may lie in loops and conditions, and may
// be several. Warps that a ttg.warp_specialize has no partition for only meet.

// WarpGroups has groups of a program's warps run code of their own.
type WarpGroups interface {
	// MaxGroups is how many groups there can be at once, the kernel's own warps
	// among them.
	MaxGroups() int
	// GroupBarrier waits for the threads of one group, of which 0 is the kernel's own
	// warps. What they wrote before to shared memory they see after.
	GroupBarrier(b *llir.Builder, group, threads int)
	// Meet waits for all threads of the program, each group from a place of its own.
	Meet(b *llir.Builder)
	// SetRegisters changes how many registers a thread has, from one number to
	// another. Called by all warps that were given the numbers.
	SetRegisters(b *llir.Builder, from, to int)
	// StartRegisters are how many registers a thread has outside of the groups' code:
	// one of the kernel's own, and one of the workers while they wait. A launch
	// gives launch to each.
	StartRegisters(launch, warps, workers int) (own, waiting int)
}

// partition is a region of a ttg.warp_specialize that workers run.
type partition struct {
	op     ttg.WarpSpecializeOp
	region *ir.Region
	// index is its place among the partitions of op, number among those of the kernel.
	index, number int
	first, warps  int
	// captures are what the kernel's warps hand over.
	captures []capture
}

// capture is a value that a partition takes from outside.
type capture struct {
	// known is a constant or a parameter of the kernel, to which add bytes are added;
	// nil where the value comes through shared memory.
	known llir.Value
	add   int64
	// offset is where it lies in shared memory, in the form of an integer.
	offset int
	typ    llir.Type
	memory llir.Type
}

// workers is what a lowering knows of the warps that are not the kernel's own.
type workers struct {
	total int // warps of a program
	ops   []*ir.Operation
	parts []*partition
	// own and waiting are registers of a thread outside of the partitions, 0 where
	// they do not change.
	own, waiting int
	// waits is where workers wait.
	waits *llir.Block
	tid   llir.Value
}

// exitNumber is what workers read that are to return.
func (w *workers) exitNumber() int { return len(w.parts) }

// findWorkers looks for operations ttg.warp_specialize and checks that they can be
// lowered.
func (m *module) findWorkers(mod *ir.Operation, kernel *function) error {
	var err error
	ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		switch {
		case err != nil:
			return ir.Stop
		case op.Is(ttg.WarpSpecialize):
			err = m.addPartitions(kernel, ttg.AsWarpSpecialize(op))
			if err != nil {
				err = failure(op, err)
			}
		case op.Is(tt.Call) && op.ParentOf(ttg.WarpSpecializePartitions) != nil:
			err = failure(op, errors.New("a partition of warps calls a function, which is for the kernel's own warps; inline it"))
		}
		return ir.Advance
	})
	if err != nil || m.work == nil {
		return err
	}
	w := m.work
	total, ok := mod.IntAttr(ttg.TotalNumWarpsAttr)
	if !ok {
		return failure(mod, fmt.Errorf("attribute %q is missing; run the pass tritongpu-allocate-warp-groups first", ttg.TotalNumWarpsAttr))
	}
	if int(total) <= m.warps || total > 1<<10 {
		return failure(mod, fmt.Errorf("attribute %q is %d, of which %d are the kernel's own", ttg.TotalNumWarpsAttr, total, m.warps))
	}
	w.total = int(total)
	for _, p := range w.parts {
		if p.first < m.warps || p.first+p.warps > w.total {
			return failure(p.op.Op, fmt.Errorf("partition %d runs on warps %d to %d, and the workers are %d to %d", p.index, p.first, p.first+p.warps-1, m.warps, w.total-1))
		}
	}
	for _, op := range w.ops {
		if ttg.AsWarpSpecialize(op).ActualRegisters() == nil {
			continue
		}
		if m.maxRegs == 0 {
			return failure(op, fmt.Errorf("partitions have numbers of registers, and the module has no attribute %q", ttg.MaxNRegAttr))
		}
		w.own, w.waiting = m.caps.Groups.StartRegisters(m.maxRegs, m.warps, w.total-m.warps)
	}
	return nil
}

// addPartitions notes the partitions of op.
func (m *module) addPartitions(kernel *function, op ttg.WarpSpecializeOp) error {
	starts, counts := op.WarpGroupStartIds(), op.PartitionNumWarps()
	switch {
	case m.caps.Groups == nil:
		return errors.New("this target cannot have groups of warps run code of their own")
	case op.Op.ParentOf(tt.Func) != kernel.op:
		return errors.New("it is in a function that the kernel calls; inline it")
	case op.Op.ParentOf(ttg.WarpSpecialize) != nil:
		return errors.New("it is in a region of another ttg.warp_specialize")
	case starts == nil:
		return errors.New("attribute warpGroupStartIds is missing; run the pass tritongpu-allocate-warp-groups first")
	case len(counts)+1 > m.caps.Groups.MaxGroups():
		return fmt.Errorf("it has %d partitions, and there can be %d", len(counts), m.caps.Groups.MaxGroups()-1)
	}
	regions := append([]*ir.Region{op.DefaultRegion()}, ttg.Partitions(op.Op)...)
	for _, r := range regions {
		if r.First() != r.Last() {
			return errors.New("a region of several blocks cannot be lowered; use scf.if and scf.for")
		}
	}
	if m.work == nil {
		m.work = new(workers)
	}
	w := m.work
	w.ops = append(w.ops, op.Op)
	for i, r := range regions[1:] {
		w.parts = append(w.parts, &partition{
			op: op, region: r, index: i, number: len(w.parts), first: int(starts[i]), warps: int(counts[i]),
		})
	}
	return nil
}

// captureOffsets are the places of the captures of op in its scratch memory, and how
// many bytes they take.
func captureOffsets(op ttg.WarpSpecializeOp) (offsets []int, bytes int, err error) {
	for _, v := range op.ExplicitCaptures() {
		if _, ok := v.Type().(*ir.TensorType); ok {
			return nil, 0, errors.New("a partition cannot take a tensor from outside: its warps hold others of its elements")
		}
		offsets = append(offsets, bytes)
		bytes += captureBytes
	}
	return offsets, bytes, nil
}

// captureBytes is how much room a capture has: that of the widest scalar.
const captureBytes = 8

// numbersScratch is how many bytes the kernel needs for the numbers of partitions.
func (m *module) numbersScratch(f *ir.Operation) int {
	if m.work == nil || tt.AsFunc(f).SymVisibility() == "private" {
		return 0
	}
	return 4 * (m.work.total - m.warps)
}

// enter has what follows be for the machine that runs op: partitions have warps of
// their own.
func (m *module) enter(op *ir.Operation) {
	if m.work == nil {
		return
	}
	warps := m.ownWarps
	if holder := op.ParentOf(ttg.WarpSpecializePartitions); holder != nil {
		for _, p := range m.work.parts {
			if p.region.Contains(op) {
				warps = p.warps
			}
		}
	}
	m.setWarps(warps)
}

// setWarps has layouts be for so many warps.
func (m *module) setWarps(n int) {
	if n == m.warps {
		return
	}
	m.otherLayouts[m.warps] = m.layouts
	m.warps, m.layouts = n, m.otherLayouts[n]
	if m.layouts == nil {
		m.layouts = make(map[*encoding.Attr][]*tensorLayout)
	}
}

// barrier waits for the threads that run the code: the program's, or the group's. Where
// half of them are a barrier after the others, that takes two.
func (e *emitter) barrier() {
	e.meet()
	if e.apart {
		e.meet()
	}
}

// meet is one barrier of the threads that run the code.
func (e *emitter) meet() {
	if e.m.work == nil && (e.m.warps > 1 || e.m.caps.Groups == nil) {
		e.m.target.Barrier(e.b)
		return
	}
	e.m.caps.Groups.GroupBarrier(e.b, e.group, e.m.warps*e.m.lanes)
}

// divide sends the kernel's own warps to its body, at whose start it leaves the
// builder, and the others to where workers wait.
func (e *emitter) divide() {
	m, w, b := e.m, e.m.work, e.b
	size := 1
	for size < w.total*m.lanes {
		size *= 2
	}
	w.tid = m.target.ThreadID(b, size)
	warp := m.target.ShuffleIndex(b, b.LShr(w.tid, bitLen(m.lanes)), m.llvm.I32(0))
	entry := b.Block()
	own := e.f.NewBlock(entry)
	w.waits = e.f.NewBlock(entry)
	b.CondBr(b.ICmp(ipredULT, warp, m.llvm.I32(m.warps)), own, w.waits)
	b.SetBlock(own)
	e.tid = b.And(w.tid, m.llvm.I32(m.warps*m.lanes-1))
	if w.own != 0 {
		m.caps.Groups.SetRegisters(b, m.maxRegs, w.own)
	}
}

// tell writes the number of a partition for each worker.
func (e *emitter) tell(number func(warp int) int) {
	first := e.firstThread()
	for warp := e.m.warps; warp < e.m.work.total; warp++ {
		at := e.numbers() + 4*(warp-e.m.warps)
		a := &Access{Ptr: e.smem, Offset: int64(at), Elem: llir.I32, Count: 1, Mask: first}
		e.m.caps.Memory.StoreShared(e.b, a, []llir.Value{e.m.llvm.I32(number(warp))})
	}
}

// numbers is where in shared memory the workers' numbers are.
func (e *emitter) numbers() int { return e.m.alloc.Offset(e.fn.op) }

// firstThread is an i1 that holds in one thread of the kernel's own.
func (e *emitter) firstThread() llir.Value {
	return e.b.ICmp(ipredEQ, e.tid, e.m.llvm.I32(0))
}

// warpSpecialize lowers the default region; the partitions come at the end of the
// function.
func (e *emitter) warpSpecialize(op ttg.WarpSpecializeOp) error {
	if e.m.ctas > 1 {
		return fmt.Errorf("the warps of a cluster of %s run the same code: num_ctas must be 1", diag.Count(e.m.ctas, "CTA"))
	}
	m, w, groups := e.m, e.m.work, e.m.caps.Groups
	var parts []*partition
	for _, p := range w.parts {
		if p.op.Op == op.Op {
			parts = append(parts, p)
		}
	}
	e.tell(func(warp int) int {
		for _, p := range parts {
			if p.first <= warp && warp < p.first+p.warps {
				return p.number
			}
		}
		return w.exitNumber() + 1 // none
	})
	captures, err := e.handOver(op)
	if err != nil {
		return err
	}
	for _, p := range parts {
		p.captures = captures
	}
	regs := op.ActualRegisters()
	groups.Meet(e.b)
	if regs != nil {
		groups.SetRegisters(e.b, w.own, int(regs[0]))
	}
	groups.Meet(e.b) // they have read
	yield, err := e.inner(op.DefaultRegion())
	if err != nil {
		return err
	}
	groups.Meet(e.b)
	if regs != nil {
		groups.SetRegisters(e.b, int(regs[0]), w.own)
	}
	for i, r := range op.Op.Results() {
		if _, ok := r.Type().(*ttg.MemDescType); ok {
			if err := e.show(r, e.buffer(yield.Operand(i))); err != nil {
				return err
			}
			continue
		}
		e.set(r, e.value(yield.Operand(i)))
	}
	m.current = op.Op
	return nil
}

// handOver puts what partitions take from outside where they find it.
func (e *emitter) handOver(op ttg.WarpSpecializeOp) ([]capture, error) {
	offsets, _, err := captureOffsets(op)
	if err != nil {
		return nil, err
	}
	var out []capture
	for i, v := range op.ExplicitCaptures() {
		regs := e.value(v)
		if len(regs) == 0 {
			return nil, fmt.Errorf("a partition cannot take a value of type %s from outside", v.Type())
		}
		out = append(out, e.handOverOne(regs[0], e.m.alloc.Offset(op.Op)+offsets[i]))
	}
	return out, nil
}

// handOverOne hands over one value, at an offset of shared memory if need be.
func (e *emitter) handOverOne(v llir.Value, offset int) capture {
	c := capture{typ: v.Type(), offset: offset, memory: v.Type()}
	base, add := v, int64(0)
	if llir.IsPtr(c.typ) {
		base, add = llir.SplitPtr(v)
	}
	if _, param := base.(*llvmir.Param); param || llir.IsConst(base) {
		c.known, c.add = base, add
		return c
	}
	switch {
	case c.typ == llir.PtrIn(sharedSpace):
		c.memory = llir.I32
		v = e.b.Cast(llir.PtrToInt, v, c.memory, 0)
	case llir.IsPtr(c.typ):
		c.memory = llir.I64
		v = e.b.Cast(llir.PtrToInt, v, c.memory, 0)
	case c.typ == llir.I1:
		c.memory = llir.I8
		v = e.b.ZExt(v, llir.I8)
	}
	a := &Access{Ptr: e.smem, Offset: int64(offset), Elem: c.memory, Count: 1, Mask: e.firstThread()}
	e.m.caps.Memory.StoreShared(e.b, a, []llir.Value{v})
	return c
}

// receive gives what was handed over.
func (e *emitter) receive(c capture) llir.Value {
	switch {
	case c.known == nil:
	case llir.IsPtr(c.typ):
		return e.b.PtrAdd(c.known, c.add)
	default:
		return c.known
	}
	v := e.m.caps.Memory.LoadShared(e.b, &Access{Ptr: e.smem, Offset: int64(c.offset), Elem: c.memory, Count: 1})[0]
	switch {
	case llir.IsPtr(c.typ):
		v = e.b.Cast(llir.IntToPtr, v, c.typ, 0)
	case c.typ == llir.I1:
		v = e.b.Trunc(v, llir.I1)
	}
	return v
}

// dismiss has the workers return, where the kernel does.
func (e *emitter) dismiss() {
	e.tell(func(int) int { return e.m.work.exitNumber() })
	e.m.caps.Groups.Meet(e.b)
}

// workers appends the code of the workers to the kernel, whose own is complete.
func (e *emitter) workers() error {
	m, w, b, groups := e.m, e.m.work, e.b, e.m.caps.Groups
	e.f.MoveToEnd(w.waits)
	b.SetBlock(w.waits)
	e.setLocation(e.fn.op.Loc())
	head := w.waits
	if w.waiting != 0 {
		groups.SetRegisters(b, m.maxRegs, w.waiting)
		head = e.f.NewBlock(w.waits)
		b.Br(head)
		b.SetBlock(head)
	}
	groups.Meet(b)
	worker := b.Sub(b.LShr(w.tid, bitLen(m.lanes)), m.llvm.I32(m.warps))
	number := m.caps.Memory.LoadShared(b, &Access{
		Ptr: b.GEP(llir.I8, e.smem, b.Shl(worker, 2)), Offset: int64(e.numbers()), Elem: llir.I32, Count: 1,
	})[0]
	number = m.target.ShuffleIndex(b, number, m.llvm.I32(0)) // the same in all lanes, which the assembler does not see
	test := b.Block()
	none := e.f.NewBlock(test)
	var cases []int64
	var to []*llir.Block
	for _, p := range w.parts {
		cases, to = append(cases, int64(p.number)), append(to, e.f.NewBlock(test))
	}
	exit, again := e.f.NewBlock(test), e.f.NewBlock(test)
	b.Switch(number, none, append(cases, int64(w.exitNumber())), append(to, exit))
	b.SetBlock(none)
	groups.Meet(b)
	groups.Meet(b)
	b.Br(again)
	for i, p := range w.parts {
		e.f.MoveToEnd(to[i])
		b.SetBlock(to[i])
		if err := e.partition(p); err != nil {
			return err
		}
		b.Br(again)
	}
	// Nothing is moved out of this loop, where it would take registers in all partitions.
	e.f.MoveToEnd(again)
	b.SetBlock(again)
	b.Br(head)
	m.llvm.ForbidLICM(again)
	e.f.MoveToEnd(exit)
	b.SetBlock(exit)
	b.Ret(nil)
	return nil
}

// partition lowers what workers run, at the builder's place.
func (e *emitter) partition(p *partition) error {
	m, w, b, groups := e.m, e.m.work, e.b, e.m.caps.Groups
	m.setWarps(p.warps)
	defer m.setWarps(m.ownWarps)
	inner := *e
	inner.vals, inner.bufs = make(map[*ir.Value][]llir.Value), make(map[*ir.Value]*buffer)
	inner.strides, inner.kept = make(map[*ir.Value]int), make(map[llir.Value]keptMask)
	inner.blocks, inner.exit, inner.group = nil, nil, p.index+1
	e.setLocation(p.op.Op.Loc())
	regs := p.op.ActualRegisters()
	if regs != nil {
		groups.SetRegisters(b, w.waiting, int(regs[p.index+1]))
	}
	for i, arg := range p.region.First().Args() {
		inner.set(arg, []llir.Value{e.receive(p.captures[i])})
	}
	groups.Meet(b)
	inner.tid = b.And(b.Sub(w.tid, m.llvm.I32(p.first*m.lanes)), m.llvm.I32(p.warps*m.lanes-1))
	if _, err := inner.inner(p.region); err != nil {
		return err
	}
	e.matrix, e.uneven = e.matrix || inner.matrix, e.uneven || inner.uneven
	groups.Meet(b)
	if regs != nil {
		groups.SetRegisters(b, int(regs[p.index+1]), w.waiting)
	}
	return nil
}
