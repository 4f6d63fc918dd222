package syntax

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Dump prints a tree with every field and position in a canonical form on one
// line: Kind@line:col-endline:endcol(field,field,…), fields in CPython's order.
// Strings are escaped byte by byte and floats are their bits, so that another
// implementation can print the same; testdata/dump_ast.py does.
func Dump(n Node) string {
	d := dumper{}
	d.node(n)
	return string(d.b)
}

type dumper struct{ b []byte }

func (d *dumper) put(s string) { d.b = append(d.b, s...) }

func (d *dumper) open(kind string, sp Span) {
	d.put(kind)
	d.b = append(d.b, '@')
	d.b = strconv.AppendInt(d.b, int64(sp.Line), 10)
	d.b = append(d.b, ':')
	d.b = strconv.AppendInt(d.b, int64(sp.Col), 10)
	d.b = append(d.b, '-')
	d.b = strconv.AppendInt(d.b, int64(sp.EndLine), 10)
	d.b = append(d.b, ':')
	d.b = strconv.AppendInt(d.b, int64(sp.EndCol), 10)
}

// form prints a node that has a position.
func (d *dumper) form(kind string, sp Span, fields ...any) {
	d.open(kind, sp)
	d.fields(fields)
}

// bare prints a node to which CPython gives no position.
func (d *dumper) bare(kind string, fields ...any) {
	d.put(kind)
	d.fields(fields)
}

func (d *dumper) fields(fields []any) {
	d.b = append(d.b, '(')
	for i, f := range fields {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.value(f)
	}
	d.b = append(d.b, ')')
}

// optName is a name that may be missing, and is then "".
type optName string

func (d *dumper) value(f any) {
	switch f := f.(type) {
	case nil:
		d.put("-")
	case bool:
		if f {
			d.put("1")
		} else {
			d.put("0")
		}
	case int:
		d.b = strconv.AppendInt(d.b, int64(f), 10)
	case string:
		d.quoted("", f)
	case optName:
		if f == "" {
			d.put("-")
		} else {
			d.quoted("", string(f))
		}
	case fmt.Stringer: // an operator or context
		d.put(f.String())
	case []Expr:
		dumpList(d, f)
	case []Stmt:
		dumpList(d, f)
	case []Pattern:
		dumpList(d, f)
	case []TypeParam:
		dumpList(d, f)
	case []*Keyword:
		dumpList(d, f)
	case []*Alias:
		dumpList(d, f)
	case []*Arg:
		dumpList(d, f)
	case []*WithItem:
		dumpList(d, f)
	case []*Comprehension:
		dumpList(d, f)
	case []*ExceptHandler:
		dumpList(d, f)
	case []*MatchCase:
		dumpList(d, f)
	case []string:
		d.b = append(d.b, '[')
		for i, s := range f {
			if i > 0 {
				d.b = append(d.b, ',')
			}
			d.quoted("", s)
		}
		d.b = append(d.b, ']')
	case []CmpOperator:
		d.b = append(d.b, '[')
		for i, op := range f {
			if i > 0 {
				d.b = append(d.b, ',')
			}
			d.put(op.String())
		}
		d.b = append(d.b, ']')
	case Node:
		d.node(f)
	default:
		panic(fmt.Sprintf("BUG: Dump does not know %T", f))
	}
}

func dumpList[T Node](d *dumper, list []T) {
	d.b = append(d.b, '[')
	for i, n := range list {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		if any(n) == nil {
			d.put("-") // a ** item of a dict, a parameter without default
		} else {
			d.node(n)
		}
	}
	d.b = append(d.b, ']')
}

// opt turns a nil pointer into a nil interface.
func opt[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

func (d *dumper) quoted(prefix, s string) {
	const hex = "0123456789abcdef"
	d.put(prefix)
	d.b = append(d.b, '"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			d.b = append(d.b, '\\', 'x', hex[c>>4], hex[c&15])
		} else {
			d.b = append(d.b, c)
		}
	}
	d.b = append(d.b, '"')
}

