package loops

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-bound-masks/example.txtar
	boundMasksExample string
	//go:embed testdata/tritongpu-combine-tensor-select-and-if/example.txtar
	selectAndIfExample string
	//go:embed testdata/tritongpu-fuse-nested-loops/example.txtar
	fuseNestedLoopsExample string
	//go:embed testdata/triton-licm/example.txtar
	licmExample string
	//go:embed testdata/triton-loop-aware-cse/example.txtar
	loopAwareCSEExample string
	//go:embed testdata/tritongpu-load-ahead/example.txtar
	loadAheadExample string
	//go:embed testdata/tritongpu-load-early/example.txtar
	loadEarlyExample string
	//go:embed testdata/tritongpu-reduce-early/example.txtar
	reduceEarlyExample string
	//go:embed testdata/tritongpu-reorder-instructions/example.txtar
	reorderInstructionsExample string
	//go:embed testdata/tritongpu-split-offsets/example.txtar
	splitOffsetsExample string
)
