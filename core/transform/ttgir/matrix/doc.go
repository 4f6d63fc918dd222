// Package matrix has the passes that bring dots to matrix units:
//
//	tritongpu-F32DotTC                  dots of f32 as several of tf32 or bf16
//	tritongpu-accelerate-matmul         dots get the layouts of matrix instructions
//	tritongpu-optimize-dot-operands     operands are transposed in shared memory
//	tritongpu-reduce-data-duplication   operands go through shared memory laid out for them
//
// dotscaled.go makes a dot of block-scaled operands one of f16 or bf16.
//
// What the unit computes, and in which layouts, is the target's to say: the passes
// ask its dots.MatrixUnit.
//
// The package uses machine, tensors, sharedmem and dots of those beside it, and no
// other package of passes.
package matrix
