package decl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// loader reads one declaration into a dialect. where says which part is in
// hand, for errors.
type loader struct {
	d     *Dialect
	known []*ir.Dialect
	where string
	enums map[string]*Enum
	attrs []*valueDef
	types []*valueDef
}

// failure carries the first mistake out of the loader.
type failure struct{ err error }

func (l *loader) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("dialect declaration %s: %s: %s", l.d.Name, l.where, fmt.Sprintf(format, args...))})
}

// Load makes the dialect that data, JSON of a Dialect, declares. known are the
// dialects whose constraints it may name. The error says which operation and
// what is wrong with it.
func Load(data []byte, known ...*ir.Dialect) (*ir.Dialect, error) {
	d, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return New(d, known...)
}

// Parse reads a declaration. What is in it New checks.
func Parse(data []byte) (*Dialect, error) {
	d := &Dialect{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(d); err != nil {
		return nil, fmt.Errorf("dialect declaration: %w", err)
	}
	if dec.More() {
		return nil, fmt.Errorf("dialect declaration: something follows the JSON object")
	}
	return d, nil
}

// New is Load for a declaration that is there already. It does not change d.
func New(d *Dialect, known ...*ir.Dialect) (dialect *ir.Dialect, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			dialect, err = nil, r.err
		default:
			panic(r)
		}
	}()
	l := &loader{d: d, known: known, enums: map[string]*Enum{}}
	return l.dialect(), nil
}

func (l *loader) dialect() *ir.Dialect {
	d := l.d
	l.where = "name"
	if !isName(d.Name) {
		l.fail("%q is not a name", d.Name)
	}
	for i := range d.Enums {
		e := &d.Enums[i]
		l.where = "enum " + e.Name
		if l.enums[e.Name] != nil {
			l.fail("declared twice")
		}
		if len(e.Cases) == 0 {
			l.fail("no cases")
		}
		if e.Width < 0 || e.Width > 64 {
			l.fail("width must be from 1 to 64")
		}
		l.enums[e.Name] = e
	}
	l.types = l.values("type", d.Types)
	l.attrs = l.values("attribute", d.Attrs)
	out := &ir.Dialect{Name: d.Name, Doc: d.Doc, Asm: l.hooks()}
	seen := map[string]bool{}
	for i := range d.Ops {
		o := &d.Ops[i]
		l.where = "operation " + o.Name
		prefix, rest, _ := strings.Cut(o.Name, ".")
		if prefix != d.Name || rest == "" {
			l.fail("its name must begin with %q", d.Name+".")
		}
		if seen[o.Name] {
			l.fail("declared twice")
		}
		seen[o.Name] = true
		out.Ops = append(out.Ops, l.op(o))
	}
	return out
}

// isName reports whether s is letters, digits and underscores, a letter first.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (l *loader) op(o *Op) *ir.OpDef {
	d := &ir.OpDef{Name: o.Name, Doc: o.Doc, Asm: o.Asm, Successors: o.Successors, Effects: l.effects(o.Effects)}
	if o.Successors < 0 {
		l.fail("successors must not be negative")
	}
	many := 0
	for _, g := range o.Operands {
		a := l.arity(g)
		if a != ir.One {
			many++
		}
		d.Operands = append(d.Operands, ir.Operand{Name: g.Name, Type: l.constraint(g.Type), Arity: a})
	}
	for _, n := range o.Traits {
		t, ok := traits[n]
		if !ok {
			l.fail("unknown trait %q", n)
		}
		d.Traits |= t
	}
	if many > 1 && !d.Has(ir.SegmentedOperands) {
		l.fail("more than one group of operands is optional or variadic: the trait \"segments\" is needed")
	}
	many = 0
	for _, g := range o.Results {
		a := l.arity(g)
		if a != ir.One {
			many++
		}
		d.Results = append(d.Results, ir.Result{Name: g.Name, Type: l.constraint(g.Type), Arity: a})
	}
	if many > 1 {
		l.fail("more than one group of results is optional or variadic")
	}
	for i := range o.Attrs {
		d.Attrs = append(d.Attrs, l.opAttr(&o.Attrs[i]))
	}
	for _, r := range o.Regions {
		def := ir.RegionDef{Name: r.Name, Variadic: r.Variadic}
		if r.SingleBlock {
			def.MaxBlocks = 1
		}
		d.Regions = append(d.Regions, def)
	}
	l.unique(o)
	d.Infer = l.infer(o.ResultTypes, d)
	if names := o.ResultNames; len(names) > 0 {
		if len(names) != len(o.Results) {
			l.fail("%d resultNames for %s", len(names), diag.Count(len(o.Results), "result"))
		}
		d.ResultName = func(op *ir.Operation, i int) string {
			first := 0 // result of the group
			for k, g := range d.Results {
				if first == i {
					return names[k]
				}
				if first++; g.Arity != ir.One {
					first += op.NumResults() - len(d.Results)
				}
			}
			return ""
		}
	}
	if err := text.CheckForm(d); err != nil {
		l.fail("asm: %v", err)
	}
	return d
}

