// Package matrixcore is AMD's matrix cores as passes see them: MFMA of CDNA and WMMA of
// RDNA.
//
//	instr.go  the instructions, which the lowering emits by package gpu
//	unit.go   dots.MatrixUnit: which dots they multiply, in which layouts
//	scaled.go dots.ScaledUnit: block-scaled operands
//	chain.go  dots that feed one another
//
// Both units compute D = A·B as Dᵀ = Bᵀ·Aᵀ, so that a lane has neighbours of a row.
//
// Sources: the instruction set documents of CDNA 2 to 4 and RDNA 3 and 4. It imports
// core's dialects, layouts and the package dots of the passes.
package matrixcore
