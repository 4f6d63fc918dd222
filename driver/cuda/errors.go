package cuda

/*
#include <cuda.h>

extern int tritonc_cuda_init;

// The name of an error, and its text.
static const char *error_name(int e) { const char *s = 0; cuGetErrorName((CUresult)e, &s); return s ? s : "an unknown error"; }
static const char *error_text(int e) { const char *s = 0; cuGetErrorString((CUresult)e, &s); return s ? s : "CUDA says no more"; }
*/
import "C"

import (
	"fmt"
	"reflect"
	"slices"

	"gorgonia.org/cu"
)

// ready says why CUDA cannot be used at all.
func ready() error {
	if e := C.tritonc_cuda_init; e != C.CUDA_SUCCESS {
		return &Error{What: "CUDA cannot be used: cuInit", Code: int(e)}
	}
	return nil
}

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

// explainResult is explain for calls that cu lacks.
func explainResult(what string, e C.CUresult) error {
	if e == C.CUDA_SUCCESS {
		return nil
	}
	return &Error{What: what, Code: int(e)}
}

// Error is what a call of CUDA returned.
type Error struct {
	// What failed, for people.
	What string
	// Code is CUDA's CUresult.
	Code int
}

func (e *Error) Error() string { return e.What + ": " + codeText(e.Code) }

// codeText names a CUresult, such as CUDA_ERROR_OUT_OF_MEMORY, and explains it.
func codeText(code int) string {
	return fmt.Sprintf("%s (%s)", C.GoString(C.error_name(C.int(code))), C.GoString(C.error_text(C.int(code))))
}

// has reports whether err is a certain one of cu's, such as cu.OutOfMemory.
func (e *Error) has(result error) bool { return reflect.ValueOf(result).Int() == int64(e.Code) }

// fatal are the results after which CUDA refuses all work in the process: errors of
// memory and links (214, 220), a GPU that is gone (46, 709), and faults of kernels.
var fatal = []int{46, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}

func (e *Error) fatal() bool { return slices.Contains(fatal, e.Code) }
