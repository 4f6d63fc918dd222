// Package alive ends the process with a clear message where CUDA cannot be used.
// gorgonia.org/cu does so too when it is initialized, with words that help
// nobody; this package comes first, since it imports nothing that cu does not,
// and packages that are ready are initialized in the order of their paths.
package alive

/*
#include <cuda.h>

// The name of an error, and its text.
static const char *errorName(int e) { const char *s = 0; cuGetErrorName((CUresult)e, &s); return s ? s : "an unknown error"; }
static const char *errorText(int e) { const char *s = 0; cuGetErrorString((CUresult)e, &s); return s ? s : "CUDA says no more"; }
*/
import "C"

import (
	"fmt"
	"os"
)

func init() {
	if e := C.cuInit(0); e != C.CUDA_SUCCESS {
		fmt.Fprintf(os.Stderr, "CUDA cannot be used: cuInit: %s (%s)\n", Name(int(e)), Text(int(e)))
		os.Exit(3)
	}
}

// Name is that of a CUresult, such as CUDA_ERROR_OUT_OF_MEMORY.
func Name(result int) string { return C.GoString(C.errorName(C.int(result))) }

// Text is what CUDA says of a CUresult.
func Text(result int) string { return C.GoString(C.errorText(C.int(result))) }
