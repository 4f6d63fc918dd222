// Package diag holds the one form in which tritonc tells a user what is wrong
// with what they gave it: a position, a message, the line with a caret, and a
// next step. It imports nothing of ours, so that every room can return it.
//
// Three kinds of trouble exist. A user's mistake is a Diagnostic. The
// environment's (a missing tool, an unwritable folder) is an ordinary error
// that wraps the path or command. Our own mistakes are panics whose text
// starts with "BUG", caught once, by the pass runner.
package diag

import (
	"errors"
	"fmt"
	"strings"
)

// Severity orders diagnostics from fatal to informative.
type Severity uint8

const (
	Error Severity = iota
	Warning
	Note
	Remark // what is worth knowing, of nothing wrong
)

func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Note:
		return "note"
	case Remark:
		return "remark"
	default:
		return "error"
	}
}

// Pos is a place in a text: Line and Col count from 1, Col in bytes. The zero
// Pos means "no place" (a diagnostic about a flag, say).
type Pos struct {
	File string
	Line int
	Col  int
}

// IsValid reports whether p names a line.
func (p Pos) IsValid() bool { return p.Line > 0 }

func (p Pos) String() string {
	switch {
	case p.Line <= 0:
		return p.File
	case p.Col <= 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

// Diagnostic is one message to the user. It implements error; its Error text
// is the single line "file:line:col: error: message".
type Diagnostic struct {
	Severity Severity
	Pos      Pos
	// EndCol, when greater than Pos.Col, is the column just after the marked
	// range on the same line.
	EndCol  int
	Message string
	// Help is the next step for the user, or empty.
	Help string
	// Line is the text of the source line at Pos, without its newline; the
	// printer shows it with a caret. Empty: nothing is shown.
	Line string
	// Notes add further places, such as the call site of a failing callee.
	Notes []Diagnostic
	// Unlaunchable marks a warning about a kernel that no device of its target can
	// launch.
	Unlaunchable bool
}

// Errorf makes an error diagnostic at pos.
func Errorf(pos Pos, format string, args ...any) *Diagnostic {
	return &Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// WithHelp sets the next step and returns d.
func (d *Diagnostic) WithHelp(format string, args ...any) *Diagnostic {
	d.Help = fmt.Sprintf(format, args...)
	return d
}

// WithNote adds a note and returns d.
func (d *Diagnostic) WithNote(pos Pos, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Diagnostic{Severity: Note, Pos: pos, Message: fmt.Sprintf(format, args...)})
	return d
}

// WithSource copies the marked line out of src, the whole text of the file that
// Pos names, and returns d. Notes in the same file get their lines too.
func (d *Diagnostic) WithSource(src string) *Diagnostic {
	if d.Line == "" {
		d.Line = LineAt(src, d.Pos.Line)
	}
	for i := range d.Notes {
		if n := &d.Notes[i]; n.Line == "" && n.Pos.File == d.Pos.File {
			n.Line = LineAt(src, n.Pos.Line)
		}
	}
	return d
}

func (d *Diagnostic) Error() string {
	if d.Pos == (Pos{}) {
		return d.Severity.String() + ": " + d.Message
	}
	return d.Pos.String() + ": " + d.Severity.String() + ": " + d.Message
}

// List is several diagnostics as one error. A List is never empty when it is
// returned as an error.
type List []*Diagnostic

func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// HasErrors reports whether any entry is an error rather than a warning or note.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns l as an error when it has errors, else nil.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// All collects the diagnostics inside err; nil when err carries none.
func All(err error) List {
	var l List
	if errors.As(err, &l) {
		return l
	}
	var d *Diagnostic
	if errors.As(err, &d) {
		return List{d}
	}
	return nil
}

// LineAt returns line n (from 1) of src without its line ending, or "".
func LineAt(src string, n int) string {
	if n < 1 {
		return ""
	}
	for ; n > 1; n-- {
		i := strings.IndexByte(src, '\n')
		if i < 0 {
			return ""
		}
		src = src[i+1:]
	}
	if i := strings.IndexByte(src, '\n'); i >= 0 {
		src = src[:i]
	}
	return strings.TrimSuffix(src, "\r")
}
