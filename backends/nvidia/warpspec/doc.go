// Package warpspec has groups of a program's warps run code of their own:
//
//	nvgpu_warp_specialization.go  divides a kernel between warps that copy and warps that
//	                              compute: plan.go decides how, task.go what each needs,
//	                              split.go what is halved, memory.go whether the rings
//	                              fit, and emit.go makes the regions
//	allocate_warp_groups.go       which warps run which partition of a
//	                              ttg.warp_specialize, and how many registers they have
//
// What the operation becomes in LLVM IR says core/lower, with the barriers and the
// registers of package gpu.
package warpspec
