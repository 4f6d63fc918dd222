package lower

import (
	"cmp"
	"fmt"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

func memoryHandlers(h map[*ir.OpDef]handler) {
	h[tt.Load] = on(tt.AsLoad, (*emitter).load)
	h[tt.Store] = on(tt.AsStore, (*emitter).store)
	h[tt.AddPtr] = on(tt.AsAddPtr, (*emitter).addPtr)
	h[tt.IntToPtr] = pointwise(cast(llir.IntToPtr))
	h[tt.PtrToInt] = pointwise(cast(llir.PtrToInt))
	h[tt.Bitcast] = pointwise(func(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
		if llir.IsPtr(t) { // pointers have no pointee here
			return x[0]
		}
		return e.b.BitCast(x[0], t)
	})
}

// maxAccess is the widest memory access in bits.
const maxAccess = 128

// memoryType is the type that an element has in memory and its size in bits: a
// boolean takes a byte.
func memoryType(t ir.Type) (llir.Type, int, error) {
	s, err := scalarType(t)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case s == llir.I1:
		return llir.I8, 8, nil
	case llir.IsPtr(s):
		return s, 64, nil
	}
	return s, llir.Width(s), nil
}

// vectorWidth is the number of neighbouring registers that one access through
// ptr can move: the elements are neighbours in memory, aligned to the whole, at
// most 128 bits, and all under one value of the mask.
func (m *module) vectorWidth(ptr, mask *ir.Value, l *tensorLayout, bits int) int {
	axis := m.axis.Of(ptr).Axes[l.layout.Order()[0]]
	return m.runWidth(axis.Contiguity, axis.Divisibility*8/int64(bits), mask, l, bits)
}

// runWidth is vectorWidth for runs of neighbours that begin at multiples of so many
// elements.
func (m *module) runWidth(run, align int64, mask *ir.Value, l *tensorLayout, bits int) int {
	d := l.layout.Order()[0]
	vec := min(run, max(align, 1), maxAccess/int64(bits))
	vec = min(vec, int64(l.layout.ConsecutiveRegisters(layout.TensorDim(d))))
	if mask != nil {
		if _, tensor := mask.Type().(*ir.TensorType); tensor {
			vec = min(vec, m.axis.Of(mask).Axes[d].Constancy)
		}
	}
	for vec&(vec-1) != 0 {
		vec &= vec - 1
	}
	return int(vec)
}

// spread repeats a single register n times.
func spread(regs []llir.Value, n int) []llir.Value {
	if len(regs) == n {
		return regs
	}
	out := make([]llir.Value, n)
	for i := range out {
		out[i] = regs[0]
	}
	return out
}

