package text

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// Attr reads an attribute.
func (p *Parser) Attr() ir.Attribute {
	p.enter()
	a := p.attr(nil)
	p.leave()
	return a
}

// TypedAttr reads an attribute whose type, where it has one, is t and does not
// are in the text.
func (p *Parser) TypedAttr(t ir.Type) ir.Attribute {
	p.enter()
	a := p.attr(t)
	p.leave()
	return a
}

func (p *Parser) attr(typ ir.Type) ir.Attribute {
	switch p.tok.kind {
	case tokHash:
		return p.hashAttr()
	case tokString:
		return p.ctx.StringAttr(p.Quoted())
	case tokSymbol:
		return p.symbolRef()
	case tokInt, tokFloat:
		return p.number(typ)
	case tokBang:
		return p.ctx.TypeAttr(p.Type())
	case tokPunct:
		switch p.tok.ch {
		case '-':
			return p.number(typ)
		case '[':
			var elems []ir.Attribute
			p.List('[', ']', func() { elems = append(elems, p.Attr()) })
			return p.ctx.ArrayAttr(elems...)
		case '{':
			return p.ctx.DictAttr(p.Dict()...)
		case '(':
			return p.ctx.TypeAttr(p.Type())
		}
	case tokIdent:
		switch p.text() {
		case "true", "false":
			return p.ctx.BoolAttr(p.Bool())
		case "unit":
			p.advance()
			return p.ctx.Unit()
		case "dense":
			return p.dense()
		case "array":
			return p.denseArray()
		case "dense_resource":
			return p.denseResource()
		case "loc", "affine_map", "affine_set", "sparse", "strided", "distinct":
			return p.opaqueBuiltin()
		}
		return p.ctx.TypeAttr(p.Type())
	}
	p.expected("an attribute")
	return nil
}

// opaqueBuiltin keeps a builtin attribute that the IR has no use for as text.
func (p *Parser) opaqueBuiltin() ir.Attribute {
	pos := p.tok.pos
	name := p.text()
	p.advance()
	switch {
	case p.atPunct('<'):
		p.skipBalanced()
	default:
		p.FailAt(Pos(pos), "expected an attribute, found '%s'", name)
	}
	return p.ctx.OpaqueAttr("builtin", p.src[pos:p.prev])
}

// maxOpaque bounds the text of an opaque attribute whose aliases are written out.
const maxOpaque = 1 << 16

// opaqueBody is the text of an attribute's body, from '<' to the matching '>'. The
// aliases in it belong to this file and are written out.
func (p *Parser) opaqueBody() string {
	var text strings.Builder
	from := p.tok.pos
	p.balanced(func() bool {
		if p.tok.kind != tokHash || p.aliases[p.text()[1:]] == nil || p.beforeAngle() {
			return false
		}
		text.WriteString(p.src[from:p.tok.pos])
		from = p.tok.end
		p.writeAlias(&text, p.resolve())
		return true
	})
	text.WriteString(p.src[from:p.prev])
	return text.String()
}

// beforeAngle reports whether '<' follows at once: #name<…> is an attribute of the dialect
// name, even if there is an alias #name.
func (p *Parser) beforeAngle() bool {
	return p.tok.end < len(p.src) && p.src[p.tok.end] == '<'
}

// writeAlias writes what an alias stands for, the aliases in it written out, too.
func (p *Parser) writeAlias(text *strings.Builder, a *alias) {
	if attr, ok := a.attr.(*ir.OpaqueAttr); ok { // its text has none
		text.WriteString(AttrString(p.ctx, attr))
		p.checkOpaque(text)
		return
	}
	tok, off, prev := p.tok, p.off, p.prev
	p.jump(a.pos)
	from := p.tok.pos
	for p.tok.pos < a.end {
		if p.tok.kind == tokHash && !p.beforeAngle() {
			if inner := p.aliases[p.text()[1:]]; inner != nil {
				text.WriteString(p.src[from:p.tok.pos])
				from = p.tok.end
				p.writeAlias(text, inner)
			}
		}
		p.advance()
	}
	text.WriteString(p.src[from:a.end])
	p.tok, p.off, p.prev = tok, off, prev
	p.checkOpaque(text)
}

// checkOpaque refuses a text that grows out of bounds.
func (p *Parser) checkOpaque(text *strings.Builder) {
	if text.Len() > maxOpaque {
		p.Fail("an attribute of more than %d bytes", maxOpaque)
	}
}

