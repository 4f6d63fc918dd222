package native

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Vendor is what a driver is for.
type Vendor struct {
	// Name is the driver's, Backend that of the targets whose code the devices run.
	Name, Backend string
	// One and All are what messages call the devices: "GPU", "AMD's GPUs".
	One, All string
	// Open finds the library and makes it ready. Where it returns a Library beside an
	// error, that is not to be used.
	Open func() (Library, error)
}

// Driver has the devices of a vendor in this machine. It implements sdk.DeviceDriver.
type Driver struct {
	vendor *Vendor

	mu   sync.Mutex
	lib  Library
	lost atomic.Bool // the library refuses all calls, after a kernel's fault
}

// New returns a driver, which opens its library when it is first asked for a device.
func New(v Vendor) *Driver { return &Driver{vendor: &v} }

// library opens the vendor's, once it is there.
func (d *Driver) library() (Library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lib == nil {
		l, err := d.vendor.Open()
		if err != nil {
			return nil, err
		}
		d.lib = l
	}
	return d.lib, nil
}

// count asks how many devices there are.
func (d *Driver) count(l Library) (int, error) {
	n, code := l.Count()
	return n, Explain(l, "counting the "+d.vendor.One+"s", code)
}

// Describe implements sdk.DeviceDriver.
func (d *Driver) Describe(context.Context) (sdk.DeviceFacts, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	facts := sdk.DeviceFacts{Name: d.vendor.Name}
	l, err := d.library()
	if err != nil {
		return facts, err
	}
	facts.Version = l.Version()
	n, err := d.count(l)
	if err != nil {
		return facts, err
	}
	for i := range n {
		v, err := l.Look(i)
		if err != nil {
			return facts, err
		}
		facts.Devices = append(facts.Devices, sdk.DeviceInfo{
			Name: v.Name, Target: v.Target, Memory: v.Memory, Multiprocessors: v.Multiprocessors, MaxShared: int64(v.MaxShared),
		})
	}
	return facts, nil
}

// Open implements sdk.DeviceDriver.
func (d *Driver) Open(_ context.Context, number int, target sdk.Target) (sdk.Device, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := d.library()
	if err != nil {
		return nil, err
	}
	if d.lost.Load() {
		return nil, sdk.ErrDeviceLost
	}
	n, err := d.count(l)
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= n {
		return nil, sdk.Errorf("there is no %s number %d", d.vendor.One, number).WithHelp("they have the numbers from 0 to %d", n-1)
	}
	v, err := l.Look(number)
	if err != nil {
		return nil, err
	}
	if target != (sdk.Target{}) && !v.Runs(target) {
		return nil, sdk.Errorf("the %s is %s and runs no code for %s", v.Name, v.Kind, target).
			WithHelp("compile for it with --target %s:%s", d.vendor.Backend, v.Target.Arch)
	}
	s := &Session{driver: d, lib: l, Device: v, number: number, buffers: map[*buffer]bool{}, regions: map[string]*Region{}}
	err = s.enter(func() error {
		stream, code := l.NewStream()
		s.Stream = stream
		return s.Explain("making "+v.Name+" ready", code)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// enter runs f on a thread whose current device is the session's.
func (s *Session) enter(f func() error) error {
	if s.driver.lost.Load() {
		return sdk.ErrDeviceLost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.Explain(fmt.Sprintf("choosing %s %d", s.driver.vendor.One, s.number), s.lib.Choose(s.number)); err != nil {
		return err
	}
	return f()
}
