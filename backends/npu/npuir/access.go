package npuir

import (
	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// access is what a pipe reads or writes of a memory.
type access struct {
	pipe   Pipe
	base   *ir.Value // global memory that begins at an argument of the kernel; nil elsewhere
	space  Space     // where base is nil; Global is the workspace
	lo, hi int64     // bytes, where base is nil
	write  bool
}

// conflicts reports whether the order of two accesses matters. Arguments of a kernel are
// taken for different memory, and a core accesses its own memories in blocks of 32 bytes.
func (a access) conflicts(b access) bool {
	if !a.write && !b.write || a.base != b.base {
		return false
	}
	if a.base == nil && a.space != Global {
		a, b = a.blocks(), b.blocks()
	}
	return a.base != nil || a.space == b.space && a.lo < b.hi && b.lo < a.hi
}

// blocks is an access to all of the blocks of which it accesses a part.
func (a access) blocks() access {
	const size = chip.AlignUB
	a.lo, a.hi = a.lo/size*size, (a.hi+size-1)/size*size
	return a
}

// accessesOf are those of an operation and of all in its regions, if buffers have their
// offsets.
func accessesOf(op *ir.Operation) []access {
	var out []access
	ir.Walk(op, func(op *ir.Operation) ir.WalkResult {
		reads, writes := touched(op)
		p := PipeOf(op)
		for i, vs := range [][]*ir.Value{reads, writes} {
			for _, v := range vs {
				if a, ok := extent(v); ok {
					a.pipe, a.write = p, i == 1
					out = append(out, a)
				}
			}
		}
		return ir.Advance
	})
	return out
}

// touched are the values among which are the memories that an operation reads and writes.
func touched(op *ir.Operation) (reads, writes []*ir.Value) {
	all := op.OperandValues()
	last := len(all) - 1
	switch op.Def() {
	case Fill, Iota, Vector, Broadcast, Transpose:
		return all[:last], all[last:]
	case DMA:
		v := AsDMA(op)
		if v.Atomic() != "" {
			return all, all[last:]
		}
		return all[:last], all[last:]
	case Reduce, MMAD:
		return all, all[last:]
	case Gather:
		return all, []*ir.Value{AsGather(op).Target()}
	case Scatter:
		return all, []*ir.Value{AsScatter(op).Target()}
	case linalg.Load:
		return []*ir.Value{linalg.AsLoad(op).Memref()}, nil
	case linalg.Store:
		return nil, []*ir.Value{linalg.AsStore(op).Memref()}
	case linalg.AtomicRMW:
		v := linalg.AsAtomicRMW(op).Memref()
		return nil, []*ir.Value{v}
	case linalg.GenericAtomicRMW:
		v := linalg.AsGenericAtomicRMW(op).Memref()
		return nil, []*ir.Value{v}
	}
	return nil, nil
}

// extent is where a value's memory is; ok is false for other values.
func extent(v *ir.Value) (a access, ok bool) {
	ctx := v.Block().Parent().Context()
	m := linalg.MemRefOf(ctx, v.Type())
	if m == nil {
		return a, false
	}
	op := v.Def()
	if op == nil {
		return access{base: v}, true
	}
	width := int64(widthOf(m.Elem)+7) / 8
	switch op.Def() {
	case linalg.Alloc, Workspace:
		a.space, _ = SpaceOf(ctx, v.Type())
		a.lo, _ = op.IntAttr(OffsetAttr)
		a.hi = a.lo + width
		for _, n := range m.Shape {
			a.hi += (a.hi - a.lo) * (n - 1)
		}
		return a, true
	case linalg.SubView:
		a, ok = extent(linalg.AsSubView(op).Source())
	case linalg.ReinterpretCast:
		a, ok = extent(linalg.AsReinterpretCast(op).Source())
	}
	if !ok || a.base != nil || m.Offset == linalg.Dynamic {
		return a, ok
	}
	begin, _ := extent(origin(v))
	a.lo = begin.lo + m.Offset*width
	end := a.lo + width
	strides := m.Strides
	if strides == nil {
		strides = rowMajor(m.Shape)
	}
	for i, n := range m.Shape {
		if n == linalg.Dynamic || strides[i] == linalg.Dynamic {
			return a, true // to the end of what it is a part of
		}
		end += (n - 1) * strides[i] * width
	}
	a.hi = end
	return a, true
}

// origin is the buffer that a view is of.
func origin(v *ir.Value) *ir.Value {
	for op := v.Def(); op != nil; op = v.Def() {
		switch op.Def() {
		case linalg.SubView:
			v = linalg.AsSubView(op).Source()
		case linalg.ReinterpretCast:
			v = linalg.AsReinterpretCast(op).Source()
		default:
			return v
		}
	}
	return v
}
