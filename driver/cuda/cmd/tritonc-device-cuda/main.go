// Command tritonc-device-cuda is the driver of NVIDIA GPUs. tritonc starts it by
// itself where it finds it.
package main

import (
	"github.com/tritonc/tritonc/driver/cuda"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeDevices(cuda.New()) }
