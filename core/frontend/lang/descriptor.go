package lang

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// descriptors: tensor descriptors and what is read and written through them.
var descriptors = []*Builtin{
	{Name: "make_tensor_descriptor", Params: "base shape strides block_shape padding_option='zero'", Fn: makeDescriptor},
	{Name: "load_tensor_descriptor", Params: "desc offsets", Fn: descLoad},
	{Name: "store_tensor_descriptor", Params: "desc offsets value", Fn: descStore},
}

// descMethods are the methods of descriptors.
var descMethods = []*Builtin{
	{Name: "load", Params: "desc offsets", Fn: descLoad},
	{Name: "store", Params: "desc offsets value", Fn: descStore},
	{Name: "gather", Params: "desc x_offsets y_offset", Fn: descGather},
	{Name: "scatter", Params: "desc value x_offsets y_offset", Fn: descScatter},
	descAtomic("atomic_add", "add"), descAtomic("atomic_min", "min"), descAtomic("atomic_max", "max"),
	descAtomic("atomic_and", "and"), descAtomic("atomic_or", "or"), descAtomic("atomic_xor", "xor"),
}

// DescMethod finds a method of tensor descriptors.
func DescMethod(name string) *Builtin {
	for _, b := range descMethods {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// DescMethods lists the methods of a descriptor.
func DescMethods() []string {
	var names []string
	for _, b := range descMethods {
		names = append(names, b.Name)
	}
	return names
}

// maxDescDims is the most dimensions of a descriptor.
const maxDescDims = 5

func makeDescriptor(e *Emitter, a *Args) any {
	base := a.tensor(0)
	p, ok := base.T.(*Pointer)
	if !ok || isBlockPointer(base) != nil {
		eval.Fail("Expected `base` to be a pointer type, not %s", base.T)
	}
	elem, ok := p.Elem.(*DType)
	if !ok {
		eval.Fail("a descriptor points to numbers, not to %s", p.Elem)
	}
	shapeArgs, strideArgs := a.list(1), a.list(2)
	n := len(shapeArgs)
	if n < 1 || n > maxDescDims {
		eval.Fail(errDescNdim, n)
	}
	if len(strideArgs) != n {
		eval.Fail("Expected %s but got %d", diag.Count(n, "stride"), len(strideArgs))
	}
	block := a.shape(3)
	if len(block) != n {
		eval.Fail("Expected block_shape to have %s but got %d", diag.Count(n, "dimension"), len(block))
	}
	size := int64(max(elem.bits/8, 1))
	if last := block[n-1]; last*size < 16 {
		eval.Fail(errDescBytes, last, size, last*size)
	}
	if s, ok := eval.AsInt(strideArgs[n-1]); !ok || s != 1 {
		eval.FailHelp("the last stride must be the constant 1", errDescStride, TypeString(strideArgs[n-1]))
	}
	padding := a.pick(4, paddings, errPadding)
	if elem.IsInt() && padding == tt.PadNaN {
		eval.Fail(errDescPaddingNaN)
	}
	d := &Desc{Block: &Block{elem, block}}
	for i, v := range shapeArgs {
		d.Shape = append(d.Shape, e.Cast(e.descScalar("shape", i, v), Int32))
	}
	for i, v := range strideArgs {
		d.Strides = append(d.Strides, e.Cast(e.descScalar("strides", i, v), Int64))
	}
	operands := []*ir.Value{base.V}
	for _, x := range d.Shape {
		operands = append(operands, x.V)
	}
	for _, x := range d.Strides {
		operands = append(operands, x.V)
	}
	s := ir.State{
		Operands: operands, Segments: []int32{1, int32(n), int32(n)},
		Types: []ir.Type{d.Type().IR(e.C)},
	}
	if padding == tt.PadNaN {
		s.Attrs = []ir.NamedAttr{{Name: "padding", Attr: e.C.I32Attr(padding)}}
	}
	d.Handle = e.B.Create(tt.MakeTensorDesc, s).OneResult()
	return d
}

// descScalar is one element of a descriptor's shape or strides.
func (e *Emitter) descScalar(what string, i int, v any) *Tensor {
	if n, ok := eval.AsInt(v); ok {
		if what == "strides" || n > 1<<31-1 {
			return e.Constant(v, Int64)
		}
		return e.Constant(v, Int32)
	}
	x := e.ToTensor(v)
	if d := dtypeOf(x.T); x.IsBlock() || d == nil || !d.IsInt() {
		eval.Fail("make_tensor_descriptor(): %s[%d] must be an integer, not %s", what, i, x.T)
	}
	return x
}

// descBlock is the block type as a descriptor's type holds it, where integers
// have their sign.
func descBlock(c *ir.Context, b *Block) *ir.TensorType {
	elem := b.Elem.IR(c)
	if d := dtypeOf(b); d.IsInt() && !d.IsBool() {
		sign := ir.Unsigned
		if d.signed {
			sign = ir.Signed
		}
		elem = c.IntSigned(d.bits, sign)
	}
	return c.Tensor(b.Shape, elem, nil)
}

// desc is the first argument, a tensor descriptor.
func (a *Args) desc() *Desc {
	d, ok := a.val(0).(*Desc)
	if !ok {
		eval.Fail("%s() needs a tensor descriptor, not %s", a.b.Name, TypeString(a.val(0)))
	}
	return d
}

// offsets is argument i as the offsets of a block.
func (a *Args) offsets(i int, d *Desc) []*ir.Value {
	if v := a.val(i); runtimeOrNumber(v) {
		eval.FailHelp("write [offset]", "%s(): '%s' must be a list of %s, not %s", a.b.Name, a.name(i), diag.Count(len(d.Block.Shape), "offset"), TypeString(v))
	}
	list := a.scalars(i, Int32)
	if len(list) != len(d.Block.Shape) {
		eval.Fail(errDescOffsets, len(d.Block.Shape), len(list))
	}
	return values(list)
}

func descLoad(e *Emitter, a *Args) any {
	d := a.desc()
	operands := append([]*ir.Value{d.Handle}, a.offsets(1, d)...)
	return e.tensor(e.B.Op(tt.DescriptorLoad, operands, d.Block.IR(e.C)).OneResult(), d.Block)
}

// descValue is argument i as a value to write through d.
func (e *Emitter) descValue(a *Args, i int, d *Desc) *Tensor {
	return e.Cast(e.blockOf(a, i, d), d.Block.Elem)
}

// blockOf is argument i, which must have the shape of d's blocks.
func (e *Emitter) blockOf(a *Args, i int, d *Desc) *Tensor {
	v := a.tensor(i)
	if !sameShape(v.Shape(), d.Block.Shape) {
		eval.Fail("the value's shape %s must be the descriptor's block shape %s", shapeString(v.Shape()), shapeString(d.Block.Shape))
	}
	return v
}

func descStore(e *Emitter, a *Args) any {
	d := a.desc()
	offsets := a.offsets(1, d)
	v := e.descValue(a, 2, d)
	e.B.Op(tt.DescriptorStore, append([]*ir.Value{d.Handle, v.V}, offsets...))
	return nil
}

// descReductions says which types a reduction through a descriptor takes.
var descReductions = map[string][]*DType{
	"add": {UInt32, Int32, UInt64, Float32, Float16, BF16},
	"min": {UInt32, Int32, UInt64, Int64, Float16, BF16},
	"max": {UInt32, Int32, UInt64, Int64, Float16, BF16},
	"and": {UInt32, Int32, UInt64, Int64},
	"or":  {UInt32, Int32, UInt64, Int64},
	"xor": {UInt32, Int32, UInt64, Int64},
}

func descAtomic(name, kind string) *Builtin {
	return &Builtin{Name: name, Params: "desc offsets value", Fn: func(e *Emitter, a *Args) any {
		d := a.desc()
		ok := false
		for _, t := range descReductions[kind] {
			ok = ok || d.Block.Elem.Equal(t)
		}
		if !ok {
			eval.Fail("Unsupported dtype %s for %s through a tensor descriptor", d.Block.Elem, name)
		}
		offsets := a.offsets(1, d)
		v := e.combined(a, 2, d)
		var code int64
		for _, c := range tt.DescriptorReduceKinds {
			if c.Keyword == kind {
				code = c.Value
			}
		}
		e.B.Create(tt.DescriptorReduce, ir.State{
			Operands: append([]*ir.Value{d.Handle, v.V}, offsets...),
			Attrs:    []ir.NamedAttr{{Name: "kind", Attr: e.C.I32Attr(code)}},
		})
		return nil
	}}
}

// combined is argument i as what a block is combined with, of the descriptor's
// type. Triton 3.6 does not convert it, and combines bits of another type.
func (e *Emitter) combined(a *Args, i int, d *Desc) *Tensor {
	v := e.blockOf(a, i, d)
	if !v.Scalar().Equal(d.Block.Elem) {
		e.Gen.Warn("%s(): the value of type %s is converted to %s; Triton 3.6 would take its bits: write .to(desc.dtype)", a.b.Name, v.Scalar(), d.Block.Elem)
	}
	return e.Cast(v, d.Block.Elem)
}

// rows checks a gather's or scatter's descriptor and row offsets.
func (a *Args) rows(d *Desc, i int) *Tensor {
	x := a.tensor(i)
	shape := d.Block.Shape
	if len(shape) != 2 {
		eval.Fail("descriptor must be 2D, but got %s", diag.Count(len(shape), "dimension"))
	}
	if shape[0] != 1 {
		eval.Fail("descriptor block must have 1 row, but got %s", shapeString(shape))
	}
	if len(x.Shape()) != 1 || dtypeOf(x.T) != Int32 {
		eval.Fail("x offsets must be one-dimensional and int32, but got %s", x.T)
	}
	if x.Shape()[0] < 8 {
		eval.Fail("descriptor gather must have at least 8 rows, but got %d", x.Shape()[0])
	}
	bits := dtypeOf(d.Block).bits
	if least := int64(32 / bits * 8); shape[1] < least {
		eval.Fail("descriptor gather of %s must have at least %s", d.Block.Elem, diag.Count(least, "column"))
	}
	return x
}

func descGather(e *Emitter, a *Args) any {
	d := a.desc()
	x := a.rows(d, 1)
	y := e.scalarInt("gather(): 'y_offset'", a.val(2), Int32)
	t := &Block{d.Block.Elem, []int64{x.Shape()[0], d.Block.Shape[1]}}
	return e.tensor(e.B.Op(tt.DescriptorGather, []*ir.Value{d.Handle, x.V, y.V}, t.IR(e.C)).OneResult(), t)
}

func descScatter(e *Emitter, a *Args) any {
	d := a.desc()
	v := a.tensor(1)
	x := a.rows(d, 2)
	y := e.scalarInt("scatter(): 'y_offset'", a.val(3), Int32)
	if want := []int64{x.Shape()[0], d.Block.Shape[1]}; !sameShape(v.Shape(), want) {
		eval.Fail("the value's shape %s must be %s", shapeString(v.Shape()), shapeString(want))
	}
	v = e.Cast(v, d.Block.Elem)
	e.B.Op(tt.DescriptorScatter, []*ir.Value{d.Handle, x.V, y.V, v.V})
	return nil
}
