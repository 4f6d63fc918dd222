// cuda.h of CUDA 13 for gorgonia.org/cu, which is written for that of CUDA 11 and 12: the
// toolkit's own, and after it the functions that it gave other parameters under their old
// names. NVIDIA's libcuda.so.1 has both forms. scripts/device-cuda.sh puts this folder
// before the toolkit's; older headers it leaves as they are.
#ifndef TRITONC_CUDA_H
#define TRITONC_CUDA_H

#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr memory, size_t bytes, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr memory, size_t bytes, CUdevice device, CUstream stream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t edges);
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *edges);

#define cuCtxCreate cuCtxCreate_v2

#endif
#endif
