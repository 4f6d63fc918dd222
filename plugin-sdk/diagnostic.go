package sdk

import (
	"errors"
	"fmt"
	"strings"
)

// Severity orders diagnostics from fatal to informative.
type Severity uint8

// The severities. Only an Error ends a call.
const (
	Error Severity = iota
	Warning
	Note
)

func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Note:
		return "note"
	default:
		return "error"
	}
}

// Kind says whose trouble a diagnostic is about.
type Kind uint8

// The kinds.
const (
	User        Kind = iota // the kernel, the options, the files given
	Environment             // a missing tool, a full disk
	Bug                     // the backend's own mistake
)

// Diagnostic is one message to the user. Line and Column count from 1 (Column
// in bytes); 0 means unknown. It implements error.
type Diagnostic struct {
	Severity   Severity
	Kind       Kind
	File       string
	Line       int
	Column     int
	EndColumn  int // just after the marked range on the same line, or 0
	Message    string
	Help       string // the next step, or empty
	SourceLine string // the text of that line, or empty
	Notes      []Diagnostic
	// Unlaunchable marks a warning about a kernel that no device of the target can
	// launch: what was compiled can be read and measured, not run. The host makes it
	// an error unless its user wants such kernels.
	Unlaunchable bool
}

// Errorf makes an error about what the user gave.
func Errorf(format string, args ...any) *Diagnostic {
	return &Diagnostic{Message: fmt.Sprintf(format, args...)}
}

// WithHelp sets the next step and returns d.
func (d *Diagnostic) WithHelp(format string, args ...any) *Diagnostic {
	d.Help = fmt.Sprintf(format, args...)
	return d
}

// WithNote adds a message about d and returns d.
func (d *Diagnostic) WithNote(format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Diagnostic{Severity: Note, Message: fmt.Sprintf(format, args...)})
	return d
}

// ofKind sets whose trouble it is and returns d.
func (d *Diagnostic) ofKind(k Kind) *Diagnostic {
	d.Kind = k
	return d
}

// panicked is the diagnostic for a panic with a value in what an author wrote.
func panicked(who, where string, value any, stack []byte) *Diagnostic {
	return Errorf("BUG in %s, in %s: %v", who, where, value).ofKind(Bug).
		WithHelp("this is a mistake in %s, not in your kernel; please report it with the input and the stack below", who).
		WithNote("%s", stack)
}

func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File)
		if d.Line > 0 {
			fmt.Fprintf(&b, ":%d", d.Line)
			if d.Column > 0 {
				fmt.Fprintf(&b, ":%d", d.Column)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(d.Severity.String())
	b.WriteString(": ")
	b.WriteString(d.Message)
	return b.String()
}

// Diagnostics is several messages as one error.
type Diagnostics []Diagnostic

func (l Diagnostics) Error() string {
	lines := make([]string, len(l))
	for i := range l {
		lines[i] = l[i].Error()
	}
	return strings.Join(lines, "\n")
}

// diagnosticsOf gives the form in which err crosses to the host.
func diagnosticsOf(err error) Diagnostics {
	if err == nil {
		return nil
	}
	var l Diagnostics
	if errors.As(err, &l) {
		return l
	}
	var d *Diagnostic
	if errors.As(err, &d) {
		return Diagnostics{*d}
	}
	return Diagnostics{{Kind: Environment, Message: err.Error()}}
}
