// Package sass looks in machine code for NVIDIA devices for what no such device
// executes, without one.
//
// An assembler can make machine code that traps or computes with garbage from PTX
// that is right: ptxas 12.4 to 13.0 assemble cp.async with a cache policy for
// compute capability 9.0 to LDGSTS [R19+UR0], desc[UR1][R2.64]. Two rules find this
// and its like. A descriptor takes two uniform registers, the first of an even
// number. And what an instruction reads of the uniform registers and predicates,
// which the hardware does not set, some instruction on some path to it has written.
//
// The second is a data-flow analysis that errs on the side of silence: a write under
// a predicate counts as one, a branch through a register may go to every label, and
// a function that is not in the same section may write all. So what it reports is
// never right.
//
// Apart judges what package warpwide finds, instructions for a whole warp under a
// predicate: whether that predicate may differ between lanes. This analysis errs on
// the other side: what it does not know, such as anything after lanes took different
// branches, differs.
//
// nvdisasm is what reads the machine code; package sass reads its text, of compute
// capability 8.0 to 9.0. One run takes the code of many kernels, since it spends
// half a second on starting.
package sass
