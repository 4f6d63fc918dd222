package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/remote"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// TestMain makes this program the driver "test", too, when a host starts it.
func TestMain(m *testing.M) {
	process.Trampoline()
	if os.Getenv(host.DeviceHandshake.MagicCookieKey) != "" {
		if os.Getenv("TEST_DRIVER") == "broken" {
			fmt.Fprintln(os.Stderr, "libfoo.so: cannot open shared object file")
			os.Exit(127)
		}
		sdk.ServeDriver(testDriver{})
		return
	}
	os.Exit(m.Run())
}

// testDriver has one device, whose memory is its process's. Kernels do what
// their name says.
type testDriver struct{}

func (testDriver) Describe(context.Context) (sdk.DeviceFacts, error) {
	return sdk.DeviceFacts{Name: "test", Devices: []sdk.DeviceInfo{{Name: os.Getenv("TEST_NAME"), Memory: 5}}}, nil
}

func (testDriver) Open(_ context.Context, number int, target sdk.Target) (sdk.Device, error) {
	if number == touchDevice {
		return nil, fmt.Errorf("touches: %s", touches(target.Arch))
	}
	if number != 0 {
		return nil, errors.New("the device sleeps")
	}
	return testDevice{}, nil
}

// touchDevice is the number of one that fails with what the process can touch.
const touchDevice = 99

// touches says what of the machine this process can touch.
func touches(file string) string {
	var can []string
	try := func(what string, err error) {
		if err == nil {
			can = append(can, what)
		}
	}
	_, err := os.ReadFile(file)
	try("read", err)
	try("write", os.WriteFile(filepath.Join(filepath.Dir(file), "new"), nil, 0o600))
	_, err = net.Listen("tcp", "127.0.0.1:0")
	try("listen", err)
	return strings.Join(can, " ")
}

// lost says that the device of this process is.
var lost atomic.Bool

type testDevice struct{}

func (testDevice) Properties() sdk.DeviceProperties {
	return sdk.DeviceProperties{Name: fmt.Sprint("process ", os.Getpid()), Stage: "text"}
}
func (testDevice) Close() error { return nil }

func (testDevice) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	if name == "crash" {
		go panic("out of luck") // where the SDK does not catch it
		select {}
	}
	return &hostMemory{make([]byte, size)}, nil
}

type hostMemory struct{ p []byte }

func (m *hostMemory) Addr() uint64 { return 256 }
func (m *hostMemory) Free() error  { return nil }

func (m *hostMemory) Write(_ context.Context, offset int64, p []byte) error {
	copy(m.p[offset:], p)
	return nil
}

func (m *hostMemory) Read(_ context.Context, offset int64, p []byte) error {
	copy(p, m.p[offset:])
	return nil
}

func (testDevice) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	return testKernel(b.Code), nil
}

type testKernel string

// inside is how many launches of "alone" are under way.
var inside atomic.Int32

