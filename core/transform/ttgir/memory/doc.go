// Package memory has the passes that place what a program keeps in memory beside its
// tensors, and write the places down as attributes:
//
//	allocate-shared-memory                      buffers and scratch memory in shared memory
//	tritongpu-global-scratch-memory-allocation  scratch memory of a program in global memory
//
// No stage of a compile runs them: core/lower places memory itself, by what its target's
// instructions need. They are for modules whose next reader is another program, and
// are what Triton's passes of these names are.
package memory
