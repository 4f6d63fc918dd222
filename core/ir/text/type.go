package text

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
)

// maxIntWidth is the widest integer type, in bits.
const maxIntWidth = 1<<24 - 1

// knownType is a type that has been read before, and how deep it nests.
type knownType struct {
	typ   ir.Type
	depth int
}

// Type reads a type.
func (p *Parser) Type() ir.Type {
	text := p.typeText()
	if text != "" {
		if k, ok := p.types[text]; ok && p.depth+k.depth <= MaxDepth {
			p.deepest = max(p.deepest, p.depth+k.depth)
			p.off = p.tok.pos + len(text)
			p.tok.end = p.off
			p.advance()
			return k.typ
		}
	}
	start, deepest := p.tok.pos, p.deepest
	p.deepest = p.depth
	p.enter()
	t := p.typ()
	p.leave()
	if text != "" && p.prev == start+len(text) {
		if p.types == nil {
			p.types = make(map[string]knownType, 32)
		}
		p.types[text] = knownType{t, p.deepest - p.depth}
	}
	p.deepest = max(deepest, p.deepest)
	return t
}

// typeText is the text of the type with parameters that comes next, up to the >
// that matches its <; empty where there is none or it is not that simple.
func (p *Parser) typeText() string {
	if p.tok.kind != tokBang && p.tok.kind != tokIdent || p.tok.end == len(p.src) || p.src[p.tok.end] != '<' {
		return ""
	}
	open := 0
	for i := p.tok.end; i < len(p.src); i++ {
		switch p.src[i] {
		case '<':
			open++
		case '>':
			if p.src[i-1] == '-' {
				return ""
			}
			if open--; open == 0 {
				return p.src[p.tok.pos : i+1]
			}
		case '"', '\n', '/':
			return ""
		}
	}
	return ""
}

func (p *Parser) typ() ir.Type {
	switch {
	case p.tok.kind == tokBang:
		return p.dialectType()
	case p.atPunct('('):
		return p.functionType()
	case p.tok.kind != tokIdent:
		p.expected("a type")
	}
	name := p.text()
	switch name {
	case "tensor":
		p.advance()
		return p.tensorType()
	case "index":
		p.advance()
		return p.ctx.Index()
	case "none":
		p.advance()
		return p.ctx.None()
	}
	if t := p.intType(name); t != nil {
		p.advance()
		return t
	}
	if k, ok := floatKind(name); ok {
		p.advance()
		return p.ctx.Float(k)
	}
	// A builtin type that the IR has no use for, such as vector<4xi32>, is kept
	// as text.
	pos := p.tok.pos
	p.advance()
	if p.atPunct('<') && p.tok.pos == p.prev {
		p.skipBalanced()
		return p.ctx.OpaqueType("builtin", p.src[pos:p.prev])
	}
	p.FailAt(Pos(pos), "expected a type, found '%s'", name)
	return nil
}

// floatKind is ir.FloatKindNamed with the common ones first.
func floatKind(name string) (ir.FloatKind, bool) {
	switch name {
	case "f32":
		return ir.F32, true
	case "f16":
		return ir.F16, true
	case "bf16":
		return ir.BF16, true
	}
	if name[0] != 'f' && name[0] != 'b' && name[0] != 't' {
		return 0, false
	}
	return ir.FloatKindNamed(name)
}

// intType is iN, siN or uiN, nil if name is none of them.
func (p *Parser) intType(name string) ir.Type {
	digits, sign := "", ir.Signless
	switch {
	case strings.HasPrefix(name, "i"):
		digits = name[1:]
	case strings.HasPrefix(name, "si"):
		digits, sign = name[2:], ir.Signed
	case strings.HasPrefix(name, "ui"):
		digits, sign = name[2:], ir.Unsigned
	}
	if digits == "" || digits[0] < '1' || digits[0] > '9' {
		return nil
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil
		}
	}
	w, err := strconv.Atoi(digits)
	if err != nil || w > maxIntWidth {
		p.Fail("integer type is wider than %d bits", maxIntWidth)
	}
	return p.ctx.IntSigned(w, sign)
}

