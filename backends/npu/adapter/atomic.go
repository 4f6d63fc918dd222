package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// atomicKinds are memref's names of the operations of tt.atomic_rmw, of which exch may
// be on floats. MLIR 19 has none for xor.
var atomicKinds = map[int64]string{
	tt.RMWAnd: "andi", tt.RMWOr: "ori", tt.RMWAdd: "addi", tt.RMWFAdd: "addf", tt.RMWMax: "maxs", tt.RMWMin: "mins",
	tt.RMWUMax: "maxu", tt.RMWUMin: "minu", tt.RMWExch: "assign",
}

func atomicKind(word string) int64 {
	for _, k := range linalg.AtomicKinds {
		if k.Keyword == word {
			return k.Value
		}
	}
	panic("BUG: npu/adapter: no atomic operation " + word)
}

// combiners compute what atomic operations do, where the elements in memory are of
// another type.
var combiners = map[int64]*ir.OpDef{
	tt.RMWAnd: arith.AndI, tt.RMWOr: arith.OrI, tt.RMWXor: arith.XorI, tt.RMWAdd: arith.AddI, tt.RMWFAdd: arith.AddF,
	tt.RMWMax: arith.MaxSI, tt.RMWMin: arith.MinSI, tt.RMWUMax: arith.MaxUI, tt.RMWUMin: arith.MinUI,
}

// atomicRMW changes an element, or those of a tensor one by one.
func (c *converter) atomicRMW(op *ir.Operation) {
	v := tt.AsAtomicRMW(op)
	kind := v.AtomicRmwOp()
	word, combiner := atomicKinds[kind], combiners[kind]
	if ir.IsFloat(ir.ElemOf(v.Val().Type())) {
		switch kind { // of a descriptor's reduction, which gives the operand that is a number
		case tt.RMWMax:
			word, combiner = "maxnumf", arith.MaxNumF
		case tt.RMWMin:
			word, combiner = "minnumf", arith.MinNumF
		}
	}
	at := &access{op: op, ptr: v.Ptr(), mask: v.Mask(), result: op.OneResult().Type(), used: op.HasUses()}
	change := func(memory *ir.Value, at []*ir.Value, element func(*ir.Value) *ir.Value) *ir.Value {
		val := element(c.value(v.Val()))
		stored := linalg.MemRefOf(c.Context(), memory.Type()).Elem
		if kind == tt.RMWXor || kind != tt.RMWExch && stored != val.Type() {
			return c.change(op, memory, at, val.Type(), func(old *ir.Value) *ir.Value { return arith.Binary(c.Builder, combiner, old, val) })
		}
		return c.as(c.rmw(word, c.as(val, stored), memory, at), val.Type())
	}
	if pair := c.pairs[op]; pair != nil {
		if op == pair.first {
			return // the second has the operands of both
		}
		at.mask, at.used = pair.mask, pair.first.HasUses() || op.HasUses()
		at.result = pair.value.Type()
		change = func(memory *ir.Value, at []*ir.Value, element func(*ir.Value) *ir.Value) *ir.Value {
			return c.rmw(pair.kind, element(c.value(pair.value)), memory, at)
		}
		if old := c.atomic(at, change); old != nil {
			bits := c.as(old, ir.ElemOf(op.OneResult().Type()))
			c.set(pair.first, bits)
			c.set(op, bits)
		}
		return
	}
	if old := c.atomic(at, change); old != nil {
		c.set(op, old)
	}
}

// rmw makes an atomic operation of memref on an element; it gives the old one.
func (c *converter) rmw(kind string, val, memory *ir.Value, at []*ir.Value) *ir.Value {
	return c.Create(linalg.AtomicRMW, ir.State{
		Operands: append([]*ir.Value{val, memory}, at...), Attrs: []ir.NamedAttr{{Name: "kind", Attr: c.Context().I64Attr(atomicKind(kind))}},
	}).OneResult()
}

func (c *converter) atomicCAS(op *ir.Operation) {
	v := tt.AsAtomicCAS(op)
	at := &access{op: op, ptr: v.Ptr(), result: op.OneResult().Type(), used: op.HasUses()}
	old := c.atomic(at, func(memory *ir.Value, at []*ir.Value, element func(*ir.Value) *ir.Value) *ir.Value {
		want, val := element(c.value(v.Cmp())), element(c.value(v.Val()))
		return c.change(op, memory, at, val.Type(), func(old *ir.Value) *ir.Value {
			bits := c.Context().Int(ir.BitWidth(val.Type()))
			same := arith.Compare(c.Builder, arith.CmpI, arith.EQ, c.as(old, bits), c.as(want, bits))
			return arith.NewSelect(c.Builder, same, val, old)
		})
	})
	if old != nil {
		c.set(op, old)
	}
}

