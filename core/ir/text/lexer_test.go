package text

import (
	"slices"
	"strings"
	"testing"
)

func lex(src string) (toks []string) {
	l := lexer{src: src}
	for {
		t := l.next()
		if t.kind == tokEOF {
			return toks
		}
		s := src[t.pos:t.end]
		if t.kind == tokBad {
			s = "BAD(" + l.bad + ")"
		}
		toks = append(toks, s)
		if len(toks) > 1000 {
			return toks
		}
	}
}

func TestLexer(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"%c-1_i32 = arith.constant", []string{"%c-1_i32", "=", "arith.constant"}},
		{"%0#1, %a", []string{"%0", "#1", ",", "%a"}},
		{"^bb1:", []string{"^bb1", ":"}},
		{"!tt.ptr<f32>", []string{"!tt.ptr", "<", "f32", ">"}},
		{"@f @\"a b\" @", []string{"@f", "@\"a b\"", "BAD(expected a symbol name after '@')"}},
		{"1 0x1F 0xg 1.5 1.5e+3 1.5e 1e3", []string{"1", "0x1F", "0", "xg", "1.5", "1.5e+3", "1.5", "e", "1", "e3"}},
		{"128x64xf16", []string{"128", "x64xf16"}},
		{"-> - -1", []string{"->", "-", "-", "1"}},
		{"a // b\nc//", []string{"a", "c"}},
		{`"a\"b" "\\"`, []string{`"a\"b"`, `"\\"`}},
		{"\"a\nb\"", []string{"BAD(string literal is not terminated on its line)", "a", "b", "BAD(string literal is not terminated on its line)"}},
		{"[]{}()<>=:,*+-?|/", []string{"[", "]", "{", "}", "(", ")", "<", ">", "=", ":", ",", "*", "+", "-", "?", "|", "/"}},
		{"é", []string{"BAD(unexpected character)", "BAD(unexpected character)"}},
		{"% ^", []string{"BAD(expected a name after '%')", "BAD(expected a name after '^')"}},
	} {
		if got := lex(c.src); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.src, got, c.want)
		}
	}
}

func TestUnquote(t *testing.T) {
	for _, c := range []struct {
		lit, want string
		ok        bool
	}{
		{`"abc"`, "abc", true},
		{`"a\\b\"c\n\t\41\c3\A9"`, "a\\b\"c\n\tA\xc3\xa9", true},
		{`"\x"`, "", false},
		{`"\4"`, "", false},
		{`"\"`, "", false},
	} {
		got, ok := unquote(c.lit)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.lit, got, ok)
		}
		if back, _ := unquote(string(appendQuoted(nil, got))); ok && back != got {
			t.Errorf("%q: quoted and read as %q", got, back)
		}
	}
}

// FuzzLexer: tokens cover the source in order, between blanks and comments, and
// lexing ends.
func FuzzLexer(f *testing.F) {
	f.Add("%0:2 = \"a.b\"() {x = -1.5e+3 : f32} : () -> !x.y<#z> // c\n@\"q\"")
	f.Fuzz(func(t *testing.T, src string) {
		l := lexer{src: src}
		end := 0
		for {
			tok := l.next()
			if tok.kind == tokEOF {
				break
			}
			if tok.pos < end || tok.end <= tok.pos {
				t.Fatalf("token %+v after %d", tok, end)
			}
			if gap := src[end:tok.pos]; strings.TrimLeft(gap, " \t\r\n") != "" && !strings.Contains(gap, "//") {
				t.Fatalf("skipped %q", gap)
			}
			end = tok.end
		}
	})
}
