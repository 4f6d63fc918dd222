package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// host is a driver whose device is memory of the test. Its methods count what
// is alive, and fail where the test says so.
type host struct {
	alive  int
	fail   string // the method that fails
	loaded sdk.DeviceBinary
	launch sdk.DeviceLaunch
	result sdk.DeviceResult
}

var errHost = errors.New("CUDA_ERROR_OUT_OF_MEMORY")

func (h *host) err(method string) error {
	switch h.fail {
	case method:
		return errHost
	case method + " panics":
		panic("no luck")
	}
	return nil
}

func (h *host) Describe(context.Context) (sdk.DeviceFacts, error) {
	return sdk.DeviceFacts{Name: "host", Version: "7", Devices: []sdk.DeviceInfo{
		{Name: "One", Target: sdk.Target{Backend: "cuda", Arch: "90", WarpSize: 32}, Memory: 1 << 40, Multiprocessors: 132, MaxShared: 227 << 10},
		{Name: "Two"},
	}}, h.err("Describe")
}

func (h *host) Open(_ context.Context, number int, t sdk.Target) (sdk.Device, error) {
	if number > 1 {
		return nil, sdk.Errorf("there is no device %d", number).WithHelp("take 0 or 1")
	}
	h.alive++
	return &hostDevice{h, t, nil}, h.err("Open")
}

type hostDevice struct {
	*host
	target  sdk.Target
	buffers []*hostBuffer
}

func (d *hostDevice) Properties() sdk.DeviceProperties {
	return sdk.DeviceProperties{Name: "One for " + d.target.String(), Stage: "cubin", WarpSize: 32, Multiprocessors: 132, MaxThreads: 1024, MaxShared: 227 << 10, Memory: 1 << 40}
}

func (d *hostDevice) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	if err := d.err("Alloc"); err != nil {
		return nil, err
	}
	d.alive++
	b := &hostBuffer{d.host, name, make([]byte, size), false}
	d.buffers = append(d.buffers, b)
	return b, nil
}

func (d *hostDevice) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	d.loaded = b
	return d, d.err("Load")
}

func (d *hostDevice) Launch(_ context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	d.launch = l
	return d.result, d.err("Launch")
}

func (d *hostDevice) Close() error {
	for _, b := range d.buffers {
		if !b.freed {
			b.Free()
		}
	}
	d.alive--
	return d.err("Close")
}

type hostBuffer struct {
	*host
	name  string
	mem   []byte
	freed bool
}

func (b *hostBuffer) Addr() uint64 { return 0x7f0000000100 }

func (b *hostBuffer) Write(_ context.Context, offset int64, p []byte) error {
	copy(b.mem[offset:offset+int64(len(p))], p)
	return b.err("Write")
}

func (b *hostBuffer) Read(_ context.Context, offset int64, p []byte) error {
	copy(p, b.mem[offset:])
	return b.err("Read")
}

func (b *hostBuffer) Free() error {
	b.freed = true
	b.alive--
	return b.err("Free")
}

