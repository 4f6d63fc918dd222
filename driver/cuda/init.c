// gorgonia.org/cu calls cuInit before main and ends the process where that fails. This
// cuInit is in its place: the linker takes a program's own functions before those of
// libraries. It calls CUDA's and keeps the result for Open to report.
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>

int tritonc_cuda_init = CUDA_ERROR_NOT_INITIALIZED;

CUresult cuInit(unsigned flags) {
	CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
	tritonc_cuda_init = init ? init(flags) : CUDA_ERROR_NOT_FOUND;
	return CUDA_SUCCESS;
}
