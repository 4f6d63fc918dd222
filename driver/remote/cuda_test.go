package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/remote"
	"github.com/tritonc/tritonc/internal/cudastandin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// standin is the driver plugin for NVIDIA GPUs over a stand-in for CUDA.
type standin struct {
	cudastandin.Standin
	log string
}

// host is one whose drivers see further variables.
func (s *standin) host(t *testing.T, env ...string) *remote.Host {
	t.Helper()
	h := remote.New(remote.Options{
		Dirs: []string{s.Plugins},
		Env:  append(os.Environ(), append([]string{"LD_LIBRARY_PATH=" + s.Library, "STANDIN_LOG=" + s.log}, env...)...),
	})
	t.Cleanup(func() { h.Close() })
	return h
}

func (s *standin) open(t *testing.T, ctx context.Context, target string, output *bytes.Buffer, env ...string) (driver.Device, error) {
	t.Helper()
	drv, err := s.host(t, env...).Driver("cuda")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := sdk.ParseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	if output == nil {
		output = &bytes.Buffer{}
	}
	return drv.Open(ctx, 0, parsed, output)
}

func (s *standin) must(t *testing.T, output *bytes.Buffer, env ...string) driver.Device {
	t.Helper()
	dev, err := s.open(t, t.Context(), "cuda:80", output, env...)
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// logged is what the stand-in wrote since the last time.
func (s *standin) logged(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(s.log)
	return string(text)
}

// ptx is a module with one kernel whose parameters have the given types; the two
// for scratch memory follow.
func ptx(name string, types ...string) []byte {
	var params []string
	for i, typ := range append(types, "u64 .ptr .global .align 1", "u64") {
		params = append(params, fmt.Sprintf("\t.param .%s %s_param_%d", typ, name, i))
	}
	return fmt.Appendf(nil, ".version 8.4\n.target sm_80\n.address_size 64\n// .entry of nothing\n.visible .entry %s(\n%s\n)\n.reqntid 64\n{\n\tret;\n}\n",
		name, strings.Join(params, ",\n"))
}

// launch loads a kernel and launches it on memory of a buffer and numbers.
func launch(t *testing.T, dev driver.Device, code []byte, meta driver.Metadata, grid [3]int, args ...any) (*driver.Result, error) {
	t.Helper()
	k, err := dev.Load(driver.Binary{Name: "k.ptx", Code: code, Metadata: meta})
	if err != nil {
		return nil, err
	}
	return k.Launch(t.Context(), driver.Launch{Grid: grid, Args: args})
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

func TestCUDA(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the driver plugin is built for Linux")
	}
	built, missing := cudastandin.Build(t, filepath.Join("..", ".."))
	if missing != "" {
		t.Skip(missing)
	}
	s := &standin{built, filepath.Join(t.TempDir(), "log")}
	tests := []struct {
		name string
		f    func(*testing.T, *standin)
	}{
		{"describe", testDescribe},
		{"add", testAdd},
		{"typed memory", testTyped},
		{"parameters", testParameters},
		{"tensor maps", testTensorMaps},
		{"stages", testStages},
		{"memory", testMemory},
		{"guards", testGuards},
		{"prints", testPrints},
		{"fault", testFault},
		{"lost", testLost},
		{"cancel", testCancel},
		{"times", testTimes},
		{"forms of launches", testForms},
		{"refusals", testRefusals},
		{"errors of CUDA", testErrors},
		{"no CUDA", testNoCUDA},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.logged(t)
			tt.f(t, s)
		})
	}
}

func testDescribe(t *testing.T, s *standin) {
	drv, err := s.host(t, "STANDIN_DEVICES=2", "STANDIN_CC=86").Driver("cuda")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := drv.Describe(t.Context())
	if err != nil || facts.Name != "cuda" || facts.Version != "CUDA 12.4" || len(facts.Devices) != 2 {
		t.Fatalf("%+v, %v", facts, err)
	}
	if d := facts.Devices[1]; d.Name != "Stand-in 1" || d.Target.String() != "cuda:86:32" || d.Memory != 1<<30 || d.Multiprocessors != 132 || d.MaxShared != 227<<10 {
		t.Errorf("%+v", d)
	}
	_, err = drv.Open(t.Context(), 2, facts.Devices[0].Target, nil)
	wants(t, err, "there is no GPU number 2", "from 0 to 1")
}

