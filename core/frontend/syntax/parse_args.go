package syntax

// parameterList gathers the parameters of one def or lambda.
type parameterList struct {
	*Arguments
	lambda bool
	slash  bool
	star   bool // * or *args was read: what follows is keyword-only
	bare   Span // of a * without a name
}

// parameters reads the parameters of a def, up to its ")", or of a lambda, up
// to its ":"; the end stays.
func (p *parser) parameters(end tokenKind) *Arguments {
	a := p.argumentsNode.One()
	a.Span = Span{p.tok.Line, p.tok.Col, p.tok.Line, p.tok.Col}
	if p.kind == end {
		return a
	}
	m := p.mark()
	l := parameterList{Arguments: a, lambda: end == tColon}
	for p.kind != end {
		if a.Kwarg != nil {
			p.fail(p.tok.Span, "arguments cannot follow var-keyword argument")
		}
		switch p.kind {
		case tSlash:
			p.slashMark(&l)
		case tStar:
			p.starParameter(&l)
		case tDoubleStar:
			p.next()
			a.Kwarg = p.parameter(l.lambda, false)
			if p.kind == tEqual {
				p.fail(p.tok.Span, "var-keyword argument cannot have default value")
			}
		case tLParen:
			if l.lambda {
				p.fail(p.tok.Span, "Lambda expression parameters cannot be parenthesized")
			}
			p.fail(p.tok.Span, "Function parameters cannot be parenthesized")
		default:
			p.plainParameter(&l)
		}
		if p.kind != tComma {
			break
		}
		p.next()
	}
	if l.bare.Line > 0 && len(a.KwOnly) == 0 {
		p.fail(l.bare, "named arguments must follow bare *")
	}
	a.Span = p.since(m)
	p.uniqueParameters(a)
	return a
}

func (p *parser) slashMark(l *parameterList) {
	switch {
	case l.slash:
		p.fail(p.tok.Span, "/ may appear only once")
	case l.star:
		p.fail(p.tok.Span, "/ must be ahead of *")
	case len(l.Args) == 0:
		p.fail(p.tok.Span, "at least one argument must precede /")
	}
	l.slash = true
	l.PosOnly, l.Args = l.Args, nil
	p.next()
}

func (p *parser) starParameter(l *parameterList) {
	if l.star {
		p.fail(p.tok.Span, "* argument may appear only once")
	}
	l.star = true
	sp := p.tok.Span
	p.next()
	switch p.kind {
	case tComma, tRParen, tColon:
		l.bare = sp
		return
	}
	l.Vararg = p.parameter(l.lambda, true)
	if p.kind == tEqual {
		p.fail(p.tok.Span, "var-positional argument cannot have default value")
	}
}

func (p *parser) plainParameter(l *parameterList) {
	arg := p.parameter(l.lambda, false)
	var value Expr
	if p.accept(tEqual) {
		if p.kind == tComma || p.kind == tRParen || p.kind == tColon {
			p.fail(p.tok.Span, "expected default value expression")
		}
		value = p.expr()
	}
	if l.star {
		l.KwOnly = append(l.KwOnly, arg)
		l.KwDefaults = append(l.KwDefaults, value)
		return
	}
	l.Args = append(l.Args, arg)
	if value != nil {
		l.Defaults = append(l.Defaults, value)
	} else if len(l.Defaults) > 0 {
		p.fail(arg.Span, "parameter without a default follows parameter with a default")
	}
}

// parameter reads a name and its annotation, which a lambda's lacks.
func (p *parser) parameter(lambda, star bool) *Arg {
	m := p.mark()
	id := p.ident()
	a := p.arg.One()
	a.Name = id
	if !lambda && p.accept(tColon) {
		if star && p.kind == tStar {
			a.Annotation = p.starred()
		} else {
			a.Annotation = p.expr()
		}
	}
	a.Span = p.since(m)
	return a
}

// manyNames is where looking for a repeated name pays for a map.
const manyNames = 16

func (p *parser) uniqueParameters(a *Arguments) {
	var few [manyNames]*Arg
	all := append(few[:0], a.PosOnly...)
	all = append(all, a.Args...)
	if a.Vararg != nil {
		all = append(all, a.Vararg)
	}
	all = append(all, a.KwOnly...)
	if a.Kwarg != nil {
		all = append(all, a.Kwarg)
	}
	if len(all) > manyNames {
		seen := make(map[string]bool, len(all))
		for _, x := range all {
			if seen[x.Name] {
				p.duplicate(x)
			}
			seen[x.Name] = true
		}
		return
	}
	for i, x := range all {
		for _, y := range all[:i] {
			if x.Name == y.Name {
				p.duplicate(x)
			}
		}
	}
}

