package ttir

import _ "embed" // the examples are archives of the tests, too

// What each pass does, for people; TestPasses holds them.
var (
	//go:embed testdata/triton-combine/example.txtar
	combineExample string
	//go:embed testdata/triton-reorder-broadcast/example.txtar
	reorderBroadcastExample string
	//go:embed testdata/triton-loop-unroll/example.txtar
	loopUnrollExample string
	//go:embed testdata/triton-rewrite-tensor-pointer/example.txtar
	rewriteTensorPointerExample string
	//go:embed testdata/triton-rewrite-tensor-descriptor-to-pointer/example.txtar
	rewriteTensorDescriptorExample string
	//go:embed testdata/triton-test-loop-peeling/example.txtar
	testLoopPeelingExample string
)
