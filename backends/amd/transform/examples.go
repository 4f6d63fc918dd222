package transform

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/tritonamdgpu-hoist-layout-conversions/example.txtar
	hoistLayoutConversionsExample string
	//go:embed testdata/tritonamdgpu-block-pingpong/example.txtar
	blockPingpongExample string
	//go:embed testdata/tritonamdgpu-coalesce-async-copy/example.txtar
	coalesceAsyncCopyExample string
	//go:embed testdata/triton-amdgpu-insert-instruction-sched-hints/example.txtar
	insertInstructionSchedHintsExample string
	//go:embed testdata/triton-amdgpu-lower-insert-instruction-sched-hints/example.txtar
	lowerInsertInstructionSchedHintsExample string
	//go:embed testdata/tritonamdgpu-in-thread-transpose/example.txtar
	inThreadTransposeExample string
	//go:embed testdata/tritonamdgpu-optimize-dot-operands/example.txtar
	optimizeDotOperandsExample string
	//go:embed testdata/tritonamdgpu-optimize-epilogue/example.txtar
	optimizeEpilogueExample string
	//go:embed testdata/tritonamdgpu-read-late/example.txtar
	readLateExample string
	//go:embed testdata/tritonamdgpu-reorder-instructions/example.txtar
	reorderInstructionsExample string
	//go:embed testdata/tritonamdgpu-update-async-wait-count/example.txtar
	updateAsyncWaitCountExample string
	//go:embed testdata/tritonamdgpu-pipeline/example.txtar
	pipelineExample string
	//go:embed testdata/tritonamdgpu-schedule-loops/example.txtar
	scheduleLoopsExample string
)