func (p *parser) duplicate(a *Arg) {
	p.fail(a.Span, "duplicate argument '%s' in function definition", a.Name)
}

// arguments reads the arguments of a call whose parenthesis is at open, or
// of a class statement, where open is nil; it consumes the closing one.
func (p *parser) arguments(open *mark) ([]Expr, []*Keyword) {
	base, kwBase := len(p.exprs), len(p.keywords)
	h := int32(0)
	unpacked := false // a **kwargs was read
	var last Expr
	for p.kind != tRParen {
		m := p.mark()
		switch {
		case p.kind == tStar:
			if unpacked {
				p.fail(p.tok.Span, "iterable argument unpacking follows keyword argument unpacking")
			}
			last = p.starredArgument()
			p.exprs = append(p.exprs, last)
		case p.kind == tDoubleStar:
			p.next()
			last = p.expr()
			unpacked = true
			p.addKeyword(m, "", last)
		case p.kind == tName && p.peek() == tEqual:
			name := p.ident()
			p.next()
			if p.kind == tComma || p.kind == tRParen {
				p.fail(p.tok.Span, "expected argument value expression")
			}
			last = p.expr()
			p.addKeyword(m, name, last)
		default:
			last = p.namedExpr()
			switch p.kind {
			case tEqual:
				p.badKeyword(last)
			case tFor, tAsync:
				if open == nil {
					p.invalid()
				}
				last = p.soleGenerator(*open, m, last, len(p.exprs) == base && len(p.keywords) == kwBase)
			}
			if len(p.keywords) > kwBase {
				p.positionalAfter(last, unpacked)
			}
			p.exprs = append(p.exprs, last)
		}
		h = max(h, p.height)
		if p.kind != tComma {
			break
		}
		p.next()
	}
	p.closing(tRParen, last)
	p.height = h
	kws := p.kwList.List(p.keywords[kwBase:])
	p.keywords = p.keywords[:kwBase]
	p.uniqueKeywords(kws)
	return p.takeExprs(base), kws
}

func (p *parser) addKeyword(m mark, name string, value Expr) {
	k := p.kwNode.One()
	*k = Keyword{p.since(m), name, value}
	p.keywords = append(p.keywords, k)
}

// soleGenerator reads f(elt for …), whose parentheses are the generator's too.
func (p *parser) soleGenerator(open, m mark, elt Expr, first bool) Expr {
	g := &GeneratorExp{Elt: elt, Generators: p.comprehension(elt)}
	if !first || p.kind == tComma {
		p.fail(p.since(m), "Generator expression must be parenthesized")
	}
	if p.kind != tRParen {
		p.notClosed(nil)
	}
	g.Span = Span{open.line, open.col, p.tok.EndLine, p.tok.EndCol}
	return g
}

// badKeyword reports an = after something that is not a name.
func (p *parser) badKeyword(e Expr) {
	if c, ok := e.(*Constant); ok {
		switch c.Value.(type) {
		case bool, None:
			p.fail(p.covering(e), "cannot assign to %s", exprName(e))
		}
	}
	p.fail(p.covering(e), `expression cannot contain assignment, perhaps you meant "=="?`)
}

func (p *parser) positionalAfter(e Expr, unpacked bool) {
	if unpacked {
		p.fail(e.Loc(), "positional argument follows keyword argument unpacking")
	}
	p.fail(e.Loc(), "positional argument follows keyword argument")
}

func (p *parser) uniqueKeywords(kws []*Keyword) {
	if len(kws) > manyNames {
		seen := make(map[string]bool, len(kws))
		for _, k := range kws {
			if k.Arg != "" && seen[k.Arg] {
				p.fail(k.Span, "keyword argument repeated: %s", k.Arg)
			}
			seen[k.Arg] = true
		}
		return
	}
	for i, k := range kws {
		for _, l := range kws[:i] {
			if k.Arg != "" && k.Arg == l.Arg {
				p.fail(k.Span, "keyword argument repeated: %s", k.Arg)
			}
		}
	}
}
