package syntax

// atMatch reports whether the name match here begins a match statement. A line
// that ends in a colon can be nothing else; one that lacks it still is, when
// what follows cannot go on with an expression.
func (p *parser) atMatch() bool {
	next := p.peek()
	if !startsExpr(next) && next != tStar {
		return false
	}
	toks := p.lx.toks
	n := len(toks)
	if n >= 2 && toks[n-1].kind == tNewline && toks[n-2].kind == tColon {
		return true
	}
	// match x: on one line with its cases is not Python; a match with a missing
	// colon deserves to be told so.
	return n >= 1 && toks[n-1].kind == tNewline && startsOperand(next) && next != tTilde
}

func (p *parser) match() Stmt {
	m := p.mark()
	p.next()
	s := &Match{Subject: p.subject()}
	if p.kind != tColon {
		p.noColon()
	}
	p.next()
	if p.kind != tNewline {
		p.invalid()
	}
	p.next()
	p.expectIndent("'match' statement", m.line)
	p.enter()
	defer p.leave()
	for p.kind != tDedent {
		if !p.isName("case") {
			p.fail(p.tok.Span, "invalid syntax: expected case, found %s", p.found())
		}
		s.Cases = append(s.Cases, p.matchCase())
	}
	p.next()
	s.Span = p.since(m)
	return s
}

// subject reads what match looks at; a comma makes a tuple.
func (p *parser) subject() Expr {
	m := p.mark()
	star := p.kind == tStar
	e := p.starNamedExpr()
	if p.kind != tComma {
		if star {
			p.fail(e.Loc(), "cannot use starred expression here")
		}
		return e
	}
	base, h := len(p.exprs), p.height
	p.exprs = append(p.exprs, e)
	for p.accept(tComma) && p.kind != tColon {
		p.exprs = append(p.exprs, p.starNamedExpr())
		h = max(h, p.height)
	}
	return p.newTuple(m, base, h)
}

func (p *parser) matchCase() *MatchCase {
	m := p.mark()
	p.next()
	c := &MatchCase{Pattern: p.patterns()}
	if p.accept(tIf) {
		c.Guard = p.namedExpr()
	}
	c.Body = p.block("'case' statement", m.line)
	c.Span = p.since(m)
	return c
}

// patterns reads a pattern, or an open sequence: a, b, *c.
func (p *parser) patterns() Pattern {
	m := p.mark()
	star := p.kind == tStar
	first := p.starPattern()
	if p.kind != tComma {
		if star {
			p.fail(first.Loc(), "a starred pattern must be in a sequence")
		}
		return first
	}
	list := []Pattern{first}
	for p.accept(tComma) && p.kind != tColon && p.kind != tIf {
		list = append(list, p.starPattern())
	}
	return &MatchSequence{patternNode{p.since(m)}, list}
}

// starPattern reads an element of a sequence.
func (p *parser) starPattern() Pattern {
	if p.kind != tStar {
		return p.asPattern()
	}
	m := p.mark()
	p.next()
	name := p.ident()
	if name == "_" {
		name = ""
	}
	return &MatchStar{patternNode{p.since(m)}, name}
}

func (p *parser) asPattern() Pattern {
	m := p.mark()
	x := p.orPattern()
	if !p.accept(tAs) {
		return x
	}
	if p.kind != tName {
		p.fail(p.tok.Span, "invalid pattern target")
	}
	if p.isName("_") {
		p.fail(p.tok.Span, "cannot use '_' as a target")
	}
	name := p.ident()
	return &MatchAs{patternNode{p.since(m)}, x, name}
}

func (p *parser) orPattern() Pattern {
	m := p.mark()
	x := p.closedPattern()
	if p.kind != tPipe {
		return x
	}
	list := []Pattern{x}
	for p.accept(tPipe) {
		list = append(list, p.closedPattern())
	}
	return &MatchOr{patternNode{p.since(m)}, list}
}

func (p *parser) closedPattern() Pattern {
	m := p.mark()
	switch p.kind {
	case tNumber, tMinus, tString, tFStringStart:
		e := p.patternLiteral()
		return &MatchValue{patternNode{p.since(m)}, e}
	case tNone:
		p.next()
		return &MatchSingleton{patternNode{p.since(m)}, None{}}
	case tTrue:
		p.next()
		return &MatchSingleton{patternNode{p.since(m)}, true}
	case tFalse:
		p.next()
		return &MatchSingleton{patternNode{p.since(m)}, false}
	case tName:
		return p.namePattern()
	case tLParen:
		return p.groupPattern()
	case tLBracket:
		p.enter()
		defer p.leave()
		p.next()
		list, _ := p.sequencePattern(tRBracket)
		return &MatchSequence{patternNode{p.since(m)}, list}
	case tLBrace:
		return p.mappingPattern()
	}
	if p.lx.err == nil && startsExpr(p.kind) {
		p.fail(p.tok.Span, "patterns may only match literals and attribute lookups")
	}
	p.invalid()
	return nil
}

