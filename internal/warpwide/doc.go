// Package warpwide finds in machine code for NVIDIA devices what the lanes of a
// warp have to do together, such as a reduction, and which of that a predicate
// takes from some of them.
//
// A kernel of this compiler has none of the latter: where it reduces, all lanes
// do. But an assembler may take such an instruction for the work of single lanes
// and have it done only by those that choose its result, as ptxas 12.4 does with
// redux.sync, vote, match, ldmatrix and mma. A predicate that is the same in all
// lanes does no harm, as where ptxas leaves out the last iterations of an unrolled
// loop; package sass tells which are.
//
// It imports nothing of this module.
package warpwide
