//go:build linux

package hip

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/native"
	"github.com/tritonc/tritonc/internal/hipstandin"
	"github.com/tritonc/tritonc/internal/standin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// hip has the driver use the stand-in for HIP's library, and returns its log.
func hip(t *testing.T) standin.Log {
	t.Helper()
	rocm, missing := hipstandin.Library(t)
	if missing != "" {
		t.Skip(missing)
	}
	t.Setenv("ROCM_PATH", rocm)
	return standin.NewLog(t)
}

// pack appends a value in MessagePack.
func pack(b []byte, v any) []byte {
	switch v := v.(type) {
	case int:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	case string:
		return append(append(b, 0xd9, byte(len(v))), v...)
	case []any:
		b = append(b, 0x90|byte(len(v)))
		for _, e := range v {
			b = pack(b, e)
		}
	case map[string]any:
		b = append(b, 0x80|byte(len(v)))
		for key, e := range v {
			b = pack(pack(b, key), e)
		}
	}
	return b
}

// codeObject is an ELF file that is its metadata alone: of one kernel whose parameters
// have the given sizes; the two for scratch memory follow.
func codeObject(arch, name string, shared int, sizes ...int) []byte {
	var args []byte
	sizes = append(sizes, 8, 8)
	for _, size := range sizes { // as LLVM writes them: the stand-in looks for these bytes
		args = append(args, "\x82\xa5.size"+string(rune(size))+"\xab.value_kind\xa8by_value"...)
	}
	meta := append([]byte("\x82\xaeamdhsa.kernels\x91\x84\xa5.args"), 0x90|byte(len(sizes)))
	meta = append(meta, args...)
	meta = pack(pack(meta, ".name"), name)
	meta = pack(pack(meta, ".max_flat_workgroup_size"), 256)
	meta = pack(pack(meta, ".group_segment_fixed_size"), shared)
	meta = pack(pack(meta, "amdhsa.target"), "amdgcn-amd-amdhsa--"+arch)
	for len(meta)%4 != 0 {
		meta = append(meta, 0xc0)
	}
	note := binary.LittleEndian.AppendUint32(nil, 7)
	note = binary.LittleEndian.AppendUint32(note, uint32(len(meta)))
	note = binary.LittleEndian.AppendUint32(note, 32)
	note = append(append(note, "AMDGPU\x00\x00"...), meta...)

	var out bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			binary.Write(&out, binary.LittleEndian, v)
		}
	}
	put([]byte("\x7fELF\x02\x01\x01\x40\x03\x00\x00\x00\x00\x00\x00\x00"), uint16(3), uint16(224), uint32(1))
	put(uint64(0), uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(1), uint16(64), uint16(0), uint16(0))
	put(uint32(4), uint32(4), uint64(120), uint64(120), uint64(120), uint64(len(note)), uint64(len(note)), uint64(4), note)
	return out.Bytes()
}

var one = [3]int{1, 1, 1}

func open(t *testing.T, target sdk.Target) *native.Session {
	t.Helper()
	return standin.Open(t, New(), target).(*native.Session)
}

