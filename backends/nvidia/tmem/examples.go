package tmem

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-optimize-accumulator-init/example.txtar
	optimizeAccumulatorInitExample string
	//go:embed testdata/tritongpu-hoist-tmem-alloc/example.txtar
	hoistTMEMAllocExample string
)
