// Package adapter is the pass of the stage ttadapter: it makes a kernel of ttir, which
// computes with tensors of pointers, one of linalg, tensor, memref and bufferization, in
// which memory is copied in blocks.
//
//	poly.go        sums of products of a kernel's scalars
//	address.go     integers and pointers that are linear in the indices of a tensor
//	wrap.go        remainders and quotients of indices
//	mask.go        masks that are ranges of indices
//	to_linalg.go   the pass, functions, and what becomes of each operation
//	memory.go      loads and stores: blocks, or element by element
//	atomic.go      atomic operations; extreme.go maxima and minima of floats
//	combine.go     reductions, scans and other operations with a region
//	shape.go       changes of shape
//	library.go     functions of the device library
//	scaled.go      dots of operands with scales
//	slice.go       slices of the language extensions
//	sync.go        programs that wait for one another
//	npu_to_hivm.go the same by the operation of the vendor's compiler
//	control.go     loops and conditionals
//
// A pointer of the kernel is a memref of unknown size, a pointer in the kernel an offset
// into one: a number of type index where its elements are a linear function of the
// indices, and a tensor of i64 where they are not. Six arguments of type i32 follow the
// kernel's own: the sizes of the grid, and where in it the program is.
//
// The analyses read the ttir, of which nothing changes meanwhile. They take for granted
// that the arithmetic of addresses does not overflow.
//
// It imports core's IR, dialects and passes, and packages linalg and hivm.
package adapter
