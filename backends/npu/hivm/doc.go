// Package hivm is what this backend knows of the dialect hivm, the tile IR of the vendor's
// compiler: the operation by which cores wait for one another.
//
//	hivm.hir.sync_block[<ALL_VECTOR>, 3 : index] tvector_pipe = <PIPE_ALL>
//
// The language extension sync_block_all makes it, as triton-ascend's does, and the vendor's
// compiler takes it; MLIR's own tools do not know it. hivm.json declares it, for hosts, too
// (core/ir/decl).
//
// The package imports core/ir and core/ir/decl.
package hivm
