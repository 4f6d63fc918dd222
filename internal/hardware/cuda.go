//go:build cuda

package hardware

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <stdint.h>

typedef int (*fn_init)(unsigned);
typedef int (*fn_devget)(int*, int);
typedef int (*fn_retain)(void**, int);
typedef int (*fn_setctx)(void*);
typedef int (*fn_load)(void**, const void*, unsigned, int*, void**);
typedef int (*fn_unload)(void*);
typedef int (*fn_func)(void**, void*, const char*);
typedef int (*fn_alloc)(uint64_t*, size_t);
typedef int (*fn_free)(uint64_t);
typedef int (*fn_h2d)(uint64_t, const void*, size_t);
typedef int (*fn_d2h)(void*, uint64_t, size_t);
typedef int (*fn_launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
typedef int (*fn_sync)(void);
typedef int (*fn_attr)(void*, int, int);
typedef int (*fn_errstr)(int, const char**);

static struct {
	fn_init init; fn_devget devget; fn_retain retain; fn_setctx setctx; fn_load load; fn_unload unload; fn_func func;
	fn_alloc alloc; fn_free free_; fn_h2d h2d; fn_d2h d2h; fn_launch launch; fn_sync sync; fn_attr attr; fn_errstr errstr;
} cu;

static const char *open_driver(void) {
	void *h = dlopen("libcuda.so.1", RTLD_NOW);
	if (!h) return dlerror();
	cu.init = (fn_init)dlsym(h, "cuInit");
	cu.devget = (fn_devget)dlsym(h, "cuDeviceGet");
	cu.retain = (fn_retain)dlsym(h, "cuDevicePrimaryCtxRetain");
	cu.setctx = (fn_setctx)dlsym(h, "cuCtxSetCurrent");
	cu.load = (fn_load)dlsym(h, "cuModuleLoadDataEx");
	cu.unload = (fn_unload)dlsym(h, "cuModuleUnload");
	cu.func = (fn_func)dlsym(h, "cuModuleGetFunction");
	cu.alloc = (fn_alloc)dlsym(h, "cuMemAlloc_v2");
	cu.free_ = (fn_free)dlsym(h, "cuMemFree_v2");
	cu.h2d = (fn_h2d)dlsym(h, "cuMemcpyHtoD_v2");
	cu.d2h = (fn_d2h)dlsym(h, "cuMemcpyDtoH_v2");
	cu.launch = (fn_launch)dlsym(h, "cuLaunchKernel");
	cu.sync = (fn_sync)dlsym(h, "cuCtxSynchronize");
	cu.attr = (fn_attr)dlsym(h, "cuFuncSetAttribute");
	cu.errstr = (fn_errstr)dlsym(h, "cuGetErrorString");
	return NULL;
}

static void *ctx;  // every call makes it current: goroutines change threads

static int start(void) {
	int e, dev;
	if ((e = cu.init(0))) return e;
	if ((e = cu.devget(&dev, 0))) return e;
	if ((e = cu.retain(&ctx, dev))) return e;
	return cu.setctx(ctx);
}

static int load_module(void **m, const char *text, char *log, int n, unsigned level) {
	cu.setctx(ctx);
	int opts[3] = {5, 6, 7};  // error log buffer, its size, optimization level
	void *vals[3] = {log, (void*)(uintptr_t)n, (void*)(uintptr_t)level};
	return cu.load(m, text, 3, opts, vals);
}
static int unload_module(void *m) { cu.setctx(ctx); return cu.unload(m); }
static int get_function(void **f, void *m, const char *name) { cu.setctx(ctx); return cu.func(f, m, name); }
static int mem_alloc(uint64_t *p, size_t n) { cu.setctx(ctx); return cu.alloc(p, n); }
static int mem_free(uint64_t p) { cu.setctx(ctx); return cu.free_(p); }
static int to_device(uint64_t p, const void *h, size_t n) { cu.setctx(ctx); return cu.h2d(p, h, n); }
static int from_device(void *h, uint64_t p, size_t n) { cu.setctx(ctx); return cu.d2h(h, p, n); }
static int launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned sh, void *params, int n) {
	cu.setctx(ctx);
	void *args[64];
	for (int i = 0; i < n; i++) args[i] = (char*)params + 8*i;
	if (sh > 48*1024) { int e = cu.attr(f, 8, sh); if (e) return e; }
	int e = cu.launch(f, gx, gy, gz, bx, by, bz, sh, NULL, args, NULL);
	return e ? e : cu.sync();
}
static const char *error_string(int e) { const char *s = "unknown"; cu.errstr(e, &s); return s; }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Open finds the first GPU.
func Open() error {
	if msg := C.open_driver(); msg != nil {
		return fmt.Errorf("CUDA driver: %s", C.GoString(msg))
	}
	return check("start", C.start())
}

func check(what string, e C.int) error {
	if e == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (CUDA error %d)", what, C.GoString(C.error_string(e)), int(e))
}

// Module is PTX that the driver compiled.
type Module struct{ m unsafe.Pointer }

// MaxLevel is the driver's greatest, and usual, level of optimization. At level 0
// it assembles the accesses to memory that the PTX has, no fewer and no wider ones.
const MaxLevel = 4

// Load compiles PTX at a level of optimization from 0 to MaxLevel.
func Load(text string, level int) (*Module, error) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	const size = 16 << 10
	log := (*C.char)(C.calloc(size, 1))
	defer C.free(unsafe.Pointer(log))
	m := new(unsafe.Pointer)
	if err := check("load", C.load_module(m, c, log, size, C.uint(level))); err != nil {
		return nil, fmt.Errorf("%w: %s", err, C.GoString(log))
	}
	return &Module{*m}, nil
}

// Unload frees the module.
func (m *Module) Unload() { C.unload_module(m.m) }

// Launch runs a kernel. Arguments are []byte, whose contents go to the device
// and come back, nil for a null pointer, or a uint64 that holds a scalar's bits.
func (m *Module) Launch(kernel string, grid, block [3]int, shared int, args ...any) error {
	name := C.CString(kernel)
	defer C.free(unsafe.Pointer(name))
	f := new(unsafe.Pointer)
	if err := check("find "+kernel, C.get_function(f, m.m, name)); err != nil {
		return err
	}
	params := (*[64]uint64)(C.calloc(64, 8))
	defer C.free(unsafe.Pointer(params))
	ptr := make([]C.uint64_t, len(args))
	defer func() {
		for _, p := range ptr {
			if p != 0 {
				C.mem_free(p)
			}
		}
	}()
	for i, a := range args {
		switch v := a.(type) {
		case nil:
		case uint64:
			params[i] = v
		case []byte:
			if err := check("allocate", C.mem_alloc(&ptr[i], C.size_t(max(len(v), 1)))); err != nil {
				return err
			}
			params[i] = uint64(ptr[i])
			if len(v) > 0 {
				if err := check("copy", C.to_device(ptr[i], unsafe.Pointer(&v[0]), C.size_t(len(v)))); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("argument %d is a %T", i, a)
		}
	}
	if err := check("launch "+kernel, C.launch(*f, C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2]),
		C.uint(block[0]), C.uint(block[1]), C.uint(block[2]), C.uint(shared), unsafe.Pointer(params), C.int(len(args)))); err != nil {
		return err
	}
	for i, a := range args {
		if v, ok := a.([]byte); ok && len(v) > 0 {
			if err := check("copy back", C.from_device(unsafe.Pointer(&v[0]), ptr[i], C.size_t(len(v)))); err != nil {
				return err
			}
		}
	}
	return nil
}
