// Package mma tells the passes of core what tensor cores compute, and in which
// layouts: it is the dots.MatrixUnit of NVIDIA's GPUs.
//
//	unit.go     which dots mma.sync takes, and how its result is spread
//	buffer.go   how operands are laid out in shared memory for ldmatrix
//
// The instructions themselves are in package gpu (mma.go), which core/lower asks.
// A test of package nvidia holds that each dot with a Form has an instruction.
package mma
