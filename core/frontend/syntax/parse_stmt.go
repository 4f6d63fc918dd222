package syntax

// statements reads statements up to end, tEOF or tDedent, which stays.
func (p *parser) statements(end tokenKind) []Stmt {
	base := len(p.stmts)
	for p.kind != end {
		p.statement()
	}
	return p.takeStmts(base)
}

// statement pushes one compound statement, or the simple ones of a line.
func (p *parser) statement() {
	var s Stmt
	switch p.kind {
	case tIf:
		s = p.ifStatement()
	case tFor:
		s = p.forStatement(p.mark())
	case tDef:
		s = p.function(p.mark(), nil)
	case tClass:
		s = p.class(nil)
	case tAt:
		s = p.decorated()
	case tWhile:
		s = p.while()
	case tWith:
		s = p.with(p.mark())
	case tTry:
		s = p.try()
	case tAsync:
		s = p.async(nil)
	case tName:
		if p.isName("match") && p.atMatch() {
			s = p.match()
			break
		}
		p.simpleStatements()
		return
	default:
		p.simpleStatements()
		return
	}
	p.stmts = append(p.stmts, s)
}

// simpleStatements pushes the statements of a line, which ; separates.
func (p *parser) simpleStatements() {
	for {
		p.stmts = append(p.stmts, p.simple())
		if p.kind == tSemi {
			p.next()
			if p.kind != tNewline {
				continue
			}
		}
		if p.kind == tNewline {
			p.next()
			return
		}
		p.notEnded()
	}
}

// notEnded reports that a simple statement goes on where it should end.
func (p *parser) notEnded() {
	if p.lx.err != nil {
		panic(syntaxError{p.lx.err})
	}
	if s, ok := p.stmts[len(p.stmts)-1].(*ExprStmt); ok && startsExpr(p.kind) {
		if n, ok := s.Value.(*Name); ok && (n.ID == "print" || n.ID == "exec") {
			p.failHelp(p.covering(n), "put what follows into parentheses",
				"Missing parentheses in call to '%s'. Did you mean %s(...)?", n.ID, n.ID)
		}
	}
	p.invalid()
}

func (p *parser) simple() Stmt {
	m := p.mark()
	switch p.kind {
	case tReturn:
		p.next()
		s := p.returnStmt.One()
		if p.kind != tNewline && p.kind != tSemi {
			s.Value = p.starExprs()
		}
		s.Span = p.since(m)
		return s
	case tPass:
		p.next()
		return &Pass{stmtNode{p.since(m)}}
	case tBreak:
		p.next()
		return &Break{stmtNode{p.since(m)}}
	case tContinue:
		p.next()
		return &Continue{stmtNode{p.since(m)}}
	case tImport:
		return p.importNames(m)
	case tFrom:
		return p.importFrom(m)
	case tRaise:
		return p.raise(m)
	case tAssert:
		return p.assert(m)
	case tDel:
		return p.delete(m)
	case tGlobal:
		names := p.nameList()
		return &Global{stmtNode{p.since(m)}, names}
	case tNonlocal:
		names := p.nameList()
		return &Nonlocal{stmtNode{p.since(m)}, names}
	case tName:
		if p.peek() == tName && p.isName("type") {
			return p.typeAlias(m)
		}
	}
	return p.expressionStatement(m)
}

// expressionStatement reads an expression or one of the assignments.
func (p *parser) expressionStatement(m mark) Stmt {
	parenthesis := p.kind == tLParen
	e := p.yieldOrStarExprs()
	switch {
	case p.kind == tEqual:
		return p.assignment(m, e)
	case p.kind == tColon:
		return p.annotated(m, e, parenthesis)
	case p.kind.isAugAssign():
		switch e.(type) {
		case *Name, *Attribute, *Subscript:
		default:
			p.fail(e.Loc(), "'%s' is an illegal expression for augmented assignment", exprName(e))
		}
		p.store(e, true)
		op := augOperator(p.kind)
		p.next()
		v := p.yieldOrStarExprs()
		return &AugAssign{stmtNode{p.since(m)}, e, op, v}
	}
	s := p.exprStmt.One()
	*s = ExprStmt{stmtNode{p.since(m)}, e}
	return s
}

func (p *parser) assignment(m mark, e Expr) Stmt {
	base := len(p.exprs)
	for p.accept(tEqual) {
		p.store(e, true)
		p.exprs = append(p.exprs, e)
		e = p.yieldOrStarExprs()
	}
	s := p.assign.One()
	*s = Assign{stmtNode{p.since(m)}, p.takeExprs(base), e}
	return s
}

func (p *parser) annotated(m mark, e Expr, parenthesis bool) Stmt {
	simple := false
	switch e.(type) {
	case *Name:
		simple = !parenthesis
	case *Attribute, *Subscript:
		if parenthesis {
			p.annotatedGroup(m, e)
		}
	case *Tuple, *List:
		p.fail(e.Loc(), "only single target (not %s) can be annotated", exprName(e))
	default:
		p.notAnnotated(e)
	}
	p.store(e, true)
	p.next()
	s := &AnnAssign{Target: e, Annotation: p.expr(), Simple: simple}
	if p.accept(tEqual) {
		s.Value = p.yieldOrStarExprs()
	}
	s.Span = p.since(m)
	return s
}

