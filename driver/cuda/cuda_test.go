package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/cuda"
	"github.com/tritonc/tritonc/driver/kernel"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// standin skips a test that knows what the stand-in for CUDA's library does with a
// kernel of some name. TestInProcess in internal/cudastandin runs these tests with it.
func standin(t *testing.T) {
	t.Helper()
	if os.Getenv("STANDIN_LOG") == "" {
		t.Skip("this needs the stand-in for CUDA's library")
	}
	logged(t)
}

// logged is what the stand-in wrote since the last time.
func logged(t *testing.T) string {
	t.Helper()
	path := os.Getenv("STANDIN_LOG")
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(path)
	return string(text)
}

// ptx is a module with one kernel whose parameters have the given types; the two
// for scratch memory follow.
func ptx(name string, types ...string) []byte {
	var params []string
	for i, typ := range append(types, "u64", "u64") {
		params = append(params, fmt.Sprintf("\t.param .%s %s_param_%d", typ, name, i))
	}
	return fmt.Appendf(nil, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry %s(\n%s\n)\n.reqntid 64\n{\n\tret;\n}\n",
		name, strings.Join(params, ",\n"))
}

func open(t testing.TB, number int) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func load(t testing.TB, d *cuda.Device, m driver.Metadata, name string, types ...string) driver.Kernel {
	t.Helper()
	k, err := d.Load(driver.Binary{Name: name + ".ptx", Code: ptx(name, types...), Metadata: m})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func alloc(t testing.TB, d *cuda.Device, name string, size int) *cuda.Buffer {
	t.Helper()
	b, err := d.Alloc(name, size)
	if err != nil {
		t.Fatal(err)
	}
	return b.(*cuda.Buffer)
}

func stream(t testing.TB, d *cuda.Device) *cuda.Stream {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wants(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want %q", texts)
		return
	}
	said := err.Error()
	for _, d := range diag.All(err) {
		said += "\n" + d.Help
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q does not say %q", said, text)
		}
	}
}

var one = [3]int{1, 1, 1}

