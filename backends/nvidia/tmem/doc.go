// Package tmem has the passes about tensor memory, which GPUs from compute capability
// 10.0 on have beside the registers, and about the matrix multiplications that
// accumulate there (ttng.tc_gen5_mma):
//
//	tritongpu-optimize-accumulator-init   dots overwrite an accumulator of zeros
//	tritongpu-hoist-tmem-alloc            accumulators stay in tensor memory
//	tritongpu-promote-lhs-to-tmem         the first operand goes there, too
//	triton-nvidia-optimize-tmem-layouts   tensors that are loaded in parts
//	relayout-tritongpu                    layouts that tensor memory takes
//	triton-nvidia-interleave-tmem         loads move to their uses
//	triton-nvidia-mma-lowering            what is not asynchronous gets a barrier
//	triton-nvidia-gpu-remove-tmem-tokens  the order of operations is that of the text
//	triton-tensor-memory-allocation       columns and rows for each buffer
//
// unit.go and unit_scaled.go are the matrix unit for tritongpu-accelerate-matmul: the
// dots that tcgen05.mma computes, and where their operands and accumulators lie.
// latencies.go says which multiplications tritongpu-assign-latencies lets run on, and
// mma_pipelining.go has tritongpu-pipeline let them, with a wait at a barrier for each
// (places.go: by the schedule) and several accumulators where one is not enough
// (accumulator_ring.go).
//
// The operations on one buffer form a chain of tokens (!ttg.async.token), each the
// result of an operation and an operand of the next, that the passes follow and keep.
// An operation without a token may be ordered with any other; the passes that need the
// chain leave its buffer alone.
//
// No target that tritonc compiles for has tensor memory: the passes run by name.
// Names and what they do of the IR are Triton 3.6's.
package tmem
