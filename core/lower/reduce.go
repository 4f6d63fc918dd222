package lower

import (
	"fmt"
	"slices"

	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func reduceHandlers(h map[*ir.OpDef]handler) {
	h[tt.Reduce] = (*emitter).reduce
}

// A reduction starts near: each thread combines its registers, a few
// chains of them side by side, then lanes exchange by butterflies, then warps
// leave one partial result each in shared memory and, after one barrier, all
// threads fetch them, so that everybody has the result without a second barrier.
// A few partials lie side by side, and each thread fetches all of them: two or three
// additions are sooner done than two exchanges between lanes, and an assembler sees
// that lanes which fetch the same have the same, so it drops exchanges that follow.
// Of many partials, the lanes that held the same result fetch different ones and
// combine by butterflies. What the CTAs of a cluster have then goes the same way,
// through one another's shared memory.

// reducePlan is how the elements along the axis are spread.
type reducePlan struct {
	// indirect, when not nil, is the whole plan, apart from bytes.
	indirect *indirectPlan

	src  *tensorLayout
	axis int
	// regGroups lists, for each result element that a thread holds, the
	// registers to combine, in the order of the axis.
	regGroups [][]int
	// outGroup is the group of each register of the result.
	outGroup []int
	// laneBits and warpBits are the bits of the lane and of the warp along
	// which elements of the axis are spread.
	laneBits, warpBits []int

	// What follows is for warpBits only. Partial p of element q of operand i is
	// at bytes base[i] + (p·stride + q·pitch)·size[i]. together says that each thread
	// fetches all partials of an element, which then are side by side.
	elems    int // result elements of a program
	together bool
	stride   int
	pitch    int
	base     []int
	size     []int
	bytes    int
	// elemCols are the image of each bit of the thread in the number of its
	// result element; groupElem is what each group adds.
	elemCols  []uint32
	groupElem []uint32

	// blockBits are the bits of the CTA's rank along which elements of the axis are
	// spread. Element q of operand i of each CTA is then at bytes
	// blockBase[i] + q·size[i].
	blockBits []int
	blockBase []int
}

func (m *module) planReduce(op *ir.Operation) (*reducePlan, error) {
	ins := make([]*ir.TensorType, op.NumOperands())
	outs := make([]ir.Type, op.NumOperands())
	for i, v := range op.Operands() {
		t, ok := v.Type().(*ir.TensorType)
		if !ok {
			return nil, fmt.Errorf("needs tensors")
		}
		ins[i], outs[i] = t, op.Result(i).Type()
	}
	axis := int(tt.AsReduce(op).Axis())
	src, err := m.layoutOf(ins[0])
	if err != nil {
		return nil, err
	}
	if _, pure := src.blocksAlong(axis); pure && reducible(src, axis) {
		return m.planDirect(op, ins, outs, axis)
	}
	return m.planIndirect(op, ins, outs, axis)
}

// reducible reports whether the elements that a result combines are spread
// along bits of the register's, lane's and warp's index that do nothing else:
// the other bits lead, all together, to different results.
func reducible(l *tensorLayout, axis int) bool {
	var rows []uint64 // echelon of the images apart from the axis
	for i, v := range append(append([][]int32(nil), l.reg...), l.thread...) {
		free := i < len(l.reg) && l.freeRegs>>i&1 != 0 ||
			i >= len(l.reg) && l.freeThreads>>(i-len(l.reg))&1 != 0
		var x uint64
		for d, c := range v {
			if d != axis {
				x = x*uint64(l.shape[d]) + uint64(c)
			}
		}
		switch {
		case x == 0:
			continue
		case free:
			return false
		}
		for _, r := range rows {
			x = min(x, x^r)
		}
		if x == 0 {
			return false
		}
		rows = append(rows, x)
	}
	return true
}

// planDirect plans a reduction in the operands' own layout.
func (m *module) planDirect(op *ir.Operation, ins []*ir.TensorType, outs []ir.Type, axis int) (*reducePlan, error) {
	src, err := m.layoutOf(ins[0])
	if err != nil {
		return nil, err
	}
	p := &reducePlan{src: src, axis: axis}
	if err := p.groupRegisters(m, outs[0]); err != nil {
		return nil, err
	}
	p.findBits(m)
	if len(p.warpBits) > 0 || len(p.blockBits) > 0 {
		laneElems := p.numberElements(m, ins)
		if len(p.warpBits) > 0 {
			p.placePartials(m, op, laneElems)
		}
		p.placeBlocks()
	}
	return p, nil
}

// indirectPlan reduces in another layout, for one whose bits are entangled.
type indirectPlan struct {
	to     []*conversionPlan
	inner  *reducePlan
	back   []*conversionPlan // nil entries for scalars
	innerB int               // offset of the inner reduction's memory
	toB    []int             // and of the conversions'
	backB  []int
}

func (m *module) planIndirect(op *ir.Operation, ins []*ir.TensorType, outs []ir.Type, axis int) (*reducePlan, error) {
	ctx := op.Context()
	enc := m.plainEncoding(ctx, ins[0].Shape)
	q := &indirectPlan{}
	p := &reducePlan{indirect: q}
	place := func(bytes int) int {
		at := p.bytes
		p.bytes += (bytes + 15) / 16 * 16
		return at
	}
	plain := make([]*ir.TensorType, len(ins))
	reduced := make([]ir.Type, len(ins))
	for i, t := range ins {
		plain[i] = ctx.Tensor(t.Shape, t.Elem, enc)
		reduced[i] = tt.ReducedType(ctx, plain[i], axis)
		c, err := m.planTypes(t, plain[i])
		if err != nil {
			return nil, err
		}
		q.to, q.toB = append(q.to, c), append(q.toB, place(c.bytes))
	}
	var err error
	if q.inner, err = m.planDirect(op, plain, reduced, axis); err != nil {
		return nil, err
	}
	q.innerB = place(q.inner.bytes)
	for i, t := range outs {
		var c *conversionPlan
		if to, ok := t.(*ir.TensorType); ok {
			if c, err = m.planTypes(reduced[i].(*ir.TensorType), to); err != nil {
				return nil, err
			}
			q.backB = append(q.backB, place(c.bytes))
		} else {
			q.backB = append(q.backB, 0)
		}
		q.back = append(q.back, c)
	}
	return p, nil
}

// others are coordinates without that of the axis.
func (p *reducePlan) others(c []int32) []int32 {
	out := make([]int32, 0, len(c))
	out = append(out, c[:p.axis]...)
	return append(out, c[p.axis+1:]...)
}

func (p *reducePlan) groupRegisters(m *module, result ir.Type) error {
	group := make(map[string]int)
	for r := range p.src.regs {
		if p.src.canonical(r) != r {
			continue
		}
		k := coordKey(p.others(p.src.regCoords(r)))
		g, ok := group[k]
		if !ok {
			g = len(p.regGroups)
			group[k] = g
			p.regGroups = append(p.regGroups, nil)
		}
		p.regGroups[g] = append(p.regGroups[g], r)
	}
	for _, regs := range p.regGroups {
		sortByAxis(p.src, p.axis, regs)
	}
	dst, ok := result.(*ir.TensorType)
	if !ok {
		p.outGroup = []int{0}
		return nil
	}
	l, err := m.layoutOf(dst)
	if err != nil {
		return err
	}
	for i, v := range l.thread {
		if coordKey(v) != coordKey(p.others(p.src.thread[i])) {
			return fmt.Errorf("the result's layout is not the operand's without dimension %d", p.axis)
		}
	}
	for i, v := range l.block {
		if coordKey(v) != coordKey(p.others(p.src.block[i])) {
			return fmt.Errorf("the result's layout is not the operand's without dimension %d", p.axis)
		}
	}
	p.outGroup = make([]int, l.regs)
	for r := range p.outGroup {
		g, ok := group[coordKey(l.regCoords(r))]
		if !ok {
			return fmt.Errorf("the result's layout is not the operand's without dimension %d", p.axis)
		}
		p.outGroup[r] = g
	}
	return nil
}

// sortByAxis orders registers by their coordinate along the axis.
func sortByAxis(l *tensorLayout, axis int, regs []int) {
	for i := 1; i < len(regs); i++ {
		for k := i; k > 0 && l.regCoord(regs[k], axis) < l.regCoord(regs[k-1], axis); k-- {
			regs[k], regs[k-1] = regs[k-1], regs[k]
		}
	}
}

// findBits finds the bits of the thread's index that lead to other elements of
// the axis, leaving out those that only lead to replicas.
func (p *reducePlan) findBits(m *module) {
	lanes := bitLen(m.lanes)
	for i := range p.src.thread {
		switch {
		case p.src.freeThreads>>i&1 != 0, p.isOther(i):
		case i < lanes:
			p.laneBits = append(p.laneBits, i)
		default:
			p.warpBits = append(p.warpBits, i-lanes)
		}
	}
	p.blockBits, _ = p.src.blocksAlong(p.axis)
}

// fewPartials is how many partials a thread fetches and combines alone at most, and
// mostAlone the same for all elements that a thread has together. Regions of several
// operations take longer to combine and get half. Lanes that fetch different elements
// would wait for one another's banks: they exchange.
const (
	fewPartials = 8
	mostAlone   = 64
)

// fetchesAll reports whether each thread fetches all partials of its elements.
func (p *reducePlan) fetchesAll(m *module, op *ir.Operation) bool {
	partials := 1 << len(p.warpBits)
	few, most := fewPartials, mostAlone
	if single(op) == nil {
		few, most = few/2, most/2
	}
	return len(p.laneBits) == bitLen(m.lanes) && partials <= few && partials*len(p.regGroups) <= most
}

// numberElements numbers the result's elements so that neighbouring lanes have
// neighbouring ones, and returns how many the lanes of a warp have.
func (p *reducePlan) numberElements(m *module, ins []*ir.TensorType) (laneElems int) {
	bit := 0
	p.elemCols = make([]uint32, len(p.src.thread))
	number := func(i int) {
		if p.isOther(i) {
			p.elemCols[i] = 1 << bit
			bit++
		}
	}
	lanes := bitLen(m.lanes)
	for i := range lanes {
		number(i)
	}
	laneElems = 1 << bit
	for i := lanes; i < len(p.src.thread); i++ {
		number(i)
	}
	threadElems := 1 << bit
	p.groupElem = make([]uint32, len(p.regGroups))
	for g := range p.groupElem {
		p.groupElem[g] = uint32(g * threadElems)
	}
	p.elems = threadElems * len(p.regGroups)
	for _, t := range ins {
		_, bits, _ := memoryType(t)
		p.size = append(p.size, bits/8)
	}
	return laneElems
}

// placePartials lays the partial results of the warps out in shared memory: a row of
// elements a partial, its length such that the rows that one
// warp reads at once lie in different banks. Partials that a thread fetches together
// follow one another instead.
func (p *reducePlan) placePartials(m *module, op *ir.Operation, laneElems int) {
	p.stride, p.pitch = p.elems, 1
	banks := m.target.Banks()
	row := banks.WordBytes * banks.Words / p.size[0]
	p.together = p.fetchesAll(m, op)
	switch {
	case p.together:
		p.stride, p.pitch = 1, 1<<len(p.warpBits)
	case p.elems >= row && len(p.laneBits) > 0:
		p.stride += laneElems
	}
	for _, size := range p.size {
		p.base = append(p.base, p.bytes)
		p.bytes += (p.stride*(1<<len(p.warpBits)-1) + p.pitch*(p.elems-1) + 1) * size
		p.bytes = (p.bytes + 15) / 16 * 16
	}
}

// placeBlocks lays out what the CTAs read from one another.
func (p *reducePlan) placeBlocks() {
	if len(p.blockBits) == 0 {
		return
	}
	for _, size := range p.size {
		p.blockBase = append(p.blockBase, p.bytes)
		p.bytes += (p.elems*size + 15) / 16 * 16
	}
}

// isOther reports whether bit i of the thread's index leads to another result
// element.
func (p *reducePlan) isOther(i int) bool {
	if p.src.freeThreads>>i&1 != 0 {
		return false
	}
	for d, x := range p.src.thread[i] {
		if d != p.axis && x != 0 {
			return true
		}
	}
	return false
}

// partial is one value of each operand: what the combining region takes.
type partial []llir.Value

func (e *emitter) reduce(op *ir.Operation) error {
	p, err := e.m.planReduce(op)
	if err != nil {
		return err
	}
	if one := e.m.planOneTerm(op, p); one != nil {
		e.meetIfDue()
		return e.reduceOneTerm(op, p, one)
	}
	base := e.m.alloc.Offset(op)
	in := make([][]llir.Value, op.NumOperands())
	for k, v := range op.Operands() {
		in[k] = e.value(v)
	}
	q := p.indirect
	if q != nil {
		e.meetIfDue()
		for k := range in {
			in[k] = e.convert(q.to[k], base+q.toB[k], in[k])
		}
		p, base = q.inner, base+q.innerB
	}
	out, err := e.reduceDirect(op, p, base, in)
	if err != nil {
		return err
	}
	for k, r := range op.Results() {
		if q != nil && q.back[k] != nil {
			out[k] = e.convert(q.back[k], e.m.alloc.Offset(op)+q.backB[k], out[k])
		}
		e.set(r, out[k])
	}
	return nil
}

// reduceDirect reduces registers by a direct plan; base is the offset of its
// shared memory.
func (e *emitter) reduceDirect(op *ir.Operation, p *reducePlan, base int, in [][]llir.Value) ([][]llir.Value, error) {
	groups, err := e.reduceRegisters(op, p.regGroups, in)
	if err != nil {
		return nil, err
	}
	if combine := e.bitwise(op); combine != nil && len(groups) > 1 && len(p.laneBits) > 0 && llir.Width(groups[0][0].Type()) < 32 {
		e.reducePackedLanes(single(op), combine, groups, p.laneBits)
	} else {
		for g := range groups {
			if groups[g], err = e.reduceLanes(op, groups[g], p.laneBits); err != nil {
				return nil, err
			}
		}
	}
	e.meetIfDue()
	if len(p.warpBits) > 0 {
		if groups, err = e.reduceWarps(op, p, base, groups); err != nil {
			return nil, err
		}
	}
	if len(p.blockBits) > 0 {
		if groups, err = e.reduceBlocks(op, p, base, groups); err != nil {
			return nil, err
		}
	}
	out := make([][]llir.Value, len(in))
	for k := range out {
		out[k] = make([]llir.Value, len(p.outGroup))
		for i, g := range p.outGroup {
			out[k][i] = groups[g][k]
		}
	}
	return out, nil
}

// meetIfDue emits the barrier before a reduction's first access to shared memory, which
// is needed there and no earlier: what a warp reduces by itself it need not wait for.
func (e *emitter) meetIfDue() {
	if e.due {
		e.due = false
		e.barrier()
	}
}

// mostChains is how many chains of a thread's registers are combined side by side,
// as many as hide that each operation waits for the one before, and leastChain how
// long they are at least: joining short ones costs what they gain.
const (
	mostChains = 4
	leastChain = 16
)

// chain is a part of a group of registers, combined in the order of the axis.
type chain struct {
	regs []int // those that are left
	sum  partial
}

// reduceRegisters combines each group of registers, in the order of the axis: one group
// after the other, or, where a thread cannot hold all of them, in the order of the
// registers, so that none waits for another group.
func (e *emitter) reduceRegisters(op *ir.Operation, groups [][]int, in [][]llir.Value) ([]partial, error) {
	chains := 1
	for len(groups)*chains < mostChains && len(groups[0]) >= 2*leastChain*chains {
		chains *= 2
	}
	type step struct{ reg, chain int }
	all := make([]chain, 0, len(groups)*chains)
	steps := make([]step, 0, len(groups)*len(groups[0]))
	for _, regs := range groups {
		for c := range chains {
			part := regs[c*len(regs)/chains : (c+1)*len(regs)/chains]
			for _, r := range part {
				steps = append(steps, step{r, len(all)})
			}
			all = append(all, chain{regs: part})
		}
	}
	if limit := e.m.registerLimit(true); limit > 0 && len(steps)*e.words(in) > limit {
		slices.SortStableFunc(steps, func(x, y step) int { return x.reg - y.reg })
	}
	for _, s := range steps {
		if err := e.extend(op, &all[s.chain], in); err != nil {
			return nil, err
		}
	}
	out := make([]partial, len(groups))
	for g := range groups {
		parts := all[g*chains : (g+1)*chains]
		for ; len(parts) > 1; parts = parts[:len(parts)/2] {
			for i := range len(parts) / 2 {
				sum, err := e.combine(op, parts[2*i].sum, parts[2*i+1].sum)
				if err != nil {
					return nil, err
				}
				parts[i].sum = sum
			}
		}
		out[g] = parts[0].sum
	}
	return out, nil
}

// words is how many registers an element of all operands takes.
func (e *emitter) words(in [][]llir.Value) int {
	n := 0
	for _, vals := range in {
		n += e.m.llvm.RegistersOf(vals[0].Type())
	}
	return n
}

// extend combines a chain's sum with its next register.
func (e *emitter) extend(op *ir.Operation, c *chain, in [][]llir.Value) (err error) {
	x := make(partial, len(in))
	for k := range in {
		x[k] = in[k][c.regs[0]]
	}
	c.regs = c.regs[1:]
	if c.sum == nil {
		c.sum = x
		return nil
	}
	c.sum, err = e.combine(op, c.sum, x)
	return err
}

// combine runs the operation's region on two partial results.
func (e *emitter) combine(op *ir.Operation, x, y partial) (partial, error) {
	body := op.Body()
	for k := range x {
		e.set(body.Arg(k), []llir.Value{x[k]})
		e.set(body.Arg(k+len(x)), []llir.Value{y[k]})
	}
	for inner := range body.Ops() {
		if inner == body.Last() {
			break
		}
		if err := e.op(inner); err != nil {
			return nil, err
		}
	}
	out := make(partial, len(x))
	for k, v := range body.Last().OperandValues() {
		out[k] = e.scalar(v)
	}
	e.b.MarkCombined(out)
	e.setLocation(op.Loc())
	return out, nil
}

// single is the operation of a region that only combines its two arguments by
// it, or nil.
func single(op *ir.Operation) *ir.OpDef {
	body := op.Body()
	first, last := body.First(), body.Last()
	if op.NumOperands() != 1 || first == last || first.Next() != last || first.NumResults() != 1 {
		return nil
	}
	a, b, two := first.Pair()
	isArg := func(v *ir.Value) bool { return v.IsArgument() && v.Block() == body }
	if !two || a == b || !isArg(a) || !isArg(b) || !slices.Equal(last.OperandValues(), first.Results()) {
		return nil
	}
	return first.Def()
}

// reduceWarp combines v over all lanes in one instruction of the target; nil
// where it has none. Integers of less than 32 bits are widened for it, as their
// sign asks.
func (e *emitter) reduceWarp(def *ir.OpDef, v llir.Value) llir.Value {
	t, ok := v.Type().(*types.IntType)
	switch {
	case !ok || t.BitSize > 32:
		return nil
	case t.BitSize == 32:
		return e.combineWarp(def, v)
	}
	signed := def == arith.MinSI || def == arith.MaxSI
	wide := e.combineWarp(def, e.b.Resize(v, llir.I32, signed))
	if wide == nil {
		return nil
	}
	return e.b.Resize(wide, t, signed)
}

// reduceLanes combines over the given bits of the lane; every lane gets the
// result.
func (e *emitter) reduceLanes(op *ir.Operation, x partial, bits []int) (partial, error) {
	if def := single(op); def != nil && len(bits) == bitLen(e.m.lanes) {
		if v := e.reduceWarp(def, x[0]); v != nil {
			return partial{v}, nil
		}
	}
	for i := len(bits) - 1; i >= 0; i-- {
		y := make(partial, len(x))
		for k, v := range x {
			y[k] = e.shuffleXor(v, 1<<bits[i])
		}
		var err error
		if x, err = e.combine(op, x, y); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// reduceWarps combines the partial results of the warps through shared memory.
func (e *emitter) reduceWarps(op *ir.Operation, p *reducePlan, base int, groups []partial) ([]partial, error) {
	b, lanes := e.b, bitLen(e.m.lanes)
	elem := b.Mul(e.threadSum(p.elemCols), e.m.llvm.I32(p.pitch))
	// Writing: partial number = the warp's bits along the axis; one lane of
	// those that hold the same result.
	cols := make([]uint32, len(p.src.thread))
	for i, w := range p.warpBits {
		cols[lanes+w] = 1 << i
	}
	stride := e.m.llvm.I32(p.stride)
	at := b.Add(b.Mul(e.threadSum(cols), stride), elem)
	skip := p.src.freeThreads
	for _, l := range p.laneBits {
		skip |= 1 << l
	}
	owner := e.zeroBitsOfThread(skip)
	masked(b, owner, len(groups)*len(groups[0]), func(mask llir.Value) {
		for k := range groups[0] {
			ptr := e.elementPtr(base+p.base[k], p.size[k], at)
			for g := range groups {
				ptr, off := llir.SplitPtr(b.PtrAdd(ptr, p.groupOffset(g, k)))
				e.storeShared(ptr, off, mask, groups[g][k])
			}
		}
	})
	e.barrier()
	if p.together {
		return e.combineAll(op, p, base, elem, groups)
	}
	// Reading: lanes that hold the same result fetch different partials, as far
	// as there are such lanes; the rest of the partials each lane fetches itself.
	clear(cols)
	n := min(len(p.laneBits), len(p.warpBits))
	for i := range n {
		cols[p.laneBits[i]] = 1 << i
	}
	at = b.Add(b.Mul(e.threadSum(cols), stride), elem)
	out := make([]partial, len(groups))
	for g := range out {
		for q := 0; q < 1<<len(p.warpBits); q += 1 << n {
			x := make(partial, len(groups[g]))
			for k, v := range groups[g] {
				ptr := e.elementPtr(base+p.base[k], p.size[k], at)
				ptr, off := llir.SplitPtr(b.PtrAdd(ptr, p.groupOffset(g, k)+int64(q*p.stride*p.size[k])))
				x[k] = e.loadShared(ptr, off, v.Type(), 1)[0]
			}
			var err error
			if q == 0 {
				out[g] = x
			} else if out[g], err = e.combine(op, out[g], x); err != nil {
				return nil, err
			}
		}
		var err error
		if out[g], err = e.reduceLanes(op, out[g], p.laneBits[:n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reduceBlocks combines the results of the CTAs of a cluster, each of which reads those
// of the others. All combine them in the order of the ranks, so that all get the same.
func (e *emitter) reduceBlocks(op *ir.Operation, p *reducePlan, base int, groups []partial) ([]partial, error) {
	elem := e.threadSum(p.elemCols)
	skip := p.src.freeThreads
	for _, l := range p.laneBits {
		skip |= 1 << l
	}
	for _, w := range p.warpBits {
		skip |= 1 << (w + bitLen(e.m.lanes))
	}
	owner := e.zeroBitsOfThread(skip)
	at := make([]llir.Value, len(p.size))
	for k := range at {
		at[k] = e.elementPtr(base+p.blockBase[k], p.size[k], elem)
		for g := range groups {
			ptr, off := llir.SplitPtr(e.b.PtrAdd(at[k], int64(p.groupElem[g])*int64(p.size[k])))
			e.storeShared(ptr, off, owner, groups[g][k])
		}
	}
	e.meetCluster()
	out := make([]partial, len(groups))
	for _, rank := range e.ranksAlong(p.blockBits) {
		for g := range groups {
			x := make(partial, len(p.size))
			for k, v := range groups[g] {
				ptr, off := llir.SplitPtr(e.b.PtrAdd(at[k], int64(p.groupElem[g])*int64(p.size[k])))
				x[k] = e.loadFromRank(ptr, off, v.Type(), rank)
			}
			if out[g] == nil {
				out[g] = x
				continue
			}
			var err error
			if out[g], err = e.combine(op, out[g], x); err != nil {
				return nil, err
			}
		}
	}
	e.meetCluster() // before anybody writes there again, or ends
	return out, nil
}

// groupOffset is how many bytes group g adds to the address of operand k's partials.
func (p *reducePlan) groupOffset(g, k int) int64 {
	return int64(p.groupElem[g]) * int64(p.pitch*p.size[k])
}

// combineAll fetches and combines all partials of each element that a thread has, in
// the order in which lanes would exchange them. at is the thread's place among the
// partials of any operand.
func (e *emitter) combineAll(op *ir.Operation, p *reducePlan, base int, at llir.Value, groups []partial) ([]partial, error) {
	out := make([]partial, len(groups))
	bitwise := e.bitwise(op)
	for g := range groups {
		if v := groups[g][0]; bitwise != nil && p.pitch > 1 && llir.Width(v.Type()) < 32 {
			ptr, off := llir.SplitPtr(e.b.PtrAdd(e.elementPtr(base+p.base[0], p.size[0], at), p.groupOffset(g, 0)))
			out[g] = partial{e.combinePacked(bitwise, ptr, off, v.Type(), p.pitch*p.size[0])}
			continue
		}
		parts := make([]partial, p.pitch)
		for k, v := range groups[g] {
			ptr := e.elementPtr(base+p.base[k], p.size[k], at)
			ptr, off := llir.SplitPtr(e.b.PtrAdd(ptr, p.groupOffset(g, k)))
			for i, x := range e.loadShared(ptr, off, v.Type(), p.pitch) {
				parts[i] = append(parts[i], x)
			}
		}
		for len(parts) > 1 {
			half := len(parts) / 2
			for i := range half {
				var err error
				if parts[i], err = e.combine(op, parts[i], parts[i+half]); err != nil {
					return nil, err
				}
			}
			parts = parts[:half]
		}
		out[g] = parts[0]
	}
	return out, nil
}

// elementPtr is the address of element at of an array of elements of size bytes,
// off bytes into the function's shared memory.
func (e *emitter) elementPtr(off, size int, at llir.Value) llir.Value {
	return e.b.PtrAdd(e.b.GEP(llir.IntN(8*size), e.smem, at), int64(off))
}

// storeShared stores one element, and loadShared loads n that follow one another, a
// power of two; a boolean is a byte.
func (e *emitter) storeShared(ptr llir.Value, off int64, mask, v llir.Value) {
	if v.Type() == llir.I1 {
		v = e.b.ZExt(v, llir.I8)
	}
	a := Access{Ptr: ptr, Offset: off, Elem: v.Type(), Count: 1, Mask: mask}
	e.m.caps.Memory.StoreShared(e.b, &a, []llir.Value{v})
}

func (e *emitter) loadShared(ptr llir.Value, off int64, t llir.Type, n int) []llir.Value {
	elem := t
	if t == llir.I1 {
		elem = llir.I8
	}
	size := llir.Width(elem) / 8
	step := min(n, max(maxAccess/8/size, 1))
	var out []llir.Value
	for i := 0; i < n; i += step {
		a := Access{Ptr: ptr, Offset: off + int64(i*size), Elem: elem, Count: step}
		out = append(out, e.m.caps.Memory.LoadShared(e.b, &a)...)
	}
	if t == llir.I1 {
		for i, v := range out {
			out[i] = e.b.ICmp(ipredNE, v, e.m.llvm.Zero(elem))
		}
	}
	return out
}
