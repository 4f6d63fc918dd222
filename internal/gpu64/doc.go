// Package gpu64 is a second GPU for tests: 64 lanes a warp, no matrix
// instructions, no asynchronous copies. It shows that package core/lower and the
// passes before it assume neither one vendor's chip nor its warp size, and what
// the least is that a new GPU has to implement. Nobody is to run kernels on it: it
// has no options, no tools and no plugin.
//
// The target is LLVM's amdgcn-amd-amdhsa, gfx942, so that llc can check the LLVM
// IR. Results are checked by executing it with package llirsim.
//
//	target.go    lower.Target, by intrinsics of LLVM's amdgcn target
//	compile.go   the rows of passes, and Compile from ttir to LLVM IR
package gpu64
