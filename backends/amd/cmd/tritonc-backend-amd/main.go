// Tritonc-backend-amd is the backend of tritonc for AMD's GPUs. tritonc
// starts it; with --describe it prints its facts as JSON.
package main

import (
	"github.com/tritonc/tritonc/backends/amd"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeBackend(amd.New()) }
