// Package llvm is the table of the part of the llvm dialect that occurs in
// Triton's IR before the lowering to LLVM.
package llvm

//go:generate go run github.com/tritonc/tritonc/internal/opviews llvm

import "github.com/tritonc/tritonc/core/ir"

// Assume tells the optimiser that its operand is true.
var Assume = &ir.OpDef{
	Name: "llvm.intr.assume", Doc: "the condition holds; the optimiser may use that",
	Operands: []ir.Operand{{Name: "cond", Type: ir.Bool}},
	Asm:      "$cond attr-dict `:` type($cond)",
	Effects:  ir.Effects{Write: true},
}

// LoopAnnotationAttr is the discardable attribute of a loop that says what LLVM may
// do with it.
const LoopAnnotationAttr = "llvm.loop_annotation"

// Dialect is the llvm dialect.
var Dialect = &ir.Dialect{Name: "llvm", Doc: "LLVM intrinsics", Ops: []*ir.OpDef{Assume}}