func (d *dumper) constant(v any) {
	switch v := v.(type) {
	case None:
		d.put("None")
	case Ellipsis:
		d.put("Ellipsis")
	case bool:
		if v {
			d.put("True")
		} else {
			d.put("False")
		}
	case int64:
		d.b = strconv.AppendInt(d.b, v, 16)
	case *big.Int:
		d.b = v.Append(d.b, 16)
	case float64:
		d.b = fmt.Appendf(d.b, "f%016x", math.Float64bits(v))
	case complex128:
		d.b = fmt.Appendf(d.b, "j%016x", math.Float64bits(imag(v)))
	case string:
		d.quoted("", v)
	case Bytes:
		d.quoted("b", string(v))
	default:
		panic(fmt.Sprintf("BUG: a constant cannot be a %T", v))
	}
}

func (d *dumper) node(n Node) {
	switch n := n.(type) {
	case *Module:
		d.bare("Module", n.Body)
	case *FunctionDef:
		d.function("FunctionDef", n)
	case *AsyncFunctionDef:
		d.function("AsyncFunctionDef", &n.FunctionDef)
	case *ClassDef:
		d.form("ClassDef", n.Span, n.Name, n.Bases, n.Keywords, n.Body, n.Decorators, n.TypeParams)
	case *Return:
		d.form("Return", n.Span, n.Value)
	case *Delete:
		d.form("Delete", n.Span, n.Targets)
	case *Assign:
		d.form("Assign", n.Span, n.Targets, n.Value)
	case *TypeAlias:
		d.form("TypeAlias", n.Span, n.Name, n.TypeParams, n.Value)
	case *AugAssign:
		d.form("AugAssign", n.Span, n.Target, n.Op, n.Value)
	case *AnnAssign:
		d.form("AnnAssign", n.Span, n.Target, n.Annotation, n.Value, n.Simple)
	case *For:
		d.form("For", n.Span, n.Target, n.Iter, n.Body, n.Orelse)
	case *AsyncFor:
		d.form("AsyncFor", n.Span, n.Target, n.Iter, n.Body, n.Orelse)
	case *While:
		d.form("While", n.Span, n.Test, n.Body, n.Orelse)
	case *If:
		d.form("If", n.Span, n.Test, n.Body, n.Orelse)
	case *With:
		d.form("With", n.Span, n.Items, n.Body)
	case *AsyncWith:
		d.form("AsyncWith", n.Span, n.Items, n.Body)
	case *Match:
		d.form("Match", n.Span, n.Subject, n.Cases)
	case *Raise:
		d.form("Raise", n.Span, n.Exc, n.Cause)
	case *Try:
		d.form("Try", n.Span, n.Body, n.Handlers, n.Orelse, n.Finalbody)
	case *TryStar:
		d.form("TryStar", n.Span, n.Body, n.Handlers, n.Orelse, n.Finalbody)
	case *Assert:
		d.form("Assert", n.Span, n.Test, n.Msg)
	case *Import:
		d.form("Import", n.Span, n.Names)
	case *ImportFrom:
		d.form("ImportFrom", n.Span, optName(n.Module), n.Names, n.Level)
	case *Global:
		d.form("Global", n.Span, n.Names)
	case *Nonlocal:
		d.form("Nonlocal", n.Span, n.Names)
	case *ExprStmt:
		d.form("Expr", n.Span, n.Value)
	case *Pass:
		d.form("Pass", n.Span)
	case *Break:
		d.form("Break", n.Span)
	case *Continue:
		d.form("Continue", n.Span)
	case Expr:
		d.expr(n)
	case Pattern:
		d.pattern(n)
	default:
		d.part(n)
	}
}

func (d *dumper) function(kind string, n *FunctionDef) {
	d.form(kind, n.Span, n.Name, n.Args, n.Body, n.Decorators, n.Returns, n.TypeParams)
}

