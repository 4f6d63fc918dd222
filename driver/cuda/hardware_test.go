package cuda_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/cuda"
)

// hardware skips a test that needs a GPU:
//
//	eval "$(scripts/device-cuda.sh --env)" && cd driver/cuda && go test -run Hardware -v .
func hardware(t *testing.T) *cuda.Device {
	t.Helper()
	if os.Getenv("STANDIN_LOG") != "" {
		t.Skip("this needs a GPU, and CUDA's library is a stand-in")
	}
	d, err := cuda.Open(0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// accumulate adds x to out, and stray stores to address 16.
const (
	accumulate = `.version 7.0
.target sm_70
.address_size 64
.visible .entry accumulate(.param .u64 x, .param .u64 out, .param .u32 n, .param .u64 scratch, .param .u64 profile)
.reqntid 64
{
	.reg .pred %p;
	.reg .b32 %r<5>;
	.reg .f32 %f<4>;
	.reg .b64 %d<6>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %tid.x;
	mad.lo.s32 %r3, %r1, 64, %r2;
	ld.param.u32 %r4, [n];
	setp.ge.s32 %p, %r3, %r4;
	@%p ret;
	mul.wide.s32 %d1, %r3, 4;
	ld.param.u64 %d2, [x];
	ld.param.u64 %d3, [out];
	add.s64 %d4, %d2, %d1;
	add.s64 %d5, %d3, %d1;
	ld.global.f32 %f1, [%d4];
	ld.global.f32 %f2, [%d5];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%d5], %f3;
	ret;
}
`
	stray = `.version 7.0
.target sm_70
.address_size 64
.visible .entry stray(.param .u64 scratch, .param .u64 profile)
.reqntid 64
{
	.reg .b64 %d;
	.reg .b32 %r;
	mov.u64 %d, 16;
	mov.u32 %r, 1;
	st.global.u32 [%d], %r;
	ret;
}
`
)

func hardwareKernel(t *testing.T, d *cuda.Device, name, code string) driver.Kernel {
	t.Helper()
	k, err := d.Load(driver.Binary{Name: name + ".ptx", Code: []byte(code)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestHardware counts what launches in all ways add up to.
func TestHardware(t *testing.T) {
	d := hardware(t)
	const n = 1 << 20
	before, err := d.FreeMemory()
	if err != nil {
		t.Fatal(err)
	}
	x, out := alloc(t, d, "x", 4*n), alloc(t, d, "out", 4*n)
	data := make([]byte, 4*n)
	if err := out.Write(0, data); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i%7)))
	}
	if err := x.Write(0, data); err != nil {
		t.Fatal(err)
	}
	k := hardwareKernel(t, d, "accumulate", accumulate)
	l := driver.Launch{Grid: [3]int{n / 64, 1, 1}, Args: []any{x, out, int32(n)}}
	launches := 0
	expect := func(how string) {
		t.Helper()
		if err := out.Read(0, data); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if got, want := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])), float32(i%7*launches); got != want {
				t.Fatalf("%s: element %d is %v, want %v", how, i, got, want)
			}
		}
	}
	r, err := k.Launch(t.Context(), l)
	if err != nil || r.Time <= 0 {
		t.Fatal(r, err)
	}
	t.Log("a launch took", r.Time)
	launches++
	expect("waited for")

	s := stream(t, d)
	onStream := l
	onStream.Stream = s
	for range 100 {
		if _, err := k.Launch(t.Context(), onStream); err != nil {
			t.Fatal(err)
		}
	}
	launches += 100
	expect("on a stream, and read without Sync")
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}

	g, err := s.Capture(func() error {
		for range 3 {
			if _, err := k.Launch(t.Context(), onStream); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expect("captured")
	var ev [2]*cuda.Event
	for i := range ev {
		if ev[i], err = d.NewEvent(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ev[0].Record(s), g.Launch(s), g.Launch(s), ev[1].Record(s), ev[1].Sync(t.Context())); err != nil {
		t.Fatal(err)
	}
	if took, err := ev[1].Since(ev[0]); err != nil || took <= 0 {
		t.Error(took, err)
	} else {
		t.Log("six launches of two replays took", took)
	}
	launches += 6
	expect("replayed")

	for _, timing := range []driver.Timing{{Runs: 20, Warmup: 5, Flush: 256 << 20}, {Runs: 20, Warmup: 5}, {Runs: 20, Graph: true}} {
		times, err := d.Time(t.Context(), k, l, timing)
		if err != nil || slices.Min(times) <= 0 {
			t.Fatal(times, err)
		}
		t.Logf("%+v: from %s to %s", timing, slices.Min(times), slices.Max(times))
		if timing.Graph {
			launches += timing.Warmup + timing.Runs*driver.GraphReplays
		} else {
			launches += timing.Warmup + timing.Runs
		}
	}
	expect("measured")
	if err := errors.Join(g.Close(), ev[0].Close(), ev[1].Close(), s.Close(), x.Free(), out.Free(), d.Close()); err != nil {
		t.Error(err)
	}
	again := hardware(t)
	if after, err := again.FreeMemory(); err != nil || after < before-(4<<20) {
		t.Errorf("%d bytes were free before, %d are after; %v", before, after, err)
	}
}

// TestHardwareFault: a store astray is one fault that names the kernel, and the end of
// the device in this process, which is one of the test's own.
func TestHardwareFault(t *testing.T) {
	const alone = "CUDA_TEST_FAULT"
	d := hardware(t)
	if os.Getenv(alone) == "" {
		self := exec.Command(os.Args[0], "-test.run=^TestHardwareFault$", "-test.v")
		self.Env = append(os.Environ(), alone+"=1")
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := stream(t, d)
	k := hardwareKernel(t, d, "stray", stray)
	if _, err := k.Launch(t.Context(), driver.Launch{Grid: one, Stream: s}); err != nil {
		t.Fatal(err)
	}
	err := s.Sync(t.Context())
	var fault *driver.Fault
	if wants(t, err, "kernel stray: CUDA_ERROR_ILLEGAL_ADDRESS"); !errors.As(err, &fault) || fault.Kernel != "stray" {
		t.Errorf("%#v", err)
	}
	if _, err := d.Alloc("x", 1); !errors.Is(err, driver.ErrLost) {
		t.Error(err)
	}
	if _, err := k.Launch(t.Context(), driver.Launch{Grid: one}); !errors.Is(err, driver.ErrLost) {
		t.Error(err)
	}
}
