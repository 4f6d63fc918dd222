package syntax

// atom reads an expression that needs no operator.
func (p *parser) atom() Expr {
	sp := p.tok.Span
	p.height = 1
	switch p.kind {
	case tName:
		return p.newName(sp, p.ident())
	case tNumber:
		v := p.numberValue()
		p.next()
		return p.newConstant(sp, v)
	case tString, tFStringStart:
		return p.strings()
	case tTrue:
		p.next()
		return p.newConstant(sp, true)
	case tFalse:
		p.next()
		return p.newConstant(sp, false)
	case tNone:
		p.next()
		return p.newConstant(sp, None{})
	case tEllipsis:
		p.next()
		return p.newConstant(sp, Ellipsis{})
	case tLParen:
		m := p.mark()
		p.next()
		return p.parenthesized(m)
	case tLBracket:
		return p.list()
	case tLBrace:
		return p.braces()
	}
	p.noExpr()
	return nil
}

// noExpr reports that no expression can begin with the current token.
func (p *parser) noExpr() {
	if p.lx.err == nil {
		switch p.kind {
		case tStar:
			p.fail(p.tok.Span, "cannot use starred expression here")
		case tDoubleStar:
			p.fail(p.tok.Span, "cannot use double starred expression here")
		}
	}
	p.invalid()
}

// parenthesized reads the rest of ( … ), which begins at m: a tuple, a
// generator expression, or an expression that keeps its own position.
func (p *parser) parenthesized(m mark) Expr {
	p.enter()
	defer p.leave()
	if p.accept(tRParen) {
		t := p.tuple.One()
		t.Span = p.since(m)
		return t
	}
	if p.kind == tYield {
		e := p.yield()
		p.closing(tRParen, e)
		return e
	}
	e := p.starNamedExpr()
	switch p.kind {
	case tFor, tAsync:
		g := p.generator(m, e)
		p.next()
		return g
	case tComma:
		base, h := len(p.exprs), p.height
		p.exprs = append(p.exprs, e)
		for p.accept(tComma) && p.kind != tRParen {
			e = p.starNamedExpr()
			p.exprs = append(p.exprs, e)
			h = max(h, p.height)
		}
		p.closing(tRParen, e)
		return p.newTuple(m, base, h)
	}
	p.closing(tRParen, e)
	if s, ok := e.(*Starred); ok {
		p.fail(s.Span, "cannot use starred expression here")
	}
	return e
}

// generator reads the for clauses of a generator expression whose parenthesis
// is at m; the closing one is left, its end is the node's.
func (p *parser) generator(m mark, elt Expr) Expr {
	g := &GeneratorExp{Elt: elt, Generators: p.comprehension(elt)}
	if p.kind != tRParen {
		p.notClosed(nil)
	}
	g.Span = Span{m.line, m.col, p.tok.EndLine, p.tok.EndCol}
	return g
}

func (p *parser) list() Expr {
	m := p.mark()
	p.enter()
	defer p.leave()
	p.next()
	l := &List{}
	if p.kind != tRBracket {
		e := p.starNamedExpr()
		if p.kind == tFor || p.kind == tAsync {
			c := &ListComp{Elt: e, Generators: p.comprehension(e)}
			p.closing(tRBracket, nil)
			c.Span = p.since(m)
			return c
		}
		l.Elts, e = p.elements(e, tRBracket)
		p.closing(tRBracket, e)
	} else {
		p.next()
	}
	l.Span = p.since(m)
	return l
}

// elements reads the rest of a list or set that ends in k, which stays, and
// returns the last element too.
func (p *parser) elements(first Expr, k tokenKind) (list []Expr, last Expr) {
	base, h := len(p.exprs), p.height
	p.exprs = append(p.exprs, first)
	for p.accept(tComma) && p.kind != k {
		first = p.starNamedExpr()
		p.exprs = append(p.exprs, first)
		h = max(h, p.height)
	}
	p.higher(h)
	return p.takeExprs(base), first
}

