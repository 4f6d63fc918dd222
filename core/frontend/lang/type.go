package lang

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// Type is the type of a run-time value.
type Type interface {
	// String is the type as messages show it.
	String() string
	// Mangle is the type's part of a callee's symbol.
	Mangle() string
	// IR is the type in the IR, where signedness is gone.
	IR(c *ir.Context) ir.Type
	// Equal reports whether two types are the same.
	Equal(other any) bool
}

type dkind uint8

const (
	kindVoid dkind = iota
	kindBool
	kindInt
	kindFloat
)

// DType is a scalar type. The ones below are all there are; compare with ==.
type DType struct {
	name   string
	kind   dkind
	bits   int
	signed bool
	float  ir.FloatKind
	mant   int // mantissa bits of a float
	bias   int
}

// The scalar types.
var (
	Void = &DType{name: "void"}
	// Int1 is unsigned, whatever its name says: True is greater than False.
	Int1    = &DType{name: "int1", kind: kindBool, bits: 1}
	Int8    = &DType{name: "int8", kind: kindInt, bits: 8, signed: true}
	Int16   = &DType{name: "int16", kind: kindInt, bits: 16, signed: true}
	Int32   = &DType{name: "int32", kind: kindInt, bits: 32, signed: true}
	Int64   = &DType{name: "int64", kind: kindInt, bits: 64, signed: true}
	UInt8   = &DType{name: "uint8", kind: kindInt, bits: 8}
	UInt16  = &DType{name: "uint16", kind: kindInt, bits: 16}
	UInt32  = &DType{name: "uint32", kind: kindInt, bits: 32}
	UInt64  = &DType{name: "uint64", kind: kindInt, bits: 64}
	Float16 = &DType{name: "fp16", kind: kindFloat, bits: 16, float: ir.F16, mant: 10, bias: 15}
	BF16    = &DType{name: "bf16", kind: kindFloat, bits: 16, float: ir.BF16, mant: 7, bias: 127}
	Float32 = &DType{name: "fp32", kind: kindFloat, bits: 32, float: ir.F32, mant: 23, bias: 127}
	Float64 = &DType{name: "fp64", kind: kindFloat, bits: 64, float: ir.F64, mant: 52, bias: 1023}
	// The 8-bit floats; FP8E4B15 has no type of its own in the IR and is i8 there.
	FP8E4NV  = &DType{name: "fp8e4nv", kind: kindFloat, bits: 8, float: ir.F8E4M3FN, mant: 3, bias: 7}
	FP8E5    = &DType{name: "fp8e5", kind: kindFloat, bits: 8, float: ir.F8E5M2, mant: 2, bias: 15}
	FP8E4B8  = &DType{name: "fp8e4b8", kind: kindFloat, bits: 8, float: ir.F8E4M3FNUZ, mant: 3, bias: 8}
	FP8E5B16 = &DType{name: "fp8e5b16", kind: kindFloat, bits: 8, float: ir.F8E5M2FNUZ, mant: 2, bias: 16}
	FP8E4B15 = &DType{name: "fp8e4b15", kind: kindFloat, bits: 8, mant: 3, bias: 15}
)

// dtypes are the names that triton.language exports.
var dtypes = map[string]*DType{
	"void": Void, "int1": Int1, "int8": Int8, "int16": Int16, "int32": Int32, "int64": Int64,
	"uint8": UInt8, "uint16": UInt16, "uint32": UInt32, "uint64": UInt64,
	"float16": Float16, "bfloat16": BF16, "float32": Float32, "float64": Float64,
	"float8e4nv": FP8E4NV, "float8e5": FP8E5, "float8e4b8": FP8E4B8, "float8e5b16": FP8E5B16, "float8e4b15": FP8E4B15,
}

// typeNames are the spellings of signatures and annotations.
var typeNames = map[string]*DType{
	"i1": Int1, "u1": Int1, "B": Int1, "bool": Int1, "int1": Int1,
	"i8": Int8, "int8": Int8, "i16": Int16, "int16": Int16, "i32": Int32, "int32": Int32, "int": Int32, "i64": Int64, "int64": Int64,
	"u8": UInt8, "uint8": UInt8, "u16": UInt16, "uint16": UInt16, "u32": UInt32, "uint32": UInt32, "u64": UInt64, "uint64": UInt64,
	"fp16": Float16, "float16": Float16, "bf16": BF16, "bfloat16": BF16,
	"fp32": Float32, "float32": Float32, "float": Float32, "fp64": Float64, "float64": Float64, "double": Float64,
	"fp8e4nv": FP8E4NV, "float8e4nv": FP8E4NV, "float8_e4m3fn": FP8E4NV, "fp8e5": FP8E5, "float8e5": FP8E5, "float8_e5m2": FP8E5,
	"fp8e4b8": FP8E4B8, "float8e4b8": FP8E4B8, "float8_e4m3fnuz": FP8E4B8,
	"fp8e5b16": FP8E5B16, "float8e5b16": FP8E5B16, "float8_e5m2fnuz": FP8E5B16,
	"fp8e4b15": FP8E4B15, "float8e4b15": FP8E4B15,
}

// DTypeNamed finds a scalar type by any of its spellings, or nil.
func DTypeNamed(name string) *DType { return typeNames[name] }

func (d *DType) String() string       { return d.name }
func (d *DType) Equal(other any) bool { return d == other }

// Mangle is i32, u8, fp16, V, …
func (d *DType) Mangle() string {
	switch {
	case d.kind == kindVoid:
		return "V"
	case d.kind == kindFloat:
		return d.name
	case d.signed:
		return "i" + strconv.Itoa(d.bits)
	}
	return "u" + strconv.Itoa(d.bits)
}

