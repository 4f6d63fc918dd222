//go:build linux

package hip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tritonc/tritonc/driver/native"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// backend is that of the targets whose code these devices run, and stage the one whose
// artifact they load.
const (
	backend = "hip"
	stage   = "hsaco"
)

// New returns the driver of the AMD GPUs of this machine.
func New() *native.Driver {
	return native.New(native.Vendor{Name: backend, Backend: backend, One: "GPU", All: "AMD's GPUs", Open: openLibrary})
}

// Count implements native.Devices.
func (l *library) Count() (int, status) {
	var n int32
	code := l.deviceCount(&n)
	if code == native.Success && n == 0 {
		code = noDevice
	}
	return int(n), code
}

// Choose implements native.Devices.
func (l *library) Choose(number int) status { return l.setDevice(int32(number)) }

// The struct that hipGetDevicePropertiesR0600 fills in: its size, rounded up for what
// later versions may append, and where the fields that are read begin.
const (
	propertiesSize    = 4096
	nameAt, nameSize  = 0, 256
	totalMemoryAt     = 288
	sharedPerBlockAt  = 296
	warpSizeAt        = 308
	threadsPerBlockAt = 320
	multiprocessorsAt = 388
	archNameAt        = 1160
	archNameSize      = 256
)

// Look implements native.Devices.
func (l *library) Look(number int) (*native.Device, error) {
	raw := make([]uint64, propertiesSize/8)
	if err := native.Explain(l, fmt.Sprintf("looking at GPU %d", number), l.properties(unsafe.Pointer(&raw[0]), int32(number))); err != nil {
		return nil, err
	}
	p := unsafe.Slice((*byte)(unsafe.Pointer(&raw[0])), propertiesSize)
	text := func(at, size int) string {
		name, _, _ := bytes.Cut(p[at:at+size], []byte{0})
		return string(name)
	}
	number32 := func(at int) int { return int(int32(binary.NativeEndian.Uint32(p[at:]))) }
	number64 := func(at int) int64 { return int64(binary.NativeEndian.Uint64(p[at:])) }
	arch, _, _ := strings.Cut(text(archNameAt, archNameSize), ":") // gfx942:sramecc+:xnack-
	g := &native.Device{DeviceProperties: sdk.DeviceProperties{
		Name: text(nameAt, nameSize), Stage: stage, WarpSize: number32(warpSizeAt), Multiprocessors: number32(multiprocessorsAt),
		MaxThreads: number32(threadsPerBlockAt), MaxShared: int(number64(sharedPerBlockAt)), Memory: number64(totalMemoryAt),
	}}
	if !strings.HasPrefix(arch, "gfx") || g.WarpSize <= 0 {
		return nil, fmt.Errorf("GPU %d: %s describes it in a way that is not known here: the architecture %q, warps of %d", number, l.Version(), arch, g.WarpSize)
	}
	if g.Name == "" {
		g.Name = "AMD " + arch // HIP has no name for some
	}
	g.Target = sdk.Target{Backend: backend, Arch: arch, WarpSize: g.WarpSize}
	g.Kind = fmt.Sprintf("a %s with warps of %d", arch, g.WarpSize)
	g.Runs = func(t sdk.Target) bool {
		return t.Backend == backend && t.Arch == arch && (t.WarpSize == 0 || t.WarpSize == g.WarpSize)
	}
	return g, nil
}
