package cuda

/*
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

static CUresult launch_with(CUfunction f, const unsigned *grid, const unsigned *block, unsigned shared, void **params,
		CUstream stream, unsigned ctas, int all_at_once, int early) {
	struct attribute a[4];
	struct config c = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, stream, a, 0};
	launch_ex launch = (launch_ex)dlsym(RTLD_DEFAULT, "cuLaunchKernelEx");
	if (!launch) return CUDA_ERROR_NOT_SUPPORTED;
	memset(a, 0, sizeof a);
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

// CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
enum { large_clusters = 14 };
*/
import "C"

import (
	"fmt"
	"math"

	"gorgonia.org/cu"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
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
func formOf(b *sdk.DeviceBinary) launchForm {
	return launchForm{ctas: max(b.NumCTAs, 1), cooperative: b.Cooperative, early: b.PDL}
}

// ready asks for what a launch of this form needs.
func (l launchForm) ready(f cu.Function, name string) error {
	if l.ctas <= portableCluster {
		return nil
	}
	if e := C.cuFuncSetAttribute(handleOf(f), C.large_clusters, 1); e != C.CUDA_SUCCESS {
		return &Error{What: fmt.Sprintf("allowing %s clusters of %d blocks", name, l.ctas), Code: int(e)}
	}
	return nil
}

// blocks is a grid of programs as one of blocks.
func (l launchForm) blocks(grid [3]int) ([3]int, error) {
	if grid[0] > math.MaxInt32/l.ctas {
		return grid, sdk.Errorf("grid dimension x is %d: with clusters of %d blocks it must be from 1 to %d", grid[0], l.ctas, math.MaxInt32/l.ctas)
	}
	grid[0] *= l.ctas
	return grid, nil
}

// launch launches a function on a grid of blocks. cu's own Launch takes parameters of 8
// bytes alone.
func (l launchForm) launch(f cu.Function, grid, block [3]int, shared int, p *paramBlock, s cu.Stream) *Error {
	var e C.CUresult
	if l.ctas > 1 || l.cooperative || l.early {
		g := [3]C.uint{C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2])}
		b := [3]C.uint{C.uint(block[0]), C.uint(block[1]), C.uint(block[2])}
		e = C.launch_with(handleOf(f), &g[0], &b[0], C.uint(shared), &p.slots[0], streamOf(s), C.uint(l.ctas), flag(l.cooperative), flag(l.early))
	} else {
		e = C.cuLaunchKernel(handleOf(f), C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2]), C.uint(block[0]), C.uint(block[1]), C.uint(block[2]),
			C.uint(shared), streamOf(s), &p.slots[0], nil)
	}
	if e != C.CUDA_SUCCESS {
		return &Error{What: "launching", Code: int(e)}
	}
	return nil
}

func flag(on bool) C.int {
	if on {
		return 1
	}
	return 0
}
