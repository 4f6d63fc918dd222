package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func atomicHandlers(h map[*ir.OpDef]handler) {
	h[tt.AtomicRMW] = (*emitter).atomic
	h[tt.AtomicCAS] = (*emitter).atomic
}

// atomicScratch is the memory through which one thread hands the old value of
// an atomic to those that hold the same element.
func (m *module) atomicScratch(op *ir.Operation) (int, error) {
	l, err := m.atomicLayout(op)
	if err != nil {
		return 0, failure(op, err)
	}
	if l.freeThreads == 0 && l.freeBlocks == 0 || !op.HasUses() {
		return 0, nil
	}
	for i, v := range l.block {
		if l.freeBlocks>>i&1 != 0 && slices.ContainsFunc(v, func(x int32) bool { return x != 0 }) {
			return 0, failure(op, fmt.Errorf("the layout repeats elements in other places of other CTAs"))
		}
	}
	_, bits, err := memoryType(op.OneResult().Type())
	if err != nil {
		return 0, failure(op, err)
	}
	return m.uniqueElements(l) * bits / 8, nil
}

// atomicLayout is the layout of what an atomic is given for each element.
func (m *module) atomicLayout(op *ir.Operation) (*tensorLayout, error) {
	if t, ok := op.OneResult().Type().(*ir.TensorType); ok {
		return m.layoutOf(t)
	}
	return m.scalarLayout(), nil
}

// uniqueElements is the number of different elements that a CTA holds.
func (m *module) uniqueElements(l *tensorLayout) int {
	n := l.regs * m.warps * m.lanes
	for f := l.freeThreads; f != 0; f &= f - 1 {
		n /= 2
	}
	for f := l.freeRegs; f != 0; f &= f - 1 {
		n /= 2
	}
	return n
}

// atomic lowers tt.atomic_rmw and tt.atomic_cas.
func (e *emitter) atomic(op *ir.Operation) error {
	p := &updating{op: op, result: op.OneResult(), where: tt.Address(op)}
	ptrs := e.value(p.where)
	place := func(a *Atomic, r int) { a.Ptr, a.Offset = llir.SplitPtr(ptrs[r]) }
	if op.Is(tt.AtomicCAS) {
		cas := tt.AsAtomicCAS(op)
		p.compare, p.values, p.access = cas.Cmp(), cas.Val(), Atomic{Sem: cas.Sem(), Scope: cas.Scope()}
		p.do = func(a *Atomic, r int) ([]llir.Value, error) {
			place(a, r)
			old, err := e.m.caps.Atomics.AtomicCAS(e.b, a)
			return []llir.Value{old}, err
		}
		return e.atomicTensor(p)
	}
	rmw := tt.AsAtomicRMW(op)
	p.values, p.mask, p.access = rmw.Val(), rmw.Mask(), Atomic{Op: rmw.AtomicRmwOp(), Sem: rmw.Sem(), Scope: rmw.Scope()}
	p.width = func(l *tensorLayout, bits int) int {
		elem, _, _ := memoryType(p.result.Type())
		return min(e.m.caps.Atomics.AtomicWidth(rmw.AtomicRmwOp(), elem), e.m.vectorWidth(rmw.Ptr(), rmw.Mask(), l, bits))
	}
	p.do = func(a *Atomic, r int) ([]llir.Value, error) {
		place(a, r)
		return e.m.caps.Atomics.AtomicRMW(e.b, a)
	}
	return e.atomicTensor(p)
}

// updating is an atomic on a tensor, or on a scalar; its fields are as those of loading.
type updating struct {
	op                                   *ir.Operation
	result, mask, values, compare, where *ir.Value
	access                               Atomic
	width                                func(l *tensorLayout, bits int) int // nil: one
	// do makes the access to the elements of the registers from r on.
	do func(a *Atomic, r int) ([]llir.Value, error)
}

// atomicTensor performs the access once for each element: one of the threads that
// hold it does, and hands the old value to the others where it is used.
func (e *emitter) atomicTensor(p *updating) error {
	l, err := e.m.atomicLayout(p.op)
	if err != nil {
		return err
	}
	elem, bits, err := memoryType(p.result.Type())
	if err != nil {
		return err
	}
	p.access.Elem = elem
	n := len(e.value(p.where))
	vals := e.value(p.values)
	var cmps, masks []llir.Value
	if p.compare != nil {
		cmps = e.value(p.compare)
	}
	if p.mask != nil {
		masks = spread(e.value(p.mask), n)
	}
	vec := 1
	if _, ok := p.where.Type().(*ir.TensorType); ok && p.width != nil {
		vec = p.width(l, bits)
	}
	owner := e.programOwner(l)
	out := make([]llir.Value, n)
	err = l.accesses(vec, func(r int) error {
		a := p.access
		a.Mask = owner
		if masks != nil {
			if c, ok := llir.ConstInt(masks[r]); !ok {
				a.Mask = e.and(owner, masks[r])
			} else if c == 0 {
				for i := range vec {
					out[r+i] = e.m.llvm.Zero(elem)
				}
				return nil
			}
		}
		a.Values, a.Compare = vals[r:r+vec], pickReg(cmps, r)
		old, err := p.do(&a, r)
		copy(out[r:], old)
		return err
	})
	if err != nil {
		return err
	}
	for r := range out {
		out[r] = out[l.canonical(r)]
	}
	if owner != nil && p.op.HasUses() {
		out = e.shareResults(p.op, l, owner, out)
	}
	e.set(p.result, out)
	return nil
}

// shareResults hands each element from the thread that has it to the threads
// with replicas, through shared memory.
func (e *emitter) shareResults(op *ir.Operation, l *tensorLayout, owner llir.Value, vals []llir.Value) []llir.Value {
	cols := make([]uint32, 0, 64)
	bit := 0
	for i := range bitLen(e.m.lanes) + bitLen(e.m.warps) {
		c := uint32(0)
		if l.freeThreads>>i&1 == 0 {
			c = 1 << bit
			bit++
		}
		cols = append(cols, c)
	}
	_, bits, _ := memoryType(op.OneResult().Type())
	size := bits / 8
	ptr := e.elementPtr(e.m.alloc.Offset(op), size, e.threadSum(cols))
	slots := make(map[int]int64)
	for r := range vals {
		if l.canonical(r) == r {
			slots[r] = int64(len(slots)) * int64(size) << bit
			p, off := llir.SplitPtr(e.b.PtrAdd(ptr, slots[r]))
			e.storeShared(p, off, owner, vals[r])
		}
	}
	var from llir.Value // the rank of the CTA whose threads had them
	if l.freeBlocks != 0 {
		e.meetCluster()
		from = e.b.And(e.rank, e.m.llvm.I32(int(^l.freeBlocks)&(e.m.ctas-1)))
	} else {
		e.barrier()
	}
	out := make([]llir.Value, len(vals))
	for r := range vals {
		c := l.canonical(r)
		if c != r {
			out[r] = out[c]
			continue
		}
		p, off := llir.SplitPtr(e.b.PtrAdd(ptr, slots[r]))
		if from != nil {
			out[r] = e.loadFromRank(p, off, vals[r].Type(), from)
		} else {
			out[r] = e.loadShared(p, off, vals[r].Type(), 1)[0]
		}
	}
	if from != nil {
		e.meetCluster()
	}
	return out
}
