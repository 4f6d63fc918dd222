package llir

import (
	"math"
	"strconv"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
)

// Int is an integer constant. Bits above the width are zero, and so are those of
// a wider type above 64.
type Int struct {
	Typ  *types.IntType
	Bits uint64

	id int32
}

// Type returns the integer type.
func (c *Int) Type() types.Type { return c.Typ }

// IsConstant marks c as a constant.
func (c *Int) IsConstant() {}

// Ident returns the literal: signed decimal, true or false for i1.
func (c *Int) Ident() string { return string(c.appendIdent(nil)) }

func (c *Int) String() string { return c.Typ.String() + " " + c.Ident() }

// Signed returns the value sign-extended to 64 bits; that of a type wider than
// these must fit.
func (c *Int) Signed() int64 { return signExtend(c.Bits, min(int(c.Typ.BitSize), 64)) }

func (c *Int) appendIdent(b []byte) []byte {
	if c.Typ.BitSize == 1 {
		return strconv.AppendBool(b, c.Bits != 0)
	}
	if c.Typ.BitSize > 64 {
		return strconv.AppendUint(b, c.Bits, 10)
	}
	return strconv.AppendInt(b, c.Signed(), 10)
}

func signExtend(bits uint64, width int) int64 {
	s := 64 - width
	return int64(bits<<s) >> s
}

func maskOf(width int) uint64 { return ^uint64(0) >> (64 - width) }

// Float is a floating-point constant, held as the bits of its own format.
type Float struct {
	Typ  types.Type
	Bits uint64

	id int32
}

// Type returns the floating-point type.
func (c *Float) Type() types.Type { return c.Typ }

// IsConstant marks c as a constant.
func (c *Float) IsConstant() {}

// Ident returns the literal in LLVM's hexadecimal form, which is exact.
func (c *Float) Ident() string { return string(c.appendIdent(nil)) }

func (c *Float) String() string { return c.Typ.String() + " " + c.Ident() }

// Value returns the number as a float64, which holds every format exactly.
func (c *Float) Value() float64 { return floatValue(c.Typ, c.Bits) }

func (c *Float) appendIdent(b []byte) []byte {
	switch c.Typ {
	case Half:
		return appendHex(append(b, "0xH"...), c.Bits, 4)
	case BF16:
		return appendHex(append(b, "0xR"...), c.Bits, 4)
	case F32:
		return appendHex(append(b, "0x"...), widenFloat32(uint32(c.Bits)), 16)
	default:
		return appendHex(append(b, "0x"...), c.Bits, 16)
	}
}

func appendHex(b []byte, v uint64, digits int) []byte {
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789ABCDEF"[v>>(4*i)&15])
	}
	return b
}

// widenFloat32 converts the bits of a float to those of the equal double, the
// form in which LLVM writes float literals. NaNs keep payload and quiet bit,
// which the processor's own conversion would not do.
func widenFloat32(bits uint32) uint64 {
	if bits&0x7F800000 == 0x7F800000 && bits&0x7FFFFF != 0 {
		return uint64(bits>>31)<<63 | 0x7FF<<52 | uint64(bits&0x7FFFFF)<<29
	}
	return math.Float64bits(float64(math.Float32frombits(bits)))
}

// Literal is a constant written as one word: null, poison, undef, zeroinitializer.
type Literal struct {
	Typ  types.Type
	Text string
}

// Type returns the constant's type.
func (c *Literal) Type() types.Type { return c.Typ }

// IsConstant marks c as a constant.
func (c *Literal) IsConstant() {}

// Ident returns the word.
func (c *Literal) Ident() string { return c.Text }

func (c *Literal) String() string { return c.Typ.String() + " " + c.Text }

// Address is the address of a global variable, as an opaque pointer.
type Address struct {
	Typ    *Ptr
	Global *ir.Global
}

// Type returns the pointer type.
func (c *Address) Type() types.Type { return c.Typ }

