// Tritonc-backend-nvidia is the backend of tritonc for NVIDIA's GPUs. tritonc
// starts it; with --describe it prints its facts as JSON.
package main

import (
	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() {
	work.CollectSeldom()
	sdk.ServeBackend(nvidia.New())
}
