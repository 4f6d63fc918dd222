// Package lower translates a module of GPU dialects (ttgir) to LLVM IR for one
// thread. It is shared by all GPUs; what differs between vendors is behind the
// interface Target and its Capabilities.
//
// A tensor of n elements with a distributed layout is, in each thread, a slice
// of LLVM values, one per register, in the order of the layout's registers; a
// scalar is one value. Layouts are linear maps, so that the coordinates of an
// element are (a part that depends on the thread) XOR (a constant of the
// register): the first is computed once, and the folding builder of package
// llir shares it and keeps the constants apart.
//
//	module.go     the module: attributes, functions, diagnostics
//	function.go   signatures, calls, the emitter of one function
//	types.go      LLVM types and layouts of IR types
//	index.go      linear maps as code
//	target.go     what a GPU gives; defaults.go, softfloats.go: what stands for the rest
//	arith.go, mathops.go, casts.go   operations on each element
//	shape.go      operations that only rename registers
//	memory.go, atomic.go             global memory
//	local.go, shared.go, tiles.go    buffers in shared memory
//	dot.go, dotfma.go, fp4.go        dots, by matrix instructions or by FMA
//	reduce.go, scan.go, convert.go, rounds.go, gather.go,
//	scratch.go, shuffle.go           data that moves between threads
//	control.go    loops, conditions, branches
//	mapelement.go functions of the user on each element
//	foreign.go    inline assembly, printing, assertions
//	extern.go     functions of device libraries
//	site.go       operations of the target's own dialect
//	globalscratch.go  scratch memory of a program in global memory
//	debug.go      line tables
//
// Invariants: operations of the input are verified; a user's mistake is a
// diag.Diagnostic at the operation's place; the output depends on the input
// alone, byte for byte. The package knows no vendor, and imports core/ir, the
// dialects, core/layout, core/analysis and core/llir.
package lower
