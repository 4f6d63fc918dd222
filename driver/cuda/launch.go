package cuda

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

// CUDA 11.8 brought attributes of launches; headers before do not declare them, and
// drivers before lack the call.
struct attribute {
	int id;
	int pad;
	union {
		char bytes[64];
		int on;
		unsigned dimension[3];
	} value;
};

struct config {
	unsigned grid[3], block[3], shared;
	CUstream stream;
	struct attribute *attributes;
	unsigned count;
};

typedef CUresult (*launch_ex)(const struct config *config, CUfunction f, void **params, void **extra);

enum { cooperative = 2, cluster_dimension = 4, cluster_policy = 5, serialization = 6 };
enum { spread = 1 };

static CUresult launch_with(CUfunction f, const struct config *plain, void **params, unsigned ctas, int all_at_once, int early) {
	static launch_ex launch;
	struct attribute a[4];
	struct config c = *plain;
	if (!launch) launch = (launch_ex)dlsym(RTLD_DEFAULT, "cuLaunchKernelEx");
	if (!launch) return CUDA_ERROR_NOT_SUPPORTED;
	memset(a, 0, sizeof a);
	c.attributes = a;
	if (early) {
		a[c.count].id = serialization;
		a[c.count++].value.on = 1;
	}
	if (all_at_once) {
		a[c.count].id = cooperative;
		a[c.count++].value.on = 1;
	}
	if (ctas > 1) {
		a[c.count].id = cluster_dimension;
		a[c.count].value.dimension[0] = ctas;
		a[c.count].value.dimension[1] = a[c.count].value.dimension[2] = 1;
		c.count++;
		a[c.count].id = cluster_policy;
		a[c.count++].value.on = spread;
	}
	return launch(&c, f, params, 0);
}

// launch has a thread without a context of its own keep this one, so that its next
// launch finds it there.
static CUresult launch(CUcontext context, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, CUstream stream, void **params, unsigned ctas, int all_at_once, int early) {
	CUcontext was = 0;
	CUresult e = cuCtxGetCurrent(&was);
	if (e == CUDA_SUCCESS && was != context) e = cuCtxSetCurrent(context);
	if (e != CUDA_SUCCESS) return e;
	if (ctas > 1 || all_at_once || early) {
		struct config c = {{gx, gy, gz}, {bx, by, bz}, shared, stream, 0, 0};
		e = launch_with(f, &c, params, ctas, all_at_once, early);
	} else {
		e = cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, 0);
	}
	if (was && was != context) cuCtxSetCurrent(was);
	return e;
}

// CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
enum { large_clusters = 14 };
*/
import "C"

import (
	"fmt"
	"math"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
)

// How the blocks of a kernel are launched.
type launchForm struct {
	ctas        int  // blocks of a cluster, which lie along x
	cooperative bool // all blocks run at once
	early       bool // the kernel may start before the one before it has ended
}

// Every GPU with clusters runs those of portableCluster blocks.
const portableCluster = 8

// formOf is the form of a binary's launches.
func formOf(m *driver.Metadata) launchForm {
	return launchForm{ctas: max(m.NumCTAs, 1), cooperative: m.Cooperative, early: m.PDL}
}

// ready asks for what a launch of this form needs.
func (l launchForm) ready(f cu.Function, name string) error {
	if l.ctas <= portableCluster {
		return nil
	}
	return explainResult(fmt.Sprintf("allowing %s clusters of %d blocks", name, l.ctas), C.cuFuncSetAttribute(handleOf(f), C.large_clusters, 1))
}

// blocks is a grid of programs as one of blocks.
func (l launchForm) blocks(grid [3]int) ([3]int, error) {
	if grid[0] > math.MaxInt32/l.ctas {
		return grid, diag.Errorf(diag.Pos{}, "grid dimension x is %d: with clusters of %d blocks it must be from 1 to %d", grid[0], l.ctas, math.MaxInt32/l.ctas)
	}
	grid[0] *= l.ctas
	return grid, nil
}

// launch launches a function on a grid of blocks. cu's own Launch takes parameters of 8
// bytes alone. Kernels of a stream share their scratch memory: one that has some never
// starts early.
func (l launchForm) launch(context C.CUcontext, f cu.Function, grid, block [3]int, shared int, p *paramBlock, s C.CUstream, scratch bool) *Error {
	e := C.launch(context, handleOf(f), C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2]), C.uint(block[0]), C.uint(block[1]), C.uint(block[2]),
		C.uint(shared), s, &p.slots[0], C.uint(l.ctas), flag(l.cooperative), flag(l.early && !scratch))
	if e != C.CUDA_SUCCESS {
		return &Error{Code: int(e)}
	}
	return nil
}

func flag(on bool) C.int {
	if on {
		return 1
	}
	return 0
}
