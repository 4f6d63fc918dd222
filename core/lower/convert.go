package lower

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// A layout conversion moves each element to the threads that must hold it by
// the nearest means: renaming registers, shuffles within a warp, shared memory, or
// that of other CTAs of a cluster. Where the element comes from is a linear map (package layout), of the
// result's register, lane and warp:
//
//	register = A·r + B·l + F·w    lane = C·r + D·l + E·w    (+ is XOR)
//
// A register that depends on the thread (B, F) is chosen by selects, one step
// for each bit of the thread. With a shuffle it is the sending lane s that
// chooses, so its choice must be known in terms of s: l = D⁻¹(s + C·r + E·w).

// conversionPlan is how one conversion is done.
type conversionPlan struct {
	src, dst *tensorLayout
	means    layout.Means
	// fromReg is the register to send or rename for each register of the
	// result, and laneXor what C adds to the lane.
	fromReg []int
	laneXor []int
	// selects holds, for each bit of the thread, the XOR on the register's
	// index where the bit is set.
	selects []int
	// laneCols is the image of each bit of the thread in the sending lane.
	laneCols []uint32

	// For shared memory: the arrangement, the elements of one access that both
	// sides have in common, those of one store and of one load, and the size of an
	// element.
	staging        layout.Staging
	vec            int
	srcVec, dstVec int
	elem           int
	bytes          int
	// loads is how the result is loaded, and stores how the operand is stored, where
	// that is not vec elements per lane; at most one of them is.
	loads  *tilePlan
	load   *TileLoad
	stores *tilePlan
	store  *TileStore
	// rounds is set where the conversion goes in several.
	rounds *rounds
	// view is how the result is read where the parts of CTAs differ.
	view *view
}

// maxSelectBits bounds the steps of selects before a shuffle; beyond, shared
// memory is cheaper.
const maxSelectBits = 2

func (m *module) planConversion(op *ir.Operation) (*conversionPlan, error) {
	c := ttg.AsConvertLayout(op)
	from, ok := c.Src().Type().(*ir.TensorType)
	to, ok2 := c.Result().Type().(*ir.TensorType)
	if !ok || !ok2 {
		return nil, fmt.Errorf("needs tensors")
	}
	return m.planRuns(from, to, m.axis.EqualRuns(c.Src()))
}

// planTypes plans the conversion between two types of one shape and element.
func (m *module) planTypes(from, to *ir.TensorType) (*conversionPlan, error) {
	return m.planRuns(from, to, nil)
}

// planRuns plans the conversion of a tensor whose elements are equal in runs of these
// lengths, or nil: one of a run stands for all of them.
func (m *module) planRuns(from, to *ir.TensorType, runs []int64) (*conversionPlan, error) {
	src, err := m.layoutOf(from)
	if err != nil {
		return nil, err
	}
	dst, err := m.layoutOf(to)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(runs, func(n int64) bool { return n > 1 }) {
		src, dst = src.ofRuns(runs), dst.ofRuns(runs)
	}
	p := &conversionPlan{src: src, dst: dst}
	conv := layout.Convert(src.full, dst.full)
	p.means = conv.Means
	switch {
	case conv.Means <= layout.Shuffles && p.planMoves(m, conv.Source):
		return p, nil
	case conv.Means <= layout.SharedMemory:
		p.means = layout.SharedMemory
	}
	_, bits, err := memoryType(from)
	if err != nil {
		return nil, err
	}
	p.elem = bits / 8
	if p.means == layout.Cluster || !sameBlocks(src, dst) {
		m.planView(p, conv.Source)
		return p, nil
	}
	m.stage(p)
	m.splitRounds(p)
	return p, nil
}

// stage plans the shared memory of a conversion.
func (m *module) stage(p *conversionPlan) {
	p.staging = layout.Stage(p.src.layout, p.dst.layout, p.elem, m.target.Banks())
	p.vec = p.staging.Vec
	m.stageTiles(p)
	m.stageWide(p)
	p.bytes = p.staging.Offset.InSize(layout.Offset) * p.elem
}