// testAdd goes all the way: memory there, a launch, memory back, nothing left.
func testAdd(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	p := dev.Properties()
	if p.Name != "Stand-in 0" || p.WarpSize != 32 || p.Multiprocessors != 132 || p.MaxThreads != 1024 || p.MaxShared != 227<<10 || p.Memory != 1<<30 || p.Simulated {
		t.Errorf("%+v", p)
	}
	const n = 1 << 20 // several messages each way
	x, y := array.New(array.Named("fp32"), n), array.New(array.Named("fp32"), n)
	for i := range n {
		x.Set(i, float64(i))
		y.Set(i, 0.5)
	}
	var buffers []any
	for i, a := range []*array.Array{x, y, nil} {
		b, err := dev.Alloc(string("xyo"[i]), 4*n)
		if err != nil {
			t.Fatal(err)
		}
		if b.Addr()%256 != 0 || b.Size() != 4*n {
			t.Errorf("%d bytes at %#x", b.Size(), b.Addr())
		}
		if a != nil {
			if err := b.Write(0, a.Data); err != nil {
				t.Fatal(err)
			}
		}
		buffers = append(buffers, b)
	}
	r, err := launch(t, dev, ptx("add", "u64", "u64", "u64", "u32"), driver.Metadata{NumWarps: 4, Shared: 64 << 10}, [3]int{n / 128, 2, 1}, append(buffers, int32(n))...)
	if err != nil {
		t.Fatal(err)
	}
	if r.Time != 1500*time.Microsecond || r.Report != nil {
		t.Errorf("%+v", r)
	}
	out := array.New(array.Named("fp32"), n)
	if err := buffers[2].(driver.Buffer).Read(0, out.Data); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if want := float64(float32(float64(i) + 0.5)); out.At(i) != want {
			t.Fatalf("element %d is %v, want %v", i, out.At(i), want)
		}
	}
	want := fmt.Sprintf("launch add grid=%d,2,1 block=128,1,1 shared=65536 params= %x %x %x %x 0 0\n", n/128,
		buffers[0].(driver.Buffer).Addr(), buffers[1].(driver.Buffer).Addr(), buffers[2].(driver.Buffer).Addr(), n)
	if log := s.logged(t); !strings.Contains(log, want) {
		t.Errorf("%s\ndoes not have\n%s", log, want)
	}
	if err := buffers[0].(driver.Buffer).Free(); err != nil {
		t.Error(err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	if log := s.logged(t); !strings.Contains(log, "unload\n") || !strings.HasSuffix(log, "free leaves 0 bytes\n") {
		t.Errorf("after the end: %s", log)
	}
}

// testTyped launches through package kernel, on typed memory.
func testTyped(t *testing.T, s *standin) {
	dev, other := s.must(t, nil), s.must(t, nil)
	set := &kernel.Set{
		Name:     "add",
		Params:   []kernel.Param{{Name: "x", Type: "*fp32"}, {Name: "y", Type: "*fp32"}, {Name: "out", Type: "*fp32"}, {Name: "n", Type: "i32"}},
		Variants: []kernel.Variant{{Target: "cuda:80", Stage: "ptx", Metadata: []byte(`{"name": "add", "num_warps": 4}`), Code: ptx("add", "u64", "u64", "u64", "u32")}},
	}
	add, err := set.Load(dev)
	if err != nil {
		t.Fatal(err)
	}
	x, err := kernel.From(dev, []float32{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	out, err := kernel.Alloc[float32](dev, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add.Launch(t.Context(), kernel.Dims(1), x, x, out, 4); err != nil {
		t.Fatal(err)
	}
	if got, err := out.Values(); err != nil || !slices.Equal(got, []float32{2, 4, 6, 8}) {
		t.Errorf("%v, %v", got, err)
	}
	// The second half of the buffer, by its address.
	if _, err := add.Launch(t.Context(), kernel.Dims(1), x.Slice(2, 4), x, out.Slice(2, 4), 2); err != nil {
		t.Fatal(err)
	}
	if got, err := out.Values(); err != nil || !slices.Equal(got, []float32{2, 4, 4, 6}) {
		t.Errorf("%v, %v", got, err)
	}
	far, err := kernel.Alloc[float32](other, 4)
	if err != nil {
		t.Fatal(err)
	}
	_, err = add.Launch(t.Context(), kernel.Dims(1), x, far, out, 4)
	wants(t, err, "argument y: its buffer is memory of another device, the Stand-in 0")
	_, err = add.Launch(t.Context(), kernel.Dims(1, 1, 70000), x, x, out, 4)
	wants(t, err, "grid dimension z is 70000: it must be from 1 to 65535")
}

// testParameters: every type of argument, and scratch memory of a size by grid.
func testParameters(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	code := ptx("many", "u8", "s8", "b8", "u16", "b16", "s32", "f32", "s64", "f64", "u64 .ptr .global .align 16")
	r, err := launch(t, dev, code, driver.Metadata{GlobalScratch: 96, GlobalScratchAlign: 128}, [3]int{3, 2, 2},
		true, int8(-2), uint8(200), int16(-3), uint16(0x3c00), int32(-4), float32(1), int64(-5), math.Pi, nil)
	if err != nil || r == nil {
		t.Fatal(err)
	}
	log := s.logged(t)
	m := regexp.MustCompile(`block=64,1,1 shared=0 params= 1 fe c8 fffd 3c00 fffffffc 3f800000 fffffffffffffffb 400921fb54442d18 0 ([0-9a-f]+) 0\n`).FindStringSubmatch(log)
	if m == nil {
		t.Fatal(log)
	}
	var scratch uint64
	if _, err := fmt.Sscanf(m[1], "%x", &scratch); err != nil || scratch == 0 || scratch%128 != 0 {
		t.Errorf("scratch memory at %#x", scratch)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	if log := s.logged(t); !strings.HasSuffix(log, "free leaves 0 bytes\n") {
		t.Errorf("scratch memory is left: %s", log)
	}
}

// testTensorMaps: a descriptor is encoded by CUDA, in its numbers and its order of
// dimensions, and passed whole between other parameters.
func testTensorMaps(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	b, err := dev.Alloc("x", 4096)
	if err != nil {
		t.Fatal(err)
	}
	m := &driver.TensorMap{
		Buffer: b, Offset: 32, Shape: []int64{5, 24}, Strides: []int64{64, 2}, NaN: true,
		DescriptorMeta: driver.DescriptorMeta{Swizzle: 2, ElemSize: 2, ElemType: 10, Box: []int64{4, 32}},
	}
	code := ptx("map", "u32", "align 64 .b8", "s64")
	code = bytes.Replace(code, []byte("map_param_1"), []byte("map_param_1[128]"), 1)
	if _, err := launch(t, dev, code, driver.Metadata{}, [3]int{1, 1, 1}, int32(7), m, int64(-1)); err != nil {
		t.Fatal(err)
	}
	log := s.logged(t)
	for _, want := range []string{
		fmt.Sprintf("map at=%#x type=9 swizzle=2 fill=1 24:32:1 5:4:1 64\n", b.Addr()+32),
		"params= 7 4d4d4d4d4d4d4d4d ffffffffffffffff 0 0\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%s\ndoes not have\n%s", log, want)
		}
	}
	m.Strides = []int64{40, 2}
	_, err = launch(t, dev, code, driver.Metadata{}, [3]int{1, 1, 1}, int32(7), m, int64(-1))
	wants(t, err, "dimension 0 of a descriptor advances by 40 bytes; it must be a multiple of 16")
	m.Strides = []int64{64, 2}
	_, err = launch(t, dev, ptx("map", "u32", "u64", "s64"), driver.Metadata{}, [3]int{1, 1, 1}, int32(7), m, int64(-1))
	wants(t, err, "argument 1 of kernel map has 8 bytes, given 128")
	dev = s.must(t, nil, "STANDIN_FAIL=cuTensorMapEncodeTiled=1")
	if m.Buffer, err = dev.Alloc("x", 4096); err != nil {
		t.Fatal(err)
	}
	_, err = launch(t, dev, code, driver.Metadata{}, [3]int{1, 1, 1}, int32(7), m, int64(-1))
	wants(t, err, "making the tensor map of argument 1: CUDA_ERROR_INVALID_VALUE")
}

// testStages: what the GPU takes depends on what the code was made for.
func testStages(t *testing.T, s *standin) {
	for target, stage := range map[string]string{"cuda:90": "cubin", "cuda:80": "ptx", "cuda:89:32": "ptx"} {
		dev, err := s.open(t, t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := dev.Properties().Stage; got != stage {
			t.Errorf("%s: %s", target, got)
		}
	}
	_, err := s.open(t, t.Context(), "cuda:100", nil)
	wants(t, err, "has compute capability 9.0 and runs no code for cuda:100", "--target cuda:90")
	_, err = s.open(t, t.Context(), "hip:gfx942", nil)
	wants(t, err, "runs no code for hip:gfx942", "--target cuda:90")
}

func testMemory(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	b, err := dev.Alloc("x", 10)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if err := b.Read(0, got); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{0xff}, 10)) {
		t.Errorf("new memory holds %x, %v", got, err)
	}
	if err := b.Write(3, []byte{1, 2}); err != nil {
		t.Error(err)
	}
	if err := b.Read(2, got[:4]); err != nil || !bytes.Equal(got[:4], []byte{0xff, 1, 2, 0xff}) {
		t.Errorf("%x, %v", got[:4], err)
	}
	wants(t, b.Write(8, got[:3]), "bytes 8 to 11 of x, which has 10")
	wants(t, b.Read(-1, got[:3]), "of x, which has 10")
	empty, err := dev.Alloc("none", 0)
	if err != nil || empty.Read(0, nil) != nil || empty.Write(0, nil) != nil {
		t.Error(err)
	}
	_, err = dev.Alloc("large", 1<<40)
	wants(t, err, "CUDA_ERROR_OUT_OF_MEMORY: large needs 1099511627776 bytes of the Stand-in 0; 1073739")
	_, err = dev.Alloc("large", 1<<30-100)
	wants(t, err, "CUDA_ERROR_OUT_OF_MEMORY: large needs 1073741724 bytes")
	if _, err := dev.Alloc("fits", 1<<20); err != nil {
		t.Error("after a refusal:", err)
	}
}

// testGuards: writes around a buffer are the kernel's fault, once.
func testGuards(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	var b [2]driver.Buffer
	for i := range b {
		var err error
		if b[i], err = dev.Alloc(string("xy"[i]), 1000); err != nil {
			t.Fatal(err)
		}
	}
	r, err := launch(t, dev, ptx("overrun", "u64", "u32"), driver.Metadata{}, [3]int{1, 1, 1}, b[1], int32(1000))
	var fault *driver.Fault
	if !errors.As(err, &fault) || r == nil || fault.Kernel != "k.ptx" {
		t.Fatalf("%v, %v", r, err)
	}
	wants(t, err, "y was written before its start: 8 bytes before it, and after its end: at byte 1002, and it has 1000", "--device sim")
	if _, err := launch(t, dev, ptx("nothing"), driver.Metadata{}, [3]int{1, 1, 1}); err != nil {
		t.Error("the next launch:", err)
	}
}

func testPrints(t *testing.T, s *standin) {
	var out bytes.Buffer
	dev := s.must(t, &out)
	for range 2 {
		if _, err := launch(t, dev, ptx("print"), driver.Metadata{}, [3]int{1, 1, 1}); err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.Repeat("pid (0, 0, 0) is here\nand says so\n", 2); out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// testFault: after an illegal address the process is of no more use; another
// one takes its place.
func testFault(t *testing.T, s *standin) {
	drv, err := s.host(t).Driver("cuda")
	if err != nil {
		t.Fatal(err)
	}
	target := sdk.Target{Backend: "cuda", Arch: "80"}
	dev, err := drv.Open(t.Context(), 0, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dev.Alloc("x", 8)
	if err != nil {
		t.Fatal(err)
	}
	r, err := launch(t, dev, ptx("fault", "u64"), driver.Metadata{Kernel: "fault"}, [3]int{1, 1, 1}, b)
	var fault *driver.Fault
	if !errors.As(err, &fault) || r != nil {
		t.Fatalf("%v, %v", r, err)
	}
	wants(t, err, "kernel fault: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)", "--device sim")
	if notes := fault.Findings[0].Notes; len(notes) != 1 || !strings.Contains(notes[0].Message, "takes note of a fault") {
		t.Errorf("notes %v", notes)
	}
	err = b.Read(0, make([]byte, 8))
	if wants(t, err, "the device was lost in an earlier launch"); !errors.Is(err, driver.ErrLost) {
		t.Errorf("%#v", err)
	}
	if err := b.Free(); err != nil {
		t.Error(err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	again, err := drv.Open(t.Context(), 0, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Alloc("x", 8); err != nil {
		t.Error("a new process:", err)
	}
	wants(t, b.Read(0, make([]byte, 8)), "the device was lost")
}

// testLost: a GPU that is gone in the middle of a launch is one error that names the
// kernel, whether CUDA says so or takes the process along; then the device is lost, and
// opened again it is another process's.
func testLost(t *testing.T, s *standin) {
	for _, tt := range []struct {
		kernel string
		env    string
		says   []string
	}{
		{"die", "", []string{"kernel die: device driver cuda died during Launch (exit status 9", "the GPU has fallen off the bus"}},
		{"k", "STANDIN_FAIL=cuStreamSynchronize=46", []string{"kernel k: CUDA_ERROR_DEVICE_UNAVAILABLE"}},
		{"k", "STANDIN_FAIL=cuLaunchKernel=719", []string{"kernel k: CUDA_ERROR_LAUNCH_FAILED"}},
	} {
		dev := s.must(t, nil, tt.env)
		b, err := dev.Alloc("x", 8)
		if err != nil {
			t.Fatal(err)
		}
		r, err := launch(t, dev, ptx(tt.kernel), driver.Metadata{Kernel: tt.kernel}, [3]int{1, 1, 1})
		if wants(t, err, tt.says...); r != nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("%s: %+v, %v", tt.kernel, r, err)
		}
		for range 2 {
			err = b.Read(0, make([]byte, 8))
			if wants(t, err, "device driver cuda: the device was lost in an earlier launch"); !errors.Is(err, driver.ErrLost) {
				t.Errorf("%s: %v", tt.kernel, err)
			}
		}
		if err := errors.Join(b.Free(), dev.Close()); err != nil {
			t.Error(err)
		}
	}
}

// testForms: clusters, cooperative launches and programmatic dependent ones.
func testForms(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	for want, m := range map[string]driver.Metadata{
		"cluster=2,1,1 policy=1 launch k grid=6,5,1 block=128,1,1":                       {NumCTAs: 2, NumWarps: 4},
		"cluster=16,1,1 policy=1 launch k grid=48,5,1 block=64,1,1":                      {NumCTAs: 16, NumWarps: 2},
		"cooperative=1 launch k grid=3,5,1 block=32,1,1":                                 {Cooperative: true, NumWarps: 1},
		"early=1 launch k grid=3,5,1 block=96,1,1":                                       {PDL: true, NumWarps: 3},
		"early=1 cooperative=1 cluster=4,1,1 policy=1 launch k grid=12,5,1 block=32,1,1": {PDL: true, Cooperative: true, NumCTAs: 4, NumWarps: 1},
	} {
		if _, err := launch(t, dev, ptx("k"), m, [3]int{3, 5, 1}); err != nil {
			t.Error(err)
		}
		if log := s.logged(t); !strings.Contains(log, want) {
			t.Errorf("%s\ndoes not have\n%s", log, want)
		}
	}
	_, err := launch(t, dev, ptx("k"), driver.Metadata{NumCTAs: 4, NumWarps: 1}, [3]int{1 << 30, 1, 1})
	wants(t, err, "grid dimension x is 1073741824: with clusters of 4 blocks it must be from 1 to 536870911")
}

// testCancel: only the end of the process stops a kernel, at once.
func testCancel(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	k, err := dev.Load(driver.Binary{Name: "spin.ptx", Code: ptx("spin")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	if _, err := k.Launch(ctx, driver.Launch{Grid: [3]int{1, 1, 1}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("it took %s", d)
	}
}

// testTimes: launches without waiting, the cache flushed before each, or captured and
// replayed.
func testTimes(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	k, err := dev.Load(driver.Binary{Name: "k.ptx", Code: ptx("k", "u32")})
	if err != nil {
		t.Fatal(err)
	}
	timer := dev.(driver.Timer)
	l := driver.Launch{Grid: [3]int{2, 1, 1}, Args: []any{int32(7)}}
	s.logged(t)
	const ms = 1500 * time.Microsecond // of the stand-in's events
	flushed, launched := "memset 4096\n", "launch k grid=2,1,1 block=64,1,1 shared=0 params= 7 0 0\n"
	for _, tt := range []struct {
		driver.Timing
		n    int
		each time.Duration
		log  string
	}{
		{driver.Timing{Runs: 3, Warmup: 2, Flush: 4096}, 3, ms, strings.Repeat(launched, 2) + strings.Repeat(flushed+launched, 3)},
		{driver.Timing{Runs: 2}, 2, ms, strings.Repeat(launched, 2)},
		{driver.Timing{Runs: 3, Flush: 4096, Graph: true}, 10, ms / 3, "capture\n" + strings.Repeat(launched, 3) + strings.Repeat(flushed+"replay of 3\n", 10) + "graph ends\n"},
		{driver.Timing{Runs: 3, Flush: 4096, Together: true}, 1, ms / 3, strings.Repeat(flushed+launched, 3)},
	} {
		times, err := timer.Time(t.Context(), k, l, tt.Timing)
		if err != nil || len(times) != tt.n || slices.Min(times) != tt.each || slices.Max(times) != tt.each {
			t.Errorf("%+v: %v, %v", tt.Timing, times, err)
		}
		if log := s.logged(t); log != tt.log+"stream ends\n" {
			t.Errorf("%+v:\n%s", tt.Timing, log)
		}
	}
	_, err = timer.Time(t.Context(), k, l, driver.Timing{})
	wants(t, err, "a measurement has from 1 to 1048576 runs, not 0")
	_, err = timer.Time(t.Context(), k, l, driver.Timing{Runs: 2, Graph: true, Together: true})
	wants(t, err, "runs of a graph are not measured together: its replays are")
	_, err = timer.Time(t.Context(), k, driver.Launch{Grid: [3]int{1, 0, 1}, Args: l.Args}, driver.Timing{Runs: 1})
	wants(t, err, "grid dimension y is 0")
	_, err = timer.Time(t.Context(), k, l, driver.Timing{Runs: 1, Flush: 1 << 40})
	wants(t, err, "memory of 1099511627776 bytes for the flush of the cache: CUDA_ERROR_OUT_OF_MEMORY")
	_, err = s.must(t, nil).(driver.Timer).Time(t.Context(), k, l, driver.Timing{Runs: 1})
	wants(t, err, "the kernel was loaded by another device")
	for function, what := range map[string]string{
		"cuStreamBeginCapture_v2":     "capturing a graph",
		"cuStreamEndCapture":          "capturing a graph",
		"cuGraphInstantiateWithFlags": "making a graph ready",
		"cuGraphLaunch":               "launching a graph",
		"cuStreamCreate":              "making a stream",
		"cuMemsetD8Async":             "flushing the cache",
	} {
		dev := s.must(t, nil, "STANDIN_FAIL="+function+"=2")
		k, err := dev.Load(driver.Binary{Name: "a.ptx", Code: ptx("a")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = dev.(driver.Timer).Time(t.Context(), k, driver.Launch{Grid: [3]int{1, 1, 1}}, driver.Timing{Runs: 1, Graph: true, Flush: 1})
		wants(t, err, what+": CUDA_ERROR_OUT_OF_MEMORY")
	}
	// A fault in the middle is the kernel's, whichever call tells of it.
	if k, err = dev.Load(driver.Binary{Name: "later.ptx", Code: ptx("later")}); err != nil {
		t.Fatal(err)
	}
	_, err = timer.Time(t.Context(), k, driver.Launch{Grid: [3]int{1, 1, 1}}, driver.Timing{Runs: 5})
	var fault *driver.Fault
	if wants(t, err, "kernel later: CUDA_ERROR_ILLEGAL_ADDRESS"); !errors.As(err, &fault) {
		t.Errorf("%#v", err)
	}
	_, err = timer.Time(t.Context(), k, driver.Launch{Grid: [3]int{1, 1, 1}}, driver.Timing{Runs: 5})
	if wants(t, err, "the device was lost in an earlier launch"); !errors.Is(err, driver.ErrLost) {
		t.Errorf("%#v", err)
	}
}

// testRefusals: what cannot run is told before anything is launched.
func testRefusals(t *testing.T, s *standin) {
	dev := s.must(t, nil)
	one := [3]int{1, 1, 1}
	try := func(code []byte, meta driver.Metadata, args ...any) error {
		_, err := launch(t, dev, code, meta, one, args...)
		return err
	}
	wants(t, try([]byte("hello"), driver.Metadata{}), "k.ptx: it is neither a cubin, nor a code object, nor PTX")
	wants(t, try(ptx("a"), driver.Metadata{Kernel: "b"}), `k.ptx: it has no kernel "b"; it has ["a"]`)
	wants(t, try(append(ptx("a"), "// refuse me"...), driver.Metadata{}), "loading k.ptx: CUDA_ERROR_INVALID_PTX", "line 7; fatal   : refused")
	wants(t, try(ptx("a", "u64", "u32"), driver.Metadata{}, int64(1)), "kernel a takes 2 arguments, given 1")
	wants(t, try(ptx("a"), driver.Metadata{}, nil), "kernel a takes 0 arguments, given 1")
	wants(t, try([]byte(".version 8.0\n.entry bare(.param .u64 p)\n{ ret; }\n"), driver.Metadata{NumWarps: 1}, nil), "kernel bare has no parameters for scratch memory")
	wants(t, try([]byte(".version 8.0\n.entry bare(.param .u64 p, .param .u64 q)\n{ ret; }\n"), driver.Metadata{}), "k.ptx does not say how many threads a block of bare has")
	wants(t, try(ptx("a", "u64", "u32"), driver.Metadata{}, nil, int64(1)), "argument 1 of kernel a has 4 bytes, given 8")
	wants(t, try(ptx("a", "u64"), driver.Metadata{}, "x"), "argument 0 of k.ptx: a string cannot be passed")
	wants(t, try(ptx("a"), driver.Metadata{NumWarps: 32}), "kernel a on the Stand-in 0: out of resource: threads, Required: 1024, Hardware limit: 512", "1024 threads need more registers than a multiprocessor has")
	wants(t, try(ptx("a"), driver.Metadata{Shared: 228 << 10}), "kernel a on the Stand-in 0: out of resource: shared memory, Required: 233472, Hardware limit: 232448")
	for grid, want := range map[[3]int]string{
		{0, 1, 1}:       "grid dimension x is 0: it must be from 1 to 2147483647",
		{1, 65536, 1}:   "grid dimension y is 65536: it must be from 1 to 65535",
		{1, 1, -1}:      "grid dimension z is -1",
		{1 << 31, 1, 1}: "grid dimension x is 2147483648",
	} {
		_, err := launch(t, dev, ptx("a"), driver.Metadata{}, grid)
		wants(t, err, want)
	}
	if log := s.logged(t); strings.Contains(log, "launch") {
		t.Error(log)
	}
}

func testErrors(t *testing.T, s *standin) {
	for function, what := range map[string]string{
		"cuDevicePrimaryCtxRetain": "making Stand-in 0 ready: CUDA_ERROR_OUT_OF_MEMORY (out of memory)",
		"cuDeviceGetAttribute":     "looking at GPU 0: CUDA_ERROR_OUT_OF_MEMORY",
	} {
		_, err := s.open(t, t.Context(), "cuda:80", nil, "STANDIN_FAIL="+function+"=2")
		wants(t, err, what)
	}
	for function, what := range map[string]string{
		"cuModuleLoadDataEx":  "loading k.ptx: CUDA_ERROR_OUT_OF_MEMORY",
		"cuModuleGetFunction": "finding a: CUDA_ERROR_OUT_OF_MEMORY",
		"cuFuncSetAttribute":  "giving a 65536 bytes of shared memory: CUDA_ERROR_OUT_OF_MEMORY",
		"cuLaunchKernel":      "launching a: CUDA_ERROR_OUT_OF_MEMORY",
		"cuEventElapsedTime":  "reading the time: CUDA_ERROR_OUT_OF_MEMORY",
	} {
		dev := s.must(t, nil, "STANDIN_FAIL="+function+"=2")
		_, err := launch(t, dev, ptx("a"), driver.Metadata{Shared: 64 << 10}, [3]int{1, 1, 1})
		wants(t, err, what)
	}
	dev := s.must(t, nil, "STANDIN_FAIL=cuMemcpyHtoD_v2=999")
	b, err := dev.Alloc("x", 8)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, b.Write(0, make([]byte, 8)), "copying to x: an unknown error")
}

// testNoCUDA: without GPU, or without CUDA's library, the driver says so.
func testNoCUDA(t *testing.T, s *standin) {
	_, err := s.open(t, t.Context(), "cuda:80", nil, "STANDIN_DEVICES=0")
	wants(t, err, "device driver cuda: CUDA cannot be used: cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)")
	_, err = s.open(t, t.Context(), "cuda:80", nil, "LD_LIBRARY_PATH="+t.TempDir())
	if _, there := os.Stat("/usr/lib/x86_64-linux-gnu/libcuda.so.1"); there != nil {
		wants(t, err, "ended before the handshake", "libcuda.so.1")
	}
	_, err = s.host(t).Driver("rocm")
	wants(t, err, `there is no driver for devices "rocm"`, "tritonc-device-rocm", s.Plugins)
}
