//go:build linux

// Command tritonc-device-ascend is the driver of Ascend NPUs. tritonc starts it by itself
// where it finds it.
package main

import (
	"github.com/tritonc/tritonc/driver/ascend"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeDriver(ascend.New()) }
