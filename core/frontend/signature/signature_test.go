package signature

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// show writes an entry as the tests below expect it.
func show(a *Arg) string {
	var b strings.Builder
	if a.Name != "" {
		b.WriteString(a.Name + "=")
	}
	switch {
	case a.Tuple:
		parts := make([]string, len(a.Elems))
		for i := range a.Elems {
			parts[i] = show(&a.Elems[i])
		}
		b.WriteString("(" + strings.Join(parts, " ") + ")")
	case a.Type != "":
		b.WriteString("type " + a.Type)
	default:
		fmt.Fprintf(&b, "%T %s", a.Expr, a.Source)
	}
	if a.Hint != 0 {
		fmt.Fprintf(&b, " hint %d", a.Hint)
	}
	if a.Small {
		b.WriteString(" small")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"*fp32:16, i32:1, u8", "type *fp32 hint 16; type i32 hint 1; type u8"},
		{"*fp32:16:S, *i8:S, *i8:S:16", "type *fp32 hint 16 small; type *i8 small; type *i8 hint 16 small"},
		{" x = *fp32 , BLOCK = 1024 ", "x=type *fp32; BLOCK=*syntax.Constant 1024"},
		{"**i8, *k*fp16", ""},
		{"1024, -1, 2.5, True, None, 'a, (b'", "*syntax.Constant 1024; *syntax.UnaryOp -1; *syntax.Constant 2.5; *syntax.Constant True; *syntax.Constant None; *syntax.Constant 'a, (b'"},
		{"tl.float16, helper", "*syntax.Attribute tl.float16; *syntax.Name helper"},
		{"(*fp32:16, (i32, 4)), (1, 2)", "(type *fp32 hint 16 (type i32 *syntax.Constant 4)); *syntax.Tuple (1, 2)"},
		{"[64, 32], {'a': 1}", "*syntax.List [64, 32]; *syntax.Dict {'a': 1}"},
	} {
		s, err := Parse("-s", test.text)
		if test.want == "" && test.text != "" {
			if err == nil {
				t.Errorf("%q: no error", test.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		parts := make([]string, len(s.Args))
		for i := range s.Args {
			a := &s.Args[i]
			parts[i] = show(a)
			if got := strings.TrimSpace(s.Text.Full[a.Start:a.End]); !strings.Contains(got, a.Source) {
				t.Errorf("%q: entry %d is at %q, but its text is %q", test.text, i, got, a.Source)
			}
		}
		if got := strings.Join(parts, "; "); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"*fp32,, i32", "-s:1:7"},
		{"*fp32, (i32", "-s:1:8"},
		{"*fp32, 1 +", "-s:1:"},
		{"x=*fp32:7", "-s:1:"},
		{"i32)", "-s:1:4"},
		{"i32:S", "-s:1:1"},
		{"*fp32:S:S", "-s:1:6"},
		{"*fp32:1:S", "-s:1:1"},
	} {
		_, err := Parse("-s", test.text)
		var d *diag.Diagnostic
		if !errors.As(err, &d) {
			t.Errorf("%q: %v, want a diagnostic", test.text, err)
			continue
		}
		if !strings.HasPrefix(d.Error(), test.want) {
			t.Errorf("%q: %v, want it at %s", test.text, d, test.want)
		}
		if d.Line != test.text {
			t.Errorf("%q: the diagnostic shows %q", test.text, d.Line)
		}
	}
}

func TestComments(t *testing.T) {
	tree, err := syntax.Parse("k.py", []byte("# tritonc: add(*fp32:16, 64) num_warps=4 debug=True\nx = 1\n# tritonc: sub(i32) num_stages=2 arch='a_b'\n# of tritonc: no\n"))
	if err != nil {
		t.Fatal(err)
	}
	specs, err := FromComments(tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range specs {
		line := fmt.Sprintf("%d %s/%d", s.Text.Line, s.Kernel, len(s.Args))
		for _, o := range s.Options {
			line += fmt.Sprintf(" %s=%v(%T)", o.Name, o.Value, o.Value)
		}
		got = append(got, line)
	}
	want := "1 add/2 num_warps=4(int64) debug=true(bool)\n3 sub/1 num_stages=2(int64) arch=a_b(string)"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

// FuzzParse looks for panics and for places outside of the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"*fp32:16, i32", "x=(1, *i8:16)", "'a', \"b\"", "tensordesc<fp16[64,64]>, 1", "((", "a=b=c", "é, 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("-s", text)
		if err != nil {
			for _, d := range diag.All(err) {
				if d.Pos.Col < 1 || d.Pos.Col > len(text)+1 {
					t.Errorf("%q: a mistake in column %d", text, d.Pos.Col)
				}
			}
			return
		}
		for _, a := range s.Args {
			if a.Start < 0 || a.Start > a.End || a.End > len(text) {
				t.Errorf("%q: entry from %d to %d", text, a.Start, a.End)
			}
		}
	})
}
