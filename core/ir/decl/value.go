package decl

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// paramKind is the kind of a parameter.
type paramKind uint8

const (
	paramInt paramKind = iota
	paramBool
	paramInts
	paramAttr
	paramType
	paramTypes
	paramWord
)

var paramKinds = map[string]paramKind{
	"int": paramInt, "bool": paramBool, "ints": paramInts, "attr": paramAttr, "type": paramType,
	"types": paramTypes, "word": paramWord,
}

// valueDef is a declared attribute or type.
type valueDef struct {
	dialect string
	name    string
	alias   string
	braces  bool
	// positional: the parameters have no names in the text.
	positional bool
	params     []param
}

type param struct {
	name string
	kind paramKind
	def  *value // nil: the parameter must appear in the text
	// oneOf are the values that an int may have; none: any.
	oneOf []int64
	// words are those that a word may be; its value is the index.
	words []string
}

// value is a parameter's value.
type value struct {
	num  int64 // of an int; 0 or 1 of a bool; the index of a word
	ints []int64
	attr ir.Attribute
	typ  ir.Type // of types, the function that takes them
}

// fields is what attributes and types of a declared dialect have in common.
type fields struct {
	def    *valueDef
	values []value
}

// Name is the name after the dialect.
func (f *fields) Name() string { return f.def.name }

// Int is the value of the integer parameter of that name; a bool is 0 or 1. It
// panics if there is none.
func (f *fields) Int(name string) int64 { return f.get(name, paramInt, paramBool).num }

// Bool is the value of the bool parameter of that name.
func (f *fields) Bool(name string) bool { return f.get(name, paramBool, paramBool).num != 0 }

// Ints is the value of the list parameter of that name.
func (f *fields) Ints(name string) []int64 { return f.get(name, paramInts, paramInts).ints }

// Types are the values of the parameter of that name, a list of types.
func (f *fields) Types(name string) []ir.Type {
	return f.get(name, paramTypes, paramTypes).typ.(*ir.FunctionType).In
}

// Word is the value of the parameter of that name, one of the declaration's words.
func (f *fields) Word(name string) string {
	for i := range f.def.params {
		if p := &f.def.params[i]; p.name == name && p.kind == paramWord {
			return p.words[f.values[i].num]
		}
	}
	panic("BUG: decl: " + f.def.dialect + "." + f.def.name + " has no word " + name)
}

func (f *fields) get(name string, kinds ...paramKind) *value {
	for i := range f.def.params {
		if p := &f.def.params[i]; p.name == name && (p.kind == kinds[0] || p.kind == kinds[1]) {
			return &f.values[i]
		}
	}
	panic("BUG: decl: " + f.def.dialect + "." + f.def.name + " has no such parameter " + name)
}

// AttrValue is an attribute of a declared dialect.
type AttrValue struct{ fields }

// TypeValue is a type of a declared dialect.
type TypeValue struct{ fields }

// AttrDialect names the declared dialect.
func (a *AttrValue) AttrDialect() string { return a.def.dialect }

// TypeDialect names the declared dialect.
func (t *TypeValue) TypeDialect() string { return t.def.dialect }

type (
	attrKey struct {
		def  *valueDef
		nums string
		refs [4]any
	}
	typeKey attrKey
)

// keyOf packs values: numbers as bytes, attributes and types as they are. No
// declaration has more than four of those.
func keyOf(def *valueDef, values []value) attrKey {
	k := attrKey{def: def}
	var b []byte
	refs := 0
	for i, v := range values {
		switch def.params[i].kind {
		case paramAttr:
			k.refs[refs] = v.attr
			refs++
		case paramType, paramTypes:
			k.refs[refs] = v.typ
			refs++
		case paramInts:
			b = binary.AppendVarint(b, int64(len(v.ints)))
			for _, x := range v.ints {
				b = binary.AppendVarint(b, x)
			}
		default:
			b = binary.AppendVarint(b, v.num)
		}
	}
	k.nums = string(b)
	return k
}

