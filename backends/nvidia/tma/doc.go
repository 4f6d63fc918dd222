// Package tma has the passes that copy blocks by TMA, the unit of a GPU from 9.0
// on that reads and writes boxes of a tensor in global memory which a descriptor,
// there too, describes, while the program goes on:
//
//	triton-nvidia-optimize-descriptor-encoding
//	                            descriptors say how their blocks lie in shared memory
//	tritongpu-pipeline          core's, which asks copies.go for the copies of a loop
//	triton-nvidia-tma-store-pipelining
//	                            stores in loops have one buffer and wait as late as
//	                            they can
//	triton-nvidia-tma-lowering  what is left becomes a copy and a wait; making a
//	                            descriptor becomes writing it
//	nvidia-group-tensor-maps    descriptors are written side by side, a warp each
//	triton-nvidia-gpu-proxy-fence-insertion
//	                            fences before copies into bytes that threads accessed;
//	                            for other programs, no pipeline has it
//
// Which descriptors reach these passes is decided once, by the first pass of the stage
// ttgir (core's triton-rewrite-tensor-descriptor-to-pointer), which asks Unit: what TMA
// can do, and whether the blocks on their way fit in shared memory. The others, and
// all of kernels without dots where the option tma is auto, become pointers.
// Those that do are arguments or made by the kernel, and each use knows its descriptor.
// One that a loop makes has one place in memory, which each iteration overwrites, or a
// ring of them where the loop starts loads through it early; stores through it are waited
// for. Loops that make one are not fused or divided among warps.
//
// What the passes rely on in the lowering: it orders accesses to the same bytes of
// shared memory by barriers of the threads, also where a copy by TMA overwrites
// what threads have read; a load's wait makes its bytes visible to all threads; it
// puts a fence of the proxies where a copy writes bytes that threads wrote before.
// The fence between what threads write and a copy that reads it is in the IR
// (ttng.fence_async_shared).
//
// The form of the IR, names of passes and operations are Triton 3.6's.
package tma
