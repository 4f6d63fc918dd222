package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llir/llvm/ir/value"

	llvmir "github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func controlHandlers(h map[*ir.OpDef]handler) {
	h[tt.Call] = on(tt.AsCall, (*emitter).call)
	h[tt.Return] = (*emitter).ret
	h[tt.GetProgramID] = on(tt.AsGetProgramID, (*emitter).programID)
	h[tt.GetNumPrograms] = on(tt.AsGetNumPrograms, (*emitter).numPrograms)
	h[scf.For] = (*emitter).forLoop
	h[scf.If] = (*emitter).ifElse
	h[scf.While] = (*emitter).whileLoop
	h[cf.Br] = (*emitter).branch
	h[cf.CondBr] = (*emitter).condBranch
	h[gpu.Barrier] = (*emitter).barrierOp
	h[ttg.LocalBarrier] = func(e *emitter, _ *ir.Operation) error { e.meet(); return nil }
	h[ttg.WarpSpecialize] = on(ttg.AsWarpSpecialize, (*emitter).warpSpecialize)
	h[llvm.Assume] = on(llvm.AsAssume, (*emitter).assume)
}

// barrierOp waits for all threads of the program: those of all CTAs.
func (e *emitter) barrierOp(*ir.Operation) error {
	if e.m.ctas > 1 {
		e.meetCluster()
	} else {
		e.meet()
	}
	return nil
}

// assume hands a condition to LLVM.
func (e *emitter) assume(op llvm.AssumeOp) error {
	f := e.m.llvm.Declare("llvm.assume", llir.HasEffects, llir.Void, llir.I1)
	e.b.Call(f, e.scalar(op.Cond()))
	return nil
}

// blockState is what an IR block of a function's control-flow graph becomes.
type blockState struct {
	first *llir.Block // where its code begins
	last  *llir.Block // where its code ends, once lowered
	phis  [][]*llvmir.InstPhi
}

// body lowers the blocks of a function in an order in which each comes after
// its dominators.
func (e *emitter) body(region *ir.Region, entry *llir.Block) error {
	if region.First() == region.Last() {
		return e.ops(region.First(), nil)
	}
	e.blocks = map[*ir.Block]*blockState{region.First(): {first: entry}}
	dom := ir.Dominators(region)
	for _, b := range ir.ReversePostorder(region) {
		st := e.blocks[b]
		if idom := dom.Immediate(b); idom != nil {
			e.f.SetIDom(st.first, e.blocks[idom].last)
			e.f.MoveToEnd(st.first)
			e.b.SetBlock(st.first)
		}
		if err := e.ops(b, st); err != nil {
			return err
		}
	}
	return nil
}

// ops lowers all operations of a block, its terminator included.
func (e *emitter) ops(b *ir.Block, st *blockState) error {
	for op := range b.Ops() {
		if st != nil && op == b.Last() {
			st.last = e.b.Block()
		}
		if err := e.op(op); err != nil {
			return err
		}
	}
	return nil
}

// inner lowers the operations of a region's only block but the last, which it
// returns: the terminator says what the region gives.
func (e *emitter) inner(r *ir.Region) (*ir.Operation, error) {
	b := r.First()
	for op := range b.Ops() {
		if op == b.Last() {
			e.setLocation(op.Loc())
			return op, nil
		}
		if err := e.op(op); err != nil {
			return nil, err
		}
	}
	panic("BUG: lower: a region without terminator")
}

// target returns the LLVM block of a branch's destination, making it and a phi
// for each register of its arguments at the first branch to it.
func (e *emitter) target(b *ir.Block) (*blockState, error) {
	if st, ok := e.blocks[b]; ok {
		return st, nil
	}
	st := &blockState{first: e.f.NewBlock(nil)}
	e.blocks[b] = st
	here := e.b.Block()
	e.b.SetBlock(st.first)
	defer e.b.SetBlock(here)
	for _, arg := range b.Args() {
		phis, err := e.phis(arg)
		if err != nil {
			return nil, err
		}
		st.phis = append(st.phis, phis)
	}
	return st, nil
}

