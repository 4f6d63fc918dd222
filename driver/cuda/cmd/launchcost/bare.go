package main

/*
#include <cuda.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct bare {
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUstream stream;
	uint64_t values[6]; // three pointers, a number, two pointers to scratch memory
	void *params[6];
};

static CUresult bare_open(struct bare *b, int number, const char *ptx, const char *name, uint64_t memory) {
	CUdevice device;
	CUresult e = cuDeviceGet(&device, number);
	if (!e) e = cuDevicePrimaryCtxRetain(&b->context, device);
	if (!e) e = cuCtxSetCurrent(b->context);
	if (!e) e = cuModuleLoadData(&b->module, ptx);
	if (!e) e = cuModuleGetFunction(&b->function, b->module, name);
	if (!e) e = cuStreamCreate(&b->stream, CU_STREAM_DEFAULT);
	for (int i = 0; i < 6; i++) {
		b->values[i] = i < 3 ? memory : 0;
		b->params[i] = &b->values[i];
	}
	return e;
}

static CUresult bare_launch(struct bare *b) {
	return cuLaunchKernel(b->function, 1, 1, 1, 32, 1, 1, 0, b->stream, b->params, 0);
}

// bare_burst launches n times and says how many nanoseconds that took.
static CUresult bare_burst(struct bare *b, int n, int64_t *took) {
	struct timespec begin, end;
	CUresult e = cuCtxSetCurrent(b->context);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < n && !e; i++) e = bare_launch(b);
	clock_gettime(CLOCK_MONOTONIC, &end);
	*took = (end.tv_sec - begin.tv_sec) * 1000000000ll + end.tv_nsec - begin.tv_nsec;
	return e ? e : cuStreamSynchronize(b->stream);
}

static CUresult bare_sync(struct bare *b) { return cuStreamSynchronize(b->stream); }
*/
import "C"

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// bare launches a kernel by calls of CUDA alone, on one thread.
type bare struct{ c *C.struct_bare }

func openBare(number int, code []byte, name string, memory uint64) (*bare, error) {
	runtime.LockOSThread() // whose current context stays the GPU's
	b := &bare{(*C.struct_bare)(C.calloc(1, C.sizeof_struct_bare))}
	text, function := C.CString(string(code)), C.CString(name)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(function))
	return b, result(C.bare_open(b.c, C.int(number), text, function, C.uint64_t(memory)))
}

// burst launches n times in C and says how long that took.
func (b *bare) burst(n int) (time.Duration, error) {
	var took C.int64_t
	err := result(C.bare_burst(b.c, C.int(n), &took))
	return time.Duration(took), err
}

// launch launches once: what a call from Go adds.
func (b *bare) launch() error { return result(C.bare_launch(b.c)) }

func (b *bare) sync() error { return result(C.bare_sync(b.c)) }

func result(e C.CUresult) error {
	if e == C.CUDA_SUCCESS {
		return nil
	}
	return fmt.Errorf("CUDA returned %d", int(e))
}