func (d *dumper) expr(n Expr) {
	switch n := n.(type) {
	case *BoolOp:
		d.form("BoolOp", n.Span, n.Op, n.Values)
	case *NamedExpr:
		d.form("NamedExpr", n.Span, n.Target, n.Value)
	case *BinOp:
		d.form("BinOp", n.Span, n.Left, n.Op, n.Right)
	case *UnaryOp:
		d.form("UnaryOp", n.Span, n.Op, n.Operand)
	case *Lambda:
		d.form("Lambda", n.Span, n.Args, n.Body)
	case *IfExp:
		d.form("IfExp", n.Span, n.Test, n.Body, n.Orelse)
	case *Dict:
		d.form("Dict", n.Span, n.Keys, n.Values)
	case *Set:
		d.form("Set", n.Span, n.Elts)
	case *ListComp:
		d.form("ListComp", n.Span, n.Elt, n.Generators)
	case *SetComp:
		d.form("SetComp", n.Span, n.Elt, n.Generators)
	case *DictComp:
		d.form("DictComp", n.Span, n.Key, n.Value, n.Generators)
	case *GeneratorExp:
		d.form("GeneratorExp", n.Span, n.Elt, n.Generators)
	case *Await:
		d.form("Await", n.Span, n.Value)
	case *Yield:
		d.form("Yield", n.Span, n.Value)
	case *YieldFrom:
		d.form("YieldFrom", n.Span, n.Value)
	case *Compare:
		d.form("Compare", n.Span, n.Left, n.Ops, n.Comparators)
	case *Call:
		d.form("Call", n.Span, n.Func, n.Args, n.Keywords)
	case *FormattedValue:
		d.form("FormattedValue", n.Span, n.Value, int(n.Conversion), opt(n.FormatSpec))
	case *JoinedStr:
		d.form("JoinedStr", n.Span, n.Values)
	case *Constant:
		d.open("Constant", n.Span)
		d.put("(")
		d.constant(n.Value)
		if n.UKind {
			d.put(",u")
		}
		d.put(")")
	case *Attribute:
		d.form("Attribute", n.Span, n.Value, n.Attr, n.Ctx)
	case *Subscript:
		d.form("Subscript", n.Span, n.Value, n.Slice, n.Ctx)
	case *Starred:
		d.form("Starred", n.Span, n.Value, n.Ctx)
	case *Name:
		d.form("Name", n.Span, n.ID, n.Ctx)
	case *List:
		d.form("List", n.Span, n.Elts, n.Ctx)
	case *Tuple:
		d.form("Tuple", n.Span, n.Elts, n.Ctx)
	case *Slice:
		d.form("Slice", n.Span, n.Lower, n.Upper, n.Step)
	default:
		panic(fmt.Sprintf("BUG: Dump does not know %T", n))
	}
}

func (d *dumper) pattern(n Pattern) {
	switch n := n.(type) {
	case *MatchValue:
		d.form("MatchValue", n.Span, n.Value)
	case *MatchSingleton:
		d.open("MatchSingleton", n.Span)
		d.put("(")
		d.constant(n.Value)
		d.put(")")
	case *MatchSequence:
		d.form("MatchSequence", n.Span, n.Patterns)
	case *MatchMapping:
		d.form("MatchMapping", n.Span, n.Keys, n.Patterns, optName(n.Rest))
	case *MatchClass:
		d.form("MatchClass", n.Span, n.Cls, n.Patterns, n.KwdAttrs, n.KwdPatterns)
	case *MatchStar:
		d.form("MatchStar", n.Span, optName(n.Name))
	case *MatchAs:
		d.form("MatchAs", n.Span, n.Pattern, optName(n.Name))
	case *MatchOr:
		d.form("MatchOr", n.Span, n.Patterns)
	default:
		panic(fmt.Sprintf("BUG: Dump does not know %T", n))
	}
}

func (d *dumper) part(n Node) {
	switch n := n.(type) {
	case *TypeVar:
		d.form("TypeVar", n.Span, n.Name, n.Bound)
	case *ParamSpec:
		d.form("ParamSpec", n.Span, n.Name)
	case *TypeVarTuple:
		d.form("TypeVarTuple", n.Span, n.Name)
	case *Arguments:
		d.bare("arguments", n.PosOnly, n.Args, opt(n.Vararg), n.KwOnly, n.KwDefaults, opt(n.Kwarg), n.Defaults)
	case *Arg:
		d.form("arg", n.Span, n.Name, n.Annotation)
	case *Keyword:
		d.form("keyword", n.Span, optName(n.Arg), n.Value)
	case *Alias:
		d.form("alias", n.Span, n.Name, optName(n.Asname))
	case *WithItem:
		d.bare("withitem", n.ContextExpr, n.OptionalVars)
	case *Comprehension:
		d.bare("comprehension", n.Target, n.Iter, n.Ifs, n.IsAsync)
	case *ExceptHandler:
		d.form("ExceptHandler", n.Span, n.Type, optName(n.Name), n.Body)
	case *MatchCase:
		d.bare("match_case", n.Pattern, n.Guard, n.Body)
	default:
		panic(fmt.Sprintf("BUG: Dump does not know %T", n))
	}
}