// phis makes a phi for each register of v at the builder's block and gives them
// to v.
func (e *emitter) phis(v *ir.Value) ([]*llvmir.InstPhi, error) {
	t, err := scalarType(v.Type())
	if err != nil {
		return nil, err
	}
	n, err := e.m.regsOf(v.Type())
	if err != nil {
		return nil, err
	}
	phis, regs := make([]*llvmir.InstPhi, n), make([]llir.Value, n)
	for i := range phis {
		phis[i] = e.b.Phi(t)
		regs[i] = phis[i]
	}
	e.set(v, regs)
	return phis, nil
}

// flow adds what comes from a predecessor to phis.
func flow(phis []*llvmir.InstPhi, regs []llir.Value, pred *llir.Block) {
	for i, p := range phis {
		llir.AddIncoming(p, regs[i], pred)
	}
}

func (e *emitter) branch(op *ir.Operation) error {
	st, err := e.target(op.Successor(0))
	if err != nil {
		return err
	}
	e.passArgs(op, 0, st)
	e.b.Br(st.first)
	return nil
}

// passArgs hands the values of an edge to the successor's phis, from the
// builder's block.
func (e *emitter) passArgs(op *ir.Operation, i int, st *blockState) {
	args := cf.SuccessorArgs(op, i)
	for k, v := range args {
		flow(st.phis[k], e.value(v), e.b.Block())
	}
}

func (e *emitter) condBranch(op *ir.Operation) error {
	yes, err := e.target(op.Successor(0))
	if err != nil {
		return err
	}
	no, err := e.target(op.Successor(1))
	if err != nil {
		return err
	}
	cond := e.scalar(cf.AsCondBr(op).Condition())
	e.passArgs(op, 0, yes)
	if yes != no {
		e.passArgs(op, 1, no)
		e.b.CondBr(cond, yes.first, no.first)
		return nil
	}
	// Two edges into one block may carry different values: the second gets a
	// block of its own.
	here := e.b.Block()
	edge := e.f.NewBlock(here)
	e.b.CondBr(cond, yes.first, edge)
	e.b.SetBlock(edge)
	e.passArgs(op, 1, no)
	e.b.Br(no.first)
	return nil
}

// enterLoop begins the body of a loop that is entered from before, and reports
// whether its code has to stay in it: the branch back to its head says so then.
func (e *emitter) enterLoop(op *ir.Operation, before *llir.Block) (closed bool) {
	a, ok := op.Attr(llvm.LoopAnnotationAttr).(*ir.OpaqueAttr)
	if closed = ok && forbidsLICM(a.Text); closed {
		e.b.EnterClosedLoop(before)
	} else {
		e.b.EnterLoop(before)
	}
	return closed
}

// forbidsLICM reports whether a loop annotation is that of tl.range and tl.condition
// with disable_licm. MLIR leaves the inner attribute's name out, but not where it
// had an alias.
func forbidsLICM(annotation string) bool {
	annotation = strings.ReplaceAll(annotation, "#llvm.loop_licm<", "<")
	return strings.HasPrefix(annotation, "loop_annotation<licm = <disable = true")
}