// values takes the declared attributes or types.
func (l *loader) values(what string, decls []Attr) []*valueDef {
	defs := make([]*valueDef, len(decls))
	for i := range decls {
		a := &decls[i]
		l.where = what + " " + a.Name
		if !isName(a.Name) {
			l.fail("%q is not a name", a.Name)
		}
		for _, d := range defs[:i] {
			if d.name == a.Name {
				l.fail("declared twice")
			}
		}
		def := &valueDef{dialect: l.d.Name, name: a.Name, alias: a.Alias, braces: a.Braces, positional: a.Positional}
		if a.Positional && a.Braces {
			l.fail("positional parameters have no braces")
		}
		refs := 0
		for _, p := range a.Params {
			kind, ok := paramKinds[p.Kind]
			if !ok {
				l.fail("parameter %s: unknown kind %q; there are int, bool, ints, attr, type, types and word", p.Name, p.Kind)
			}
			if kind == paramAttr || kind == paramType || kind == paramTypes {
				if refs++; refs > 4 {
					l.fail("more than four parameters are attributes or types")
				}
			}
			if len(p.OneOf) > 0 && kind != paramInt {
				l.fail("parameter %s: oneOf is for an int", p.Name)
			}
			if (len(p.Words) > 0) != (kind == paramWord) {
				l.fail("parameter %s: words are for a word, which needs some", p.Name)
			}
			made := param{p.Name, kind, l.paramDefault(p, kind), p.OneOf, p.Words}
			if n := len(def.params); a.Positional && made.def == nil && n > 0 && def.params[n-1].def != nil {
				l.fail("parameter %s: a positional parameter after one with a default needs one, too", p.Name)
			}
			if made.def != nil && !made.allows(made.def.num) {
				l.fail("parameter %s: its default %d is not one of %v", p.Name, made.def.num, p.OneOf)
			}
			def.params = append(def.params, made)
		}
		defs[i] = def
	}
	return defs
}

func (l *loader) paramDefault(p Param, kind paramKind) *value {
	if len(p.Default) == 0 {
		return nil
	}
	v := &value{}
	var err error
	switch kind {
	case paramInt:
		err = json.Unmarshal(p.Default, &v.num)
	case paramBool:
		var b bool
		if err = json.Unmarshal(p.Default, &b); b {
			v.num = 1
		}
	case paramInts:
		err = json.Unmarshal(p.Default, &v.ints)
	default:
		l.fail("parameter %s: an attribute, a type or a word has no default", p.Name)
	}
	if err != nil {
		l.fail("parameter %s: default: %v", p.Name, err)
	}
	return v
}

// hooks parse and print the declared attributes and types.
func (l *loader) hooks() *text.Dialect {
	attrs, types := l.attrs, l.types
	return &text.Dialect{
		ParseType: func(p *text.Parser, name string) ir.Type {
			def := find(types, name)
			if def == nil {
				return nil
			}
			vs := def.parse(p)
			return ir.InternType(p.Context(), typeKey(keyOf(def, vs)), func() *TypeValue { return &TypeValue{fields{def, vs}} })
		},
		PrintType: func(w *text.Printer, t ir.Type) { t.(*TypeValue).print(w) },
		ParseAttr: func(p *text.Parser, name string) ir.Attribute {
			def := find(attrs, name)
			if def == nil {
				return nil
			}
			return def.attr(p.Context(), def.parse(p))
		},
		PrintAttr: func(w *text.Printer, a ir.Attribute) { a.(*AttrValue).print(w) },
		Alias:     func(a ir.Attribute) string { return a.(*AttrValue).def.alias },
	}
}

func (d *valueDef) attr(c *ir.Context, vs []value) *AttrValue {
	return ir.InternAttr(c, keyOf(d, vs), func() *AttrValue { return &AttrValue{fields{d, vs}} })
}

func find(defs []*valueDef, name string) *valueDef {
	for _, d := range defs {
		if d.name == name {
			return d
		}
	}
	return nil
}

