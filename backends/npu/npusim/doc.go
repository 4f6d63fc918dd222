// Package npusim writes programs of package npuir in the format npusim, which the simulated
// NPU executes.
//
//	write.go    a module becomes a file: the header, functions, registers
//	ops.go      operations that become one instruction, by a table
//	control.go  loops and conditionals become jumps
//
// Write expects the program of a function whose buffers have their places
// (npuir-plan-buffers). docs/npusim.md describes the format.
//
// The package imports core's IR and dialects, and packages linalg, npuir and chip.
package npusim
