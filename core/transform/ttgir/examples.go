package ttgir

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-accelerate-matmul/example.txtar
	accelerateMatmulExample string
	//go:embed testdata/tritongpu-assign-latencies/example.txtar
	assignLatenciesExample string
	//go:embed testdata/tritongpu-bound-masks/example.txtar
	boundMasksExample string
	//go:embed testdata/tritongpu-coalesce-async-copy/example.txtar
	coalesceAsyncCopyExample string
	//go:embed testdata/tritongpu-coalesce/example.txtar
	coalesceExample string
	//go:embed testdata/tritongpu-combine-tensor-select-and-if/example.txtar
	selectAndIfExample string
	//go:embed testdata/convert-triton-to-tritongpu/example.txtar
	convertExample string
	//go:embed testdata/tritongpu-F32DotTC/example.txtar
	f32DotTCExample string
	//go:embed testdata/tritongpu-fuse-nested-loops/example.txtar
	fuseNestedLoopsExample string
	//go:embed testdata/triton-licm/example.txtar
	licmExample string
	//go:embed testdata/triton-loop-aware-cse/example.txtar
	loopAwareCSEExample string
	//go:embed testdata/tritongpu-optimize-dot-operands/example.txtar
	optimizeDotOperandsExample string
	//go:embed testdata/tritongpu-optimize-thread-locality/example.txtar
	optimizeThreadLocalityExample string
	//go:embed testdata/tritongpu-pipeline/example.txtar
	pipelineExample string
	//go:embed testdata/tritongpu-plan-cta/example.txtar
	planCTAExample string
	//go:embed testdata/tritongpu-prefetch/example.txtar
	prefetchExample string
	//go:embed testdata/tritongpu-reduce-data-duplication/example.txtar
	reduceDataDuplicationExample string
	//go:embed testdata/tritongpu-load-early/example.txtar
	loadEarlyExample string
	//go:embed testdata/tritongpu-reduce-early/example.txtar
	reduceEarlyExample string
	//go:embed testdata/tritongpu-remove-layout-conversions/example.txtar
	removeLayoutConversionsExample string
	//go:embed testdata/tritongpu-reorder-instructions/example.txtar
	reorderInstructionsExample string
	//go:embed testdata/tritongpu-schedule-loops/example.txtar
	scheduleLoopsExample string
	//go:embed testdata/tritongpu-split-offsets/example.txtar
	splitOffsetsExample string
)
