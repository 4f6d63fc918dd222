package linalg

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// Slot is an offset, size or stride: an operand of type index, or where that is nil a
// number.
type Slot struct {
	Value *ir.Value
	N     int64
}

// Num is the slot of a number.
func Num(n int64) Slot { return Slot{N: n} }

// Nums are the slots of numbers.
func Nums(ns ...int64) []Slot {
	out := make([]Slot, len(ns))
	for i, n := range ns {
		out[i] = Num(n)
	}
	return out
}

func (s Slot) static() int64 {
	if s.Value != nil {
		return Dynamic
	}
	return s.N
}

func statics(slots []Slot) []int64 {
	out := make([]int64, len(slots))
	for i, s := range slots {
		out[i] = s.static()
	}
	return out
}

// slice makes an operation with offsets, sizes and strides.
func slice(b *ir.Builder, d *ir.OpDef, sources []*ir.Value, t ir.Type, lists ...[]Slot) *ir.Value {
	c := b.Context()
	s := ir.State{Operands: slices.Clone(sources), Types: []ir.Type{t}}
	for range sources {
		s.Segments = append(s.Segments, 1)
	}
	for i, list := range lists {
		n := 0
		for _, slot := range list {
			if slot.Value != nil {
				s.Operands = append(s.Operands, slot.Value)
				n++
			}
		}
		s.Segments = append(s.Segments, int32(n))
		s.Attrs = append(s.Attrs, ir.NamedAttr{Name: sliceAttrs[i], Attr: c.DenseArray(c.I64(), statics(list)...)})
	}
	return b.Create(d, s).OneResult()
}

// NewReinterpretCast makes memory of source under an offset, sizes and strides.
func NewReinterpretCast(b *ir.Builder, source *ir.Value, offset Slot, shape []int64, strides []Slot) *ir.Value {
	m := &MemRef{Shape: shape, Elem: elemOf(b.Context(), source.Type()), Strides: statics(strides), Offset: offset.static()}
	return slice(b, ReinterpretCast, []*ir.Value{source}, m.Type(b.Context()), []Slot{offset}, Nums(shape...), strides)
}

// NewSubView makes the part of memory at the offsets, with the sizes and strides of 1.
func NewSubView(b *ir.Builder, source *ir.Value, offsets, sizes []Slot) *ir.Value {
	m := MemRefOf(b.Context(), source.Type())
	strides := m.Strides
	if strides == nil {
		strides = make([]int64, len(m.Shape))
		n := int64(1)
		for i := len(m.Shape) - 1; i >= 0; i-- {
			strides[i], n = n, n*m.Shape[i]
		}
	}
	offset := m.Offset
	for i, o := range offsets {
		if o.Value != nil || offset == Dynamic || o.N != 0 && strides[i] == Dynamic {
			offset = Dynamic
			break
		}
		offset += o.N * strides[i]
	}
	t := &MemRef{Shape: statics(sizes), Elem: m.Elem, Strides: strides, Offset: offset, Space: m.Space}
	return slice(b, SubView, []*ir.Value{source}, t.Type(b.Context()), offsets, sizes, ones(len(offsets)))
}

func ones(n int) []Slot {
	out := make([]Slot, n)
	for i := range out {
		out[i] = Num(1)
	}
	return out
}

// NewExtractSlice makes the part of a tensor at the offsets, with the sizes.
func NewExtractSlice(b *ir.Builder, source *ir.Value, offsets, sizes []Slot) *ir.Value {
	shape := statics(sizes)
	for i, n := range shape {
		if n == Dynamic {
			shape[i] = -1 // as core/ir has it
		}
	}
	t := b.Context().Tensor(shape, ir.ElemOf(source.Type()), nil)
	return slice(b, ExtractSlice, []*ir.Value{source}, t, offsets, sizes, ones(len(offsets)))
}

// NewInsertSlice makes dest with the part at the offsets replaced by source, whose shape
// is sizes without some dimensions of 1.
func NewInsertSlice(b *ir.Builder, source, dest *ir.Value, offsets, sizes []Slot) *ir.Value {
	return slice(b, InsertSlice, []*ir.Value{source, dest}, dest.Type(), offsets, sizes, ones(len(offsets)))
}

// NewEmpty makes a tensor of any content.
func NewEmpty(b *ir.Builder, shape []int64, elem ir.Type) *ir.Value {
	return b.Op(Empty, nil, b.Context().Tensor(shape, elem, nil)).OneResult()
}

// NewStructured makes a structured operation. Its results are the outputs that are
// tensors; its region, if it has one, is empty.
func NewStructured(b *ir.Builder, d *ir.OpDef, ins, outs []*ir.Value, attrs ...ir.NamedAttr) *ir.Operation {
	s := ir.State{
		Operands: append(slices.Clone(ins), outs...), Types: []ir.Type{}, Attrs: attrs, Regions: len(d.Regions),
		Segments: []int32{int32(len(ins)), int32(len(outs))},
	}
	for _, v := range outs {
		if t, ok := v.Type().(*ir.TensorType); ok {
			s.Types = append(s.Types, t)
		}
	}
	return b.Create(d, s)
}