// stageWide replaces the staging of a conversion without tiles by one where one side
// moves more at once, if threads then make fewer accesses.
func (m *module) stageWide(p *conversionPlan) {
	p.srcVec, p.dstVec = m.sideVec(p, p.src), m.sideVec(p, p.dst)
	if p.loads != nil || p.stores != nil {
		return
	}
	accesses := func(srcVec, dstVec int) int {
		return p.src.distinctRegs()/srcVec + p.dst.distinctRegs()/dstVec
	}
	plan := *p
	if s, n, ok := layout.StageWide(p.src.layout, p.dst.layout, p.elem, m.target.Banks()); ok &&
		vectorOf(s.Offsets(p.src.layout), p.src, 0, n) == n && accesses(n, s.Vec) < accesses(plan.srcVec, plan.dstVec) {
		plan.staging, plan.vec, plan.srcVec, plan.dstVec = s, s.Vec, n, s.Vec
	}
	if s, n, ok := layout.StageWide(p.dst.layout, p.src.layout, p.elem, m.target.Banks()); ok &&
		vectorOf(s.Offsets(p.dst.layout), p.dst, 0, n) == n && accesses(s.Vec, n) < accesses(plan.srcVec, plan.dstVec) {
		plan.staging, plan.vec, plan.srcVec, plan.dstVec = s, s.Vec, s.Vec, n
	}
	*p = plan
}

// sideVec is how many elements a thread of one side moves at once: those of both sides'
// vectors, or of a word that it alone holds.
func (m *module) sideVec(p *conversionPlan, l *tensorLayout) int {
	return max(p.vec, vectorOf(p.staging.Offsets(l.layout), l, 0, m.target.Banks().WordBytes/p.elem))
}

// planMoves fills in the plan for registers and shuffles, or reports that it
// takes too many steps.
func (p *conversionPlan) planMoves(m *module, source layout.Layout) bool {
	regBits := p.src.layout.InBits(layout.Register)
	laneBits := bitLen(m.lanes)
	split := func(c uint64) (reg, lane int) {
		return int(c & (1<<regBits - 1)), int(c >> regBits & (1<<laneBits - 1))
	}
	threads := slices.Concat(source.Columns(layout.Lane), source.Columns(layout.Warp), source.Columns(layout.Block))
	p.selects = make([]int, len(threads))
	p.laneCols = make([]uint32, len(threads))
	for i, c := range threads {
		reg, lane := split(c)
		p.selects[i], p.laneCols[i] = reg, uint32(lane)
	}
	p.fromReg = make([]int, p.dst.regs)
	p.laneXor = make([]int, p.dst.regs)
	for i, c := range source.Columns(layout.Register) {
		reg, lane := split(c)
		for r := range p.fromReg {
			if r>>i&1 != 0 {
				p.fromReg[r] ^= reg
				p.laneXor[r] ^= lane
			}
		}
	}
	if p.means != layout.Shuffles {
		return true
	}
	return p.chooseBySender(laneBits)
}

// chooseBySender rewrites the choice of registers in terms of the sending lane.
func (p *conversionPlan) chooseBySender(laneBits int) bool {
	b := p.selects[:laneBits]
	depends := false
	for _, x := range b {
		depends = depends || x != 0
	}
	if depends {
		inv, ok := invert(p.laneCols[:laneBits])
		if !ok {
			return false
		}
		// M = B·D⁻¹; then B becomes M, F becomes F + M·E, and A becomes A + M·C.
		cols := make([]int, laneBits)
		for i, x := range inv {
			for ; x != 0; x &= x - 1 {
				cols[i] ^= b[bits.TrailingZeros32(x)]
			}
		}
		apply := func(lane int) int {
			r := 0
			for i, c := range cols {
				if lane>>i&1 != 0 {
					r ^= c
				}
			}
			return r
		}
		for i := laneBits; i < len(p.selects); i++ {
			p.selects[i] ^= apply(int(p.laneCols[i]))
		}
		for r := range p.fromReg {
			p.fromReg[r] ^= apply(p.laneXor[r])
		}
		copy(p.selects, cols)
	}
	steps := 0
	for _, x := range p.selects {
		if x != 0 {
			steps++
		}
	}
	return steps <= maxSelectBits
}

// invert inverts a square matrix over F₂, given and returned as columns.
func invert(cols []uint32) ([]uint32, bool) {
	n := len(cols)
	a := append([]uint32(nil), cols...)
	inv := make([]uint32, n)
	for i := range inv {
		inv[i] = 1 << i
	}
	// Column operations reduce a to the identity; the same ones take the
	// identity to the inverse.
	for i := range n {
		k := i
		for k < n && a[k]>>i&1 == 0 {
			k++
		}
		if k == n {
			return nil, false
		}
		a[i], a[k] = a[k], a[i]
		inv[i], inv[k] = inv[k], inv[i]
		for j := range n {
			if j != i && a[j]>>i&1 != 0 {
				a[j] ^= a[i]
				inv[j] ^= inv[i]
			}
		}
	}
	return inv, true
}

func (e *emitter) convertLayout(op *ir.Operation) error {
	p, err := e.m.planConversion(op)
	if err != nil {
		return err
	}
	e.set(op.OneResult(), e.convert(p, e.m.alloc.Offset(op), e.value(ttg.AsConvertLayout(op).Src())))
	return nil
}

