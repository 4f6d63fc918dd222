package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// A program may be a cluster of several CTAs. Each has threads and shared memory of
// its own and a rank in the cluster, which is the block input of layouts: what a
// thread holds depends on its rank as it does on its index. A CTA may read the shared
// memory of the others, but only between two barriers of the cluster: after the
// first all have written, and before the second nobody writes again or ends. Each
// operation that reads remotely has both, so that all else knows of one CTA.

// clusterOf fails for a target that has no clusters.
func (m *module) clusterOf(ctas int64) error {
	switch {
	case m.caps.Clusters == nil:
		return fmt.Errorf("the target has no clusters")
	case ctas < 1 || ctas > maxCTAs || ctas&(ctas-1) != 0:
		return fmt.Errorf("a cluster has a power of two up to %d of CTAs", maxCTAs)
	}
	return nil
}

// maxCTAs bounds the CTAs of a cluster.
const maxCTAs = 16

// threadBits is the number of bits of a thread's index, rankBits of its CTA's rank.
func (m *module) threadBits() int { return bitLen(m.lanes) + bitLen(m.warps) }
func (m *module) rankBits() int   { return bitLen(m.ctas) }

// plainEncoding spreads a tensor over the threads of one CTA; all CTAs have all of it.
func (m *module) plainEncoding(c *ir.Context, shape []int64) ir.Attribute {
	e := layout.DefaultBlocked(shape, m.warps, m.lanes, 1)
	for range m.rankBits() {
		e.CGA = append(e.CGA, make([]int32, len(shape)))
	}
	return encoding.Of(c, e)
}

// sameBlocks reports whether the CTAs' parts begin at the same elements in both
// layouts, of one shape.
func sameBlocks(a, b *tensorLayout) bool {
	return slices.EqualFunc(a.block, b.block, slices.Equal[[]int32])
}

// programOwner is an i1 that holds in one of the threads of all CTAs that hold the
// same elements of l; nil where no two do. firstReplica is the same within each CTA.
func (e *emitter) programOwner(l *tensorLayout) llir.Value {
	return e.and(e.firstReplica(l), e.zeroBitsOfRank(l.freeBlocks))
}

// zeroBitsOfRank is an i1 that holds where the CTA's rank has none of the given bits,
// nil when there are none to look at.
func (e *emitter) zeroBitsOfRank(mask uint64) llir.Value {
	if mask == 0 {
		return nil
	}
	return e.b.ICmp(ipredEQ, e.b.And(e.rank, e.m.llvm.I32(int(mask))), e.m.llvm.I32(0))
}

// threadBit is an i1 that holds where bit i of the thread's index is set; the bits of
// the rank follow those of the thread in its CTA.
func (e *emitter) threadBit(i int) llir.Value {
	x := e.tid
	if n := e.m.threadBits(); i >= n {
		x, i = e.rank, i-n
	}
	return e.b.ICmp(ipredNE, e.b.And(x, e.m.llvm.I32(1<<i)), e.m.llvm.I32(0))
}

// meetCluster waits for all threads of the cluster.
func (e *emitter) meetCluster() { e.m.caps.Clusters.ClusterBarrier(e.b) }

// view is how the threads of all CTAs read what one CTA, or each from another, has
// staged for a conversion.
type view struct {
	// layout is where the elements that a thread reads lie in the operand's part
	// of a CTA. Its warps' bits are followed by those of the rank, and by
	// registers that are read from another CTA than register 0.
	layout layout.Layout
	// regs and threads are the offset, in elements, that each bit of the
	// register's index and of the thread's adds, ranks after threads; regBlock and
	// threadBlock what each adds to the rank of the CTA that is read.
	regs, threads         []uint64
	regBlock, threadBlock []uint32
}

