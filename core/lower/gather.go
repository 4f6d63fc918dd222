package lower

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Operations in which the place of an element depends on data: they go through
// shared memory, in row-major order, but for a gather that stays within warps.

func gatherHandlers(h map[*ir.OpDef]handler) {
	h[tt.Gather] = on(tt.AsGather, (*emitter).gather)
	h[tt.Histogram] = on(tt.AsHistogram, (*emitter).histogram)
	h[tt.MapElementwise] = on(tt.AsMapElementwise, (*emitter).mapElementwise)
	h[tt.MapElementwiseReturn] = (*emitter).leaveRegion
}

// gatherScratch is the memory for all elements of the source, nothing for a
// gather that lanes do among themselves.
func (m *module) gatherScratch(op *ir.Operation) (int, error) {
	if p, err := m.planWarpGather(op); err != nil || p != nil {
		return 0, err
	}
	t, ok := tt.AsGather(op).Src().Type().(*ir.TensorType)
	if !ok {
		return 0, failure(op, fmt.Errorf("needs a tensor"))
	}
	_, bits, err := memoryType(t)
	if err != nil {
		return 0, failure(op, err)
	}
	bytes := int(t.NumElements()) * bits / 8
	p, err := m.planSpread(op)
	if err != nil {
		return 0, failure(op, err)
	}
	if p != nil {
		bytes = aligned(bytes) + p.bytes
	}
	return bytes, nil
}

// aligned rounds a number of bytes up to what the widest access is aligned to.
func aligned(bytes int) int { return (bytes + 15) / 16 * 16 }

// blocksStay reports whether each CTA holds what a gather along axis takes from src
// for its part of dst.
func blocksStay(src, dst *tensorLayout, axis int) bool {
	for i, v := range src.block {
		if v[axis] != 0 || !sameBeside(axis, v, dst.block[i]) {
			return false
		}
	}
	return true
}

// planSpread plans the conversion of a gather's source to a layout in which each CTA
// has all of it; nil where each has what it needs.
func (m *module) planSpread(op *ir.Operation) (*conversionPlan, error) {
	gather := tt.AsGather(op)
	from, ok := gather.Src().Type().(*ir.TensorType)
	to, ok2 := gather.Result().Type().(*ir.TensorType)
	if !ok || !ok2 {
		return nil, fmt.Errorf("needs tensors")
	}
	src, err := m.layoutOf(from)
	if err != nil {
		return nil, err
	}
	dst, err := m.layoutOf(to)
	if err != nil {
		return nil, err
	}
	if blocksStay(src, dst, int(gather.Axis())) {
		return nil, nil
	}
	c := op.Context()
	return m.planTypes(from, c.Tensor(from.Shape, from.Elem, m.plainEncoding(c, from.Shape)))
}