// accesses calls f for each group of vec registers that are accessed together,
// replicas left out.
func (l *tensorLayout) accesses(vec int, f func(r int) error) error {
	for r := 0; r < l.regs; r += vec {
		if l.canonical(r) != r {
			continue
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// plainAccess fails for what only block pointers have.
func plainAccess(ptr *ir.Value) error {
	if tt.IsBlockPtr(ptr.Type()) {
		return fmt.Errorf("block pointers must be rewritten to tensors of pointers first")
	}
	return nil
}

func (e *emitter) load(op tt.LoadOp) error {
	if err := plainAccess(op.Ptr()); err != nil {
		return err
	}
	ptrs := e.value(op.Ptr())
	return e.loadTensor(&loading{
		op: op.Op, result: op.Result(), mask: op.Mask(), other: op.Other(), where: op.Ptr(),
		access: Access{Cache: op.Cache(), Evict: op.Evict(), Volatile: op.IsVolatile()},
		width: func(l *tensorLayout, bits int) int {
			return e.m.vectorWidth(op.Ptr(), op.Mask(), l, bits)
		},
		load: func(a *Access, r int) ([]llir.Value, error) {
			a.Ptr, a.Offset = llir.SplitPtr(ptrs[r])
			return e.m.caps.Memory.LoadGlobal(e.b, a)
		},
	})
}

// loading is a load of a tensor, or of a scalar.
type loading struct {
	op                  *ir.Operation
	result, mask, other *ir.Value
	// where is a tensor whose equal elements are equal addresses.
	where *ir.Value
	// access is what all accesses have in common.
	access Access
	// width is how many registers of a tensor one access fills.
	width func(l *tensorLayout, bits int) int
	// load makes the access that fills the registers from r on.
	load func(a *Access, r int) ([]llir.Value, error)
}

// loadTensor gives a result what is loaded.
func (e *emitter) loadTensor(p *loading) error {
	t, err := scalarType(p.result.Type())
	if err != nil {
		return err
	}
	elem, bits, err := memoryType(p.result.Type())
	if err != nil {
		return err
	}
	n := len(e.value(p.where))
	var masks, others []llir.Value
	if p.mask != nil {
		masks = spread(e.value(p.mask), n)
	}
	unread := p.other != nil && p.other.DefIs(ub.Poison)
	if p.other != nil && !unread {
		others = spread(e.value(p.other), n)
	}
	p.access.Unread, p.access.Elem = unread, elem
	vec, alike := 1, 0
	l, isTensor := &tensorLayout{regs: 1}, false
	if tensor, ok := p.result.Type().(*ir.TensorType); ok {
		isTensor = true
		if l, err = e.m.layoutOf(tensor); err != nil {
			return err
		}
		vec = p.width(l, bits)
		if !p.access.Volatile {
			alike = e.alikeRegisters(tensor, p.where, p.mask, p.other) &^ (vec - 1)
		}
		e.stridedUses(p, vec)
	}
	if masks != nil {
		e.keepMasks(p, masks)
	}
	out := make([]llir.Value, n)
	err = l.accesses(vec, func(r int) error {
		if first := r &^ alike; first != r {
			copy(out[r:r+vec], out[first:])
			return nil
		}
		vals, err := e.loadGroup(p, pickReg(masks, r), others, r, vec)
		if err != nil {
			return err
		}
		for i, v := range vals {
			if t == llir.I1 {
				v = e.b.ICmp(ipredNE, v, e.m.llvm.Zero(v.Type()))
			}
			out[r+i] = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if isTensor {
		for r := range out {
			if out[r] == nil {
				out[r] = out[l.canonical(r)]
			}
		}
	}
	e.set(p.result, out)
	return nil
}

// pickReg is regs[r], or nil where there are none.
func pickReg(regs []llir.Value, r int) llir.Value {
	if regs == nil {
		return nil
	}
	return regs[r]
}

// loadGroup loads vec elements whose first register is r. A mask that is known
// costs no access or no predicate.
func (e *emitter) loadGroup(p *loading, mask llir.Value, others []llir.Value, r, vec int) ([]llir.Value, error) {
	a := p.access
	if mask != nil && others != nil {
		a.Other = make([]llir.Value, vec)
		for i := range a.Other {
			o := others[r+i]
			if o.Type() == llir.I1 {
				o = e.b.ZExt(o, llir.I8)
			}
			a.Other[i] = o
		}
	}
	if c, ok := llir.ConstInt(mask); ok {
		if c == 0 {
			return e.notLoaded(a, vec), nil
		}
		mask, a.Other = nil, nil
	}
	a.Mask, a.Count = mask, vec
	e.b.CountLoad()
	vals, err := p.load(&a, r)
	e.b.MarkLoaded(vals)
	return vals, err
}

// notLoaded is what a load gives under a mask that is always false.
func (e *emitter) notLoaded(a Access, vec int) []llir.Value {
	if a.Other != nil {
		return a.Other
	}
	vals := make([]llir.Value, vec)
	for i := range vals {
		vals[i] = e.m.llvm.Zero(a.Elem)
	}
	return vals
}

func (e *emitter) store(op tt.StoreOp) error {
	if err := plainAccess(op.Ptr()); err != nil {
		return err
	}
	ptrs := e.value(op.Ptr())
	p := &storing{
		value: op.Value(), mask: op.Mask(), where: op.Ptr(), access: Access{Cache: op.Cache(), Evict: op.Evict()},
		width: func(l *tensorLayout, bits int) int {
			return e.m.vectorWidth(op.Ptr(), op.Mask(), l, bits)
		},
		place: func(a *Access, r int) { a.Ptr, a.Offset = llir.SplitPtr(ptrs[r]) },
	}
	all, _, err := e.stores(p)
	for len(all) > 0 && err == nil {
		n := 1
		for n < len(all) && all[n].Mask == all[0].Mask {
			n++
		}
		masked(e.b, all[0].Mask, n, func(mask llir.Value) {
			for i := range all[:n] {
				all[i].Mask = mask
				err = cmp.Or(err, e.m.caps.Memory.StoreGlobal(e.b, &all[i].Access, all[i].vals))
			}
		})
		all = all[n:]
	}
	e.seenByLanes(op.Op, op.Ptr())
	return err
}

// storing is a store of a tensor, or of a scalar; its fields are as those of loading.
type storing struct {
	value, mask, where *ir.Value
	access             Access
	width              func(l *tensorLayout, bits int) int
	// place finds where the registers from r on go.
	place func(a *Access, r int)
	// apart has the owner of elements not be part of the masks.
	apart bool
}

// oneStore is a store of neighbouring registers.
type oneStore struct {
	Access
	vals []llir.Value
}

// stores lists the accesses of a store. One of the threads that hold the same elements
// makes them: the one in which owner holds, nil for all. The masks say so, unless it is to
// be apart.
func (e *emitter) stores(p *storing) (all []oneStore, owner llir.Value, err error) {
	elem, bits, err := memoryType(p.value.Type())
	if err != nil {
		return nil, nil, err
	}
	p.access.Elem = elem
	n := len(e.value(p.where))
	vals := spread(e.value(p.value), n)
	var masks []llir.Value
	if p.mask != nil {
		masks = spread(e.value(p.mask), n)
	}
	vec, l := 1, e.m.scalarLayout()
	if tensor, ok := p.where.Type().(*ir.TensorType); ok {
		if l, err = e.m.layoutOf(tensor); err != nil {
			return nil, nil, err
		}
		vec = p.width(l, bits)
	}
	owner = e.programOwner(l)
	within := owner
	if p.apart {
		within = nil
	}
	err = l.accesses(vec, func(r int) error {
		s := oneStore{p.access, make([]llir.Value, vec)}
		mask := pickReg(masks, r)
		if c, ok := llir.ConstInt(mask); ok {
			if c == 0 {
				return nil
			}
			mask = nil
		}
		s.Mask, s.Count = e.and(within, mask), vec
		p.place(&s.Access, r)
		for i := range s.vals {
			s.vals[i] = vals[r+i]
			if s.vals[i].Type() == llir.I1 {
				s.vals[i] = e.b.ZExt(s.vals[i], llir.I8)
			}
		}
		all = append(all, s)
		return nil
	})
	return all, owner, err
}

// scalarLayout is the layout of a scalar: every thread holds it.
func (m *module) scalarLayout() *tensorLayout {
	return &tensorLayout{regs: 1, freeThreads: uint64(m.warps*m.lanes) - 1, freeBlocks: uint64(m.ctas) - 1}
}

// addPtr adds offsets, in elements, to pointers. The offset is signed.
func (e *emitter) addPtr(op tt.AddPtrOp) error {
	pointee := tt.PointeeOf(op.Ptr().Type())
	if _, block := pointee.(*ir.TensorType); block || pointee == nil {
		return fmt.Errorf("block pointers must be rewritten to tensors of pointers first")
	}
	elem, _, err := memoryType(pointee)
	if err != nil {
		return err
	}
	if llir.IsPtr(elem) {
		elem = llir.I64 // of the same size
	}
	ptrs, offs := e.value(op.Ptr()), e.value(op.Offset())
	// Each sum of a pointer and an offset has a register. What there is less of is
	// added before a loop in which it does not change.
	add := e.b.GEP
	if distinct(offs, llir.SplitInt) <= distinct(ptrs, llir.SplitPtr) {
		add = e.b.GEPEarly
	}
	out := make([]llir.Value, len(ptrs))
	for r := range out {
		out[r] = add(elem, ptrs[r], e.b.Resize(offs[r], llir.I64, true))
	}
	e.set(op.Result(), out)
	return nil
}

// distinct counts values that differ in more than a constant.
func distinct(values []llir.Value, split func(llir.Value) (llir.Value, int64)) int {
	known := make(map[llir.Value]bool, len(values))
	for _, v := range values {
		base, _ := split(v)
		known[base] = true
	}
	return len(known)
}
