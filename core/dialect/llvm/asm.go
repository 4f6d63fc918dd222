package llvm

import (
	"math"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// FuncType is the type of a function of LLVM: !llvm.func<i32 (i64, ptr)>. Its results
// are none or one.
type FuncType struct{ Signature *ir.FunctionType }

// TypeDialect is "llvm".
func (*FuncType) TypeDialect() string { return "llvm" }

type funcKey struct{ signature *ir.FunctionType }

// TypeOf is the type of a function of LLVM with that signature.
func TypeOf(c *ir.Context, signature *ir.FunctionType) *FuncType {
	return ir.InternType(c, funcKey{signature}, func() *FuncType { return &FuncType{signature} })
}

// parseType reads functions; all other types are kept as text.
func parseType(p *text.Parser, name string) ir.Type {
	if name != "func" {
		return p.OpaqueType("llvm", name)
	}
	p.Expect("<")
	var out, in []ir.Type
	if !p.Opt("void") {
		out = []ir.Type{innerType(p)}
	}
	p.List('(', ')', func() { in = append(in, innerType(p)) })
	p.Expect(">")
	return TypeOf(p.Context(), p.Context().Func(in, out))
}

// innerType reads a type inside of one of LLVM's, where the dialect goes unsaid.
func innerType(p *text.Parser) ir.Type {
	for _, name := range []string{"ptr", "struct", "array", "vec", "func", "token", "metadata"} {
		if p.Opt(name) {
			return parseType(p, name)
		}
	}
	return p.Type()
}

func printType(w *text.Printer, t ir.Type) {
	f := t.(*FuncType)
	w.Str("func<")
	if len(f.Signature.Out) == 0 {
		w.Str("void")
	}
	for _, t := range f.Signature.Out {
		printInner(w, t)
	}
	w.Str(" (")
	for i, t := range f.Signature.In {
		if i > 0 {
			w.Str(", ")
		}
		printInner(w, t)
	}
	w.Str(")>")
}

func printInner(w *text.Printer, t ir.Type) {
	switch t := t.(type) {
	case *ir.OpaqueType:
		if t.Dialect == "llvm" {
			w.Str(t.Text)
			return
		}
	case *FuncType:
		printType(w, t)
		return
	}
	w.Type(t)
}

// linkages are the words that may stand before a function's or a global's name.
var linkages = []string{
	"private", "internal", "available_externally", "linkonce", "weak", "common", "appending",
	"extern_weak", "linkonce_odr", "weak_odr", "external",
}

// external is the linkage that a function has where none is said.
const external = "external"

func optLinkage(p *text.Parser) string {
	for _, l := range linkages {
		if p.Opt(l) {
			return l
		}
	}
	return external
}

func linkageAttr(c *ir.Context, name string) ir.Attribute {
	return c.OpaqueAttr("llvm", "linkage<"+name+">")
}

// linkageOf is the word of a linkage attribute.
func linkageOf(a ir.Attribute) string {
	o, ok := a.(*ir.OpaqueAttr)
	if !ok {
		return external
	}
	return strings.TrimSuffix(strings.TrimPrefix(o.Text, "linkage<"), ">")
}

// parseFunc reads [linkage] and what a function has in any dialect.
func parseFunc(p *text.Parser, s *text.OpState) {
	c := p.Context()
	linkage := optLinkage(p)
	p.Function(s, func(in, out []ir.Type) ir.Type {
		if len(out) > 1 {
			p.Fail("a function of LLVM has at most one result")
		}
		return TypeOf(c, c.Func(in, out))
	})
	s.Add("linkage", linkageAttr(c, linkage))
}

func printFunc(w *text.Printer, op *ir.Operation) {
	f := AsFunc(op)
	if l := linkageOf(f.Linkage()); l != external {
		w.Str(" ")
		w.Str(l)
	}
	sig := op.Context().Func(nil, nil)
	if t, ok := f.FunctionType().(*FuncType); ok {
		sig = t.Signature
	}
	w.Function(op, sig, "linkage")
}

// parseGlobal reads [linkage] [constant] @name([value]) [{attrs}] [: type] [{…}].
func parseGlobal(p *text.Parser, s *text.OpState) {
	c := p.Context()
	s.Add("linkage", linkageAttr(c, optLinkage(p)))
	if p.Opt("constant") {
		s.Add("constant", c.Unit())
	}
	s.Add("sym_name", c.StringAttr(p.Symbol()))
	p.Expect("(")
	var value ir.Attribute
	if !p.At(")") {
		value = p.Attr()
		s.Add("value", value)
	}
	p.Expect(")")
	p.DictInto(s)
	str, isString := value.(*ir.StringAttr)
	switch {
	case p.Opt(":"):
		s.Add("global_type", c.TypeAttr(p.Type()))
	case isString:
		s.Add("global_type", c.TypeAttr(stringType(c, str)))
	default:
		p.Fail("expected ':' and the type of the global")
	}
	s.Types = []ir.Type{}
	s.Bodies = []*ir.Region{{}}
	if p.At("{") {
		s.Bodies = []*ir.Region{p.Region(nil, true)}
	}
}

// stringType is the type of a global with a string for its value.
func stringType(c *ir.Context, s *ir.StringAttr) ir.Type {
	return c.OpaqueType("llvm", "array<"+strconv.Itoa(len(s.Value))+" x i8>")
}

func printGlobal(w *text.Printer, op *ir.Operation) {
	g := AsGlobal(op)
	w.Str(" ")
	w.Str(linkageOf(g.Linkage()))
	if g.Constant() {
		w.Str(" constant")
	}
	w.Str(" ")
	w.Symbol(g.SymName())
	w.Str("(")
	if v := g.Value(); v != nil {
		w.Attr(v)
	}
	w.Str(")")
	w.AttrDict(op, "linkage", "constant", "sym_name", "value", "global_type")
	if s, ok := g.Value().(*ir.StringAttr); !ok || g.GlobalType() != stringType(op.Context(), s) {
		w.Str(" : ")
		w.Type(g.GlobalType())
	}
	if r := g.Initializer(); !r.Empty() {
		w.Str(" ")
		w.Region(r, false, true)
	}
}

// dynamicIndex stands for an operand among constant indices.
const dynamicIndex = math.MinInt32

// parseGetElementPtr reads %base[1, %i] : (types of operands) -> type, type of elements.
func parseGetElementPtr(p *text.Parser, s *text.OpState) {
	c := p.Context()
	operands := []text.Operand{p.Operand()}
	raw := []int64{}
	p.List('[', ']', func() {
		if p.AtOperand() {
			operands = append(operands, p.Operand())
			raw = append(raw, dynamicIndex)
			return
		}
		raw = append(raw, p.IntBelow(math.MaxInt32, "an index"))
	})
	s.Add("rawConstantIndices", c.I32Array(raw...))
	p.DictInto(s)
	p.Expect(":")
	pos := p.Pos()
	in := p.TypeListInParens()
	s.Types = p.ArrowTypes()
	p.Expect(",")
	s.Add("elem_type", c.TypeAttr(p.Type()))
	s.Operands = p.Values(pos, operands, in)
}

func printGetElementPtr(w *text.Printer, op *ir.Operation) {
	g := AsGetElementPtr(op)
	w.Str(" ")
	w.Value(g.Base())
	w.Str("[")
	dynamic := g.DynamicIndices()
	for i, n := range g.RawConstantIndices() {
		if i > 0 {
			w.Str(", ")
		}
		if n != dynamicIndex {
			w.Int(n)
			continue
		}
		w.Value(dynamic[0])
		dynamic = dynamic[1:]
	}
	w.Str("]")
	w.AttrDict(op, "rawConstantIndices", "elem_type")
	w.Str(" : (")
	w.ValueTypes(op.OperandValues())
	w.Str(")")
	w.ArrowTypes(op.Results())
	w.Str(", ")
	w.Type(g.ElemType())
}