func (p *Parser) tensorType() ir.Type {
	p.punct('<')
	dims := p.Dims()
	elem := p.Type()
	if _, ok := elem.(*ir.TensorType); ok {
		p.Fail("a tensor of tensors is not a type")
	}
	var enc ir.Attribute
	if p.optPunct(',') {
		enc = p.Attr()
	}
	p.punct('>')
	return p.ctx.Tensor(dims, elem, enc)
}

func (p *Parser) functionType() ir.Type {
	in := p.TypeListInParens()
	if p.tok.kind != tokArrow {
		p.expected("'->'")
	}
	return p.ctx.Func(in, p.ArrowTypes())
}

// TypeListInParens reads (T, …).
func (p *Parser) TypeListInParens() []ir.Type {
	ts := []ir.Type{} // not nil: the text says that there are none
	p.List('(', ')', func() { ts = append(ts, p.Type()) })
	return ts
}

// ArrowTypes reads -> T or -> (T, …).
func (p *Parser) ArrowTypes() []ir.Type {
	p.Expect("->")
	if p.atPunct('(') {
		return p.TypeListInParens()
	}
	return []ir.Type{p.Type()}
}

// Types reads T, T, ….
func (p *Parser) Types() []ir.Type {
	ts := []ir.Type{p.Type()}
	for p.optPunct(',') {
		ts = append(ts, p.Type())
	}
	return ts
}

// atType reports whether a type may come next.
func (p *Parser) atType() bool {
	return p.tok.kind == tokBang || p.tok.kind == tokIdent || p.atPunct('(')
}

func (p *Parser) dialectType() ir.Type {
	pos := p.tok.pos
	name := p.text()[1:]
	dialect, mnemonic, ok := strings.Cut(name, ".")
	if !ok || p.typeAliases[name] != nil {
		return p.resolveType()
	}
	p.checkNamespace(dialect)
	h := hooksOf(p.ctx.Dialect(dialect))
	p.advance()
	if h == nil || h.ParseType == nil {
		return p.OpaqueType(dialect, mnemonic)
	}
	t := h.ParseType(p, mnemonic)
	if t == nil {
		p.FailAt(Pos(pos), "dialect '%s' has no type '%s'", dialect, mnemonic)
	}
	return t
}

// OpaqueType reads the parameters of a type, whose name has been read, and keeps them
// as text.
func (p *Parser) OpaqueType(dialect, mnemonic string) ir.Type {
	from := p.prev
	if p.atPunct('<') && p.tok.pos == p.prev {
		p.skipBalanced()
	}
	return p.ctx.OpaqueType(dialect, mnemonic+inOneLine(p.src[from:p.prev]))
}

