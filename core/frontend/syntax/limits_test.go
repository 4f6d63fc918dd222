package syntax

import (
	"strings"
	"testing"
)

// TestHostileSources feeds sources that are deep, long or odd: each must end in
// a tree that can be walked and dumped, or in a diagnostic, and soon.
func TestHostileSources(t *testing.T) {
	const many = 100_000
	rep := strings.Repeat
	for _, c := range []struct{ name, src, want string }{
		{"parentheses", rep("(", many) + rep(")", many), "too many nested parentheses"},
		{"200 parentheses", rep("(", 200) + "1" + rep(")", 200), ""},
		{"201 parentheses", rep("(", 201) + "1" + rep(")", 201), "too many nested parentheses"},
		{"lists", rep("[", many), "too many nested parentheses"},
		{"calls", rep("f(", many), "too many nested parentheses"},
		{"sum", "a" + rep("+a", many), "too deep"},
		{"sum of 1000", "a" + rep("+a", 1000), ""},
		{"power", "a" + rep("**a", many), "too many nested constructs"},
		{"sums in brackets", rep("(", 150) + "a" + rep(rep("+a", 1000)+")", 150), "too deep"},
		{"bits", "a" + rep("|a", many), "too deep"},
		{"minus", rep("-", many) + "a", "too many nested constructs"},
		{"not", rep("not ", many) + "a", "too many nested constructs"},
		{"lambda", rep("lambda:", many) + "a", "too many nested constructs"},
		{"conditional", rep("a if b else ", many) + "a", "too many nested constructs"},
		{"attributes", "a" + rep(".a", many), "too deep"},
		{"call chain", "a" + rep("()", many), "too deep"},
		{"subscripts", "a" + rep("[0]", many), "too deep"},
		{"and", "a" + rep(" and a", many), ""},
		{"comparisons", "a" + rep("<a", many), ""},
		{"tuple", rep("a,", many), ""},
		{"arguments", "f(" + rep("a,", many) + ")", ""},
		{"keywords", "f(" + rep("a=1,", many) + ")", "keyword argument repeated: a"},
		{"targets", rep("a=", many) + "a", ""},
		{"elif", "if a: b\n" + rep("elif a: b\n", many), "too many nested constructs"},
		{"500 elif", "if a: b\n" + rep("elif a: b\n", 500), ""},
		{"blocks", nested(150), "too many levels of indentation"},
		{"99 blocks", nested(99), ""},
		{"f-strings", rep("f'{", many), "too many nested f-strings"},
		{"f-string fields", "f'" + rep("{a}", many) + "'", ""},
		{"strings", rep("'a'", many), ""},
		{"decorators", rep("@a\n", many) + "def f(): pass", ""},
		{"digits", rep("9", many), "more than the limit of 4300"},
		{"hexadecimal digits", "0x" + rep("f", many), ""},
		{"float digits", rep("9", many) + ".0", ""},
		{"pattern", "match a:\n case " + rep("[", many), "too many nested parentheses"},
		{"pattern attributes", "match a:\n case a" + rep(".a", many) + ": pass", "too deep"},
		{"dotted import", "import a" + rep(".a", many), "too long"},
		{"dots", "from " + rep(".", many) + " import a", ""},
		{"backslashes", rep("\\\n", many), "unexpected EOF"},
		{"newlines", rep("\n", many), ""},
		{"semicolons", rep("a;", many), ""},
		{"comments", rep("#\n", many), ""},
		{"escapes", "'''" + rep(`\n`, many*10) + "'''", ""},
		{"escaped quotes", "'''" + rep(`\'`, many*10) + "'''", ""},
		{"lone quotes", "'''" + rep(`'\''`, many) + "'''", "unterminated"},
		{"f-string escapes", "f'" + rep(`\N{A`, many) + "'", "malformed"},
		{"f-string comments", "f'''{a=" + rep("#\n", many) + "}" + rep("{b=}", many) + "'''", ""},
		{"null", "a\x00b", "null bytes"},
		{"not UTF-8", "a = '\xff'", "not UTF-8"},
		{"not Python", "\x7fELF\x01\x02\x03\xff\xfe", "not UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse("t.py", []byte(c.src))
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && err == nil:
				t.Fatalf("accepted; want an error with %q", c.want)
			case c.want != "":
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %.200s, want %q", err, c.want)
				}
				return
			}
			if Dump(m) == "" {
				t.Error("no dump")
			}
			Inspect(m, func(n Node) bool { return n != nil })
		})
	}
}

func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if a:\n")
	}
	b.WriteString(strings.Repeat(" ", n) + "b\n")
	return b.String()
}

func TestTooLarge(t *testing.T) {
	_, err := Parse("t.py", make([]byte, maxSource+1))
	if err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("got %v", err)
	}
}
