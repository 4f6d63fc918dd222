package index

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

var asm = &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{
	Cmp:      {Parse: parseCmp, Print: printCmp},
	Constant: {Parse: parseConstant, Print: printConstant},
}}

// predicates are the words of a comparison.
var predicates = []string{"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}

// predicateKind is the kind of attribute that a predicate is: #index<cmp_predicate ult>.
const predicateKind = "cmp_predicate"

func predicate(c *ir.Context, word string) ir.Attribute {
	return c.OpaqueAttr("index", "<"+predicateKind+" "+word+">")
}

// predicateOf is the word of a comparison, "" where its attribute is not a predicate.
func predicateOf(op *ir.Operation) string {
	a, ok := AsCmp(op).Pred().(*ir.OpaqueAttr)
	if !ok || a.Dialect != "index" {
		return ""
	}
	words := strings.Fields(strings.Trim(a.Text, "<>"))
	if len(words) != 2 || words[0] != predicateKind || !slices.Contains(predicates, words[1]) {
		return ""
	}
	return words[1]
}

// parseCmp reads ult(%a, %b) [{attrs}].
func parseCmp(p *text.Parser, s *text.OpState) {
	pos := p.Pos()
	word := p.Keyword("a predicate")
	if !slices.Contains(predicates, word) {
		p.FailAt(pos, "expected a predicate, one of %s", strings.Join(predicates, ", "))
	}
	index := p.Context().Index()
	p.Expect("(")
	lhs := p.Operand()
	p.Expect(",")
	rhs := p.Operand()
	p.Expect(")")
	p.DictInto(s)
	s.Attrs = append(s.Attrs, ir.NamedAttr{Name: "pred", Attr: predicate(p.Context(), word)})
	s.Operands = []*ir.Value{p.Value(lhs, index), p.Value(rhs, index)}
	s.Types = []ir.Type{p.Context().I1()}
}

func printCmp(w *text.Printer, op *ir.Operation) {
	w.Str(" ")
	w.Str(predicateOf(op))
	w.Str("(")
	w.Values(op.OperandValues())
	w.Str(")")
	w.AttrDict(op, "pred")
}

// parseConstant reads [{attrs}] 42.
func parseConstant(p *text.Parser, s *text.OpState) {
	p.DictInto(s)
	index := p.Context().Index()
	s.Attrs = append(s.Attrs, ir.NamedAttr{Name: "value", Attr: p.Context().IntAttr(index, p.Int())})
	s.Types = []ir.Type{index}
}

func printConstant(w *text.Printer, op *ir.Operation) {
	w.AttrDict(op, "value")
	w.Str(" ")
	w.Int(AsConstant(op).Value().(*ir.IntegerAttr).Value)
}
