package main

import (
	"errors"
	"fmt"
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
