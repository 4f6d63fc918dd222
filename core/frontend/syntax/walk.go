package syntax

import "fmt"

// A Visitor is called by Walk for every node. When Visit returns nil the node's
// children are skipped, otherwise they are visited with what it returned.
type Visitor interface {
	Visit(n Node) Visitor
}

type inspector func(Node) bool

func (f inspector) Visit(n Node) Visitor {
	if f(n) {
		return f
	}
	return nil
}

// Inspect calls f for n and, where f returns true, for its children, in the
// order of CPython's fields (which is not always that of the text).
func Inspect(n Node, f func(Node) bool) { Walk(inspector(f), n) }

// Walk visits n and its children, depth first. The parser bounds the depth of a
// tree, so recursion here is bounded too.
func Walk(v Visitor, n Node) {
	v = v.Visit(n)
	if v == nil {
		return
	}
	switch n := n.(type) {
	case *Module:
		walkAll(v, n.Body)
	case *FunctionDef:
		walkFunction(v, n)
	case *AsyncFunctionDef:
		walkFunction(v, &n.FunctionDef)
	case *ClassDef:
		walkAll(v, n.Bases)
		walkAll(v, n.Keywords)
		walkAll(v, n.Body)
		walkAll(v, n.Decorators)
		walkAll(v, n.TypeParams)
	case *Return:
		walkOpt(v, n.Value)
	case *Delete:
		walkAll(v, n.Targets)
	case *Assign:
		walkAll(v, n.Targets)
		Walk(v, n.Value)
	case *TypeAlias:
		Walk(v, n.Name)
		walkAll(v, n.TypeParams)
		Walk(v, n.Value)
	case *AugAssign:
		Walk(v, n.Target)
		Walk(v, n.Value)
	case *AnnAssign:
		Walk(v, n.Target)
		Walk(v, n.Annotation)
		walkOpt(v, n.Value)
	case *For:
		walkFor(v, n)
	case *AsyncFor:
		walkFor(v, &n.For)
	case *While:
		Walk(v, n.Test)
		walkAll(v, n.Body)
		walkAll(v, n.Orelse)
	case *If:
		Walk(v, n.Test)
		walkAll(v, n.Body)
		walkAll(v, n.Orelse)
	case *With:
		walkAll(v, n.Items)
		walkAll(v, n.Body)
	case *AsyncWith:
		walkAll(v, n.Items)
		walkAll(v, n.Body)
	case *Match:
		Walk(v, n.Subject)
		walkAll(v, n.Cases)
	case *Raise:
		walkOpt(v, n.Exc)
		walkOpt(v, n.Cause)
	case *Try:
		walkTry(v, n)
	case *TryStar:
		walkTry(v, &n.Try)
	case *Assert:
		Walk(v, n.Test)
		walkOpt(v, n.Msg)
	case *Import:
		walkAll(v, n.Names)
	case *ImportFrom:
		walkAll(v, n.Names)
	case *ExprStmt:
		Walk(v, n.Value)
	case *Global, *Nonlocal, *Pass, *Break, *Continue:
	default:
		walkInner(v, n)
	}
}