// forLoop tests before the first iteration and then at the end of each, so that
// an iteration has one branch.
func (e *emitter) forLoop(op *ir.Operation) error {
	b := e.b
	f := scf.AsFor(op)
	lower, upper, step := e.scalar(f.LowerBound()), e.scalar(f.UpperBound()), e.scalar(f.Step())
	inits := f.InitArgs()
	guard := b.ICmp(ipredSLT, lower, upper)
	runs, known := llir.ConstInt(guard)
	if known && runs == 0 {
		for i, r := range op.Results() {
			e.set(r, e.value(inits[i]))
		}
		return nil
	}
	if n := tripCount(lower, upper, step); n > 0 {
		small, err := e.unrolls(op, n)
		if err != nil {
			return err
		}
		if small {
			return e.unrolledLoop(op, n, lower, step)
		}
	}
	args := op.Body().Args()
	starts := e.loopStarts(op)
	carried := make([]*carriedValue, len(inits))
	for i := range inits {
		var err error
		if carried[i], err = e.carry(args[i+1], op.Body().Terminator().Operand(i)); err != nil {
			return err
		}
		starts[i] = carried[i].incoming(e, starts[i])
	}
	before := b.Block()
	loop := e.f.NewBlock(before)
	exit := e.f.NewBlock(before)
	if known {
		b.Br(loop)
	} else {
		b.CondBr(guard, loop, exit)
	}
	b.SetBlock(loop)
	closed := e.enterLoop(op, before)
	iv, err := e.phis(args[0])
	if err != nil {
		return err
	}
	llir.AddIncoming(iv[0], lower, before)
	e.knowInduction(iv[0], lower, step)
	for i, c := range carried {
		c.enter(e)
		flow(c.phis, starts[i], before)
	}
	for _, c := range carried {
		c.receive(e)
	}
	yield, err := e.inner(scf.AsFor(op).Region())
	if err != nil {
		return err
	}
	e.setLocation(op.Loc())
	next := b.Add(iv[0], step)
	again := b.ICmp(ipredSLT, next, upper)
	ends := make([][]llir.Value, len(carried))
	for i, c := range carried {
		ends[i] = c.incoming(e, e.value(yield.Operand(i)))
	}
	latch := b.Block()
	llir.AddIncoming(iv[0], next, latch)
	for i, c := range carried {
		flow(c.phis, ends[i], latch)
	}
	b.CondBr(again, loop, exit)
	if closed {
		e.m.llvm.ForbidLICM(latch)
	}
	b.LeaveLoop()
	e.f.MoveToEnd(exit)
	b.SetBlock(exit)
	if known {
		e.f.SetIDom(exit, latch)
		for i, r := range op.Results() {
			e.set(r, e.value(yield.Operand(i)))
		}
		return nil
	}
	for i, r := range op.Results() {
		out, err := e.phis(r)
		if err != nil {
			return err
		}
		flow(out, e.value(inits[i]), before)
		flow(out, e.value(yield.Operand(i)), latch)
	}
	return nil
}

// loopStarts are the values that a loop carries into its first iteration. LLVM must not
// take pointers apart there that the loop only moves on, into what they share and what
// each has of its own, where a matrix unit waits for the threads: adding the parts up again
// in each iteration takes as many instructions as moving on does.
func (e *emitter) loopStarts(op *ir.Operation) [][]llir.Value {
	inits := scf.AsFor(op).InitArgs()
	starts := make([][]llir.Value, len(inits))
	keep := e.computesJoined(op)
	for i, v := range inits {
		starts[i] = e.value(v)
		if !keep || len(starts[i]) == 0 || !llir.IsPtr(starts[i][0].Type()) {
			continue
		}
		whole := make([]llir.Value, len(starts[i]))
		for r, p := range starts[i] {
			whole[r] = e.b.Freeze(p)
		}
		starts[i] = whole
	}
	return starts
}

// computesJoined reports whether a loop has one operation of a matrix unit, for which
// threads wait in the iteration that starts it, to compute with what it gives: then the
// unit has nothing of theirs to do. Where there are several, their operands and results
// leave no registers for whole pointers.
func (e *emitter) computesJoined(loop *ir.Operation) bool {
	effects := e.m.effects()
	if effects == nil {
		return false
	}
	var started, joined *ir.Operation
	for op := range loop.Body().Ops() {
		f, ok := effects(op)
		if !ok {
			continue
		}
		if slices.Contains(f.Operands, membar.Reads|membar.Async) {
			if started != nil {
				return false
			}
			started = op
		}
		if started != nil && f.Joins && f.Pending == 0 {
			joined = op
		}
	}
	if joined == nil {
		return false
	}
	computes := func(v *ir.Value) bool {
		for u := range v.Users() {
			if u.Def().Has(ir.Elementwise) {
				return true
			}
		}
		return false
	}
	if joined == started {
		return slices.ContainsFunc(joined.Results(), computes)
	}
	for i, v := range joined.OperandValues() {
		if v.Def() == started && i < joined.NumResults() && computes(joined.Result(i)) {
			return true
		}
	}
	return false
}