// annotatedGroup refuses (a).b: int, as Python's grammar does: a parenthesis
// around a target must be around all of it.
func (p *parser) annotatedGroup(m mark, e Expr) {
	inner := e
	for inner.Loc().Line == m.line && inner.Loc().Col == m.col {
		switch x := inner.(type) {
		case *Attribute:
			inner = x.Value
		case *Subscript:
			inner = x.Value
		case *Call:
			inner = x.Func
		default:
			return
		}
	}
	switch inner.(type) {
	case *Name, *Attribute, *Subscript:
		if inner != e {
			p.notAnnotated(e)
		}
	}
}

// notAnnotated reports a colon after something that is not a target.
func (p *parser) notAnnotated(e Expr) {
	if p.lx.err != nil {
		panic(syntaxError{p.lx.err})
	}
	p.fail(e.Loc(), "illegal target for annotation")
}

func augOperator(k tokenKind) Operator { return augOperators[k-tPlusEqual] }

var augOperators = [...]Operator{
	Add, Sub, Mult, MatMult, Div, Mod, Pow, LShift, RShift, BitOr, BitXor, BitAnd, FloorDiv,
}

func (p *parser) importNames(m mark) Stmt {
	p.next()
	var names []*Alias
	for {
		am := p.mark()
		a := &Alias{Name: p.dottedName()}
		if p.accept(tAs) {
			a.Asname = p.ident()
		}
		a.Span = p.since(am)
		names = append(names, a)
		if !p.accept(tComma) {
			break
		}
	}
	return &Import{stmtNode{p.since(m)}, names}
}

func (p *parser) dottedName() string {
	off := p.tok.off
	s := p.ident()
	for p.kind == tDot {
		p.next()
		end := p.tok.end
		part := p.ident()
		if joined := p.lx.src[off:end]; len(joined) == len(s)+1+len(part) {
			s = joined // as written, which needs no copy
		} else {
			s += "." + part
		}
		if len(s) > maxDottedName {
			p.fail(p.tok.Span, "the module's name is too long")
		}
	}
	return normalName(s)
}

// maxDottedName keeps the names of hostile imports from costing the square of
// their length.
const maxDottedName = 1 << 12

func (p *parser) importFrom(m mark) Stmt {
	p.next()
	s := &ImportFrom{}
	for {
		if p.kind == tDot {
			s.Level++
		} else if p.kind == tEllipsis {
			s.Level += 3
		} else {
			break
		}
		p.next()
	}
	if p.kind != tImport || s.Level == 0 {
		s.Module = p.dottedName()
	}
	p.expect(tImport)
	switch p.kind {
	case tStar:
		am := p.mark()
		p.next()
		s.Names = []*Alias{{Span: p.since(am), Name: "*"}}
	case tLParen:
		p.next()
		for {
			s.Names = append(s.Names, p.importAlias())
			if !p.accept(tComma) || p.kind == tRParen {
				break
			}
		}
		p.closing(tRParen, nil)
	default:
		for {
			s.Names = append(s.Names, p.importAlias())
			if !p.accept(tComma) {
				break
			}
			if p.kind == tNewline {
				p.fail(p.tok.Span, "trailing comma not allowed without surrounding parentheses")
			}
		}
	}
	s.Span = p.since(m)
	return s
}

func (p *parser) importAlias() *Alias {
	m := p.mark()
	a := &Alias{Name: p.ident()}
	if p.accept(tAs) {
		a.Asname = p.ident()
	}
	a.Span = p.since(m)
	return a
}

func (p *parser) raise(m mark) Stmt {
	p.next()
	s := &Raise{}
	if p.kind != tNewline && p.kind != tSemi {
		s.Exc = p.expr()
		if p.accept(tFrom) {
			s.Cause = p.expr()
		}
	}
	s.Span = p.since(m)
	return s
}

func (p *parser) assert(m mark) Stmt {
	p.next()
	s := &Assert{Test: p.expr()}
	if p.accept(tComma) {
		s.Msg = p.expr()
	}
	s.Span = p.since(m)
	return s
}

func (p *parser) delete(m mark) Stmt {
	p.next()
	base := len(p.exprs)
	for {
		e := p.target()
		p.del(e)
		p.exprs = append(p.exprs, e)
		if !p.accept(tComma) || p.kind == tNewline || p.kind == tSemi {
			break
		}
	}
	list := p.takeExprs(base)
	return &Delete{stmtNode{p.since(m)}, list}
}

// nameList reads the names of a global or nonlocal statement.
func (p *parser) nameList() []string {
	p.next()
	names := []string{p.ident()}
	for p.accept(tComma) {
		names = append(names, p.ident())
	}
	return names
}

func (p *parser) typeAlias(m mark) Stmt {
	p.next()
	s := &TypeAlias{}
	nm := p.mark()
	id := p.ident()
	s.Name = p.newName(p.since(nm), id)
	s.Name.Ctx = Store
	s.TypeParams = p.typeParams()
	p.expect(tEqual)
	s.Value = p.expr()
	s.Span = p.since(m)
	return s
}
