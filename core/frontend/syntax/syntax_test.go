package syntax

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func mustParse(t *testing.T, src string) *Module {
	t.Helper()
	m, err := Parse("t.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestComments(t *testing.T) {
	m := mustParse(t, "# tritonc: add(*fp32, i32)\nx = (1,  # one\n  2)\nif x:\n    # inside\n    y = '# no comment'\n#last")
	want := []Comment{
		{Span{1, 0, 1, 26}, "# tritonc: add(*fp32, i32)"},
		{Span{2, 9, 2, 14}, "# one"},
		{Span{5, 4, 5, 12}, "# inside"},
		{Span{7, 0, 7, 5}, "#last"},
	}
	if !reflect.DeepEqual(m.Comments, want) {
		t.Errorf("got %v", m.Comments)
	}
}

func TestLineEndingsAndMarks(t *testing.T) {
	want := Dump(mustParse(t, "if a:\n    b = '''c\nd'''\n"))
	for _, src := range []string{
		"if a:\r\n    b = '''c\r\nd'''\r\n",
		"if a:\r    b = '''c\rd'''\r",
		"\xef\xbb\xbfif a:\n    b = '''c\nd'''",
		"if a:\n    b = '''c\nd'''",
	} {
		if got := Dump(mustParse(t, src)); got != want {
			t.Errorf("%q: %s", src, firstDifference(got, want))
		}
	}
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct{ src, want, err string }{
		{src: "# coding: latin-1\nx = '\xe9'", want: "é"},
		{src: "#!/usr/bin/python\n# -*- coding: iso-8859-15 -*-\nx = '\xa4'", want: "€"},
		{src: "# vim: set fileencoding=cp1252 :\nx = '\x80'", want: "€"},
		{src: "# coding: koi8-r\nx = '\xc1'", want: "а"},
		{src: "# coding: utf-8\nx = 'é'", want: "é"},
		{src: "# coding=UTF_8\nx = 'é'", want: "é"},
		{src: "\xef\xbb\xbf# coding: utf-8\nx = 'é'", want: "é"},
		{src: "# a coding standard: none\nx = 'é'", want: "é"},
		{src: "\n\n# coding: latin-1\nx = 'é'", want: "é"},
		{src: "x = 'é' # coding: latin-1\n", want: "é"},
		{src: "# coding: ebcdic\n", err: "t.py:1:1: error: unknown encoding: ebcdic"},
		{src: "\xef\xbb\xbf# coding: latin-1\n", err: "t.py:1:1: error: encoding problem: latin-1 with BOM"},
		{src: "# coding: cp1252\n#\nx = '\x81'", err: "t.py:3:1: error: a byte of this line means nothing in cp1252"},
		{src: "a\nb = '\xe9'", err: "t.py:2:6: error: the byte 0xe9 is not UTF-8"},
	} {
		m, err := Parse("t.py", []byte(c.src))
		if err != nil || c.err != "" {
			if fmt.Sprint(err) != c.err {
				t.Errorf("%q: got %v, want %s", c.src, err, c.err)
			}
			continue
		}
		v := m.Body[0].(*Assign).Value.(*Constant).Value
		if v != c.want {
			t.Errorf("%q: got %q, want %q", c.src, v, c.want)
		}
	}
}

func TestParseExpr(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"1024", "1024"},
		{"  tl.float16", "tl.float16"},
		{"(1, 'a')\n", "(1, 'a')"},
		{"*a, b", "(*a, b)"},
		{"f(a, B=1)", "f(a, B=1)"},
	} {
		e, err := ParseExpr("signature", []byte(c.src))
		if err != nil {
			t.Errorf("%q: %v", c.src, err)
		} else if got := Unparse(e, 0); got != c.want {
			t.Errorf("%q: got %s, want %s", c.src, got, c.want)
		}
	}
	for _, c := range []struct{ src, want string }{
		{"", "signature:1:1: error: invalid syntax: unexpected end of line"},
		{"a b", "signature:1:3: error: invalid syntax: unexpected b"},
		{"a = 1", "signature:1:3: error: invalid syntax: unexpected '='"},
		{"a\nb", "signature:2:1: error: invalid syntax: unexpected b"},
		{"pass", "signature:1:1: error: invalid syntax: unexpected 'pass'"},
		{"(a", "signature:1:1: error: '(' was never closed"},
	} {
		if _, err := ParseExpr("signature", []byte(c.src)); fmt.Sprint(err) != c.want {
			t.Errorf("%q: got %v, want %s", c.src, err, c.want)
		}
	}
}

