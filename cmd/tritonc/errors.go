package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
)

// usageError is a command line that makes no sense.
type usageError struct {
	message string
	help    string // the next step, or empty
}

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

func (e *usageError) withHelp(format string, args ...any) *usageError {
	e.help = fmt.Sprintf(format, args...)
	return e
}

// errorList is several compiles' failures as one error.
type errorList []error

func (l errorList) Error() string { return errors.Join(l...).Error() }

func (l errorList) Unwrap() []error { return l }

// report prints err for a person and returns the exit code that it stands for.
// What several variants of a kernel have in common is said once.
func report(w io.Writer, err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDifferent):
		return exitError
	}
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(w, "tritonc: %s\n", usage.message)
		if usage.help != "" {
			fmt.Fprintf(w, "  help: %s\n", usage.help)
		}
		return exitUsage
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "tritonc: interrupted")
		return exitError
	}
	list, ok := err.(errorList)
	if !ok {
		list = errorList{err}
	}
	said := map[string]bool{}
	for _, e := range list {
		if diags := diag.All(e); diags != nil {
			printDiagnostics(w, diags, said)
		} else if text := e.Error(); !said[text] {
			said[text] = true
			fmt.Fprintf(w, "tritonc: error: %s\n", text)
		}
		var crash *core.Crash
		if errors.As(e, &crash) {
			reportCrash(w, crash)
		}
	}
	return exitError
}

// reportCrash leaves a file that shows a mistake of ours again.
func reportCrash(w io.Writer, crash *core.Crash) {
	path, command, err := writeReproducer(crash.Reproducer)
	if err != nil {
		fmt.Fprintf(w, "  the reproducer cannot be written: %v\n", err)
		return
	}
	fmt.Fprintf(w, "  reproducer: %s\n  run it again: %s\n", path, command)
}

func printDiagnostics(w io.Writer, list diag.List, said map[string]bool) {
	for _, d := range list {
		if text := d.Error(); !said[text] {
			said[text] = true
			shown := *d
			shown.Line = strings.Map(printable, d.Line)
			diag.Fprint(w, &shown)
		}
	}
}

// printable keeps what a terminal may obey out of lines that are not ours. One
// character takes the place of one, so that carets stay right.
func printable(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '?'
	}
	return r
}