func (p *Parser) hashAttr() ir.Attribute {
	pos := p.tok.pos
	name := p.text()[1:]
	dialect, mnemonic, ok := strings.Cut(name, ".")
	if !ok && p.beforeAngle() {
		return p.wholeAttr(dialect)
	}
	if !ok || p.aliases[name] != nil {
		a := p.resolve()
		if a.attr == nil {
			p.FailAt(Pos(pos), "#%s is a location, expected an attribute", name)
		}
		return a.attr
	}
	h := hooksOf(p.ctx.Dialect(dialect))
	if h == nil || h.ParseAttr == nil {
		p.checkNamespace(dialect)
		p.advance()
		body := ""
		if p.atPunct('<') && p.tok.pos == p.prev {
			body = p.opaqueBody()
		}
		return p.ctx.OpaqueAttr(dialect, mnemonic+body)
	}
	p.advance()
	return p.ownAttr(h, Pos(pos), dialect, mnemonic)
}

// ownAttr reads what follows the name of an attribute that a dialect parses.
func (p *Parser) ownAttr(h *Dialect, pos Pos, dialect, mnemonic string) ir.Attribute {
	a := h.ParseAttr(p, mnemonic)
	if a == nil {
		p.FailAt(pos, "dialect '%s' has no attribute '%s'", dialect, mnemonic)
	}
	return a
}

// wholeAttr reads an attribute in the form that begins with the dialect alone,
// #dialect<name<…>>, in which those are printed whose body is not a name and one more pair
// of brackets.
func (p *Parser) wholeAttr(dialect string) ir.Attribute {
	p.checkNamespace(dialect)
	p.advance()
	if h := hooksOf(p.ctx.Dialect(dialect)); h != nil && h.ParseAttr != nil {
		p.Expect("<")
		pos := p.Pos()
		a := p.ownAttr(h, pos, dialect, p.Keyword("the name of an attribute"))
		p.Expect(">")
		return a
	}
	body := p.opaqueBody()
	if short := body[1 : len(body)-1]; isShort(short) {
		body = short
	}
	return p.ctx.OpaqueAttr(dialect, body)
}

// checkNamespace refuses a dialect that no registered one can be: #0 is an alias, so an
// attribute of a dialect 0 could not be read back.
func (p *Parser) checkNamespace(dialect string) {
	valid := dialect != ""
	for i, c := range dialect {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		valid = valid && (letter || i > 0 && (c == '$' || c >= '0' && c <= '9'))
	}
	if !valid {
		p.Fail("invalid dialect namespace '%s'", dialect)
	}
}

// isShort reports whether the body of an attribute is a name, or one with a pair of
// brackets around all the rest.
func isShort(body string) bool {
	name := strings.IndexFunc(body, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	switch {
	case name < 0:
		return body != ""
	case name == 0 || body[name] != '<':
		return false
	}
	depth := 0
	for i := name; i < len(body); i++ {
		switch body[i] {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return i == len(body)-1
			}
		}
	}
	return false
}

func (p *Parser) symbolRef() ir.Attribute {
	root := p.Symbol()
	var nested []string
	for p.atPunct(':') && strings.HasPrefix(p.src[p.tok.pos:], "::@") {
		p.advance()
		p.advance()
		nested = append(nested, p.Symbol())
	}
	return p.ctx.SymbolRef(root, nested...)
}

// number reads an integer or float with its type; the type is typ where that is
// not nil, else it follows or is i64 or f64.
func (p *Parser) number(typ ir.Type) ir.Attribute {
	pos := p.Pos()
	neg := p.optPunct('-')
	lit, k := p.text(), p.tok.kind
	if k != tokInt && k != tokFloat {
		p.expected("a number")
	}
	p.advance()
	if typ == nil {
		switch {
		case p.optPunct(':'):
			typ = p.Type()
		case k == tokInt:
			typ = p.ctx.I64()
		default:
			typ = p.ctx.F64()
		}
	}
	switch t := typ.(type) {
	case *ir.IntegerType, *ir.IndexType:
		if k == tokFloat {
			p.FailAt(pos, "a floating point number cannot have an integer type")
		}
		return p.ctx.IntAttr(typ, int64(p.intBits(pos, lit, neg, typ)))
	case *ir.FloatType:
		return p.ctx.FloatBits(t, p.floatBits(pos, lit, k, neg, t))
	}
	p.FailAt(pos, "a number must have an integer, index or float type")
	return nil
}

