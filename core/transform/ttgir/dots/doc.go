// Package dots is the seam between passes and a target's matrix unit.
//
//	unit.go          MatrixUnit, which a target implements, and its Form of a dot
//	dot.go           Dot: what a unit can ask about the dot that it is to compute
//	warps.go         SpreadWarps, the usual way to divide a result among warps
//	multiplyadd.go   MultiplyAdd, the unit of a target without one
//
// Who asks what:
//
//	tritongpu-accelerate-matmul         Check, Form, Widen, Form.Make
//	tritongpu-optimize-dot-operands     Transposes, Buffer, Made
//	tritongpu-assign-latencies          Made, Buffer
//	tritongpu-pipeline                  Made, Buffer
//	tritongpu-prefetch                  PartK, Made
//	tritongpu-reduce-data-duplication   Buffer
//
// What a unit's instructions are in LLVM IR is another question, which core/lower
// asks lower.MatrixUnit.
//
// The package uses machine and tensors of those beside it, and no package of passes.
package dots
