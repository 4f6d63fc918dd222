package syntax

import (
	"fmt"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/slab"
)

// Parse reads a Python file. The error is a *diag.Diagnostic.
func Parse(filename string, src []byte) (*Module, error) {
	text, d := decodeSource(filename, src)
	if d != nil {
		return nil, d
	}
	m := &Module{Filename: filename, Source: text}
	err := parseWith(filename, text, true, func(p *parser) {
		m.Body = p.statements(tEOF)
		m.Comments = p.lx.comments
		m.Span = Span{1, 0, p.tok.EndLine, p.tok.EndCol}
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ParseExpr reads src as one expression, which may go over several lines only
// inside brackets. The error is a *diag.Diagnostic.
func ParseExpr(filename string, src []byte) (Expr, error) {
	text, d := decodeSource(filename, src)
	if d != nil {
		return nil, d
	}
	var e Expr
	err := parseWith(filename, text, false, func(p *parser) {
		e = p.starExprs()
		for p.kind == tNewline {
			p.next()
		}
		if p.kind != tEOF {
			p.invalid()
		}
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// parser is a recursive-descent parser with one token of lookahead, and at
// most the rest of the logical line where Python's grammar needs it.
type parser struct {
	lx   lexer
	i    int // index of the current token in lx.toks
	tok  *token
	kind tokenKind // of tok

	endLine, endCol int32 // end of the last visible token that was consumed

	depth  int   // of the parser's recursion
	height int32 // of the expression parsed last

	// Stacks on which lists are gathered before their size is known.
	exprs    []Expr
	stmts    []Stmt
	keywords []*Keyword

	slabs
}

// slabs are the allocators for what trees are mostly made of.
type slabs struct {
	name          slab.Of[Name]
	constant      slab.Of[Constant]
	attribute     slab.Of[Attribute]
	call          slab.Of[Call]
	subscript     slab.Of[Subscript]
	binOp         slab.Of[BinOp]
	compare       slab.Of[Compare]
	tuple         slab.Of[Tuple]
	kwNode        slab.Of[Keyword]
	arg           slab.Of[Arg]
	argumentsNode slab.Of[Arguments]
	exprStmt      slab.Of[ExprStmt]
	assign        slab.Of[Assign]
	ifStmt        slab.Of[If]
	returnStmt    slab.Of[Return]
	exprList      slab.Of[Expr]
	stmtList      slab.Of[Stmt]
	kwList        slab.Of[*Keyword]
	cmpList       slab.Of[CmpOperator]
}

// syntaxError carries a diagnostic from the place of the mistake to Parse.
type syntaxError struct{ d *diag.Diagnostic }

// scratch is what a parser can use again: nothing in a tree refers to it.
type scratch struct {
	toks  []token
	exprs []Expr
	stmts []Stmt
	kws   []*Keyword
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// maxKeptTokens bounds the token buffer that the pool keeps.
const maxKeptTokens = 1 << 14

// parseWith runs do over a parser at the first token of text; without
// indented, spaces before it mean nothing.
func parseWith(file, text string, indented bool, do func(p *parser)) (err error) {
	s := scratchPool.Get().(*scratch)
	p := &parser{exprs: s.exprs[:0], stmts: s.stmts[:0], keywords: s.kws[:0]}
	p.lx.init(file, text, s.toks)
	p.lx.newLine = indented
	defer func() {
		if cap(p.lx.toks) <= maxKeptTokens {
			clear(p.exprs[:cap(p.exprs)])
			clear(p.stmts[:cap(p.stmts)])
			clear(p.keywords[:cap(p.keywords)])
			*s = scratch{toks: p.lx.toks, exprs: p.exprs, stmts: p.stmts, kws: p.keywords}
			scratchPool.Put(s)
		}
		if r := recover(); r != nil {
			e, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			err = e.d
		}
	}()
	p.refill()
	do(p)
	return nil
}

// refill reads the next logical line.
func (p *parser) refill() {
	p.lx.fill()
	p.i = 0
	p.setToken()
}

func (p *parser) setToken() {
	p.tok = &p.lx.toks[p.i]
	p.kind = p.tok.kind
	if p.kind == tError {
		panic(syntaxError{p.lx.err})
	}
}

// next consumes the current token.
func (p *parser) next() {
	if p.kind >= tName {
		p.endLine, p.endCol = p.tok.EndLine, p.tok.EndCol
	} else if p.kind == tEOF {
		panic("BUG: the parser reads beyond the end of the file")
	}
	p.i++
	if p.i == len(p.lx.toks) {
		p.refill()
		return
	}
	p.setToken()
}

// peek is the kind of the token after the current one, within the line.
func (p *parser) peek() tokenKind {
	if p.i+1 < len(p.lx.toks) {
		return p.lx.toks[p.i+1].kind
	}
	return tEOF
}

// accept consumes the current token if it is a k.
func (p *parser) accept(k tokenKind) bool {
	if p.kind != k {
		return false
	}
	p.next()
	return true
}

// expect consumes a k.
func (p *parser) expect(k tokenKind) {
	if p.kind != k {
		p.expected(k)
	}
	p.next()
}

// text is the current token as written.
func (p *parser) text() string { return p.lx.src[p.tok.off:p.tok.end] }

// isName reports whether the current token is the name s, a soft keyword say.
func (p *parser) isName(s string) bool { return p.kind == tName && p.text() == s }

// ident consumes a name.
func (p *parser) ident() string {
	if p.kind != tName {
		if p.kind.isKeyword() {
			p.fail(p.tok.Span, "invalid syntax: '%s' is a keyword, not a name", p.text())
		}
		p.expected(tName)
	}
	s := normalName(p.text())
	p.next()
	return s
}

// mark is where a node starts.
type mark struct{ line, col int32 }

func (p *parser) mark() mark { return mark{p.tok.Line, p.tok.Col} }

// since is the span from m to the last consumed token.
func (p *parser) since(m mark) Span { return Span{m.line, m.col, p.endLine, p.endCol} }

// enter bounds recursion; leave undoes it.
func (p *parser) enter() {
	p.depth++
	if p.depth > maxDepth {
		p.fail(p.tok.Span, "too many nested constructs (more than %d)", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// higher notes that an expression has operands of heights h and that of
// the expression parsed last.
func (p *parser) higher(h int32) {
	p.height = max(h, p.height) + 1
	if p.height > maxHeight {
		p.failHelp(p.tok.Span, "split it into several statements",
			"the expression is too deep (more than %d operators in a chain)", maxHeight)
	}
}

// takeExprs pops the expressions gathered since base.
func (p *parser) takeExprs(base int) []Expr {
	list := p.exprList.List(p.exprs[base:])
	p.exprs = p.exprs[:base]
	return list
}

func (p *parser) takeStmts(base int) []Stmt {
	list := p.stmtList.List(p.stmts[base:])
	p.stmts = p.stmts[:base]
	return list
}

// fail reports a mistake in the text of sp.
func (p *parser) fail(sp Span, format string, args ...any) {
	p.failHelp(sp, "", format, args...)
}

func (p *parser) failHelp(sp Span, help, format string, args ...any) {
	d := &diag.Diagnostic{
		Pos:     diag.Pos{File: p.lx.file, Line: int(sp.Line), Col: int(sp.Col) + 1},
		Message: fmt.Sprintf(format, args...),
		Help:    help,
	}
	if sp.EndLine == sp.Line && sp.EndCol > sp.Col {
		d.EndCol = int(sp.EndCol) + 1
	}
	panic(syntaxError{d.WithSource(p.lx.src)})
}
