package text

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
)

func formDef(asm string) *ir.OpDef {
	return &ir.OpDef{
		Name: "x.op", Asm: asm,
		Operands: []ir.Operand{{Name: "a"}, {Name: "b", Arity: ir.Optional}, {Name: "c", Arity: ir.Variadic}},
		Results:  []ir.Result{{Name: "r"}},
		Attrs: []ir.AttrDef{
			{Name: "u", Kind: ir.AttrUnit, Optional: true},
			{Name: "n", Kind: ir.AttrI32},
			{Name: "k", Kind: ir.AttrEnum, Enum: []ir.EnumCase{{Keyword: "x"}}},
		},
		Regions: []ir.RegionDef{{Name: "body"}}, Traits: ir.SegmentedOperands,
	}
}

// A wrong format string is refused with its column.
func TestFormatErrors(t *testing.T) {
	for asm, want := range map[string]string{
		"$a":                                   "attr-dict is missing at column 3",
		"$x attr-dict":                         "no operand, attribute, region or successor 'x' at column 3",
		"`a attr-dict":                         "unterminated literal at column 2",
		"foo attr-dict":                        "unknown directive 'foo' at column 4",
		"type($x) attr-dict":                   "no operand or result 'x'",
		"type(foo) attr-dict":                  "expected $name, operands or results, found 'foo'",
		"(`,` $b)? attr-dict":                  "an optional group needs a '^'",
		"(`,` $b^) attr-dict":                  "expected '?'",
		"(`,` $b^ $c^)? attr-dict":             "an optional group has one '^'",
		"(`,`^ $b)? attr-dict":                 "'^' must follow",
		"$a^ attr-dict":                        "'^' is outside an optional group",
		"(type($b)^)? attr-dict":               "an optional group must begin with",
		"($u^)? attr-dict":                     "a unit attribute needs a literal before it",
		"oilist($n) attr-dict":                 "a clause must begin with a literal",
		"oilist(`n`) attr-dict":                "a clause needs an operand or attribute",
		"qualifiedless(type($a)) attr-dict":    "names no prefix",
		"qualifiedless(attr-dict)":             "qualifiedless needs the type",
		"custom<Foo>($a, $b) attr-dict":        "unknown custom directive 'Foo'",
		"custom<Pairs>($a, $b) attr-dict":      "Pairs needs two variadic operands",
		"custom<Token>($b, $r) attr-dict":      "Token needs an optional operand and an optional result",
		"functional-type($a $b) attr-dict":     "expected ','",
		strings.Repeat("(`,` ", 40) + "$a":     "nested too deep",
		"$a attr-dict-with-keyword `:` type($": "expected a directive",
	} {
		_, err := compileForm(formDef(asm))
		if err == nil {
			t.Errorf("%s: compiled, want %s", asm, want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", asm, err, want)
		}
	}
}

// The spaces that a format prints follow from its literals alone.
func TestFormatSpacing(t *testing.T) {
	for asm, want := range map[string]string{
		"$a `,` $n attr-dict `:` type($a)":                " $a, $n{} : T",
		"$a `[` $c `]` attr-dict `->` type($r)":           " $a[$c]{} -> T",
		"`(` $a `)` attr-dict":                            "($a){}",
		"$a `` $n attr-dict":                              " $a$n{}",
		"$a ` ` $n attr-dict":                             " $a  $n{}",
		"$n `<` $a `>` attr-dict":                         " $n<$a>{}",
		"$a (`,` $b^)? (`deps` $c^)? attr-dict":           " $a(, $b)( deps $c){}",
		"$a (`x` $u^)? attr-dict":                         " $a( x){}",
		"$a oilist(`p` `=` $n | `q` `=` $k) attr-dict":    " $a| p = $n| q = $k{}",
		"$k `,` $a attr-dict `:` functional-type($a, $r)": " $k, $a{} : F",
	} {
		f, err := compileForm(formDef(asm))
		if err != nil {
			t.Errorf("%s: %v", asm, err)
			continue
		}
		if got := sketch(formDef(asm), f.elems); got != want {
			t.Errorf("%s: %q, want %q", asm, got, want)
		}
	}
}

// sketch shows directives with their spaces.
func sketch(d *ir.OpDef, els []element) string {
	var b strings.Builder
	for i := range els {
		e := &els[i]
		if e.space {
			b.WriteByte(' ')
		}
		switch e.kind {
		case elLiteral:
			b.WriteString(e.text)
		case elAttr:
			if d.Attrs[e.index].Kind != ir.AttrUnit {
				b.WriteString("$" + d.Attrs[e.index].Name)
			}
		case elOperand:
			b.WriteString("$" + d.Operands[e.index].Name)
		case elDict:
			b.WriteString("{}")
		case elType:
			b.WriteString("T")
		case elFunction:
			b.WriteString("F")
		case elOptional:
			b.WriteString("(" + sketch(d, e.then) + ")")
		case elOIList:
			for _, c := range e.clauses {
				b.WriteString("|" + sketch(d, c))
			}
		}
	}
	return b.String()
}
