//go:build linux

package ascend

import (
	"fmt"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/driver/native"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The driver's name, and the stage whose artifact the devices load.
const (
	name  = "ascend"
	stage = "npubin"
)

// What targets of the backend say of a machine without threads.
const (
	warpSize   = 32
	maxThreads = 2048
)

// New returns the driver of the Ascend NPUs of this machine.
func New() *native.Driver {
	return native.New(native.Vendor{Name: name, Backend: chip.Backend, One: "NPU", All: "Ascend's NPUs", Open: openLibrary})
}

// Count implements native.Devices.
func (l *library) Count() (int, status) {
	var n uint32
	code := l.getDeviceCount(&n)
	if code == native.Success && n == 0 {
		code = noDevice
	}
	return int(n), code
}

// Choose implements native.Devices.
func (l *library) Choose(number int) status { return l.setDevice(int32(number)) }

// Attributes of devices: ACL_DEV_ATTR_CUBE_CORE_NUM and ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE.
const (
	cubeCores   = 102
	totalMemory = 301
)

// Look implements native.Devices. All NPUs of a machine are of one kind.
func (l *library) Look(number int) (*native.Device, error) {
	soc := l.getSocName()
	if soc == "" {
		return nil, fmt.Errorf("NPU %d: CANN does not tell what chip it is", number)
	}
	c := chip.Of(soc)
	if c == nil {
		return nil, sdk.Errorf("NPU %d is an %s, for which there is no target", number, soc).
			WithHelp("tritonc backend describe npu lists the chips that there are targets for")
	}
	// What the library does not tell is what the chip has, or not known.
	cores, memory := int64(c.Cubes), int64(0)
	var n int64
	if l.getDeviceInfo(uint32(number), cubeCores, &n) == native.Success && n > 0 {
		cores = n
	}
	if l.getDeviceInfo(uint32(number), totalMemory, &n) == native.Success && n > 0 {
		memory = n
	}
	return &native.Device{
		DeviceProperties: sdk.DeviceProperties{
			Name: soc, Stage: stage, WarpSize: warpSize, Multiprocessors: int(cores), MaxThreads: maxThreads, MaxShared: c.UB, Memory: memory,
		},
		Target: sdk.Target{Backend: chip.Backend, Arch: c.Name, WarpSize: warpSize},
		Kind:   "for " + c.Target(),
		Runs: func(t sdk.Target) bool {
			own := chip.Of(t.Arch)
			return t.Backend == chip.Backend && own != nil && own.Name == c.Name && (t.WarpSize == 0 || t.WarpSize == warpSize)
		},
	}, nil
}