// patternLiteral reads a string, or a number with sign and imaginary part.
func (p *parser) patternLiteral() Expr {
	if p.kind == tString || p.kind == tFStringStart {
		e := p.strings()
		if _, ok := e.(*JoinedStr); ok {
			p.fail(e.Loc(), "patterns may only match literals and attribute lookups")
		}
		return e
	}
	m := p.mark()
	left := p.signedNumber()
	if p.kind != tPlus && p.kind != tMinus {
		return left
	}
	if isImaginary(left) {
		p.fail(left.Loc(), "real number required in complex literal")
	}
	op := Add
	if p.kind == tMinus {
		op = Sub
	}
	p.next()
	if p.kind != tNumber {
		p.invalid()
	}
	right := p.atom()
	if !isImaginary(right) {
		p.fail(right.Loc(), "imaginary number required in complex literal")
	}
	return &BinOp{exprNode{p.since(m)}, left, op, right}
}

func isImaginary(e Expr) bool {
	if u, ok := e.(*UnaryOp); ok {
		e = u.Operand
	}
	c, ok := e.(*Constant)
	if !ok {
		return false
	}
	_, ok = c.Value.(complex128)
	return ok
}

func (p *parser) signedNumber() Expr {
	if p.kind != tMinus {
		return p.atom()
	}
	m := p.mark()
	p.next()
	if p.kind != tNumber {
		p.invalid()
	}
	e := p.atom()
	return &UnaryOp{exprNode{p.since(m)}, USub, e}
}

// namePattern reads a capture, the wildcard, a dotted value or a class.
func (p *parser) namePattern() Pattern {
	m := p.mark()
	e := p.dottedValue()
	name, plain := e.(*Name)
	switch {
	case p.kind == tLParen:
		return p.classPattern(m, e)
	case !plain:
		return &MatchValue{patternNode{p.since(m)}, e}
	case name.ID == "_":
		return &MatchAs{patternNode: patternNode{p.since(m)}}
	}
	return &MatchAs{patternNode: patternNode{p.since(m)}, Name: name.ID}
}

func (p *parser) dottedValue() Expr {
	m := p.mark()
	id := p.ident()
	var e Expr = p.newName(p.since(m), id)
	p.height = 1
	for p.accept(tDot) {
		attr := p.ident()
		e = &Attribute{exprNode: exprNode{p.since(m)}, Value: e, Attr: attr}
		p.higher(0)
	}
	return e
}

// groupPattern reads ( … ): a sequence, or a pattern that keeps its position.
func (p *parser) groupPattern() Pattern {
	m := p.mark()
	p.enter()
	defer p.leave()
	p.next()
	star := p.kind == tStar
	list, comma := p.sequencePattern(tRParen)
	if len(list) == 1 && !comma {
		if star {
			p.fail(list[0].Loc(), "a starred pattern must be in a sequence")
		}
		return list[0]
	}
	return &MatchSequence{patternNode{p.since(m)}, list}
}

// sequencePattern reads elements up to the bracket k and that bracket; comma
// tells whether there was one.
func (p *parser) sequencePattern(k tokenKind) (list []Pattern, comma bool) {
	for p.kind != k {
		list = append(list, p.starPattern())
		if p.kind != tComma {
			break
		}
		comma = true
		p.next()
	}
	p.closing(k, nil)
	return list, comma
}

func (p *parser) mappingPattern() Pattern {
	m := p.mark()
	p.enter()
	defer p.leave()
	p.next()
	s := &MatchMapping{}
	for p.kind != tRBrace {
		if p.accept(tDoubleStar) {
			if p.isName("_") {
				p.invalid()
			}
			s.Rest = p.ident()
			p.accept(tComma)
			if p.kind != tRBrace {
				p.failHelp(p.tok.Span, "** must be the last", "invalid syntax: unexpected %s", p.found())
			}
			break
		}
		s.Keys = append(s.Keys, p.mappingKey())
		p.expect(tColon)
		s.Patterns = append(s.Patterns, p.asPattern())
		if !p.accept(tComma) {
			break
		}
	}
	p.closing(tRBrace, nil)
	s.Span = p.since(m)
	return s
}

func (p *parser) mappingKey() Expr {
	sp := p.tok.Span
	switch p.kind {
	case tNumber, tMinus, tString, tFStringStart:
		return p.patternLiteral()
	case tNone, tTrue, tFalse:
		return p.atom()
	case tName:
		e := p.dottedValue()
		if _, ok := e.(*Attribute); ok {
			return e
		}
		p.failHelp(sp, "a name alone would capture, which a key cannot", "invalid syntax in a mapping pattern's key")
	}
	p.invalid()
	return nil
}

func (p *parser) classPattern(m mark, cls Expr) Pattern {
	p.enter()
	defer p.leave()
	p.next()
	s := &MatchClass{Cls: cls}
	for p.kind != tRParen {
		if p.kind == tName && p.peek() == tEqual {
			s.KwdAttrs = append(s.KwdAttrs, p.ident())
			p.next()
			s.KwdPatterns = append(s.KwdPatterns, p.asPattern())
		} else {
			x := p.asPattern()
			if len(s.KwdAttrs) > 0 {
				p.fail(x.Loc(), "positional patterns follow keyword patterns")
			}
			s.Patterns = append(s.Patterns, x)
		}
		if !p.accept(tComma) {
			break
		}
	}
	p.closing(tRParen, nil)
	s.Span = p.since(m)
	return s
}
