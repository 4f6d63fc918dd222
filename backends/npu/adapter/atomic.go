package adapter

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// atomicKinds are memref's names of the operations of tt.atomic_rmw, of which exch may
// be on floats.
var atomicKinds = map[int64]string{
	tt.RMWAnd: "andi", tt.RMWOr: "ori", tt.RMWXor: "xori", tt.RMWAdd: "addi", tt.RMWFAdd: "addf", tt.RMWMax: "maxs", tt.RMWMin: "mins",
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

// atomicRMW changes an element, or all those of a tensor one by one.
func (c *converter) atomicRMW(op *ir.Operation) {
	v := tt.AsAtomicRMW(op)
	kind := v.AtomicRmwOp()
	c.atomic(op, v.Ptr(), v.Mask(), func(root, at *ir.Value, element func(*ir.Value) *ir.Value) *ir.Value {
		val := element(v.Val())
		stored := linalg.MemRefOf(c.Context(), root.Type()).Elem
		if kind != tt.RMWExch && stored != val.Type() {
			return c.change(op, root, at, val.Type(), func(old *ir.Value) *ir.Value { return arith.Binary(c.Builder, combiners[kind], old, val) })
		}
		attr := c.Context().I64Attr(atomicKind(atomicKinds[kind]))
		return c.as(c.Create(linalg.AtomicRMW, ir.State{
			Operands: []*ir.Value{c.as(val, stored), root, at}, Attrs: []ir.NamedAttr{{Name: "kind", Attr: attr}},
		}).OneResult(), val.Type())
	})
}

func (c *converter) atomicCAS(op *ir.Operation) {
	v := tt.AsAtomicCAS(op)
	c.atomic(op, v.Ptr(), nil, func(root, at *ir.Value, element func(*ir.Value) *ir.Value) *ir.Value {
		want, val := element(v.Cmp()), element(v.Val())
		return c.change(op, root, at, val.Type(), func(old *ir.Value) *ir.Value {
			bits := c.Context().Int(ir.BitWidth(val.Type()))
			same := arith.Compare(c.Builder, arith.CmpI, arith.EQ, c.as(old, bits), c.as(want, bits))
			return arith.NewSelect(c.Builder, same, val, old)
		})
	})
}

// change makes a change of an element of memory, as one of type t, by any computation.
func (c *converter) change(op *ir.Operation, root, at *ir.Value, t ir.Type, compute func(old *ir.Value) *ir.Value) *ir.Value {
	n := c.Create(linalg.GenericAtomicRMW, ir.State{Operands: []*ir.Value{root, at}, Regions: 1})
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

// atomic converts an atomic operation: change makes that of one element, and gets its
// operands by element.
func (c *converter) atomic(op *ir.Operation, ptr, mask *ir.Value, change func(root, at *ir.Value, element func(*ir.Value) *ir.Value) *ir.Value) {
	root := c.value(c.a.rootOf(ptr))
	t, tensor := op.OneResult().Type().(*ir.TensorType)
	if !tensor {
		one := func() *ir.Value { return change(root, c.sum(c.a.of(ptr).base), c.value) }
		switch {
		case mask == nil:
			c.set(op, one())
		case op.HasUses():
			c.set(op, c.choose(c.value(mask), op.OneResult().Type(), one, func() *ir.Value { return c.zero(op.OneResult().Type()) }))
		default:
			c.when(c.value(mask), func() { one() })
		}
		return
	}
	offsets := c.offsets(ptr)
	var carried []*ir.Value
	if op.HasUses() {
		carried = []*ir.Value{linalg.NewSplat(c.Builder, c.zero(t.Elem), t.Shape)}
	}
	results := c.forEach(t.Shape, carried, func(at, old []*ir.Value) []*ir.Value {
		one := func() *ir.Value {
			return change(root, c.toIndex(c.extract(offsets, at)), func(v *ir.Value) *ir.Value { return c.extract(c.value(v), at) })
		}
		if len(old) == 0 {
			var cond *ir.Value
			if mask != nil {
				cond = c.extract(c.value(mask), at)
			}
			c.when(cond, func() { one() })
			return nil
		}
		put := func() *ir.Value { return c.Op(linalg.Insert, append([]*ir.Value{one(), old[0]}, at...)).OneResult() }
		if mask == nil {
			return []*ir.Value{put()}
		}
		return []*ir.Value{c.choose(c.extract(c.value(mask), at), t, put, func() *ir.Value { return old[0] })}
	})
	if len(results) > 0 {
		c.set(op, results[0])
	}
}