// IR is the signless type.
func (d *DType) IR(c *ir.Context) ir.Type {
	switch {
	case d == FP8E4B15:
		return c.I8()
	case d.kind == kindFloat:
		return c.Float(d.float)
	case d.kind == kindVoid:
		return c.None()
	}
	return c.Int(d.bits)
}

// Bits is the width of one value.
func (d *DType) Bits() int { return d.bits }

// IsInt reports whether d is an integer type, bool included.
func (d *DType) IsInt() bool { return d.kind == kindInt || d.kind == kindBool }

// IsBool reports whether d is int1.
func (d *DType) IsBool() bool { return d == Int1 }

// IsFloat reports whether d is a floating point type.
func (d *DType) IsFloat() bool { return d.kind == kindFloat }

// IsSigned reports whether d is a signed integer type.
func (d *DType) IsSigned() bool { return d.IsInt() && d.signed }

// IsUnsigned reports whether d is an unsigned integer type.
func (d *DType) IsUnsigned() bool { return d.IsInt() && !d.signed }

// IsFP8 reports whether d is one of the 8-bit floats.
func (d *DType) IsFP8() bool { return d.kind == kindFloat && d.bits == 8 }

// standard reports whether d is fp16, bf16, fp32 or fp64.
func (d *DType) standard() bool { return d.kind == kindFloat && d.bits > 8 }

// TypeName is dtype, for messages and isinstance.
func (d *DType) TypeName() string { return "dtype" }

// Repr is the name.
func (d *DType) Repr() string { return d.name }

// holds reports whether the integer v lies in the range of d.
func (d *DType) holds(v any) bool {
	n := eval.ToBig(v)
	if d.kind == kindBool {
		return n.Sign() >= 0 && n.BitLen() <= 1
	}
	if !d.signed {
		return n.Sign() >= 0 && n.BitLen() <= d.bits
	}
	if n.Sign() < 0 {
		n.Not(n)
	}
	return n.BitLen() < d.bits
}

// Pointer points to scalars, to pointers, or (a block pointer) to a Block.
type Pointer struct {
	Elem  Type
	Const bool
	Space int // 0 stands for 1, global memory
}

// NewPointer makes a pointer to elem in global memory.
func NewPointer(elem Type) *Pointer { return &Pointer{Elem: elem} }

func (p *Pointer) space() int {
	if p.Space == 0 {
		return 1
	}
	return p.Space
}

func (p *Pointer) String() string {
	if p.Const {
		return "const_pointer<" + p.Elem.String() + ">"
	}
	return "pointer<" + p.Elem.String() + ">"
}
func (p *Pointer) Mangle() string           { return "P" + p.Elem.Mangle() }
func (p *Pointer) IR(c *ir.Context) ir.Type { return tt.PtrIn(c, p.Elem.IR(c), p.space()) }
func (p *Pointer) TypeName() string         { return "pointer_type" }
func (p *Pointer) Repr() string             { return p.String() }

// Equal compares by structure.
func (p *Pointer) Equal(other any) bool {
	q, ok := other.(*Pointer)
	return ok && (p == q || p.space() == q.space() && p.Const == q.Const && p.Elem.Equal(q.Elem))
}

// Block is the type of a tensor: a scalar or pointer type and a shape with at
// least one dimension.
type Block struct {
	Elem  Type
	Shape []int64
}

func (b *Block) String() string {
	parts := make([]string, len(b.Shape))
	for i, d := range b.Shape {
		parts[i] = "'" + strconv.FormatInt(d, 10) + "'"
	}
	return "<[" + strings.Join(parts, ", ") + "], " + b.Elem.String() + ">"
}

// Mangle is the element's, S, the dimensions, S.
func (b *Block) Mangle() string {
	s := b.Elem.Mangle() + "S"
	for i, d := range b.Shape {
		if i > 0 {
			s += "_"
		}
		s += strconv.FormatInt(d, 10)
	}
	return s + "S"
}
func (b *Block) IR(c *ir.Context) ir.Type { return c.Tensor(b.Shape, b.Elem.IR(c), nil) }
func (b *Block) TypeName() string         { return "block_type" }
func (b *Block) Repr() string             { return b.String() }

// Equal compares by structure.
func (b *Block) Equal(other any) bool {
	o, ok := other.(*Block)
	return ok && (b == o || sameShape(b.Shape, o.Shape) && b.Elem.Equal(o.Elem))
}

func sameShape(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// ScalarOf is the element type of a Block, and any other type itself.
func ScalarOf(t Type) Type {
	if b, ok := t.(*Block); ok {
		return b.Elem
	}
	return t
}

// ShapeOf is the shape of a Block, nil for other types.
func ShapeOf(t Type) []int64 {
	if b, ok := t.(*Block); ok {
		return b.Shape
	}
	return nil
}

// WithShape is elem in a shape; elem itself where shape is empty.
func WithShape(elem Type, shape []int64) Type {
	if len(shape) == 0 {
		return elem
	}
	return &Block{elem, shape}
}

// withElem is t with another element type.
func withElem(t, elem Type) Type { return WithShape(elem, ShapeOf(t)) }

// dtypeOf is the scalar type of t where it is a DType, else nil.
func dtypeOf(t Type) *DType {
	d, _ := ScalarOf(t).(*DType)
	return d
}

// pointerOf is the scalar type of t where it is a pointer, else nil.
func pointerOf(t Type) *Pointer {
	p, _ := ScalarOf(t).(*Pointer)
	return p
}