// planView plans the reading of a conversion through shared memory between layouts
// whose parts of CTAs differ.
func (m *module) planView(p *conversionPlan, source layout.Layout) {
	v := new(view)
	local := p.src.layout.InBits(layout.Register) + m.threadBits()
	split := func(c uint64) (image uint64, block uint32) {
		return p.src.full.ApplyPacked(c & (1<<local - 1)), uint32(c >> local)
	}
	var regs, threads []uint64
	for _, c := range source.Columns(layout.Register) {
		at, block := split(c)
		regs, v.regBlock = append(regs, at), append(v.regBlock, block)
	}
	for _, d := range []layout.Dim{layout.Lane, layout.Warp, layout.Block} {
		for _, c := range source.Columns(d) {
			at, block := split(c)
			threads, v.threadBlock = append(threads, at), append(v.threadBlock, block)
		}
	}
	near, far := make([]uint64, 0, len(regs)), slices.Clone(threads[bitLen(m.lanes):])
	for i, c := range regs {
		if v.regBlock[i] == 0 {
			near = append(near, c)
		} else {
			far = append(far, c)
		}
	}
	outs := p.src.layout.Outs()
	input := func(d layout.Dim, cols []uint64) layout.Input {
		in := layout.Input{Dim: d}
		for _, c := range cols {
			coords := p.src.layout.UnpackOut(c)
			basis := make([]int32, len(coords))
			for i, x := range coords {
				basis[i] = int32(x)
			}
			in.Bases = append(in.Bases, basis)
		}
		return in
	}
	v.layout = layout.New(outs, input(layout.Register, near), input(layout.Lane, threads[:bitLen(m.lanes)]), input(layout.Warp, far))
	p.staging = layout.Stage(p.src.layout, v.layout, p.elem, m.target.Banks())
	p.vec = p.staging.Vec
	p.srcVec = m.sideVec(p, p.src)
	p.bytes = p.staging.Offset.InSize(layout.Offset) * p.elem
	offsets := func(cols []uint64) []uint64 {
		return p.staging.Offsets(layout.New(outs, input(layout.Register, cols))).Columns(layout.Register)
	}
	v.regs, v.threads = offsets(regs), offsets(threads)
	p.view = v
}

// readView reads a conversion's result from where view says.
func (e *emitter) readView(p *conversionPlan, base int, stored llir.Type) []llir.Value {
	v := p.view
	out := make([]llir.Value, p.dst.regs)
	place := e.sharedPlaces(&sharedPlan{size: p.elem}, v.threads, e.smem, base)
	var rank llir.Value
	remote := p.means == layout.Cluster
	if remote {
		rank = e.threadSum(v.threadBlock)
	}
	type spot struct {
		off   uint64
		block int
	}
	at := make(map[spot]int, p.dst.regs)
	spotOf := func(r int) spot {
		block := uint32(0)
		for i, c := range v.regBlock {
			if r>>i&1 != 0 {
				block ^= c
			}
		}
		return spot{sum(v.regs, r), int(block)}
	}
	for r := p.dst.regs - 1; r >= 0; r-- {
		if p.dst.canonical(r) == r {
			at[spotOf(r)] = r
		}
	}
	for r := range out {
		if out[r] != nil || p.dst.canonical(r) != r {
			continue
		}
		s := spotOf(r)
		s.off &^= uint64(p.vec - 1)
		a := &Access{Elem: stored, Count: p.vec}
		a.Ptr, a.Offset = place(int(s.off))
		var vals []llir.Value
		if remote {
			vals = e.m.caps.Clusters.LoadRemote(e.b, a, e.b.Xor(rank, e.m.llvm.I32(s.block)))
		} else {
			vals = e.m.caps.Memory.LoadShared(e.b, a)
		}
		for i, x := range vals {
			if to, ok := at[spot{s.off + uint64(i), s.block}]; ok {
				out[to] = x
			}
		}
	}
	return out
}

// loadFromRank loads one element that the CTA with a rank of the cluster has at the
// same place as this one; a boolean is a byte.
func (e *emitter) loadFromRank(ptr llir.Value, off int64, t llir.Type, rank llir.Value) llir.Value {
	elem := t
	if t == llir.I1 {
		elem = llir.I8
	}
	v := e.m.caps.Clusters.LoadRemote(e.b, &Access{Ptr: ptr, Offset: off, Elem: elem, Count: 1}, rank)[0]
	if t == llir.I1 {
		v = e.b.ICmp(ipredNE, v, e.m.llvm.Zero(elem))
	}
	return v
}

// ranksAlong gives the ranks of the CTAs that differ from this one in the given bits
// of the rank alone, this one's among them, in ascending order.
func (e *emitter) ranksAlong(bits []int) []llir.Value {
	mask := 0
	for _, b := range bits {
		mask |= 1 << b
	}
	own := e.b.And(e.rank, e.m.llvm.I32(^mask&(e.m.ctas-1)))
	out := make([]llir.Value, 1<<len(bits))
	for i := range out {
		out[i] = e.b.Or(own, e.m.llvm.I32(pick(bits, i)))
	}
	return out
}

// blocksAlong lists the bits of the rank that lead to other elements along an axis. It
// is false where one of them leads elsewhere, too, which a conversion must undo first.
func (l *tensorLayout) blocksAlong(axis int) (bits []int, ok bool) {
	for i, v := range l.block {
		switch {
		case v[axis] == 0 || l.freeBlocks>>i&1 != 0:
		case !alone(v, axis):
			return nil, false
		default:
			bits = append(bits, i)
		}
	}
	return bits, true
}
