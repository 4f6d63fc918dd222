package syntax

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Unparse prints an expression in one line for a message. What is longer than
// limit bytes is cut and ends in "..."; a limit of 0 is none. Positions,
// comments and redundant parentheses are gone.
func Unparse(e Expr, limit int) string {
	u := unparser{limit: limit}
	u.expr(e, 0)
	if limit > 0 && len(u.b) > limit {
		return strings.ToValidUTF8(string(u.b[:max(limit-3, 0)]), "") + "..."
	}
	return strings.ToValidUTF8(string(u.b), "\uFFFD")
}

type unparser struct {
	b     []byte
	limit int
}

// Precedences beyond those of the binary operators.
const (
	precTuple = -2 // a bare tuple, a yield, a walrus
	precTest  = 0  // lambda, conditional
	precUnary = precProduct + 1
	precPower = precProduct + 2
	precAtom  = precProduct + 3
)

func (u *unparser) put(s string) { u.b = append(u.b, s...) }

// full reports whether more would be cut off.
func (u *unparser) full() bool { return u.limit > 0 && len(u.b) > u.limit }

// expr prints e where an operator of precedence least would take it as its
// operand.
func (u *unparser) expr(e Expr, least int) {
	if u.full() {
		return
	}
	if precedence(e) < least {
		u.put("(")
		u.bare(e)
		u.put(")")
		return
	}
	u.bare(e)
}

func precedence(e Expr) int {
	switch e := e.(type) {
	case *Yield, *YieldFrom, *NamedExpr:
		return precTuple
	case *Lambda, *IfExp:
		return precTest
	case *BoolOp:
		return boolPrecedence(e.Op)
	case *Compare:
		return precCompare
	case *UnaryOp:
		if e.Op == Not {
			return precNot
		}
		return precUnary
	case *BinOp:
		return binaryPrecedence(e.Op)
	case *Await:
		return precPower
	}
	return precAtom
}

func boolPrecedence(op BoolOperator) int {
	if op == Or {
		return precOr
	}
	return precAnd
}

func binaryPrecedence(op Operator) int {
	switch op {
	case BitOr:
		return precBitOr
	case BitXor:
		return precBitXor
	case BitAnd:
		return precBitAnd
	case LShift, RShift:
		return precShift
	case Add, Sub:
		return precSum
	case Pow:
		return precPower
	}
	return precProduct
}

func (u *unparser) bare(e Expr) {
	switch e := e.(type) {
	case *BoolOp:
		for i, v := range e.Values {
			if i > 0 {
				u.put(" " + e.Op.Symbol() + " ")
			}
			u.expr(v, boolPrecedence(e.Op)+1)
		}
	case *NamedExpr:
		u.put(e.Target.ID + " := ")
		u.expr(e.Value, precTest)
	case *BinOp:
		u.binary(e)
	case *UnaryOp:
		u.put(e.Op.Symbol())
		if e.Op == Not {
			u.expr(e.Operand, precNot)
		} else {
			u.expr(e.Operand, precUnary)
		}
	case *Lambda:
		u.put("lambda")
		u.parameters(e.Args)
		u.put(": ")
		u.expr(e.Body, precTest)
	case *IfExp:
		u.expr(e.Body, precTest+1)
		u.put(" if ")
		u.expr(e.Test, precTest+1)
		u.put(" else ")
		u.expr(e.Orelse, precTest)
	case *Dict:
		u.dict(e)
	case *Set:
		u.put("{")
		u.list(e.Elts)
		u.put("}")
	case *ListComp:
		u.comprehension("[", e.Elt, e.Generators, "]")
	case *SetComp:
		u.comprehension("{", e.Elt, e.Generators, "}")
	case *GeneratorExp:
		u.comprehension("(", e.Elt, e.Generators, ")")
	case *DictComp:
		u.put("{")
		u.expr(e.Key, precTest)
		u.put(": ")
		u.comprehension("", e.Value, e.Generators, "}")
	case *Await:
		u.put("await ")
		u.expr(e.Value, precAtom)
	case *Yield:
		u.put("yield")
		if e.Value != nil {
			u.put(" ")
			u.expr(e.Value, precTest)
		}
	case *YieldFrom:
		u.put("yield from ")
		u.expr(e.Value, precTest)
	case *Compare:
		u.expr(e.Left, precCompare+1)
		for i, op := range e.Ops {
			u.put(" " + op.Symbol() + " ")
			u.expr(e.Comparators[i], precCompare+1)
		}
	default:
		u.primary(e)
	}
}

func (u *unparser) binary(e *BinOp) {
	prec := binaryPrecedence(e.Op)
	left, right := prec, prec+1
	if e.Op == Pow {
		left, right = precPower+1, precUnary
	}
	u.expr(e.Left, left)
	u.put(" " + e.Op.Symbol() + " ")
	u.expr(e.Right, right)
}

