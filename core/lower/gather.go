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
	return int(t.NumElements()) * bits / 8, nil
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
	owner := e.firstReplica(src)
	in := e.value(op.Src())
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

// histogram counts in shared memory: all threads clear, count and read.
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
	clears := e.firstReplica(dst)
	for r, at := range counts {
		if dst.canonical(r) == r {
			ptr, off := llir.SplitPtr(e.elementPtr(base, 4, at))
			e.storeShared(ptr, off, clears, zero)
		}
	}
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
	e.barrier()
	out := make([]llir.Value, dst.regs)
	for r, at := range counts {
		ptr, off := llir.SplitPtr(e.elementPtr(base, 4, at))
		out[r] = e.loadShared(ptr, off, llir.I32, 1)[0]
	}
	e.set(op.Result(), out)
	return nil
}
