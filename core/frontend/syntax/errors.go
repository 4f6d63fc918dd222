package syntax

// expected reports that a k should appear here.
func (p *parser) expected(k tokenKind) {
	if p.lx.err != nil {
		panic(syntaxError{p.lx.err})
	}
	switch k {
	case tColon:
		p.fail(p.tok.Span, "expected ':'")
	case tName, tIn:
		p.fail(p.tok.Span, "invalid syntax: expected %s, found %s", k, p.found())
	}
	p.invalid()
}

// found describes the current token.
func (p *parser) found() string {
	switch p.kind {
	case tName, tNumber, tString, tFStringStart:
		s := p.text()
		if len(s) > 20 {
			s = p.kind.String()
		}
		return s
	}
	return p.kind.String()
}

// invalid reports that the current token cannot appear where it does.
func (p *parser) invalid() {
	if p.lx.err != nil {
		// What the lexer stumbled over in this line, an unclosed bracket say,
		// is most often the cause.
		panic(syntaxError{p.lx.err})
	}
	switch p.kind {
	case tIndent:
		p.fail(p.tok.Span, "unexpected indent")
	case tDedent:
		p.fail(p.tok.Span, "unexpected unindent")
	case tElse, tElif, tExcept, tFinally:
		p.fail(p.tok.Span, "invalid syntax: %s does not belong to a statement before it", p.kind)
	case tAmper:
		p.invalidWithHelp("write and")
	case tPipe:
		p.invalidWithHelp("write or")
	case tNewline:
		if toks := p.lx.toks[:p.i]; len(toks) > 2 {
			last := toks[len(toks)-1].kind
			if (last == tPlus || last == tMinus) && toks[len(toks)-2].kind == last {
				p.invalidWithHelp("Python has no ++ and --; write += 1 or -= 1")
			}
		}
	case tColonEqual:
		p.invalidWithHelp("put an assignment expression into parentheses")
	}
	p.invalidWithHelp("")
}

func (p *parser) invalidWithHelp(help string) {
	p.failHelp(p.tok.Span, help, "invalid syntax: unexpected %s", p.found())
}

// startsExpr reports whether an expression can begin with k.
func startsExpr(k tokenKind) bool {
	switch k {
	case tName, tNumber, tString, tFStringStart, tLParen, tLBracket, tLBrace, tEllipsis,
		tMinus, tPlus, tTilde, tNot, tLambda, tAwait, tNone, tTrue, tFalse:
		return true
	}
	return false
}

// startsOperand is startsExpr without what could go on with the expression
// before it.
func startsOperand(k tokenKind) bool {
	switch k {
	case tName, tNumber, tString, tFStringStart, tLBrace, tEllipsis, tLambda, tAwait, tNone, tTrue, tFalse, tTilde:
		return true
	}
	return false
}

// closing consumes the bracket k that ends a list; last is its last element,
// or nil.
func (p *parser) closing(k tokenKind, last Expr) {
	if p.kind == k {
		p.next()
		return
	}
	p.notClosed(last)
}

func (p *parser) notClosed(last Expr) {
	if p.lx.err == nil && last != nil {
		if startsOperand(p.kind) {
			sp := last.Loc()
			sp.EndLine, sp.EndCol = p.tok.EndLine, p.tok.EndCol
			p.fail(sp, "invalid syntax. Perhaps you forgot a comma?")
		}
		if p.kind == tEqual {
			p.equalSign(last)
		}
	}
	p.invalid()
}

// equalSign reports a = where only an expression may appear.
func (p *parser) equalSign(left Expr) {
	if p.lx.err != nil {
		panic(syntaxError{p.lx.err})
	}
	switch left.(type) {
	case *Name:
		p.fail(p.covering(left), "invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
	default:
		p.fail(p.covering(left), "cannot assign to %s here. Maybe you meant '==' instead of '='?", exprName(left))
	}
}

// covering is the span from left to the current token.
func (p *parser) covering(left Expr) Span {
	sp := left.Loc()
	sp.EndLine, sp.EndCol = p.tok.EndLine, p.tok.EndCol
	return sp
}

// exprName is what a message calls an expression.
func exprName(e Expr) string {
	switch e := e.(type) {
	case *Attribute:
		return "attribute"
	case *Subscript:
		return "subscript"
	case *Starred:
		return "starred"
	case *Name:
		return "name"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Lambda:
		return "lambda"
	case *Call:
		return "function call"
	case *BoolOp, *BinOp, *UnaryOp:
		return "expression"
	case *GeneratorExp:
		return "generator expression"
	case *Yield, *YieldFrom:
		return "yield expression"
	case *Await:
		return "await expression"
	case *ListComp:
		return "list comprehension"
	case *SetComp:
		return "set comprehension"
	case *DictComp:
		return "dict comprehension"
	case *Dict:
		return "dict literal"
	case *Set:
		return "set display"
	case *JoinedStr, *FormattedValue:
		return "f-string expression"
	case *Constant:
		switch v := e.Value.(type) {
		case None:
			return "None"
		case Ellipsis:
			return "ellipsis"
		case bool:
			if v {
				return "True"
			}
			return "False"
		}
		return "literal"
	case *Compare:
		return "comparison"
	case *IfExp:
		return "conditional expression"
	case *NamedExpr:
		return "named expression"
	}
	return "expression"
}