// primary prints what needs no parentheses anywhere.
func (u *unparser) primary(e Expr) {
	switch e := e.(type) {
	case *Call:
		u.expr(e.Func, precAtom)
		u.put("(")
		u.list(e.Args)
		for i, k := range e.Keywords {
			if i > 0 || len(e.Args) > 0 {
				u.put(", ")
			}
			if k.Arg == "" {
				u.put("**")
			} else {
				u.put(k.Arg + "=")
			}
			u.expr(k.Value, precTest)
		}
		u.put(")")
	case *FormattedValue:
		u.put("f'")
		u.field(e)
		u.put("'")
	case *JoinedStr:
		u.put("f'")
		u.joined(e)
		u.put("'")
	case *Constant:
		u.put(constantText(e.Value))
	case *Attribute:
		u.attributeOwner(e.Value)
		u.put("." + e.Attr)
	case *Subscript:
		u.expr(e.Value, precAtom)
		u.put("[")
		if t, ok := e.Slice.(*Tuple); ok && len(t.Elts) > 0 {
			u.tuple(t.Elts)
		} else {
			u.expr(e.Slice, precTuple)
		}
		u.put("]")
	case *Starred:
		u.put("*")
		u.expr(e.Value, precBitOr)
	case *Name:
		u.put(e.ID)
	case *List:
		u.put("[")
		u.list(e.Elts)
		u.put("]")
	case *Tuple:
		u.put("(")
		u.tuple(e.Elts)
		u.put(")")
	case *Slice:
		u.optional(e.Lower)
		u.put(":")
		u.optional(e.Upper)
		if e.Step != nil {
			u.put(":")
			u.expr(e.Step, precTest)
		}
	default:
		panic(fmt.Sprintf("BUG: Unparse does not know %T", e))
	}
}

// attributeOwner prints what a dot follows: 1 .real needs its parentheses.
func (u *unparser) attributeOwner(e Expr) {
	if c, ok := e.(*Constant); ok {
		switch c.Value.(type) {
		case int64, *big.Int:
			u.put("(" + constantText(c.Value) + ")")
			return
		}
	}
	u.expr(e, precAtom)
}

func (u *unparser) optional(e Expr) {
	if e != nil {
		u.expr(e, precTest)
	}
}

func (u *unparser) list(list []Expr) {
	for i, e := range list {
		if i > 0 {
			u.put(", ")
		}
		u.expr(e, precTest)
	}
}

func (u *unparser) tuple(list []Expr) {
	u.list(list)
	if len(list) == 1 {
		u.put(",")
	}
}

func (u *unparser) dict(e *Dict) {
	u.put("{")
	for i, k := range e.Keys {
		if i > 0 {
			u.put(", ")
		}
		if k == nil {
			u.put("**")
			u.expr(e.Values[i], precBitOr)
			continue
		}
		u.expr(k, precTest)
		u.put(": ")
		u.expr(e.Values[i], precTest)
	}
	u.put("}")
}

func (u *unparser) comprehension(open string, elt Expr, list []*Comprehension, end string) {
	u.put(open)
	u.expr(elt, precTest)
	for _, c := range list {
		if c.IsAsync {
			u.put(" async")
		}
		u.put(" for ")
		if t, ok := c.Target.(*Tuple); ok && len(t.Elts) > 0 {
			u.tuple(t.Elts)
		} else {
			u.expr(c.Target, precTest)
		}
		u.put(" in ")
		u.expr(c.Iter, precTest+1)
		for _, x := range c.Ifs {
			u.put(" if ")
			u.expr(x, precTest+1)
		}
	}
	u.put(end)
}

// parameters prints those of a lambda.
func (u *unparser) parameters(a *Arguments) {
	sep := " "
	item := func(s string) {
		u.put(sep + s)
		sep = ", "
	}
	value := func(e Expr) {
		if e != nil {
			u.put("=")
			u.expr(e, precTest)
		}
	}
	plain := len(a.PosOnly) + len(a.Args)
	for i := range plain {
		if i < len(a.PosOnly) {
			item(a.PosOnly[i].Name)
		} else {
			item(a.Args[i-len(a.PosOnly)].Name)
		}
		if j := i - (plain - len(a.Defaults)); j >= 0 {
			value(a.Defaults[j])
		}
		if i+1 == len(a.PosOnly) {
			item("/")
		}
	}
	switch {
	case a.Vararg != nil:
		item("*" + a.Vararg.Name)
	case len(a.KwOnly) > 0:
		item("*")
	}
	for i, k := range a.KwOnly {
		item(k.Name)
		value(a.KwDefaults[i])
	}
	if a.Kwarg != nil {
		item("**" + a.Kwarg.Name)
	}
}

func (u *unparser) joined(e *JoinedStr) {
	for _, v := range e.Values {
		switch v := v.(type) {
		case *Constant:
			s := quote(v.Value.(string), "")
			s = strings.NewReplacer("{", "{{", "}", "}}").Replace(s[1 : len(s)-1])
			u.put(s)
		case *FormattedValue:
			u.field(v)
		}
	}
}

func (u *unparser) field(e *FormattedValue) {
	u.put("{")
	at := len(u.b)
	u.expr(e.Value, precTest+1)
	if len(u.b) > at && u.b[at] == '{' {
		u.b = slices.Insert(u.b, at, ' ') // {{ would be a brace
	}
	if e.Conversion > 0 {
		u.put("!" + string(e.Conversion))
	}
	if e.FormatSpec != nil {
		u.put(":")
		u.joined(e.FormatSpec)
	}
	u.put("}")
}

// constantText is a literal as Python's repr has it.
func constantText(v any) string {
	switch v := v.(type) {
	case None:
		return "None"
	case Ellipsis:
		return "..."
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		return floatText(v)
	case complex128:
		return floatText(imag(v)) + "j"
	case string:
		return quote(v, "")
	case Bytes:
		return quote(string(v), "b")
	}
	panic(fmt.Sprintf("BUG: a constant cannot be a %T", v))
}

func floatText(v float64) string {
	if math.IsInf(v, 0) {
		return "1e309" // a literal too large for a float is how infinity is written
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if a := math.Abs(v); a >= 1e-4 && a < 1e16 {
		s = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// quote writes s as a Python literal in single quotes.
func quote(s, prefix string) string {
	b := append([]byte(prefix), '\'')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < ' ' || c == 0x7f || prefix != "" && c > 0x7f:
			b = fmt.Appendf(b, "\\x%02x", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '\''))
}