// intBits is the value of an integer literal, checked against its type. A type of
// more than 64 bits, and index, can have the values of 64 bits with their sign.
func (p *Parser) intBits(pos Pos, lit string, neg bool, typ ir.Type) uint64 {
	v, err := parseUint(lit)
	if err != nil || neg && v > 1<<63 {
		p.FailAt(pos, "integer is too large for 64 bits")
	}
	t, ok := typ.(*ir.IntegerType)
	switch {
	case !ok:
		if !neg && v >= 1<<63 {
			p.FailAt(pos, "integer does not fit an index")
		}
	case t.Width > 64 && t.Sign != ir.Unsigned:
		if !neg && v >= 1<<63 {
			p.FailAt(pos, "integer is too large for 64 bits")
		}
	default:
		// From 0 to the type's bits, or negative down to the half.
		most := ^uint64(0)
		if t.Width < 64 {
			most = 1<<t.Width - 1
		}
		half := most>>1 + 1
		switch {
		case neg && (t.Sign == ir.Unsigned || v > half), !neg && v > most, !neg && t.Sign == ir.Signed && v >= half:
			p.FailAt(pos, "integer does not fit in %s", diag.Count(t.Width, "bit"))
		}
	}
	if neg {
		v = -v
	}
	return v
}

func parseUint(lit string) (uint64, error) {
	if len(lit) > 2 && lit[1] == 'x' {
		return strconv.ParseUint(lit[2:], 16, 64)
	}
	return strconv.ParseUint(lit, 10, 64)
}

// maxAttrs bounds the entries of one dictionary.
const maxAttrs = 1 << 12

// Dict reads {name = value, …}; a name alone has the unit attribute.
func (p *Parser) Dict() []ir.NamedAttr {
	var attrs []ir.NamedAttr
	p.List('{', '}', func() {
		pos := p.Pos()
		var name string
		if p.AtString() {
			name = p.Quoted()
		} else {
			name = p.Keyword("the name of an attribute")
		}
		for _, a := range attrs {
			if a.Name == name {
				p.FailAt(pos, "attribute '%s' appears twice", name)
			}
		}
		if len(attrs) == maxAttrs {
			p.Fail("more than %d attributes", maxAttrs)
		}
		var a ir.Attribute = p.ctx.Unit()
		if p.optPunct('=') {
			a = p.Attr()
		}
		attrs = append(attrs, ir.NamedAttr{Name: name, Attr: a})
	})
	return attrs
}

// OptDict reads a dictionary if one comes next.
func (p *Parser) OptDict() []ir.NamedAttr {
	if !p.atPunct('{') {
		return nil
	}
	return p.Dict()
}

func (p *Parser) denseArray() ir.Attribute {
	p.advance()
	p.punct('<')
	elem := p.Type()
	switch elem.(type) {
	case *ir.IntegerType, *ir.FloatType:
	default:
		p.Fail("the elements of an array must be integers or floats")
	}
	var vs []int64
	if p.optPunct(':') {
		for {
			vs = append(vs, p.element(elem))
			if !p.optPunct(',') {
				break
			}
		}
	}
	p.punct('>')
	return p.ctx.DenseArray(elem, vs...)
}

// element reads one number of a list and gives it as ir.DenseArrayAttr holds it.
func (p *Parser) element(elem ir.Type) int64 {
	pos := p.Pos()
	if p.At("true") || p.At("false") {
		if !ir.IsInt(elem, 1) {
			p.Fail("true and false are of type i1")
		}
		if p.Bool() {
			return 1
		}
		return 0
	}
	neg := p.optPunct('-')
	lit, k := p.text(), p.tok.kind
	if k != tokInt && k != tokFloat {
		p.expected("a number")
	}
	p.advance()
	if t, ok := elem.(*ir.FloatType); ok {
		return int64(p.floatBits(pos, lit, k, neg, t))
	}
	if k == tokFloat {
		p.FailAt(pos, "expected an integer")
	}
	return int64(p.intBits(pos, lit, neg, elem))
}

// --- printing

// Attr writes a.
func (w *Printer) Attr(a ir.Attribute) {
	if w.visiting {
		w.visitAttr(a)
		return
	}
	if n, ok := w.attrAlias[a]; ok {
		w.buf = append(w.buf, n...)
		return
	}
	w.attrBody(a, false)
}

