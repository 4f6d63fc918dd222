// Package wire is the border between core and a backend: Backend is what core asks
// of one, and the functions carry diagnostics over. Core speaks core/diag, the SDK its
// own struct, for it imports nothing of core. The host's half (core/plugin) and the
// backends that use core's libraries both call it.
package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// ToSDK gives d as it crosses to the host.
func ToSDK(d *diag.Diagnostic) sdk.Diagnostic {
	out := sdk.Diagnostic{
		Severity:   sdk.Severity(d.Severity),
		File:       d.Pos.File,
		Line:       d.Pos.Line,
		Column:     d.Pos.Col,
		EndColumn:  d.EndCol,
		Message:    d.Message,
		Help:       d.Help,
		SourceLine: d.Line,

		Unlaunchable: d.Unlaunchable,
	}
	for i := range d.Notes {
		out.Notes = append(out.Notes, ToSDK(&d.Notes[i]))
	}
	return out
}

// FromSDK gives d as core prints it. Its Kind is dropped: Error keeps it.
func FromSDK(d *sdk.Diagnostic) *diag.Diagnostic {
	out := &diag.Diagnostic{
		Severity: diag.Severity(d.Severity),
		Pos:      diag.Pos{File: d.File, Line: d.Line, Col: d.Column},
		EndCol:   d.EndColumn,
		Message:  d.Message,
		Help:     d.Help,
		Line:     d.SourceLine,

		Unlaunchable: d.Unlaunchable,
	}
	for i := range d.Notes {
		out.Notes = append(out.Notes, *FromSDK(&d.Notes[i]))
	}
	return out
}

// ListToSDK gives l as it crosses to the host.
func ListToSDK(l diag.List) []sdk.Diagnostic {
	var out []sdk.Diagnostic
	for _, d := range l {
		out = append(out, ToSDK(d))
	}
	return out
}

// ListFromSDK gives l as core prints it.
func ListFromSDK(l []sdk.Diagnostic) diag.List {
	var out diag.List
	for i := range l {
		out = append(out, FromSDK(&l[i]))
	}
	return out
}

// ErrorToSDK converts core's diagnostics inside err to the SDK's, for a backend
// to return; any other error passes unchanged.
func ErrorToSDK(err error) error {
	if l := diag.All(err); len(l) > 0 {
		return sdk.Diagnostics(ListToSDK(l))
	}
	return err
}

// BugError is a backend's own mistake that it caught itself.
type BugError struct {
	Backend string
	Text    string // what went wrong, with the stack
}

func (e *BugError) Error() string { return "backend " + e.Backend + ": " + e.Text }

// ErrorFromSDK converts what a backend answered to the error that core's callers
// see: a diag.List for a user's mistakes, a *BugError for the backend's own, an
// ordinary error for the machine's trouble. Errors that are not diagnostics pass
// unchanged.
func ErrorFromSDK(backend string, err error) error {
	var l sdk.Diagnostics
	if !errors.As(err, &l) {
		return err
	}
	var machine []error
	for i := range l {
		switch l[i].Kind {
		case sdk.Bug:
			return &BugError{Backend: backend, Text: bugText(&l[i])}
		case sdk.Environment:
			machine = append(machine, fmt.Errorf("backend %s: %s%s%s", backend, l[i].Message, notesText(l[i].Notes), helpText(l[i].Help)))
		}
	}
	if len(machine) > 0 {
		return errors.Join(machine...)
	}
	return ListFromSDK(l)
}

func notesText(notes []sdk.Diagnostic) string {
	var b strings.Builder
	for i := range notes {
		b.WriteString("\n  note: " + strings.ReplaceAll(notes[i].Message, "\n", "\n        "))
	}
	return b.String()
}

func helpText(help string) string {
	if help == "" {
		return ""
	}
	return "\n  help: " + strings.ReplaceAll(help, "\n", "\n        ")
}

func bugText(d *sdk.Diagnostic) string {
	var b strings.Builder
	b.WriteString(d.Message)
	b.WriteString(helpText(d.Help))
	for i := range d.Notes {
		b.WriteString("\n")
		b.WriteString(d.Notes[i].Message)
	}
	return b.String()
}
