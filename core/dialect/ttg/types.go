package ttg

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// MemDescType is !ttg.memdesc<…>: a view of a buffer in on-chip memory.
type MemDescType struct {
	Shape    []int64 // elements a dimension
	Elem     ir.Type
	Encoding ir.Attribute // of package encoding, or of a vendor's dialect
	Space    ir.Attribute // the memory space: SharedMemory, or a vendor's
	Mutable  bool
	// AllocShape is the shape of the whole allocation; equal to Shape unless
	// the view is a part.
	AllocShape []int64
}

// AsyncTokenType is !ttg.async.token: the order of asynchronous copies.
type AsyncTokenType struct{}

// SharedMemoryAttr is #ttg.shared_memory, the memory space of a CTA's shared memory.
type SharedMemoryAttr struct{}

func (*MemDescType) TypeDialect() string      { return "ttg" }
func (*AsyncTokenType) TypeDialect() string   { return "ttg" }
func (*SharedMemoryAttr) AttrDialect() string { return "ttg" }

type (
	memDescKey struct {
		shape      ir.ShapeKey
		elem       ir.Type
		enc, space ir.Attribute
		mutable    bool
		alloc      ir.ShapeKey
	}
	tokenKey  struct{}
	sharedKey struct{}
)

// MemDesc returns the type with these fields; a nil AllocShape means Shape.
func MemDesc(c *ir.Context, t MemDescType) *MemDescType {
	if t.AllocShape == nil {
		t.AllocShape = t.Shape
	}
	key := memDescKey{ir.KeyOf(t.Shape), t.Elem, t.Encoding, t.Space, t.Mutable, ir.KeyOf(t.AllocShape)}
	return ir.InternType(c, key, func() *MemDescType {
		t.Shape, t.AllocShape = slices.Clone(t.Shape), slices.Clone(t.AllocShape)
		return &t
	})
}

// AsyncToken returns the token type.
func AsyncToken(c *ir.Context) *AsyncTokenType {
	return ir.InternType(c, tokenKey{}, func() *AsyncTokenType { return &AsyncTokenType{} })
}

// SharedMemory returns the memory space of shared memory.
func SharedMemory(c *ir.Context) *SharedMemoryAttr {
	return ir.InternAttr(c, sharedKey{}, func() *SharedMemoryAttr { return &SharedMemoryAttr{} })
}

// Constraints of the ttg table.
var (
	MemDescLike = ir.Constraint{Name: "memory descriptor", Prefix: "!ttg.memdesc", Test: func(t ir.Type) bool {
		_, ok := t.(*MemDescType)
		return ok
	}}
	TokenLike = ir.Constraint{Name: "async token", Prefix: "!ttg.async.token", Test: func(t ir.Type) bool {
		_, ok := t.(*AsyncTokenType)
		return ok
	}}
)