// attrBody writes a in full. Within a list the types i64 and f64 go unsaid.
func (w *Printer) attrBody(a ir.Attribute, inList bool) {
	switch a := a.(type) {
	case *ir.UnitAttr:
		w.Str("unit")
	case *ir.IntegerAttr:
		w.integer(a, inList)
	case *ir.FloatAttr:
		from := len(w.buf)
		w.float(a.Type, a.Bits)
		if !inList || a.Type.Kind != ir.F64 || bytes.IndexByte(w.buf[from:], 'x') >= 0 { // bits alone are an integer's
			w.Str(" : ")
			w.Type(a.Type)
		}
	case *ir.StringAttr:
		w.Quoted(a.Value)
	case *ir.TypeAttr:
		w.Type(a.Type)
	case *ir.ArrayAttr:
		w.Str("[")
		for i, e := range a.Elems {
			if i > 0 {
				w.Str(", ")
			}
			w.listElem(e)
		}
		w.Str("]")
	case *ir.DictAttr:
		w.Dict(a.Entries)
	case *ir.DenseArrayAttr:
		w.Str("array<")
		w.Type(a.Elem)
		if len(a.Values) > 0 {
			w.Str(": ")
			w.elements(a)
		}
		w.Str(">")
	case *ir.DenseElementsAttr:
		w.dense(a)
		w.Str(" : ")
		w.Type(a.Type)
	case *ir.DenseResourceAttr:
		w.Str("dense_resource<")
		if isBareIdent(a.Name) {
			w.Str(a.Name)
		} else {
			w.Quoted(a.Name)
		}
		w.Str("> : ")
		w.Type(a.Type)
	case *ir.SymbolRefAttr:
		w.Symbol(a.Root)
		for _, n := range a.Nested {
			w.Str("::")
			w.Symbol(n)
		}
	case *ir.OpaqueAttr:
		if a.Dialect != "builtin" {
			w.Str("#")
			w.Str(a.Dialect)
			if !strings.HasPrefix(a.Text, "<") {
				w.Str(".")
			}
		}
		w.Str(a.Text)
	default:
		h := hooksOf(w.ctx.Dialect(a.AttrDialect()))
		if h == nil || h.PrintAttr == nil {
			panic("BUG: text: dialect '" + a.AttrDialect() + "' prints no attributes")
		}
		w.Str("#")
		w.Str(a.AttrDialect())
		w.Str(".")
		h.PrintAttr(w, a)
	}
}

// listElem writes an element of an array attribute.
func (w *Printer) listElem(a ir.Attribute) {
	if w.visiting {
		w.visitAttr(a)
		return
	}
	if n, ok := w.attrAlias[a]; ok {
		w.Str(n)
		return
	}
	w.attrBody(a, true)
}

func (w *Printer) integer(a *ir.IntegerAttr, inList bool) {
	if t, ok := a.Type.(*ir.IntegerType); ok && t.Width == 1 && t.Sign == ir.Signless {
		w.Bool(a.Value != 0)
		return
	}
	w.intValue(a)
	if t, ok := a.Type.(*ir.IntegerType); ok && inList && t.Width == 64 && t.Sign == ir.Signless {
		return
	}
	w.Str(" : ")
	w.Type(a.Type)
}

func (w *Printer) intValue(a *ir.IntegerAttr) {
	if t, ok := a.Type.(*ir.IntegerType); ok && t.Sign == ir.Unsigned {
		w.buf = strconv.AppendUint(w.buf, uint64(a.Value), 10)
		return
	}
	w.Int(a.Value)
}

// Dict writes {name = value, …}.
func (w *Printer) Dict(attrs []ir.NamedAttr) {
	w.Str("{")
	for i, a := range attrs {
		if i > 0 {
			w.Str(", ")
		}
		w.named(a)
	}
	w.Str("}")
}

func (w *Printer) named(a ir.NamedAttr) {
	if isBareIdent(a.Name) {
		w.Str(a.Name)
	} else {
		w.Quoted(a.Name)
	}
	if _, unit := a.Attr.(*ir.UnitAttr); unit {
		return
	}
	w.Str(" = ")
	w.Attr(a.Attr)
}

// elements writes the numbers of a dense array.
func (w *Printer) elements(a *ir.DenseArrayAttr) {
	for i, v := range a.Values {
		if i > 0 {
			w.Str(", ")
		}
		w.elem(a.Elem, uint64(v))
	}
}

// elem writes one number of type t by its bits.
func (w *Printer) elem(t ir.Type, bits uint64) {
	switch t := t.(type) {
	case *ir.FloatType:
		w.float(t, bits)
	case *ir.IntegerType:
		switch {
		case t.Width == 1:
			w.Bool(bits&1 != 0)
		case t.Sign == ir.Unsigned && !w.visiting:
			if t.Width < 64 {
				bits &= 1<<t.Width - 1
			}
			w.buf = strconv.AppendUint(w.buf, bits, 10)
		case t.Width < 64:
			w.Int(int64(bits) << (64 - t.Width) >> (64 - t.Width))
		default:
			w.Int(int64(bits))
		}
	default:
		w.Int(int64(bits))
	}
}
