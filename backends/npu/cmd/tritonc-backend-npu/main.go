// Tritonc-backend-npu is the backend of tritonc for Ascend NPUs. tritonc starts it; with
// --describe it prints its facts as JSON.
package main

import (
	"github.com/tritonc/tritonc/backends/npu"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() {
	work.CollectSeldom()
	sdk.ServeBackend(npu.New())
}
