package diag

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestFprintMarksTheRange(t *testing.T) {
	src := "a = 1\n\tb = foo(x)\n"
	d := Errorf(Pos{"k.py", 2, 6}, "%s is not defined", "foo").WithHelp("import it").WithSource(src)
	d.EndCol = 9
	d.WithNote(Pos{"k.py", 1, 1}, "called from here").WithSource(src)
	var b strings.Builder
	Fprint(&b, d)
	want := "k.py:2:6: error: foo is not defined\n" +
		"    2 | \tb = foo(x)\n" +
		"      | \t    ^^^\n" +
		"  help: import it\n" +
		"k.py:1:1: note: called from here\n" +
		"    1 | a = 1\n" +
		"      | ^\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	line := strings.Repeat("é", 4000) + "!"
	d := Errorf(Pos{"k.py", 1, len(line)}, "here").WithSource(line)
	var b strings.Builder
	Fprint(&b, d)
	if b.Len() > 1000 || !strings.Contains(b.String(), "!") {
		t.Errorf("printed %d bytes: %q", b.Len(), b.String())
	}
}

// Marks come below what they mark: tabs, wide characters, and such as have no
// width of their own.
func TestMarksOfWideText(t *testing.T) {
	for _, tt := range []struct{ line, marked, pad, mark string }{
		{"\tb = foo(x)", "foo", "\t    ", "^^^"},
		{"a\tb\tc", "b\tc", " \t", "^\t^"},
		{"\t\tx", "\t", "\t", "^"},
		{"x = '漢字' + y", "y", "             ", "^"},
		{"漢字 = 1", "漢字", "", "^^^^"},
		{"s = 'ｶﾀｶﾅ한글' # x", "x", "                 ", "^"},
		{"e\u0301 = f", "f", "    ", "^"},
		{"é = f", "f", "    ", "^"},
		{"'🙂🚀' f", "f", "       ", "^"},
		{"'Ａ（' f", "f", "       ", "^"},
		{"a\u202eb c", "c", "    ", "^"},
		{"a\x1bb c", "c", "    ", "^"},
		{"a\xffb c", "c", "    ", "^"},
	} {
		col := strings.LastIndex(tt.line, tt.marked) + 1
		if tt.marked == "\t" {
			col = 2
		}
		d := &Diagnostic{Pos: Pos{"k.py", 1, col}, EndCol: col + len(tt.marked), Message: "m", Line: tt.line}
		var b strings.Builder
		Fprint(&b, d)
		if _, got, _ := strings.Cut(b.String(), "\n      | "); got != tt.pad+tt.mark+"\n" {
			t.Errorf("%q: the mark is %q, want %q", tt.line, got, tt.pad+tt.mark)
		}
	}
}

// A column outside of the line is shown at its end, and nothing breaks.
func TestMarksOutside(t *testing.T) {
	for _, d := range []*Diagnostic{
		{Pos: Pos{"k.py", 1, 9}, Line: "ab"},
		{Pos: Pos{"k.py", 1, 3}, EndCol: 99, Line: "ab"},
		{Pos: Pos{"k.py", 1, 1}, EndCol: 99, Line: "ab"},
		{Pos: Pos{"k.py", 1, 2}, Line: "éé"},
		{Pos: Pos{"k.py", 1, 900}, Line: strings.Repeat("漢", 100)},
	} {
		var b strings.Builder
		Fprint(&b, d)
		if !strings.Contains(b.String(), "^") {
			t.Errorf("%+v: no mark in\n%s", d, b.String())
		}
	}
}

// What a terminal would obey is not printed, wherever it is.
func TestControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\r\x00\u009bb\u202ec"
	d := &Diagnostic{Pos: Pos{evil, 1, 1}, Message: evil, Help: evil + "\nmore", Line: evil}
	d.Notes = []Diagnostic{{Severity: Note, Pos: Pos{evil, 2, 1}, Message: evil, Line: evil}}
	var b strings.Builder
	Fprint(&b, d)
	if strings.ContainsAny(b.String(), "\x1b\r\x00\u009b\u202e") {
		t.Errorf("got %q", b.String())
	}
	if !strings.Contains(b.String(), "  help: a?[2J???b?c\n        more\n") {
		t.Errorf("got %q", b.String())
	}
}

// Colours are added; taken away, the text is the plain one.
func TestColors(t *testing.T) {
	d := Errorf(Pos{"k.py", 2, 6}, "wrong").WithHelp("this").WithSource("\n\tb = foo(x)\n")
	d.EndCol = 9
	d.WithNote(Pos{"k.py", 1, 0}, "from here")
	d.Notes = append(d.Notes, Diagnostic{Severity: Warning, Message: "w"})
	var plain, colored strings.Builder
	Fprint(&plain, d)
	Printer{Color: true}.Fprint(&colored, d)
	const want = "\x1b[1mk.py:2:6:\x1b[0m \x1b[1;31merror:\x1b[0m \x1b[1mwrong\x1b[0m\n" +
		"    2 | \tb = foo(x)\n      | \t    \x1b[1;32m^^^\x1b[0m\n" +
		"  \x1b[1;36mhelp:\x1b[0m this\n" +
		"\x1b[1mk.py:1:\x1b[0m \x1b[1;36mnote:\x1b[0m from here\n" +
		"\x1b[1;35mwarning:\x1b[0m \x1b[1mw\x1b[0m\n"
	if colored.String() != want {
		t.Errorf("got\n%q, want\n%q", colored.String(), want)
	}
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored.String(), ""); got != plain.String() {
		t.Errorf("without colours\n%s, want\n%s", got, plain.String())
	}
}

func TestAllFindsWrappedDiagnostics(t *testing.T) {
	d := Errorf(Pos{"k.py", 1, 1}, "x")
	if got := All(fmt.Errorf("compile: %w", List{d, d})); len(got) != 2 {
		t.Errorf("got %d diagnostics, want 2", len(got))
	}
	if got := All(fmt.Errorf("plain")); got != nil {
		t.Errorf("got %v, want none", got)
	}
	if (List{{Severity: Warning}}).Err() != nil {
		t.Error("a list of warnings is not an error")
	}
}
