package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// index makes a number of type index.
func (c *converter) index(n int64) *ir.Value { return arith.Int(c.Builder, c.Context().Index(), n) }

// slot makes a sum: a number, or a value of type index.
func (c *converter) slot(p poly) linalg.Slot {
	if n, ok := p.constant(); ok {
		return linalg.Num(n)
	}
	var sum *ir.Value
	for _, t := range p {
		var product *ir.Value
		for _, f := range t.factors {
			v := c.bases[f]
			if v == nil {
				v = c.toIndex(c.value(f))
			}
			product = c.binary(arith.MulI, product, v)
		}
		if product == nil {
			product = c.index(t.n)
		} else if t.n != 1 {
			product = c.binary(arith.MulI, product, c.index(t.n))
		}
		sum = c.binary(arith.AddI, sum, product)
	}
	return linalg.Slot{Value: sum}
}

// binary makes an operation on two values, of which x may be nil: then it is y.
func (c *converter) binary(d *ir.OpDef, x, y *ir.Value) *ir.Value {
	if x == nil {
		return y
	}
	return arith.Binary(c.Builder, d, x, y)
}

func (c *converter) toIndex(v *ir.Value) *ir.Value {
	index := c.Context().Index()
	if v.Type() == ir.Type(index) {
		return v
	}
	return arith.Cast(c.Builder, arith.IndexCast, v, index)
}

// sum makes a sum as a value of type index.
func (c *converter) sum(p poly) *ir.Value { return c.filled(c.slot(p)) }

func (c *converter) filled(s linalg.Slot) *ir.Value {
	if s.Value == nil {
		return c.index(s.N)
	}
	return s.Value
}

// pointer converts what makes a pointer: nothing, where it has a form, as its accesses
// compute their addresses. It reports whether there is nothing more to do.
func (c *converter) pointer(op *ir.Operation) bool {
	v := op.OneResult()
	switch op.Def() {
	case scf.For, scf.If, scf.While:
		return false
	}
	if c.a.of(v) != nil {
		if op.Is(arith.Select) {
			v := arith.AsSelect(op)
			base := func(v *ir.Value) *ir.Value { return c.sum(c.a.of(v).base) }
			c.bases[v.Result()] = arith.NewSelect(c.Builder, c.value(v.Condition()), base(v.TrueValue()), base(v.FalseValue()))
		}
		return true
	}
	if c.a.rootOf(v) == nil {
		c.refuse(op, "an NPU copies blocks of the kernel's arguments", "it is not known which argument of the kernel this pointer points into")
	}
	if _, tensor := v.Type().(*ir.TensorType); !tensor {
		c.refuse(op, "select the offset in place of the pointer", "a scalar pointer that is chosen where its strides differ has no form for NPUs")
	}
	return true
}

// offsets are those of pointers from their root, as a tensor of i64.
func (c *converter) offsets(v *ir.Value) *ir.Value {
	if n, ok := c.values[v]; ok {
		return n
	}
	t := v.Type().(*ir.TensorType)
	i64 := c.Context().I64()
	if f := c.a.of(v); f != nil {
		return c.linear(f, t.Shape)
	}
	op := v.Def()
	switch op.Def() {
	case tt.AddPtr:
		off := c.value(tt.AsAddPtr(op).Offset())
		if ir.BitWidth(ir.ElemOf(off.Type())) < i64.Width {
			off = arith.Cast(c.Builder, arith.ExtSI, off, c.Context().WithElem(off.Type(), i64))
		}
		return arith.Binary(c.Builder, arith.AddI, c.offsets(tt.AsAddPtr(op).Ptr()), off)
	case arith.Select:
		v := arith.AsSelect(op)
		return arith.NewSelect(c.Builder, c.value(v.Condition()), c.offsets(v.TrueValue()), c.offsets(v.FalseValue()))
	case tt.Broadcast:
		return c.broadcast(c.offsets(op.OneOperand()), t.Shape)
	case tt.ExpandDims:
		return c.expandDims(c.offsets(op.OneOperand()), t.Shape)
	case tt.Trans:
		return c.transpose(c.offsets(op.OneOperand()), tt.AsTrans(op).Order())
	case tt.Bitcast:
		return c.offsets(op.OneOperand())
	case tt.Reshape:
		return linalg.NewReshape(c.Builder, c.offsets(op.OneOperand()), t.Shape)
	}
	panic("BUG: npu/adapter: no offsets of " + op.Name())
}

