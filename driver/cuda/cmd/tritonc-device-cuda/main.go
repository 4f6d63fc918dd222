// Command tritonc-device-cuda is the driver of NVIDIA GPUs. tritonc starts it by
// itself where it finds it.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/cuda"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeDriver(&plugin{}) }

// plugin has the GPUs of this machine. It implements sdk.DeviceDriver.
type plugin struct {
	mu  sync.Mutex
	out *stdout // nil before the first Open
}

// Describe implements sdk.DeviceDriver.
func (p *plugin) Describe(context.Context) (sdk.DeviceFacts, error) {
	facts := sdk.DeviceFacts{Name: "cuda"}
	if v := cuda.Version(); v != "" {
		facts.Version = "CUDA " + v
	}
	all, err := cuda.Devices()
	if err != nil {
		return facts, toSDK(err)
	}
	for i := range all {
		p := &all[i]
		facts.Devices = append(facts.Devices, sdk.DeviceInfo{
			Name: p.Name, Target: p.Target, Memory: p.Memory, Multiprocessors: p.Multiprocessors, MaxShared: int64(p.MaxShared),
		})
	}
	return facts, nil
}

// Open implements sdk.DeviceDriver.
func (p *plugin) Open(_ context.Context, number int, target sdk.Target) (sdk.Device, error) {
	if err := p.catch(); err != nil {
		return nil, err
	}
	d, err := cuda.OpenWith(number, cuda.Options{Target: target, Guard: true})
	if err != nil {
		return nil, toSDK(err)
	}
	return &session{device: d, out: p.out}, nil
}

// catch has what kernels print come here.
func (p *plugin) catch() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		if p.out, err = catchStdout(); err != nil {
			return fmt.Errorf("catching what kernels print: %w", err)
		}
	}
	return nil
}

// toSDK is an error as it crosses to the host.
func toSDK(err error) error {
	if errors.Is(err, driver.ErrLost) {
		return sdk.ErrDeviceLost
	}
	if e, ok := errors.AsType[*driver.OutOfResources](err); ok {
		d := sdk.Errorf("%v", e)
		if e.Err != nil {
			d.WithHelp("%v", e.Err)
		}
		return d
	}
	return wire.ErrorToSDK(err)
}