func openHost(t *testing.T, h *host) sdk.Device {
	t.Helper()
	d, err := sdktest.StartDevices(t, h).Open(t.Context(), 1, sdk.Target{Backend: "cuda", Arch: "80"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDevicesDescribe(t *testing.T) {
	h := &host{}
	c := sdktest.StartDevices(t, h)
	want, _ := h.Describe(t.Context())
	got, err := c.Describe(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	h.fail = "Describe"
	if _, err := c.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), errHost.Error()) {
		t.Error(err)
	}
	_, err = c.Open(t.Context(), 2, sdk.Target{})
	var diags sdk.Diagnostics
	if !errors.As(err, &diags) || diags[0].Kind != sdk.User || diags[0].Help != "take 0 or 1" {
		t.Errorf("%#v", err)
	}
}

// TestDeviceMemory: sizes around those of a message's piece go there and back
// whole, at any offset.
func TestDeviceMemory(t *testing.T) {
	h := &host{}
	d := openHost(t, h)
	if diff := cmp.Diff((&hostDevice{h, sdk.Target{Backend: "cuda", Arch: "80"}, nil}).Properties(), d.Properties()); diff != "" {
		t.Error(diff)
	}
	r := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 9<<20 + 12345} {
		b, err := d.Alloc(t.Context(), "x", int64(size))
		if err != nil {
			t.Fatal(err)
		}
		for _, off := range []int{0, size / 3} {
			in, out := make([]byte, size-off), make([]byte, size-off)
			r.Read(in)
			if err := b.Write(t.Context(), int64(off), in); err != nil {
				t.Fatal(size, err)
			}
			if err := b.Read(t.Context(), int64(off), out); err != nil {
				t.Fatal(size, err)
			}
			if !bytes.Equal(in, out) {
				t.Errorf("%d bytes from %d are not the same", size, off)
			}
		}
		for _, off := range []int64{-1, 1, int64(size) + 1} {
			p := make([]byte, size)
			if size == 0 && off == 1 {
				continue // tried as size+1
			}
			want := fmt.Sprintf("of x, which has %d", size)
			if err := b.Write(t.Context(), off, p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("write of %d bytes at %d: %v", size, off, err)
			}
			if err := b.Read(t.Context(), off, p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("read of %d bytes at %d: %v", size, off, err)
			}
		}
		if size%2 == 0 { // the others stay for Close
			if err := b.Free(); err != nil {
				t.Error(err)
			}
			if err := b.Read(t.Context(), 0, nil); err == nil || !strings.Contains(err.Error(), "no buffer has the number") {
				t.Error("a freed buffer:", err)
			}
		}
	}
	if err := d.Close(); err != nil || h.alive != 0 {
		t.Errorf("%v; %d objects live on", err, h.alive)
	}
	if _, err := d.Alloc(t.Context(), "x", 1); err == nil || !strings.Contains(err.Error(), "no session") {
		t.Error("a closed device:", err)
	}
}

// TestDeviceErrors: what fails there fails here, in every method.
func TestDeviceErrors(t *testing.T) {
	h := &host{}
	d := openHost(t, h)
	b, err := d.Alloc(t.Context(), "x", 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	k, err := d.Load(t.Context(), sdk.DeviceBinary{})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"Alloc":  func() error { _, err := d.Alloc(t.Context(), "y", 1); return err },
		"Write":  func() error { return b.Write(t.Context(), 0, make([]byte, 3<<20)) },
		"Read":   func() error { return b.Read(t.Context(), 0, make([]byte, 3<<20)) },
		"Load":   func() error { _, err := d.Load(t.Context(), sdk.DeviceBinary{}); return err },
		"Launch": func() error { _, err := k.Launch(t.Context(), sdk.DeviceLaunch{}); return err },
		"Free":   b.Free,
		"Close":  d.Close,
	}
	for _, method := range []string{"Alloc", "Write", "Read", "Load", "Launch", "Free", "Close"} {
		if method != "Free" && method != "Close" { // which may be called once
			h.fail = method + " panics"
			if err := calls[method](); err == nil || !strings.Contains(err.Error(), "BUG in the device driver, in "+method+": no luck") {
				t.Errorf("%s: %v", method, err)
			}
		}
		h.fail = method
		if err := calls[method](); err == nil || !strings.Contains(err.Error(), errHost.Error()) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestDeviceLaunch(t *testing.T) {
	h := &host{result: sdk.DeviceResult{
		Time: 1234 * time.Microsecond, Output: []byte("pid 0\xff\n"), Lost: true,
		Fault: []sdk.Diagnostic{{Message: "CUDA_ERROR_ILLEGAL_ADDRESS", Help: "run it on the simulator"}},
	}}
	d := openHost(t, h)
	x, err := d.Alloc(t.Context(), "x", 4)
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.DeviceBinary{
		Name: "k.cubin", Code: []byte{0x7f, 0}, Kernel: "k", NumWarps: 4, NumCTAs: 2, Cooperative: true, PDL: true, Shared: 1 << 16,
		GlobalScratchSize: 5, GlobalScratchAlign: 128, Metadata: `{"name": "k", "of_its_own": [1, "é"]}`,
	}
	k, err := d.Load(t.Context(), want)
	if diff := cmp.Diff(want, h.loaded); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	got, err := k.Launch(t.Context(), sdk.DeviceLaunch{
		Grid: [3]int{1 << 30, 2, 3}, Args: []sdk.DeviceArg{{Buffer: x}, {}, {Scalar: []byte{1, 2}}},
	})
	if diff := cmp.Diff(h.result, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	a := h.launch.Args
	if h.launch.Grid != [3]int{1 << 30, 2, 3} || len(a) != 3 || a[0].Buffer.(*hostBuffer).name != "x" ||
		a[1].Buffer != nil || len(a[1].Scalar) != 0 || !slices.Equal(a[2].Scalar, []byte{1, 2}) {
		t.Errorf("launched %+v", h.launch)
	}
	m := &sdk.DeviceTensorMap{
		Offset: 16, Shape: []int64{1 << 32, 3}, Strides: []int64{1 << 39, 2}, Box: []int64{256, 8}, ElemSize: 2, ElemType: 6, Swizzle: 1, NaN: true,
	}
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{1, 1, 1}, Args: []sdk.DeviceArg{{Buffer: x, Map: m}}}); err != nil {
		t.Error(err)
	}
	if a := h.launch.Args; len(a) != 1 || a[0].Buffer.(*hostBuffer).name != "x" || cmp.Diff(m, a[0].Map) != "" {
		t.Errorf("launched %+v", h.launch)
	}
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Args: []sdk.DeviceArg{{Map: m}}}); err == nil || !strings.Contains(err.Error(), "needs memory") {
		t.Error(err)
	}
	other, err := openHost(t, &host{}).Alloc(t.Context(), "y", 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Args: []sdk.DeviceArg{{Buffer: other}}}); err == nil || !strings.Contains(err.Error(), "another device") {
		t.Error(err)
	}
}

