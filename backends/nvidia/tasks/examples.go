package tasks

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/nvgpu-test-ws-task-partition/example.txtar
	taskPartitionExample string
	//go:embed testdata/nvgpu-test-taskid-propagate/example.txtar
	taskIDPropagateExample string
	//go:embed testdata/nvgpu-test-ws-data-partition/example.txtar
	dataPartitionExample string
	//go:embed testdata/nvgpu-test-ws-code-partition/example.txtar
	codePartitionExample string
)
