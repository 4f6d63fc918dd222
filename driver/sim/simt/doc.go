// Package simt executes decoded GPU programs on the CPU: warps of N lanes with
// a program counter of their own for every lane, blocks of warps (CTAs) with
// shared memory and barriers, and a grid of blocks over one global memory.
//
// It knows no PTX. A front end (package ptx) builds a Program out of Inst
// values; simt binds every Inst to the Go function that executes it for a whole
// warp and runs it. The width of a warp, the number of processors and the
// shared memory are data (Config), never constants of the code.
//
// # Registers
//
// A warp has three register files. R32 holds one uint32 per lane and serves all
// values of up to 32 bits (a 16-bit value has zeros above it), R64 one uint64 per
// lane, and P one bit per lane in a single uint64, so that predicate logic costs
// one machine instruction per warp. Constants and special values (thread index,
// parameters' addresses) live in registers too, filled before the first
// instruction: an operand is always a register and no inner loop asks of which
// kind it is.
//
// Programs for machines with a scalar unit have a Wavefront for each warp instead.
//
// # Divergence
//
// Lanes with the same program counter and call stack form a group. A divergent
// branch splits its group; the parts meet again at the branch's immediate
// post-dominator (a join), which is a heuristic only: should every other group
// of the warp make no progress, the waiting lanes of a join are let go. Groups
// take turns, so a lane that spins on another lane of its warp sees it advance.
//
// # Checks
//
// With checks on, the simulator keeps beside every register the lanes in which it
// is wholly defined, and bits only for lanes where a part of it is (defined.go); how
// they spread is in undefined.go. Beside every word of shared memory it keeps who
// wrote and read it last, by vector clocks (sharedcheck.go), and beside every word
// of global memory which block did (conflict.go, clusterconflict.go). What is defined and in order costs
// a comparison a register and a word.
//
// # Order
//
// A launch is deterministic. Blocks run one after another on each host core
// where the program has no atomics, volatile or ordered accesses to global
// memory, and otherwise on one core in a fixed rotation among the blocks that
// would be resident on the device together.
//
// The package imports only the standard library.
package simt
