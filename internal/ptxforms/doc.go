// Package ptxforms names the forms of PTX instructions, and keeps the list of
// those that have run on an H200 with right results.
//
// A form is an opcode with all its modifiers. Instructions that touch memory,
// synchronize or exchange values between lanes carry the kinds of their operands,
// too, since assemblers treat those apart: registers, constants, symbols, addresses
// with and without an offset, vectors by their length, a predicate before the
// instruction. cp.async with a cache policy is such a form: ptxas takes it and an
// H200 traps at what comes out.
//
// testdata/h200.tsv is the list. Two assemblers made its machine code: ptxas for the
// GPU's own target, cuda:90; and the GPU's driver for PTX of older ones. A form
// counts for the assembler with which it ran. scripts/device-tests.sh writes the
// list: a form is in it when a test that executed the instruction on the simulated
// GPU passed on the H200. testdata/unrun.tsv lists forms that have not run there,
// each with the reason.
//
// Package kerneltest names what kernels have and neither list has, and fails where
// that is more than arithmetic.
package ptxforms
