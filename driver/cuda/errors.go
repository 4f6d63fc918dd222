package cuda

import (
	"fmt"
	"reflect"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/driver/cuda/alive"
)

// resultType is that of cu's errors, which cu keeps to itself.
var resultType = reflect.TypeOf(cu.Unknown)

// explain gives an error of cu's the name that CUDA's manual has for it, and
// says what failed.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if reflect.TypeOf(err) != resultType {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &Error{What: what, Code: int(reflect.ValueOf(err).Int())}
}

// Error is what a call of CUDA returned.
type Error struct {
	// What failed, for people.
	What string
	// Code is CUDA's CUresult.
	Code int
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (%s)", e.What, alive.Name(e.Code), alive.Text(e.Code))
}

// has reports whether err is a certain one of cu's, such as cu.OutOfMemory.
func (e *Error) has(result error) bool { return reflect.ValueOf(result).Int() == int64(e.Code) }