// unique checks that no two parts of o that a format can name have one name.
func (l *loader) unique(o *Op) {
	seen := map[string]bool{}
	check := func(name string) {
		if !isName(name) {
			l.fail("%q is not a name", name)
		}
		if seen[name] {
			l.fail("two parts are named %q", name)
		}
		seen[name] = true
	}
	for _, g := range o.Operands {
		check(g.Name)
	}
	for _, a := range o.Attrs {
		check(a.Name)
	}
	for _, r := range o.Regions {
		check(r.Name)
	}
	for _, g := range o.Results {
		check(g.Name)
	}
}

func (l *loader) arity(g Group) ir.Arity {
	switch g.Arity {
	case "":
		return ir.One
	case "optional":
		return ir.Optional
	case "variadic":
		return ir.Variadic
	}
	l.fail("%s: unknown arity %q; there are \"optional\" and \"variadic\"", g.Name, g.Arity)
	return 0
}

func (l *loader) opAttr(a *OpAttr) ir.AttrDef {
	kind, ok := attrKinds[a.Kind]
	if !ok {
		l.fail("attribute %s: unknown kind %q", a.Name, a.Kind)
	}
	def := ir.AttrDef{Name: a.Name, Kind: kind, Optional: a.Optional || kind == ir.AttrUnit}
	if kind == ir.AttrEnum {
		e := l.enums[a.Enum]
		if e == nil {
			l.fail("attribute %s: unknown enum %q", a.Name, a.Enum)
		}
		def.Width = e.Width
		for _, c := range e.Cases {
			def.Enum = append(def.Enum, ir.EnumCase{Keyword: c.Keyword, Value: c.Value})
		}
	}
	if len(a.Default) > 0 {
		def.Optional = true
		def.Default = l.defaultOf(a, &def)
	}
	return def
}

// defaultOf reads a default: true or false for a bool, a number for an integer,
// a keyword for an enumeration, a list of numbers, a string.
func (l *loader) defaultOf(a *OpAttr, def *ir.AttrDef) func(*ir.Context) ir.Attribute {
	read := func(v any) {
		if err := json.Unmarshal(a.Default, v); err != nil {
			l.fail("attribute %s: default: %v", a.Name, err)
		}
	}
	switch def.Kind {
	case ir.AttrBool:
		var v bool
		read(&v)
		return func(c *ir.Context) ir.Attribute { return c.BoolAttr(v) }
	case ir.AttrI32, ir.AttrI64:
		var v int64
		read(&v)
		return func(c *ir.Context) ir.Attribute {
			if def.Kind == ir.AttrI32 {
				return c.I32Attr(v)
			}
			return c.I64Attr(v)
		}
	case ir.AttrEnum:
		var kw string
		read(&kw)
		for _, e := range def.Enum {
			if e.Keyword == kw {
				width := def.Width
				if width == 0 {
					width = 32
				}
				return func(c *ir.Context) ir.Attribute { return c.IntAttr(c.Int(width), e.Value) }
			}
		}
		l.fail("attribute %s: the enum has no case %q", a.Name, kw)
	case ir.AttrDenseI32, ir.AttrDenseI64:
		var vs []int64
		read(&vs)
		return func(c *ir.Context) ir.Attribute {
			if def.Kind == ir.AttrDenseI32 {
				return c.I32Array(vs...)
			}
			return c.DenseArray(c.I64(), vs...)
		}
	case ir.AttrString:
		var s string
		read(&s)
		return func(c *ir.Context) ir.Attribute { return c.StringAttr(s) }
	}
	l.fail("attribute %s: an attribute of kind %q has no default", a.Name, a.Kind)
	return nil
}
