package llir

import (
	"strconv"

	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// Value is any operand: a constant, a parameter, an instruction's result.
type Value = value.Value

// Type is any LLVM type. Within one Module equal types are the same pointer.
type Type = types.Type

// The scalar types. They are shared by all modules and never written to.
var (
	Void Type = types.Void
	I1        = types.I1
	I8        = types.I8
	I16       = types.I16
	I32       = types.I32
	I64       = types.I64
	Half Type = types.Half
	BF16 Type = &BFloat{}
	F32  Type = types.Float
	F64  Type = types.Double
)

// IntN returns the integer type of the given width in bits: one of the shared
// ones for 1, 8, 16, 32 and 64, a new one otherwise.
func IntN(width int) *types.IntType {
	switch width {
	case 1:
		return I1
	case 8:
		return I8
	case 16:
		return I16
	case 32:
		return I32
	case 64:
		return I64
	}
	return types.NewInt(uint64(width))
}

// Ptr is the opaque pointer type "ptr addrspace(N)".
type Ptr struct{ AddrSpace int }

// maxAddrSpace bounds the address spaces that have a shared Ptr.
const maxAddrSpace = 16

var ptrs = func() (p [maxAddrSpace]*Ptr) {
	for i := range p {
		p[i] = &Ptr{AddrSpace: i}
	}
	return p
}()

// PtrIn returns the pointer type of an address space (0 to 15).
func PtrIn(addrSpace int) *Ptr { return ptrs[addrSpace] }

func (p *Ptr) String() string {
	if p.AddrSpace == 0 {
		return "ptr"
	}
	return "ptr addrspace(" + strconv.Itoa(p.AddrSpace) + ")"
}

// LLString returns the type's text; pointer types are never named.
func (p *Ptr) LLString() string { return p.String() }

// Equal reports whether u is a pointer of the same address space.
func (p *Ptr) Equal(u types.Type) bool {
	q, ok := u.(*Ptr)
	return ok && q.AddrSpace == p.AddrSpace
}

// Name is empty: the type cannot be named.
func (p *Ptr) Name() string { return "" }

// SetName panics: the type is shared.
func (p *Ptr) SetName(string) { panic("BUG: llir: naming a shared type") }

// BFloat is the 16-bit brain floating-point type.
type BFloat struct{}

func (*BFloat) String() string { return "bfloat" }

// LLString returns the type's text.
func (*BFloat) LLString() string { return "bfloat" }

// Equal reports whether u is bfloat too.
func (*BFloat) Equal(u types.Type) bool { _, ok := u.(*BFloat); return ok }

// Name is empty: the type cannot be named.
func (*BFloat) Name() string { return "" }

// SetName panics: the type is shared.
func (*BFloat) SetName(string) { panic("BUG: llir: naming a shared type") }

// IsFloat reports whether t is half, bfloat, float or double.
func IsFloat(t Type) bool { return t == Half || t == BF16 || t == F32 || t == F64 }

// IsInt reports whether t is a scalar integer type.
func IsInt(t Type) bool { _, ok := t.(*types.IntType); return ok }

// IsPtr reports whether t is a pointer type.
func IsPtr(t Type) bool { _, ok := t.(*Ptr); return ok }

// Width returns the number of bits of a scalar integer or floating-point type or
// a vector of them, and 0 for every other type (a pointer's size is the
// target's business).
func Width(t Type) int {
	switch t := t.(type) {
	case *types.IntType:
		return int(t.BitSize)
	case *BFloat:
		return 16
	case *types.FloatType:
		switch t.Kind {
		case types.FloatKindHalf:
			return 16
		case types.FloatKindFloat:
			return 32
		case types.FloatKindDouble:
			return 64
		}
	case *types.VectorType:
		return int(t.Len) * Width(t.ElemType)
	}
	return 0
}

// sizeOf returns the store size in bytes of a scalar or vector type, 0 when it
// is not known here.
func sizeOf(t Type) int64 { return int64(Width(t)+7) / 8 }

// Vec returns the vector type <n x elem>, interned in m.
func (m *Module) Vec(n int, elem Type) *types.VectorType {
	for _, t := range m.vecs {
		if int(t.Len) == n && t.ElemType == elem {
			return t
		}
	}
	t := &types.VectorType{Len: uint64(n), ElemType: elem}
	m.vecs = append(m.vecs, t)
	return t
}

// Array returns the array type [n x elem], interned in m.
func (m *Module) Array(n int, elem Type) *types.ArrayType {
	for _, t := range m.arrays {
		if int(t.Len) == n && t.ElemType == elem {
			return t
		}
	}
	t := &types.ArrayType{Len: uint64(n), ElemType: elem}
	m.arrays = append(m.arrays, t)
	return t
}

// Struct returns the literal struct type of the given fields, interned in m.
func (m *Module) Struct(fields ...Type) *types.StructType {
next:
	for _, t := range m.structs {
		if len(t.Fields) != len(fields) {
			continue
		}
		for i, f := range fields {
			if t.Fields[i] != f {
				continue next
			}
		}
		return t
	}
	t := &types.StructType{Fields: append([]Type(nil), fields...)}
	m.structs = append(m.structs, t)
	return t
}
