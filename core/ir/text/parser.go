package text

import (
	"math"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// MaxDepth is how deep operations with their regions, attributes and types may
// nest; a region inside an operation counts as two levels.
const MaxDepth = 4000

// MaxLocDepth is how deep locations may nest. Each variable that a loop carries puts
// its name around the loop's location. An alias counts as one level more.
const MaxLocDepth = 1 << 16

// maxSource is the largest text that is read, in bytes.
const maxSource = 1 << 30

// Parser reads one text. Its methods are for the hooks of dialects: each reads
// what it says or reports a diagnostic and does not return.
type Parser struct {
	ctx  *ir.Context
	file string
	lexer
	tok  token
	prev int // end of the token before tok

	depth   int
	deepest int // greatest depth seen since it was last reset

	locDepth, locDeepest int // the same of locations

	aliases     map[string]*alias
	typeAliases map[string]*alias
	scope       scope
	out         *File
	pending     map[*ir.Value]string // names in the text that no location holds
	types       map[string]knownType // by their text

	freeStates []*OpState // of finished operations
	freeRuns   []*formRun
}

// alias is a line "#name = …" or "!name = …".
type alias struct {
	pos   int // just after the =
	end   int // just after its value
	attr  ir.Attribute
	typ   ir.Type
	loc   ir.Location
	depth int // how deep what it stands for nests
	busy  bool
	// locDepth is the same of the locations in it.
	locDepth int
	done     bool
}

// failure carries a diagnostic out of the parser.
type failure struct{ d *diag.Diagnostic }

// Pos is a place in the text, for FailAt.
type Pos int

// Context of the types and attributes made.
func (p *Parser) Context() *ir.Context { return p.ctx }

// Pos is where the next token starts.
func (p *Parser) Pos() Pos { return Pos(p.tok.pos) }

// Fail reports a mistake at the next token and does not return.
func (p *Parser) Fail(format string, args ...any) { p.FailAt(p.Pos(), format, args...) }

// FailAt reports a mistake at pos and does not return.
func (p *Parser) FailAt(pos Pos, format string, args ...any) {
	panic(failure{p.mistake(pos, format, args...)})
}

func (p *Parser) mistake(pos Pos, format string, args ...any) *diag.Diagnostic {
	return diag.Errorf(p.out.posOf(int(pos)), format, args...).WithSource(p.src)
}

// expected reports that something else should appear where the next token does.
func (p *Parser) expected(what string) {
	if p.tok.kind == tokBad {
		p.Fail("%s", p.bad)
	}
	p.Fail("expected %s, found %s", what, p.describe())
}

func (p *Parser) describe() string {
	if p.tok.kind == tokEOF {
		return "the end of the file"
	}
	s := p.text()
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	if p.tok.kind == tokString {
		return s
	}
	return "'" + s + "'"
}

func (p *Parser) text() string { return p.src[p.tok.pos:p.tok.end] }

func (p *Parser) advance() {
	p.prev = p.tok.end
	p.tok = p.next()
}

// jump goes on at offset off.
func (p *Parser) jump(off int) {
	p.off = off
	p.tok = p.next()
}

func (p *Parser) enter() {
	p.depth++
	if p.depth > p.deepest {
		p.deepest = p.depth
	}
	if p.depth > MaxDepth {
		p.Fail("nested deeper than %d levels", MaxDepth)
	}
}

func (p *Parser) leave() { p.depth-- }

func (p *Parser) enterLoc() {
	p.locDepth++
	p.locDeepest = max(p.locDeepest, p.locDepth)
	if p.locDepth > MaxLocDepth {
		p.Fail("locations nested deeper than %d levels", MaxLocDepth)
	}
}

func (p *Parser) leaveLoc() { p.locDepth-- }

// --- small pieces

// At reports whether the next token is the punctuation or keyword s.
func (p *Parser) At(s string) bool {
	switch p.tok.kind {
	case tokPunct:
		return len(s) == 1 && s[0] == p.tok.ch
	case tokIdent, tokArrow:
		return p.text() == s
	}
	return false
}

// Opt reads the punctuation or keyword s if it comes next.
func (p *Parser) Opt(s string) bool {
	if p.At(s) {
		p.advance()
		return true
	}
	return false
}

// Expect reads the punctuation or keyword s.
func (p *Parser) Expect(s string) {
	if !p.Opt(s) {
		p.expected("'" + s + "'")
	}
}

func (p *Parser) atPunct(c byte) bool { return p.tok.kind == tokPunct && p.tok.ch == c }

func (p *Parser) optPunct(c byte) bool {
	if p.tok.kind == tokPunct && p.tok.ch == c {
		p.advance()
		return true
	}
	return false
}

func (p *Parser) punct(c byte) {
	if !p.optPunct(c) {
		p.expected("'" + string(c) + "'")
	}
}

// AtKeyword reports whether an identifier comes next.
func (p *Parser) AtKeyword() bool { return p.tok.kind == tokIdent }

// Keyword reads any identifier; what says what it should be.
func (p *Parser) Keyword(what string) string {
	if p.tok.kind != tokIdent {
		p.expected(what)
	}
	s := p.text()
	p.advance()
	return s
}

// AtString reports whether a string literal comes next.
func (p *Parser) AtString() bool { return p.tok.kind == tokString }

// Quoted reads a string literal.
func (p *Parser) Quoted() string {
	if p.tok.kind != tokString {
		p.expected("a string literal")
	}
	s, ok := unquote(p.text())
	if !ok {
		p.Fail("string literal has a bad escape; \\\\, \\\", \\n, \\t and two hexadecimal digits are known")
	}
	p.advance()
	return s
}

// AtSymbol reports whether a symbol name comes next.
func (p *Parser) AtSymbol() bool { return p.tok.kind == tokSymbol }

// Symbol reads @name or @"name" and returns the name.
func (p *Parser) Symbol() string {
	if p.tok.kind != tokSymbol {
		p.expected("a symbol name such as @kernel")
	}
	s := p.text()[1:]
	if s[0] == '"' {
		var ok bool
		if s, ok = unquote(s); !ok || s == "" {
			p.Fail("bad symbol name")
		}
	}
	p.advance()
	return s
}

// AtInt reports whether an integer, perhaps negative, comes next.
func (p *Parser) AtInt() bool { return p.tok.kind == tokInt || p.atPunct('-') }

// Int reads an integer, perhaps negative, that fits in 64 bits.
func (p *Parser) Int() int64 {
	pos := p.Pos()
	neg := p.optPunct('-')
	if p.tok.kind != tokInt {
		p.expected("an integer")
	}
	v, err := strconv.ParseUint(p.text(), 0, 64)
	if len(p.text()) > 1 && p.text()[0] == '0' && p.text()[1] != 'x' {
		v, err = strconv.ParseUint(p.text(), 10, 64)
	}
	switch {
	case err != nil || neg && v > 1<<63:
		p.FailAt(pos, "integer is too large for 64 bits")
	case neg:
		v = -v
	}
	p.advance()
	return int64(v)
}

// IntBelow reads an integer from 0 to max, for a field named what.
func (p *Parser) IntBelow(max int64, what string) int64 {
	pos := p.Pos()
	v := p.Int()
	if v < 0 || v > max {
		p.FailAt(pos, "%s must be from 0 to %d", what, max)
	}
	return v
}

// Bool reads true or false.
func (p *Parser) Bool() bool {
	if p.Opt("true") {
		return true
	}
	if !p.Opt("false") {
		p.expected("'true' or 'false'")
	}
	return false
}

// List reads elements separated by commas between open and close; there may be
// none.
func (p *Parser) List(open, closing byte, elem func()) {
	p.punct(open)
	if p.optPunct(closing) {
		return
	}
	for {
		elem()
		if !p.optPunct(',') {
			break
		}
	}
	if !p.optPunct(closing) {
		p.expected("',' or '" + string(closing) + "'")
	}
}

// Ints reads [1, 2, …].
func (p *Parser) Ints() []int64 {
	vs := []int64{}
	p.List('[', ']', func() { vs = append(vs, p.Int()) })
	return vs
}

// Fields reads name = …, name = … between open and closing: field reads the
// value of each name, or returns false for a name that it does not know. Each
// name may appear once.
func (p *Parser) Fields(open, closing byte, field func(name string) bool) {
	var seen []string
	p.List(open, closing, func() {
		pos := p.Pos()
		name := p.Keyword("the name of a field")
		for _, s := range seen {
			if s == name {
				p.FailAt(pos, "field '%s' appears twice", name)
			}
		}
		seen = append(seen, name)
		p.punct('=')
		if !field(name) {
			p.FailAt(pos, "Unexpected attribute \"%s\" found", name) // Triton's words
		}
	})
}

// Dims reads dimensions such as 128x64x, ending before the element type.
func (p *Parser) Dims() []int64 {
	var dims []int64
	for p.tok.kind == tokInt || p.atPunct('?') {
		i := p.tok.pos
		if p.atPunct('?') {
			dims = append(dims, -1)
			i++
		} else {
			end := p.span(i, clDigit)
			v, err := strconv.ParseInt(p.src[i:end], 10, 64)
			if err != nil {
				p.Fail("dimension is too large")
			}
			dims = append(dims, v)
			i = end
		}
		if i >= len(p.src) || p.src[i] != 'x' {
			p.jump(i)
			p.expected("'x' after a dimension")
		}
		if len(dims) > MaxRank {
			p.Fail("more than %d dimensions", MaxRank)
		}
		p.jump(i + 1)
	}
	p.checkElements(dims)
	return dims
}

// LastDims reads dimensions such as 128x64, with none after the last.
func (p *Parser) LastDims() []int64 {
	var dims []int64
	for {
		if p.tok.kind != tokInt {
			p.expected("a dimension")
		}
		end := p.span(p.tok.pos, clDigit)
		v, err := strconv.ParseInt(p.src[p.tok.pos:end], 10, 64)
		if err != nil || len(dims) == MaxRank {
			p.Fail("dimension is too large")
		}
		dims = append(dims, v)
		if end < len(p.src) && p.src[end] == 'x' {
			p.jump(end + 1)
			continue
		}
		p.jump(end)
		p.prev = end
		p.checkElements(dims)
		return dims
	}
}

// MaxRank is the greatest number of dimensions of a shape.
const MaxRank = 64

// checkElements refuses a shape whose number of elements overflows.
func (p *Parser) checkElements(dims []int64) {
	n := int64(1)
	for _, d := range dims {
		if d > 0 && n > math.MaxInt64/d {
			p.Fail("shape has too many elements to count")
		}
		if d > 0 {
			n *= d
		}
	}
}

// scanAliases finds the lines "#name = …" and "!name = …" of the text. They may appear before
// or after what refers to them, so all are found first and read when needed. One that follows
// another on its line is found when that one has been read.
func (p *Parser) scanAliases() {
	for i := 0; i < len(p.src); {
		if c := p.src[i]; c == '#' || c == '!' {
			p.defineAlias(i)
		}
		n := strings.IndexByte(p.src[i:], '\n')
		if n < 0 {
			return
		}
		i += n + 1
	}
}

// defineAlias notes the alias that is defined at i, where a name stands; nil if it is not.
func (p *Parser) defineAlias(i int) *alias {
	end := p.span(i+1, clSuffix)
	eq := p.span(end, clSpace)
	if end == i+1 || eq == len(p.src) || p.src[eq] != '=' {
		return nil
	}
	name, known := p.src[i+1:end], &p.aliases
	if p.src[i] == '!' {
		known = &p.typeAliases
	}
	if *known == nil {
		*known = make(map[string]*alias, 64)
	}
	if (*known)[name] != nil {
		p.FailAt(Pos(i), "alias %s is defined twice", p.src[i:end])
	}
	(*known)[name] = &alias{pos: eq + 1}
	return (*known)[name]
}

// resolve reads the alias that the next token names, once, and moves past the
// token.
func (p *Parser) resolve() *alias {
	name := p.text()[1:]
	a := p.aliases[name]
	if a == nil {
		p.Fail("undefined alias #%s", name)
	}
	return p.resolveAlias(a, "#"+name)
}

// resolveAlias is resolve for the alias a, of which the text has that name.
func (p *Parser) resolveAlias(a *alias, name string) *alias {
	pos := p.Pos()
	if a.busy {
		p.Fail("alias %s is defined by itself", name)
	}
	if !a.done {
		a.busy = true
		tok, off, prev, deepest, locDeepest := p.tok, p.off, p.prev, p.deepest, p.locDeepest
		p.deepest, p.locDeepest = p.depth, p.locDepth
		p.jump(a.pos)
		switch {
		case name[0] == '!':
			a.typ = p.Type()
		case p.At("loc"):
			a.loc = p.location()
		default:
			a.attr = p.Attr()
		}
		a.end = p.prev
		a.depth, a.locDepth = p.deepest-p.depth, p.locDeepest-p.locDepth
		p.deepest, p.locDeepest = max(deepest, p.deepest), max(locDeepest, p.locDeepest)
		p.tok, p.off, p.prev = tok, off, prev
		a.busy, a.done = false, true
	}
	if p.depth+a.depth > MaxDepth {
		p.FailAt(pos, "nested deeper than %d levels", MaxDepth)
	}
	if p.locDepth+a.locDepth > MaxLocDepth {
		p.FailAt(pos, "locations nested deeper than %d levels", MaxLocDepth)
	}
	p.deepest = max(p.deepest, p.depth+a.depth)
	p.locDeepest = max(p.locDeepest, p.locDepth+a.locDepth)
	p.advance()
	return a
}
