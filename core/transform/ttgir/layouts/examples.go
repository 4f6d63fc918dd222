package layouts

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-coalesce/example.txtar
	coalesceExample string
	//go:embed testdata/convert-triton-to-tritongpu/example.txtar
	convertExample string
	//go:embed testdata/tritongpu-optimize-thread-locality/example.txtar
	optimizeThreadLocalityExample string
	//go:embed testdata/tritongpu-plan-cta/example.txtar
	planCTAExample string
	//go:embed testdata/tritongpu-remove-layout-conversions/example.txtar
	removeLayoutConversionsExample string
	//go:embed testdata/tritongpu-spread-replicas/example.txtar
	spreadReplicasExample string
)
