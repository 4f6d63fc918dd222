// Package fakedevice is a device for tests of what lies above devices: its memory is
// the host's, and its kernels do nothing but keep what they were launched with. It
// counts what it gives away and gets back.
package fakedevice

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tritonc/tritonc/driver"
)

// Device implements driver.Device. Its methods may be called by several goroutines.
type Device struct {
	// Props are its properties.
	Props driver.Properties
	// Keep has kernels remember their launches.
	Keep bool
	// Run, when not nil, is what every kernel does.
	Run func(l driver.Launch) error

	live     atomic.Int64
	loads    atomic.Int64
	launches atomic.Int64
	next     atomic.Uint64

	mu   sync.Mutex
	last driver.Launch // with arguments of its own
	file driver.Binary // loaded last
}

// New makes a device with the limits of an A100 that takes a stage's code.
func New(stage string) *Device {
	return &Device{Props: driver.Properties{
		Name: "fake", Stage: stage, WarpSize: 32, Multiprocessors: 108, MaxThreads: 1024, MaxShared: 163 << 10, Memory: 1 << 30,
	}}
}

// Live are the bytes that were allocated and not freed.
func (d *Device) Live() int64 { return d.live.Load() }

// Loads and Launches are how many there were.
func (d *Device) Loads() int64    { return d.loads.Load() }
func (d *Device) Launches() int64 { return d.launches.Load() }

// Last is the last launch, and Loaded the last binary.
func (d *Device) Last() driver.Launch {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// Loaded is the binary that was loaded last.
func (d *Device) Loaded() driver.Binary {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.file
}

// Properties implements driver.Device.
func (d *Device) Properties() driver.Properties { return d.Props }

// Alloc implements driver.Device.
func (d *Device) Alloc(name string, size int) (driver.Buffer, error) {
	if d.live.Add(int64(size)) > d.Props.Memory {
		d.live.Add(-int64(size))
		return nil, fmt.Errorf("out of memory: %s needs %d bytes", name, size)
	}
	room := uint64(size+256) &^ 255
	return &buffer{d, 1<<32 + d.next.Add(room) - room, make([]byte, size)}, nil
}

// Close implements driver.Device.
func (d *Device) Close() error { return nil }

// Load implements driver.Device.
func (d *Device) Load(b driver.Binary) (driver.Kernel, error) {
	d.loads.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.file = b
	return &kernel{d}, nil
}

type buffer struct {
	device *Device
	addr   uint64
	data   []byte
}

func (b *buffer) Addr() uint64 { return b.addr }
func (b *buffer) Size() int    { return len(b.data) }

func (b *buffer) Write(off int, p []byte) error { return b.copied(copy(b.data[off:], p), len(p)) }
func (b *buffer) Read(off int, p []byte) error  { return b.copied(copy(p, b.data[off:]), len(p)) }

func (b *buffer) copied(n, want int) error {
	if n != want {
		return fmt.Errorf("%d bytes of %d lie in the buffer", n, want)
	}
	return nil
}

func (b *buffer) Free() error {
	b.device.live.Add(-int64(len(b.data)))
	return nil
}

type kernel struct{ device *Device }

var result driver.Result

func (k *kernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	d := k.device
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.launches.Add(1)
	if d.Run != nil {
		if err := d.Run(l); err != nil {
			return nil, err
		}
	}
	if d.Keep {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.last = l
		d.last.Args = append([]any(nil), l.Args...)
	}
	return &result, nil
}