// change makes a change of an element of memory, as one of type t, by any computation.
func (c *converter) change(op *ir.Operation, memory *ir.Value, at []*ir.Value, t ir.Type, compute func(old *ir.Value) *ir.Value) *ir.Value {
	n := c.Create(linalg.GenericAtomicRMW, ir.State{Operands: append([]*ir.Value{memory}, at...), Regions: 1})
	stored := n.OneResult().Type()
	body := linalg.AsGenericAtomicRMW(n).AtomicBody().AddBlock()
	old := body.AddArg(stored, op.Loc())
	p := c.Save()
	c.SetToEnd(body)
	c.Op(linalg.AtomicYield, []*ir.Value{c.as(compute(c.as(old, t)), stored)})
	c.Restore(p)
	return c.as(n.OneResult(), t)
}

// accessed are the pointers of an atomic operation.
func accessed(op *ir.Operation) *ir.Value {
	if op.Is(tt.AtomicCAS) {
		return tt.AsAtomicCAS(op).Ptr()
	}
	return tt.AsAtomicRMW(op).Ptr()
}

// access is an atomic operation: where it is, and what becomes of the old values.
type access struct {
	op        *ir.Operation
	ptr, mask *ir.Value
	result    ir.Type // of the old values
	used      bool    // whether anything reads them
}

// changer makes the change of one element, at an index of memory; element gives that of a
// converted operand.
type changer func(memory *ir.Value, at []*ir.Value, element func(*ir.Value) *ir.Value) *ir.Value

// atomic converts an atomic operation. It returns the old values, or nil.
func (c *converter) atomic(a *access, change changer) *ir.Value {
	root := c.value(c.a.rootOf(a.ptr))
	f := c.a.block(a.ptr)
	t, tensor := a.result.(*ir.TensorType)
	if !tensor {
		one := func() *ir.Value {
			return change(root, []*ir.Value{c.sum(f.base)}, func(v *ir.Value) *ir.Value { return v })
		}
		switch {
		case a.mask == nil:
			return one()
		case a.used:
			return c.choose(c.value(a.mask), a.result, one, func() *ir.Value { return c.zero(a.result) })
		}
		c.when(c.value(a.mask), func() { one() })
		return nil
	}
	if !a.used && f != nil {
		if m := c.a.rangesOf(a.mask, t.Shape); m != nil {
			c.atomicBlock(f, m, t.Shape, change)
			return nil
		}
	}
	offsets := c.offsets(a.ptr)
	var carried []*ir.Value
	if a.used {
		carried = []*ir.Value{linalg.NewSplat(c.Builder, c.zero(t.Elem), t.Shape)}
	}
	results := c.forEach(t.Shape, carried, func(at, old []*ir.Value) []*ir.Value {
		one := func() *ir.Value {
			return change(root, []*ir.Value{c.toIndex(c.extract(offsets, at))}, func(v *ir.Value) *ir.Value { return c.extract(v, at) })
		}
		if len(old) == 0 {
			var cond *ir.Value
			if a.mask != nil {
				cond = c.extract(c.value(a.mask), at)
			}
			c.when(cond, func() { one() })
			return nil
		}
		put := func() *ir.Value { return c.Op(linalg.Insert, append([]*ir.Value{one(), old[0]}, at...)).OneResult() }
		if a.mask == nil {
			return []*ir.Value{put()}
		}
		return []*ir.Value{c.choose(c.extract(c.value(a.mask), at), t, put, func() *ir.Value { return old[0] })}
	})
	if len(results) == 0 {
		return nil
	}
	return results[0]
}

// atomicBlock changes a block of memory: the loops' indices are those of the block and of
// the tensors, so that a machine whose transfers can add needs no loops.
func (c *converter) atomicBlock(f *form, m *ranges, shape []int64, change changer) {
	c.pieces(f, c.part(m, shape), shape, func(dst *ir.Value, p *part) {
		sizes := linalg.Nums(shape...)
		if p != nil {
			dst, sizes = linalg.NewSubView(c.Builder, dst, p.offsets, p.sizes), p.sizes
		}
		c.forEachAt(nil, sizes, nil, func(at, _ []*ir.Value) []*ir.Value {
			change(dst, at, func(v *ir.Value) *ir.Value {
				if p == nil {
					return c.extract(v, at)
				}
				return c.extract(v, c.shifted(at, p.offsets))
			})
			return nil
		})
	})
}

// shifted are indices plus offsets.
func (c *converter) shifted(at []*ir.Value, by []linalg.Slot) []*ir.Value {
	out := slices.Clone(at)
	for i, s := range by {
		if s.Value != nil || s.N != 0 {
			out[i] = c.binary(arith.AddI, at[i], c.filled(s))
		}
	}
	return out
}
