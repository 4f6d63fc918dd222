package lang

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

const atomicParams = "pointer val mask=None sem=None scope=None"

// atomics: read-modify-write of memory. Each gives the value from before.
var atomics = []*Builtin{
	{Name: "atomic_add", Params: atomicParams, Member: true, Fn: func(e *Emitter, a *Args) any {
		x := e.atomicArgs(a, "add")
		if dtypeOf(x.val.T).IsFloat() {
			return e.rmw(tt.RMWFAdd, x)
		}
		return e.rmw(tt.RMWAdd, x)
	}},
	{Name: "atomic_and", Params: atomicParams, Member: true, Fn: atomicBits("and", tt.RMWAnd)},
	{Name: "atomic_or", Params: atomicParams, Member: true, Fn: atomicBits("or", tt.RMWOr)},
	{Name: "atomic_xor", Params: atomicParams, Member: true, Fn: atomicBits("xor", tt.RMWXor)},
	{Name: "atomic_xchg", Params: atomicParams, Member: true, Fn: func(e *Emitter, a *Args) any {
		return e.rmw(tt.RMWExch, e.atomicArgs(a, "xchg"))
	}},
	{Name: "atomic_max", Params: atomicParams, Member: true, Fn: atomicExtreme("max", tt.RMWMax, tt.RMWUMax, tt.RMWUMin)},
	{Name: "atomic_min", Params: atomicParams, Member: true, Fn: atomicExtreme("min", tt.RMWMin, tt.RMWUMin, tt.RMWUMax)},
	{Name: "atomic_cas", Params: "pointer cmp val sem=None scope=None", Member: true, Fn: atomicCAS},
}

var (
	semantics = []choice{
		{"", tt.SemAcqRel}, {"acquire", tt.SemAcquire}, {"release", tt.SemRelease}, {"acq_rel", tt.SemAcqRel}, {"relaxed", tt.SemRelaxed},
	}
	scopes = []choice{{"", tt.ScopeGPU}, {"gpu", tt.ScopeGPU}, {"cta", tt.ScopeCTA}, {"sys", tt.ScopeSystem}}
)

// atomic is one read-modify-write, checked and brought to shape.
type atomic struct {
	ptr, val, mask *Tensor
	sem, scope     int64
}

func (e *Emitter) atomicArgs(a *Args, name string) *atomic {
	if m := a.vals[2]; IsScalarNumber(m) {
		eval.FailHelp("leave the mask out, or make a tensor of it: mask = True on a line of its own", "'%s' object has no attribute 'type'", eval.TypeName(m))
	}
	x := &atomic{ptr: a.tensor(0), val: a.tensor(1), mask: a.optTensor(2)}
	x.sem = a.pick(3, semantics, errSemantic)
	x.scope = a.pick(4, scopes, errSemantic)
	p := pointerOf(x.ptr.T)
	if p == nil || isBlockPointer(x.ptr) != nil {
		eval.Fail(errAtomicPtr, x.ptr.T)
	}
	if p.Const {
		eval.Fail(errConstStore)
	}
	elem, ok := p.Elem.(*DType)
	half := elem == Float16 || elem == BF16
	if !ok || half && name != "add" || elem == Int16 || elem == UInt16 || elem.bits < 16 {
		eval.Fail(errAtomicType, name, p.Elem)
	}
	if x.ptr.IsBlock() {
		shape := x.ptr.Shape()
		if x.mask != nil {
			x.mask = e.BroadcastShape(x.mask, shape)
		}
		x.val = e.BroadcastShape(x.val, shape)
	} else {
		scalarOnly("Value", x.val)
		scalarOnly("Mask", x.mask)
	}
	x.val = e.Cast(x.val, elem)
	checkMask(x.mask)
	if x.mask == nil {
		x.mask = e.Constant(true, WithShape(Int1, x.ptr.Shape()))
	}
	return x
}

func (e *Emitter) rmw(op int64, x *atomic) *Tensor {
	o := e.B.Create(tt.AtomicRMW, ir.State{
		Operands: []*ir.Value{x.ptr.V, x.val.V, x.mask.V},
		Attrs: []ir.NamedAttr{
			{Name: "atomic_rmw_op", Attr: e.C.I32Attr(op)},
			{Name: "scope", Attr: e.C.I32Attr(x.scope)},
			{Name: "sem", Attr: e.C.I32Attr(x.sem)},
		},
	})
	return e.tensor(o.OneResult(), x.val.T)
}

func atomicBits(name string, op int64) func(*Emitter, *Args) any {
	return func(e *Emitter, a *Args) any {
		return e.rmw(op, e.atomicArgs(a, name)) // of floats, on their bits
	}
}

// atomicExtreme is max or min. On floats it is done on their bits: those of
// non-negative values are ordered as signed integers, those of negative ones
// the other way round as unsigned integers.
func atomicExtreme(name string, signed, unsigned, negative int64) func(*Emitter, *Args) any {
	return func(e *Emitter, a *Args) any {
		x := e.atomicArgs(a, name)
		d := dtypeOf(x.val.T)
		switch {
		case d.IsSigned():
			return e.rmw(signed, x)
		case d.IsInt():
			return e.rmw(unsigned, x)
		case d != Float32 && d != Float64:
			eval.Fail(errAtomicFloat, "atomic_"+name, d)
		}
		it := Int32
		if d == Float64 {
			it = Int64
		}
		val := e.Bitcast(x.val, it)
		ptr := e.Bitcast(x.ptr, &Pointer{Elem: it, Space: pointerOf(x.ptr.T).Space})
		neg := e.signBit(x.val)
		pos := e.Not(neg)
		up := *x
		up.ptr, up.val, up.mask = ptr, val, e.bitwise(arith.AndI, x.mask, pos)
		a1 := e.rmw(signed, &up)
		down := up
		down.mask = e.bitwise(arith.AndI, x.mask, neg)
		a2 := e.rmw(negative, &down)
		return e.Bitcast(e.Select(pos, a1, a2), d)
	}
}

func atomicCAS(e *Emitter, a *Args) any {
	ptr, cmp, val := a.tensor(0), a.tensor(1), a.tensor(2)
	sem, scope := a.pick(3, semantics, errSemantic), a.pick(4, scopes, errSemantic)
	p := pointerOf(ptr.T)
	if p == nil || isBlockPointer(ptr) != nil {
		eval.Fail(errAtomicPtr, ptr.T)
	}
	if p.Const {
		eval.Fail(errConstStore)
	}
	elem, ok := p.Elem.(*DType)
	if !ok || elem.bits != 16 && elem.bits != 32 && elem.bits != 64 {
		eval.Fail(errCASWidth)
	}
	for _, x := range []struct {
		name string
		v    *Tensor
	}{{"cmp", cmp}, {"val", val}} {
		if x.v.V.Type() != WithShape(elem, ptr.Shape()).IR(e.C) {
			help := "convert it with .to(pointer.dtype.element_ty)"
			if !sameShape(x.v.Shape(), ptr.Shape()) {
				help = "give it the pointer's shape, with tl.full or tl.broadcast_to"
			}
			eval.FailHelp(help, errCASType, x.name, WithShape(p.Elem, ptr.Shape()), x.v.T)
		}
	}
	o := e.B.Create(tt.AtomicCAS, ir.State{
		Operands: []*ir.Value{ptr.V, cmp.V, val.V},
		Attrs:    []ir.NamedAttr{{Name: "scope", Attr: e.C.I32Attr(scope)}, {Name: "sem", Attr: e.C.I32Attr(sem)}},
	})
	return e.tensor(o.OneResult(), val.T)
}