// braces reads a dict, a set or a comprehension of either.
func (p *parser) braces() Expr {
	m := p.mark()
	p.enter()
	defer p.leave()
	p.next()
	if p.accept(tRBrace) {
		return &Dict{exprNode: exprNode{p.since(m)}}
	}
	if p.kind == tDoubleStar {
		return p.dict(m, nil)
	}
	walrus := p.atWalrus()
	e := p.starNamedExpr()
	if p.kind == tColon && !walrus {
		if _, ok := e.(*Starred); ok {
			p.fail(e.Loc(), "cannot use a starred expression in a dictionary key")
		}
		return p.dict(m, e)
	}
	if p.kind == tFor || p.kind == tAsync {
		c := &SetComp{Elt: e, Generators: p.comprehension(e)}
		p.closing(tRBrace, nil)
		c.Span = p.since(m)
		return c
	}
	s := &Set{}
	s.Elts, e = p.elements(e, tRBrace)
	p.closing(tRBrace, e)
	s.Span = p.since(m)
	return s
}

// dict reads the rest of a dict whose first key is given, or whose first item
// begins with **.
func (p *parser) dict(m mark, key Expr) Expr {
	base := len(p.exprs) // keys and values alternate
	h := p.height
	var value Expr
	for {
		if key == nil && p.kind == tDoubleStar {
			p.next()
			value = p.binary(precBitOr)
			p.exprs = append(p.exprs, nil, value)
			if p.kind == tFor || p.kind == tAsync {
				p.fail(value.Loc(), "dict unpacking cannot be used in dict comprehension")
			}
		} else {
			if key == nil {
				key = p.expr()
				h = max(h, p.height)
			}
			value = p.dictValue(key)
			if (p.kind == tFor || p.kind == tAsync) && len(p.exprs) == base {
				c := &DictComp{Key: key, Value: value, Generators: p.comprehension(value)}
				p.closing(tRBrace, nil)
				c.Span = p.since(m)
				return c
			}
			p.exprs = append(p.exprs, key, value)
			key = nil
		}
		h = max(h, p.height)
		if !p.accept(tComma) || p.kind == tRBrace {
			break
		}
	}
	p.closing(tRBrace, value)
	d := &Dict{}
	d.Keys, d.Values = p.takePairs(base)
	d.Span = p.since(m)
	p.higher(h)
	return d
}

func (p *parser) dictValue(key Expr) Expr {
	if p.kind != tColon {
		if p.lx.err != nil {
			p.invalid()
		}
		p.fail(key.Loc(), "':' expected after dictionary key")
	}
	p.next()
	switch p.kind {
	case tRBrace, tComma:
		p.fail(p.tok.Span, "expression expected after dictionary key and ':'")
	case tStar:
		p.fail(p.tok.Span, "cannot use a starred expression in a dictionary value")
	}
	return p.expr()
}

// takePairs pops keys and values.
func (p *parser) takePairs(base int) (keys, values []Expr) {
	pairs := p.exprs[base:]
	n := len(pairs) / 2
	both := make([]Expr, 2*n)
	keys, values = both[:n:n], both[n:]
	for i := range n {
		keys[i], values[i] = pairs[2*i], pairs[2*i+1]
	}
	p.exprs = p.exprs[:base]
	return keys, values
}

// comprehension reads for clauses; elt is what they make elements of.
func (p *parser) comprehension(elt Expr) []*Comprehension {
	if s, ok := elt.(*Starred); ok {
		p.fail(s.Span, "iterable unpacking cannot be used in comprehension")
	}
	h := p.height
	var list []*Comprehension
	for p.kind == tFor || p.kind == tAsync {
		m := p.mark()
		c := &Comprehension{IsAsync: p.accept(tAsync)}
		p.expect(tFor)
		c.Target = p.targets()
		p.expect(tIn)
		c.Iter = p.binary(precOr)
		h = max(h, p.height)
		base := len(p.exprs)
		for p.accept(tIf) {
			p.exprs = append(p.exprs, p.binary(precOr))
			h = max(h, p.height)
		}
		c.Ifs = p.takeExprs(base)
		c.Span = p.since(m)
		list = append(list, c)
	}
	p.higher(h)
	return list
}
