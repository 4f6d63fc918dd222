// Package llirsim executes the LLVM IR of a kernel as package core/lower makes it,
// for tests of targets of which there is no other simulator. What the target's own
// intrinsics do its Target says; all others, and the instructions, are here.
//
// Each thread runs by itself until it calls what lanes do together, a shuffle or a
// barrier; it goes on when all lanes of its warp, or all threads of its program,
// have come to the same call. Accesses out of bounds, shared memory that two
// threads access without a barrier between, lanes that part before a shuffle, and
// reads of values that nothing defines are errors.
//
//	machine.go   launches: programs, warps, threads
//	memory.go    global, shared and private memory
//	exec.go      instructions
//	number.go    values, arithmetic, conversions
//	calls.go     intrinsics
//
// It is written for being checked by reading, not for speed: some ten million
// instructions a second. It imports core/llir and core/ir's floats.
package llirsim
