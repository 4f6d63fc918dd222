package eval

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Attributer is a value with attributes.
type Attributer interface {
	Attr(name string) (value any, ok bool)
}

// Caller is a value that compile-time Python may call.
type Caller interface {
	Call(s *Session, args []any, kwargs []Keyword) any
}

// Reprer is a value with its own text, as Python's repr gives it.
type Reprer interface{ Repr() string }

// Equaler is a value with its own ==.
type Equaler interface{ Equal(other any) bool }

// Operand is a value with arithmetic of its own: op with other on its right, or
// where it is reflected, on its left. It returns false for what it does not do.
type Operand interface {
	Binary(op syntax.Operator, other any, reflected bool) (value any, ok bool)
}

// AttrSetter is a value whose attributes can be set.
type AttrSetter interface {
	SetAttr(name string, v any) bool
}

// Base is a value that classes may have as their base, and that has attributes of
// its own for each of them.
type Base interface {
	ClassAttr(c *Class, name string) (value any, ok bool)
}

// Namer is a value whose type has a name of its own, for messages.
type Namer interface{ TypeName() string }

// Keyword is name=value in a call.
type Keyword struct {
	Name  string
	Value any
}

// Tuple is a Python tuple; Fields names the elements of a named tuple. In a
// kernel it is Triton's tuple, and elements may be run-time values.
type Tuple struct {
	Elems  []any
	Fields []string
	Class  *NamedTuple // nil for a plain tuple
	// Held marks a tuple of Python's that a kernel has in a constexpr: it may be
	// indexed and passed on, but is not a tuple of the language.
	Held bool
}

// NamedTuple is the class of named tuples with these fields.
type NamedTuple struct {
	Name     string
	Fields   []string
	Defaults []any // of the last fields
}

// List is a Python list: mutable, with identity.
type List struct{ Elems []any }

// Dict is a Python dict in insertion order.
type Dict struct {
	Keys, Values []any
	index        map[any]int // of keys that are comparable Go values
}

// Set is a Python set, in insertion order so that output is deterministic.
type Set struct{ Dict }

// Range is Python's range.
type Range struct{ Start, Stop, Step int64 }

// Slice is a slice object in a subscript; absent parts are nil.
type Slice struct{ Start, Stop, Step any }

// Constexpr is tl.constexpr(value) at module level: what allows a kernel to
// use a global. Kernels need none for constants.
type Constexpr struct{ Value any }

// Native is a Python function written in Go.
type Native struct {
	Name string
	Fn   func(s *Session, args []any, kwargs []Keyword) any
	// Global functions may be called in a kernel by a name of the module; others
	// only as module.name.
	Global bool
}

// Type is a class known to the evaluator: int, str, tl.tensor, …
type Type struct {
	Name string
	Has  func(v any) bool // isinstance
	New  func(s *Session, args []any, kwargs []Keyword) any
}

// Missing is a value out of a module that is not here.
type Missing struct {
	Name   string // dotted, as it can be asked for
	File   *File  // of the import
	Span   syntax.Span
	Reason string // why it is not here, or ""
	Help   string // the next step, where it is not to give its value
	// Launch marks a value that every launch has and the compiler does not know.
	// No condition on it is taken to be false.
	Launch bool
}

// Attr of something missing is missing too.
func (m *Missing) Attr(name string) (any, bool) { return m.part("." + name), true }

// Require fails if v is missing, and returns it otherwise.
func Require(v any) any {
	if m, ok := v.(*Missing); ok {
		m.Fail()
	}
	return v
}

// part is what is reached through m.
func (m *Missing) part(suffix string) *Missing {
	p := *m
	p.Name += suffix
	return &p
}

// Fail reports that m was needed.
func (m *Missing) Fail() {
	if m.Launch {
		panic(&Failure{Msg: "'" + m.Name + "' is needed here, but " + m.Reason, Launch: m.Name})
	}
	root, _, _ := strings.Cut(m.Name, ".")
	why := m.Reason
	if why == "" {
		why = "module '" + root + "' is not available to the compiler"
	}
	where := ""
	if m.File != nil {
		p, _ := m.File.Pos(m.Span)
		where = " (imported at " + p.String() + ")"
	}
	help := m.Help
	if help == "" {
		help = "give its value with --define " + m.Name + "=VALUE, or the folder that it comes from with -I or --python-path"
	}
	panic(&Failure{Msg: "'" + m.Name + "' is needed here, but " + why + where, Help: help, Missing: m})
}

// SameImport reports whether two values are missing because of one import.
func (m *Missing) SameImport(o *Missing) bool {
	if m == nil || o == nil || m.File != o.File {
		return false
	}
	return m.File == nil && m.Name == o.Name || m.File != nil && m.Span == o.Span
}

func (n *Native) Call(s *Session, args []any, kw []Keyword) any { return n.Fn(s, args, kw) }
func (n *Native) Repr() string                                  { return "<built-in function " + n.Name + ">" }

func (n *Native) TypeName() string { return "builtin_function_or_method" }