// linear makes a tensor of i64 of a form.
func (c *converter) linear(f *form, shape []int64) *ir.Value {
	i64 := c.Context().I64()
	base := c.sum(f.base)
	strides := make([]*ir.Value, len(shape))
	for i, p := range f.axes {
		if len(p) > 0 {
			strides[i] = c.sum(p)
		}
	}
	return c.generic(nil, shape, i64, func([]*ir.Value) *ir.Value {
		v := base
		for i, s := range strides {
			if s != nil {
				v = c.binary(arith.AddI, v, c.binary(arith.MulI, c.at(i), s))
			}
		}
		for _, w := range f.wraps {
			v = c.binary(arith.AddI, v, c.gained(w, c.at(w.axis)))
		}
		return arith.Cast(c.Builder, arith.IndexCast, v, i64)
	})
}

// at is the index of dimension i in the region of a generic.
func (c *converter) at(i int) *ir.Value {
	return c.Create(linalg.Index, ir.State{
		Attrs: []ir.NamedAttr{{Name: "dim", Attr: c.Context().I64Attr(int64(i))}}, Types: []ir.Type{c.Context().Index()},
	}).OneResult()
}

// generic makes a tensor by elements: compute gets those of ins.
func (c *converter) generic(ins []*ir.Value, shape []int64, elem ir.Type, compute func(ins []*ir.Value) *ir.Value) *ir.Value {
	op, body := linalg.NewGeneric(c.Builder, ins, []*ir.Value{linalg.NewEmpty(c.Builder, shape, elem)})
	p := c.Save()
	c.SetToEnd(body)
	c.Op(linalg.Yield, []*ir.Value{compute(body.Args()[:len(ins)])})
	c.Restore(p)
	return op.OneResult()
}

// part is the part of a block that a mask leaves.
type part struct{ offsets, sizes []linalg.Slot }

// part makes the part of a block; nil is all of it.
func (c *converter) part(m *ranges, shape []int64) *part {
	if m == nil || m.whole() {
		return nil
	}
	var when *ir.Value
	for _, cond := range m.when {
		v := cond.value
		if v != nil {
			v = c.value(v)
		} else {
			v = arith.Compare(c.Builder, arith.CmpI, cond.predicate, c.sum(cond.p), c.index(0))
		}
		when = c.binary(arith.AndI, when, v)
	}
	p := &part{offsets: make([]linalg.Slot, len(shape)), sizes: linalg.Nums(shape...)}
	for i, n := range shape {
		if m.unlimited(i) && (i > 0 || when == nil) {
			continue
		}
		lo, hi := c.bound(arith.MaxSI, m.lo[i], 0), c.bound(arith.MinSI, m.hi[i], n)
		if lo.Value == nil && lo.N >= n || hi.Value == nil && hi.N <= 0 {
			lo, hi = linalg.Num(0), linalg.Num(0) // nothing
		}
		if lo.Value != nil {
			lo.Value = arith.Binary(c.Builder, arith.MinSI, lo.Value, c.index(n))
		}
		if lo.Value == nil && lo.N == 0 {
			if hi.Value != nil {
				hi.Value = arith.Binary(c.Builder, arith.MaxSI, hi.Value, c.index(0))
			}
		} else {
			size := arith.Binary(c.Builder, arith.SubI, c.filled(hi), c.filled(lo))
			hi = linalg.Slot{Value: arith.Binary(c.Builder, arith.MaxSI, size, c.index(0))}
		}
		if i == 0 && when != nil {
			hi = linalg.Slot{Value: arith.NewSelect(c.Builder, when, c.filled(hi), c.index(0))}
		}
		p.offsets[i], p.sizes[i] = lo, hi
	}
	return p
}

