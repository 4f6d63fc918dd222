// Package ptx reads NVIDIA's PTX assembly (ISA 7 to 9) and decodes it to
// programs of package simt.
//
// It works in two steps. Parse reads the text into a Module: directives,
// variables, and functions whose bodies are flat lists of statements; it knows
// the grammar and nothing of any instruction, so a file with an instruction
// that the simulator cannot run still parses. Decode gives every instruction
// its meaning: registers and labels are resolved, modifiers checked, immediate
// values and special registers become registers that are filled before the
// first instruction, and each statement becomes one or a few simt.Inst.
//
// Both steps return diag.Diagnostic values that name the line and column of the
// PTX; an instruction, modifier or operand that is not understood is always an
// error, never skipped.
//
// Reference: "Parallel Thread Execution ISA", version 8.8.
//
// The package imports the standard library, core/diag and driver/sim/simt.
package ptx