// TestWalkVisitsEverything counts the nodes that Walk shows and those that Dump
// prints.
func TestWalkVisitsEverything(t *testing.T) {
	for _, c := range readCases(t, "testdata/constructs.txt") {
		m := mustParse(t, c.text)
		seen := 0
		Inspect(m, func(n Node) bool {
			switch n.(type) {
			case *Module, *Arguments, *Comprehension, *WithItem, *MatchCase:
			default:
				seen++ // those for which Dump prints a position
			}
			return true
		})
		if want := len(positions.FindAllString(Dump(m), -1)); seen != want {
			t.Errorf("%s: Walk visits %d nodes, Dump prints %d", c.name, seen, want)
		}
	}
}

// TestTreesShareNothing parses two files at once and one twice, since buffers
// are reused.
func TestTreesShareNothing(t *testing.T) {
	src := string(kernel(t))
	want := Dump(mustParse(t, src))
	done := make(chan string)
	for range 4 {
		go func() {
			m, err := Parse("t.py", []byte(src))
			if err != nil {
				done <- err.Error()
				return
			}
			_, _ = Parse("u.py", []byte("a = [b, c(d=e)]\n$"))
			done <- Dump(m)
		}()
	}
	for range 4 {
		if got := <-done; got != want {
			t.Errorf("differs: %s", firstDifference(got, want))
		}
	}
}

func TestIdentifiers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"x", "x"},
		{"ﬁ", "fi"},
		{"ｘ１", "x1"},
		{"µ", "μ"},
		{"ℌ", "H"},
		{"e\u0301", "é"},
		{"a\u0323\u0307", "ạ̇"},
		{"a\u0307\u0323", "ạ̇"},
		{"\u1100\u1161\u11a8", "각"},
		{"각", "각"},
		{"Ⅷ", "VIII"},
		{"\U0001d4d0", "A"},
	} {
		m := mustParse(t, c.in+" = 1")
		if got := m.Body[0].(*Assign).Targets[0].(*Name).ID; got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestRuneNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		want rune
	}{
		{"SNOWMAN", '☃'},
		{"latin small letter a", 'a'},
		{"NULL", 0},
		{"CJK UNIFIED IDEOGRAPH-4E00", 0x4e00},
		{"CJK UNIFIED IDEOGRAPH-2A6DF", 0x2a6df},
		{"HANGUL SYLLABLE GA", 0xac00},
		{"HANGUL SYLLABLE HIH", 0xd7a3},
		{"HANGUL SYLLABLE A", 0xc544},
		{"CJK UNIFIED IDEOGRAPH-0041", -1},
		{"HANGUL SYLLABLE GAX", -1},
		{"SNOWMA", -1},
		{"", -1},
		{"ZZZZ", -1},
	} {
		r, ok := runeNamed(c.name)
		if !ok {
			r = -1
		}
		if r != c.want {
			t.Errorf("%q: got %#x, want %#x", c.name, r, c.want)
		}
	}
}

// TestUnicodeLaw compares, for every character, its name, what it may do in an
// identifier and its normal form with CPython 3.12.
func TestUnicodeLaw(t *testing.T) {
	if os.Getenv("TRITONC_AST_LAW") != "1" {
		t.Skip("set TRITONC_AST_LAW=1 to compare Unicode's tables with CPython's")
	}
	py := findPython(t)
	if py.version != "3.12" {
		t.Skipf("needs CPython 3.12, for Unicode 15.0; %s is %s", py.path, py.version)
	}
	const script = `
import unicodedata as u
for c in range(0x110000):
    if not 0xd800 <= c < 0xe000:
        s = chr(c)
        n = [x for x in u.normalize("NFKC", s + "a" + s + "\u0301")]
        print("%x;%d;%d;%s;%s" % (c, s.isidentifier(), ("a" + s).isidentifier(), " ".join("%x" % ord(x) for x in n), u.name(s, "")))
`
	out, err := exec.Command(py.path, "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(out)) {
		count++
		f := strings.Split(strings.TrimSuffix(line, "\n"), ";")
		var r rune
		if _, err := fmt.Sscanf(f[0], "%x", &r); err != nil {
			t.Fatal(err)
		}
		start := isIDStart(r) || r == '_'
		inside := isIDContinue(r) || r == '_'
		if start != (f[1] == "1") || inside != (f[2] == "1") {
			t.Errorf("U+%04X: start %v, inside %v; CPython has %s, %s", r, start, inside, f[1], f[2])
		}
		var hex []string
		for _, x := range normalize(string(r) + "a" + string(r) + "\u0301") {
			hex = append(hex, fmt.Sprintf("%x", x))
		}
		if got := strings.Join(hex, " "); got != f[3] {
			t.Errorf("U+%04X: NFKC %s, CPython has %s", r, got, f[3])
		}
		if name := f[4]; name != "" {
			if got, ok := runeNamed(name); !ok || got != r {
				t.Errorf("U+%04X: the name %s gives %#x, %v", r, name, got, ok)
			}
		}
	}
	if count != 0x110000-0x800 {
		t.Errorf("%d characters compared", count)
	}
}