func load(t *testing.T, s *native.Session, b sdk.DeviceBinary, sizes ...int) sdk.DeviceKernel {
	t.Helper()
	b.Code = codeObject("gfx942", b.Kernel, 0, sizes...)
	k, err := s.Load(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDescribe(t *testing.T) {
	hip(t)
	t.Setenv("STANDIN_DEVICES", "2")
	facts, err := New().Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if facts.Name != "hip" || facts.Version != "HIP 6.2" || len(facts.Devices) != 2 {
		t.Errorf("%+v", facts)
	}
	want := sdk.DeviceInfo{
		Name: "Stand-in 1", Target: sdk.Target{Backend: "hip", Arch: "gfx942", WarpSize: 64}, Memory: 1 << 30, Multiprocessors: 304, MaxShared: 64 << 10,
	}
	if got := facts.Devices[1]; got != want {
		t.Errorf("%+v", got)
	}
}

func TestNoDevice(t *testing.T) {
	hip(t)
	t.Setenv("STANDIN_DEVICES", "0")
	_, err := New().Describe(t.Context())
	standin.Wants(t, err, "hipInit: hipErrorNoDevice (no ROCm-capable device is detected)", "/dev/kfd", "render and video")
	t.Setenv("STANDIN_DEVICES", "1")
	t.Setenv("STANDIN_ARCH", "")
	t.Setenv("STANDIN_WARP", "-1")
	_, err = New().Describe(t.Context())
	standin.Wants(t, err, "GPU 0: HIP 6.2 describes it in a way that is not known here")
}

func TestNoLibrary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ROCM_PATH", dir)
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib", "libamdhip64.so.6"), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New().Describe(t.Context())
	if err == nil {
		t.Skip("this machine has HIP's library")
	}
	standin.Wants(t, err, "HIP's library cannot be opened", filepath.Join(dir, "lib", "libamdhip64.so.7"), "libamdhip64.so.6: file too short", "/opt/rocm/lib/libamdhip64.so", "install AMD's ROCm")
}

func TestOpen(t *testing.T) {
	hip(t)
	s := open(t, sdk.Target{Backend: "hip", Arch: "gfx942"})
	if p := s.Properties(); p.Stage != "hsaco" || p.WarpSize != 64 || p.MaxThreads != 1024 || p.MaxShared != 64<<10 || p.Memory != 1<<30 {
		t.Errorf("%+v", p)
	}
	d := New()
	for _, target := range []sdk.Target{{Backend: "hip", Arch: "gfx90a"}, {Backend: "hip", Arch: "gfx942", WarpSize: 32}, {Backend: "cuda", Arch: "90"}} {
		_, err := d.Open(t.Context(), 0, target)
		standin.Wants(t, err, "the Stand-in 0 is a gfx942 with warps of 64 and runs no code for "+target.String(), "--target hip:gfx942")
	}
	_, err := d.Open(t.Context(), 1, sdk.Target{})
	standin.Wants(t, err, "there is no GPU number 1", "from 0 to 0")
}

// TestLaunch: a launch has a time, and its arguments are where the kernel looks for them.
func TestLaunch(t *testing.T) {
	log := hip(t)
	s := open(t, sdk.Target{})
	x, y, out := standin.Alloc(t, s, "x", 8), standin.Alloc(t, s, "y", 8), standin.Alloc(t, s, "out", 8)
	for b, text := range map[sdk.DeviceBuffer]string{x: "\x00\x00\x80\x3f\x00\x00\x00\x40", y: "\x00\x00\x80\x3f\x00\x00\x80\x3f"} { // 1, 2; 1, 1
		if err := b.Write(t.Context(), 0, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	k := load(t, s, sdk.DeviceBinary{Name: "add.hsaco", Kernel: "add", NumWarps: 2, Shared: 300}, 8, 8, 8, 4)
	log.Read(t)
	r, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{3, 2, 1}, Args: []sdk.DeviceArg{{Buffer: x}, {Buffer: y}, {Buffer: out}, standin.Number(2, 0, 0, 0)}})
	if err != nil || r.Time != 1500*time.Microsecond || r.Fault != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	got := make([]byte, 8)
	if err := out.Read(t.Context(), 0, got); err != nil || string(got) != "\x00\x00\x00\x40\x00\x00\x40\x40" { // 2, 3
		t.Errorf("%x, %v", got, err)
	}
	want := fmt.Sprintf("launch add grid=3,2,1 block=128,1,1 shared=300 params= %016x %016x %016x 00000002 %016x %016x\n", x.Addr(), y.Addr(), out.Addr(), 0, 0)
	if said := log.Read(t); said != want {
		t.Errorf("got %swant %s", said, want)
	}
}

// TestArguments: numbers of each size in a row, pointers, and null pointers.
func TestArguments(t *testing.T) {
	log := hip(t)
	s := open(t, sdk.Target{})
	b := standin.Alloc(t, s, "b", 1)
	k := load(t, s, sdk.DeviceBinary{Kernel: "k"}, 1, 8, 2, 1, 4, 8, 8)
	args := []sdk.DeviceArg{standin.Number(0xfe), {Buffer: b}, standin.Number(0x34, 0x12), standin.Number(1), standin.Number(4, 3, 2, 1), standin.Number(8, 7, 6, 5, 4, 3, 2, 1), {}}
	log.Read(t)
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one, Args: args}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("block=256,1,1 shared=0 params= fe %016x 1234 01 01020304 0102030405060708 %016x %016x %016x\n", b.Addr(), 0, 0, 0)
	if said := log.Read(t); !strings.HasSuffix(said, want) {
		t.Errorf("got %swant %s", said, want)
	}
	launch := func(args ...sdk.DeviceArg) error {
		_, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one, Args: args})
		return err
	}
	standin.Wants(t, launch(args[:6]...), "kernel k takes 7 arguments, given 6")
	wrong := func(i int, a sdk.DeviceArg) error {
		list := slices.Clone(args)
		list[i] = a
		return launch(list...)
	}
	standin.Wants(t, wrong(0, standin.Number(1, 2)), "argument 0 of kernel k: it has 2 bytes, and the parameter 1")
	standin.Wants(t, wrong(2, sdk.DeviceArg{Buffer: b}), "argument 2 of kernel k: it has 8 bytes, and the parameter 2")
	standin.Wants(t, wrong(5, standin.Number(make([]byte, 9)...)), "a number has 9 bytes")
	standin.Wants(t, wrong(1, sdk.DeviceArg{Buffer: b, Map: &sdk.DeviceTensorMap{}}), "it is a tensor map, and AMD's GPUs have none")
	standin.Wants(t, wrong(1, sdk.DeviceArg{Buffer: standin.Alloc(t, open(t, sdk.Target{}), "c", 1)}), "it is memory of another device")
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	standin.Wants(t, launch(args...), "argument 1 of kernel k: memory b was freed")
	standin.Wants(t, b.Free(), "memory b was freed")
	standin.Wants(t, b.Read(t.Context(), 0, make([]byte, 1)), "memory b was freed")
	for grid, text := range map[[3]int]string{
		{0, 1, 1}:       "grid dimension x is 0: it must be from 1 to 16777215",
		{1 << 24, 1, 1}: "grid dimension x is 16777216: it must be from 1 to 16777215",
		{1, 65536, 1}:   "grid dimension y is 65536: it must be from 1 to 65535",
	} {
		_, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: grid, Args: args})
		standin.Wants(t, err, text)
	}
}

