package tmem

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-optimize-accumulator-init/example.txtar
	optimizeAccumulatorInitExample string
	//go:embed testdata/tritongpu-hoist-tmem-alloc/example.txtar
	hoistTMEMAllocExample string
	//go:embed testdata/triton-nvidia-mma-lowering/example.txtar
	mmaLoweringExample string
	//go:embed testdata/triton-nvidia-gpu-remove-tmem-tokens/example.txtar
	removeTMEMTokensExample string
	//go:embed testdata/tritongpu-promote-lhs-to-tmem/example.txtar
	promoteLHSExample string
	//go:embed testdata/triton-nvidia-interleave-tmem/example.txtar
	interleaveTMemExample string
	//go:embed testdata/triton-tensor-memory-allocation/example.txtar
	tensorMemoryAllocationExample string
	//go:embed testdata/triton-nvidia-optimize-tmem-layouts/example.txtar
	optimizeTMemLayoutsExample string
	//go:embed testdata/relayout-tritongpu/example.txtar
	relayoutExample string
)
