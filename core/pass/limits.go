package pass

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// What one line of a kernel can ask for has limits, far above what any kernel that
// runs well needs.
const (
	// MaxOps is how many operations unrolling a loop, inlining calls or
	// pipelining a loop may make.
	MaxOps = 200_000
	// MaxStages is how many stages a pipelined loop may have.
	MaxStages = 128
)

// OverLimit makes the diagnostic of what asks for more, at its place in the
// source.
func OverLimit(at ir.Location, help, format string, args ...any) *diag.Diagnostic {
	var pos diag.Pos
	if f := ir.FileLocOf(at); f != nil {
		pos = diag.Pos{File: f.File, Line: f.Line, Col: f.Col + 1}
	}
	return diag.Errorf(pos, format, args...).WithHelp("%s", help)
}

// CountOps is the number of operations inside op, at any depth.
func CountOps(op *ir.Operation) int {
	n := -1
	ir.Walk(op, func(*ir.Operation) ir.WalkResult {
		n++
		return ir.Advance
	})
	return n
}