// TestScratch: the kernel's own memory, for all blocks of a grid, and nothing for a
// profiler.
func TestScratch(t *testing.T) {
	log := hip(t)
	d, err := New().Open(t.Context(), 0, sdk.Target{})
	if err != nil {
		t.Fatal(err)
	}
	s := d.(*native.Session)
	k := load(t, s, sdk.DeviceBinary{Kernel: "k", NumWarps: 1, GlobalScratchSize: 100, GlobalScratchAlign: 8192, Cooperative: true})
	log.Read(t)
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{3, 2, 1}}); err != nil {
		t.Fatal(err)
	}
	if s.Region(scratch).Size != 600+8191 {
		t.Errorf("scratch memory of %d bytes", s.Region(scratch).Size)
	}
	at := (uint64(s.Region(scratch).At) + 8191) / 8192 * 8192
	if said, want := log.Read(t), fmt.Sprintf("at once: launch k grid=3,2,1 block=64,1,1 shared=0 params= %016x %016x\n", at, 0); said != want {
		t.Errorf("got %swant %s", said, want)
	}
	k = load(t, s, sdk.DeviceBinary{Kernel: "k", NumWarps: 1, GlobalScratchSize: 1 << 60})
	_, err = k.Launch(t.Context(), sdk.DeviceLaunch{Grid: [3]int{3, 20, 1}})
	standin.Wants(t, err, "the scratch memory of kernel k")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if said := log.Read(t); !strings.Contains(said, "free leaves 0 bytes\n") || strings.Count(said, "unload\n") != 2 || !strings.HasSuffix(said, "stream ends\n") {
		t.Errorf("at its end: %s", said)
	}
}

