package warpspec

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-allocate-warp-groups/example.txtar
	allocateWarpGroupsExample string
	//go:embed testdata/nvgpu-warp-specialization/example.txtar
	specializeExample string
)
