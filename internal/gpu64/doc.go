// Package gpu64 is a second GPU backend, for tests: 64 lanes per warp, no
// asynchronous copies, matrix instructions as an option. It shows that core/backend, core/lower and
// the passes assume neither one vendor's chip nor its warp size, and what the
// least is that a new GPU has to bring. No program serves it as a plugin.
//
// The target is LLVM's amdgcn-amd-amdhsa, gfx942, whose assembly llc makes of the
// LLVM IR. Its devices execute the LLVM IR with package llirsim.
//
//	target.go    lower.Target: the methods of backends/amd/gpu, without its capabilities
//	backend.go   facts, options, rows of passes, stages
//	device.go    simulated devices
//	mfma         the matrix unit, for passes, lowering and simulation
package gpu64
