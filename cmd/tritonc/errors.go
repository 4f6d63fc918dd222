package main

import (
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/bench"
)

// usageError is a command line that makes no sense.
type usageError struct {
	message string
	help    string // the next step, or empty
	// at is the place in the text of a flag, where there is one; then it says all.
	at *diag.Diagnostic
}

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// usageAt makes a mistake in the text of a flag a wrong command line; other errors stay
// what they are.
func usageAt(err error) error {
	var d *diag.Diagnostic
	if !errors.As(err, &d) {
		return err
	}
	return &usageError{message: d.Error(), at: d}
}

func (e *usageError) withHelp(format string, args ...any) *usageError {
	e.help = fmt.Sprintf(format, args...)
	return e
}

// explainTimer adds the next step to the error of a device that cannot measure.
func explainTimer(err error) error {
	if !errors.Is(err, bench.ErrNoTimer) {
		return err
	}
	return fmt.Errorf("%w\n  help: a simulated chip has an estimate where docs/model.md has its rates; --device takes a device that measures; tritonc run --report table counts what a kernel executes", err)
}

// errorList is several compiles' failures as one error.
type errorList []error

func (l errorList) Error() string { return errors.Join(l...).Error() }

func (l errorList) Unwrap() []error { return l }
