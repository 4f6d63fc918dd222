package lang

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// Value is a run-time value: one that SSA values represent.
type Value interface {
	// Type of the value.
	Type() Type
	// Flatten appends the SSA values to dst.
	Flatten(dst []*ir.Value) []*ir.Value
	// Rebuild makes a value of the same type from the first SSA values of hs
	// and returns the rest.
	Rebuild(hs []*ir.Value) (Value, []*ir.Value)
}

// Tensor is a scalar, a pointer, or a block of them.
type Tensor struct {
	V *ir.Value
	T Type
}

func (t *Tensor) Type() Type                          { return t.T }
func (t *Tensor) Flatten(dst []*ir.Value) []*ir.Value { return append(dst, t.V) }
func (t *Tensor) Rebuild(hs []*ir.Value) (Value, []*ir.Value) {
	return &Tensor{hs[0], t.T}, hs[1:]
}
func (t *Tensor) TypeName() string { return "tensor" }

// Attr is what compile-time code may ask of a tensor: all that its type says.
func (t *Tensor) Attr(name string) (any, bool) {
	switch name {
	case "dtype":
		return t.Scalar(), true
	case "type":
		return t.T, true
	case "shape":
		return shapeTuple(t.Shape()), true
	case "numel":
		return numElements(t.Shape()), true
	}
	return nil, false
}

// Names lists what Attr knows.
func (t *Tensor) Names() []string { return []string{"dtype", "numel", "shape", "type"} }

// Refuse says that compile-time code cannot compute with a tensor.
func (t *Tensor) Refuse() {
	eval.FailHelp("compute with tensors in a @triton.jit function", errBuiltinOutside)
}

// Equal refuses, as all operators do.
func (t *Tensor) Equal(any) bool { t.Refuse(); return false }

// Repr is what Triton prints of a tensor: its type.
func (t *Tensor) Repr() string { return t.T.String() }

// Shape of the tensor; empty for a scalar.
func (t *Tensor) Shape() []int64 { return ShapeOf(t.T) }

// IsBlock reports whether t has dimensions.
func (t *Tensor) IsBlock() bool { _, ok := t.T.(*Block); return ok }

// Scalar is the element type.
func (t *Tensor) Scalar() Type { return ScalarOf(t.T) }

// Desc is a tensor descriptor: how a tensor in global memory is read and
// written in blocks.
type Desc struct {
	Handle         *ir.Value
	Block          *Block
	Shape, Strides []*Tensor // i32 and i64 scalars, one per dimension
}

// DescType is the type of a Desc.
type DescType struct{ Block *Block }

func (d *DescType) String() string { return "tensor_descriptor<" + d.Block.String() + ">" }

// Mangle is TD and the block's mangle.
func (d *DescType) Mangle() string { return "TD" + d.Block.Mangle() }

// Equal compares by block type.
func (d *DescType) Equal(other any) bool {
	o, ok := other.(*DescType)
	return ok && d.Block.Equal(o.Block)
}

// IR is the type of the handle alone.
func (d *DescType) IR(c *ir.Context) ir.Type { return tt.TensorDesc(c, descBlock(c, d.Block)) }

// Prototype is a descriptor of this type without SSA values: what Rebuild needs
// to make one. A descriptor stands for its handle, its shape and its strides.
func (d *DescType) Prototype() *Desc {
	n := &Desc{Block: d.Block}
	for range d.Block.Shape {
		n.Shape = append(n.Shape, &Tensor{T: Int32})
		n.Strides = append(n.Strides, &Tensor{T: Int64})
	}
	return n
}

// ArgTypes are the types of the arguments that pass a value of type t.
func ArgTypes(c *ir.Context, t Type) []ir.Type {
	d, ok := t.(*DescType)
	if !ok {
		return []ir.Type{t.IR(c)}
	}
	types := []ir.Type{d.IR(c)}
	for range d.Block.Shape {
		types = append(types, c.I32())
	}
	for range d.Block.Shape {
		types = append(types, c.I64())
	}
	return types
}

// NewValue makes a value of type t from the first of args and returns the rest.
func NewValue(t Type, args []*ir.Value) (Value, []*ir.Value) {
	if d, ok := t.(*DescType); ok {
		return d.Prototype().Rebuild(args)
	}
	return &Tensor{args[0], t}, args[1:]
}

func (d *Desc) Type() Type { return &DescType{d.Block} }

// Flatten gives the handle, the shape and the strides.
func (d *Desc) Flatten(dst []*ir.Value) []*ir.Value {
	dst = append(dst, d.Handle)
	for _, s := range d.Shape {
		dst = append(dst, s.V)
	}
	for _, s := range d.Strides {
		dst = append(dst, s.V)
	}
	return dst
}

