package diag

import (
	"fmt"
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

func TestAllFindsWrappedDiagnostics(t *testing.T) {
	d := Errorf(Pos{"k.py", 1, 1}, "x")
	if got := All(fmt.Errorf("compile: %w", List{d, d})); len(got) != 2 {
		t.Errorf("got %d diagnostics, want 2", len(got))
	}
	if got := All(fmt.Errorf("plain")); got != nil {
		t.Errorf("got %v, want none", got)
	}
	if (List{{Severity: Warning}}).Err() != nil {
		t.Error("a list of warnings is no error")
	}
}