func (e *emitter) gather(op tt.GatherOp) error {
	p, err := e.m.planWarpGather(op.Op)
	if err != nil {
		return err
	}
	if p != nil {
		e.warpGather(p, op)
		return nil
	}
	src, err := e.layout(op.Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	_, bits, err := memoryType(op.Src().Type())
	if err != nil {
		return err
	}
	base, size := e.m.alloc.Offset(op.Op), bits/8
	in := e.value(op.Src())
	spread, err := e.m.planSpread(op.Op)
	if err != nil {
		return err
	}
	if spread != nil {
		bytes := int(op.Src().Type().(*ir.TensorType).NumElements()) * size
		in, src = e.convert(spread, base+aligned(bytes), in), spread.dst
	}
	owner := e.firstReplica(src)
	for r, at := range e.linearIndex(src) {
		if src.canonical(r) == r {
			ptr, off := llir.SplitPtr(e.elementPtr(base, size, at))
			e.storeShared(ptr, off, owner, in[r])
		}
	}
	e.barrier()
	// The result's coordinates, the index in place of that along the axis.
	index := e.value(op.Indices())
	out := make([]llir.Value, dst.regs)
	at := make([]llir.Value, dst.regs)
	for r := range at {
		at[r] = e.m.llvm.I32(0)
	}
	for d, n := range src.shape {
		coords := e.coords(dst, d)
		for r := range at {
			c := coords[r]
			if d == int(op.Axis()) {
				c = e.b.Resize(index[r], llir.I32, true)
			}
			at[r] = e.b.Add(e.b.Mul(at[r], e.m.llvm.I32(int(n))), c)
		}
	}
	for r := range out {
		ptr, off := llir.SplitPtr(e.elementPtr(base, size, at[r]))
		out[r] = e.loadShared(ptr, off, in[0].Type(), 1)[0]
	}
	e.set(op.Result(), out)
	return nil
}

// histogramScratch is the memory for the counts.
func (m *module) histogramScratch(op *ir.Operation) (int, error) {
	t, ok := op.OneResult().Type().(*ir.TensorType)
	if !ok || !ir.IsInt(t.Elem, 32) {
		return 0, failure(op, fmt.Errorf("needs a result of 32-bit counts"))
	}
	return int(t.NumElements()) * 4, nil
}

// histogram counts in shared memory: all threads clear, count and read. Each CTA of a
// cluster counts what it holds, and adds up the counts of all.
func (e *emitter) histogram(op tt.HistogramOp) error {
	src, err := e.layout(op.Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	b, zero := e.b, e.m.llvm.I32(0)
	base := e.m.alloc.Offset(op.Op)
	counts := e.linearIndex(dst)
	e.clearCounts(op, dst, base, counts)
	e.barrier()
	owner := e.firstReplica(src)
	last := e.m.llvm.I32(int(op.Result().Type().(*ir.TensorType).Shape[0]) - 1)
	var masks []llir.Value
	if m := op.Mask(); m != nil {
		masks = e.value(m)
	}
	for r, v := range e.value(op.Src()) {
		if src.canonical(r) != r {
			continue
		}
		// A thread that has nothing to count adds zero, which needs no branch.
		one := llir.Value(e.m.llvm.I32(1))
		// A value that has no bin must not count in somebody else's memory: the low bits
		// choose, as in Triton.
		at := b.And(b.Resize(v, llir.I32, false), last)
		if cond := e.and(owner, pickReg(masks, r)); cond != nil {
			one = b.ZExt(cond, llir.I32)
			at = b.Select(cond, at, zero)
		}
		b.AtomicRMW(enum.AtomicOpAdd, e.elementPtr(base, 4, at), one, enum.AtomicOrderingMonotonic, "")
	}
	var others []int // bits of the rank of CTAs that count other elements
	for i := range src.block {
		if src.freeBlocks>>i&1 == 0 {
			others = append(others, i)
		}
	}
	out := make([]llir.Value, dst.regs)
	if len(others) > 0 {
		e.meetCluster()
		ranks := e.ranksAlong(others)
		for r, at := range counts {
			ptr, off := llir.SplitPtr(e.elementPtr(base, 4, at))
			for i, rank := range ranks {
				n := e.loadFromRank(ptr, off, llir.I32, rank)
				if i > 0 {
					n = b.Add(out[r], n)
				}
				out[r] = n
			}
		}
		e.meetCluster() // before anybody writes there again, or ends
		e.set(op.Result(), out)
		return nil
	}
	e.barrier()
	for r, at := range counts {
		ptr, off := llir.SplitPtr(e.elementPtr(base, 4, at))
		out[r] = e.loadShared(ptr, off, llir.I32, 1)[0]
	}
	e.set(op.Result(), out)
	return nil
}

// clearCounts clears the counts of all bins, which have the given numbers in the
// threads of the result.
func (e *emitter) clearCounts(op tt.HistogramOp, dst *tensorLayout, base int, counts []llir.Value) {
	zero := e.m.llvm.I32(0)
	if dst.freeBlocks != uint64(e.m.ctas)-1 { // a CTA of several has a part of them in registers
		whole := op.Result().Type().(*ir.TensorType)
		l, err := e.m.layoutOf(op.Op.Context().Tensor(whole.Shape, whole.Elem, e.m.plainEncoding(op.Op.Context(), whole.Shape)))
		if err != nil {
			panic("BUG: lower: " + err.Error())
		}
		dst, counts = l, e.linearIndex(l)
	}
	clears := e.firstReplica(dst)
	for r, at := range counts {
		if dst.canonical(r) == r {
			ptr, off := llir.SplitPtr(e.elementPtr(base, 4, at))
			e.storeShared(ptr, off, clears, zero)
		}
	}
}
