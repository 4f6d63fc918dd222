package tt

import "github.com/tritonc/tritonc/core/ir"

// Access holds the optional attributes of a load or store; the zero value
// means all defaults.
type Access struct {
	Cache         int64 // CacheNone when 0
	Evict         int64 // EvictNormal when 0
	Volatile      bool  // loads
	BoundaryCheck []int64
	Padding       int64 // none when 0
}

func (a Access) attrs(c *ir.Context, load bool) []ir.NamedAttr {
	var attrs []ir.NamedAttr
	if len(a.BoundaryCheck) > 0 {
		attrs = append(attrs, ir.NamedAttr{Name: "boundaryCheck", Attr: c.I32Array(a.BoundaryCheck...)})
	}
	if a.Cache > CacheNone {
		attrs = append(attrs, ir.NamedAttr{Name: "cache", Attr: c.I32Attr(a.Cache)})
	}
	if a.Evict > EvictNormal {
		attrs = append(attrs, ir.NamedAttr{Name: "evict", Attr: c.I32Attr(a.Evict)})
	}
	if load && a.Volatile {
		attrs = append(attrs, ir.NamedAttr{Name: "isVolatile", Attr: c.BoolAttr(true)})
	}
	if load && a.Padding != 0 {
		attrs = append(attrs, ir.NamedAttr{Name: "padding", Attr: c.I32Attr(a.Padding)})
	}
	return attrs
}

// NewLoad makes a load; mask and other may be nil.
func NewLoad(b *ir.Builder, ptr, mask, other *ir.Value, a Access) *ir.Value {
	operands, segments := []*ir.Value{ptr}, []int32{1, 0, 0}
	if mask != nil {
		operands, segments[1] = append(operands, mask), 1
	}
	if other != nil {
		operands, segments[2] = append(operands, other), 1
	}
	s := ir.State{Operands: operands, Segments: segments, Attrs: a.attrs(b.Context(), true)}
	if p, ok := ptr.Type().(*PtrType); ok {
		s.Types = []ir.Type{p.Pointee} // a scalar, or the tensor of a block pointer
	}
	return b.Create(Load, s).OneResult()
}

// NewStore makes a store; mask may be nil.
func NewStore(b *ir.Builder, ptr, value, mask *ir.Value, a Access) *ir.Operation {
	operands := []*ir.Value{ptr, value}
	if mask != nil {
		operands = append(operands, mask)
	}
	return b.Create(Store, ir.State{Operands: operands, Attrs: a.attrs(b.Context(), false)})
}

// NewProgramID makes the program's index along axis 0, 1 or 2.
func NewProgramID(b *ir.Builder, axis int64) *ir.Value { return axisOp(b, GetProgramID, axis) }

// NewNumPrograms makes the grid's size along axis 0, 1 or 2.
func NewNumPrograms(b *ir.Builder, axis int64) *ir.Value { return axisOp(b, GetNumPrograms, axis) }

func axisOp(b *ir.Builder, def *ir.OpDef, axis int64) *ir.Value {
	return b.Create(def, ir.State{Attrs: []ir.NamedAttr{{Name: "axis", Attr: b.Context().I32Attr(axis)}}}).OneResult()
}

// NewMakeRange makes start … end-1 as an i32 tensor of type t.
func NewMakeRange(b *ir.Builder, t ir.Type, start, end int64) *ir.Value {
	c := b.Context()
	return b.Create(MakeRange, ir.State{
		Types: []ir.Type{t},
		Attrs: []ir.NamedAttr{{Name: "end", Attr: c.I32Attr(end)}, {Name: "start", Attr: c.I32Attr(start)}},
	}).OneResult()
}

// Unary makes an operation of one operand with a given result type: Splat,
// Broadcast, Bitcast, IntToPtr, PtrToInt.
func Unary(b *ir.Builder, def *ir.OpDef, x *ir.Value, t ir.Type) *ir.Value {
	return b.Op(def, []*ir.Value{x}, t).OneResult()
}

// NewAddPtr makes pointer plus offset.
func NewAddPtr(b *ir.Builder, ptr, offset *ir.Value) *ir.Value {
	return b.Op(AddPtr, []*ir.Value{ptr, offset}).OneResult()
}

// NewExpandDims inserts a dimension of size 1; the result's encoding follows
// from the source's, if it has one.
func NewExpandDims(b *ir.Builder, x *ir.Value, axis int) *ir.Value {
	return b.Create(ExpandDims, ir.State{
		Operands: []*ir.Value{x}, Attrs: []ir.NamedAttr{{Name: "axis", Attr: b.Context().I32Attr(int64(axis))}},
	}).OneResult()
}

// NewReduce makes a reduction along axis with an empty combine region, which
// the caller fills: a block with two arguments an operand (all first ones, then
// all second ones) that ends in ReduceReturn.
func NewReduce(b *ir.Builder, operands []*ir.Value, axis int) *ir.Operation {
	return b.Create(Reduce, ir.State{
		Operands: operands, Regions: 1, Attrs: []ir.NamedAttr{{Name: "axis", Attr: b.Context().I32Attr(int64(axis))}},
	})
}

// NewFunc makes a function with an entry block; argAttrs has an entry an
// argument (nil for none) or is nil itself, argLocs an entry an argument.
func NewFunc(b *ir.Builder, name, visibility string, sig *ir.FunctionType, argAttrs []*ir.DictAttr, argLocs []ir.Location) *ir.Operation {
	c := b.Context()
	attrs := []ir.NamedAttr{
		{Name: "function_type", Attr: c.TypeAttr(sig)},
		{Name: "sym_name", Attr: c.StringAttr(name)},
		{Name: "sym_visibility", Attr: c.StringAttr(visibility)},
	}
	if argAttrs != nil {
		list := make([]ir.Attribute, len(argAttrs))
		any := false
		for i, d := range argAttrs {
			if d == nil {
				d = c.DictAttr()
			}
			any = any || len(d.Entries) > 0
			list[i] = d
		}
		if any {
			attrs = append(attrs, ir.NamedAttr{Name: "arg_attrs", Attr: c.ArrayAttr(list...)})
		}
	}
	f := b.Create(Func, ir.State{Attrs: attrs, Regions: 1})
	entry := AsFunc(f).Body().AddBlock()
	for i, t := range sig.In {
		entry.AddArg(t, argLocs[i])
	}
	return f
}

// Signature is the function type of a tt.func.
func Signature(f *ir.Operation) *ir.FunctionType {
	return AsFunc(f).FunctionType().(*ir.FunctionType)
}
