package buffers

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritonamdgpu-canonicalize-pointers/example.txtar
	canonicalizePointersExample string
	//go:embed testdata/tritonamdgpu-convert-buffer-ops/example.txtar
	convertBufferOpsExample string
	//go:embed testdata/tritonamdgpu-fold-true-cmpi/example.txtar
	foldTrueCmpIExample string
	//go:embed testdata/test-tritonamdgpu-range-analysis/example.txtar
	testRangeAnalysisExample string
)
