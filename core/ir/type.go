package ir

// Type is the type of a Value. Types are interned: compare with ==. Dialects
// add their own (tt.PtrType, ttg.MemDescType) through InternType.
type Type interface {
	// TypeDialect names the dialect whose hooks print the type; "builtin" for
	// those of this package.
	TypeDialect() string
}

// Signedness of an integer type. Triton's IR is signless except inside
// !tt.tensordesc.
type Signedness uint8

const (
	Signless Signedness = iota
	Signed
	Unsigned
)

// IntegerType is iN, siN or uiN.
type IntegerType struct {
	Width int // bits
	Sign  Signedness
}

// FloatKind enumerates the floating point types.
type FloatKind uint8

const (
	F16 FloatKind = iota
	BF16
	F32
	F64
	TF32
	F128
	F80
	F8E4M3FN
	F8E5M2
	F8E4M3FNUZ
	F8E5M2FNUZ
	F8E4M3B11FNUZ
	F8E4M3
	F8E3M4
	F8E8M0FNU
	F6E2M3FN
	F6E3M2FN
	F4E2M1FN
	numFloatKinds
)

var floatNames = [numFloatKinds]string{
	F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", TF32: "tf32", F128: "f128", F80: "f80",
	F8E4M3FN: "f8E4M3FN", F8E5M2: "f8E5M2", F8E4M3FNUZ: "f8E4M3FNUZ", F8E5M2FNUZ: "f8E5M2FNUZ",
	F8E4M3B11FNUZ: "f8E4M3B11FNUZ", F8E4M3: "f8E4M3", F8E3M4: "f8E3M4", F8E8M0FNU: "f8E8M0FNU",
	F6E2M3FN: "f6E2M3FN", F6E3M2FN: "f6E3M2FN", F4E2M1FN: "f4E2M1FN",
}

var floatWidths = [numFloatKinds]int{
	F16: 16, BF16: 16, F32: 32, F64: 64, TF32: 19, F128: 128, F80: 80,
	F8E4M3FN: 8, F8E5M2: 8, F8E4M3FNUZ: 8, F8E5M2FNUZ: 8, F8E4M3B11FNUZ: 8, F8E4M3: 8, F8E3M4: 8, F8E8M0FNU: 8,
	F6E2M3FN: 6, F6E3M2FN: 6, F4E2M1FN: 4,
}

// String is the type's spelling in the text form.
func (k FloatKind) String() string { return floatNames[k] }

// Width in bits of one value of this kind.
func (k FloatKind) Width() int { return floatWidths[k] }

// FloatKindNamed finds a kind by its spelling.
func FloatKindNamed(name string) (FloatKind, bool) {
	for k, n := range floatNames {
		if n == name {
			return FloatKind(k), true
		}
	}
	return 0, false
}

// FloatType is f16, bf16, f32, f64 or one of the small formats.
type FloatType struct{ Kind FloatKind }

// Width in bits.
func (t *FloatType) Width() int { return floatWidths[t.Kind] }

// IndexType is the target's index type.
type IndexType struct{}

// NoneType is the type with one value.
type NoneType struct{}

// FunctionType is (In…) -> (Out…).
type FunctionType struct{ In, Out []Type }

// TensorType is a ranked tensor. Encoding is the layout attribute, nil where
// there is none. Dynamic dimensions do not occur in Triton and are -1 here.
type TensorType struct {
	Shape    []int64 // elements per dimension
	Elem     Type
	Encoding Attribute
}

// NumElements is the product of the dimensions.
func (t *TensorType) NumElements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// OpaqueType is a type of a dialect that is not loaded, kept as text.
type OpaqueType struct {
	Dialect string
	Text    string // all after "!dialect."
}

func (*IntegerType) TypeDialect() string  { return "builtin" }
func (*FloatType) TypeDialect() string    { return "builtin" }
func (*IndexType) TypeDialect() string    { return "builtin" }
func (*NoneType) TypeDialect() string     { return "builtin" }
func (*FunctionType) TypeDialect() string { return "builtin" }
func (*TensorType) TypeDialect() string   { return "builtin" }
func (t *OpaqueType) TypeDialect() string { return t.Dialect }

