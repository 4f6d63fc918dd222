//go:build linux

// Command tritonc-device-hip is the driver of AMD GPUs. tritonc starts it by itself where
// it finds it.
package main

import (
	"github.com/tritonc/tritonc/driver/hip"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeDriver(hip.New()) }
