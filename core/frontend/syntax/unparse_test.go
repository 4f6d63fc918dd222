package syntax

import (
	"regexp"
	"strings"
	"testing"
)

var positions = regexp.MustCompile(`@\d+:\d+-\d+:\d+`)

// TestUnparseReadsBack prints every expression of the constructs and parses the
// text again: the tree must be the same but for positions.
func TestUnparseReadsBack(t *testing.T) {
	count := 0
	for _, c := range readCases(t, "testdata/constructs.txt") {
		m, err := Parse(c.name, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		Inspect(m, func(n Node) bool {
			var e Expr
			switch s := n.(type) {
			case *ExprStmt:
				e = s.Value
			case *Assign:
				e = s.Value
			default:
				return true
			}
			text := Unparse(e, 0)
			if strings.Contains(text, "\uFFFD") {
				return true // a lone surrogate
			}
			count++
			again, err := ParseExpr("again", []byte("("+strings.TrimPrefix(text, "*")+")"))
			if err != nil {
				t.Errorf("%s: %q: %v", c.name, text, err)
				return true
			}
			if s, ok := e.(*Starred); ok {
				e = s.Value
			}
			got, want := Dump(again), Dump(e)
			got, want = positions.ReplaceAllString(got, ""), positions.ReplaceAllString(want, "")
			if want = strings.ReplaceAll(want, ",u)", ")"); got != want {
				t.Errorf("%s: %q: %s", c.name, text, firstDifference(got, want))
			}
			return true
		})
	}
	if count < 400 {
		t.Errorf("only %d expressions were tried", count)
	}
}

func TestUnparse(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"tl.load(x_ptr+offs,mask=m)", "tl.load(x_ptr + offs, mask=m)"},
		{"(a+b)*c", "(a + b) * c"},
		{"a-(b-c)", "a - (b - c)"},
		{"a[:,None]", "a[:, None]"},
		{"x[1:2:3]", "x[1:2:3]"},
		{"-x**-y", "-x ** -y"},
		{"(-x)**y", "(-x) ** y"},
		{"not (a and b)", "not (a and b)"},
		{"1 .real", "(1).real"},
		{"'a\"b' 'c'", `'a"bc'`},
		{"1e100", "1e+100"},
		{"1.", "1.0"},
		{"2j", "2.0j"},
		{"{**a,b:c}", "{**a, b: c}"},
		{"lambda a,/,b=1,*,c=2,**d:0", "lambda a, /, b=1, *, c=2, **d: 0"},
		{"(x for x in y if z)", "(x for x in y if z)"},
		{"a if b else c", "a if b else c"},
		{"f(*a, **b)", "f(*a, **b)"},
		{"(a := 1)", "(a := 1)"},
		{"()", "()"},
		{"a,", "(a,)"},
	} {
		e, err := ParseExpr("t", []byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := Unparse(e, 0); got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

func TestUnparseIsCut(t *testing.T) {
	e, err := ParseExpr("t", []byte(strings.Repeat("a + ", 4000)+"a"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Unparse(e, 20); got != "a + a + a + a + a..." {
		t.Errorf("got %q", got)
	}
}