// parse reads <name = value, …>, in braces where the declaration says so. An
// attribute without parameters has nothing after its name.
func (d *valueDef) parse(p *text.Parser) []value {
	vs := make([]value, len(d.params))
	if len(d.params) == 0 {
		return vs
	}
	if d.positional {
		p.Expect("<")
		for i := range d.params {
			if def := d.params[i].def; def != nil && p.At(">") {
				vs[i] = *def
				continue
			}
			if i > 0 {
				p.Expect(",")
			}
			vs[i] = d.params[i].parse(p)
		}
		p.Expect(">")
		return vs
	}
	seen := make([]bool, len(d.params))
	pos := p.Pos()
	field := func(name string) bool {
		for i := range d.params {
			if d.params[i].name == name {
				vs[i], seen[i] = d.params[i].parse(p), true
				return true
			}
		}
		return false
	}
	if d.braces {
		p.Expect("<")
		p.Fields('{', '}', field)
		p.Expect(">")
	} else {
		p.Fields('<', '>', field)
	}
	for i := range d.params {
		switch {
		case seen[i]:
		case d.params[i].def == nil:
			p.FailAt(pos, "#%s.%s: '%s' is missing", d.dialect, d.name, d.params[i].name)
		default:
			vs[i] = *d.params[i].def
		}
	}
	return vs
}

func (pa *param) parse(p *text.Parser) (v value) {
	switch pa.kind {
	case paramInt:
		pos := p.Pos()
		v.num = p.IntBelow(math.MaxInt32, pa.name)
		if !pa.allows(v.num) {
			p.FailAt(pos, "%s must be one of %v, not %d", pa.name, pa.oneOf, v.num)
		}
	case paramBool:
		if p.Bool() {
			v.num = 1
		}
	case paramInts:
		v.ints = p.Ints()
	case paramAttr:
		v.attr = p.Attr()
	case paramType:
		v.typ = p.Type()
	case paramTypes:
		types := []ir.Type{}
		p.List('[', ']', func() { types = append(types, p.Type()) })
		v.typ = p.Context().Func(types, nil)
	case paramWord:
		pos := p.Pos()
		word := p.Keyword("one of " + strings.Join(pa.words, ", "))
		if v.num = int64(slices.Index(pa.words, word)); v.num < 0 {
			p.FailAt(pos, "%s must be one of %s, not %s", pa.name, strings.Join(pa.words, ", "), word)
		}
	}
	return v
}

// allows reports whether an int may have the value n.
func (pa *param) allows(n int64) bool { return len(pa.oneOf) == 0 || slices.Contains(pa.oneOf, n) }

func (f *fields) print(w *text.Printer) {
	d := f.def
	w.Str(d.name)
	if len(d.params) == 0 {
		return
	}
	w.Str("<")
	if d.braces {
		w.Str("{")
	}
	open := false
	for i := range d.params {
		p, v := &d.params[i], &f.values[i]
		if p.def != nil && p.isDefault(v) && !(d.positional && f.given(i+1)) {
			continue
		}
		if open {
			w.Str(", ")
		}
		open = true
		if !d.positional {
			w.Str(p.name)
			w.Str(" = ")
		}
		p.print(w, v)
	}
	if d.braces {
		w.Str("}")
	}
	w.Str(">")
}

// given reports whether a parameter from number i on has another value than its default.
func (f *fields) given(i int) bool {
	for ; i < len(f.values); i++ {
		if p := &f.def.params[i]; p.def == nil || !p.isDefault(&f.values[i]) {
			return true
		}
	}
	return false
}

func (pa *param) isDefault(v *value) bool {
	if v.num != pa.def.num || len(v.ints) != len(pa.def.ints) {
		return false
	}
	for i, x := range v.ints {
		if x != pa.def.ints[i] {
			return false
		}
	}
	return true
}

func (pa *param) print(w *text.Printer, v *value) {
	switch pa.kind {
	case paramInt:
		w.Int(v.num)
	case paramBool:
		w.Bool(v.num != 0)
	case paramInts:
		w.Str("[")
		for i, x := range v.ints {
			if i > 0 {
				w.Str(", ")
			}
			w.Int(x)
		}
		w.Str("]")
	case paramAttr:
		w.Attr(v.attr)
	case paramType:
		w.Type(v.typ)
	case paramTypes:
		w.Str("[")
		w.Types(v.typ.(*ir.FunctionType).In)
		w.Str("]")
	case paramWord:
		w.Str(pa.words[v.num])
	}
}