type (
	intKey struct {
		width int
		sign  Signedness
	}
	funcKey   struct{ in, out *listCell }
	tensorKey struct {
		shape ShapeKey
		elem  Type
		enc   Attribute
	}
	opaqueTypeKey struct{ dialect, text string }
)

// Int returns the signless integer type of the given width in bits.
func (c *Context) Int(width int) *IntegerType {
	if width > 0 && width < len(c.ints) {
		if c.ints[width] == nil {
			c.ints[width] = &IntegerType{Width: width}
		}
		return c.ints[width]
	}
	return c.IntSigned(width, Signless)
}

// IntSigned returns the integer type with the given signedness.
func (c *Context) IntSigned(width int, sign Signedness) *IntegerType {
	if sign == Signless && width > 0 && width < len(c.ints) {
		return c.Int(width)
	}
	checkWidth(width)
	return InternType(c, intKey{width, sign}, func() *IntegerType { return &IntegerType{width, sign} })
}

func (c *Context) I1() *IntegerType  { return c.Int(1) }
func (c *Context) I8() *IntegerType  { return c.Int(8) }
func (c *Context) I16() *IntegerType { return c.Int(16) }
func (c *Context) I32() *IntegerType { return c.Int(32) }
func (c *Context) I64() *IntegerType { return c.Int(64) }

// Float returns the floating point type of the given kind.
func (c *Context) Float(k FloatKind) *FloatType { return c.floats[k] }

func (c *Context) F16() *FloatType  { return c.floats[F16] }
func (c *Context) BF16() *FloatType { return c.floats[BF16] }
func (c *Context) F32() *FloatType  { return c.floats[F32] }
func (c *Context) F64() *FloatType  { return c.floats[F64] }

// Index returns the index type.
func (c *Context) Index() *IndexType { return c.index }

// None returns the none type.
func (c *Context) None() *NoneType { return c.none }

// Func returns the function type (in…) -> (out…).
func (c *Context) Func(in, out []Type) *FunctionType {
	return InternType(c, funcKey{listKey(c, in), listKey(c, out)}, func() *FunctionType {
		return &FunctionType{append([]Type(nil), in...), append([]Type(nil), out...)}
	})
}

// Tensor returns the ranked tensor type; enc may be nil.
func (c *Context) Tensor(shape []int64, elem Type, enc Attribute) *TensorType {
	key := tensorKey{KeyOf(shape), elem, enc}
	if t, ok := c.types[key]; ok {
		return t.(*TensorType)
	}
	t := &TensorType{append([]int64(nil), shape...), elem, enc}
	c.types[key] = t
	return t
}

// OpaqueType returns the type of an unloaded dialect.
func (c *Context) OpaqueType(dialect, text string) *OpaqueType {
	return InternType(c, opaqueTypeKey{dialect, text}, func() *OpaqueType { return &OpaqueType{dialect, text} })
}

// WithElem returns t with its element type replaced: of a tensor its element,
// of anything else elem itself.
func (c *Context) WithElem(t, elem Type) Type {
	if tt, ok := t.(*TensorType); ok {
		return c.Tensor(tt.Shape, elem, tt.Encoding)
	}
	return elem
}

// ElemOf is the element type of a tensor, and any other type itself.
func ElemOf(t Type) Type {
	if tt, ok := t.(*TensorType); ok {
		return tt.Elem
	}
	return t
}

// ShapeOf is the shape of a tensor, nil for any other type.
func ShapeOf(t Type) []int64 {
	if tt, ok := t.(*TensorType); ok {
		return tt.Shape
	}
	return nil
}

// IsInt reports whether t is an integer type of that width (any, if width is 0).
func IsInt(t Type, width int) bool {
	it, ok := t.(*IntegerType)
	return ok && (width == 0 || it.Width == width)
}

// IsFloat reports whether t is a floating point type.
func IsFloat(t Type) bool {
	_, ok := t.(*FloatType)
	return ok
}

// BitWidth is the width of a scalar integer or float type, 0 for others.
func BitWidth(t Type) int {
	switch t := t.(type) {
	case *IntegerType:
		return t.Width
	case *FloatType:
		return t.Width()
	}
	return 0
}
