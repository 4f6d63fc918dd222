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
	// Silent: something failed before and was reported; this is its consequence.
	Silent bool
	// Raised is the exception's class name where Python code could catch it.
	Raised string
	// Missing is what a failure lacks that came out of a module that is not here.
	Missing *Missing
	// Launch names the argument whose value it needs, and only a launch knows.
	Launch string
	// Lacking: Triton has no such name, so that even what may be skipped fails.
	Lacking bool
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

func raiseHelp(class, help, format string, args ...any) {
	panic(&Failure{Msg: fmt.Sprintf(format, args...), Help: help, Raised: class})
}

// DidYouMean is a help that names the one that name is probably a slip of, before
// what else there is to say.
func DidYouMean(name string, names []string, help string) string {
	near := diag.Closest(name, names)
	switch {
	case near == "":
		return help
	case help == "":
		return "did you mean '" + near + "'?"
	}
	return "did you mean '" + near + "'? " + help
}

// FailKeyword says that a function takes no keyword of that name; params are those
// that it takes.
func FailKeyword(fn, name string, params []string, help string) {
	panic(&Failure{
		Msg: fmt.Sprintf("%s() got an unexpected keyword argument '%s'", fn, name), Help: DidYouMean(name, params, help),
		Raised: "TypeError", Lacking: true,
	})
}

// At fills in the place of a failure that has none.
func (f *Failure) At(file *File, span syntax.Span) *Failure {
	if f.File == nil {
		f.File, f.Span = file, span
	}
	return f
}

// Diagnostic is the failure as the user sees it: at the innermost place in the
// user's own code, with the place in the library and the calls as notes.
func (f *Failure) Diagnostic() *diag.Diagnostic {
	d := &diag.Diagnostic{Message: f.Msg, Help: f.Help}
	if f.File == nil {
		return d
	}
	here := Frame{File: f.File, Span: f.Span}
	frames := f.Frames
	if f.File.Library {
		for i, fr := range frames {
			if !fr.File.Library {
				d.Notes = append(d.Notes, here.note("in the library, called as "+fr.Name))
				here, frames = fr, frames[i+1:]
				break
			}
		}
	}
	at := here.note("")
	d.Pos, d.EndCol, d.Line = at.Pos, at.EndCol, at.Line
	// A function that calls itself is named once, with how often.
	times := make(map[Frame]int, len(frames))
	for _, fr := range frames {
		times[fr]++
	}
	for _, fr := range frames {
		switch n := times[fr]; {
		case n > 1:
			d.Notes = append(d.Notes, fr.note(fmt.Sprintf("in the call of %s, %d times", fr.Name, n)))
		case n == 1:
			d.Notes = append(d.Notes, fr.note("in the call of "+fr.Name))
		}
		delete(times, fr)
	}
	return d
}

func (fr *Frame) note(msg string) diag.Diagnostic {
	pos, end := fr.File.Pos(fr.Span)
	return diag.Diagnostic{
		Severity: diag.Note, Pos: pos, EndCol: end, Message: msg,
		Line: diag.LineAt(fr.File.Source(), int(fr.Span.Line)),
	}
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
