package wgmma

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/triton-nvidia-wgmma-pipelining/example.txtar
	pipelineDotsExample string
	//go:embed testdata/triton-nvidia-gpu-fence-insertion/example.txtar
	insertFencesExample string
	//go:embed testdata/nvidia-wgmma-early-loads/example.txtar
	loadBeforeDotsExample string
)
