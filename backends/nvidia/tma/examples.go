package tma

import _ "embed" // the examples are archives of the tests, too

// What passes do, for people; the tests of each hold them.
var (
	//go:embed testdata/triton-nvidia-optimize-descriptor-encoding/example.txtar
	optimizeDescriptorEncodingExample string
	//go:embed testdata/triton-nvidia-tma-store-pipelining/example.txtar
	pipelineStoresExample string
	//go:embed testdata/triton-nvidia-tma-descriptor-pipelining/example.txtar
	bufferDescriptorsExample string
	//go:embed testdata/triton-nvidia-tma-lowering/example.txtar
	lowerExample string
	//go:embed testdata/nvidia-group-tensor-maps/example.txtar
	groupMapsExample string
	//go:embed testdata/triton-nvidia-gpu-proxy-fence-insertion/example.txtar
	proxyFencesExample string
)