// knowInduction tells the folder the zero bits of an induction variable that
// starts at a constant, at least 0, and grows by a constant: the sign, and the
// low bits that both leave zero.
func (e *emitter) knowInduction(iv *llvmir.InstPhi, lower, step value.Value) {
	l, ok := llir.ConstInt(lower)
	s, ok2 := llir.ConstInt(step)
	if !ok || !ok2 || l < 0 || s <= 0 {
		return
	}
	both := uint64(l | s)
	zero := uint64(1) << (llir.Width(iv.Typ) - 1)
	e.f.AssumeZeroBits(iv, zero|(both&-both-1))
}

// ifElse lowers a condition; a known one leaves only its region.
func (e *emitter) ifElse(op *ir.Operation) error {
	b := e.b
	choice := scf.AsIf(op)
	cond := e.scalar(choice.Condition())
	if c, ok := llir.ConstInt(cond); ok {
		r := choice.ThenRegion()
		if c == 0 {
			r = choice.ElseRegion()
		}
		return e.onlyRegion(op, r)
	}
	before := b.Block()
	yes := e.f.NewBlock(before)
	join := e.f.NewBlock(before)
	no := join
	withElse := !choice.ElseRegion().Empty()
	if withElse {
		no = e.f.NewBlock(before)
	}
	b.CondBr(cond, yes, no)
	var ends [2]*llir.Block
	var yields [2]*ir.Operation
	for i, start := range []*llir.Block{yes, no} {
		if i == 1 && !withElse {
			break
		}
		e.f.MoveToEnd(start)
		b.SetBlock(start)
		var err error
		if yields[i], err = e.inner(op.Region(i)); err != nil {
			return err
		}
		ends[i] = b.Block()
		b.Br(join)
	}
	e.f.MoveToEnd(join)
	b.SetBlock(join)
	for i, r := range op.Results() {
		out, err := e.phis(r)
		if err != nil {
			return err
		}
		for k := range ends {
			flow(out, e.value(yields[k].Operand(i)), ends[k])
		}
	}
	return nil
}

// onlyRegion lowers the region of a condition that is known, in place.
func (e *emitter) onlyRegion(op *ir.Operation, r *ir.Region) error {
	if r.Empty() {
		return nil
	}
	yield, err := e.inner(r)
	if err != nil {
		return err
	}
	for i, res := range op.Results() {
		e.set(res, e.value(yield.Operand(i)))
	}
	return nil
}

func (e *emitter) whileLoop(op *ir.Operation) error {
	b := e.b
	before := b.Block()
	head := e.f.NewBlock(before)
	b.Br(head)
	b.SetBlock(head)
	closed := e.enterLoop(op, before)
	while := scf.AsWhile(op)
	args := while.Before().First().Args()
	carried := make([][]*llvmir.InstPhi, len(args))
	for i, a := range args {
		var err error
		if carried[i], err = e.phis(a); err != nil {
			return err
		}
		flow(carried[i], e.value(op.Operand(i)), before)
	}
	cond, err := e.inner(while.Before())
	if err != nil {
		return err
	}
	if !cond.Is(scf.Condition) {
		return fmt.Errorf("the first region does not end in a condition")
	}
	test := b.Block()
	loop, exit := e.f.NewBlock(test), e.f.NewBlock(test)
	b.CondBr(e.scalar(scf.AsCondition(cond).Condition()), loop, exit)
	b.SetBlock(loop)
	after := while.After().First()
	for i, v := range scf.AsCondition(cond).Args() {
		e.set(after.Arg(i), e.value(v))
		e.set(op.Result(i), e.value(v))
	}
	yield, err := e.inner(while.After())
	if err != nil {
		return err
	}
	for i, v := range yield.OperandValues() {
		flow(carried[i], e.value(v), b.Block())
	}
	b.Br(head)
	if closed {
		e.m.llvm.ForbidLICM(b.Block())
	}
	b.LeaveLoop()
	e.f.MoveToEnd(exit)
	b.SetBlock(exit)
	return nil
}