// timing is a host whose devices measure.
type timing struct {
	*host
	asked sdk.DeviceTiming
}

type timingDevice struct {
	sdk.Device
	h *timing
}

func (h *timing) Open(ctx context.Context, number int, t sdk.Target) (sdk.Device, error) {
	d, err := h.host.Open(ctx, number, t)
	return timingDevice{d, h}, err
}

func (d timingDevice) Time(_ context.Context, k sdk.DeviceKernel, l sdk.DeviceLaunch, t sdk.DeviceTiming) (sdk.DeviceResult, error) {
	if k != sdk.DeviceKernel(d.Device.(*hostDevice)) {
		return sdk.DeviceResult{}, errors.New("another kernel")
	}
	d.h.launch, d.h.asked = l, t
	return d.h.result, d.h.err("Time")
}

// TestDeviceTimer: a device is a timer here if it is one there.
func TestDeviceTimer(t *testing.T) {
	if _, ok := openHost(t, &host{}).(sdk.DeviceTimer); ok {
		t.Error("a device that measures nothing is a timer")
	}
	h := &timing{host: &host{result: sdk.DeviceResult{
		Times: []time.Duration{5, 1 << 40, 0}, Output: []byte("x"), Lost: true, Fault: []sdk.Diagnostic{{Message: "a fall"}},
	}}}
	d, err := sdktest.StartDevices(t, h).Open(t.Context(), 0, sdk.Target{})
	if err != nil {
		t.Fatal(err)
	}
	timer, ok := d.(sdk.DeviceTimer)
	if !ok {
		t.Fatal("a device that measures is not a timer")
	}
	k, err := d.Load(t.Context(), sdk.DeviceBinary{})
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.DeviceTiming{Runs: 3, Warmup: 2, Flush: 1 << 40, Graph: true}
	got, err := timer.Time(t.Context(), k, sdk.DeviceLaunch{Grid: [3]int{7, 1, 1}}, want)
	if diff := cmp.Diff(h.result, got); err != nil || diff != "" || h.asked != want || h.launch.Grid[0] != 7 {
		t.Error(err, diff, h.asked, h.launch)
	}
	for _, bad := range []sdk.DeviceTiming{{}, {Runs: 1, Warmup: -1}, {Runs: 1, Flush: -1}} {
		if _, err := timer.Time(t.Context(), k, sdk.DeviceLaunch{}, bad); err == nil || !strings.Contains(err.Error(), "runs after") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	h.fail = "Time"
	if _, err := timer.Time(t.Context(), k, sdk.DeviceLaunch{}, want); err == nil || !strings.Contains(err.Error(), errHost.Error()) {
		t.Error(err)
	}
	if _, err := timer.Time(t.Context(), nil, sdk.DeviceLaunch{}, want); err == nil || !strings.Contains(err.Error(), "another device") {
		t.Error(err)
	}
}
