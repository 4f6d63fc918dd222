package ir

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/slab"
	"github.com/tritonc/tritonc/core/work"
)

// Context owns what is unique within one compile: types, attributes,
// locations, and the tables of the dialects that are loaded. It dies with the
// compile; nothing is global.
type Context struct {
	types map[any]Type
	attrs map[any]Attribute
	locs  map[any]Location
	lists map[listCell]*listCell

	dialects map[string]*Dialect
	checks   []func(*Operation) *VerifyError // of the dialects
	unknown  map[string]*OpDef
	loader   Loader
	missing  map[string]error // why the loader has no dialect of that name

	ints    [65]*IntegerType // signless, by width
	floats  [numFloatKinds]*FloatType
	index   *IndexType
	none    *NoneType
	unit    *UnitAttr
	unknLoc *UnknownLoc
	meter   *work.Meter
	symbols map[namedSymbol]*Operation
	slabs   slabs
}

// slabs have what operations are made of.
type slabs struct {
	ops       slab.Of[Operation]
	uses      slab.Of[Use]
	useRefs   slab.Of[*Use]
	values    slab.Of[Value]
	valueRefs slab.Of[*Value]
	attrs     slab.Of[NamedAttr]
}

// NewContext makes a context with the given dialects loaded. Two dialects of
// one name, or two operations of one name, are a bug of the caller.
func NewContext(dialects ...*Dialect) *Context {
	c := &Context{
		types:    make(map[any]Type, 64),
		attrs:    make(map[any]Attribute, 64),
		locs:     make(map[any]Location, 256),
		lists:    make(map[listCell]*listCell, 64),
		dialects: make(map[string]*Dialect, len(dialects)),
		index:    &IndexType{},
		none:     &NoneType{},
		unit:     &UnitAttr{},
		unknLoc:  &UnknownLoc{},
		meter:    &work.Meter{},
	}
	for k := range c.floats {
		c.floats[k] = &FloatType{FloatKind(k)}
	}
	for _, d := range dialects {
		c.Load(d)
	}
	return c
}

// Meter is what the compile tells of what it visits. Until SetMeter it counts and
// stops nothing.
func (c *Context) Meter() *work.Meter { return c.meter }

// SetMeter has the compile that c belongs to counted, and stopped, by m.
func (c *Context) SetMeter(m *work.Meter) { c.meter = m }

// Load adds a dialect, for instance one that a backend declared. Loading the
// same *Dialect twice is harmless.
func (c *Context) Load(d *Dialect) {
	if have, ok := c.dialects[d.Name]; ok {
		if have == d {
			return
		}
		panic("BUG: ir: two dialects named " + d.Name)
	}
	c.dialects[d.Name] = d
	if d.Check != nil {
		c.checks = append(c.checks, d.Check)
	}
}

// A Loader finds a dialect that is not loaded. Its error says why there is none.
type Loader func(name string) (*Dialect, error)

// SetLoader makes c ask load, once per name, for dialects that are not loaded.
func (c *Context) SetLoader(load Loader) { c.loader, c.missing = load, map[string]error{} }

// Dialect returns the dialect of that name, which the loader may have to find, or
// nil.
func (c *Context) Dialect(name string) *Dialect {
	if d := c.dialects[name]; d != nil || c.loader == nil {
		return d
	}
	if _, asked := c.missing[name]; asked {
		return nil
	}
	d, err := c.loader(name)
	if err != nil {
		c.missing[name] = err
		return nil
	}
	c.Load(d)
	return d
}

// WhyMissing returns the loader's reason for having no dialect of that name, or
// nil if it was not asked.
func (c *Context) WhyMissing(name string) error { return c.missing[name] }

// OpDef returns the definition of a registered operation, or nil.
func (c *Context) OpDef(name string) *OpDef {
	dialect, _, _ := strings.Cut(name, ".")
	if d := c.Dialect(dialect); d != nil {
		return d.Op(name)
	}
	return nil
}

// UnregisteredOp returns the definition that stands for an operation no loaded
// dialect knows. It has no constraints and prints in generic form.
func (c *Context) UnregisteredOp(name string) *OpDef {
	if d, ok := c.unknown[name]; ok {
		return d
	}
	if c.unknown == nil {
		c.unknown = make(map[string]*OpDef)
	}
	d := &OpDef{Name: name, Unregistered: true}
	c.unknown[name] = d
	return d
}

// InternType returns the one type with this key, making it on first use. A key
// is a comparable value whose dynamic type belongs to the caller, which makes
// keys of different packages distinct.
func InternType[T Type](c *Context, key any, make func() T) T {
	if t, ok := c.types[key]; ok {
		return t.(T)
	}
	t := make()
	c.types[key] = t
	return t
}

// InternAttr is InternType for attributes.
func InternAttr[A Attribute](c *Context, key any, make func() A) A {
	if a, ok := c.attrs[key]; ok {
		return a.(A)
	}
	a := make()
	c.attrs[key] = a
	return a
}

func internLoc[L Location](c *Context, key any, make func() L) L {
	if l, ok := c.locs[key]; ok {
		return l.(L)
	}
	l := make()
	c.locs[key] = l
	return l
}

// ShapeKey packs dimensions into a comparable value for interning keys.
type ShapeKey struct {
	n    int
	dims [4]int64
	rest string // dimensions from the fifth on, as bytes
}

// KeyOf packs dims.
func KeyOf(dims []int64) ShapeKey {
	k := ShapeKey{n: len(dims)}
	if copy(k.dims[:], dims); len(dims) > len(k.dims) {
		b := make([]byte, 0, 8*(len(dims)-len(k.dims)))
		for _, d := range dims[len(k.dims):] {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		k.rest = string(b)
	}
	return k
}

// listCell is a cons cell; cells are interned, so that a list of interned things
// becomes one pointer to compare and hash, however long it is.
type listCell struct {
	head any
	tail *listCell
}

func listKey[T any](c *Context, items []T) *listCell {
	var list *listCell
	for i := len(items) - 1; i >= 0; i-- {
		cell := listCell{items[i], list}
		if list = c.lists[cell]; list == nil {
			list = &cell
			c.lists[cell] = list
		}
	}
	return list
}

func checkWidth(width int) {
	if width < 1 || width > 1<<24 {
		panic(fmt.Sprintf("BUG: ir: integer width %d", width))
	}
}
