package syntax

// Precedences of the binary operators, loosest first; 0 is not an operator.
const (
	precOr = iota + 1
	precAnd
	precNot
	precCompare
	precBitOr
	precBitXor
	precBitAnd
	precShift
	precSum
	precProduct
)

// infix describes a token that comes between operands.
type infix struct {
	prec uint8
	op   uint8 // an Operator or CmpOperator
}

var infixes = [numTokens]infix{
	tOr:           {prec: precOr},
	tAnd:          {prec: precAnd},
	tEqEqual:      {precCompare, uint8(Eq)},
	tNotEqual:     {precCompare, uint8(NotEq)},
	tLess:         {precCompare, uint8(Lt)},
	tLessEqual:    {precCompare, uint8(LtE)},
	tGreater:      {precCompare, uint8(Gt)},
	tGreaterEqual: {precCompare, uint8(GtE)},
	tIs:           {precCompare, uint8(Is)},
	tIn:           {precCompare, uint8(In)},
	tNot:          {precCompare, uint8(NotIn)}, // only before in
	tPipe:         {precBitOr, uint8(BitOr)},
	tCaret:        {precBitXor, uint8(BitXor)},
	tAmper:        {precBitAnd, uint8(BitAnd)},
	tLShift:       {precShift, uint8(LShift)},
	tRShift:       {precShift, uint8(RShift)},
	tPlus:         {precSum, uint8(Add)},
	tMinus:        {precSum, uint8(Sub)},
	tStar:         {precProduct, uint8(Mult)},
	tAt:           {precProduct, uint8(MatMult)},
	tSlash:        {precProduct, uint8(Div)},
	tPercent:      {precProduct, uint8(Mod)},
	tDoubleSlash:  {precProduct, uint8(FloorDiv)},
}

// yieldOrStarExprs reads what may appear on the right of an assignment.
func (p *parser) yieldOrStarExprs() Expr {
	if p.kind == tYield {
		return p.yield()
	}
	return p.starExprs()
}

func (p *parser) yield() Expr {
	m := p.mark()
	p.next()
	if p.accept(tFrom) {
		e := p.expr()
		return &YieldFrom{exprNode{p.since(m)}, e}
	}
	y := &Yield{}
	if startsExpr(p.kind) || p.kind == tStar {
		y.Value = p.starExprs()
	}
	y.Span = p.since(m)
	return y
}

// starExprs reads expressions, starred ones among them; a comma makes a tuple.
func (p *parser) starExprs() Expr {
	m := p.mark()
	e := p.starExpr()
	if p.kind != tComma {
		return e
	}
	base, h := len(p.exprs), p.height
	p.exprs = append(p.exprs, e)
	for p.accept(tComma) && (startsExpr(p.kind) || p.kind == tStar) {
		p.exprs = append(p.exprs, p.starExpr())
		h = max(h, p.height)
	}
	return p.newTuple(m, base, h)
}

// newTuple makes a tuple that starts at m of the expressions since base, the
// highest of which has height h.
func (p *parser) newTuple(m mark, base int, h int32) Expr {
	t := p.tuple.One()
	*t = Tuple{exprNode: exprNode{p.since(m)}, Elts: p.takeExprs(base)}
	p.higher(h)
	return t
}

func (p *parser) starExpr() Expr {
	if p.kind == tStar {
		return p.starred()
	}
	return p.expr()
}

// starNamedExpr reads an element of a list, tuple or set.
func (p *parser) starNamedExpr() Expr {
	if p.kind == tStar {
		return p.starred()
	}
	return p.namedExpr()
}

func (p *parser) starred() Expr {
	m := p.mark()
	p.next()
	e := p.binary(precBitOr)
	return &Starred{exprNode: exprNode{p.since(m)}, Value: e}
}

// starredArgument reads the *expression of a call or subscript, which binds less
// tightly than that of a display.
func (p *parser) starredArgument() Expr {
	m := p.mark()
	p.next()
	e := p.expr()
	return &Starred{exprNode: exprNode{p.since(m)}, Value: e}
}

// atWalrus reports whether an assignment expression begins here.
func (p *parser) atWalrus() bool { return p.kind == tName && p.peek() == tColonEqual }