func (t *Type) Call(s *Session, args []any, kw []Keyword) any {
	if t.New == nil {
		Fail("cannot create '%s' instances", t.Name)
	}
	return t.New(s, args, kw)
}
func (t *Type) Repr() string     { return "<class '" + t.Name + "'>" }
func (t *Type) TypeName() string { return "type" }

// Attr gives __name__.
func (t *Type) Attr(name string) (any, bool) {
	if name == "__name__" {
		return t.Name, true
	}
	return nil, false
}

// Hold is v as a kernel has it in a constexpr.
func Hold(v any) any {
	if t, ok := v.(*Tuple); ok && !t.Held {
		c := *t
		c.Held = true
		return &c
	}
	return v
}

// Call makes a named tuple.
func (c *NamedTuple) Call(_ *Session, args []any, kw []Keyword) any {
	elems := make([]any, len(c.Fields))
	given := make([]bool, len(c.Fields))
	if len(args) > len(elems) {
		Fail("%s() takes %s but %d were given", c.Name, diag.Count(len(elems), "argument"), len(args))
	}
	for i, a := range args {
		elems[i], given[i] = a, true
	}
	for _, k := range kw {
		i := indexOf(c.Fields, k.Name)
		if i < 0 || given[i] {
			Fail("%s() got an unexpected or repeated keyword argument '%s'", c.Name, k.Name)
		}
		elems[i], given[i] = k.Value, true
	}
	first := len(c.Fields) - len(c.Defaults)
	for i := range elems {
		if !given[i] {
			if i < first {
				Fail("%s() missing argument '%s'", c.Name, c.Fields[i])
			}
			elems[i] = c.Defaults[i-first]
		}
	}
	return &Tuple{Elems: elems, Fields: c.Fields, Class: c}
}
func (c *NamedTuple) Repr() string     { return "<class '" + c.Name + "'>" }
func (c *NamedTuple) TypeName() string { return "type" }

// Attr gives a named tuple's field.
func (t *Tuple) Attr(name string) (any, bool) {
	if i := indexOf(t.Fields, name); i >= 0 {
		return t.Elems[i], true
	}
	return nil, false
}

// Len is the number of values.
func (r *Range) Len() int64 {
	switch {
	case r.Step > 0 && r.Start < r.Stop:
		return (r.Stop-r.Start-1)/r.Step + 1
	case r.Step < 0 && r.Start > r.Stop:
		return (r.Start-r.Stop-1)/-r.Step + 1
	}
	return 0
}

// NewTuple makes a plain tuple.
func NewTuple(elems ...any) *Tuple { return &Tuple{Elems: elems} }

// hashable reports whether k can be a Go map key with Python's ==.
func hashable(k any) (any, bool) {
	switch k := k.(type) {
	case bool:
		if k {
			return int64(1), true
		}
		return int64(0), true
	case float64:
		if i := int64(k); float64(i) == k && i != -1<<63 {
			return i, true
		}
		return k, true
	case nil, int64, string:
		return k, true
	}
	return nil, false
}

func (d *Dict) find(k any) int {
	if h, ok := hashable(k); ok {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	switch k.(type) {
	case *List, *Dict, *Set:
		raise("TypeError", "unhashable type: '%s'", TypeName(k))
	}
	for i, o := range d.Keys {
		if Equal(o, k) {
			return i
		}
	}
	return -1
}

// Get returns the value of key k.
func (d *Dict) Get(k any) (any, bool) {
	if i := d.find(k); i >= 0 {
		return d.Values[i], true
	}
	return nil, false
}

// Set adds or replaces the value of key k.
func (d *Dict) Set(k, v any) {
	if i := d.find(k); i >= 0 {
		d.Values[i] = v
		return
	}
	if h, ok := hashable(k); ok {
		if d.index == nil {
			d.index = make(map[any]int)
		}
		d.index[h] = len(d.Keys)
	}
	d.Keys = append(d.Keys, k)
	d.Values = append(d.Values, v)
}

// Delete removes key k and returns its value.
func (d *Dict) Delete(k any) (any, bool) {
	i := d.find(k)
	if i < 0 {
		return nil, false
	}
	v := d.Values[i]
	keys, values := append(d.Keys[:i:i], d.Keys[i+1:]...), append(d.Values[:i:i], d.Values[i+1:]...)
	*d = Dict{}
	for j := range keys {
		d.Set(keys[j], values[j])
	}
	return v, true
}

// TypeName is Python's name of v's type.
func TypeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case syntax.Bytes:
		return "bytes"
	case *Tuple:
		if v.Class != nil {
			return v.Class.Name
		}
		return "tuple"
	case *List:
		return "list"
	case *Dict:
		return "dict"
	case *Set:
		return "set"
	case *Range:
		return "range"
	case *Slice:
		return "slice"
	case *Constexpr:
		return "constexpr"
	case *Missing:
		return "missing"
	case Namer:
		return v.TypeName()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*")
}

func indexOf(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}
