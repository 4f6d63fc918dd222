package syntax

// block reads ":" and the statements under it. what and line name the
// statement it belongs to, for the message.
func (p *parser) block(what string, line int32) []Stmt {
	if p.kind != tColon {
		p.noColon()
	}
	p.next()
	p.enter()
	defer p.leave()
	base := len(p.stmts)
	if p.kind != tNewline {
		p.simpleStatements()
		return p.takeStmts(base)
	}
	p.next()
	p.expectIndent(what, line)
	for p.kind != tDedent {
		p.statement()
	}
	p.next()
	return p.takeStmts(base)
}

func (p *parser) expectIndent(what string, line int32) {
	if p.kind != tIndent {
		p.failHelp(p.tok.Span, "indent the statements that belong to it, or write pass",
			"expected an indented block after %s on line %d", what, line)
	}
	p.next()
}

// noColon reports what is where a block should begin.
func (p *parser) noColon() {
	if p.lx.err != nil {
		panic(syntaxError{p.lx.err})
	}
	if p.kind == tEqual || p.kind == tColonEqual {
		p.fail(p.tok.Span, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
	}
	p.fail(p.tok.Span, "expected ':'")
}

// condition reads the test of an if or while.
func (p *parser) condition() Expr {
	e := p.namedExpr()
	if p.kind == tEqual {
		p.equalSign(e)
	}
	return e
}

func (p *parser) ifStatement() Stmt {
	m, what := p.mark(), "'if' statement"
	if p.kind == tElif {
		what = "'elif' statement"
	}
	p.enter() // an elif chain is as deep a tree as nested ifs
	defer p.leave()
	s := p.ifStmt.One()
	p.next()
	s.Test = p.condition()
	s.Body = p.block(what, m.line)
	switch p.kind {
	case tElif:
		base := len(p.stmts)
		p.stmts = append(p.stmts, p.ifStatement())
		s.Orelse = p.takeStmts(base)
	case tElse:
		s.Orelse = p.orelse()
	}
	s.Span = p.since(m)
	return s
}

// orelse reads an else block if there is one.
func (p *parser) orelse() []Stmt {
	if p.kind != tElse {
		return nil
	}
	line := p.tok.Line
	p.next()
	if p.kind == tIf && p.lx.err == nil {
		p.failHelp(p.tok.Span, "write elif", "expected ':'")
	}
	return p.block("'else' statement", line)
}

func (p *parser) while() Stmt {
	m := p.mark()
	p.next()
	s := &While{Test: p.condition()}
	s.Body = p.block("'while' statement", m.line)
	s.Orelse = p.orelse()
	s.Span = p.since(m)
	return s
}

// forStatement starts at for; m may lie before it, at async.
func (p *parser) forStatement(m mark) Stmt {
	line := p.tok.Line
	p.next()
	s := &For{Target: p.targets()}
	p.expect(tIn)
	s.Iter = p.starExprs()
	s.Body = p.block("'for' statement", line)
	s.Orelse = p.orelse()
	s.Span = p.since(m)
	return s
}

func (p *parser) async(decorators []Expr) Stmt {
	m := p.mark()
	p.next()
	if decorators != nil && p.kind != tDef {
		p.invalid()
	}
	switch p.kind {
	case tDef:
		return &AsyncFunctionDef{*p.function(m, decorators)}
	case tFor:
		return &AsyncFor{*p.forStatement(m).(*For)}
	case tWith:
		return &AsyncWith{*p.with(m).(*With)}
	}
	p.invalid()
	return nil
}

func (p *parser) decorated() Stmt {
	base := len(p.exprs)
	for p.accept(tAt) {
		p.exprs = append(p.exprs, p.namedExpr())
		if p.kind != tNewline {
			p.invalid()
		}
		p.next()
	}
	list := p.takeExprs(base)
	switch p.kind {
	case tDef:
		return p.function(p.mark(), list)
	case tClass:
		return p.class(list)
	case tAsync:
		return p.async(list)
	}
	p.failHelp(p.tok.Span, "a decorator comes right before def or class", "invalid syntax: unexpected %s", p.found())
	return nil
}

// function starts at def; m may lie before it, at async.
func (p *parser) function(m mark, decorators []Expr) *FunctionDef {
	line := p.tok.Line
	p.next()
	s := &FunctionDef{Decorators: decorators}
	s.Name = p.ident()
	s.TypeParams = p.typeParams()
	if p.kind != tLParen {
		if p.lx.err == nil {
			p.fail(p.tok.Span, "expected '('")
		}
		p.invalid()
	}
	p.next()
	s.Args = p.parameters(tRParen)
	p.closing(tRParen, nil)
	if p.accept(tArrow) {
		s.Returns = p.expr()
	}
	s.Body = p.block("function definition", line)
	s.Span = p.since(m)
	return s
}

func (p *parser) class(decorators []Expr) Stmt {
	m := p.mark()
	p.next()
	s := &ClassDef{Decorators: decorators}
	s.Name = p.ident()
	s.TypeParams = p.typeParams()
	if p.kind == tLParen {
		p.next()
		s.Bases, s.Keywords = p.arguments(nil)
	}
	s.Body = p.block("class definition", m.line)
	s.Span = p.since(m)
	return s
}

// typeParams reads a [T: bound, *Ts, **P] if there is one.
func (p *parser) typeParams() []TypeParam {
	if p.kind != tLBracket {
		return nil
	}
	p.next()
	var list []TypeParam
	for {
		m := p.mark()
		switch p.kind {
		case tStar:
			p.next()
			name := p.ident()
			p.noBound("TypeVarTuple")
			list = append(list, &TypeVarTuple{typeParamNode{p.since(m)}, name})
		case tDoubleStar:
			p.next()
			name := p.ident()
			p.noBound("ParamSpec")
			list = append(list, &ParamSpec{typeParamNode{p.since(m)}, name})
		default:
			t := &TypeVar{Name: p.ident()}
			if p.accept(tColon) {
				t.Bound = p.expr()
			}
			t.Span = p.since(m)
			list = append(list, t)
		}
		if !p.accept(tComma) || p.kind == tRBracket {
			break
		}
	}
	p.closing(tRBracket, nil)
	return list
}

func (p *parser) noBound(what string) {
	if p.kind == tColon {
		p.fail(p.tok.Span, "cannot use bound with %s", what)
	}
}

func (p *parser) try() Stmt {
	m := p.mark()
	p.next()
	s := Try{Body: p.block("'try' statement", m.line)}
	star := false
	for p.kind == tExcept {
		h, isStar := p.except()
		if len(s.Handlers) > 0 && isStar != star {
			p.fail(h.Span, "cannot have both 'except' and 'except*' on the same 'try'")
		}
		star = isStar
		s.Handlers = append(s.Handlers, h)
	}
	if len(s.Handlers) > 0 {
		s.Orelse = p.orelse()
	}
	if p.kind == tFinally {
		line := p.tok.Line
		p.next()
		s.Finalbody = p.block("'finally' statement", line)
	}
	if len(s.Handlers) == 0 && s.Finalbody == nil {
		p.fail(p.tok.Span, "expected 'except' or 'finally' block")
	}
	s.Span = p.since(m)
	if star {
		return &TryStar{s}
	}
	return &s
}

func (p *parser) except() (h *ExceptHandler, star bool) {
	m, what := p.mark(), "'except' statement"
	h = &ExceptHandler{}
	p.next()
	if p.accept(tStar) {
		star, what = true, "'except*' statement"
		if p.kind == tColon || p.kind == tNewline {
			p.fail(p.tok.Span, "expected one or more exception types")
		}
	}
	if p.kind != tColon {
		tm := p.mark()
		h.Type = p.expr()
		if p.kind == tComma {
			for p.accept(tComma) && startsExpr(p.kind) {
				p.expr()
			}
			p.fail(p.since(tm), "multiple exception types must be parenthesized")
		}
		if p.accept(tAs) {
			h.Name = p.ident()
		}
	}
	h.Body = p.block(what, m.line)
	h.Span = p.since(m)
	return h, star
}

// with starts at with; m may lie before it, at async.
func (p *parser) with(m mark) Stmt {
	line := p.tok.Line
	p.next()
	s := &With{}
	switch p.withForm() {
	case withBare:
		s.Items = p.bareItems()
	case withNames:
		p.next()
		s.Items = p.withItems()
		p.closing(tRParen, nil)
	default:
		s.Items = p.withItems()
	}
	s.Body = p.block("'with' statement", line)
	s.Span = p.since(m)
	return s
}

// Forms of a with statement.
const (
	withPlain = iota // items without a parenthesis around them all
	withNames        // a parenthesis around items, an as among them
	withBare         // a parenthesis around all, no as
)

// withForm looks ahead for a parenthesis that a colon follows.
func (p *parser) withForm() int {
	if p.kind != tLParen {
		return withPlain
	}
	depth, names, walrus := 0, false, false
	toks := p.lx.toks
	for i := p.i; i < len(toks); i++ {
		switch toks[i].kind {
		case tLParen, tLBracket, tLBrace:
			depth++
		case tRParen, tRBracket, tRBrace:
			depth--
		case tAs:
			names = names || depth == 1
		case tColonEqual:
			walrus = walrus || depth == 1
		}
		if depth > 0 {
			continue
		}
		switch {
		case i+1 == len(toks) || toks[i+1].kind != tColon:
			return withPlain
		case names:
			return withNames
		case walrus:
			return withPlain // (a, b := c) is not a list of items but a tuple
		}
		return withBare
	}
	return withPlain
}

// bareItems reads a parenthesis without as: (a, b) are two items in Python, yet
// (a, *b), in which one could not be an item, is a tuple.
func (p *parser) bareItems() []*WithItem {
	m := p.mark()
	e := p.expr()
	t, ok := e.(*Tuple)
	if !ok || len(t.Elts) == 0 || t.Line != m.line || t.Col != m.col {
		return []*WithItem{{Span: p.since(m), ContextExpr: e}}
	}
	items := make([]*WithItem, len(t.Elts))
	for i, x := range t.Elts {
		if _, ok := x.(*Starred); ok {
			return []*WithItem{{Span: p.since(m), ContextExpr: e}}
		}
		items[i] = &WithItem{Span: x.Loc(), ContextExpr: x}
	}
	return items
}

// withItems reads items up to a colon or the parenthesis around them.
func (p *parser) withItems() []*WithItem {
	var items []*WithItem
	for {
		m := p.mark()
		item := &WithItem{ContextExpr: p.expr()}
		if p.accept(tAs) {
			item.OptionalVars = p.target()
			p.store(item.OptionalVars, false)
		}
		item.Span = p.since(m)
		items = append(items, item)
		if !p.accept(tComma) || p.kind == tRParen {
			return items
		}
	}
}
