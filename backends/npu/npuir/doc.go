// Package npuir is the stage npuir: a tile program for one core of an Ascend chip, with
// explicit buffers, DMA transfers, vector and cube instructions, and flags between the
// pipes that run them.
//
//	ops.go                  the dialect npuir, as a table
//	verify.go               what its instructions access
//	space.go                memory spaces and pipes
//	linalg_to_npuir.go      tensors become buffers, computations instructions
//	npuir_forward_copies.go results are written where they are copied to
//	npuir_align_operands.go instructions begin at multiples of 32 bytes of ub
//	npuir_map_blocks.go     a core loops over programs of the grid
//	npuir_multibuffer.go    loops have two of each buffer of a transfer; ahead.go, which of
//	                        them are filled an iteration early
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
//	npuir.dma %from, %to            a block copied between spaces, with the strides of both
//	npuir.fill %value, %to          a scalar in all elements
//	npuir.iota %to along 1          the index along a dimension in all elements
//	npuir.vector "arith.addf"       an operation of arith or math on elements
//	npuir.broadcast %from along [0] into %to
//	npuir.transpose %from by [1, 0] into %to
//	npuir.reduce "arith.addf"       elements along a dimension combined into the target
//	npuir.gather %from[%i], %to     elements of memory at indices
//	npuir.scatter %from, %to[%i]    elements written to memory at indices
//	npuir.mmad                      matrices of l0a and l0b multiplied, added to l0c
//
// Their operands are buffers or views of them, of any strides, and source and target have
// the same shape unless it is said otherwise; sizes that are not known when the program is
// made are known, and the same, when it runs. An operand that is read may be the target,
// where it is the same view. Elements have the types of core/ir: i1 has a byte, 0 or 1;
// index has 64 bits.
//
// In ub they begin at multiples of 32 bytes; the scalar unit accesses any element.
//
//   - dma copies elements. Only from l0c it converts them, from f32 to another float,
//     rounded to nearest even. With atomic, each element of the target, in global memory,
//     becomes what the named operation makes of it and the element of the source; that is
//     one step for all other cores, for each element of its own.
//   - fill works in all spaces of a core.
//   - iota writes the index of an element along the dimension, from 0, wrapped to the
//     element's type, which is an integer or index.
//   - vector applies the named operation to each element. Inputs are buffers of the
//     target's shape and scalars; their types are those of the operation's operands, and
//     that of the target's elements is its result's. The predicate is that of arith.cmpi
//     and arith.cmpf.
//   - broadcast: the source has the target's dimensions without those of the list.
//   - transpose: target dimension i is source dimension permutation[i].
//   - reduce: the target has the source's dimensions without the one that is reduced. Each
//     of its elements becomes op(…op(target, source[0])…, source[n-1]), in any order and
//     grouping.
//   - gather writes source[indices[e]] to each element e of the target where the mask, if
//     there is one, is not 0, and leaves the others; what it does not write it does not
//     read either. The source is ub or global memory, of one dimension, whose stride is 1;
//     indices are integers, with their sign.
//   - scatter is the reverse. Where indices are equal, the last element in row-major order
//     is what remains.
//   - mmad: a is MxK in l0a, b is KxN in l0b, the target MxN in l0c. Elements of a and b
//     are f16, bf16 or f32, and those of the target f32, or i8 and i32. With init the
//     target becomes the product, without it the product is added to it. Matrices have
//     their plain shapes and strides in the text; that the chip orders their elements in
//     fractals is the business of transfers.
//
// Scalars are those of the core: memref.load, memref.store, memref.atomic_rmw and
// memref.generic_atomic_rmw access elements of ub and of global memory with the scalar unit.
//
// A vector instruction carries the name of a scalar operation, and the inputs of one may
// be scalars, as those of the chip's instructions may. What an instruction computes is
// then said once, by that operation, for the constant folder as for a simulator.
//
// # The grid
//
// A function of ttadapter is a program of a grid, and its last six arguments, of type i32,
// are the sizes of the grid and where in it the program is. After npuir-map-blocks the
// function is the program of a core, which loops over the programs of the grid that are
// its own: those whose number is that of the core, modulo the number of cores. It has the
// sizes of the grid as its last three arguments, and the attribute npuir.core:
//
//   - "vector": it runs on vector cores.
//   - "ai": it runs on AI cores, a cube core with one of its vector cores; that the other
//     idles, and that both run one program with the pipes of the two, of which mte2 is one,
//     is how this package sees such a core.
//
// npuir.core_id and npuir.num_cores say which core runs it, of how many. npuir.workspace is
// global memory of the core's own, at npuir.offset bytes in its workspace, of which the
// function's attribute npuir.workspace has the size. Results of the cube core reach the
// vector core by it, l0c to global memory and from there to ub, and those of the vector
// core the cube core.
//
// A core issues its instructions in order, and each runs on a pipe: mte2 copies from
// global memory, mte1 from l1 to l0a and l0b, mte3 from ub to global memory, fix from l0c;
// v and m compute, and s is the core's scalar unit, which issues the instructions of the
// others, too. The operation and the spaces of its operands determine the pipe (PipeOf):
// l1 is filled by mte2, l0a and l0b by mte1, l0c by m; elements are gathered from global
// memory by mte2, scattered to it by mte3, and in ub by v. A pipe completes its instructions in order; pipes
// wait for one another by flags:
//
//	npuir.set_flag mte2 to v 0   mte2 sets the flag when it has completed what is before
//	npuir.wait_flag mte2 to v 0  v begins nothing that is after until the flag is set
//
// A wait takes the flag back. A pair of pipes has 8 flags, and a flag that is set is not
// set again before a wait has taken it. npuir.barrier has the core issue
// nothing more until a pipe has completed what it has been given. With
//
//	npuir.sync_block "all_vector" 3
//
// a core waits for all of its pipes, and then until all cores of the launch wait in one with
// the same mode and event. Where a program has one, npuir-map-blocks makes no loop over the
// grid: a core runs the program of its own number, and a launch has at most as many programs
// as cores. The mode "all_sub_vector" is about the vector cores of one AI core, of which one
// runs the program: it waits for its own pipes. A
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
// The package imports core's IR, dialects and passes, and packages linalg, adapter, hivm and
// chip.
package npuir