func (p *parser) namedExpr() Expr {
	if !p.atWalrus() {
		e := p.expr()
		if p.kind == tColonEqual && p.lx.err == nil {
			p.fail(e.Loc(), "cannot use assignment expressions with %s", exprName(e))
		}
		return e
	}
	m := p.mark()
	id := p.ident()
	target := p.newName(p.since(m), id)
	target.Ctx = Store
	p.next()
	e := p.expr()
	return &NamedExpr{exprNode{p.since(m)}, target, e}
}

// expr reads an expression without commas: a lambda or a conditional.
func (p *parser) expr() Expr {
	if p.kind == tLambda {
		return p.lambda()
	}
	m := p.mark()
	body := p.binary(precOr)
	if p.kind != tIf {
		return body
	}
	p.enter()
	defer p.leave()
	h := p.height
	p.next()
	test := p.binary(precOr)
	h = max(h, p.height)
	if p.kind != tElse {
		if p.lx.err != nil || p.kind != tNewline && p.kind != tRParen && p.kind != tComma && p.kind != tRBracket {
			p.invalid()
		}
		p.fail(Span{m.line, m.col, p.endLine, p.endCol}, "expected 'else' after 'if' expression")
	}
	p.next()
	orelse := p.expr()
	p.higher(h)
	return &IfExp{exprNode{p.since(m)}, test, body, orelse}
}

func (p *parser) lambda() Expr {
	m := p.mark()
	p.enter()
	defer p.leave()
	p.next()
	l := &Lambda{Args: p.parameters(tColon)}
	if p.kind != tColon {
		p.noColon()
	}
	p.next()
	l.Body = p.expr()
	l.Span = p.since(m)
	return l
}

// binary reads operands joined by operators that bind at least as tightly as
// least.
func (p *parser) binary(least uint8) Expr {
	m := p.mark()
	var left Expr
	if p.kind == tNot {
		left = p.not(m, least)
	} else {
		left = p.unary()
	}
	for {
		in := infixes[p.kind]
		switch {
		case in.prec == 0 || in.prec < least:
			return left
		case in.prec > precCompare:
			h := p.height
			p.next()
			right := p.binary(in.prec + 1)
			p.higher(h)
			b := p.binOp.One()
			*b = BinOp{exprNode{p.since(m)}, left, Operator(in.op), right}
			left = b
		case in.prec == precCompare:
			if p.kind == tNot && p.peek() != tIn {
				return left
			}
			left = p.comparison(m, left)
		default:
			left = p.boolean(m, left, in.prec)
		}
	}
}

func (p *parser) not(m mark, least uint8) Expr {
	if least > precNot {
		p.failHelp(p.tok.Span, "put the not expression into parentheses", "invalid syntax: unexpected 'not'")
	}
	p.enter()
	defer p.leave()
	p.next()
	e := p.binary(precNot)
	p.higher(0)
	return &UnaryOp{exprNode{p.since(m)}, Not, e}
}

// boolean reads the rest of a or b or c, or of a and b and c.
func (p *parser) boolean(m mark, first Expr, prec uint8) Expr {
	op, k := Or, tOr
	if prec == precAnd {
		op, k = And, tAnd
	}
	base, h := len(p.exprs), p.height
	p.exprs = append(p.exprs, first)
	for p.accept(k) {
		p.exprs = append(p.exprs, p.binary(prec+1))
		h = max(h, p.height)
	}
	values := p.takeExprs(base)
	p.higher(h)
	return &BoolOp{exprNode{p.since(m)}, op, values}
}

// comparison reads the rest of a < b <= c.
func (p *parser) comparison(m mark, left Expr) Expr {
	c := p.compare.One()
	c.Left = left
	base, h := len(p.exprs), p.height
	var few [8]CmpOperator // most chains are shorter
	ops := few[:0]
	for infixes[p.kind].prec == precCompare {
		op := CmpOperator(infixes[p.kind].op)
		switch p.kind {
		case tNot:
			if p.peek() != tIn {
				p.invalid()
			}
			p.next()
		case tIs:
			if p.peek() == tNot {
				op = IsNot
				p.next()
			}
		case tNotEqual:
			if p.text() == "<>" {
				p.failHelp(p.tok.Span, "write !=", "invalid syntax: unexpected '<>'")
			}
		}
		p.next()
		ops = append(ops, op)
		p.exprs = append(p.exprs, p.binary(precBitOr))
		h = max(h, p.height)
	}
	c.Ops = p.cmpList.List(ops)
	c.Comparators = p.takeExprs(base)
	c.Span = p.since(m)
	p.higher(h)
	return c
}

