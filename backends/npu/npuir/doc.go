// Package npuir is the stage npuir: a tile program for one core of an Ascend chip, with
// explicit buffers, DMA transfers, vector and cube instructions, and flags between the
// pipes that run them.
//
//	ops.go                  the dialect npuir, as a table
//	space.go                memory spaces and pipes
//	linalg_to_npuir.go      tensors become buffers, computations instructions
//	npuir_plan_buffers.go   where in its memory each buffer lies
//
// # The program
//
// A program is text, as that of the other stages is. Functions, loops, conditionals,
// scalars and addresses are as in ttadapter: func, scf, arith, memref.reinterpret_cast and
// memref.subview. Tensors are gone. In their place are buffers,
//
//	%x = memref.alloc() {npuir.offset = 0 : i64} : memref<64xf32, #npuir.space<ub>>
//
// which are memrefs in a memory space of the core: ub of a vector core, l1, l0a, l0b and
// l0c of a cube core. A memref without a space is global memory. MLIR has memory spaces in
// the same place of the type. The attribute npuir.offset is the address in bytes, from
// npuir-plan-buffers on.
//
// Instructions write to buffers and have no results:
//
//	npuir.dma %from, %to         a block copied between spaces, with the strides of both
//	npuir.fill %value, %to       a scalar in all elements
//	npuir.vector "arith.addf"    an operation of arith or math on elements
//	npuir.reduce "arith.addf"    elements along a dimension combined into the target
//	npuir.mmad                   matrices of l0a and l0b multiplied, added to l0c
//
// A vector instruction carries the name of a scalar operation, and the inputs of one may
// be scalars, as those of the chip's instructions may. What an instruction computes is
// then said once, by that operation, for the constant folder as for a simulator.
//
// # Pipes and flags
//
// A core issues its instructions in order, and each runs on a pipe: mte2 copies from
// global memory, mte1 from l1 to l0a and l0b, mte3 from ub to global memory, fix from l0c;
// v and m compute, and s is the core's scalar unit. The operation and the spaces of its
// operands determine the pipe (PipeOf). A pipe completes its instructions in order; pipes
// wait for one another by flags:
//
//	npuir.set_flag mte2 to v 0   mte2 sets the flag when it has completed what is before
//	npuir.wait_flag mte2 to v 0  v begins nothing that is after until the flag is set
//
// A wait takes the flag back. npuir.barrier waits for all that a pipe has been given. A
// program without flags means what it does when each instruction completes before the
// next begins; passes before the insertion of flags work on that form.
//
// # Buffers
//
// linalg-to-npuir makes a buffer for each tensor, and writes it once; those of reductions
// are filled first. A tensor of one value is a scalar operand where it can be.
//
// npuir-plan-buffers gives buffers that are not alive together the same bytes, and the
// target of a vector instruction those of an input that ends there, so that a chain of
// elementwise operations runs in place. A buffer is alive from the first access to the
// last; one that is made outside of a loop and accessed in it, for as long as the loop.
// What does not fit is an error with a table of the buffers that are alive together.
//
// The package imports core's IR, dialects and passes, and packages linalg and chip.
package npuir
