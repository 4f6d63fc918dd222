// Package warpspec has groups of a program's warps run code of their own:
//
//	allocate_warp_groups.go  which warps run which partition of a ttg.warp_specialize,
//	                         and how many registers they have
//
// What the operation becomes in LLVM IR says core/lower, with the barriers and the
// registers of package gpu.
package warpspec