// inOneLine is text without comments and line breaks, and without the blanks beside them.
func inOneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	words := strings.Fields(withoutComments(text))
	var b strings.Builder
	for i, w := range words {
		if i > 0 && !strings.HasSuffix(words[i-1], "(") && !strings.HasSuffix(words[i-1], "<") && w[0] != ')' && w[0] != '>' {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// withoutComments is text without what follows // in its lines, but for that in strings.
func withoutComments(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quoted && i+1 < len(text):
			b.WriteByte(text[i])
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], "//"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return b.String()
			}
			i += end
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// shortType reads a type whose prefix, such as "!tt.ptr", may be left out.
func (p *Parser) shortType(prefix string) ir.Type {
	if p.tok.kind == tokBang {
		return p.Type()
	}
	p.enter()
	defer p.leave()
	dialect, mnemonic, _ := strings.Cut(prefix[1:], ".")
	if h := hooksOf(p.ctx.Dialect(dialect)); h != nil && h.ParseType != nil {
		if t := h.ParseType(p, mnemonic); t != nil {
			return t
		}
	}
	panic("BUG: text: nothing parses " + prefix)
}

// resolveType reads the type alias that the next token names.
func (p *Parser) resolveType() ir.Type {
	name := p.text()[1:]
	a := p.typeAliases[name]
	if a == nil {
		p.Fail("undefined type alias !%s", name)
	}
	return p.resolveAlias(a, "!"+name).typ
}

// skipBalanced reads tokens from < to its >.
func (p *Parser) skipBalanced() { p.balanced(func() bool { return false }) }

// balanced is skipBalanced for a caller that takes some of the tokens itself: take
// reports whether it did, and moved past the token.
func (p *Parser) balanced(take func() bool) {
	var open []byte
	start := p.Pos()
	for {
		switch {
		case p.tok.kind == tokEOF || p.tok.kind == tokBad:
			p.FailAt(start, "this '<' has no matching '>'")
		case take():
			continue
		case p.tok.kind == tokPunct:
			switch c := p.tok.ch; c {
			case '<', '(', '[', '{':
				open = append(open, c)
			case '>', ')', ']', '}':
				want := map[byte]byte{'>': '<', ')': '(', ']': '[', '}': '{'}[c]
				if open[len(open)-1] != want {
					p.expected("the end of '" + string(open[len(open)-1]) + "'")
				}
				open = open[:len(open)-1]
			}
		}
		p.advance()
		if len(open) == 0 {
			return
		}
	}
}

// --- printing

// Type writes t.
func (w *Printer) Type(t ir.Type) {
	if w.visiting {
		w.visitType(t)
		return
	}
	if s, ok := w.types[t]; ok {
		w.buf = append(w.buf, s...)
		return
	}
	start := len(w.buf)
	w.typeBody(t)
	if w.types != nil {
		w.types[t] = string(w.buf[start:])
	}
}

func (w *Printer) typeBody(t ir.Type) {
	switch t := t.(type) {
	case *ir.IntegerType:
		w.Str([...]string{"i", "si", "ui"}[t.Sign])
		w.Int(int64(t.Width))
	case *ir.FloatType:
		w.Str(t.Kind.String())
	case *ir.IndexType:
		w.Str("index")
	case *ir.NoneType:
		w.Str("none")
	case *ir.TensorType:
		w.Str("tensor<")
		w.Dims(t.Shape)
		w.Type(t.Elem)
		if t.Encoding != nil {
			w.Str(", ")
			w.Attr(t.Encoding)
		}
		w.Str(">")
	case *ir.FunctionType:
		w.TypesInParens(t.In)
		w.arrowTypes(t.Out)
	case *ir.OpaqueType:
		if t.Dialect != "builtin" {
			w.Str("!")
			w.Str(t.Dialect)
			w.Str(".")
		}
		w.Str(t.Text)
	default:
		h := hooksOf(w.ctx.Dialect(t.TypeDialect()))
		if h == nil || h.PrintType == nil {
			panic("BUG: text: dialect '" + t.TypeDialect() + "' prints no types")
		}
		w.Str("!")
		w.Str(t.TypeDialect())
		w.Str(".")
		h.PrintType(w, t)
	}
}

// Dims writes dimensions such as 128x64x.
func (w *Printer) Dims(dims []int64) {
	for _, d := range dims {
		if d < 0 {
			w.Str("?")
		} else {
			w.Int(d)
		}
		w.Str("x")
	}
}

// LastDims writes dimensions such as 128x64.
func (w *Printer) LastDims(dims []int64) {
	for i, d := range dims {
		if i > 0 {
			w.Str("x")
		}
		w.Int(d)
	}
}

// Types writes T, T, ….
func (w *Printer) Types(ts []ir.Type) {
	for i, t := range ts {
		if i > 0 {
			w.Str(", ")
		}
		w.Type(t)
	}
}

// TypesInParens writes (T, …).
func (w *Printer) TypesInParens(ts []ir.Type) {
	w.Str("(")
	w.Types(ts)
	w.Str(")")
}

// arrowTypes writes -> T or -> (T, …), with a space before.
func (w *Printer) arrowTypes(ts []ir.Type) {
	w.Str(" -> ")
	if len(ts) == 1 {
		if _, fn := ts[0].(*ir.FunctionType); !fn {
			w.Type(ts[0])
			return
		}
	}
	w.TypesInParens(ts)
}

// ArrowTypes writes -> T or -> (T, …) for the types of vs, with a space before.
func (w *Printer) ArrowTypes(vs []*ir.Value) { w.arrowTypes(typesOf(vs)) }

// shortType writes t without its prefix, such as "!tt.ptr".
func (w *Printer) shortType(t ir.Type, prefix string) {
	if w.visiting {
		w.visitType(t)
		return
	}
	start := len(w.buf)
	w.Type(t)
	if strings.HasPrefix(string(w.buf[start:]), prefix) {
		w.buf = append(w.buf[:start], w.buf[start+len(prefix):]...)
	}
}
