package syntax

// store converts an expression that was read as a value to the target of an
// assignment. Messages depend on whether the target is alone.
func (p *parser) store(e Expr, top bool) {
	switch e := e.(type) {
	case *Name:
		e.Ctx = Store
	case *Attribute:
		e.Ctx = Store
	case *Subscript:
		e.Ctx = Store
	case *Starred:
		e.Ctx = Store
		p.store(e.Value, false)
	case *Tuple:
		e.Ctx = Store
		for _, x := range e.Elts {
			p.store(x, false)
		}
	case *List:
		e.Ctx = Store
		for _, x := range e.Elts {
			p.store(x, false)
		}
	default:
		p.badTarget(e, top)
	}
}

func (p *parser) badTarget(e Expr, top bool) {
	name := exprName(e)
	if c, ok := e.(*Constant); ok && top {
		switch c.Value.(type) {
		case None, bool:
			top = false
		}
	}
	if _, ok := e.(*Yield); ok && top {
		p.fail(e.Loc(), "assignment to yield expression not possible")
	}
	if top {
		p.fail(e.Loc(), "cannot assign to %s here. Maybe you meant '==' instead of '='?", name)
	}
	p.fail(e.Loc(), "cannot assign to %s", name)
}

// del converts an expression to the target of a del statement.
func (p *parser) del(e Expr) {
	switch e := e.(type) {
	case *Name:
		e.Ctx = Del
	case *Attribute:
		e.Ctx = Del
	case *Subscript:
		e.Ctx = Del
	case *Tuple:
		e.Ctx = Del
		for _, x := range e.Elts {
			p.del(x)
		}
	case *List:
		e.Ctx = Del
		for _, x := range e.Elts {
			p.del(x)
		}
	default:
		p.fail(e.Loc(), "cannot delete %s", exprName(e))
	}
}

// targets reads what comes between for and in.
func (p *parser) targets() Expr {
	m := p.mark()
	first := p.target()
	if p.kind != tComma {
		p.store(first, false)
		return first
	}
	base := len(p.exprs)
	p.exprs = append(p.exprs, first)
	for p.accept(tComma) && (startsExpr(p.kind) || p.kind == tStar) {
		p.exprs = append(p.exprs, p.target())
	}
	t := p.tuple.One()
	*t = Tuple{exprNode: exprNode{p.since(m)}, Elts: p.takeExprs(base)}
	p.store(t, false)
	return t
}

// target reads one target, still as a value. A comparison is none, so that the
// in of a for statement stays.
func (p *parser) target() Expr {
	if p.kind == tStar {
		return p.starred()
	}
	return p.binary(precBitOr)
}
