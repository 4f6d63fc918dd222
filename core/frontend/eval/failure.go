package eval

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Failure is a user's mistake on its way up. File is nil until somebody who
// knows the place has filled it in.
type Failure struct {
	Msg  string
	Help string
	File *File
	Span syntax.Span
	// Frames are the calls that led here, innermost first.
	Frames []Frame
	// Raised is the exception's class name where Python code could catch it.
	Raised string
}

// Frame is one call on the way to a failure.
type Frame struct {
	File *File
	Span syntax.Span
	Name string // of the function that was called
}

func (f *Failure) Error() string { return f.Msg }

// Fail stops the evaluation with a message at a place that is still unknown.
func Fail(format string, args ...any) {
	panic(&Failure{Msg: fmt.Sprintf(format, args...)})
}

// FailHelp is Fail with a next step for the user.
func FailHelp(help, format string, args ...any) {
	panic(&Failure{Msg: fmt.Sprintf(format, args...), Help: help})
}

// raise is Fail with the class of the exception that Python would raise.
func raise(class, format string, args ...any) {
	panic(&Failure{Msg: fmt.Sprintf(format, args...), Raised: class})
}

// At fills in the place of a failure that has none.
func (f *Failure) At(file *File, span syntax.Span) *Failure {
	if f.File == nil {
		f.File, f.Span = file, span
	}
	return f
}

// Diagnostic is the failure as the user sees it.
func (f *Failure) Diagnostic() *diag.Diagnostic {
	d := &diag.Diagnostic{Message: f.Msg, Help: f.Help}
	if f.File != nil {
		d.Pos, d.EndCol = f.File.Pos(f.Span)
		d.Line = diag.LineAt(f.File.Source(), int(f.Span.Line))
	}
	for _, fr := range f.Frames {
		pos, end := fr.File.Pos(fr.Span)
		d.Notes = append(d.Notes, diag.Diagnostic{
			Severity: diag.Note, Pos: pos, EndCol: end,
			Message: "in the call of " + fr.Name,
			Line:    diag.LineAt(fr.File.Source(), int(fr.Span.Line)),
		})
	}
	return d
}

// Try calls f and returns the failure that it ended in, or nil.
func Try(f func()) (failure *Failure) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if failure, ok = r.(*Failure); !ok {
				panic(r)
			}
		}
	}()
	f()
	return nil
}
