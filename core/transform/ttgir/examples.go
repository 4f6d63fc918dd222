package ttgir

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/triton-licm/example.txtar
	licmExample string
	//go:embed testdata/tritongpu-split-offsets/example.txtar
	splitOffsetsExample string
	//go:embed testdata/tritongpu-bound-masks/example.txtar
	boundMasksExample string
)
