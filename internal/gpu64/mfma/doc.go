// Package mfma is the matrix unit of AMD's gfx942, which has 64 lanes per warp:
//
//	unit.go    dots.MatrixUnit, which the passes ask
//	instr.go   lower.MatrixUnit, the instructions as LLVM's intrinsics
//	sim.go     what the intrinsics compute, for package llirsim
//
// It is a test of the two interfaces by a unit that differs from the one that they
// were made for in warp size, layouts, types, and in that results are transposed:
// D = A·B is computed as Dᵀ = Bᵀ·Aᵀ, so that a lane has neighbours of a row.
//
// The arrangement of the operands, which sim.go has independently of core/layout, is
// that of the "AMD Instinct MI300" instruction set architecture, chapter 7.
package mfma
