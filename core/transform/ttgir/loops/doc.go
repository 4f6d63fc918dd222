// Package loops has the passes that simplify loops and order what is in them:
//
//	triton-loop-aware-cse                     equal values, those carried too, are one
//	tritongpu-split-offsets                   what a loop does not change is added apart
//	tritongpu-bound-masks                     one comparison for each piece of a masked access
//	triton-licm                               what a loop does not change moves before it
//	tritongpu-fuse-nested-loops               a nest becomes one loop, for the pipeliner
//	tritongpu-combine-tensor-select-and-if    an scf.if gives what selects by its condition give
//	tritongpu-reorder-instructions            fewer values are alive at once
//	tritongpu-reduce-early                    most iterations skip masks and scales
//	tritongpu-load-early                      an iteration's short loads start together
//	tritongpu-load-ahead                      an iteration's loads start in the one before
//
// uniformrange.go finds out where a mask holds for a whole tensor, dominance.go
// which operation runs before which.
//
// The package uses machine, tensors, sharedmem, forloop and masks of those beside
// it, and no other package of passes for ttgir.
package loops