// bound combines limits and n.
func (c *converter) bound(with *ir.OpDef, limits []limit, n int64) linalg.Slot {
	out := linalg.Num(n)
	for _, l := range limits {
		s := c.slot(l.p)
		if l.by != 1 {
			s = linalg.Slot{Value: arith.Binary(c.Builder, arith.CeilDivSI, c.filled(s), c.index(l.by))}
		}
		switch {
		case s.Value == nil && out.Value == nil && with == arith.MaxSI:
			out.N = max(out.N, s.N)
		case s.Value == nil && out.Value == nil:
			out.N = min(out.N, s.N)
		default:
			out = linalg.Slot{Value: arith.Binary(c.Builder, with, c.filled(s), c.filled(out))}
		}
	}
	return out
}

// blockAt is the memory of pointers that have a form without wraps, with this base.
func (c *converter) blockAt(f *form, base linalg.Slot, shape []int64) *ir.Value {
	strides := make([]linalg.Slot, len(shape))
	for i, p := range f.axes {
		strides[i] = c.slot(p)
	}
	return linalg.NewReinterpretCast(c.Builder, c.value(f.root), base, shape, strides)
}

// scalarOf is the scalar that all elements of a tensor are, made where the builder is; nil
// where they differ.
func (c *converter) scalarOf(v *ir.Value) *ir.Value {
	if v.DefIs(tt.Splat) {
		return c.value(v.Def().OneOperand())
	}
	a, ok := arith.ConstantValue(v).(*ir.DenseElementsAttr)
	if !ok || !a.IsSplat() {
		return nil
	}
	ctx := c.Context()
	switch t := ir.ElemOf(v.Type()).(type) {
	case *ir.FloatType:
		return arith.NewConstant(c.Builder, ctx.FloatBits(t, a.Values[0]))
	case *ir.IntegerType:
		return arith.NewConstant(c.Builder, ctx.IntAttr(t, int64(a.Values[0])))
	}
	return nil
}

func (c *converter) load(op *ir.Operation) {
	v := tt.AsLoad(op)
	t, tensor := op.OneResult().Type().(*ir.TensorType)
	f := c.a.block(v.Ptr())
	if !tensor {
		c.set(op, c.loadScalar(op, f))
		return
	}
	var m *ranges
	if v.Mask() != nil {
		m = c.a.ranges(v.Mask())
	}
	if f == nil || v.Mask() != nil && m == nil {
		c.set(op, c.gather(v, t))
		return
	}
	elem := c.stored(f.root)
	buffer := c.Op(linalg.Alloc, nil, (&linalg.MemRef{Shape: t.Shape, Elem: elem}).Type(c.Context())).OneResult()
	p := c.part(m, t.Shape)
	if p != nil {
		switch {
		case v.Other() == nil:
			if observed(op.OneResult(), v.Mask(), make(map[*ir.Value]bool)) {
				c.around(f, p, t.Shape, c.zero(elem), buffer)
			}
		case c.scalarOf(v.Other()) != nil:
			c.around(f, p, t.Shape, c.as(c.scalarOf(v.Other()), elem), buffer)
		default:
			linalg.NewMaterialize(c.Builder, c.as(c.value(v.Other()), elem), buffer)
		}
	}
	c.pieces(f, p, t.Shape, func(src *ir.Value, p *part) {
		dst := buffer
		if p != nil {
			src, dst = linalg.NewSubView(c.Builder, src, p.offsets, p.sizes), linalg.NewSubView(c.Builder, buffer, p.offsets, p.sizes)
		}
		c.Op(linalg.Copy, []*ir.Value{src, dst})
	})
	loaded := c.Create(linalg.ToTensor, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{c.Context().WithElem(t, elem)},
		Attrs: []ir.NamedAttr{{Name: "restrict", Attr: c.Context().Unit()}, {Name: "writable", Attr: c.Context().Unit()}},
	})
	c.set(op, c.as(loaded.OneResult(), t.Elem))
}

