// Package gpu is NVIDIA's half of the lowering to LLVM IR: it implements
// core/lower.Target and all of its capabilities with the instructions of PTX.
//
//	target.go    facts, kernels, program and thread indices, barriers, shuffles
//	memory.go    wide predicated loads and stores, of global and shared memory
//	async.go     copies from global to shared memory while the program runs on
//	mma.go       the forms of mma.sync; ldmatrix.go also stmatrix
//	wgmma.go     dots of warpgroups; descriptor.go matrices in shared memory
//	atomic.go    atomics as inline PTX (LLVM's own lose order and scope)
//	math.go      approximations of elementary functions; fp8.go 8-bit floats;
//	             libdevice.go the functions of CUDA's library
//	output.go    printing and assertions
package gpu