// must launches a kernel on a stream, or waits for it where that is nil.
func must(t testing.TB, k driver.Kernel, s *cuda.Stream, args ...any) *driver.Result {
	t.Helper()
	l := driver.Launch{Grid: one, Args: args}
	if s != nil {
		l.Stream = s
	}
	r, err := k.Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDevice(t *testing.T) {
	standin(t)
	all, err := cuda.Devices()
	if err != nil || len(all) != 1 || all[0].Name != "Stand-in 0" || all[0].Target.String() != "cuda:90:32" || all[0].Multiprocessors != 132 {
		t.Errorf("%+v, %v", all, err)
	}
	if p := open(t, 0).Properties(); p != all[0] || p.Stage != "cubin" || p.Memory != 1<<30 {
		t.Errorf("%+v", p)
	}
	for arch, want := range map[string]string{"90": "cubin", "90a": "cubin", "80": "ptx"} {
		target := sdk.Target{Backend: "cuda", Arch: arch}
		d, err := cuda.OpenWith(0, cuda.Options{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		if p := d.Properties(); p.Stage != want || p.Target != target {
			t.Errorf("%s: %+v", arch, p)
		}
	}
	for _, target := range []sdk.Target{{Backend: "cuda", Arch: "100"}, {Backend: "hip", Arch: "gfx942"}, {Backend: "cuda"}} {
		_, err := cuda.OpenWith(0, cuda.Options{Target: target})
		wants(t, err, "runs no code for "+target.String(), "--target cuda:90")
	}
	_, err = cuda.Open(1)
	wants(t, err, "there is no GPU number 1", "from 0 to 0")
}

// TestLaunch: waited for, a launch has a time; on a stream it makes no event and does
// not wait.
func TestLaunch(t *testing.T) {
	standin(t)
	d := open(t, 0)
	x, y, out := alloc(t, d, "x", 16), alloc(t, d, "y", 16), alloc(t, d, "out", 16)
	if err := x.Write(0, []byte("\x00\x00\x80\x3f\x00\x00\x00\x40")); err != nil { // 1, 2
		t.Fatal(err)
	}
	if err := y.Write(0, []byte("\x00\x00\x80\x3f\x00\x00\x80\x3f")); err != nil { // 1, 1
		t.Fatal(err)
	}
	add := load(t, d, driver.Metadata{}, "add", "u64", "u64", "u64", "u32")
	if r := must(t, add, nil, x, y, out, int32(2)); r.Time != 1500*time.Microsecond {
		t.Errorf("it took %s", r.Time)
	}
	got := make([]byte, 8)
	if err := out.Read(0, got); err != nil || string(got) != "\x00\x00\x00\x40\x00\x00\x40\x40" { // 2, 3
		t.Errorf("%x, %v", got, err)
	}
	s := stream(t, d)
	logged(t)
	for range 3 {
		if r := must(t, add, s, x, y, out, int32(0)); r.Time != 0 {
			t.Errorf("it took %s", r.Time)
		}
	}
	if log := logged(t); strings.Count(log, "launch add") != 3 || strings.Count(log, "\n") != 3 {
		t.Error(log)
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	standin(t)
	d := open(t, 0)
	k := load(t, d, driver.Metadata{}, "k", "u8", "s8", "u16", "s32", "f32", "f64", "u64", "u64")
	must(t, k, nil, true, int8(-2), uint16(0x3c00), int32(-4), float32(1), 1.0, -1, nil)
	if log := logged(t); !strings.Contains(log, "params= 1 fe 3c00 fffffffc 3f800000 3ff0000000000000 ffffffffffffffff 0 0 0\n") {
		t.Error(log)
	}
	k = load(t, d, driver.Metadata{}, "k", "u64", "u32")
	x := alloc(t, d, "x", 16)
	launch := func(grid [3]int, args ...any) error {
		_, err := k.Launch(t.Context(), driver.Launch{Grid: grid, Args: args})
		return err
	}
	wants(t, launch(one, x), "kernel k takes 2 arguments, given 1")
	wants(t, launch(one, x, int64(1)), "argument 1 of kernel k has 4 bytes, given 8")
	wants(t, launch(one, x, "y"), "argument 1 of kernel k: a string cannot be passed to a kernel")
	wants(t, launch([3]int{0, 1, 1}, x, int32(1)), "grid dimension x is 0: it must be from 1 to 2147483647")
	wants(t, launch([3]int{1, 1, 65536}, x, int32(1)), "grid dimension z is 65536")
	wants(t, launch(one, other{}, int32(1)), "argument 0 of kernel k: it is memory of another device")
	_, err := k.Launch(t.Context(), driver.Launch{Grid: one, Args: []any{x, int32(1)}, Stream: otherStream{}})
	wants(t, err, "the stream is one of another device")
	wants(t, x.Write(10, make([]byte, 7)), "bytes 10 to 17 of x, which has 16")
	wants(t, x.Read(-1, make([]byte, 1)), "of x, which has 16")
	if err := x.Free(); err != nil {
		t.Error(err)
	}
	wants(t, x.Free(), "memory x was freed before")
	wants(t, x.Read(0, make([]byte, 1)), "memory x was freed")
	wants(t, launch(one, x, int32(1)), "argument 0 of kernel k: memory x was freed")
	if log := logged(t); strings.Contains(log, "launch") {
		t.Error(log)
	}
}

type (
	other       struct{ driver.Buffer }
	otherStream struct{ driver.Stream }
)

// TestResources: what the GPU cannot run is refused as Triton does.
func TestResources(t *testing.T) {
	standin(t)
	d := open(t, 0)
	for want, m := range map[string]driver.Metadata{
		"out of resource: shared memory, Required: 233472, Hardware limit: 232448": {Shared: 228 << 10},
		"out of resource: threads, Required: 1024, Hardware limit: 512":            {NumWarps: 32},
	} {
		_, err := d.Load(driver.Binary{Name: "k.ptx", Code: ptx("k"), Metadata: m})
		var e *driver.OutOfResources
		if wants(t, err, "kernel k on the Stand-in 0: "+want); !errors.As(err, &e) {
			t.Errorf("%#v", err)
		}
	}
}

// TestClose: a device leaves nothing, and what it made is of no more use.
func TestClose(t *testing.T) {
	standin(t)
	before, err := open(t, 0).FreeMemory()
	if err != nil {
		t.Fatal(err)
	}
	d, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	x := alloc(t, d, "x", 1<<20)
	k := load(t, d, driver.Metadata{GlobalScratch: 100, GlobalScratchAlign: 128}, "k", "u64")
	s := stream(t, d)
	e, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Capture(func() error {
		_, err := k.Launch(t.Context(), driver.Launch{Grid: one, Args: []any{x}, Stream: s})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	must(t, k, s, x)
	must(t, k, nil, x)
	if _, err := d.Time(t.Context(), k, driver.Launch{Grid: one, Args: []any{x}}, driver.Timing{Runs: 1, Flush: 4096}); err != nil {
		t.Error(err)
	}
	logged(t)
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if log := logged(t); strings.Count(log, "stream ends") != 1 || strings.Count(log, "graph ends") != 1 || strings.Count(log, "unload") != 1 {
		t.Error(log)
	}
	if after, err := open(t, 0).FreeMemory(); err != nil || after != before {
		t.Errorf("%d bytes were free, %d are; %v", before, after, err)
	}
	if err := errors.Join(g.Close(), e.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	_, err = k.Launch(t.Context(), driver.Launch{Grid: one, Args: []any{nil}})
	wants(t, err, "kernel k was unloaded, or its device closed")
	wants(t, x.Read(0, make([]byte, 1)), "memory x was freed")
	_, err = d.Alloc("y", 1)
	wants(t, err, "the device was closed")
}

// TestScratch: launches of a stream share scratch memory, which is that of the largest.
func TestScratch(t *testing.T) {
	standin(t)
	d := open(t, 0)
	k := load(t, d, driver.Metadata{GlobalScratch: 1000, GlobalScratchAlign: 128, PDL: true}, "k")
	s := stream(t, d)
	address := regexp.MustCompile(`(early=1 )?launch k .* params= ([0-9a-f]+) 0\n`)
	seen := map[string]int{}
	before, err := d.FreeMemory()
	if err != nil {
		t.Fatal(err)
	}
	for _, blocks := range []int{5, 1, 5} {
		if _, err := k.Launch(t.Context(), driver.Launch{Grid: [3]int{blocks, 1, 1}, Stream: s}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range address.FindAllStringSubmatch(logged(t), -1) {
		if m[1] != "" {
			t.Error("a kernel with scratch memory starts before the one before it ended")
		}
		seen[m[2]]++
	}
	if len(seen) != 1 {
		t.Errorf("scratch memory at %v", seen)
	}
	after, err := d.FreeMemory()
	if used := before - after; err != nil || used != 5*1000+127 {
		t.Errorf("%d bytes of scratch memory, %v", used, err)
	}
}

// TestGraph: what is launched within Capture is counted, not run again, and replayed.
func TestGraph(t *testing.T) {
	standin(t)
	d := open(t, 0)
	x := alloc(t, d, "x", 16)
	k := load(t, d, driver.Metadata{}, "k", "u64")
	s := stream(t, d)
	launch := func() error {
		_, err := k.Launch(t.Context(), driver.Launch{Grid: one, Args: []any{x}, Stream: s})
		return err
	}
	g, err := s.Capture(func() error { return errors.Join(launch(), launch()) })
	if err != nil {
		t.Fatal(err)
	}
	logged(t)
	if err := errors.Join(g.Launch(s), g.Launch(s), s.Sync(t.Context())); err != nil {
		t.Error(err)
	}
	if log := logged(t); log != strings.Repeat("replay of 2\n", 2) {
		t.Error(log)
	}
	if _, err := s.Capture(func() error { return errors.New("second thoughts") }); err == nil || err.Error() != "second thoughts" {
		t.Error(err)
	}
	if err := errors.Join(launch(), s.Sync(t.Context())); err != nil {
		t.Error("after a capture that failed:", err)
	}
	_, err = s.Capture(func() error {
		_, err := s.Capture(func() error { return nil })
		return err
	})
	wants(t, err, "the stream is being captured already")
	if err := x.Free(); err != nil {
		t.Error(err)
	}
	wants(t, g.Launch(s), "memory x was freed")
}

func TestEvents(t *testing.T) {
	standin(t)
	d := open(t, 0)
	s, other := stream(t, d), stream(t, d)
	var e [2]*cuda.Event
	for i := range e {
		var err error
		if e[i], err = d.NewEvent(); err != nil {
			t.Fatal(err)
		}
		if err := e[i].Record(s); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(other.Wait(e[1]), e[1].Sync(t.Context())); err != nil {
		t.Error(err)
	}
	if log := logged(t); !strings.Contains(log, "wait\n") {
		t.Error(log)
	}
	if took, err := e[1].Since(e[0]); err != nil || took != 1500*time.Microsecond {
		t.Errorf("%s, %v", took, err)
	}
	if err := errors.Join(e[0].Close(), e[1].Close(), e[1].Close()); err != nil {
		t.Error(err)
	}
}

func TestTime(t *testing.T) {
	standin(t)
	d := open(t, 0)
	k := load(t, d, driver.Metadata{}, "k")
	for _, tt := range []struct {
		driver.Timing
		n int
	}{{driver.Timing{Runs: 4, Warmup: 1, Flush: 1 << 20}, 4}, {driver.Timing{Runs: 3, Graph: true}, driver.GraphReplays}, {driver.Timing{Runs: 3, Flush: 1 << 20, Together: true}, 1}} {
		times, err := d.Time(t.Context(), k, driver.Launch{Grid: one}, tt.Timing)
		if err != nil || len(times) != tt.n || slices.Min(times) <= 0 {
			t.Errorf("%+v: %v, %v", tt.Timing, times, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Time(ctx, k, driver.Launch{Grid: one}, driver.Timing{Runs: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConcurrent: goroutines launch one kernel on streams of their own.
func TestConcurrent(t *testing.T) {
	standin(t)
	d := open(t, 0)
	k := load(t, d, driver.Metadata{}, "add", "u64", "u64", "u64", "u32")
	var wait sync.WaitGroup
	for i := range 4 {
		x, out, s := alloc(t, d, "x", 4), alloc(t, d, "out", 4), stream(t, d)
		wait.Go(func() {
			for n := range 50 {
				in, got := []byte{byte(n), byte(i), 0x80, 0x3f}, make([]byte, 4)
				if err := errors.Join(x.Write(0, in), out.Write(0, make([]byte, 4))); err != nil {
					t.Error(err)
				}
				if _, err := k.Launch(t.Context(), driver.Launch{Grid: one, Args: []any{x, out, out, int32(1)}, Stream: s}); err != nil {
					t.Error(err)
				}
				if err := errors.Join(s.Sync(t.Context()), out.Read(0, got)); err != nil || !slices.Equal(in, got) {
					t.Errorf("%x, want %x; %v", got, in, err)
				}
			}
		})
	}
	wait.Wait()
}

// alone runs a part of a test in a process of its own, whose GPU it may lose.
func alone(t *testing.T, env ...string) bool {
	t.Helper()
	standin(t)
	if os.Getenv("CUDA_TEST_ALONE") == t.Name() {
		return true
	}
	self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	self.Env = append(append(os.Environ(), "CUDA_TEST_ALONE="+t.Name()), env...)
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestFault: the fault names the kernel that was launched, whichever call tells of it,
// and from then on the device is lost to all.
func TestFault(t *testing.T) {
	if !alone(t) {
		return
	}
	d, before := open(t, 0), open(t, 0)
	x := alloc(t, d, "x", 16)
	s := stream(t, d)
	good, bad := load(t, d, driver.Metadata{}, "good"), load(t, d, driver.Metadata{}, "fault")
	must(t, good, s)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, bad, s)
	_, err := good.Launch(t.Context(), driver.Launch{Grid: one, Stream: s})
	var fault *driver.Fault
	if !errors.As(err, &fault) || fault.Kernel != "fault" || !d.Lost() {
		t.Fatalf("%v", err)
	}
	wants(t, err, "kernel fault: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)", "--device sim")
	_, allocErr := d.Alloc("y", 1)
	_, otherErr := before.NewStream()
	_, openErr := cuda.Open(0)
	_, launchErr := good.Launch(t.Context(), driver.Launch{Grid: one})
	_, timeErr := d.Time(t.Context(), good, driver.Launch{Grid: one}, driver.Timing{Runs: 1})
	for i, err := range []error{allocErr, otherErr, openErr, launchErr, timeErr, s.Sync(t.Context()), x.Read(0, make([]byte, 1))} {
		if wants(t, err, "GPU 0, Stand-in 0: the device was lost in an earlier launch"); !errors.Is(err, driver.ErrLost) || errors.As(err, &fault) {
			t.Errorf("call %d: %#v", i, err)
		}
	}
	if err := errors.Join(x.Free(), s.Close(), d.Close()); err != nil {
		t.Error("giving back:", err)
	}
}

// TestFaultWaited: a launch that is waited for tells of its fault itself.
func TestFaultWaited(t *testing.T) {
	if !alone(t) {
		return
	}
	d := open(t, 0)
	r, err := load(t, d, driver.Metadata{}, "fault").Launch(t.Context(), driver.Launch{Grid: one})
	if wants(t, err, "kernel fault: CUDA_ERROR_ILLEGAL_ADDRESS"); r != nil {
		t.Errorf("%+v", r)
	}
	_, err = d.NewEvent()
	wants(t, err, "the device was lost")
}

// TestFaultOfSeveral: where the fault is one of several kernels, all are named.
func TestFaultOfSeveral(t *testing.T) {
	if !alone(t) {
		return
	}
	d := open(t, 0)
	s := stream(t, d)
	must(t, load(t, d, driver.Metadata{}, "good"), s)
	must(t, load(t, d, driver.Metadata{}, "fault"), s)
	wants(t, s.Sync(t.Context()), "kernel fault or good: CUDA_ERROR_ILLEGAL_ADDRESS")
}

// TestGone: a GPU that falls off the bus.
func TestGone(t *testing.T) {
	if !alone(t, "STANDIN_FAIL=cuStreamSynchronize=46") {
		return
	}
	d := open(t, 0)
	_, err := load(t, d, driver.Metadata{}, "k").Launch(t.Context(), driver.Launch{Grid: one})
	wants(t, err, "kernel k: CUDA_ERROR_DEVICE_UNAVAILABLE")
	_, err = d.Alloc("x", 1)
	wants(t, err, "the device was lost")
}

// TestGoneAtLaunch: nothing else ran, so the kernel that is launched is named.
func TestGoneAtLaunch(t *testing.T) {
	if !alone(t, "STANDIN_FAIL=cuLaunchKernel=719") {
		return
	}
	d := open(t, 0)
	k := load(t, d, driver.Metadata{}, "k")
	_, err := k.Launch(t.Context(), driver.Launch{Grid: one, Stream: stream(t, d)})
	wants(t, err, "kernel k: CUDA_ERROR_LAUNCH_FAILED")
	_, err = k.Launch(t.Context(), driver.Launch{Grid: one})
	wants(t, err, "the device was lost")
}

// TestGoneIdle: no kernel is named where none ran.
func TestGoneIdle(t *testing.T) {
	if !alone(t, "STANDIN_FAIL=cuMemcpyDtoH_v2=214") {
		return
	}
	d := open(t, 0)
	x := alloc(t, d, "x", 4)
	wants(t, x.Read(0, make([]byte, 4)), "copying from x: CUDA_ERROR_ECC_UNCORRECTABLE", "the device is lost")
	wants(t, x.Write(0, make([]byte, 4)), "the device was lost")
}

// TestCancel: a kernel that never ends keeps the GPU, not the goroutine.
func TestCancel(t *testing.T) {
	if !alone(t) {
		return
	}
	d, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	k := load(t, d, driver.Metadata{}, "spin")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := k.Launch(ctx, driver.Launch{Grid: one}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestPeers: GPUs of even numbers are connected in the stand-in.
func TestPeers(t *testing.T) {
	if !alone(t, "STANDIN_DEVICES=3") {
		return
	}
	d := []*cuda.Device{open(t, 0), open(t, 1), open(t, 2)}
	x := alloc(t, d[0], "x", 16)
	y := []*cuda.Buffer{nil, alloc(t, d[1], "y1", 16), alloc(t, d[2], "y2", 16)}
	if err := x.Write(0, []byte("0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	k := load(t, d[0], driver.Metadata{}, "k", "u64")
	for i := 1; i < 3; i++ {
		_, err := k.Launch(t.Context(), driver.Launch{Grid: one, Args: []any{y[i]}})
		wants(t, err, fmt.Sprintf("y%d is memory of GPU %d, and the kernel runs on GPU 0", i, i), "EnablePeer")
		got := make([]byte, 4)
		if err := errors.Join(cuda.CopyPeer(y[i], 2, x, 10, 4), y[i].Read(2, got)); err != nil || string(got) != "abcd" {
			t.Errorf("%q, %v", got, err)
		}
		if log := logged(t); !strings.Contains(log, fmt.Sprintf("copy 4 from 0 to %d\n", i)) {
			t.Error(log)
		}
	}
	wants(t, d[0].EnablePeer(d[1]), "kernels of GPU 0, Stand-in 0, cannot access memory of GPU 1, Stand-in 1", "CopyPeer")
	if err := errors.Join(d[0].EnablePeer(d[2]), d[0].EnablePeer(d[2]), d[0].EnablePeer(d[0])); err != nil {
		t.Error(err)
	}
	if log := logged(t); log != "peer 0 to 2\n" {
		t.Error(log)
	}
	must(t, k, nil, y[2])
	f, err := kernel.Load(d[0], driver.Binary{Name: "k.ptx", Code: ptx("k", "u64")},
		[]kernel.Passed{{Param: kernel.Param{Name: "y", Type: "*u8"}}})
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, 0)
	for i, dev := range append(d, again) {
		b, err := kernel.Alloc[uint8](dev, 16)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Launch(t.Context(), driver.Launch{Grid: one}, []any{b})
		if i == 1 {
			wants(t, err, "argument y: its buffer is memory of another device")
		} else if err != nil {
			t.Errorf("memory of device %d: %v", i, err)
		}
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
	wants(t, cuda.CopyPeer(x, 0, y[1], 15, 2), "bytes 15 to 17 of y1")
	wants(t, cuda.CopyPeer(x, 0, y[1], 0, -1), "negative size")
}

// TestNoCUDA: a program that imports the package starts without a GPU.
func TestNoCUDA(t *testing.T) {
	if !alone(t, "STANDIN_DEVICES=0") {
		return
	}
	for range 2 {
		_, err := cuda.Open(0)
		wants(t, err, "CUDA cannot be used: cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)")
	}
	_, err := cuda.Devices()
	wants(t, err, "CUDA_ERROR_NO_DEVICE")
}
