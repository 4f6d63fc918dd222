// Package transform has the passes over ttgir that AMD's GPUs alone have, under Triton's
// names.
//
//	OptimizeEpilogue         results of dots are stored in the layout that they have
//	HoistLayoutConversions   operands of dots that no iteration changes are converted once
//	ReorderInstructions      operations where values live shorter
//
// Each is in a file of its name. They ask for layouts and operations, never for a chip by
// name.
package transform