// convert carries a plan out; base is the offset of its shared memory.
func (e *emitter) convert(p *conversionPlan, base int, in []llir.Value) []llir.Value {
	switch {
	case p.rounds != nil:
		return e.inRounds(p, base, in)
	case p.means >= layout.SharedMemory:
		return e.viaShared(p, base, in)
	}
	return e.viaRegisters(p, in)
}

// viaRegisters renames registers, after the selects and shuffles that the plan
// asks for.
func (e *emitter) viaRegisters(p *conversionPlan, in []llir.Value) []llir.Value {
	cur := in
	for i, x := range p.selects {
		if x == 0 {
			continue
		}
		bit := e.threadBit(i)
		next := make([]llir.Value, len(cur))
		for r := range next {
			next[r] = e.b.Select(bit, cur[r^x], cur[r])
		}
		cur = next
	}
	out := make([]llir.Value, p.dst.regs)
	var lane llir.Value
	identity := p.keepsLane(bitLen(e.m.lanes))
	for r := range out {
		if c := p.dst.canonical(r); c != r {
			out[r] = out[c]
			continue
		}
		v := cur[p.fromReg[r]]
		switch {
		case p.means != layout.Shuffles, identity && p.laneXor[r] == 0:
		case identity:
			v = e.shuffleXor(v, p.laneXor[r])
		default:
			if lane == nil {
				lane = e.threadSum(p.laneCols)
			}
			v = e.shuffleIndex(v, e.b.Xor(lane, e.m.llvm.I32(p.laneXor[r])))
		}
		out[r] = v
	}
	return out
}

// keepsLane reports whether, registers apart, every lane receives from itself.
func (p *conversionPlan) keepsLane(laneBits int) bool {
	for i, c := range p.laneCols {
		want := uint32(0)
		if i < laneBits {
			want = 1 << i
		}
		if c != want {
			return false
		}
	}
	return true
}

// viaShared writes all elements to shared memory, waits, and reads them.
func (e *emitter) viaShared(p *conversionPlan, base int, in []llir.Value) []llir.Value {
	t := in[0].Type()
	stored := t
	if t == llir.I1 {
		stored = llir.I8
	}
	vals := func(regs []int) []llir.Value {
		vals := make([]llir.Value, len(regs))
		for i, r := range regs {
			if vals[i] = in[r]; t == llir.I1 {
				vals[i] = e.b.ZExt(in[r], stored)
			}
		}
		return vals
	}
	tiles := func(l *tensorLayout) (*sharedPlan, llir.Value) {
		return &sharedPlan{tensor: l, elem: stored, size: p.elem, offs: p.staging.Offsets(l.layout)}, e.b.PtrAdd(e.smem, int64(base))
	}
	if p.stores != nil { // these alone suit the arrangement, as the loads below
		area, ptr := tiles(p.src)
		e.tileStores(area, p.stores, p.store, ptr, vals)
	} else {
		type access struct {
			Access
			regs []int
		}
		var all []access
		e.staged(p, p.src, p.srcVec, base, func(a *Access, regs []int) { all = append(all, access{*a, regs}) })
		masked(e.b, e.firstReplica(p.src), len(all), func(mask llir.Value) {
			for _, a := range all {
				a.Elem, a.Mask = stored, mask
				e.m.caps.Memory.StoreShared(e.b, &a.Access, vals(a.regs))
			}
		})
	}
	if p.means == layout.Cluster {
		e.meetCluster()
	} else {
		e.barrier()
	}
	out := make([]llir.Value, p.dst.regs)
	switch {
	case p.view != nil:
		out = e.readView(p, base, stored)
	case p.loads != nil:
		area, ptr := tiles(p.dst)
		out = e.tileLoads(area, p.loads, p.load, ptr)
	default:
		e.staged(p, p.dst, p.dstVec, base, func(a *Access, regs []int) {
			a.Elem = stored
			for i, v := range e.m.caps.Memory.LoadShared(e.b, a) {
				out[regs[i]] = v
			}
		})
	}
	if p.means == layout.Cluster {
		e.meetCluster() // before anybody writes there again, or ends
	}
	e.loaded(p.dst, out, t == llir.I1)
	return out
}

// staged calls f for each access of a thread to the staging area, of vec elements.
func (e *emitter) staged(p *conversionPlan, l *tensorLayout, vec, base int, f func(a *Access, regs []int)) {
	area := &sharedPlan{tensor: l, size: p.elem, offs: p.staging.Offsets(l.layout), vec: vec}
	e.sharedAccesses(area, e.smem, base, f)
}