// walkInner is Walk for everything but statements.
func walkInner(v Visitor, n Node) {
	switch n := n.(type) {
	case *BoolOp:
		walkAll(v, n.Values)
	case *NamedExpr:
		Walk(v, n.Target)
		Walk(v, n.Value)
	case *BinOp:
		Walk(v, n.Left)
		Walk(v, n.Right)
	case *UnaryOp:
		Walk(v, n.Operand)
	case *Lambda:
		Walk(v, n.Args)
		Walk(v, n.Body)
	case *IfExp:
		Walk(v, n.Test)
		Walk(v, n.Body)
		Walk(v, n.Orelse)
	case *Dict:
		for i, k := range n.Keys {
			walkOpt(v, k)
			Walk(v, n.Values[i])
		}
	case *Set:
		walkAll(v, n.Elts)
	case *ListComp:
		Walk(v, n.Elt)
		walkAll(v, n.Generators)
	case *SetComp:
		Walk(v, n.Elt)
		walkAll(v, n.Generators)
	case *DictComp:
		Walk(v, n.Key)
		Walk(v, n.Value)
		walkAll(v, n.Generators)
	case *GeneratorExp:
		Walk(v, n.Elt)
		walkAll(v, n.Generators)
	case *Await:
		Walk(v, n.Value)
	case *Yield:
		walkOpt(v, n.Value)
	case *YieldFrom:
		Walk(v, n.Value)
	case *Compare:
		Walk(v, n.Left)
		walkAll(v, n.Comparators)
	case *Call:
		Walk(v, n.Func)
		walkAll(v, n.Args)
		walkAll(v, n.Keywords)
	case *FormattedValue:
		Walk(v, n.Value)
		if n.FormatSpec != nil {
			Walk(v, n.FormatSpec)
		}
	case *JoinedStr:
		walkAll(v, n.Values)
	case *Attribute:
		Walk(v, n.Value)
	case *Subscript:
		Walk(v, n.Value)
		Walk(v, n.Slice)
	case *Starred:
		Walk(v, n.Value)
	case *List:
		walkAll(v, n.Elts)
	case *Tuple:
		walkAll(v, n.Elts)
	case *Slice:
		walkOpt(v, n.Lower)
		walkOpt(v, n.Upper)
		walkOpt(v, n.Step)
	case *MatchValue:
		Walk(v, n.Value)
	case *MatchSequence:
		walkAll(v, n.Patterns)
	case *MatchMapping:
		walkAll(v, n.Keys)
		walkAll(v, n.Patterns)
	case *MatchClass:
		Walk(v, n.Cls)
		walkAll(v, n.Patterns)
		walkAll(v, n.KwdPatterns)
	case *MatchAs:
		walkOpt(v, n.Pattern)
	case *MatchOr:
		walkAll(v, n.Patterns)
	case *TypeVar:
		walkOpt(v, n.Bound)
	case *Arguments:
		walkArguments(v, n)
	case *Arg:
		walkOpt(v, n.Annotation)
	case *Keyword:
		Walk(v, n.Value)
	case *WithItem:
		Walk(v, n.ContextExpr)
		walkOpt(v, n.OptionalVars)
	case *Comprehension:
		Walk(v, n.Target)
		Walk(v, n.Iter)
		walkAll(v, n.Ifs)
	case *ExceptHandler:
		walkOpt(v, n.Type)
		walkAll(v, n.Body)
	case *MatchCase:
		Walk(v, n.Pattern)
		walkOpt(v, n.Guard)
		walkAll(v, n.Body)
	case *Constant, *Name, *MatchSingleton, *MatchStar, *ParamSpec, *TypeVarTuple, *Alias:
	default:
		panic(fmt.Sprintf("BUG: Walk does not know %T", n))
	}
}

func walkAll[T Node](v Visitor, list []T) {
	for _, n := range list {
		Walk(v, n)
	}
}

// walkOpt walks n unless the interface is nil.
func walkOpt(v Visitor, n Node) {
	if n != nil {
		Walk(v, n)
	}
}

func walkFunction(v Visitor, n *FunctionDef) {
	Walk(v, n.Args)
	walkAll(v, n.Body)
	walkAll(v, n.Decorators)
	walkOpt(v, n.Returns)
	walkAll(v, n.TypeParams)
}

func walkFor(v Visitor, n *For) {
	Walk(v, n.Target)
	Walk(v, n.Iter)
	walkAll(v, n.Body)
	walkAll(v, n.Orelse)
}

func walkTry(v Visitor, n *Try) {
	walkAll(v, n.Body)
	walkAll(v, n.Handlers)
	walkAll(v, n.Orelse)
	walkAll(v, n.Finalbody)
}

func walkArguments(v Visitor, n *Arguments) {
	walkAll(v, n.PosOnly)
	walkAll(v, n.Args)
	if n.Vararg != nil {
		Walk(v, n.Vararg)
	}
	walkAll(v, n.KwOnly)
	for _, d := range n.KwDefaults {
		walkOpt(v, d)
	}
	if n.Kwarg != nil {
		Walk(v, n.Kwarg)
	}
	walkAll(v, n.Defaults)
}
