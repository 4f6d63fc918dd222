package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

func scanHandlers(h map[*ir.OpDef]handler) {
	h[tt.Scan] = (*emitter).scan
}

// A scan goes through the bits of the axis from the lowest to the highest. Each
// bit is one of the register's, lane's or warp's index; neighbouring bits of one
// kind make a run. Before a run, the elements that differ in the bits so far
// are a block: every element holds the scan within its block, and every thread
// of the block knows the block's total. The run scans the totals of its blocks
// and combines what precedes a block into each of its elements.

// run is a stretch of axis bits of one kind.
type run struct {
	kind layout.Dim
	bits []int // of the register's, lane's or warp's index, lowest axis bit first
	// Of a run of warps: where the totals of operand i go, from byte base[i] on. Each
	// warp of the run has a row; elemCols number the threads of a warp that know
	// different totals. See warpTotals.
	base     []int
	elemCols []uint32
}

// scanPlan is how a scan is done.
type scanPlan struct {
	src   *tensorLayout
	runs  []run
	size  []int // bytes of an element of each operand
	bytes int

	// For layouts whose bits are entangled: the conversions to another one and
	// back.
	to, back []*conversionPlan
	toB      []int
	backB    []int
}

func (m *module) planScan(op *ir.Operation) (*scanPlan, error) {
	axis := int(tt.AsScan(op).Axis())
	types := make([]*ir.TensorType, op.NumOperands())
	for i, v := range op.Operands() {
		t, ok := v.Type().(*ir.TensorType)
		if !ok {
			return nil, fmt.Errorf("needs tensors")
		}
		types[i] = t
	}
	src, err := m.layoutOf(types[0])
	if err != nil {
		return nil, err
	}
	p := &scanPlan{src: src}
	place := func(n int) int {
		at := p.bytes
		p.bytes += (n + 15) / 16 * 16
		return at
	}
	split := slices.ContainsFunc(src.block, func(v []int32) bool { return v[axis] != 0 })
	if split || !reducible(src, axis) || !plainAxis(src, axis) {
		ctx := op.Context()
		enc := m.plainEncoding(ctx, types[0].Shape)
		for _, t := range types {
			plain := ctx.Tensor(t.Shape, t.Elem, enc)
			to, err := m.planTypes(t, plain)
			if err != nil {
				return nil, err
			}
			back, err := m.planTypes(plain, t)
			if err != nil {
				return nil, err
			}
			p.to, p.toB = append(p.to, to), append(p.toB, place(to.bytes))
			p.back, p.backB = append(p.back, back), append(p.backB, place(back.bytes))
			if p.src, err = m.layoutOf(plain); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range types {
		_, bits, err := memoryType(t)
		if err != nil {
			return nil, err
		}
		p.size = append(p.size, bits/8)
	}
	p.findRuns(m, axis)
	p.placeTotals(m, place)
	return p, nil
}

// plainAxis reports whether every bit of an index that moves along the axis
// moves by a power of two, and along nothing else.
func plainAxis(l *tensorLayout, axis int) bool {
	for _, v := range append(append([][]int32(nil), l.reg...), l.thread...) {
		if v[axis] == 0 {
			continue
		}
		if v[axis]&(v[axis]-1) != 0 {
			return false
		}
		for d, c := range v {
			if d != axis && c != 0 {
				return false
			}
		}
	}
	return true
}

// findRuns orders the bits that move along the axis.
func (p *scanPlan) findRuns(m *module, axis int) {
	lanes := bitLen(m.lanes)
	for step := int32(1); int64(step) < p.src.shape[axis]; step *= 2 {
		kind, bit := layout.Register, -1
		for i, v := range p.src.reg {
			if v[axis] == step && p.src.freeRegs>>i&1 == 0 {
				bit = i
			}
		}
		for i, v := range p.src.thread {
			if v[axis] == step && p.src.freeThreads>>i&1 == 0 {
				if kind, bit = layout.Lane, i; i >= lanes {
					kind, bit = layout.Warp, i-lanes
				}
			}
		}
		if bit < 0 {
			panic("BUG: lower: a layout that does not hold every element")
		}
		if n := len(p.runs); n > 0 && p.runs[n-1].kind == kind {
			p.runs[n-1].bits = append(p.runs[n-1].bits, bit)
		} else {
			p.runs = append(p.runs, run{kind: kind, bits: []int{bit}})
		}
	}
}

// placeTotals gives each run of warps memory for its totals: one for each block
// that the threads of one warp of the run distinguish.
func (p *scanPlan) placeTotals(m *module, place func(int) int) {
	lanes := bitLen(m.lanes)
	seen := uint64(0) // bits of the thread's index that lie within a block
	for i := range p.runs {
		r := &p.runs[i]
		switch r.kind {
		case layout.Lane:
			for _, b := range r.bits {
				seen |= 1 << b
			}
		case layout.Warp:
			for _, b := range r.bits {
				seen |= 1 << (b + lanes)
			}
			bit := 0
			r.elemCols = make([]uint32, len(p.src.thread))
			for t := range p.src.thread {
				if seen>>t&1 == 0 && p.src.freeThreads>>t&1 == 0 {
					r.elemCols[t] = 1 << bit
					bit++
				}
			}
			for _, size := range p.size {
				r.base = append(r.base, place(p.src.regs<<(bit+len(r.bits))*size))
			}
		}
	}
}

// scanner is the state of a scan between runs.
type scanner struct {
	*emitter
	op      *ir.Operation
	p       *scanPlan
	base    int
	reverse bool
	vals    []partial // by register
	total   []partial // by register; only those with no bit of a block set count
	inBlock int       // bits of the register's index that lie within a block
	seen    uint64    // bits of the thread's index that do
	// holder are bits of the thread's index that are set, of those seen, in the
	// threads that know the totals when not all do.
	holder uint64
	// Once threads are involved, what precedes a block is not combined into its
	// elements at once, but collected for each piece, the registers that one
	// thread holds side by side, and combined in at the end.
	piece  int // bits of the register's index within a piece; -1: not yet
	before map[int]prefix
}

// prefix is what precedes a piece, where cond holds (always, if nil).
type prefix struct {
	value partial
	cond  llir.Value
}

func (e *emitter) scan(op *ir.Operation) error {
	p, err := e.m.planScan(op)
	if err != nil {
		return err
	}
	s := &scanner{emitter: e, op: op, p: p, base: e.m.alloc.Offset(op), piece: -1, before: make(map[int]prefix)}
	s.reverse = tt.AsScan(op).Reverse()
	in := make([][]llir.Value, op.NumOperands())
	for k, v := range op.Operands() {
		if in[k] = e.value(v); p.to != nil {
			in[k] = e.convert(p.to[k], s.base+p.toB[k], in[k])
		}
	}
	s.vals = make([]partial, p.src.regs)
	for r := range s.vals {
		for k := range in {
			s.vals[r] = append(s.vals[r], in[k][r])
		}
	}
	s.total = append([]partial(nil), s.vals...)
	for i := 0; i < len(p.runs); i++ {
		if p.runs[i].kind != layout.Register && s.piece < 0 {
			s.piece = s.inBlock
		}
		var next *run
		if i+1 < len(p.runs) {
			next = &p.runs[i+1]
		}
		switch r := &p.runs[i]; r.kind {
		case layout.Register:
			err = s.registers(r)
		case layout.Lane:
			err = s.lanes(r, next)
		default:
			with := i
			if next != nil && next.kind == layout.Register {
				with++ // done with the warps
			}
			err = s.warps(r, next, with == len(p.runs)-1)
			i = with
		}
		if err != nil {
			return err
		}
	}
	if err := s.applyPrefixes(); err != nil {
		return err
	}
	for k, res := range op.Results() {
		out := make([]llir.Value, p.src.regs)
		for r := range out {
			out[r] = s.vals[p.src.canonical(r)][k]
		}
		if p.back != nil {
			out = e.convert(p.back[k], s.base+p.backB[k], out)
		}
		e.set(res, out)
	}
	return nil
}

// eachBlock calls f for the registers that stand for a block.
func (s *scanner) eachBlock(f func(r int) error) error {
	for r := range s.vals {
		if r&s.inBlock == 0 && s.p.src.canonical(r) == r {
			if err := f(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// within lists the registers that differ from r in the given bits.
func within(r, mask int) []int {
	var out []int
	for x := mask; ; x = (x - 1) & mask {
		out = append(out, r|x)
		if x == 0 {
			return out
		}
	}
}

// join combines what precedes with what follows in the order of the scan.
func (s *scanner) join(before, after partial) (partial, error) {
	return s.combine(s.op, before, after)
}

// prepend puts what precedes the block of r before all its elements, where cond
// holds (always, if nil).
func (s *scanner) prepend(value partial, r int, cond llir.Value) error {
	if s.piece < 0 {
		for _, x := range within(r, s.inBlock) {
			v, err := s.join(value, s.vals[x])
			if err != nil {
				return err
			}
			s.vals[x] = s.choose(cond, v, s.vals[x])
		}
		return nil
	}
	for _, x := range within(r, s.inBlock&^s.piece) {
		old, ok := s.before[x]
		if !ok {
			s.before[x] = prefix{value, cond}
			continue
		}
		both, err := s.join(value, old.value)
		if err != nil {
			return err
		}
		all := prefix{value: s.choose(old.cond, both, value)}
		if cond != nil {
			all.value = s.choose(cond, all.value, old.value)
			if old.cond != nil {
				all.cond = s.b.Or(cond, old.cond)
			}
		}
		s.before[x] = all
	}
	return nil
}

// applyPrefixes combines into each piece what precedes it.
func (s *scanner) applyPrefixes() error {
	for x := range s.vals {
		p, ok := s.before[x]
		if !ok {
			continue
		}
		for _, r := range within(x, s.piece) {
			v, err := s.join(p.value, s.vals[r])
			if err != nil {
				return err
			}
			s.vals[r] = s.choose(p.cond, v, s.vals[r])
		}
	}
	return nil
}

func (s *scanner) choose(cond llir.Value, x, y partial) partial {
	if cond == nil {
		return x
	}
	out := make(partial, len(x))
	for k := range x {
		out[k] = s.b.Select(cond, x[k], y[k])
	}
	return out
}

// inOrder lists the register bits of the blocks of a run of registers, in the
// order of the scan, and all of them together.
func (s *scanner) inOrder(r *run) (order []int, mask int) {
	for j := range 1 << len(r.bits) {
		x := 0
		for i, b := range r.bits {
			x |= (j >> i & 1) << b
		}
		order = append(order, x)
		mask |= x
	}
	if s.reverse {
		slices.Reverse(order)
	}
	return order, mask
}

// registers scans over the registers' own bits.
func (s *scanner) registers(r *run) error {
	order, mask := s.inOrder(r)
	err := s.eachBlock(func(first int) error {
		if first&mask != 0 {
			return nil
		}
		var prefix partial
		for _, at := range order {
			x := first | at
			if prefix == nil {
				prefix = s.total[x]
				continue
			}
			if err := s.prepend(prefix, x, nil); err != nil {
				return err
			}
			var err error
			if prefix, err = s.join(prefix, s.total[x]); err != nil {
				return err
			}
		}
		s.total[first] = prefix
		return nil
	})
	s.inBlock |= mask
	return err
}

// lanes scans the totals over lanes by doubling, then hands each lane what
// precedes it. Where a run of warps is next, or none, the totals stay with the
// last lane.
func (s *scanner) lanes(r, next *run) error {
	b := s.b
	mask := 0
	for _, x := range r.bits {
		mask |= 1 << x
	}
	lane := b.And(s.tid, s.m.llvm.I32(s.m.lanes-1))
	// pos is the lane's place along the run.
	cols := make([]uint32, bitLen(s.m.lanes))
	back := make([]uint32, len(r.bits))
	for i, x := range r.bits {
		cols[x] = 1 << i
		back[i] = 1 << x
	}
	pos := s.linearSum(lane, cols)
	last := 1<<len(r.bits) - 1
	step := -1
	if s.reverse {
		step = 1
	}
	others := b.And(lane, s.m.llvm.I32(^mask&(s.m.lanes-1)))
	neighbour := b.And(b.Add(pos, s.m.llvm.I32(step)), s.m.llvm.I32(last))
	prev := b.Or(others, s.linearSum(neighbour, back))
	first, end := 0, mask
	if s.reverse {
		first, end = last, 0
	}
	behind := b.ICmp(ipredNE, pos, s.m.llvm.I32(first))
	err := s.eachBlock(func(x int) error {
		t := s.total[x]
		low := 0
		for _, bit := range r.bits {
			// From the last lane of the half before.
			from := b.Or(b.And(lane, s.m.llvm.I32(^(low|1<<bit))), s.m.llvm.I32(low))
			second := b.ICmp(ipredNE, b.And(lane, s.m.llvm.I32(1<<bit)), s.m.llvm.I32(0))
			if s.reverse {
				from = b.Or(b.And(lane, s.m.llvm.I32(^(low|1<<bit))), s.m.llvm.I32(1<<bit))
				second = b.Not(second)
			}
			joined, err := s.join(s.shuffle(t, from), t)
			if err != nil {
				return err
			}
			t = s.choose(second, joined, t)
			low |= 1 << bit
		}
		if s.inBlock == 0 && len(s.before) == 0 {
			s.vals[x] = t // a lane's only element: the total up to it is its result
		} else if err := s.prepend(s.shuffle(t, prev), x, behind); err != nil {
			return err
		}
		if s.total[x] = t; next != nil && next.kind == layout.Register {
			s.total[x] = s.shuffle(t, b.Or(others, s.m.llvm.I32(end)))
		}
		return nil
	})
	s.holder = uint64(end)
	s.seen |= uint64(mask)
	return err
}

func (s *scanner) shuffle(x partial, lane llir.Value) partial {
	out := make(partial, len(x))
	for k, v := range x {
		out[k] = s.shuffleIndex(v, lane)
	}
	return out
}
