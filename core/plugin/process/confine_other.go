//go:build !linux

package process

import (
	"errors"
	"runtime"
)

func bounce(string) error { return errors.ErrUnsupported }

// confineLacks says what of the system is missing; here it is all of it.
func confineLacks(bool) error {
	return errors.New("tritonc knows no limits for programs on " + runtime.GOOS + ", only on Linux")
}