// IsConstant marks c as a constant.
func (c *Address) IsConstant() {}

// Ident returns the global's name with its @.
func (c *Address) Ident() string { return c.Global.Ident() }

func (c *Address) String() string { return c.Typ.String() + " " + c.Ident() }

// Bytes is a constant array of i8, such as a string for printing.
type Bytes struct {
	Typ  *types.ArrayType
	Data string
}

// Type returns the array type.
func (c *Bytes) Type() types.Type { return c.Typ }

// IsConstant marks c as a constant.
func (c *Bytes) IsConstant() {}

// Ident returns the c"..." form.
func (c *Bytes) Ident() string { return string(appendQuoted([]byte{'c'}, c.Data)) }

func (c *Bytes) String() string { return c.Typ.String() + " " + c.Ident() }

type bitsKey struct {
	typ  Type
	bits uint64
}

// Int returns the constant v, taken modulo 2^width, interned in m.
func (m *Module) Int(t *types.IntType, v int64) *Int {
	if t.BitSize > 64 && v < 0 {
		panic("BUG: llir: negative constant of an integer wider than 64 bits")
	}
	return m.uint(t, uint64(v))
}

func (m *Module) uint(t *types.IntType, v uint64) *Int {
	k := bitsKey{t, v & maskOf(min(int(t.BitSize), 64))}
	if c, ok := m.ints[k]; ok {
		return c
	}
	c := &Int{Typ: t, Bits: k.bits, id: m.newID()}
	m.ints[k] = c
	return c
}

// I32 returns an i32 constant.
func (m *Module) I32(v int) *Int { return m.Int(I32, int64(v)) }

// I64 returns an i64 constant.
func (m *Module) I64(v int64) *Int { return m.Int(I64, v) }

// Bool returns an i1 constant.
func (m *Module) Bool(v bool) *Int {
	if v {
		return m.uint(I1, 1)
	}
	return m.uint(I1, 0)
}

// FloatBits returns the floating-point constant with the given bits in the
// format of t, interned in m.
func (m *Module) FloatBits(t Type, bits uint64) *Float {
	k := bitsKey{t, bits}
	if c, ok := m.floats[k]; ok {
		return c
	}
	c := &Float{Typ: t, Bits: bits, id: m.newID()}
	m.floats[k] = c
	return c
}

// Float returns v rounded to nearest even in the format of t.
func (m *Module) Float(t Type, v float64) *Float { return m.FloatBits(t, floatBits(t, v)) }

func (m *Module) literal(t Type, text string) *Literal {
	k := literalKey{t, text}
	if c, ok := m.literals[k]; ok {
		return c
	}
	c := &Literal{Typ: t, Text: text}
	m.literals[k] = c
	return c
}

type literalKey struct {
	typ  Type
	text string
}

// Poison returns the poison value of t.
func (m *Module) Poison(t Type) Value { return m.literal(t, "poison") }

// Undef returns the undef value of t.
func (m *Module) Undef(t Type) Value { return m.literal(t, "undef") }

// Zero returns the zero of any first-class type: 0, +0.0, null, zeroinitializer.
func (m *Module) Zero(t Type) Value {
	switch t := t.(type) {
	case *types.IntType:
		return m.uint(t, 0)
	case *Ptr:
		return m.literal(t, "null")
	}
	if IsFloat(t) {
		return m.FloatBits(t, 0)
	}
	return m.literal(t, "zeroinitializer")
}

// IsConst reports whether v is a constant rather than a computed value.
func IsConst(v Value) bool {
	switch v.(type) {
	case *Int, *Float, *Literal, *Address, *Bytes:
		return true
	}
	return false
}

// ConstInt returns the value of an integer constant, sign-extended.
func ConstInt(v Value) (int64, bool) {
	if c, ok := v.(*Int); ok {
		return c.Signed(), true
	}
	return 0, false
}

func isPoison(v Value) bool {
	c, ok := v.(*Literal)
	return ok && c.Text == "poison"
}