func TestTime(t *testing.T) {
	log := hip(t)
	s := open(t, sdk.Target{})
	k := load(t, s, sdk.DeviceBinary{Kernel: "k", NumWarps: 1})
	measure := func(timing sdk.DeviceTiming) []time.Duration {
		t.Helper()
		log.Read(t)
		r, err := s.Time(t.Context(), k, sdk.DeviceLaunch{Grid: one}, timing)
		if err != nil {
			t.Fatal(err)
		}
		return r.Times
	}
	ms := 1500 * time.Microsecond
	if got := measure(sdk.DeviceTiming{Runs: 3, Warmup: 2, Flush: 4096}); !slices.Equal(got, []time.Duration{ms, ms, ms}) {
		t.Error(got)
	}
	said := log.Read(t)
	if strings.Count(said, "launch k ") != 5 || strings.Count(said, "memset 4096\nlaunch k ") != 3 || strings.Count(said, "memset") != 3 {
		t.Error(said)
	}
	if got := measure(sdk.DeviceTiming{Runs: 3, Flush: 4096, Together: true}); !slices.Equal(got, []time.Duration{ms / 3}) {
		t.Error(got)
	}
	if said := log.Read(t); strings.Count(said, "memset 4096\nlaunch k ") != 3 {
		t.Error(said)
	}
	_, err := s.Time(t.Context(), k, sdk.DeviceLaunch{Grid: one}, sdk.DeviceTiming{Runs: 1, Graph: true})
	standin.Wants(t, err, "measures no graphs", "without --graph")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Time(ended, k, sdk.DeviceLaunch{Grid: one}, sdk.DeviceTiming{Runs: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	hip(t)
	s := open(t, sdk.Target{})
	good := codeObject("gfx942:sramecc+", "k", 1000, 8)
	for _, tt := range []struct {
		binary sdk.DeviceBinary
		texts  []string
	}{
		{sdk.DeviceBinary{Code: codeObject("gfx90a", "k", 0)}, []string{"is code for gfx90a, and the Stand-in 0 is a gfx942", "--target hip:gfx942"}},
		{sdk.DeviceBinary{Code: []byte(".version 8.0\n.target sm_80\n.entry k() {}")}, []string{"k.hsaco is not a code object, and the Stand-in 0 is a gfx942"}},
		{sdk.DeviceBinary{Code: []byte("GIF89a")}, []string{"k.hsaco: it is neither a cubin, nor a code object, nor PTX"}},
		{sdk.DeviceBinary{Code: good[:200]}, []string{"the code object's metadata cannot be read"}},
		{sdk.DeviceBinary{Code: good, Kernel: "other"}, []string{`it has no kernel "other"; it has ["k"]`}},
		{sdk.DeviceBinary{Code: good, NumWarps: 9}, []string{"out of resource: threads, Required: 576, Hardware limit: 512"}},
		{sdk.DeviceBinary{Code: good, NumWarps: 17}, []string{"out of resource: threads, Required: 1088, Hardware limit: 1024"}},
		{sdk.DeviceBinary{Code: good, Shared: 65000}, []string{"out of resource: shared memory, Required: 66000, Hardware limit: 65536", "num_stages"}},
		{sdk.DeviceBinary{Code: good, NumCTAs: 2}, []string{"clusters of 2 blocks", "num_ctas=1"}},
		{sdk.DeviceBinary{Code: good, PDL: true}, []string{"launch_pdl"}},
	} {
		tt.binary.Name = "k.hsaco"
		_, err := s.Load(t.Context(), tt.binary)
		standin.Wants(t, err, tt.texts...)
	}
	if _, err := s.Load(t.Context(), sdk.DeviceBinary{Code: good, NumWarps: 8, Shared: 64536}); err != nil {
		t.Error(err)
	}
}

func TestMemory(t *testing.T) {
	hip(t)
	s := open(t, sdk.Target{})
	_, err := s.Alloc(t.Context(), "x", 1<<30+1)
	standin.Wants(t, err, "hipErrorOutOfMemory: x needs 1073741825 bytes of the Stand-in 0; 1073741824 are free")
	if b := standin.Alloc(t, s, "empty", 0); b.Write(t.Context(), 0, nil) != nil || b.Addr()%256 != 0 {
		t.Error("memory of no bytes")
	}
	t.Setenv("STANDIN_FAIL", "hipMemcpyDtoH=719")
	standin.Wants(t, standin.Alloc(t, s, "x", 1).Read(t.Context(), 0, make([]byte, 1)), "copying from x: hipErrorLaunchFailure (unspecified launch failure)")
	t.Setenv("STANDIN_FAIL", "hipModuleLaunchKernel=1")
	_, err = load(t, s, sdk.DeviceBinary{Kernel: "k"}).Launch(t.Context(), sdk.DeviceLaunch{Grid: one})
	standin.Wants(t, err, "launching k: hipErrorInvalidValue (invalid argument)")
	t.Setenv("STANDIN_FAIL", "hipModuleLoadData=209")
	_, err = s.Load(t.Context(), sdk.DeviceBinary{Name: "k.hsaco", Code: codeObject("gfx942", "k", 0)})
	standin.Wants(t, err, "loading k.hsaco: hipErrorNoBinaryForGpu (no kernel image is available for execution on the device)")
}

// TestFault: what a kernel does wrong is a part of its result, and the device is lost.
func TestFault(t *testing.T) {
	hip(t)
	d := New()
	s := standin.Open(t, d, sdk.Target{}).(*native.Session)
	x := standin.Alloc(t, s, "x", 1)
	k := load(t, s, sdk.DeviceBinary{Kernel: "fault"})
	r, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one})
	if err != nil || !r.Lost || len(r.Fault) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	standin.Wants(t, &r.Fault[0], "kernel fault: hipErrorIllegalAddress (an illegal memory access was encountered)", "--device sim")
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{Grid: one}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if err := x.Write(t.Context(), 0, []byte{1}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if err := x.Free(); err != nil {
		t.Error(err)
	}
	if _, err := d.Open(t.Context(), 0, sdk.Target{}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
}
