package ir

import (
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
)

// Attribute is a compile-time constant attached to an operation or type.
// Attributes are interned: compare with ==. Dialects add their own (layout
// encodings, for instance) through InternAttr.
type Attribute interface {
	// AttrDialect names the dialect whose hooks print the attribute; "builtin"
	// for those of this package.
	AttrDialect() string
}

// UnitAttr carries no value: its presence is the fact.
type UnitAttr struct{}

// IntegerAttr is an integer with its type; true and false are of type i1.
// Value holds the bits sign-extended from the type's width (i1 true is 1).
type IntegerAttr struct {
	Type  Type // *IntegerType or *IndexType
	Value int64
}

// FloatAttr is a floating point number by its exact bits, in the format of Type.
type FloatAttr struct {
	Type *FloatType
	Bits uint64
}

// StringAttr is a string of bytes.
type StringAttr struct{ Value string }

// TypeAttr holds a type.
type TypeAttr struct{ Type Type }

// ArrayAttr is a list of attributes.
type ArrayAttr struct{ Elems []Attribute }

// DictAttr is a sorted list of named attributes.
type DictAttr struct{ Entries []NamedAttr }

// DenseArrayAttr is array<iN: …>; floats are held by their bits.
type DenseArrayAttr struct {
	Elem   Type // *IntegerType or *FloatType
	Values []int64
}

// DenseElementsAttr is dense<…> : tensor<…>. Values holds each element's bits,
// row-major; a splat holds one.
type DenseElementsAttr struct {
	Type   Type // shaped: *TensorType or a vector of another dialect
	Values []uint64
	splat  bool
}

// IsSplat reports whether all elements are Values[0].
func (a *DenseElementsAttr) IsSplat() bool { return a.splat }

// DenseResourceAttr is the elements of a tensor that a resource at the end of the file
// holds, or nothing does: MLIR writes dense_resource<__elided__> for what it leaves out.
type DenseResourceAttr struct {
	Name string
	Type Type
}

// SymbolRefAttr is @root::@nested…
type SymbolRefAttr struct {
	Root   string
	Nested []string
}

// OpaqueAttr is an attribute of a dialect that is not loaded, kept as text.
type OpaqueAttr struct {
	Dialect string
	Text    string // all after "#dialect."
}

func (*UnitAttr) AttrDialect() string          { return "builtin" }
func (*IntegerAttr) AttrDialect() string       { return "builtin" }
func (*FloatAttr) AttrDialect() string         { return "builtin" }
func (*StringAttr) AttrDialect() string        { return "builtin" }
func (*TypeAttr) AttrDialect() string          { return "builtin" }
func (*ArrayAttr) AttrDialect() string         { return "builtin" }
func (*DictAttr) AttrDialect() string          { return "builtin" }
func (*DenseArrayAttr) AttrDialect() string    { return "builtin" }
func (*DenseElementsAttr) AttrDialect() string { return "builtin" }
func (*DenseResourceAttr) AttrDialect() string { return "builtin" }
func (*SymbolRefAttr) AttrDialect() string     { return "builtin" }
func (a *OpaqueAttr) AttrDialect() string      { return a.Dialect }

// NamedAttr is an attribute with its name on an operation or in a dictionary.
type NamedAttr struct {
	Name string
	Attr Attribute
}

type (
	intAttrKey struct {
		typ   Type
		value int64
	}
	floatAttrKey struct {
		typ  *FloatType
		bits uint64
	}
	stringAttrKey struct{ value string }
	typeAttrKey   struct{ typ Type }
	arrayAttrKey  struct{ elems *listCell }
	dictAttrKey   struct{ entries *listCell }
	denseArrKey   struct {
		elem   Type
		values ShapeKey
	}
	denseElemsKey struct {
		typ    Type
		splat  bool
		values string
	}
	symbolKey struct {
		nested int
		path   string
	}
	denseResourceKey struct {
		name string
		typ  Type
	}
	opaqueAttrKey struct{ dialect, text string }
)

// Unit returns the unit attribute.
func (c *Context) Unit() *UnitAttr { return c.unit }

// IntAttr returns value : typ. The value is truncated to the type's width and
// sign-extended, except that i1 holds 0 or 1.
func (c *Context) IntAttr(typ Type, value int64) *IntegerAttr {
	value = canonical(typ, value)
	return InternAttr(c, intAttrKey{typ, value}, func() *IntegerAttr { return &IntegerAttr{typ, value} })
}

// canonical returns the one value that stands for all that are the same in the
// bits of an integer type: 0 or 1, or what the type's sign says. Values of other
// types stay.
func canonical(typ Type, value int64) int64 {
	it, ok := typ.(*IntegerType)
	switch {
	case !ok:
	case it.Width == 1 && it.Sign == Signless:
		return value & 1
	case it.Width < 64 && it.Sign == Unsigned:
		return value & (1<<it.Width - 1)
	case it.Width < 64:
		return value << (64 - it.Width) >> (64 - it.Width)
	}
	return value
}

// integerBits masks the bits of an integer type; all of other types.
func integerBits(typ Type) uint64 {
	if it, ok := typ.(*IntegerType); ok && it.Width < 64 {
		return 1<<it.Width - 1
	}
	return ^uint64(0)
}