// around fills a buffer of which a part is loaded. Of a block in pieces that is left out
// where the part is all, which saves it in most iterations of a matmul's loop.
func (c *converter) around(f *form, p *part, shape []int64, value, buffer *ir.Value) {
	var rest *ir.Value
	if len(f.wraps) > 0 {
		for i, size := range p.sizes {
			if size.Value == nil && size.N == shape[i] {
				continue
			}
			less := arith.Compare(c.Builder, arith.CmpI, arith.NE, c.filled(size), c.index(shape[i]))
			if rest == nil {
				rest = less
			} else {
				rest = arith.Binary(c.Builder, arith.OrI, rest, less)
			}
		}
	}
	c.when(rest, func() { linalg.NewFill(c.Builder, value, buffer) })
}

// observed reports whether anything may depend on the elements of a tensor outside of a mask.
// What is computed of them element by element and stored under the same mask does not. Others
// are 0 where a load has no other, as kernels of GPUs expect and triton-ascend pads.
func observed(v, mask *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	for user := range v.Users() {
		dialect := user.Def().Dialect()
		switch {
		case user.Is(tt.Store):
			s := tt.AsStore(user)
			if s.Mask() != mask || s.Ptr() == v || s.Mask() == v {
				return true
			}
		case dialect == "arith" || dialect == "math" || user.Is(tt.FpToFp) || user.Is(tt.Bitcast) || user.Is(tt.PreciseSqrt) ||
			user.Is(tt.PreciseDivf) || user.Is(tt.Clampf) || user.Is(tt.ExternElementwise):
			for _, r := range user.Results() {
				if observed(r, mask, seen) {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// stored is the type of the elements of a root.
func (c *converter) stored(root *ir.Value) ir.Type {
	return linalg.MemRefOf(c.Context(), c.value(root).Type()).Elem
}

// as is a value, or a tensor, with its bits as those of another type.
func (c *converter) as(v *ir.Value, elem ir.Type) *ir.Value {
	if ir.ElemOf(v.Type()) == elem {
		return v
	}
	return arith.Cast(c.Builder, arith.Bitcast, v, c.Context().WithElem(v.Type(), elem))
}

// element makes a load of an element of a root, as one of type t.
func (c *converter) element(root, at *ir.Value, t ir.Type) *ir.Value {
	return c.as(c.Op(linalg.Load, []*ir.Value{c.value(root), at}).OneResult(), t)
}

func (c *converter) loadScalar(op *ir.Operation, f *form) *ir.Value {
	v := tt.AsLoad(op)
	t := op.OneResult().Type()
	if v.Mask() == nil {
		return c.element(f.root, c.sum(f.base), t)
	}
	return c.choose(c.value(v.Mask()), t, func() *ir.Value { return c.element(f.root, c.sum(f.base), t) }, func() *ir.Value {
		if v.Other() != nil {
			return c.value(v.Other())
		}
		return c.zero(t)
	})
}

// zero makes 0 of a scalar type.
func (c *converter) zero(t ir.Type) *ir.Value {
	if ir.IsFloat(t) {
		return arith.Float(c.Builder, t, 0)
	}
	return arith.Int(c.Builder, t, 0)
}

// choose makes an scf.if with a result.
func (c *converter) choose(cond *ir.Value, t ir.Type, yes, no func() *ir.Value) *ir.Value {
	op := scf.NewIf(c.Builder, cond, true, t)
	p := c.Save()
	for i, r := range op.Regions() {
		c.SetToEnd(r.First())
		scf.NewYield(c.Builder, []func() *ir.Value{yes, no}[i]())
	}
	c.Restore(p)
	return op.OneResult()
}

// when makes an scf.if without results; of a nil condition nothing around what body makes.
func (c *converter) when(cond *ir.Value, body func()) {
	if cond == nil {
		body()
		return
	}
	op := scf.NewIf(c.Builder, cond, false)
	p := c.Save()
	c.SetToEnd(scf.AsIf(op).ThenRegion().First())
	body()
	scf.NewYield(c.Builder)
	c.Restore(p)
}

// gather loads element by element.
func (c *converter) gather(v tt.LoadOp, t *ir.TensorType) *ir.Value {
	root := c.a.rootOf(v.Ptr())
	ins := []*ir.Value{c.offsets(v.Ptr())}
	var other *ir.Value // of all elements
	if v.Mask() != nil {
		ins = append(ins, c.value(v.Mask()))
		if v.Other() == nil {
			other = c.zero(t.Elem)
		} else if other = c.scalarOf(v.Other()); other == nil {
			ins = append(ins, c.value(v.Other()))
		}
	}
	return c.generic(ins, t.Shape, t.Elem, func(in []*ir.Value) *ir.Value {
		load := func() *ir.Value { return c.element(root, c.toIndex(in[0]), t.Elem) }
		if v.Mask() == nil {
			return load()
		}
		return c.choose(in[1], t.Elem, load, func() *ir.Value {
			if other != nil {
				return other
			}
			return in[2]
		})
	})
}

func (c *converter) store(op *ir.Operation) {
	v := tt.AsStore(op)
	t, tensor := v.Value().Type().(*ir.TensorType)
	f := c.a.block(v.Ptr())
	root := c.a.rootOf(v.Ptr())
	value := c.as(c.value(v.Value()), c.stored(root))
	if !tensor {
		var cond *ir.Value
		if v.Mask() != nil {
			cond = c.value(v.Mask())
		}
		c.when(cond, func() { c.Op(linalg.Store, []*ir.Value{value, c.value(f.root), c.sum(f.base)}) })
		return
	}
	var m *ranges
	if v.Mask() != nil {
		m = c.a.ranges(v.Mask())
	}
	if f == nil || v.Mask() != nil && m == nil {
		c.scatter(v, root, value, t)
		return
	}
	c.pieces(f, c.part(m, t.Shape), t.Shape, func(dst *ir.Value, p *part) {
		part := value
		if p != nil {
			part, dst = linalg.NewExtractSlice(c.Builder, value, p.offsets, p.sizes), linalg.NewSubView(c.Builder, dst, p.offsets, p.sizes)
		}
		linalg.NewMaterialize(c.Builder, part, dst)
	})
}

// scatter stores element by element, in the order of the indices.
func (c *converter) scatter(v tt.StoreOp, root, value *ir.Value, t *ir.TensorType) {
	offsets := c.offsets(v.Ptr())
	c.forEach(t.Shape, nil, func(at, _ []*ir.Value) []*ir.Value {
		var cond *ir.Value
		if v.Mask() != nil {
			cond = c.extract(c.value(v.Mask()), at)
		}
		c.when(cond, func() {
			c.Op(linalg.Store, []*ir.Value{c.extract(value, at), c.value(root), c.toIndex(c.extract(offsets, at))})
		})
		return nil
	})
}

// extract makes an element of a tensor.
func (c *converter) extract(v *ir.Value, at []*ir.Value) *ir.Value {
	return c.Op(linalg.Extract, append([]*ir.Value{v}, at...)).OneResult()
}

// forEach makes loops over all indices, which carry values. It returns the last ones.
func (c *converter) forEach(shape []int64, carried []*ir.Value, body func(at, carried []*ir.Value) []*ir.Value) []*ir.Value {
	return c.forEachAt(nil, linalg.Nums(shape...), carried, body)
}

func (c *converter) forEachAt(at []*ir.Value, sizes []linalg.Slot, carried []*ir.Value, body func(at, carried []*ir.Value) []*ir.Value) []*ir.Value {
	if len(sizes) == 0 {
		return body(at, carried)
	}
	op := scf.NewFor(c.Builder, c.index(0), c.filled(sizes[0]), c.index(1), carried...)
	p := c.Save()
	c.SetToEnd(op.Body())
	next := c.forEachAt(append(slices.Clone(at), scf.InductionVar(op)), sizes[1:], scf.IterArgs(op), body)
	scf.NewYield(c.Builder, next...)
	c.Restore(p)
	return op.Results()
}
