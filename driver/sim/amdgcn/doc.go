// Package amdgcn reads the assembly of AMD's GPUs, as LLVM prints it, and decodes
// it to programs of package simt.
//
// Parse reads the text into a Module: instructions with their operands and
// modifiers, labels, data, kernel descriptors (.amdhsa_kernel) and the metadata
// that a loader reads (.amdgpu_metadata). It knows the grammar and no instruction.
// Decode gives each instruction its meaning: the tables (table*.go) have one row an
// instruction, with the types of its operands and the function of one lane; the
// files exec*.go apply it to the lanes of EXEC, with the modifiers of operands (neg,
// abs, op_sel, DPP, SDWA) and results (clamp, omod).
//
// Both return *diag.Diagnostic values with the line and column of the assembly. An
// instruction, operand or modifier that is not understood is an error, never skipped.
//
// What is modelled beyond values: which registers a memory instruction still writes
// (s_waitcnt), and which bits of vector and scalar registers are undefined. The
// undefined bits of a result are those that change when the undefined bits of the
// operands do, tried with several patterns, so that no instruction needs a rule.
//
// References: LLVM's "User Guide for AMDGPU Backend", AMD's "CDNA3" and "RDNA3
// Instruction Set Architecture" guides, and AMD's matrix instruction calculator.
//
// The package imports the standard library, core/diag and driver/sim/simt.
package amdgcn
