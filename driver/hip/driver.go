//go:build linux

package hip

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// backend is that of the targets whose code these devices run, and stage the one whose
// artifact they load.
const (
	backend = "hip"
	stage   = "hsaco"
)

// Driver has the AMD GPUs of this machine. It implements sdk.DeviceDriver. The zero Driver
// is ready for use.
type Driver struct {
	mu   sync.Mutex
	lib  *library
	lost atomic.Bool // HIP refuses all calls, after a kernel's fault
}

// library opens HIP's, once it is there.
func (d *Driver) library() (*library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lib == nil {
		l, err := openLibrary()
		if err != nil {
			return nil, withGroups(err)
		}
		d.lib = l
	}
	return d.lib, nil
}

// withGroups says what keeps HIP from seeing a GPU that is there.
func withGroups(err error) error {
	e, ok := errors.AsType[*libraryError](err)
	if !ok || e.code != noDevice {
		return err
	}
	return (&sdk.Diagnostic{Kind: sdk.Environment, Message: e.Error()}).
		WithHelp("where there is a GPU, the user must be allowed to open /dev/kfd and /dev/dri/renderD*: the groups render and video")
}

// Describe implements sdk.DeviceDriver.
func (d *Driver) Describe(context.Context) (sdk.DeviceFacts, error) {
	facts := sdk.DeviceFacts{Name: backend}
	l, err := d.library()
	if err != nil {
		return facts, err
	}
	if v := l.version(); v != "" {
		facts.Version = "HIP " + v
	}
	n, err := l.count()
	if err != nil {
		return facts, withGroups(err)
	}
	for i := range n {
		g, err := l.look(i)
		if err != nil {
			return facts, err
		}
		facts.Devices = append(facts.Devices, sdk.DeviceInfo{
			Name: g.Name, Target: g.target, Memory: g.Memory, Multiprocessors: g.Multiprocessors, MaxShared: int64(g.MaxShared),
		})
	}
	return facts, nil
}

func (l *library) count() (int, error) {
	var n int32
	if err := l.explain("counting the GPUs", l.deviceCount(&n)); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, l.explain("counting the GPUs", noDevice)
	}
	return int(n), nil
}

// gpu is what is known of a GPU.
type gpu struct {
	sdk.DeviceProperties
	target sdk.Target
}

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

// look finds out about a GPU.
func (l *library) look(number int) (*gpu, error) {
	raw := make([]uint64, propertiesSize/8)
	if err := l.explain(fmt.Sprintf("looking at GPU %d", number), l.properties(unsafe.Pointer(&raw[0]), int32(number))); err != nil {
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
	g := &gpu{DeviceProperties: sdk.DeviceProperties{
		Name: text(nameAt, nameSize), Stage: stage, WarpSize: number32(warpSizeAt), Multiprocessors: number32(multiprocessorsAt),
		MaxThreads: number32(threadsPerBlockAt), MaxShared: int(number64(sharedPerBlockAt)), Memory: number64(totalMemoryAt),
	}}
	if !strings.HasPrefix(arch, "gfx") || g.WarpSize <= 0 {
		return nil, fmt.Errorf("GPU %d: HIP %s describes it in a way that is not known here: the architecture %q, warps of %d", number, l.version(), arch, g.WarpSize)
	}
	if g.Name == "" {
		g.Name = "AMD " + arch // HIP has no name for some
	}
	g.target = sdk.Target{Backend: backend, Arch: arch, WarpSize: g.WarpSize}
	return g, nil
}

// Open implements sdk.DeviceDriver.
func (d *Driver) Open(_ context.Context, number int, target sdk.Target) (sdk.Device, error) {
	l, err := d.library()
	if err != nil {
		return nil, err
	}
	if d.lost.Load() {
		return nil, sdk.ErrDeviceLost
	}
	n, err := l.count()
	if err != nil {
		return nil, withGroups(err)
	}
	if number < 0 || number >= n {
		return nil, sdk.Errorf("there is no GPU number %d", number).WithHelp("they have the numbers from 0 to %d", n-1)
	}
	g, err := l.look(number)
	if err != nil {
		return nil, err
	}
	own := g.target
	if target != (sdk.Target{}) && (target.Backend != own.Backend || target.Arch != own.Arch || target.WarpSize != 0 && target.WarpSize != own.WarpSize) {
		return nil, sdk.Errorf("the %s is a %s with warps of %d and runs no code for %s", g.Name, own.Arch, own.WarpSize, target).
			WithHelp("compile for it with --target %s:%s", backend, own.Arch)
	}
	s := &session{driver: d, lib: l, gpu: g, number: int32(number), buffers: map[*buffer]bool{}}
	err = s.enter(func() error {
		return l.explain("making "+g.Name+" ready", l.streamCreate(&s.stream, nonBlocking))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// enter runs f on a thread whose current device is the session's.
func (s *session) enter(f func() error) error {
	if s.driver.lost.Load() {
		return sdk.ErrDeviceLost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.lib.explain(fmt.Sprintf("choosing GPU %d", s.number), s.lib.setDevice(s.number)); err != nil {
		return err
	}
	return f()
}
