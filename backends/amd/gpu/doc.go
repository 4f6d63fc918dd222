// Package gpu lowers for AMD's GPUs: a lower.Target by LLVM's AMDGPU intrinsics.
//
//	target.go   the kernel, indices, barriers
//	shuffle.go  values that change lanes: DPP, permlane, ds_swizzle, ds_bpermute
//	matrix.go   MFMA and WMMA
//	scaled.go   MFMA of block-scaled operands
//	upcast.go   operands that are widened and multiplied by their scales
//	buffer.go   accesses by buffer instructions
//	amdg.go     operations of the dialects amdg and rocdl
//	math.go     functions of f32
//	libdevice.go, inlineasm.go
//	            functions of ROCm's device libraries, operands of assembly
//	unused.go   which of its inputs a kernel reads
//
// Sources: LLVM's guide to the AMDGPU backend, and AMD's instruction set documents of
// CDNA 2 to 4 and RDNA 3 and 4.
package gpu