// Rebuild is the inverse of Flatten.
func (d *Desc) Rebuild(hs []*ir.Value) (Value, []*ir.Value) {
	n := &Desc{Handle: hs[0], Block: d.Block}
	hs = hs[1:]
	take := func(like []*Tensor) []*Tensor {
		out := make([]*Tensor, len(like))
		for i, t := range like {
			out[i] = &Tensor{hs[i], t.T}
		}
		hs = hs[len(like):]
		return out
	}
	n.Shape = take(d.Shape)
	n.Strides = take(d.Strides)
	return n, hs
}
func (d *Desc) TypeName() string { return "tensor_descriptor" }

// Flatten appends the SSA values of any value: of a tuple or aggregate those of
// its elements in order, of a compile-time value none.
func Flatten(v any, dst []*ir.Value) []*ir.Value {
	switch v := v.(type) {
	case Value:
		return v.Flatten(dst)
	case *eval.Tuple:
		for _, e := range v.Elems {
			dst = Flatten(e, dst)
		}
	case *eval.Instance:
		for _, f := range v.Class.Fields {
			dst = Flatten(v.Vars[f.Name], dst)
		}
	}
	return dst
}

// Rebuild makes a value like v from the SSA values hs, and returns the rest of
// hs. Compile-time parts stay as they are.
func Rebuild(v any, hs []*ir.Value) (any, []*ir.Value) {
	switch v := v.(type) {
	case Value:
		return v.Rebuild(hs)
	case *eval.Tuple:
		n := &eval.Tuple{Elems: make([]any, len(v.Elems)), Fields: v.Fields, Class: v.Class}
		for i, e := range v.Elems {
			n.Elems[i], hs = Rebuild(e, hs)
		}
		return n, hs
	case *eval.Instance:
		n := &eval.Instance{Class: v.Class, Vars: make(map[string]any, len(v.Vars))}
		for _, f := range v.Class.Fields {
			n.Vars[f.Name], hs = Rebuild(v.Vars[f.Name], hs)
		}
		return n, hs
	}
	return v, hs
}

// IsRuntime reports whether v is represented by SSA values.
func IsRuntime(v any) bool {
	switch v := v.(type) {
	case Value:
		return true
	case *eval.Tuple:
		for _, e := range v.Elems {
			if IsRuntime(e) {
				return true
			}
		}
	case *eval.Instance:
		return v.Class.Aggregate
	}
	return false
}

// SameType reports whether two values have one type: run-time parts the same
// types, compile-time parts equal.
func SameType(a, b any) bool {
	switch a := a.(type) {
	case Value:
		b, ok := b.(Value)
		return ok && a.Type().Equal(b.Type())
	case *eval.Tuple:
		b, ok := b.(*eval.Tuple)
		if !ok || len(a.Elems) != len(b.Elems) {
			return false
		}
		for i := range a.Elems {
			if !SameType(a.Elems[i], b.Elems[i]) {
				return false
			}
		}
		return true
	case *eval.Instance:
		b, ok := b.(*eval.Instance)
		if !ok || a.Class != b.Class {
			return false
		}
		for _, f := range a.Class.Fields {
			if !SameType(a.Vars[f.Name], b.Vars[f.Name]) {
				return false
			}
		}
		return true
	}
	if _, ok := b.(Value); ok {
		return false
	}
	return eval.Equal(a, b)
}

// TypeString is the type of any value, as messages show it.
func TypeString(v any) string {
	switch v := v.(type) {
	case Value:
		return v.Type().String()
	case *eval.Tuple:
		s := "["
		for i, e := range v.Elems {
			if i > 0 {
				s += ", "
			}
			s += TypeString(e)
		}
		return s + "]"
	case nil, *eval.Instance:
		return eval.TypeName(v)
	}
	return "constexpr[" + eval.Str(v) + "]"
}

// ShapeTuple is a shape as kernels see it.
func ShapeTuple(shape []int64) *eval.Tuple { return shapeTuple(shape) }

// NumElements is the product of the dimensions.
func NumElements(shape []int64) int64 { return numElements(shape) }

// Item is the element of a block of one element.
func (e *Emitter) Item(x *Tensor) *Tensor { return e.unsplat(x) }

// LoopType is the type of a loop's induction variable, from its bounds and
// step; text is the message when one of them is not an integer.
func LoopType(lo, hi, step *Tensor, text string) *DType {
	a, b, c := dtypeOf(lo.T), dtypeOf(hi.T), dtypeOf(step.T)
	if a == nil || b == nil || c == nil || !a.IsInt() || !b.IsInt() || !c.IsInt() {
		eval.Fail(text, lo.Scalar(), hi.Scalar(), step.Scalar())
	}
	for _, x := range []*Tensor{lo, hi, step} {
		if x.IsBlock() {
			eval.Fail("the bounds and step of a loop must be scalars, got %s", x.T)
		}
	}
	return promoteInts(promoteInts(a, b), c)
}

// CheckSupported refuses types that the target does not have.
func (e *Emitter) CheckSupported(t Type) {
	switch t := ScalarOf(t).(type) {
	case *DType:
		if t.IsFP8() {
			e.checkFP8(t)
		}
	case *Pointer:
		e.CheckSupported(t.Elem)
	case *DescType:
		e.CheckSupported(t.Block)
	}
}
