// Calls what is generated for the kernels of ccode_test.go, and checks what comes back.
#include "kernels.h"
#include <stdio.h>

#define N 640

static float x[N], y[N], out[N];

#define MUST(call) do { \
	CUresult must_err = (call); \
	if (must_err != CUDA_SUCCESS) { fprintf(stderr, "line %d: %s: %d\n", __LINE__, #call, (int)must_err); return 1; } \
} while (0)

static int sums(int n) {
	for (int i = 0; i < N; i++)
		if (out[i] != (i < n ? x[i] + y[i] : 0)) {
			fprintf(stderr, "out[%d] is %g\n", i, out[i]);
			return 0;
		}
	for (int i = 0; i < N; i++) out[i] = 0;
	return 1;
}

int main(void) {
	CUcontext ctx;
	CUdevice dev;
	CUdeviceptr px = (CUdeviceptr)x, py = (CUdeviceptr)y, pout = (CUdeviceptr)out;
	for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i;
	MUST(cuInit(0));
	MUST(cuDeviceGet(&dev, 0));
	MUST(cuDevicePrimaryCtxRetain(&ctx, dev));
	// Without a context nothing can be loaded, and the launch says so.
	if (add_default(NULL, px, py, pout, 1, 1) != CUDA_ERROR_INVALID_CONTEXT) return 2;
	MUST(cuCtxSetCurrent(ctx));
	if (add_get_num_algos() != 3) return 3;
	// By the hints that hold.
	MUST(add_default(NULL, px, py, pout, 633, 3));
	if (!sums(633)) return 4;
	MUST(add_default(NULL, px, py, pout, 624, 3));
	if (!sums(624)) return 4;
	MUST(add_default(NULL, px, py, pout, 640, 16));
	if (!sums(640)) return 4;
	// By number.
	MUST(add(NULL, px, py, pout, 640, 3, 1));
	if (!sums(640)) return 4;
	MUST(add(NULL, px, py, pout, 640, 1, 2));
	if (!sums(640)) return 4;
	// No variant.
	if (add(NULL, px + 4, py, pout, 640, 3, 1) != CUDA_ERROR_INVALID_VALUE) return 5;
	if (add(NULL, px, py, pout, 640, 2, 2) != CUDA_ERROR_INVALID_VALUE) return 5;
	if (add(NULL, px, py, pout, 640, 1, 3) != CUDA_ERROR_INVALID_VALUE) return 5;
	if (add(NULL, px, py, pout, 640, 1, -1) != CUDA_ERROR_INVALID_VALUE) return 5;
	// No program, and too many.
	MUST(add_default(NULL, px, py, pout, 0, 3));
	if (add_default(NULL, px, py, pout, -1000, 3) != CUDA_ERROR_INVALID_VALUE) return 6;
	if (add_default(NULL, px, py, pout, 640, (int64_t)1 << 40) != CUDA_ERROR_INVALID_VALUE) return 6;
	if (!sums(0)) return 6;
	// Unloaded, and loaded again.
	unload_add();
	load_add_1024_warps8xstages3();
	unload_add();
	unload_add();
	MUST(add_default(NULL, px, py, pout, 640, 16));
	// Attributes, and a grid with every function: max(-3, 300 - 1, 9) x min(5, 1 + 9) % 7 x 8 << 1.
	MUST(types_default(NULL, -3, 300, 5, 9, 18, 5, 1.5f, 2.5, 0x3c00, 1, px));
	MUST(none_default(NULL));
	return 0;
}