func (k testKernel) Launch(_ context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	var r sdk.DeviceResult
	if lost.Load() {
		return r, sdk.ErrDeviceLost
	}
	switch k {
	case "copy": // the second argument's bytes over the first one's
		copy(l.Args[0].Buffer.(*hostMemory).p, l.Args[1].Scalar)
	case "fault":
		r.Fault = []sdk.Diagnostic{{Message: "a misstep"}}
	case "talks": // as a vendor's library does, past Go's os.Stderr
		stderr := os.NewFile(2, "stderr")
		for i := range 2000 {
			fmt.Fprintf(stderr, "line %d\n", i)
		}
		fmt.Fprint(stderr, "and no more")
		fallthrough
	case "lost":
		r.Fault, r.Lost = []sdk.Diagnostic{{Message: "a fall"}}, true
		lost.Store(true)
		time.Sleep(5 * time.Millisecond) // the others are told first
	case "alone": // the SDK's promise
		if inside.Add(1) > 1 {
			r.Fault = []sdk.Diagnostic{{Message: "two launches at once"}}
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
	case "sleep":
		time.Sleep(time.Hour)
	}
	r.Output = []byte(k + " was here\n")
	return r, nil
}

// testHost is a host with the driver "test" in this program.
func testHost(t *testing.T, env ...string) *remote.Driver {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, name := t.TempDir(), remote.Prefix+"test"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
		t.Fatal(err)
	}
	h := remote.New(remote.Options{Dirs: []string{dir}, Env: append(os.Environ(), env...)})
	t.Cleanup(func() { h.Close() })
	if len(h.Drivers()) != 1 {
		t.Fatal(h.Drivers())
	}
	d, err := h.Driver("test")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openTest(t *testing.T, d *remote.Driver, out *bytes.Buffer) driver.Device {
	t.Helper()
	dev, err := d.Open(t.Context(), 0, sdk.Target{}, out)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

func run(ctx context.Context, dev driver.Device, kernel string, args ...any) (*driver.Result, error) {
	k, err := dev.Load(driver.Binary{Code: []byte(kernel), Metadata: driver.Metadata{Kernel: kernel}})
	if err != nil {
		return nil, err
	}
	return k.Launch(ctx, driver.Launch{Grid: [3]int{1, 1, 1}, Args: args})
}

func TestProcess(t *testing.T) {
	d := testHost(t, "TEST_NAME=of the environment")
	facts, err := d.Describe(t.Context())
	if err != nil || facts.Devices[0].Name != "of the environment" || d.Name() != "test" {
		t.Fatalf("%+v, %v", facts, err)
	}
	var out bytes.Buffer
	dev, other := openTest(t, d, &out), openTest(t, d, silent())
	if dev.Properties().Name != other.Properties().Name {
		t.Error("two devices of one driver have a process each")
	}
	b, err := dev.Alloc("x", 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(0, []byte("abcdefgh")); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), dev, "copy", b, int32(0x2b2d2b2d)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 8)
	if err := b.Read(0, got); err != nil || string(got) != "-+-+efgh" || out.String() != "copy was here\n" {
		t.Errorf("%q, %v, printed %q", got, err, out.String())
	}
	if _, err := run(t.Context(), other, "copy", b, int32(0)); err == nil || !strings.Contains(err.Error(), "argument 0 of copy: it is memory of another device") {
		t.Error(err)
	}
	_, err = d.Open(t.Context(), 1, sdk.Target{}, nil)
	wants(t, err, "device driver test: the device sleeps")
}

func silent() *bytes.Buffer { return &bytes.Buffer{} }

// TestLost: a fault costs the process where the driver says so, and only there.
func TestLost(t *testing.T) {
	d := testHost(t)
	dev, other := openTest(t, d, silent()), openTest(t, d, silent())
	r, err := run(t.Context(), dev, "fault")
	var fault *driver.Fault
	if !errors.As(err, &fault) || fault.Kernel != "fault" || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if _, err := dev.Alloc("x", 1); err != nil {
		t.Error("after a fault:", err)
	}
	if r, err = run(t.Context(), dev, "lost"); !errors.As(err, &fault) || r != nil {
		t.Fatalf("%v, %v", r, err)
	}
	for _, gone := range []driver.Device{dev, other} {
		_, err := gone.Alloc("x", 1)
		wants(t, err, "device driver test: the device was lost in an earlier launch")
	}
	if openTest(t, d, silent()).Properties().Name == dev.Properties().Name {
		t.Error("a lost process goes on")
	}
}

// TestGoroutines: a driver sees the calls for a device one after the other, whoever
// makes them; and who waits for a launch may give up.
func TestGoroutines(t *testing.T) {
	var out bytes.Buffer
	dev := openTest(t, testHost(t), &out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := run(t.Context(), dev, "alone"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if want := strings.Repeat("alone was here\n", 8); out.String() != want {
		t.Errorf("%q", out.String())
	}
	waits, err := dev.Load(driver.Binary{Code: []byte("alone")})
	if err != nil {
		t.Fatal(err)
	}
	sleeping, wake := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := run(sleeping, dev, "sleep"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for err == nil { // until one waits for the sleeper
		_, err = waits.Launch(short, driver.Launch{Grid: [3]int{1, 1, 1}})
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	wake()
	wg.Wait()
}

// TestLastWords: what a driver wrote before it lost the device is in the report
// to the end, though its answer comes by another way and may be faster.
func TestLastWords(t *testing.T) {
	d := testHost(t)
	for range 5 {
		_, err := run(t.Context(), openTest(t, d, silent()), "talks")
		var fault *driver.Fault
		if !errors.As(err, &fault) || len(fault.Findings[0].Notes) != 1 {
			t.Fatalf("%#v", err)
		}
		if said := fault.Findings[0].Notes[0].Message; !strings.HasSuffix(said, "| line 1999\n  | and no more") {
			t.Errorf("%q", said)
		}
	}
}

// TestLostTogether: of devices that are used at once, one has the fault, and the
// others may try again.
func TestLostTogether(t *testing.T) {
	d := testHost(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				dev, err := d.Open(t.Context(), 0, sdk.Target{}, nil)
				if err == nil {
					_, err = dev.Alloc("x", 100)
				}
				if err == nil {
					_, err = run(t.Context(), dev, "nothing")
				}
				if err != nil && !errors.Is(err, driver.ErrLost) {
					t.Errorf("innocent, and gets %v", err)
				}
			}
		})
	}
	for range 3 {
		dev, err := d.Open(t.Context(), 0, sdk.Target{}, nil)
		if err == nil {
			_, err = run(t.Context(), dev, "lost")
		}
		var fault *driver.Fault
		if !errors.As(err, &fault) {
			t.Errorf("guilty, and gets %v", err)
		}
	}
	wg.Wait()
}

func TestCancelledLaunch(t *testing.T) {
	d := testHost(t)
	dev := openTest(t, d, silent())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := run(ctx, dev, "sleep"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := run(t.Context(), openTest(t, d, silent()), "nothing"); err != nil {
		t.Error(err)
	}
}

// TestCrash: a driver that dies in a call, and one that does not start.
func TestCrash(t *testing.T) {
	d := testHost(t)
	dev := openTest(t, d, silent())
	_, err := dev.Alloc("crash", 1)
	wants(t, err, "device driver test died during Alloc (exit status 2; ", "panic: out of luck")
	if _, err := openTest(t, d, silent()).Alloc("x", 1); err != nil {
		t.Error("the next one:", err)
	}
	_, err = testHost(t, "TEST_DRIVER=broken").Describe(t.Context())
	wants(t, err, "ended before the handshake (exit status 127)", "libfoo.so: cannot open")
}

// TestArguments: the bytes of each type of number.
// TestStream: the protocol has no streams.
func TestStream(t *testing.T) {
	k, err := openTest(t, testHost(t), silent()).Load(driver.Binary{Name: "nothing", Code: []byte("nothing")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Launch(t.Context(), driver.Launch{Grid: [3]int{1, 1, 1}, Stream: struct{ driver.Stream }{}})
	if wants(t, err, "launching nothing on a stream"); !errors.Is(err, driver.ErrNoStreams) {
		t.Errorf("%#v", err)
	}
}

func TestArguments(t *testing.T) {
	dev := openTest(t, testHost(t), silent())
	for _, tt := range []struct {
		arg  any
		want string
	}{
		{true, "\x01"},
		{false, "\x00"},
		{int8(-2), "\xfe"},
		{uint8(200), "\xc8"},
		{int16(-2), "\xfe\xff"},
		{uint16(0x1234), "\x34\x12"},
		{int32(-2), "\xfe\xff\xff\xff"},
		{uint32(1 << 31), "\x00\x00\x00\x80"},
		{int64(-2), "\xfe\xff\xff\xff\xff\xff\xff\xff"},
		{uint64(1 << 63), "\x00\x00\x00\x00\x00\x00\x00\x80"},
		{1, "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{float32(1), "\x00\x00\x80\x3f"},
		{1.0, "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
		{nil, ""},
	} {
		b, err := dev.Alloc("x", 9)
		if err != nil {
			t.Fatal(err)
		}
		got, before := make([]byte, 9), bytes.Repeat([]byte{'?'}, 9)
		if err := b.Write(0, before); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), dev, "copy", b, tt.arg); err != nil {
			t.Fatal(err)
		}
		if err := b.Read(0, got); err != nil || !slices.Equal(got, append([]byte(tt.want), before[len(tt.want):]...)) {
			t.Errorf("%T %v: %q, %v", tt.arg, tt.arg, got, err)
		}
	}
}
