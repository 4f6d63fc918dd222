// Package linalg has the dialects of MLIR in which kernels for machines without threads
// are written, as tables: func, linalg, tensor, memref and bufferization, as far as
// kernels need them and in the syntax of MLIR 22.
//
//	ops.go      the tables
//	asm.go      structured operations: ins(…) outs(…)
//	slices.go   operations with offsets, sizes and strides
//	memref.go   the type memref, with its layout
//	build.go    constructors
//
// Named operations of linalg have no region here: their names say what it computes.
//
// It imports core/ir and its text form.
package linalg