// I32Attr returns value : i32.
func (c *Context) I32Attr(value int64) *IntegerAttr { return c.IntAttr(c.I32(), value) }

// I64Attr returns value : i64.
func (c *Context) I64Attr(value int64) *IntegerAttr { return c.IntAttr(c.I64(), value) }

// BoolAttr returns true or false, of type i1.
func (c *Context) BoolAttr(value bool) *IntegerAttr {
	if value {
		return c.IntAttr(c.I1(), 1)
	}
	return c.IntAttr(c.I1(), 0)
}

// FloatBits returns the float with these bits in the format of typ.
func (c *Context) FloatBits(typ *FloatType, bits uint64) *FloatAttr {
	return InternAttr(c, floatAttrKey{typ, bits}, func() *FloatAttr { return &FloatAttr{typ, bits} })
}

// StringAttr returns the string attribute.
func (c *Context) StringAttr(s string) *StringAttr {
	return InternAttr(c, stringAttrKey{s}, func() *StringAttr { return &StringAttr{s} })
}

// TypeAttr returns the attribute that holds t.
func (c *Context) TypeAttr(t Type) *TypeAttr {
	return InternAttr(c, typeAttrKey{t}, func() *TypeAttr { return &TypeAttr{t} })
}

// ArrayAttr returns the list of elems.
func (c *Context) ArrayAttr(elems ...Attribute) *ArrayAttr {
	return InternAttr(c, arrayAttrKey{listKey(c, elems)}, func() *ArrayAttr { return &ArrayAttr{slices.Clone(elems)} })
}

// DictAttr returns the dictionary of entries, which it sorts by name.
func (c *Context) DictAttr(entries ...NamedAttr) *DictAttr {
	entries = slices.Clone(entries)
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return InternAttr(c, dictAttrKey{listKey(c, entries)}, func() *DictAttr { return &DictAttr{entries} })
}

// Get returns the entry of that name, or nil.
func (a *DictAttr) Get(name string) Attribute {
	for _, e := range a.Entries {
		if e.Name == name {
			return e.Attr
		}
	}
	return nil
}

// DenseArray returns array<elem: values…>.
func (c *Context) DenseArray(elem Type, values ...int64) *DenseArrayAttr {
	for i, v := range values {
		if canonical(elem, v) != v { // seldom: the caller's slice stays as it is
			values = slices.Clone(values)
			for j := i; j < len(values); j++ {
				values[j] = canonical(elem, values[j])
			}
			break
		}
	}
	return InternAttr(c, denseArrKey{elem, KeyOf(values)}, func() *DenseArrayAttr {
		return &DenseArrayAttr{elem, slices.Clone(values)}
	})
}

// I32Array returns array<i32: values…>.
func (c *Context) I32Array(values ...int64) *DenseArrayAttr { return c.DenseArray(c.I32(), values...) }

// DenseSplat returns dense<bits> : typ, all elements equal. Bits above the width of
// an integer element do not count.
func (c *Context) DenseSplat(typ Type, bits uint64) *DenseElementsAttr {
	return c.dense(typ, []uint64{bits & integerBits(ElemOf(typ))}, true)
}

// DenseElements returns dense<[…]> : typ with each element's bits, row-major.
// Elements that are all equal make a splat. Bits above the width of an integer
// element do not count.
func (c *Context) DenseElements(typ Type, values []uint64) *DenseElementsAttr {
	mask := integerBits(ElemOf(typ))
	for i, v := range values {
		if v&mask != v { // seldom: the caller's slice stays as it is
			values = slices.Clone(values)
			for j := i; j < len(values); j++ {
				values[j] &= mask
			}
			break
		}
	}
	splat := len(values) > 0
	for _, v := range values {
		splat = splat && v == values[0]
	}
	if splat {
		values = values[:1]
	}
	return c.dense(typ, values, splat)
}

func (c *Context) dense(typ Type, values []uint64, splat bool) *DenseElementsAttr {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return InternAttr(c, denseElemsKey{typ, splat, string(b)}, func() *DenseElementsAttr {
		return &DenseElementsAttr{typ, slices.Clone(values), splat}
	})
}

// SymbolRef returns @root::@nested…
func (c *Context) SymbolRef(root string, nested ...string) *SymbolRefAttr {
	path := root // with lengths, since a name may have any character
	for _, name := range nested {
		path = strconv.Itoa(len(path)) + ":" + path + name
	}
	key := symbolKey{len(nested), path}
	return InternAttr(c, key, func() *SymbolRefAttr { return &SymbolRefAttr{root, slices.Clone(nested)} })
}

// DenseResource returns the elements of the type t that the resource of that name holds.
func (c *Context) DenseResource(name string, t Type) *DenseResourceAttr {
	return InternAttr(c, denseResourceKey{name, t}, func() *DenseResourceAttr { return &DenseResourceAttr{name, t} })
}

// OpaqueAttr returns the attribute of an unloaded dialect.
func (c *Context) OpaqueAttr(dialect, text string) *OpaqueAttr {
	return InternAttr(c, opaqueAttrKey{dialect, text}, func() *OpaqueAttr { return &OpaqueAttr{dialect, text} })
}