// unary reads a signed operand or a power.
func (p *parser) unary() Expr {
	var op UnaryOperator
	switch p.kind {
	case tMinus:
		op = USub
	case tPlus:
		op = UAdd
	case tTilde:
		op = Invert
	default:
		return p.power()
	}
	m := p.mark()
	p.enter()
	defer p.leave()
	p.next()
	e := p.unary()
	p.higher(0)
	return &UnaryOp{exprNode{p.since(m)}, op, e}
}

func (p *parser) power() Expr {
	m := p.mark()
	var left Expr
	if p.kind == tAwait {
		p.next()
		e := p.primary()
		left = &Await{exprNode{p.since(m)}, e}
	} else {
		left = p.primary()
	}
	if p.kind != tDoubleStar {
		return left
	}
	p.enter()
	defer p.leave()
	h := p.height
	p.next()
	right := p.unary()
	p.higher(h)
	b := p.binOp.One()
	*b = BinOp{exprNode{p.since(m)}, left, Pow, right}
	return b
}

// primary reads an atom and the attributes, calls and subscripts after it.
func (p *parser) primary() Expr {
	m := p.mark()
	e := p.atom()
	for {
		switch p.kind {
		case tDot:
			p.next()
			id := p.ident()
			a := p.attribute.One()
			*a = Attribute{exprNode: exprNode{p.since(m)}, Value: e, Attr: id}
			e = a
			p.higher(0)
		case tLParen:
			h := p.height
			open := p.mark()
			p.enter()
			p.next()
			c := p.call.One()
			c.Func = e
			c.Args, c.Keywords = p.arguments(&open)
			p.leave()
			c.Span = p.since(m)
			e = c
			p.higher(h)
		case tLBracket:
			h := p.height
			p.enter()
			p.next()
			s := p.subscript.One()
			s.Value = e
			s.Slice = p.slices()
			p.closing(tRBracket, s.Slice)
			p.leave()
			s.Span = p.since(m)
			e = s
			p.higher(h)
		default:
			return e
		}
	}
}

// slices reads what is in the brackets of a subscript.
func (p *parser) slices() Expr {
	m := p.mark()
	star := p.kind == tStar
	e := p.slice()
	if p.kind != tComma && !star {
		return e
	}
	base, h := len(p.exprs), p.height
	p.exprs = append(p.exprs, e)
	for p.accept(tComma) && p.kind != tRBracket {
		p.exprs = append(p.exprs, p.slice())
		h = max(h, p.height)
	}
	return p.newTuple(m, base, h)
}

func (p *parser) slice() Expr {
	if p.kind == tStar {
		return p.starredArgument()
	}
	if p.atWalrus() {
		return p.namedExpr()
	}
	m := p.mark()
	var lower Expr
	p.height = 0
	if p.kind != tColon {
		lower = p.expr()
		if p.kind != tColon {
			return lower
		}
	}
	p.next()
	s := &Slice{Lower: lower}
	h := p.height
	if p.kind != tColon && p.kind != tComma && p.kind != tRBracket {
		s.Upper = p.expr()
		h = max(h, p.height)
	}
	if p.accept(tColon) && p.kind != tComma && p.kind != tRBracket {
		s.Step = p.expr()
	}
	s.Span = p.since(m)
	p.higher(h)
	return s
}

func (p *parser) newName(sp Span, id string) *Name {
	n := p.name.One()
	*n = Name{exprNode: exprNode{sp}, ID: id}
	return n
}

func (p *parser) newConstant(sp Span, v any) *Constant {
	c := p.constant.One()
	*c = Constant{exprNode: exprNode{sp}, Value: v}
	return c
}
