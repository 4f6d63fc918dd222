package lower

import (
	"math/bits"
	"slices"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// warps hands the totals around in shared memory. A run of registers that is next is
// done along the way: the sum over the warps of one block goes on in the next block.
func (s *scanner) warps(r, next *run, last bool) error {
	lanes := bitLen(s.m.lanes)
	t := &warpTotals{run: r, follow: []int{0}, warps: 1 << len(r.bits)}
	for _, c := range r.elemCols {
		t.rows += bits.OnesCount32(c)
	}
	mask := 0
	if next != nil && next.kind == layout.Register {
		t.follow, mask = s.inOrder(next)
	}
	for _, at := range t.follow {
		s.eachBlock(func(x int) error {
			if x&mask == 0 {
				t.blocks = append(t.blocks, x|at)
			}
			return nil
		})
	}
	sum, row := s.everyPrefix, len(t.blocks)
	if last && row*t.warps >= manyTotals && t.columns() >= s.m.lanes {
		sum, row = s.sharedPrefixes, row/len(t.follow)
	}
	t.count = min(row&-row, maxAccess/8/slices.Max(s.p.size))
	cols := make([]uint32, len(s.p.src.thread))
	for i, w := range r.bits {
		cols[lanes+w] = 1 << i
	}
	t.pos, t.elem = s.threadSum(cols), s.threadSum(r.elemCols)
	if s.reverse {
		t.first = t.warps - 1
	}
	s.storeTotals(t, s.bitsOfThread(s.seen|s.p.src.freeThreads, s.holder))
	s.barrier()
	if err := sum(t); err != nil {
		return err
	}
	s.inBlock |= mask
	s.holder = 0
	for _, w := range r.bits {
		s.seen |= 1 << (w + lanes)
	}
	return nil
}

// warpTotals is the arrangement of a run of warps' totals in shared memory: warp by warp,
// and for each in the order of blocks those of all its threads that know different ones.
type warpTotals struct {
	*run
	follow []int // register bits of the run of registers that follows, in the order of the scan
	blocks []int // registers that stand for a block, those of one element of follow together
	warps  int
	first  int // the warp that the scan begins with
	rows   int // bits of elem
	count  int // totals of one thread that lie side by side
	// pos is the number of the thread's warp, elem that of the thread.
	pos, elem llir.Value
}

// stride is the number of elements of one warp.
func (t *warpTotals) stride() int { return len(t.blocks) << t.rows }

// columns is the number of independent scans: the totals of one warp that do not precede
// one another.
func (t *warpTotals) columns() int { return t.stride() / len(t.follow) }

// warp is the j-th warp in the order of the scan.
func (t *warpTotals) warp(j int) int { return j ^ t.first }

// manyTotals is how many totals a thread would have to combine for a second barrier to be
// cheaper.
const manyTotals = 128

// everyPrefix has every thread combine the totals before it.
func (s *scanner) everyPrefix(t *warpTotals) error {
	b := s.b
	// totals[j][k] are the totals of warp j, block by block.
	totals := make([][][]llir.Value, t.warps)
	for j := range totals {
		totals[j] = s.loadTotals(t, nil, j*t.stride())
	}
	starts := len(t.blocks) / len(t.follow)
	for q0, start := range t.blocks[:starts] {
		start &^= t.follow[0]
		var sum partial
		for i := range t.follow {
			q := i*starts + q0
			before := sum // of the first warp
			for j := range totals {
				j = t.warp(j)
				part := totalOf(totals[j], q)
				if sum == nil {
					sum, before = part, part
					continue
				}
				if j != t.first { // the sum so far precedes warp j
					before = s.choose(b.ICmp(enum.IPredEQ, t.pos, s.m.llvm.I32(j)), sum, before)
				}
				var err error
				if sum, err = s.join(sum, part); err != nil {
					return err
				}
			}
			if err := s.prependTotal(t, i, t.blocks[q], before); err != nil {
				return err
			}
		}
		s.total[start] = sum
	}
	return nil
}

// sharedPrefixes has one thread per column combine the column's totals in the order of the
// scan and replace each by what precedes it; after a barrier every thread loads what
// precedes its own blocks.
func (s *scanner) sharedPrefixes(t *warpTotals) error {
	threads := s.m.warps * s.m.lanes
	columns := t.columns()
	var err error
	sums := func() llir.Value {
		for c := 0; c < columns && err == nil; c += threads {
			err = s.replaceTotals(t, c)
		}
		return nil
	}
	if columns < threads {
		guarded(s.b, s.b.ICmp(enum.IPredULT, s.tid, s.m.llvm.I32(columns)), nil, sums)
	} else {
		sums()
	}
	if err != nil {
		return err
	}
	s.barrier()
	before := s.loadTotals(t, t.pos, 0)
	starts := len(t.blocks) / len(t.follow)
	for q, x := range t.blocks {
		if err := s.prependTotal(t, q/starts, x, totalOf(before, q)); err != nil {
			return err
		}
	}
	return nil
}

// replaceTotals replaces the totals of column c + tid.
func (s *scanner) replaceTotals(t *warpTotals, c int) error {
	var sum partial
	for i := range t.follow {
		at := func(j, k int) *Access {
			ptr := s.elementPtr(s.base+t.base[k], s.p.size[k], s.tid)
			a := &Access{Count: 1}
			a.Ptr, a.Offset = llir.SplitPtr(s.b.PtrAdd(ptr, int64((t.warp(j)*t.stride()+i*t.columns()+c)*s.p.size[k])))
			return a
		}
		parts := make([]partial, t.warps)
		for j := range parts {
			for k := range s.p.size {
				parts[j] = append(parts[j], s.loadRow(at(j, k), s.total[t.blocks[0]][k].Type())...)
			}
		}
		for j, part := range parts {
			if sum == nil {
				sum = part // nothing precedes it
				continue
			}
			for k, v := range sum {
				s.storeRow(at(j, k), []llir.Value{v})
			}
			var err error
			if sum, err = s.join(sum, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// prependTotal puts before in front of block x of the i-th of follow, but for the very
// first block.
func (s *scanner) prependTotal(t *warpTotals, i, x int, before partial) error {
	var cond llir.Value
	if i == 0 {
		cond = s.b.ICmp(ipredNE, t.pos, s.m.llvm.I32(t.first))
	}
	return s.prepend(before, x, cond)
}

// totalOf is the q-th total of those of each operand.
func totalOf(totals [][]llir.Value, q int) partial {
	out := make(partial, len(totals))
	for k := range out {
		out[k] = totals[k][q]
	}
	return out
}

// loadTotals loads the totals of the thread in warp pos (0 if nil), shift elements on, by
// operand.
func (s *scanner) loadTotals(t *warpTotals, pos llir.Value, shift int) [][]llir.Value {
	totals := make([][]llir.Value, len(s.p.size))
	for k := range totals {
		elem := s.total[t.blocks[0]][k].Type()
		s.totalAccesses(t, k, pos, shift, func(a *Access, _ int) {
			totals[k] = append(totals[k], s.loadRow(a, elem)...)
		})
	}
	return totals
}

// storeTotals stores the thread's totals where owner holds.
func (s *scanner) storeTotals(t *warpTotals, owner llir.Value) {
	store := func(mask llir.Value) {
		for k := range s.p.size {
			own := make([]llir.Value, len(t.blocks))
			for q, x := range t.blocks {
				own[q] = s.total[x][k]
			}
			s.totalAccesses(t, k, t.pos, 0, func(a *Access, q int) {
				a.Mask = mask
				s.storeRow(a, own[q:q+a.Count])
			})
		}
	}
	masked(s.b, owner, len(t.blocks)/t.count*len(s.p.size), store)
}

// totalAccesses calls f for each access to the totals of operand k that the thread has in
// warp pos (0 if nil), shift elements on. One access moves count of them; next to them
// are those of the next thread, so that the accesses of a warp fill the banks.
func (s *scanner) totalAccesses(t *warpTotals, k int, pos llir.Value, shift int, f func(a *Access, q int)) {
	size := s.p.size[k]
	index := s.b.Mul(t.elem, s.m.llvm.I32(t.count))
	if pos != nil {
		index = s.b.Add(s.b.Mul(pos, s.m.llvm.I32(t.stride())), index)
	}
	ptr := s.elementPtr(s.base+t.base[k], size, index)
	for q := 0; q < len(t.blocks); q += t.count {
		a := Access{Count: t.count}
		a.Ptr, a.Offset = llir.SplitPtr(s.b.PtrAdd(ptr, int64((shift+(q<<t.rows))*size)))
		f(&a, q)
	}
}

// storeRow and loadRow move elements, booleans as bytes.
func (s *scanner) storeRow(a *Access, vals []llir.Value) {
	out := make([]llir.Value, len(vals))
	for i, v := range vals {
		if out[i] = v; v.Type() == llir.I1 {
			out[i] = s.b.ZExt(v, llir.I8)
		}
	}
	a.Elem = out[0].Type()
	s.m.caps.Memory.StoreShared(s.b, a, out)
}

func (s *scanner) loadRow(a *Access, t llir.Type) []llir.Value {
	if a.Elem = t; t == llir.I1 {
		a.Elem = llir.I8
	}
	out := s.m.caps.Memory.LoadShared(s.b, a)
	if t == llir.I1 {
		for i, v := range out {
			out[i] = s.b.ICmp(ipredNE, v, s.m.llvm.Zero(llir.I8))
		}
	}
	return out
}
