package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

func localHandlers(h map[*ir.OpDef]handler) {
	h[ttg.GlobalScratchAlloc] = (*emitter).globalScratchAlloc
	h[ttg.LocalAlloc] = on(ttg.AsLocalAlloc, (*emitter).localAlloc)
	h[ttg.LocalDealloc] = func(*emitter, *ir.Operation) error { return nil }
	h[ttg.LocalLoad] = on(ttg.AsLocalLoad, (*emitter).localLoad)
	h[ttg.LocalStore] = on(ttg.AsLocalStore, (*emitter).localStore)
	h[ttg.MemDescIndex] = on(ttg.AsMemDescIndex, (*emitter).memDescIndex)
	h[ttg.MemDescSubslice] = on(ttg.AsMemDescSubslice, (*emitter).memDescSubslice)
	h[ttg.MemDescTrans] = on(ttg.AsMemDescTrans, (*emitter).memDescTrans)
	h[ttg.MemDescReshape] = (*emitter).memDescView
	h[ttg.MemDescReinterpret] = (*emitter).memDescView
	h[ttg.AsyncCopy] = on(ttg.AsAsyncCopy, (*emitter).asyncCopy)
	h[ttg.AsyncCommitGroup] = (*emitter).asyncCommit
	h[ttg.AsyncWait] = on(ttg.AsAsyncWait, (*emitter).asyncWait)
}

// buffer is what a memory descriptor becomes: a place in shared memory, and
// which part of the arrangement there the descriptor shows.
type buffer struct {
	ptr llir.Value
	// offset is the coordinate of the part's first element in the whole.
	offset []int64
}

func memDesc(v *ir.Value) *ttg.MemDescType { return v.Type().(*ttg.MemDescType) }

// buffer returns the place of a descriptor. What comes through control flow is
// known to show a whole buffer.
func (e *emitter) buffer(v *ir.Value) *buffer {
	if b, ok := e.bufs[v]; ok {
		return b
	}
	return &buffer{ptr: e.scalar(v), offset: make([]int64, len(memDesc(v).Shape))}
}

// show gives a descriptor its place. A part of a buffer cannot go through control
// flow, where only the pointer goes.
func (e *emitter) show(v *ir.Value, b *buffer) error {
	e.bufs[v] = b
	if slices.IndexFunc(b.offset, func(o int64) bool { return o != 0 }) < 0 {
		e.set(v, []llir.Value{b.ptr})
		return nil
	}
	for u := range v.Users() {
		if u.IsTerminator() || u.NumRegions() > 0 || u.Is(tt.Call) {
			return fmt.Errorf("a part of a buffer cannot be passed through control flow or to a function")
		}
	}
	return nil
}

func (e *emitter) localAlloc(op ttg.LocalAllocOp) error {
	v := op.Result()
	if err := e.show(v, &buffer{ptr: e.sharedAt(e.m.alloc.Offset(op.Op)), offset: make([]int64, len(memDesc(v).Shape))}); err != nil {
		return err
	}
	if op.Src() == nil {
		return nil
	}
	return e.storeBuffer(op.Src(), v)
}

func (e *emitter) localStore(op ttg.LocalStoreOp) error {
	return e.storeBuffer(op.Src(), op.Dst())
}

func (e *emitter) storeBuffer(src, dst *ir.Value) error {
	buf := e.buffer(dst)
	p, err := e.m.planShared(src.Type().(*ir.TensorType), memDesc(dst), buf.offset)
	if err != nil {
		return err
	}
	in := e.value(src)
	if in[0].Type() == p.elem && e.storeTiles(p, buf.ptr, in) {
		return nil
	}
	owner := e.firstReplica(p.tensor)
	e.sharedAccesses(p, buf.ptr, 0, func(a *Access, regs []int) {
		vals := make([]llir.Value, len(regs))
		for i, r := range regs {
			if vals[i] = in[r]; vals[i].Type() == llir.I1 {
				vals[i] = e.b.ZExt(vals[i], llir.I8)
			}
		}
		a.Elem, a.Mask = p.elem, owner
		e.m.caps.Memory.StoreShared(e.b, a, vals)
	})
	return nil
}

func (e *emitter) localLoad(op ttg.LocalLoadOp) error {
	out, err := e.loadBuffer(op.Src(), op.Result().Type().(*ir.TensorType))
	if err != nil {
		return err
	}
	e.set(op.Result(), out)
	return nil
}

// loadBuffer reads a buffer as a tensor of type t.
func (e *emitter) loadBuffer(src *ir.Value, t *ir.TensorType) ([]llir.Value, error) {
	buf := e.buffer(src)
	p, err := e.m.planShared(t, memDesc(src), buf.offset)
	if err != nil {
		return nil, err
	}
	out, ok := e.loadTiles(p, buf.ptr)
	if !ok {
		out = make([]llir.Value, p.tensor.regs)
		// The order of many loads is the assembler's to keep or change. Where each
		// address came long before its last use, it took a third longer, and more
		// registers.
		p.sideBySide = true
		e.sharedAccesses(p, buf.ptr, 0, func(a *Access, regs []int) {
			a.Elem = p.elem
			for i, v := range e.m.caps.Memory.LoadShared(e.b, a) {
				out[regs[i]] = v
			}
		})
	}
	e.loaded(p.tensor, out, ir.IsInt(t.Elem, 1))
	return out, nil
}

