package syntax

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
)

var update = flag.Bool("update", false, "rewrite testdata/errors.txt with what the parser says now")

// errorMark begins the line of an error case that says what is expected. The
// newline before it is not part of the source.
const errorMark = "\n!!! "

// TestErrors holds the text and place of every message. The source of a case
// ends at a line "!!! line:col: message (help)".
func TestErrors(t *testing.T) {
	const path = "testdata/errors.txt"
	var out strings.Builder
	for _, c := range readCases(t, path) {
		src, want, _ := strings.Cut(c.text, errorMark)
		got := ""
		_, err := Parse("t.py", []byte(src))
		var d *diag.Diagnostic
		switch {
		case err == nil:
			t.Errorf("%q was accepted", src)
		case !errors.As(err, &d):
			t.Errorf("%q: the error is a %T", src, err)
		default:
			got = fmt.Sprintf("%d:%d: %s", d.Pos.Line, d.Pos.Col, d.Message)
			if d.Help != "" {
				got += " (" + d.Help + ")"
			}
			checkPlace(t, src, d)
		}
		if want = strings.TrimRight(want, "\n"); got != want && !*update {
			t.Errorf("%q:\n  got  %s\n  want %s", src, got, want)
		}
		fmt.Fprintf(&out, "### %s\n%s%s%s\n", c.name, src, errorMark, got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPlace refuses a diagnostic that points outside the text.
func checkPlace(t *testing.T, src string, d *diag.Diagnostic) {
	t.Helper()
	lines := strings.Split(src, "\n")
	if d.Pos.File != "t.py" || d.Pos.Line < 1 || d.Pos.Line > len(lines) {
		t.Fatalf("%q: bad place %v", src, d.Pos)
	}
	line := lines[d.Pos.Line-1]
	if d.Line != line {
		t.Errorf("%q: line %q is shown for %q", src, d.Line, line)
	}
	if d.Pos.Col < 1 || d.Pos.Col > len(line)+2 || d.EndCol != 0 && (d.EndCol < d.Pos.Col || d.EndCol > len(line)+2) {
		t.Errorf("%q: columns %d to %d of %q", src, d.Pos.Col, d.EndCol, line)
	}
}