// NewFill fills a tensor or memory with a scalar. It returns the tensor, nil for memory.
func NewFill(b *ir.Builder, scalar, out *ir.Value) *ir.Value {
	op := NewStructured(b, Fill, []*ir.Value{scalar}, []*ir.Value{out})
	if op.NumResults() == 0 {
		return nil
	}
	return op.OneResult()
}

// NewSplat makes a tensor of one value.
func NewSplat(b *ir.Builder, scalar *ir.Value, shape []int64) *ir.Value {
	return NewFill(b, scalar, NewEmpty(b, shape, scalar.Type()))
}

// Dims is the attribute of dimensions.
func Dims(c *ir.Context, name string, dims ...int64) ir.NamedAttr {
	return ir.NamedAttr{Name: name, Attr: c.DenseArray(c.I64(), dims...)}
}

// NewReshape joins all dimensions of a tensor that has several, and splits them into
// those of shape.
func NewReshape(b *ir.Builder, v *ir.Value, shape []int64) *ir.Value {
	t := v.Type().(*ir.TensorType)
	switch {
	case slices.Equal(t.Shape, shape):
		return v
	case len(shape) == 0:
		return grouping(b, CollapseShape, v, shape, nil)
	case len(t.Shape) == 0:
		return grouping(b, ExpandShape, v, shape, nil)
	}
	if len(t.Shape) != 1 {
		v = grouping(b, CollapseShape, v, []int64{t.NumElements()}, t.Shape)
	}
	if len(shape) != 1 {
		v = grouping(b, ExpandShape, v, shape, shape)
	}
	return v
}

// grouping makes an operation that joins all dimensions into one or splits one into
// all of them, which are those of many: none where a tensor has no dimension.
func grouping(b *ir.Builder, d *ir.OpDef, v *ir.Value, shape, many []int64) *ir.Value {
	c := b.Context()
	all := make([]ir.Attribute, len(many))
	for i := range all {
		all[i] = c.I64Attr(int64(i))
	}
	groups := c.ArrayAttr(c.ArrayAttr(all...))
	if len(many) == 0 {
		groups = c.ArrayAttr()
	}
	attrs := []ir.NamedAttr{{Name: reassociation, Attr: groups}}
	if d == ExpandShape {
		attrs = append(attrs, Dims(c, "static_output_shape", shape...))
	}
	return b.Create(d, ir.State{
		Operands: []*ir.Value{v}, Attrs: attrs, Types: []ir.Type{c.Tensor(shape, ir.ElemOf(v.Type()), nil)},
	}).OneResult()
}

// NewGeneric makes a generic over all points of tensors of one shape, with the block of
// its region, whose arguments are the elements of ins and outs.
func NewGeneric(b *ir.Builder, ins, outs []*ir.Value) (op *ir.Operation, body *ir.Block) {
	c := b.Context()
	rank := len(outs[0].Type().(*ir.TensorType).Shape)
	maps := make([]ir.Attribute, len(ins)+len(outs))
	for i := range maps {
		maps[i] = identityMap(c, rank)
	}
	kinds := make([]ir.Attribute, rank)
	for i := range kinds {
		kinds[i] = c.StringAttr("parallel")
	}
	op = NewStructured(b, Generic, ins, outs,
		ir.NamedAttr{Name: "indexing_maps", Attr: c.ArrayAttr(maps...)}, ir.NamedAttr{Name: "iterator_types", Attr: c.ArrayAttr(kinds...)})
	body = AsGeneric(op).Region().AddBlock()
	for _, v := range slices.Concat(ins, outs) {
		body.AddArg(ir.ElemOf(v.Type()), op.Loc())
	}
	return op, body
}

// identityMap is affine_map<(d0, d1) -> (d0, d1)>.
func identityMap(c *ir.Context, rank int) ir.Attribute {
	dims := ""
	for i := range rank {
		if i > 0 {
			dims += ", "
		}
		dims += "d" + number(int64(i))
	}
	return c.OpaqueAttr("builtin", "affine_map<("+dims+") -> ("+dims+")>")
}

// NewMaterialize writes a tensor to memory.
func NewMaterialize(b *ir.Builder, source, dest *ir.Value) {
	AsMaterialize(b.Op(Materialize, []*ir.Value{source, dest})).SetWritable(true)
}

// NewReduce makes a reduction of ins along a dimension, with the block of its region, whose
// arguments are elements of ins and outs.
func NewReduce(b *ir.Builder, ins, outs []*ir.Value, dimension int64) (op *ir.Operation, body *ir.Block) {
	op = NewStructured(b, Reduce, ins, outs, Dims(b.Context(), "dimensions", dimension))
	body = AsReduce(op).Region().AddBlock()
	for _, v := range slices.Concat(ins, outs) {
		body.AddArg(ir.ElemOf(v.Type()), op.Loc())
	}
	return op, body
}
