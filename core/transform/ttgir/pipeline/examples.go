package pipeline

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritongpu-assign-latencies/example.txtar
	assignLatenciesExample string
	//go:embed testdata/tritongpu-coalesce-async-copy/example.txtar
	coalesceAsyncCopyExample string
	//go:embed testdata/tritongpu-pipeline/example.txtar
	pipelineExample string
	//go:embed testdata/tritongpu-prefetch/example.txtar
	prefetchExample string
	//go:embed testdata/tritongpu-schedule-loops/example.txtar
	scheduleLoopsExample string
	//go:embed testdata/tritongpu-test-pipeline-lower-loop/example.txtar
	testLowerLoopExample string
)