// loaded completes registers of which one of each set of replicas was read from
// shared memory; predicates lie there as bytes.
func (e *emitter) loaded(l *tensorLayout, regs []llir.Value, predicates bool) {
	for r, v := range regs {
		if c := l.canonical(r); c != r {
			regs[r] = regs[c]
		} else if predicates {
			regs[r] = e.b.ICmp(ipredNE, v, e.m.llvm.Zero(v.Type()))
		}
	}
}

// memDescIndex moves to one buffer of an array. The buffers lie one after another, each in
// its own layout, which is the array's unless the array's counts the buffers, too.
func (e *emitter) memDescIndex(op ttg.MemDescIndexOp) error {
	buf := e.buffer(op.Src())
	t := memDesc(op.Src())
	encoded := memDesc(op.Result()).Encoding
	pad := padding(t.Encoding)
	if encoded != t.Encoding && (pad != nil || padding(encoded) != nil) {
		return fmt.Errorf("a buffer of an array cannot be in another layout than the array where one of them is padded")
	}
	_, bits, err := memoryType(t.Elem)
	if err != nil {
		return err
	}
	stride := int64(bits / 8)
	for _, d := range t.AllocShape[len(t.AllocShape)-len(t.Shape)+1:] {
		stride *= d
	}
	stride /= int64(allocation.Parts(t))
	rank := len(t.Shape) - 1
	room := roomFor(t.Encoding, rank, stride)
	if stride = roomFor(encoded, rank, stride); stride > room {
		return fmt.Errorf("a buffer of %s cannot be in an array that has %s for each", diag.Count(int(stride), "byte"), diag.Count(int(room), "byte"))
	}
	first := e.b.Add(e.scalar(op.Index()), e.m.llvm.I32(int(buf.offset[0])))
	index := e.b.Mul(first, e.m.llvm.I32(int(stride)))
	if pad != nil {
		index = e.padded(&sharedPlan{size: bits / 8, padding: pad}, index)
	}
	return e.show(op.Result(), &buffer{ptr: e.b.GEP(llir.I8, buf.ptr, index), offset: buf.offset[1:]})
}

// roomFor is how many bytes a buffer takes that has so many bytes of elements, in a layout
// of its rank; one of more counts the buffers, too.
func roomFor(enc ir.Attribute, rank int, bytes int64) int64 {
	a, ok := enc.(*encoding.Attr)
	if !ok {
		return bytes
	}
	l, ok := a.Layout.(layout.Shared)
	if _, padded := a.Layout.(*layout.PaddedShared); !ok || padded || l.Rank() > rank {
		return bytes
	}
	return int64(allocation.Stride(l, int(bytes)))
}

// padding is a padded layout, nil for any other.
func padding(enc ir.Attribute) *layout.PaddedShared {
	a, ok := enc.(*encoding.Attr)
	if !ok {
		return nil
	}
	pad, _ := a.Layout.(*layout.PaddedShared)
	return pad
}

func (e *emitter) memDescSubslice(op ttg.MemDescSubsliceOp) error {
	buf := e.buffer(op.Src())
	if len(op.Offsets()) != len(buf.offset) {
		return fmt.Errorf("the offsets do not fit the buffer")
	}
	if src, part := memDesc(op.Src()), memDesc(op.Result()); !slices.Equal(src.AllocShape, part.AllocShape) {
		return fmt.Errorf("a part of a buffer that was allocated as %v must say so, not %v", src.AllocShape, part.AllocShape)
	}
	part := &buffer{ptr: buf.ptr, offset: make([]int64, len(buf.offset))}
	for d, o := range op.Offsets() {
		part.offset[d] = buf.offset[d] + o
	}
	return e.show(op.Result(), part)
}

func (e *emitter) memDescTrans(op ttg.MemDescTransOp) error {
	buf := e.buffer(op.Src())
	if len(op.Order()) != len(buf.offset) {
		return fmt.Errorf("the order does not fit the buffer")
	}
	view := &buffer{ptr: buf.ptr, offset: make([]int64, len(buf.offset))}
	for i, d := range op.Order() {
		view.offset[i] = buf.offset[d]
	}
	return e.show(op.Result(), view)
}

// memDescView shows a whole buffer in another shape or type.
func (e *emitter) memDescView(op *ir.Operation) error {
	buf := e.buffer(ttg.Viewed(op))
	for _, o := range buf.offset {
		if o != 0 {
			return fmt.Errorf("a part of a buffer cannot be seen in another shape or type")
		}
	}
	return e.show(op.OneResult(), &buffer{ptr: buf.ptr, offset: make([]int64, len(memDesc(op.OneResult()).Shape))})
}

// largeWords is how many registers of 32 bits a tensor has that leaves few to others.
const largeWords = 128

// loadsLarge reports whether a large tensor is loaded from shared memory.
func (m *module) loadsLarge(mod *ir.Operation) bool {
	return ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		if t, ok := localLoaded(op).(*ir.TensorType); ok {
			if n, err := m.regsOf(t); err == nil && n*ir.BitWidth(t.Elem) >= 32*largeWords {
				return ir.Stop
			}
		}
		return ir.Advance
	})
}

// localLoaded is the type of what op loads from shared memory; nil if it does not.
func localLoaded(op *ir.Operation) ir.Type {
	if !op.Is(ttg.LocalLoad) {
		return nil
	}
	return op.OneResult().Type()
}
